"""The unchecked link to the named archive, why it gave no answer, and what one can do."""

from dataclasses import replace

import pytest

from archives.errors import ArchiveError, Misbehaved, Queued, Refused, Resting, Unreachable
from archives.model import Closest, Memento
from archives.registry import Registry, entry_from, load_known
from timegate.config import archives
from timegate.identifiers import parse
from timegate.resolution.model import Attempt, Preferences, Query, Resolution, Skip
from timegate.resolution.query import of_cited_copy, query_for
from timegate.responses.referral import (
    REFERRAL_RELATION,
    Referral,
    missing_named_archive,
    named_archive,
    referral,
)
from timegate.routing.planner import unplanned

KNOWN = load_known()
OFF = Registry(archives.switched(entry, on=False) for entry in KNOWN.entries)
PWID = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"
ADDRESS = "https://web.archive.org/web/20160122112029/http://www.dr.dk"


def query_of(text: str, registry: Registry = KNOWN) -> Query:
    return query_for(parse(text, registry), registry)


def unqueried(text: str, registry: Registry = OFF, *attempts: Attempt) -> Resolution:
    """Return a resolution of *text* for which the named archive is in no plan."""
    query = query_of(text, registry)
    entry = registry.by_id(query.archive or "")
    skip = None if entry is None else unplanned(entry, Preferences())
    return Resolution(query, Preferences(), None, (), attempts, named_skip=skip)


def failing(error: ArchiveError) -> Resolution:
    attempt = Attempt(error.archive, error, 1.0, "http://www.dr.dk")
    return Resolution(query_of(PWID), Preferences(), None, (), (attempt,))


def referred(resolution: Resolution, registry: Registry = OFF) -> Referral:
    found = referral(resolution, registry)
    assert found is not None
    return found


def test_an_archive_that_is_off_is_referred_to_by_its_pattern_unchecked() -> None:
    found = referred(unqueried(PWID))

    assert found.as_json() == {
        "archive": "internet-archive",
        "name": "Internet Archive Wayback Machine",
        "uri": ADDRESS,
        "datetime": "2016-01-22T11:20:29Z",
        "cause": "not-in-use",
        "reason": "not in use: not chosen in the configuration",
        "advice": "open the unchecked link in a browser; "
        'the operator can turn it on: use = ["internet-archive"] in [archives]',
        "checked": False,
    }
    assert found.link == f'<{ADDRESS}>; rel="alternate {REFERRAL_RELATION}"'


def test_the_line_of_the_configuration_keeps_the_archives_in_use() -> None:
    own = entry_from(
        {"id": "secret", "kind": "memento", "timegate": "https://own.example/"}, "own.toml"
    )
    registry = Registry((*KNOWN.entries, own))

    text = PWID.replace("archive.org", "haw.nsk.hr")
    advice = referred(unqueried(text, registry), registry).advice

    assert '"internet-archive", ' in advice
    assert advice.endswith('"haw-croatia"] in [archives]')
    assert "secret" not in advice


def test_an_own_archive_that_is_off_is_turned_on_in_its_own_table() -> None:
    own = entry_from(
        {
            "id": "own",
            "kind": "memento",
            "use": False,
            "timegate": "https://own.example/",
            "pwid": ["own.example"],
        },
        "own.toml",
    )

    found = referred(
        unqueried(PWID.replace("archive.org", "own.example"), Registry((own,))),
        Registry((own,)),
    )

    assert found.uri is None
    assert found.link is None
    assert found.advice == (
        "the operator can turn it on: use = true in the [[archive]] with the id own"
    )


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        (PWID.replace(":page:", ":part:"), ADDRESS.replace("/http", "id_/http")),
        (PWID.replace(":page:", ":site:"), ADDRESS),
        (PWID.replace("11:20:29Z", "11:20:29.123Z"), ADDRESS),
        (PWID.replace("T11:20:29Z", "Z"), ADDRESS.replace("112029", "")),
        (
            PWID.replace("2016-01-22T11:20:29Z", "2016-12-31T23:59:60Z"),
            ADDRESS.replace("20160122112029", "20161231235959"),
        ),
        (PWID + "/%5Ba%5D%3Fb", ADDRESS + "/[a]?b"),
    ],
)
def test_the_link_is_as_precise_as_the_reference(text: str, uri: str) -> None:
    assert referred(unqueried(text)).uri == uri


@pytest.mark.parametrize(
    ("link", "uri"),
    [
        ("https://web.archive.org/web/2016/http://www.dr.dk/", None),
        ("https://web.archive.org/web/20160122112029if_/http://www.dr.dk/#top", None),
        ("https://webarchive.loc.gov/lcwa0001/20160122112029/http://www.dr.dk/", None),
        (
            "http://collection.europarchive.org/nli/20110101000000/http://www.dr.dk/",
            "https://wayback.archive-it.org/10702/20110101000000/http://www.dr.dk/",
        ),
        (
            "web.archive.org/web/20160122112029/http://www.dr.dk",
            "https://web.archive.org/web/20160122112029/http://www.dr.dk",
        ),
        (
            "https://web.archive.org/web/20160122112029/http://me:secret@www.dr.dk",
            "https://web.archive.org/web/20160122112029/http://www.dr.dk",
        ),
    ],
)
def test_an_archive_link_is_referred_to_itself_or_where_it_has_moved(
    link: str, uri: str | None
) -> None:
    assert referred(unqueried(link)).uri == (uri or link)


@pytest.mark.parametrize(
    "server", ["web.archive.org:6379", "user:pw@web.archive.org", "web.archive.org."]
)
def test_a_link_to_another_server_of_the_host_is_not_handed_out(server: str) -> None:
    link = f"https://{server}/web/20160122112029/http://www.dr.dk"

    assert referred(unqueried(link)).uri == ADDRESS


def test_a_link_without_a_time_is_deduced_for_a_time_from_elsewhere() -> None:
    query = query_of("https://web.archive.org/web/http://www.dr.dk")
    at = query_of(PWID).at
    entry = OFF.by_id("internet-archive")
    assert entry is not None
    skip = unplanned(entry, Preferences())

    undated, dated = (
        referred(Resolution(each, Preferences(), None, (), (), named_skip=skip))
        for each in (query, query.dated(at))
    )

    assert undated.uri == "https://web.archive.org/web/http://www.dr.dk"
    assert dated.uri == ADDRESS


def test_a_link_to_another_archive_says_so() -> None:
    found = referred(unqueried(PWID.replace("archive.org", "bibalex.org")))

    assert found.uri == ADDRESS
    assert "Internet Archive Wayback Machine should have its copies now" in found.advice
    assert found.holder == found.as_json()["holder"] == "Internet Archive Wayback Machine"


def test_a_link_to_the_named_archive_names_no_other() -> None:
    found = referred(unqueried(PWID))

    assert not found.holder
    assert "holder" not in found.as_json()


@pytest.mark.parametrize(
    ("archive", "cause", "uri", "advice"),
    [
        (
            "webarchive.loc.gov",
            "gated",
            "https://webarchive.loc.gov/all/20160122112029/http://www.dr.dk",
            "open the unchecked link in a browser",
        ),
        (
            "netarkivet.dk",
            "on-site",
            None,
            "read it on site: Royal Danish Library: researchers by application",
        ),
        (
            "dnb.de",
            "on-site",
            "https://webarchiv.apps.dnb.de/wayback/warcs/20160122112029/http://www.dr.dk",
            "open the unchecked link on site: Reading rooms of the German National Library",
        ),
        (
            "internetmemory.org",
            "defunct",
            None,
            "the archive is closed, and no new address of its copies is known",
        ),
        (
            "webarchive.org.uk",
            "not-in-use",
            "https://www.webarchive.org.uk/wayback/archive/20160122112029/http://www.dr.dk",
            "apply for access: Legal deposit libraries, for the part that is not open",
        ),
    ],
)
def test_every_cause_has_its_advice(
    archive: str, cause: str, uri: str | None, advice: str
) -> None:
    found = referred(unqueried(PWID.replace("archive.org", archive)))

    assert (found.cause, found.uri) == (cause, uri)
    assert advice in found.advice


def test_a_link_into_a_closed_archive_without_a_new_address_is_not_given() -> None:
    link = "http://collection.europarchive.org/other/20110101000000/http://www.dr.dk/"

    assert referred(unqueried(link)).uri is None


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (Queued("internet-archive", "u", "too many requests before it", 3.0), "rate-limited"),
        (Refused("internet-archive", "u", 429, 60.0), "rate-limited"),
        (Resting("internet-archive", "u", "its breaker is open", 30.0), "paused"),
        (Refused("internet-archive", "u", 403, None), "no-answer"),
        (Unreachable("internet-archive", "u", "timed out"), "no-answer"),
        (Misbehaved("internet-archive", "u", "\x1b[0m"), "no-answer"),
    ],
)
def test_an_archive_that_could_not_answer_is_referred_to_as_well(
    error: ArchiveError, cause: str
) -> None:
    found = referred(failing(error))

    assert (found.uri, found.cause) == (ADDRESS, cause)
    assert found.advice == "open the unchecked link in a browser; try again later"
    assert "\x1b" not in found.reason


def test_an_archive_without_an_answer_in_time_is_referred_to() -> None:
    resolution = Resolution(
        query_of(PWID), Preferences(), None, (), (), unanswered=("internet-archive",)
    )

    found = referred(resolution)

    assert (found.cause, found.reason) == ("no-answer", "no answer in time")


@pytest.mark.parametrize("outcome", [None, Closest(Memento("2016", "u", "u", "x"), "timegate")])
def test_an_own_id_of_an_archive_is_referred_to_whatever_it_answered_for_the_url(
    outcome: Closest | None,
) -> None:
    link = "https://perma.cc/AB12-CD34"
    query = of_cited_copy(query_of("http://www.dr.dk/"), (link,), KNOWN)
    attempt = Attempt("perma-cc", outcome, 0.1, "http://www.dr.dk/")

    found = referred(Resolution(query, Preferences(), None, (), (attempt,)), KNOWN)

    assert (found.uri, found.cause) == (link, "by-id")
    assert found.advice == "open the unchecked link in a browser"


def test_an_archive_that_answered_is_not_referred_to() -> None:
    memento = Memento("20160123000000", ADDRESS, "http://www.dr.dk", "internet-archive")
    stale = Attempt(
        "internet-archive", Closest(memento, "timegate"), 0.0, "http://www.dr.dk", age=9.0
    )
    absent = Attempt("internet-archive", None, 0.1, "http://www.dr.dk")
    silent = failing(Unreachable("internet-archive", "u", "timed out"))

    for attempts in ((stale,), (absent,), (*silent.attempts, stale)):
        assert referral(replace(silent, attempts=attempts), KNOWN) is None


def test_only_cached_answers_leave_the_named_archive_unqueried() -> None:
    preferences = Preferences(only_if_cached=True)
    resolution = Resolution(
        query_of(PWID), preferences, None, (), (), skipped=("internet-archive",)
    )

    found = referred(resolution)

    assert found.cause == "only-cached"
    assert found.advice.endswith("repeat the request without only-if-cached")


def test_an_archive_that_the_quota_of_the_client_left_out_counts_as_unanswered() -> None:
    names = ("internet-archive",)
    resolution = Resolution(
        query_of(PWID), Preferences(), None, (), (), unanswered=names, skipped=names
    )

    assert resolution.unqueried is None
    assert referred(resolution).cause == "no-answer"


def test_a_blocked_url_has_no_referral() -> None:
    skip = Skip("internet-archive", "blocked", "the operator has blocked the URL")
    resolution = Resolution(query_of(PWID), Preferences(), None, (), (), named_skip=skip)

    assert referral(resolution, KNOWN) is None
    why = missing_named_archive(resolution, KNOWN)
    assert why is not None
    assert why.endswith("was not queried (the operator has blocked the URL)")


def test_a_hidden_archive_looks_like_one_that_is_not_registered() -> None:
    hidden = Resolution(query_of(PWID), Preferences(), None, (), ())
    unknown = Resolution(
        query_of(PWID.replace("archive.org", "gone.example")), Preferences(), None, (), ()
    )

    assert referral(hidden, KNOWN) is None
    assert named_archive(hidden, KNOWN) is None
    reasons = [missing_named_archive(each, KNOWN) for each in (hidden, unknown)]
    assert reasons == [
        f"the archive that the reference names, {name}, is not registered"
        for name in ("archive.org", "gone.example")
    ]


def test_a_reference_without_an_archive_has_no_referral() -> None:
    assert referral(unqueried("duri:2016:http://www.dr.dk"), KNOWN) is None


def test_every_archive_with_a_template_can_be_referred_to() -> None:
    for entry in OFF.entries:
        if not entry.pwid or entry.replay is None:
            continue
        text = PWID.replace("archive.org", entry.pwid[0])
        found = referred(unqueried(text))
        assert (found.archive, found.uri is not None) == (entry.id, True)
        assert found.datetime == "2016-01-22T11:20:29Z"
