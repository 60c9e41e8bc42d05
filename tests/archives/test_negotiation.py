"""Redirects, styles and contradictions of one archive, with canned answers."""

from collections.abc import Mapping
from typing import Final

import pytest

from archives.adapters import adapter_for, source_for
from archives.addresses import WITHOUT_SERVER
from archives.errors import Misbehaved, Refused, Unreachable
from archives.formats.httpdate import http_date
from archives.model import ArchiveEntry, Closest, Hop, Selection
from archives.moment import Moment
from archives.nearest import at_candidate, candidates
from archives.negotiation import Negotiator, Question, instant_for, latest_stamp
from archives.source import AdapterSource
from tests.fakes import Canned, FakeFetcher, an_entry, clock

PAGE: Final = "http://example.org/"
BASE: Final = "http://archive.example"
TIMEGATE: Final = f"{BASE}/timegate/{PAGE}"
STAMP: Final = "20130615083000"
EARLIER: Final = "20120101000000"
NOTHING: Final[Mapping[str, str]] = {}
VARY: Final = {"vary": "accept-datetime"}


def at(stamp: str, page: str = PAGE, modifier: str = "") -> str:
    """Return the address of a memento."""
    return f"{BASE}/web/{stamp}{modifier}/{page}"


def link(uri: str, stamp: str, rel: str = "memento") -> str:
    return f'<{uri}>; rel="{rel}"; datetime="{http_date(stamp)}"'


def linking(uri: str) -> dict[str, str]:
    return {"link": link(uri, STAMP)}


def original(page: str = PAGE) -> str:
    return f'<{page}>; rel="original"'


def redirect(
    location: str | None, headers: Mapping[str, str] = NOTHING, *, status: int = 302
) -> Canned:
    where = {} if location is None else {"location": location}
    return Canned(status, VARY | where | dict(headers))


def memento(
    headers: Mapping[str, str] = NOTHING, *, stamp: str = STAMP, status: int = 200
) -> Canned:
    dated = {"memento-datetime": http_date(stamp), "link": original()}
    return Canned(status, dated | dict(headers))


BACKSLASH: Final = at(STAMP).replace("://", "://evil.example\\@")
ARCHIVE: Final = an_entry("memento", timegate=f"{BASE}/timegate/")
WAYBACK: Final = an_entry("wayback", replay=BASE + "/web/{time14}/{uri}")


async def ask(
    answers: Mapping[str, Canned] | FakeFetcher,
    when: str | None = STAMP,
    entry: ArchiveEntry = ARCHIVE,
) -> Closest | None:
    fetch = answers if isinstance(answers, FakeFetcher) else FakeFetcher(answers)
    source = source_for(entry, fetch, clock)
    return await source.closest(PAGE, None if when is None else Moment(when))


async def found(
    answers: Mapping[str, Canned] | FakeFetcher,
    when: str | None = STAMP,
    entry: ArchiveEntry = ARCHIVE,
) -> Closest:
    closest = await ask(answers, when, entry)
    assert closest is not None
    return closest


# Redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_with_the_date_of_its_target_is_the_answer(status: int) -> None:
    fetch = FakeFetcher({TIMEGATE: redirect(at(STAMP), linking(at(STAMP)), status=status)})

    closest = await found(fetch)

    assert closest.memento.stamp == STAMP
    assert closest.memento.uri == at(STAMP)
    assert closest.doubts == ()
    assert fetch.lines == [f"HEAD {TIMEGATE}"]


@pytest.mark.parametrize(
    "location",
    [at(STAMP), f"/web/{STAMP}/{PAGE}", f"//archive.example/web/{STAMP}/{PAGE}"],
)
async def test_a_redirect_may_be_relative(location: str) -> None:
    answers = {TIMEGATE: redirect(location, {"link": original()}), at(STAMP): memento()}

    closest = await found(answers)

    assert closest.memento.uri == at(STAMP)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"link": original()},
        {"link": link(at(STAMP), EARLIER)},
        {"link": link(at(STAMP), "21500101000000")},
        {"link": f'{link(at(STAMP), STAMP)}; anchor="http://other.example/"'},
    ],
    ids=["no link", "no date", "another date", "impossible date", "about something else"],
)
async def test_a_redirect_that_does_not_prove_its_target_is_followed(
    headers: dict[str, str],
) -> None:
    fetch = FakeFetcher({TIMEGATE: redirect(at(STAMP), headers), at(STAMP): memento()})

    closest = await found(fetch)

    assert (closest.memento.stamp, closest.memento.status) == (STAMP, 200)
    assert fetch.lines == [f"HEAD {TIMEGATE}", f"HEAD {at(STAMP)}"]


async def test_accept_datetime_is_sent_to_every_address() -> None:
    fetch = FakeFetcher({TIMEGATE: redirect(at(STAMP)), at(STAMP): memento()})

    await found(fetch, "2013")

    assert {request.headers["accept-datetime"] for request in fetch.journal} == {
        "Tue, 02 Jul 2013 12:00:00 GMT"
    }


async def test_five_redirects_are_followed() -> None:
    stations = [f"{BASE}/{number}/{PAGE}" for number in range(5)]
    urls = [TIMEGATE, *stations[:4]]
    chain = {url: redirect(station) for url, station in zip(urls, stations, strict=True)}
    fetch = FakeFetcher(chain | {stations[-1]: memento()})

    closest = await found(fetch)

    assert closest.memento.uri == stations[-1]
    assert len(fetch.journal) == 6


async def test_a_404_after_a_redirect_that_names_captures_is_misbehaviour() -> None:
    """No capture is of month 00, but the archive has captures."""
    links = {"link": link(at(STAMP), STAMP, "last memento")}

    with pytest.raises(Misbehaved, match="redirects to a capture that does not exist"):
        await ask({TIMEGATE: redirect(at("20160022112029"), links)})


@pytest.mark.parametrize(
    ("whole", "damaged"),
    [(STAMP, f"{STAMP[:10]}ocation:%20{STAMP}"), ("/http:", "/7ttp:"), ("/http:", "/http7")],
)
async def test_a_404_at_the_remains_of_a_capture_is_misbehaviour(
    whole: str, damaged: str
) -> None:
    """A fault of a single octet says nothing about what the archive holds."""
    damaged = at(STAMP).replace(whole, damaged)

    with pytest.raises(Misbehaved, match="redirects to a capture that does not exist"):
        await ask({TIMEGATE: redirect(damaged)})


async def test_a_404_at_another_address_of_the_timegate_is_a_clear_no() -> None:
    assert await ask({TIMEGATE: redirect(f"{BASE}/gate/{PAGE}")}) is None


async def test_a_404_of_a_page_whose_own_address_has_a_date_is_a_clear_no() -> None:
    page = "http://news.example/20100105/"
    gate = TIMEGATE.replace(PAGE, page)
    fetch = FakeFetcher({gate: redirect(f"{BASE}/gate/{page}")})

    assert await source_for(ARCHIVE, fetch, clock).closest(page, Moment(STAMP)) is None


async def test_a_sixth_redirect_is_not_followed() -> None:
    fetch = FakeFetcher(lambda request: redirect(f"{request.url}x"))

    with pytest.raises(Misbehaved, match="more than 5 redirects"):
        await ask(fetch)
    assert len(fetch.journal) == 6


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({TIMEGATE: redirect(TIMEGATE)}, "redirects in a loop"),
        ({TIMEGATE: redirect(BASE), BASE: redirect(TIMEGATE)}, "redirects in a loop"),
        ({TIMEGATE: redirect("")}, "redirects in a loop"),
        ({TIMEGATE: redirect(None)}, "302 without Location"),
        ({TIMEGATE: redirect("http://[/")}, "host is ambiguous"),
        ({TIMEGATE: redirect(at(STAMP).replace("://", "://me@"))}, "host is ambiguous"),
        ({TIMEGATE: redirect(BACKSLASH, linking(BACKSLASH))}, "host is ambiguous"),
        ({TIMEGATE: redirect(at(STAMP))}, "redirects to a capture that does not exist"),
        ({TIMEGATE: redirect("http://elsewhere.example/")}, "registry does not name"),
        ({TIMEGATE: Canned(300, VARY)}, "answers 300"),
    ],
)
async def test_redirects_without_a_memento_are_misbehaviour(
    answers: dict[str, Canned], why: str
) -> None:
    with pytest.raises(Misbehaved, match=why):
        await ask(answers)


async def test_a_redirect_from_https_to_http_is_not_followed() -> None:
    secure = an_entry("memento", timegate="https://archive.example/timegate/")
    url = f"https://archive.example/timegate/{PAGE}"

    with pytest.raises(Misbehaved, match="from https to http"):
        await ask({url: redirect(at(STAMP), linking(at(STAMP)))}, entry=secure)


@pytest.mark.parametrize(
    "target",
    [
        f"http://elsewhere.example/web/{STAMP}/{PAGE}",
        f"javascript:alert(1)//web/{STAMP}/{PAGE}",
        f"file:///web/{STAMP}/{PAGE}",
        f"http://[::/web/{STAMP}/{PAGE}",
    ],
)
async def test_a_redirect_to_a_host_outside_the_entry_is_not_followed(target: str) -> None:
    answers = {TIMEGATE: redirect(target, linking(target))}

    with pytest.raises(Misbehaved):
        await ask(answers)


async def test_a_redirect_to_another_host_of_the_entry_is_followed() -> None:
    entry = an_entry("memento", timegate=f"{BASE}/timegate/", hosts=("Replay.example/x",))
    target = f"http://replay.example/web/{STAMP}/{PAGE}"

    closest = await found({TIMEGATE: redirect(target, linking(target))}, entry=entry)

    assert closest.memento.uri == target


# Redirects with Memento-Datetime: captures of redirects, or mistakes


async def test_an_archived_redirect_to_another_page_is_a_memento() -> None:
    """The Internet Archive redirects to the same stamp of the page that was redirected to."""
    moved = memento({"location": at(STAMP, "http://example.org/there")}, status=302)
    fetch = FakeFetcher({TIMEGATE: redirect(at(STAMP)), at(STAMP): moved})

    closest = await found(fetch)

    assert (closest.memento.uri, closest.memento.status) == (at(STAMP), 302)
    assert len(fetch.journal) == 2


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_an_archived_redirect_to_https_is_a_memento(status: int) -> None:
    moved = memento({"location": at(STAMP, "https://www.example.org/")}, status=status)
    answers = {TIMEGATE: redirect(at(STAMP)), at(STAMP): moved}

    closest = await found(answers)

    assert (closest.memento.uri, closest.memento.status) == (at(STAMP), status)


@pytest.mark.parametrize("location", ["http://example.org/there", None])
async def test_a_raw_archived_redirect_is_a_memento(location: str | None) -> None:
    where = {} if location is None else {"location": location}
    answers = {TIMEGATE: redirect(at(STAMP)), at(STAMP): memento(where, status=301)}

    closest = await found(answers)

    assert (closest.memento.uri, closest.memento.status) == (at(STAMP), 301)


async def test_a_timegate_may_answer_with_an_archived_redirect() -> None:
    """Plain pywb: Content-Location is the capture, Location the archived redirect."""
    answer = memento(
        VARY
        | {
            "location": at("20150701000030", "http://example.org/there"),
            "content-location": at(STAMP),
        },
        status=301,
    )

    closest = await found({TIMEGATE: answer})

    assert (closest.memento.uri, closest.memento.status) == (at(STAMP), 301)


@pytest.mark.parametrize("states", [True, False])
@pytest.mark.parametrize("spelling", [PAGE, "https://www.example.org"])
async def test_a_timegate_that_dates_its_own_redirect_by_mistake_is_followed(
    spelling: str, *, states: bool
) -> None:
    target = at(STAMP, spelling)
    stated = {"content-location": target} if states else {}
    answer = redirect(target, {"memento-datetime": http_date(STAMP), **stated})
    answers = {TIMEGATE: answer, target: memento({"link": original(spelling)})}

    closest = await found(answers)

    assert (closest.memento.uri, closest.memento.status) == (target, 200)


# Answers with the memento itself


@pytest.mark.parametrize(
    "location",
    [at(STAMP), f"/web/{STAMP}/{PAGE}", f"//archive.example/web/{STAMP}/{PAGE}"],
)
async def test_content_location_is_the_address_of_the_memento(location: str) -> None:
    closest = await found({TIMEGATE: memento(VARY | {"content-location": location})})

    assert closest.memento.uri == at(STAMP)
    assert closest.doubts == ()


async def test_content_location_may_have_no_digits_at_a_timegate() -> None:
    closest = await found({TIMEGATE: memento(VARY | {"content-location": "/ABCD-1234"})})

    assert closest.memento.uri == f"{BASE}/ABCD-1234"


async def test_a_link_says_more_than_a_content_location_without_digits() -> None:
    """A line feed in the header leaves its first letters, at the address of the TimeGate."""
    stated = {"content-location": "ht", "link": f"{original()}, {link(at(STAMP), STAMP)}"}

    closest = await found({TIMEGATE: memento(VARY | stated)})

    assert closest.memento.uri == at(STAMP)
    assert len(closest.doubts) == 1


@pytest.mark.parametrize(
    "location", ["http://example.org/index.en.html", "index.en.html", "/ABCD-1234"]
)
async def test_a_content_location_of_the_archived_page_is_not_the_address(
    location: str,
) -> None:
    answers = {
        TIMEGATE: redirect(at(STAMP)),
        at(STAMP): memento({"content-location": location}),
    }

    closest = await found(answers)

    assert closest.memento.uri == at(STAMP)


@pytest.mark.parametrize("location", ["http://elsewhere.example/", "file:///etc/passwd"])
async def test_a_content_location_at_another_host_is_doubtful_at_a_timegate(
    location: str,
) -> None:
    stated = {"content-location": location}
    answer = memento(VARY | stated | {"link": f"{original()}, {link(at(STAMP), STAMP)}"})

    closest = await found({TIMEGATE: answer})

    assert closest.memento.uri == at(STAMP)
    assert closest.doubts == (f"Content-Location is no memento: {location}",)


FOREIGN: Final = (
    f"http://evil.example/web/{STAMP}/{PAGE}",
    "http://evil.example/phish",
    at(STAMP).replace("archive.example", "archive.example:6379"),
    at(STAMP).replace("archive.example", "archive.example:443"),
    at(STAMP).replace("http://archive.example", "https://archive.example:80"),
    at(STAMP).replace("://", "://me@"),
    BACKSLASH,
)


@pytest.mark.parametrize("address", FOREIGN)
async def test_a_linked_address_outside_the_archive_is_not_used(
    address: str,
) -> None:
    answer = memento(VARY | {"link": f"{original()}, {link(address, STAMP)}"})

    closest = await found({TIMEGATE: answer})

    assert (closest.memento.uri, closest.memento.stamp) == (TIMEGATE, STAMP)
    assert f"links a memento at an address that is not its own: {address}" in closest.doubts


@pytest.mark.parametrize("address", FOREIGN)
async def test_an_address_of_the_archive_counts_beside_a_foreign_one(address: str) -> None:
    links = f"{original()}, {link(address, STAMP)}, {link(at(STAMP), STAMP)}"

    closest = await found({TIMEGATE: memento(VARY | {"link": links})})

    assert (closest.memento.uri, closest.doubts) == (at(STAMP), ())


@pytest.mark.parametrize("address", FOREIGN)
async def test_a_frame_around_a_foreign_address_is_misbehaviour(address: str) -> None:
    frame = Canned(200, {**VARY, "link": f"{original()}, {link(address, STAMP)}"})

    with pytest.raises(Misbehaved, match="an address that is not its own"):
        await ask({TIMEGATE: frame})


@pytest.mark.parametrize("address", FOREIGN)
async def test_a_foreign_content_location_is_not_the_address(address: str) -> None:
    closest = await found({TIMEGATE: memento(VARY | {"content-location": address})})

    assert closest.memento.uri == TIMEGATE
    assert f"Content-Location is no memento: {address}" in closest.doubts


@pytest.mark.parametrize("field", ["link", "content-location"])
async def test_an_address_with_http_is_not_used_after_https(field: str) -> None:
    secure = an_entry("memento", timegate="https://archive.example/timegate/")
    url = f"https://archive.example/timegate/{PAGE}"
    value = f"{original()}, {link(at(STAMP), STAMP)}" if field == "link" else at(STAMP)

    closest = await found({url: memento(VARY | {field: value})}, entry=secure)

    assert closest.memento.uri == url


async def test_an_absent_page_may_have_any_links() -> None:
    answer = Canned(404, {**VARY, "link": f"{original()}, {link(FOREIGN[0], STAMP)}"})

    assert await ask({TIMEGATE: answer}) is None


async def test_a_redirect_to_another_port_is_neither_the_answer_nor_requested() -> None:
    target = at(STAMP).replace("archive.example", "archive.example:6379")
    fetch = FakeFetcher({TIMEGATE: redirect(target, linking(target))})

    with pytest.raises(Misbehaved, match=r"archive\.example:6379, which the registry"):
        await ask(fetch)
    assert {request.url for request in fetch.journal} == {TIMEGATE}


@pytest.mark.parametrize("port", ["6379", "8080"])
async def test_the_port_of_an_endpoint_belongs_to_the_archive(port: str) -> None:
    entry = an_entry("memento", timegate="http://archive.example:8080/timegate/")
    url = f"http://archive.example:8080/timegate/{PAGE}"
    address = at(STAMP).replace("archive.example", f"archive.example:{port}")

    closest = await found({url: memento(VARY | {"content-location": address})}, entry=entry)

    assert closest.memento.uri == (address if port == "8080" else url)


@pytest.mark.parametrize("address", FOREIGN[:1] + FOREIGN[2:])
async def test_neighbours_outside_the_archive_are_dropped(address: str) -> None:
    foreign = address.replace(STAMP, EARLIER)
    links = f"{original()}, {link(at(STAMP), STAMP)}, {link(foreign, EARLIER, 'first memento')}"

    closest = await found({TIMEGATE: redirect(at(STAMP), {"link": links})})

    assert closest.memento.uri == at(STAMP)
    assert closest.neighbours == {}


async def test_a_memento_without_its_own_address_is_doubtful() -> None:
    """Pattern 2.3 of RFC 7089. A client without Accept-Datetime gets another capture."""
    closest = await found({TIMEGATE: memento(VARY)})

    assert closest.memento.uri == TIMEGATE
    assert closest.doubts == (
        "no URI-M of its own: without Accept-Datetime it may be another capture",
    )


async def test_the_newest_memento_needs_no_address_of_its_own() -> None:
    closest = await found({TIMEGATE: memento(VARY)}, when=None)

    assert closest.memento.uri == TIMEGATE
    assert closest.doubts == ()


async def test_the_memento_of_a_frame_is_in_its_links() -> None:
    frame = Canned(200, {**VARY, "link": f"{original()}, {link(at(STAMP), STAMP)}"})

    closest = await found({TIMEGATE: frame})

    assert closest.memento.uri == at(STAMP)
    assert closest.memento.status is None


@pytest.mark.parametrize("status", [200, 204, 301, 403, 404, 410, 429, 500, 503])
async def test_an_answer_with_a_date_is_a_memento_whatever_its_status(status: int) -> None:
    closest = await found(
        {TIMEGATE: memento(VARY | {"content-location": at(STAMP)}, status=status)}
    )

    assert closest.memento.status == status
    assert closest.doubts == ()


@pytest.mark.parametrize("status", [206, 304, 416])
async def test_a_status_that_was_not_requested_is_doubtful(status: int) -> None:
    closest = await found(
        {TIMEGATE: memento(VARY | {"content-location": at(STAMP)}, status=status)}
    )

    assert closest.doubts == (f"answers {status}, which was not requested",)


async def test_several_originals_are_doubtful() -> None:
    links = f"{original('http://other.example/')}, {original()}"

    stated = {"content-location": at(STAMP), "link": links}

    closest = await found({TIMEGATE: memento(VARY | stated)})

    assert closest.memento.original == PAGE
    assert closest.doubts == ("links several originals",)


async def test_a_repetition_of_the_requested_time_does_not_count() -> None:
    echo = memento(VARY | {"content-location": at(EARLIER)})

    closest = await found({TIMEGATE: echo}, STAMP)

    assert closest.memento.stamp == EARLIER
    assert "Memento-Datetime repeats the requested time" in closest.doubts


async def test_only_the_requested_address_can_repeat_the_time() -> None:
    answers = {TIMEGATE: redirect(at(EARLIER)), at(EARLIER): memento()}

    closest = await found(answers, STAMP)

    assert closest.memento.stamp == STAMP
    assert closest.doubts == (f"Memento-Datetime states {STAMP}, the address states {EARLIER}",)


async def test_digits_of_the_requested_address_prove_nothing() -> None:
    """Some archives serve the nearest capture at any address; only the header is right."""
    answers = {at(STAMP): memento(stamp=EARLIER)}

    closest = await found(answers, STAMP, WAYBACK)

    assert closest.memento.stamp == EARLIER
    assert closest.memento.uri == at(EARLIER)
    assert closest.doubts == ()


@pytest.mark.parametrize("date", ["Thu, 01 Jan 2150 00:00:00 GMT", "sometime", ""])
async def test_without_a_possible_date_the_result_is_unknown(date: str) -> None:
    answer = Canned(200, VARY | {"memento-datetime": date})

    with pytest.raises(Misbehaved, match="impossible date"):
        await ask({TIMEGATE: answer})


# Absent pages


@pytest.mark.parametrize("status", [404, 410])
async def test_an_absent_page_is_none(status: int) -> None:
    assert await ask({TIMEGATE: Canned(status)}) is None


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Canned(200, {"content-type": "text/html"}), Misbehaved),
        (Canned(200, VARY), Misbehaved),
        (Canned(400), Misbehaved),
        (Canned(500), Misbehaved),
        (Canned(204), Misbehaved),
        (Canned(304, {**VARY, "link": link(at(STAMP), STAMP)}), Misbehaved),
        (Canned(401), Refused),
        (Canned(451), Refused),
        (Canned(403), Refused),
        (Canned(429), Refused),
        (Canned(503), Refused),
    ],
)
async def test_any_other_answer_without_a_date_is_unknown(
    answer: Canned, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        await ask({TIMEGATE: answer})


# HEAD and GET


@pytest.mark.parametrize("status", [405, 501])
async def test_after_405_to_head_only_get_is_sent(status: int) -> None:
    fetch = FakeFetcher({f"HEAD {TIMEGATE}": Canned(status), f"GET {TIMEGATE}": memento(VARY)})
    source = source_for(ARCHIVE, fetch, clock)

    for _ in range(2):
        assert await source.closest(PAGE, Moment(STAMP)) is not None

    assert fetch.lines == [f"HEAD {TIMEGATE}", f"GET {TIMEGATE}", f"GET {TIMEGATE}"]


async def test_an_adapter_remembers_that_head_fails_when_the_fetcher_changes() -> None:
    answers = {f"HEAD {TIMEGATE}": Canned(405), f"GET {TIMEGATE}": memento(VARY)}
    adapter = adapter_for(ARCHIVE, clock)
    first, second = FakeFetcher(answers), FakeFetcher(answers)

    for fetch in (first, second):
        assert await AdapterSource(adapter, fetch).closest(PAGE, Moment(STAMP)) is not None

    assert first.lines == [f"HEAD {TIMEGATE}", f"GET {TIMEGATE}"]
    assert second.lines == [f"GET {TIMEGATE}"]


@pytest.mark.parametrize("status", [405, 501])
async def test_a_405_with_a_date_is_a_memento_of_one(status: int) -> None:
    fetch = FakeFetcher({TIMEGATE: memento(VARY, status=status)})

    assert (await found(fetch)).memento.status == status
    assert len(fetch.journal) == 1


@pytest.mark.parametrize("answer", [Canned(200), Canned(400), Canned(500), redirect(None)])
async def test_after_an_unusable_answer_to_head_get_is_sent(answer: Canned) -> None:
    fetch = FakeFetcher({f"HEAD {TIMEGATE}": answer, f"GET {TIMEGATE}": memento(VARY)})
    source = source_for(ARCHIVE, fetch, clock)

    for _ in range(2):
        assert await source.closest(PAGE, Moment(STAMP)) is not None

    assert fetch.lines == [f"HEAD {TIMEGATE}", f"GET {TIMEGATE}", f"GET {TIMEGATE}"]


async def test_after_unusable_answers_to_both_get_is_tried_once() -> None:
    fetch = FakeFetcher({TIMEGATE: Canned(200)})
    source = source_for(ARCHIVE, fetch, clock)

    for _ in range(2):
        with pytest.raises(Misbehaved):
            await source.closest(PAGE, Moment(STAMP))

    assert fetch.lines == [f"HEAD {TIMEGATE}", f"GET {TIMEGATE}", f"HEAD {TIMEGATE}"]


async def test_after_an_answer_to_head_that_violates_http_get_is_sent() -> None:
    broken = Misbehaved("test", TIMEGATE, "broken HTTP")
    fetch = FakeFetcher(lambda request: broken if request.method == "HEAD" else memento(VARY))
    source = source_for(ARCHIVE, fetch, clock)

    for _ in range(2):
        assert await source.closest(PAGE, Moment(STAMP)) is not None

    assert fetch.lines == [f"HEAD {TIMEGATE}", f"GET {TIMEGATE}", f"GET {TIMEGATE}"]


async def test_an_archive_that_always_violates_http_gets_one_request_each_time() -> None:
    fetch = FakeFetcher(lambda request: Misbehaved("test", request.url, "broken HTTP"))
    source = source_for(ARCHIVE, fetch, clock)

    for _ in range(2):
        with pytest.raises(Misbehaved, match="broken HTTP"):
            await source.closest(PAGE, Moment(STAMP))

    assert fetch.lines == [f"HEAD {TIMEGATE}", f"GET {TIMEGATE}", f"HEAD {TIMEGATE}"]


async def test_after_no_answer_no_second_request_is_sent() -> None:
    fetch = FakeFetcher(lambda request: Unreachable("test", request.url, "fell silent"))

    with pytest.raises(Unreachable):
        await ask(fetch)
    assert len(fetch.journal) == 1


async def test_a_404_to_the_first_head_is_accepted() -> None:
    fetch = FakeFetcher({TIMEGATE: Canned(404)})

    assert await ask(fetch) is None
    assert fetch.lines == [f"HEAD {TIMEGATE}"]


async def test_a_404_to_head_after_a_redirect_is_checked_with_get() -> None:
    fetch = FakeFetcher(
        {
            TIMEGATE: redirect(at(STAMP)),
            f"HEAD {at(STAMP)}": Canned(404),
            f"GET {at(STAMP)}": memento(),
        }
    )

    assert (await found(fetch)).memento.uri == at(STAMP)
    assert fetch.lines[1:] == [f"HEAD {at(STAMP)}", f"GET {at(STAMP)}"]


async def test_a_404_to_both_after_a_redirect_without_capture_is_absent() -> None:
    """For example, a TimeGate that has moved."""
    answers = {TIMEGATE: redirect(f"{BASE}/gate/{PAGE}")}

    assert await ask(answers) is None


# Neighbours that are nearer (S-6)


def with_neighbours(chosen: str, **neighbours: str) -> Canned:
    links = [original(), link(at(chosen), chosen)]
    links += [link(at(stamp), stamp, f"{rel} memento") for rel, stamp in neighbours.items()]
    return redirect(at(chosen), {"link": ", ".join(links)})


@pytest.mark.parametrize(
    ("when", "chosen", "neighbours", "best"),
    [
        ("2013", "20200101000000", {"prev": "20130101000000"}, "20130101000000"),
        ("201306", "20130501000000", {"next": "20130630000000"}, "20130630000000"),
        (None, "20100101000000", {"last": "20200101000000"}, "20200101000000"),
        ("20130615083000", "20200101000000", {"prev": "20130616000000"}, "20130616000000"),
        ("2013", "20100101000000", {"last": "20120101000000"}, "20120101000000"),
    ],
)
async def test_a_nearer_neighbour_is_the_first_candidate(
    when: str | None, chosen: str, neighbours: dict[str, str], best: str
) -> None:
    closest = await found({TIMEGATE: with_neighbours(chosen, **neighbours)}, when)

    assert closest.memento.uri == at(chosen)
    assert closest.doubts == ()
    moment = None if when is None else Moment(when)
    uris = [memento.uri for memento in candidates(closest, moment)]
    assert uris == [at(best), at(chosen)]


@pytest.mark.parametrize(
    ("when", "chosen", "neighbours"),
    [
        ("20130615083000", "20130615083000", {"prev": "20130615082959"}),
        ("20130615083000", "20130615083001", {"prev": "20130101000000"}),
        (None, "20200101000000", {"first": "20100101000000"}),
        ("20130615083000", "20130615083010", {"next": "21500101000000"}),
    ],
)
async def test_neighbours_that_are_not_nearer_stay_neighbours(
    when: str | None, chosen: str, neighbours: dict[str, str]
) -> None:
    closest = await found({TIMEGATE: with_neighbours(chosen, **neighbours)}, when)

    assert closest.memento.uri == at(chosen)
    assert closest.doubts == ()


@pytest.mark.parametrize(
    ("when", "chosen", "prev", "taken"),
    [
        ("20130615083005", "20130615083010", "20130615083000", "20130615083010"),
        ("2013", "20131231000000", "20130702000000", "20130702000000"),
    ],
    ids=["a tie", "inside the interval"],
)
async def test_ties_may_be_broken_without_a_doubt(
    when: str, chosen: str, prev: str, taken: str
) -> None:
    closest = await found({TIMEGATE: with_neighbours(chosen, prev=prev)}, when)

    assert candidates(closest, Moment(when))[0].uri == at(taken)
    assert closest.doubts == ()


def a_negotiator() -> Negotiator:
    return Negotiator(ARCHIVE, WITHOUT_SERVER.of(ARCHIVE), clock)


async def answered(negotiator: Negotiator, when: str, chosen: str, **linked: str) -> None:
    """Let the archive of *negotiator* answer with *chosen*, and link others."""
    fetch = FakeFetcher({TIMEGATE: with_neighbours(chosen, **linked)})
    question = Question(TIMEGATE, PAGE, Moment(when), "timegate", {}, when)
    assert await negotiator.closest(fetch, question) is not None


async def test_a_timegate_that_only_looks_back_is_recognised() -> None:
    negotiator = a_negotiator()

    for _ in range(3):
        assert negotiator.selection == "nearest"
        await answered(negotiator, STAMP, "20100101000000", next="20130615083001")

    assert negotiator.selection == "nearest-before"


async def test_a_timegate_that_chose_a_later_capture_once_looks_ahead() -> None:
    negotiator = a_negotiator()

    await answered(negotiator, STAMP, "20130615083001", prev="20100101000000")
    for _ in range(5):
        await answered(negotiator, STAMP, "20100101000000", next="20130615083001")

    assert negotiator.selection == "nearest"


# What the answer rests on


async def test_a_redirect_that_names_its_target_is_a_promise() -> None:
    closest = await found({TIMEGATE: with_neighbours(STAMP)}, STAMP)

    assert (closest.evidence, closest.hops) == ("promised", ())


async def test_a_memento_that_was_requested_is_delivered_with_its_hops() -> None:
    answers = {TIMEGATE: redirect(at(STAMP)), at(STAMP): memento(stamp=STAMP)}

    closest = await found(answers, STAMP)

    assert closest.evidence == "delivered"
    assert closest.hops == (Hop(TIMEGATE, 302, None), Hop(at(STAMP), 200, STAMP))


async def test_another_address_than_the_one_that_answered_is_a_promise() -> None:
    answer = memento(stamp=STAMP)
    headers = {**answer.headers, "content-location": at(STAMP), "vary": "accept-datetime"}

    closest = await found({TIMEGATE: Canned(200, headers)}, STAMP)

    assert (closest.memento.uri, closest.evidence) == (at(STAMP), "promised")


async def test_wrong_first_and_last_targets_are_never_selected() -> None:
    """LANL's server: the chosen memento is linked as first and last, with their dates (A-8)."""
    chosen = "20150101000000"
    links = [
        original(),
        link(at(chosen), "20130615083000", "first memento"),
        link(at(chosen), chosen),
        link(at(chosen), "20200101000000", "last memento"),
    ]
    answers = {
        TIMEGATE: redirect(at(chosen), {"link": ", ".join(links)}),
        at(chosen): memento(stamp=chosen),
    }

    closest = await found(answers, STAMP)

    assert (closest.memento.stamp, closest.memento.uri) == (chosen, at(chosen))
    assert closest.neighbours == {}


async def test_neighbours_at_other_hosts_are_never_selected() -> None:
    target = f"http://elsewhere.example/web/{STAMP}/{PAGE}"
    links = f"{link(at(EARLIER), EARLIER)}, {link(target, STAMP, 'next memento')}"

    closest = await found({TIMEGATE: redirect(at(EARLIER), {"link": links})}, STAMP)

    assert closest.memento.uri == at(EARLIER)
    assert closest.neighbours == {}


# The requested second


@pytest.mark.parametrize(
    ("at_", "selection", "requested"),
    [
        ("2013", "nearest", "20130702120000"),
        ("2013", "nearest-before", "20131231235959"),
        ("20130615083000", "nearest-before", "20130615083000"),
        ("9999", "nearest", "99990101000000"),
    ],
)
def test_the_requested_second_depends_on_how_the_archive_selects(
    at_: str, selection: Selection, requested: str
) -> None:
    assert instant_for(Moment(at_), selection) == requested


async def test_a_template_is_filled_with_the_requested_second() -> None:
    entry = an_entry("wayback", replay=BASE + "/web/{time14}/{uri}", selection="nearest-before")
    fetch = FakeFetcher({})

    await ask(fetch, "2013", entry)

    assert fetch.lines == [f"HEAD {at('20131231235959')}"]


async def test_the_newest_is_requested_with_a_time_that_no_capture_has() -> None:
    """So a frame that repeats the digits of its address is detected."""

    def echo(request: object) -> Canned:
        del request
        return memento(stamp="20261116120000")

    fetch = FakeFetcher(echo)

    with pytest.raises(Misbehaved, match="impossible date"):
        await ask(fetch, None, WAYBACK)
    assert fetch.lines[0] == f"HEAD {at('20261116120000')}"


async def test_neighbours_of_a_raw_view_have_their_replay_addresses() -> None:
    entry = an_entry(
        "wayback",
        replay=BASE + "/web/{time14}/{uri}",
        raw=BASE + "/web/{time14}id_/{uri}",
    )
    links = f"{original()}, {link(at(EARLIER, modifier='id_'), EARLIER, 'prev memento')}"

    closest = await found({at(STAMP, modifier="id_"): memento({"link": links})}, STAMP, entry)

    assert closest.memento.uri == at(STAMP)
    assert closest.neighbours["prev"].uri == at(EARLIER)


async def test_an_archive_with_only_raw_views_gives_raw_addresses() -> None:
    entry = an_entry("wayback", raw=BASE + "/web/{time14}id_/{uri}")

    closest = await found({at(STAMP, modifier="id_"): memento()}, STAMP, entry)

    assert closest.memento.uri == at(STAMP, modifier="id_")


def test_a_capture_may_be_an_hour_ahead_of_our_clock() -> None:
    assert latest_stamp(clock) == "20261115130000"


# The original


OTHER: Final = "http://other.example/"


async def test_a_redirect_to_an_address_of_another_page_is_followed() -> None:
    there = at(STAMP, OTHER)
    answers = {
        TIMEGATE: redirect(there, {"link": f"{original()}, {link(there, STAMP)}"}),
        there: memento({"link": original(OTHER)}),
    }

    closest = await found(answers)

    assert closest.memento.original == OTHER
    assert closest.doubts == ()


async def test_an_address_of_another_page_than_the_linked_original_is_doubtful() -> None:
    there = at(STAMP, OTHER)
    claims = {"link": f"{original()}, {link(there, STAMP)}"}

    closest = await found({TIMEGATE: redirect(there, claims), there: memento(claims)})

    assert closest.memento.original == PAGE
    assert closest.doubts == (f"its address is of {OTHER}",)


@pytest.mark.parametrize(
    "spelled",
    [
        "http://www.example.org:80/",
        "example.org/",
        "http:/example.org/",
        "https://EXAMPLE.org",
        "http://example.org/?",
        "http://example.org/%2e",
    ],
)
async def test_urls_with_one_key_are_one_page(spelled: str) -> None:
    there = at(STAMP, spelled)

    closest = await found(
        {TIMEGATE: redirect(there, {"link": f"{original()}, {link(there, STAMP)}"})}
    )

    assert closest.doubts == ()


AGGREGATOR: Final = an_entry(
    "memento",
    timegate=f"{BASE}/timegate/",
    hosts=("one.example", "two.example"),
)


async def test_first_and_last_of_an_aggregator_are_not_those_of_one_archive() -> None:
    later = "20150101000000"
    mementos = {
        "memento": (STAMP, f"http://one.example/{STAMP}/{PAGE}"),
        "first prev memento": (EARLIER, f"http://two.example/{EARLIER}/{PAGE}"),
        "next memento": (later, f"http://one.example/{later}/{PAGE}"),
        "last memento": ("20200101000000", f"http://two.example/20200101000000/{PAGE}"),
    }
    links = [link(uri, stamp, rel) for rel, (stamp, uri) in mementos.items()]
    answer = redirect(f"http://one.example/{STAMP}/{PAGE}", {"link": ", ".join(links)})

    closest = await found({TIMEGATE: answer}, entry=AGGREGATOR)

    assert {name: m.stamp for name, m in closest.neighbours.items()} == {"next": later}


async def test_a_link_to_a_twin_is_no_next() -> None:
    twin = f"{BASE}/other/{STAMP}/{PAGE}"
    links = [link(at(STAMP), STAMP), link(twin, STAMP, "next memento")]

    closest = await found({TIMEGATE: redirect(at(STAMP), {"link": ", ".join(links)})})

    assert closest.memento.uri == at(STAMP)
    assert closest.neighbours == {}


async def test_the_neighbours_of_a_preferred_neighbour_are_its_own() -> None:
    after, last = "20130615083005", "20200101000000"
    links = [
        link(at(EARLIER), EARLIER),
        link(at(STAMP), STAMP, "next memento"),
        link(at(last), last, "last memento"),
    ]
    answers = {TIMEGATE: redirect(at(EARLIER), {"link": ", ".join(links)})}

    requested = Moment(after[:12])
    closest = await found(answers, requested.digits)
    preferred = at_candidate(closest, candidates(closest, requested)[0])

    assert preferred.memento.stamp == STAMP
    around = {name: m.stamp for name, m in preferred.neighbours.items()}
    assert around == {"prev": EARLIER, "last": last}


async def test_a_404_that_links_mementos_is_no_clear_no() -> None:
    """Some TimeGates answer so for times after their last capture."""
    links = ", ".join([original(), link(at(EARLIER), EARLIER, "first last memento")])

    closest = await found({TIMEGATE: Canned(404, {"link": links})}, STAMP)

    assert closest.memento.uri == at(EARLIER)
    assert closest.evidence == "promised"
    assert closest.doubts == ("answers 404, although it links mementos",)
