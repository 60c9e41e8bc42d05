"""Every fault an archive can have, and what each adapter makes of it.

The law behind the table: an answer is right, or it carries doubts, or there is none. A block
page is never a memento and never a clear no; a list that is not whole never ends as if it were.
"""

import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from socket import AddressFamily
from typing import Final, Literal

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from archives.adapters import source_for
from archives.errors import ArchiveError, Misbehaved, Refused, Unreachable
from archives.model import ArchiveEntry
from archives.moment import Moment
from archives.nearest import candidates
from archives.source import Source
from tests.fakes import an_entry
from timegate.misbehave import EXAMPLE, FAULTS, Archive, ArchiveOptions, misbehaving_archive
from timegate.misbehave.faults.refusals import PAUSE
from timegate.upstream.http_client import Timeouts
from timegate.upstream.stack import UpstreamEnvironment, UpstreamSettings, open_fetchers

Kind = Literal["302", "200", "replay", "pywb-cdxj", "wayback-cdx"]
KINDS: Final[tuple[Kind, ...]] = ("302", "200", "replay", "pywb-cdxj", "wayback-cdx")

PAGE: Final = "http://example.org/"
ALL: Final = [capture.stamp for capture in EXAMPLE]
EXACT, COARSE, NEWEST = "20130615083000", "2014", None
RIGHT: Final = {EXACT: EXACT, COARSE: "20150630235958", NEWEST: "20200202020202"}
"""The right answer to each question."""
CLAIMED: Final = {EXACT: EXACT, COARSE: "20140702120000", NEWEST: "20130101000000"}
"""The answer of an archive that claims everything; a client cannot recognise it (HU-20)."""

SMALL: Final = ArchiveOptions(
    interval=0.01, patience=10.0, bulk=200_000, bomb=3_000_000, delay=0.01
)
PATIENT: Final = Timeouts(connect=10, tls=10, first_byte=10, stall=10, total=20)
HASTY: Final = Timeouts(0.3, 0.3, first_byte=0.3, stall=0.3, total=0.9, total_memento=0.9)
SILENT: Final = ("hang", "drip-head", "drip-body", "tls-hung", "memento-hang")
"""Faults that only a timeout ends."""


class Outcome(Enum):
    """The outcome of a question."""

    FINE = auto()
    """The right answer, without doubts; the whole list."""
    DOUBTED = auto()
    """An answer that says what speaks against it."""
    NAMED = auto()
    """Another capture than the nearest; the answer links a nearer one."""
    CLAIM = auto()
    """A false answer that cannot be recognised."""
    NONE = auto()
    """That there is no copy, which may be so."""
    DIGITS = auto()
    """The whole list, by the digits of its addresses where its dates say otherwise."""
    INVENTED = auto()
    """The whole list, and captures in it that do not exist, which cannot be recognised."""
    MISBEHAVED = auto()
    REFUSED = auto()
    UNREACHABLE = auto()


FINE, DOUBTED, CLAIM = Outcome.FINE, Outcome.DOUBTED, Outcome.CLAIM
NAMED: Final = Outcome.NAMED
MISBEHAVED, REFUSED = Outcome.MISBEHAVED, Outcome.REFUSED
UNREACHABLE = Outcome.UNREACHABLE
TROUBLE: Final[dict[Outcome, type[ArchiveError]]] = {
    MISBEHAVED: Misbehaved,
    REFUSED: Refused,
    UNREACHABLE: Unreachable,
}
Outcomes = Outcome | tuple[Outcome, Outcome, Outcome]
"""For all questions, or for the exact second, the year, and the newest."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The outcome of one fault, for each question; fine unless stated otherwise."""

    redirecting: Outcomes = FINE
    """A TimeGate of the 302 style."""
    serving: Outcomes = FINE
    """A TimeGate of the 200 style."""
    replay: Outcomes = FINE
    index: Outcomes = FINE
    """The CDX server, asked for the closest."""
    timemap: Outcome = FINE
    list: Outcome = FINE
    """The CDX server, asked for everything."""


def everywhere(outcome: Outcome) -> Expected:
    return Expected(outcome, outcome, outcome, outcome, outcome, outcome)


def at_timegates(outcome: Outcomes) -> Expected:
    return Expected(outcome, outcome)


def at_mementos(outcome: Outcome) -> Expected:
    return Expected(outcome, outcome, outcome)


def in_lists(outcome: Outcome) -> Expected:
    return Expected(index=outcome, timemap=outcome, list=outcome)


HARMLESS: Final = (
    *("list-has-another-page", "mementos-of-other", "outside-is-406"),
    *("page-timemap-gone", "page-timemap-of-other"),
    *("fixed-bytes-change", "list-typed-in-capitals", "pages-linked-back"),
    *("location-with-fragment", "relative-upwards"),
    *("none", "slow", "tls-right", "browser-headers", "huge-header", "continue-flood"),
    *("head-with-body", "first-last-chosen", "archived-301", "archived-404", "archived-429"),
    *("rel-reordered", "rel-unquoted", "single-quotes", "extra-parameters"),
    *("no-final-newline", "no-commas", "latin-1", "byte-order-mark", "comma-flood"),
    *("unbalanced-quote", "unbalanced-bracket", "newest-first", "shuffled", "duplicates"),
    *("page-ring", "page-endless"),
    # One broken rule of RFC 7089 each.
    *("vary-missing", "vary-other", "memento-varies", "two-originals", "no-original"),
    *("memento-no-original", "redirect-307", "datetime-on-redirect"),
    *("before-first-404", "after-last-404", "bad-date-ignored"),
    *("bad-date-500", "bare-refusals", "dated-refusals", "no-timemap-type"),
    *("chosen-unlinked", "unstable", "head-405", "head-undated"),
    *("memento-negotiates", "memento-alone", "memento-gone", "weekday-wrong", "no-cors"),
    *("no-preflight", "no-content-location", "list-no-original", "list-no-timegate"),
    *("list-no-self", "list-wrong-first", "list-until-too-early"),
    *("list-plain", "list-negotiates", "list-is-a-memento"),
    *("list-unknown-200", "list-head-404", "json-misses-one", "cdxj-misses-one"),
    *("page-missing", "no-timemap", "prev-next-swapped", "list-varies"),
    *("chain-three", "frame-repeats"),
    # Broken promises of links and headers that are not read for an answer.
    *("list-other-original", "list-self-foreign", "list-self-of-other"),
    *("list-timegate-gone", "list-timegate-of-other", "timemap-gone", "timemap-of-other"),
    *("memento-timegate-gone", "memento-timegate-of-other", "memento-timemap-gone"),
    *("memento-links-misdated", "memento-links-undated", "license-is-a-phrase"),
    *("link-header-unbalanced", "link-header-bare", "list-bounds-unreadable"),
    *("index-bounds-wrong", "list-head-typed-otherwise", "bytes-change"),
    *("redirect-immutable", "cached-without-vary", "negotiates-and-does-not"),
    *("moved-without-original", "inexact-varies", "errors-as-200"),
    *("page-unlinked", "page-with-original", "html-links-differ", "fixed-other-original"),
    *("header-spelled-oddly", "header-in-lines", "header-with-strangers"),
    *("header-with-only-the-original", "original-spelled-otherwise", "relative-addresses"),
    *("list-relative", "list-self-escaped", "list-with-charset", "list-licensed"),
    *("list-with-timemaps", "list-unbounded", "list-anchored", "list-moved"),
    *("vary-with-more", "memento-varies-otherwise", "memento-immutable"),
    *("cached-with-vary", "never-cached", "banner-counts", "moved-timegate"),
    *("timegate-of-timegates", "several-timegates", "lenient-dates", "gone-410"),
    *("linked-in-html", "page-excluded", "linked-twice", "archived-to-itself"),
)
EXPECTED: Final[dict[str, Expected]] = dict.fromkeys(HARMLESS, Expected()) | {
    "list-of-nothing": Expected(timemap=Outcome.NONE),
    "redirect-hostless": Expected(MISBEHAVED),
    # The echoed date of the exact time is the right one.
    "answer-redated": Expected(serving=(FINE, DOUBTED, FINE)),
    # No answer, or none that says anything.
    "bot-challenge": Expected(MISBEHAVED, MISBEHAVED, FINE, MISBEHAVED, MISBEHAVED, MISBEHAVED),
    "block-page": Expected(replay=MISBEHAVED),
    "too-many-seconds": everywhere(REFUSED),
    "too-many-date": everywhere(REFUSED),
    "too-many-silent": everywhere(REFUSED),
    "unavailable": everywhere(REFUSED),
    "forbidden": everywhere(REFUSED),
    "server-error": everywhere(MISBEHAVED),
    "hang": everywhere(UNREACHABLE),
    "close-unanswered": everywhere(UNREACHABLE),
    "close-at-once": everywhere(UNREACHABLE),
    "reset": everywhere(UNREACHABLE),
    "tls-expired": everywhere(UNREACHABLE),
    "tls-self-signed": everywhere(UNREACHABLE),
    "tls-wrong-host": everywhere(UNREACHABLE),
    "tls-outdated": everywhere(UNREACHABLE),
    "tls-hung": everywhere(UNREACHABLE),
    "drip-head": everywhere(UNREACHABLE),
    "drip-body": in_lists(UNREACHABLE),
    # Redirects that lead astray.
    "loop-self": at_timegates(MISBEHAVED),
    "loop-pair": at_timegates(MISBEHAVED),
    "loop-fifty": at_timegates(MISBEHAVED),
    "redirect-nowhere": at_timegates(MISBEHAVED),
    "multiple-choices": at_timegates(MISBEHAVED),
    "redirect-downgrade": at_timegates(MISBEHAVED),
    "redirect-metadata": at_mementos(MISBEHAVED),
    "redirect-file": at_mementos(MISBEHAVED),
    "redirect-elsewhere": at_mementos(MISBEHAVED),
    "redirect-private": at_mementos(MISBEHAVED),
    # Wrong dates. A redirect that proves its target is not looked behind.
    "datetime-missing": at_mementos(MISBEHAVED),
    "datetime-wrong": Expected(FINE, DOUBTED, DOUBTED),
    "datetime-future": Expected(DOUBTED, DOUBTED, (MISBEHAVED, DOUBTED, DOUBTED)),
    "datetime-ancient": Expected(DOUBTED, DOUBTED, (MISBEHAVED, DOUBTED, DOUBTED)),
    "datetime-unparsable": Expected(
        DOUBTED, DOUBTED, (MISBEHAVED, DOUBTED, DOUBTED), timemap=MISBEHAVED
    ),
    "stamp-differs": Expected(DOUBTED, DOUBTED, DOUBTED, timemap=Outcome.DIGITS),
    "other-original": Expected(serving=DOUBTED),
    "echo-asked": Expected(serving=(FINE, DOUBTED, FINE)),
    "wrong-closest": at_timegates(NAMED),
    "holds-nothing": at_timegates(Outcome.NONE),
    "claims-everything": Expected(CLAIM, CLAIM, (CLAIM, CLAIM, MISBEHAVED), timemap=CLAIM),
    # Mementos that are not what TimeGate and lists promise: a redirect is not looked behind.
    "memento-lost": Expected(replay=Outcome.NONE),
    "memento-to-home": Expected(replay=Outcome.NONE),
    "memento-500": Expected(replay=MISBEHAVED),
    "memento-403": Expected(replay=REFUSED),
    "memento-429": Expected(replay=REFUSED),
    "memento-503": Expected(replay=REFUSED),
    "memento-hang": Expected(replay=UNREACHABLE),
    "memento-to-last": Expected(replay=(NAMED, NAMED, FINE)),
    "memento-to-login": Expected(replay=(FINE, CLAIM, MISBEHAVED)),
    "memento-to-live": Expected(replay=MISBEHAVED),
    "memento-elsewhere": Expected(replay=MISBEHAVED),
    "memento-redated": Expected(replay=DOUBTED),
    "memento-other-original": Expected(replay=DOUBTED),
    "datetime-drifts": Expected(replay=DOUBTED),
    "redirect-to-live": Expected(redirecting=MISBEHAVED),
    "no-raw-view": Expected(replay=Outcome.NONE),
    # TimeGates that choose another than the nearest.
    "looks-back": at_timegates((FINE, NAMED, FINE)),
    "always-newest": at_timegates((NAMED, NAMED, FINE)),
    "always-oldest": at_timegates(NAMED),
    "second-nearest": at_timegates(NAMED),
    "false-next": at_timegates(FINE),
    "promises-everything": at_timegates((FINE, CLAIM, FINE)),
    "location-wrong": Expected(redirecting=NAMED),
    "content-location-wrong": Expected(serving=DOUBTED),
    "list-false": Expected(
        index=(FINE, FINE, Outcome.INVENTED), timemap=Outcome.INVENTED, list=Outcome.INVENTED
    ),
    # Lists that cannot be read to their end.
    "endless-link": Expected(timemap=MISBEHAVED),
    "huge-attribute": Expected(timemap=MISBEHAVED),
    "index-of-itself": Expected(timemap=MISBEHAVED),
    "resume-ring": Expected(list=MISBEHAVED),
    "truncated-length": Expected(
        replay=UNREACHABLE, index=MISBEHAVED, timemap=MISBEHAVED, list=MISBEHAVED
    ),
    "truncated-chunks": in_lists(MISBEHAVED),
    "truncated-close": in_lists(MISBEHAVED),
    # Codings: mementos are found without their bodies.
    "gzip-bomb": in_lists(MISBEHAVED),
    "gzip-nested": in_lists(MISBEHAVED),
    "gzip-members": in_lists(MISBEHAVED),
    "brotli-bomb": in_lists(MISBEHAVED),
    "zstd-bomb": in_lists(MISBEHAVED),
    "says-gzip": in_lists(MISBEHAVED),
    "says-gzip-twice": in_lists(MISBEHAVED),
    "says-unknown": in_lists(MISBEHAVED),
    # One broken rule of RFC 7089 each; what only misleads is noticed where it is looked at.
    "newest-ignored": at_timegates((FINE, FINE, NAMED)),
    "raw-another": Expected(replay=NAMED),
    "list-misses-one": Expected(timemap=DOUBTED),
    "list-undated": Expected(timemap=MISBEHAVED),
    "list-page": Expected(timemap=MISBEHAVED),
    # Extreme dates, no date, single mementos.
    **dict.fromkeys(
        (
            *("future-refused", "past-refused", "head-without-date-bare", "addresses-unlisted"),
            *("first-link-dead", "memento-is-its-timegate", "by-intermediate"),
            *("original-one-slash", "original-by-ftp"),
            *("link-target-not-ascii", "moved-with-other-original", "list-two-dates"),
            *("page-timegate-gone", "page-gone", "page-forbidden", "page-unavailable"),
            *("header-with-empty-elements", "looks-ahead"),
        ),
        Expected(),
    ),
    "content-location-self": Expected(serving=DOUBTED),
    "others-crash": Expected(replay=(MISBEHAVED, MISBEHAVED, FINE)),
    "no-date-live": at_timegates((FINE, FINE, MISBEHAVED)),
    "no-date-calendar": at_timegates((FINE, FINE, MISBEHAVED)),
    "list-crashes": Expected(timemap=MISBEHAVED),
    "without-timemap": Expected(timemap=Outcome.NONE),
    # Broken HTTP.
    "thousand-headers": everywhere(MISBEHAVED),
    "nul-in-header": everywhere(MISBEHAVED),
    "two-lengths": everywhere(MISBEHAVED),
    "status-204": Expected(MISBEHAVED, FINE, (FINE, MISBEHAVED, MISBEHAVED)),
    "status-205": Expected(MISBEHAVED, FINE, (FINE, MISBEHAVED, MISBEHAVED)),
    "status-206": Expected(MISBEHAVED, DOUBTED, (DOUBTED, MISBEHAVED, MISBEHAVED)),
    "status-304": Expected(MISBEHAVED, DOUBTED, (DOUBTED, MISBEHAVED, MISBEHAVED)),
    "status-416": Expected(MISBEHAVED, DOUBTED, (DOUBTED, MISBEHAVED, MISBEHAVED)),
}


def test_every_fault_is_in_the_table() -> None:
    assert set(EXPECTED) == set(FAULTS)


# The rig


class Witness:
    """Records where this process connects to, by Python's audit hook."""

    def __init__(self) -> None:
        self.connections: list[object] | None = None
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "socket.connect" and self.connections is not None:
            self.connections.append(arguments[1])


WITNESS: Final = Witness()


@pytest.fixture
def connections() -> Iterator[list[object]]:
    seen: list[object] = []
    WITNESS.connections = seen
    yield seen
    WITNESS.connections = None


class NoNames(AbstractResolver):
    """A resolver without names, which must not be used."""

    async def resolve(
        self, host: str, port: int = 0, family: AddressFamily = AddressFamily.AF_INET
    ) -> list[ResolveResult]:
        del port, family
        raise AssertionError(f"{host} was looked up")

    async def close(self) -> None:
        """Have nothing to close."""


@asynccontextmanager
async def archive_with(fault: str, kind: Kind) -> AsyncGenerator[Archive]:
    manner = replace(SMALL, timegate="200" if kind == "200" else "302")
    async with misbehaving_archive(fault=fault, options=manner) as archive:
        yield archive


def entry_for(archive: Archive, kind: Kind) -> ArchiveEntry:
    url = archive.url
    replay = url + "/web/{time14}/{uri}"
    timemaps = {"link": f"{url}/timemap/link/"}
    match kind:
        case "302" | "200":
            return an_entry("memento", timegate=f"{url}/timegate/", timemaps=timemaps)
        case "replay":
            raw = url + "/web/{time14}id_/{uri}"
            return an_entry("wayback", replay=replay, raw=raw, timemaps=timemaps)
        case "pywb-cdxj":
            return an_entry("cdx", cdx=f"{url}/cdx", dialect=kind, replay=replay)
        case "wayback-cdx":
            return an_entry("cdx", cdx=f"{url}/cdx/search/cdx", dialect=kind, replay=replay)


@asynccontextmanager
async def asking(archive: Archive, kind: Kind) -> AsyncGenerator[Source]:
    """Open an adapter without any cache."""
    entry = entry_for(archive, kind)
    timeouts = HASTY if archive.faults[0].name in SILENT else PATIENT
    tls = archive.client_tls() if archive.url.startswith("https:") else None
    settings = UpstreamSettings(
        "mailto:test@example.org", timeouts, allow_private=frozenset({entry.id}), tls=tls
    )
    around = UpstreamEnvironment(resolver=NoNames)
    async with open_fetchers([entry], settings, around) as fetchers:
        yield source_for(entry, fetchers[entry.id], lambda: datetime.now(UTC))


async def check_closest(source: Source, at: str | None, outcome: Outcome) -> None:
    moment = None if at is None else Moment(at)
    if outcome in TROUBLE:
        with pytest.raises(TROUBLE[outcome]):
            await source.closest(PAGE, moment)
        return
    found = await source.closest(PAGE, moment)
    if outcome is Outcome.NONE:
        assert found is None
        return
    assert found is not None
    assert "19900101" < found.memento.stamp < f"{datetime.now(UTC):%Y%m%d%H%M%S}"
    assert bool(found.doubts) == (outcome is DOUBTED)
    if outcome is FINE:
        assert found.memento.stamp == RIGHT[at]
    if outcome is NAMED:
        assert candidates(found, moment)[0] != found.memento
    if outcome is CLAIM:
        assert found.memento.stamp == CLAIMED[at]


def for_question(outcomes: Outcomes, at: str | None) -> Outcome:
    if isinstance(outcomes, Outcome):
        return outcomes
    return outcomes[(EXACT, COARSE, NEWEST).index(at)]


def closest_expected(fault: str, kind: Kind) -> Outcomes:
    expected = EXPECTED[fault]
    return {
        "302": expected.redirecting,
        "200": expected.serving,
        "replay": expected.replay,
    }.get(kind, expected.index)


def list_expected(fault: str, kind: Kind) -> Outcome:
    expected = EXPECTED[fault]
    if kind == "pywb-cdxj" and fault == "resume-ring":
        return FINE  # pywb has no resume keys.
    return expected.list if kind in ("pywb-cdxj", "wayback-cdx") else expected.timemap


def check_requests(archive: Archive, connections: list[object], most: int) -> None:
    """Check that requests were few, sent only the time, and went to the archive alone."""
    requests = archive.journal.requests
    assert len(requests) <= most
    allowed = {"host", "user-agent", "accept", "accept-encoding", "accept-datetime"}
    for request in requests:
        said = {name for name, _ in request.headers}
        assert said <= allowed
        is_list = request.target.startswith(("/timemap/", "/cdx"))
        assert not (is_list and "accept-datetime" in said)
    port = int(archive.url.rpartition(":")[2])
    assert set(connections) <= {("127.0.0.1", port)}
    assert connections or not requests


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", FAULTS)
async def test_the_closest_capture_of_a_faulty_archive(
    fault: str, kind: Kind, connections: list[object]
) -> None:
    # This archive's CDX server in pywb's manner cannot list the newest first.
    questions = [EXACT, COARSE] if kind == "pywb-cdxj" else [EXACT, COARSE, NEWEST]
    for at in questions[:1] if fault in SILENT else questions:
        connections.clear()
        async with archive_with(fault, kind) as archive, asking(archive, kind) as source:
            await check_closest(source, at, for_question(closest_expected(fault, kind), at))

        check_requests(archive, connections, most=6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", FAULTS)
async def test_the_list_of_a_faulty_archive(
    fault: str, kind: Kind, connections: list[object]
) -> None:
    outcome = list_expected(fault, kind)

    async with archive_with(fault, kind) as archive, asking(archive, kind) as source:
        stamps, trouble = await read(source)

    assert isinstance(trouble, TROUBLE.get(outcome, type(None)))
    if outcome is FINE:
        assert stamps == ALL
    elif outcome is CLAIM:
        assert stamps == ["20130101000000"]
    elif outcome is Outcome.INVENTED:
        assert set(ALL) < set(stamps)
    elif outcome is Outcome.DIGITS:
        assert stamps == [f"{c.at + timedelta(days=1):%Y%m%d%H%M%S}" for c in EXAMPLE]
    else:
        assert stamps == sorted(set(stamps) & set(ALL))
    check_requests(archive, connections, most=2)


async def read(source: Source) -> tuple[list[str], ArchiveError | None]:
    """Return the stamps listed, and what went wrong after them."""
    stamps: list[str] = []
    try:
        async for batch in source.mementos(PAGE):
            stamps += [memento.stamp for memento in batch]
    except ArchiveError as trouble:
        return stamps, trouble
    return stamps, None


# What the table cannot say


@pytest.mark.parametrize(("fault", "kept"), [("endless-link", 5), ("huge-attribute", 4)])
async def test_of_an_incomplete_list_the_valid_part_is_kept(fault: str, kept: int) -> None:
    async with archive_with(fault, "302") as archive, asking(archive, "302") as source:
        stamps, _ = await read(source)

    assert stamps == ALL[:kept]


@pytest.mark.parametrize("fault", ["too-many-seconds", "too-many-date", "unavailable"])
async def test_a_refusal_has_its_retry_time(fault: str) -> None:
    async with archive_with(fault, "302") as archive, asking(archive, "302") as source:
        with pytest.raises(Refused) as refusal:
            await source.closest(PAGE, None)

    assert refusal.value.retry_after is not None
    assert PAUSE - 60 < refusal.value.retry_after <= PAUSE


@pytest.mark.parametrize("kind", ["200", "replay"])
@pytest.mark.parametrize("status", [301, 404, 429])
async def test_an_archived_error_is_a_memento_with_that_status(status: int, kind: Kind) -> None:
    async with (
        archive_with(f"archived-{status}", kind) as archive,
        asking(archive, kind) as source,
    ):
        found = await source.closest(PAGE, Moment(EXACT))

    assert found is not None
    assert (found.memento.stamp, found.memento.status) == (EXACT, status)


@pytest.mark.parametrize("kind", KINDS)
async def test_no_cookie_is_sent_back(kind: Kind) -> None:
    async with (
        archive_with("browser-headers", kind) as archive,
        asking(archive, kind) as source,
    ):
        for _ in range(2):
            await source.closest(PAGE, Moment(EXACT))
            await read(source)

    requests = archive.journal.requests
    assert len(requests) == 4
    assert all(request.values("Cookie") == [] for request in requests)


async def test_wrong_dates_are_explained_in_doubts() -> None:
    async with (
        archive_with("datetime-future", "200") as archive,
        asking(archive, "200") as source,
    ):
        found = await source.closest(PAGE, Moment(EXACT))

    assert found is not None
    assert found.memento.stamp == EXACT
    assert found.doubts == (
        "Memento-Datetime states an impossible date: 'Thu, 01 Jan 2150 00:00:00 GMT'",
        "the link to it states an impossible date: 'Thu, 01 Jan 2150 00:00:00 GMT'",
    )


@pytest.mark.parametrize("manner", ["pages", "index"])
async def test_a_paged_timemap_is_read_to_its_end(manner: Literal["pages", "index"]) -> None:
    paged = ArchiveOptions(timemap=manner, page_size=2)
    async with misbehaving_archive(options=paged) as archive, asking(archive, "302") as source:
        assert await read(source) == (ALL, None)

    assert len(archive.journal.requests) == (3 if manner == "pages" else 4)


async def test_an_unknown_page_is_a_clear_no_to_every_question() -> None:
    for kind in KINDS:
        async with archive_with("none", kind) as archive, asking(archive, kind) as source:
            assert await source.closest("http://example.org/unknown", Moment(EXACT)) is None
            assert [b async for b in source.mementos("http://example.org/unknown")] == []
