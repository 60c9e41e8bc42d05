"""Lists of captures: one document or several, complete or not, plausible or not."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import pytest

from archives.adapters import source_for
from archives.errors import ArchiveError, Misbehaved, Refused, Unreachable
from archives.formats.httpdate import http_date
from archives.formats.rows import Row
from archives.listing import MOST_DOCUMENTS, cdx_query, filled, has_second_list
from archives.listing.document import capture_of
from archives.model import ArchiveEntry, Memento
from archives.moment import Moment
from archives.source import Request
from tests.fakes import Answers, Canned, FakeFetcher, an_entry, clock

PAGE: Final = "http://example.org/"
BASE: Final = "http://archive.example"
TIMEMAP: Final = f"{BASE}/timemap/link/{PAGE}"
NOW: Final = "20261115130000"
ARCHIVE: Final = an_entry(
    "memento", timegate=f"{BASE}/timegate/", timemaps={"link": f"{BASE}/timemap/link/"}
)
WAYBACK_CDX: Final = an_entry(
    "cdx", cdx=f"{BASE}/cdx", dialect="wayback-cdx", replay=BASE + "/web/{time14}/{uri}"
)
PYWB: Final = an_entry(
    "cdx", cdx=f"{BASE}/cdx", dialect="pywb-cdxj", replay=BASE + "/web/{time14}/{uri}"
)


def at(stamp: str, page: str = PAGE) -> str:
    return f"{BASE}/web/{stamp}/{page}"


def written(*stamps: str, pages: Sequence[str] = ()) -> bytes:
    """Return a TimeMap of captures at *stamps* that links other *pages*."""
    links = [
        f'<{PAGE}>; rel="original"',
        *pages,
        *(f'<{at(s)}>; rel="memento"; datetime="{http_date(s)}"' for s in stamps),
    ]
    return ",\n".join(links).encode() + b"\n"


def timemap(*stamps: str, pages: Sequence[str] = ()) -> Canned:
    return Canned(body=written(*stamps, pages=pages))


def page_link(number: int, since: str | None = None, base: str = BASE) -> str:
    limits = "" if since is None else f'; from="{http_date(since)}"'
    return f'<{page_url(number, base)}>; rel="timemap"; type="application/link-format"{limits}'


def page_url(number: int, base: str = BASE) -> str:
    return f"{base}/timemap/link/page{number}/{PAGE}"


def years(*numbers: int) -> list[str]:
    return [f"{year}0101000000" for year in numbers]


async def read(
    answers: Answers | FakeFetcher, entry: ArchiveEntry = ARCHIVE
) -> tuple[list[str], ArchiveError | None]:
    """Return the listed stamps, and the error after them."""
    fetch = answers if isinstance(answers, FakeFetcher) else FakeFetcher(answers)
    stamps: list[str] = []
    try:
        async for batch in source_for(entry, fetch, clock).mementos(PAGE):
            stamps += [memento.stamp for memento in batch]
    except ArchiveError as error:
        return stamps, error
    return stamps, None


# Two lists

BOTH: Final = replace(
    ARCHIVE, cdx=f"{BASE}/cdx", dialect="wayback-cdx", replay=BASE + "/web/{time14}/{uri}"
)
INDEX: Final = cdx_query(
    f"{BASE}/cdx", PAGE, {"output": "json", "limit": "10000", "showResumeKey": "true"}
)


async def test_details_come_from_the_cdx_server_if_there_is_one() -> None:
    row = ["org,example)/", "20130615083000", PAGE, "text/html", "200", "AAA", "9"]
    names = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"]
    fetch = FakeFetcher(
        {
            TIMEMAP: timemap("20130615083000"),
            INDEX: Canned(body=json.dumps([names, row]).encode()),
        }
    )
    source = source_for(BOTH, fetch, clock)

    plain = [capture async for batch in source.mementos(PAGE) for capture in batch]
    detailed = [
        capture async for batch in source.mementos(PAGE, detailed=True) for capture in batch
    ]

    assert plain == [Memento("20130615083000", at("20130615083000"), PAGE, "test")]
    assert detailed == [plain[0]._replace(status=200, mime="text/html", digest="AAA", length=9)]


@pytest.mark.parametrize("index", [Canned(404), Canned(body=b"[]\n")])
async def test_an_empty_index_is_compared_with_the_timemap(index: Canned) -> None:
    def answer(request: Request) -> Canned:
        if request.url.startswith(f"{BASE}/cdx"):
            return index
        return timemap("20130615083000") if request.url == TIMEMAP else Canned(404)

    source = source_for(BOTH, FakeFetcher(answer), clock)
    batches = source.mementos(PAGE, detailed=True)

    assert [capture.stamp async for batch in batches for capture in batch] == ["20130615083000"]


async def test_neither_index_nor_timemap_is_an_empty_list() -> None:
    source = source_for(BOTH, FakeFetcher({}), clock)

    batches = source.mementos(PAGE, detailed=True)

    assert [capture async for batch in batches for capture in batch] == []


async def test_an_index_that_fails_is_a_failure() -> None:
    fetch = FakeFetcher({TIMEMAP: timemap("20130615083000")} | {INDEX: Canned(500)})
    batches = source_for(BOTH, fetch, clock).mementos(PAGE, detailed=True)

    with pytest.raises(ArchiveError):
        [batch async for batch in batches]


async def test_without_a_cdx_server_details_are_unknown() -> None:
    fetch = FakeFetcher({TIMEMAP: timemap("20130615083000")})
    source = source_for(ARCHIVE, fetch, clock)

    [batch] = [batch async for batch in source.mementos(PAGE, detailed=True)]

    assert batch == [Memento("20130615083000", at("20130615083000"), PAGE, "test")]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [(BOTH, True), (ARCHIVE, False), (WAYBACK_CDX, False), (replace(BOTH, replay=None), False)],
)
def test_an_archive_has_a_second_list_if_it_has_a_timemap_and_a_cdx_server(
    entry: ArchiveEntry, *, expected: bool
) -> None:
    assert has_second_list(entry) is expected


# One document


async def test_reading_stops_when_a_limit_is_reached() -> None:
    links = b'<http://a/>; rel="memento",\n' * 1000
    after = Misbehaved("a", TIMEMAP, "not read")
    body = [written(*years(2010)).rstrip() + b",\n", *[links] * 60]

    stamps, error = await read({TIMEMAP: Canned(body=body, breaks=after)})

    assert stamps == years(2010)
    assert "more than 50000 items that are no captures" in str(error)


async def test_a_timemap_is_read() -> None:
    stamps, error = await read({TIMEMAP: timemap(*years(2010, 2013))})

    assert (stamps, error) == (years(2010, 2013), None)


@pytest.mark.parametrize("size", [1, 7, 511, 512, 513, 100_000])
async def test_the_division_into_chunks_makes_no_difference(size: int) -> None:
    body = written(*years(*range(1991, 2026)))
    pieces = [body[start : start + size] for start in range(0, len(body), size)]

    stamps, error = await read({TIMEMAP: Canned(body=pieces)})

    assert (stamps, error) == (years(*range(1991, 2026)), None)


async def test_captures_are_at_the_linked_addresses() -> None:
    fetch = FakeFetcher({TIMEMAP: timemap("20130615083000")})

    [batch] = [batch async for batch in source_for(ARCHIVE, fetch, clock).mementos(PAGE)]

    assert batch == [Memento("20130615083000", at("20130615083000"), PAGE, "test")]


@pytest.mark.parametrize(
    "elsewhere",
    [
        "http://evil.example",
        "http://archive.example@evil.example",
        "http://evil.example\\@archive.example",
        "http://evil.example#.archive.example",
        "http://archive.example.evil",
        "http://notarchive.example",
        "http://archive.example:6379",
        "//archive.example:6379",
        "http://archive.example:443",
        "https://archive.example:80",
        "http://me@archive.example",
        "http://www.archive.example:8080",
    ],
)
async def test_captures_at_servers_outside_the_registry_are_dropped(elsewhere: str) -> None:
    foreign = written(*years(2012)).replace(
        f"<{BASE}/web".encode(), f"<{elsewhere}/web".encode()
    )

    only_foreign, error = await read({TIMEMAP: Canned(body=foreign)})
    among, fine = await read(
        {TIMEMAP: Canned(body=written(*years(2010)).strip() + b"," + foreign)}
    )

    assert (only_foreign, among, fine) == ([], years(2010), None)
    assert isinstance(error, Misbehaved)


async def test_the_error_names_a_server_outside_the_registry() -> None:
    foreign = written(*years(2012)).replace(
        b"<http://archive.", b"<http://wayback.intern/archive."
    )

    _, error = await read({TIMEMAP: Canned(body=foreign)})

    assert error is not None
    assert "at http://wayback.intern, which the registry does not name" in error.why


@pytest.mark.parametrize(
    "host", ["archive.example:80", "www.archive.example", "ARCHIVE.example", "old.example"]
)
async def test_captures_may_be_at_any_server_of_the_archive(host: str) -> None:
    entry = replace(ARCHIVE, former_hosts=("old.example",))
    moved = written(*years(2012)).replace(
        f"<{BASE}/web".encode(), f"<http://{host}/web".encode()
    )

    assert await read({TIMEMAP: Canned(body=moved)}, entry) == (years(2012), None)


async def test_captures_may_be_at_the_port_of_an_endpoint() -> None:
    entry = replace(ARCHIVE, replay="http://archive.example:8080/web/{time14}/{uri}")
    moved = written(*years(2012)).replace(
        f"<{BASE}/web".encode(), b"<http://archive.example:8080/web"
    )

    assert await read({TIMEMAP: Canned(body=moved)}, entry) == (years(2012), None)


async def test_the_error_names_a_port_outside_the_registry() -> None:
    moved = written(*years(2012)).replace(
        f"<{BASE}/web".encode(), b"<http://archive.example:6379/web"
    )

    _, error = await read({TIMEMAP: Canned(body=moved)})

    assert error is not None
    assert "at http://archive.example:6379, which the registry does not name" in error.why


@pytest.mark.parametrize("status", [404, 410])
async def test_an_absent_document_is_an_empty_list(status: int) -> None:
    assert await read({TIMEMAP: Canned(status)}) == ([], None)


@pytest.mark.parametrize("body", [b"", b"\n", b"\r\n", [b"\r", b"\n"]])
async def test_an_empty_document_is_an_empty_list(body: bytes | Sequence[bytes]) -> None:
    assert await read({TIMEMAP: Canned(body=body)}) == ([], None)


async def test_a_timemap_without_mementos_is_an_empty_list() -> None:
    assert await read({TIMEMAP: timemap()}) == ([], None)


@pytest.mark.parametrize(
    ("answer", "kind", "why"),
    [
        (Canned(body=b"<!doctype html><title>Are you human?</title>"), Misbehaved, "web page"),
        (Canned(body=b"no such thing"), Misbehaved, "does not begin like a list"),
        (Canned(body=b"\n" * 3), Misbehaved, "with no content"),
        (Canned(body=b" " * 5_000), Misbehaved, "with no content"),
        (Canned(206, body=b"<http://e/>;"), Misbehaved, "answers 206"),
        (Canned(500), Misbehaved, "answers 500"),
        (Canned(302), Misbehaved, "answers 302"),
        (Canned(401), Refused, "refused with 401"),
        (Canned(451), Refused, "refused with 451"),
        (Canned(429), Refused, "refused with 429"),
    ],
)
async def test_any_other_answer_is_no_list(
    answer: Canned, kind: type[ArchiveError], why: str
) -> None:
    stamps, error = await read({TIMEMAP: answer})

    assert stamps == []
    assert isinstance(error, kind)
    assert why in error.why


async def test_blanks_before_a_list_are_ignored() -> None:
    whole = written(*years(2013))

    stamps, error = await read({TIMEMAP: Canned(body=[b"\n" * 600, whole])})

    assert (stamps, error) == (years(2013), None)


async def test_a_list_that_breaks_off_yields_its_captures_and_raises() -> None:
    breaks = Misbehaved("test", TIMEMAP, "body breaks off")
    whole = written(*years(*range(2000, 2020)))

    stamps, error = await read({TIMEMAP: Canned(body=[whole[:900]], breaks=breaks)})

    assert error is breaks
    assert 0 < len(stamps) < 20


async def test_an_incomplete_list_raises() -> None:
    whole = written(*years(2010, 2013))

    stamps, error = await read({TIMEMAP: Canned(body=whole[:-20])})

    assert stamps == years(2010)
    assert isinstance(error, Misbehaved)
    assert "incomplete" in error.why


async def test_the_fragment_of_a_url_is_not_requested() -> None:
    fetch = FakeFetcher({TIMEMAP: timemap(*years(2013))})

    batches = source_for(ARCHIVE, fetch, clock).mementos(f"{PAGE}#top")

    assert [memento.original async for batch in batches for memento in batch] == [PAGE]
    assert fetch.lines == [f"GET {TIMEMAP}"]


# Redirects


async def test_a_redirected_list_is_followed() -> None:
    fetch = FakeFetcher(
        {
            TIMEMAP: Canned(301, {"location": "/moved"}),
            f"{BASE}/moved": timemap(*years(2013)),
        }
    )

    assert await read(fetch) == (years(2013), None)
    assert len(fetch.journal) == 2


async def test_the_number_of_redirects_is_limited() -> None:
    fetch = FakeFetcher(lambda request: Canned(302, {"location": f"{request.url}x"}))

    stamps, error = await read(fetch)

    assert stamps == []
    assert isinstance(error, Misbehaved)
    assert len(fetch.journal) == 6


@pytest.mark.parametrize("location", ["http://elsewhere.example/", "file:///etc/passwd"])
async def test_redirects_to_other_hosts_are_not_followed(location: str) -> None:
    stamps, error = await read({TIMEMAP: Canned(302, {"location": location})})

    assert stamps == []
    assert isinstance(error, Misbehaved)


async def test_redirects_from_https_to_http_are_not_followed() -> None:
    secure = an_entry(
        "memento", timegate=BASE, timemaps={"link": "https://archive.example/timemap/link/"}
    )
    url = TIMEMAP.replace("http:", "https:", 1)
    fetch = FakeFetcher({url: Canned(302, {"location": TIMEMAP}), TIMEMAP: timemap()})

    _, error = await read(fetch, secure)

    assert isinstance(error, Misbehaved)
    assert len(fetch.journal) == 1


# Plausible rows


async def test_impossible_captures_are_dropped() -> None:
    stamps, error = await read({TIMEMAP: timemap("19010101000000", *years(2013, 2150))})

    assert (stamps, error) == (years(2013), None)


@pytest.mark.parametrize(
    "body",
    [
        written("19010101000000", *years(2150)),
        written(*years(2013)).replace(b"01 Jan 2013", b"once upon") + b", <http://e/>; rel=x",
    ],
    ids=["all impossible", "all unreadable"],
)
async def test_a_list_of_impossible_captures_is_not_an_empty_list(body: bytes) -> None:
    stamps, error = await read({TIMEMAP: Canned(body=body)})

    assert stamps == []
    assert isinstance(error, Misbehaved)
    assert "none that can be read" in error.why


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            Row("20130615083000", at("20130615083000")),
            Memento("20130615083000", at("20130615083000"), PAGE, "test"),
        ),
        (
            Row("20120101000000", at("20130615083000")),
            Memento("20130615083000", at("20130615083000"), PAGE, "test"),
        ),
        (
            Row("20130615083000", at("21500101000000")),
            Memento("20130615083000", at("21500101000000"), PAGE, "test"),
        ),
        (
            Row("20130615083000", f"{BASE}/ABCD"),
            Memento("20130615083000", f"{BASE}/ABCD", PAGE, "test"),
        ),
        (
            Row("20130615083000", at("20130615083000", "https://www.example.org/")),
            Memento(
                "20130615083000",
                at("20130615083000", "https://www.example.org/"),
                "https://www.example.org/",
                "test",
            ),
        ),
        (
            Row("20130615083000", at("20130615083000", "www.example.org/")),
            Memento("20130615083000", at("20130615083000", "www.example.org/"), PAGE, "test"),
        ),
        (
            Row("20130615083000123", None, "https://e/?a={time14}", 404, "text/html", "ABC"),
            Memento(
                "20130615083000123",
                f"{BASE}/web/20130615083000/https://e/?a={{time14}}",
                "https://e/?a={time14}",
                "test",
                404,
                "text/html",
                "ABC",
            ),
        ),
    ],
    ids=[
        "all agree",
        "the digits are right",
        "the digits are impossible",
        "no digits",
        "another spelling",
        "a spelling without scheme",
        "a template",
    ],
)
def test_a_row_becomes_a_capture(row: Row, expected: Memento) -> None:
    assert capture_of(row, PYWB, PAGE, NOW) == expected


async def test_a_capture_without_a_web_address_is_dropped() -> None:
    wrong = b'<javascript:alert(1)>; rel="memento"; datetime="Tue, 01 Jan 2013 00:00:00 GMT",\n'
    right = written(*years(2014))

    assert await read({TIMEMAP: Canned(body=wrong + right)}) == (years(2014), None)


# Pages


async def test_pages_are_read_one_after_the_other() -> None:
    fetch = FakeFetcher(
        {
            TIMEMAP: timemap(*years(2010), pages=[page_link(2, "20110101000000")]),
            page_url(2): timemap(*years(2011), pages=[page_link(3, "20120101000000")]),
            page_url(3): timemap(*years(2012)),
        }
    )

    assert await read(fetch) == (years(2010, 2011, 2012), None)
    assert len(fetch.journal) == 3


async def test_an_index_of_pages_is_read_oldest_first() -> None:
    index = [page_link(1, "20150101000000"), page_link(2, "20100101000000")]
    fetch = FakeFetcher(
        {
            TIMEMAP: timemap(pages=index),
            page_url(1): timemap(*years(2015)),
            page_url(2): timemap(*years(2010)),
        }
    )

    assert await read(fetch) == (years(2010, 2015), None)
    assert fetch.lines[1:] == [f"GET {page_url(2)}", f"GET {page_url(1)}"]


@pytest.mark.parametrize("since", [None, "19960101000000"])
async def test_pages_may_be_listed_newest_first(since: str | None) -> None:
    """The first page has more captures than are examined for the order of the list."""
    newest = [f"2020{month:02}{day:02}000000" for month in range(1, 13) for day in range(1, 29)]
    newer = [stamp.replace("2020", "2019", 1) for stamp in newest]
    answers = {
        TIMEMAP: timemap(*newer, *newest, pages=[page_link(2, since)]),
        page_url(2): timemap(*years(2011, 2012)),
    }

    assert await read(answers) == ([*years(2011, 2012), *newer, *newest], None)


async def test_captures_are_yielded_before_later_pages_are_read() -> None:
    first = [
        f"{year}{month:02}01000000" for year in range(1995, 2020) for month in range(1, 13)
    ]
    first += [stamp[:6] + "15000000" for stamp in first]
    fetch = FakeFetcher(
        {
            TIMEMAP: timemap(*sorted(first), pages=[page_link(2, "20200101000000")]),
            page_url(2): timemap(*years(2021)),
        }
    )
    batches = source_for(ARCHIVE, fetch, clock).mementos(PAGE)

    first_batch = await anext(batches)

    assert len(first_batch) > 512
    assert len(fetch.journal) == 1
    await batches.aclose()


async def test_a_page_with_captures_before_its_stated_beginning_is_misbehaviour() -> None:
    first = sorted(
        f"{year}{m:02}{d}000000"
        for year in range(1995, 2020)
        for m in range(1, 13)
        for d in (10, 20)
    )
    answers = {
        TIMEMAP: timemap(*first, pages=[page_link(2, "20200101000000")]),
        page_url(2): timemap(*years(1994)),
    }

    stamps, error = await read(answers)

    assert stamps == first
    assert isinstance(error, Misbehaved)


async def test_a_first_page_at_two_addresses_is_listed_once() -> None:
    answers = {
        TIMEMAP: timemap(*years(2010), pages=[page_link(2)]),
        page_url(1): timemap(*years(2010), pages=[page_link(2)]),
        page_url(2): timemap(*years(2011), pages=[page_link(1)]),
    }

    assert await read(answers) == (years(2010, 2011), None)


async def test_pages_that_repeat_themselves_are_not_followed() -> None:
    def endless(request: Request) -> Canned:
        number = int(request.url.partition("/page")[2].partition("/")[0] or 1)
        return timemap(*years(2010), pages=[page_link(number + 1)])

    fetch = FakeFetcher(endless)

    assert await read(fetch) == (years(2010), None)
    assert len(fetch.journal) == 2


async def test_the_number_of_pages_is_limited() -> None:
    def endless(request: Request) -> Canned:
        number = int(request.url.partition("/page")[2].partition("/")[0] or 1)
        return timemap(f"20100101{number:06}", pages=[page_link(number + 1)])

    fetch = FakeFetcher(endless)

    stamps, error = await read(fetch)

    assert len(stamps) == len(fetch.journal) == MOST_DOCUMENTS
    assert isinstance(error, Misbehaved)
    assert "more than 50 documents" in error.why


@pytest.mark.parametrize(
    "gone", [Canned(404), Canned(410), Canned(body=b""), Canned(500)], ids=lambda c: c.status
)
async def test_a_missing_page_makes_the_list_incomplete(gone: Canned) -> None:
    answers = {TIMEMAP: timemap(*years(2010), pages=[page_link(2)]), page_url(2): gone}

    stamps, error = await read(answers)

    assert stamps == years(2010)
    assert isinstance(error, Misbehaved)


async def test_an_index_that_links_only_itself_is_not_an_empty_list() -> None:
    answers = {TIMEMAP: timemap(pages=[f'<{TIMEMAP}>; rel="timemap"'])}

    stamps, error = await read(answers)

    assert stamps == []
    assert isinstance(error, Misbehaved)


async def test_pages_linked_with_http_are_requested_with_https() -> None:
    """Behind a proxy that adds TLS, archives write http:// into their TimeMaps."""
    secure = an_entry(
        "memento", timegate=BASE, timemaps={"link": "https://archive.example/timemap/link/"}
    )
    fetch = FakeFetcher(
        {
            TIMEMAP.replace("http:", "https:", 1): timemap(
                *years(2010), pages=[f'<{TIMEMAP}>; rel="timemap"', page_link(2)]
            ),
            page_url(2, "https://archive.example"): timemap(*years(2011)),
        }
    )

    assert await read(fetch, secure) == (years(2010, 2011), None)


# Choice of the list


@pytest.mark.parametrize(
    ("timemaps", "form"),
    [
        ({"json": f"{BASE}/json/", "cdxj": f"{BASE}/cdxj/", "link": f"{BASE}/link/"}, "link"),
        ({"json": f"{BASE}/json/", "cdxj": f"{BASE}/cdxj/"}, "cdxj"),
        ({"json": f"{BASE}/json/"}, "json"),
    ],
)
async def test_the_preferred_format_is_requested(
    timemaps: Mapping[str, str], form: str
) -> None:
    fetch = FakeFetcher({})

    await read(fetch, an_entry("memento", timegate=BASE, timemaps=timemaps))

    assert fetch.lines == [f"GET {BASE}/{form}/{PAGE}"]


async def test_without_a_timemap_the_index_is_read() -> None:
    entry = an_entry(
        "wayback", cdx=f"{BASE}/cdx", dialect="outbackcdx", replay=BASE + "/{time14}/{uri}"
    )
    fetch = FakeFetcher({})

    await read(fetch, entry)

    assert fetch.lines == [f"GET {BASE}/cdx?url=http%3A%2F%2Fexample.org%2F"]


@pytest.mark.parametrize(
    "fields",
    [{}, {"cdx": f"{BASE}/cdx", "dialect": "pywb-cdxj"}],
    ids=["nothing", "no template"],
)
async def test_an_archive_without_a_list_is_unreachable(fields: dict[str, str]) -> None:
    stamps, error = await read({}, an_entry("memento", timegate=BASE, **fields))

    assert stamps == []
    assert isinstance(error, Unreachable)


# CDX


def rows(*stamps: str, key: str | None = None) -> Canned:
    table: list[list[str]] = [
        ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest"]
    ]
    table += [["org,example)/", stamp, PAGE, "text/html", "200", "ABC"] for stamp in stamps]
    return Canned(body=json.dumps(table + ([[], [key]] if key else [])).encode())


def lines(*stamps: str) -> Canned:
    return Canned(body=b"".join(map(line, stamps)))


def line(stamp: str, status: str = "200") -> bytes:
    return json.dumps({"timestamp": stamp, "url": PAGE, "status": status}).encode() + b"\n"


def test_a_url_in_a_query_is_fully_percent_encoded() -> None:
    query = cdx_query("http://a/cdx", "http://e/a//b%2Fc?d=1&e=2", {"limit": "-1"})

    assert query == "http://a/cdx?url=http%3A%2F%2Fe%2Fa%2F%2Fb%252Fc%3Fd%3D1%26e%3D2&limit=-1"


def test_a_template_is_filled_once() -> None:
    assert (
        filled("{time14}/{uri}", "20130615083000123", "{time14}") == "20130615083000/{time14}"
    )


ALL_ROWS: Final = (
    f"{BASE}/cdx?url=http%3A%2F%2Fexample.org%2F&output=json&limit=10000&showResumeKey=true"
)


async def test_an_index_is_read_by_resume_keys() -> None:
    fetch = FakeFetcher(
        {
            ALL_ROWS: rows(*years(2010), key="org%2Cexample+2010!"),
            f"{ALL_ROWS}&resumeKey=org%252Cexample%2B2010%21": rows(*years(2011)),
        }
    )

    assert await read(fetch, WAYBACK_CDX) == (years(2010, 2011), None)


async def test_resume_keys_that_form_a_loop_are_detected() -> None:
    fetch = FakeFetcher(lambda _: rows(*years(2010), key="again"))

    stamps, error = await read(fetch, WAYBACK_CDX)

    assert stamps == years(2010)
    assert isinstance(error, Misbehaved)
    assert len(fetch.journal) == 2


async def closest(
    answers: Answers | FakeFetcher, when: str | None, entry: ArchiveEntry = PYWB
) -> tuple[str, tuple[str, ...]] | None:
    fetch = answers if isinstance(answers, FakeFetcher) else FakeFetcher(answers)
    at_ = None if when is None else Moment(when)
    found = await source_for(entry, fetch, clock).closest(PAGE, at_)
    return None if found is None else (found.memento.stamp, found.doubts)


UNSORTED: Final = ("does not sort its index as requested: the whole index was read",)


def ignoring_sort(*stamps: str) -> FakeFetcher:
    """Return the answers of a server that supports only ``limit``."""

    def answer(request: Request) -> Canned:
        limited = "limit=5" in request.url
        return lines(*(stamps[:5] if limited else stamps))

    return FakeFetcher(answer)


@pytest.mark.parametrize(
    ("when", "expected", "requests"),
    [
        ("2018", ("20180101000000", UNSORTED), 2),
        (None, ("20190101000000", UNSORTED), 2),
        ("2000", ("20100101000000", ()), 1),
    ],
)
async def test_an_index_that_ignores_the_requested_order_is_read_completely(
    when: str | None, expected: tuple[str, tuple[str, ...]], requests: int
) -> None:
    fetch = ignoring_sort(*years(*range(2010, 2020)))

    assert await closest(fetch, when) == expected
    assert len(fetch.journal) == requests


@pytest.mark.parametrize("when", ["2012", None])
async def test_an_index_of_few_rows_needs_no_order(when: str | None) -> None:
    fetch = ignoring_sort(*years(2010, 2011, 2012))

    assert await closest(fetch, when) == ("20120101000000", ())
    assert len(fetch.journal) == 1


@pytest.mark.parametrize("when", ["2013", None])
async def test_rows_with_impossible_dates_are_never_selected(when: str | None) -> None:
    answer = lines("20130230000000", "21500101000000", "19010101000000", *years(2010))

    assert await closest(lambda _: answer, when) == ("20100101000000", ())


@pytest.mark.parametrize("when", ["2140", None])
async def test_the_whole_index_is_read_if_all_nearest_rows_are_impossible(
    when: str | None,
) -> None:
    impossible = years(2154, 2153, 2152, 2151, 2150)

    def answer(request: Request) -> Canned:
        limited = "limit=5" in request.url
        return lines(*impossible) if limited else lines(*years(2010, 2011), *impossible)

    assert await closest(answer, when) == ("20110101000000", UNSORTED)


async def test_an_index_of_impossible_rows_is_unknown() -> None:
    with pytest.raises(Misbehaved, match="none that can be read"):
        await closest(lambda _: lines(*years(2150)), "2013")


async def test_of_two_captures_in_one_second_the_page_is_found() -> None:
    both = line("20130615083000", "301") + line("20130615083000", "200")
    fetch = FakeFetcher(lambda _: Canned(body=both))

    found = await source_for(PYWB, fetch, clock).closest(PAGE, Moment("2013"))

    assert found is not None
    assert found.memento.status == 200


async def test_the_newest_rows_of_the_wayback_machine_come_oldest_first() -> None:
    newest = cdx_query(f"{BASE}/cdx", PAGE, {"output": "json", "limit": "-5"})
    fetch = FakeFetcher({newest: rows(*years(*range(2010, 2015)))})

    assert await closest(fetch, None, WAYBACK_CDX) == ("20140101000000", ())
    assert len(fetch.journal) == 1


async def test_an_index_of_too_many_pages_is_read_in_part() -> None:
    def answer(request: Request) -> Canned:
        number = int(request.url.partition("/page")[2].partition("/")[0] or 0)
        if not number:
            return timemap(pages=[page_link(n) for n in range(1, 10_001)])
        return timemap(f"20100101{number:06}")

    stamps, error = await read(FakeFetcher(answer))

    assert len(stamps) == MOST_DOCUMENTS - 1
    assert isinstance(error, Misbehaved)
