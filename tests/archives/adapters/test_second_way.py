"""An archive with a TimeGate and a CDX server is queried by the other if one fails."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Final

import pytest

from archives.adapters import adapter_for, source_for
from archives.adapters.second_way import SecondWay
from archives.errors import ArchiveError, Misbehaved, Queued, Refused, Resting, Unreachable
from archives.model import ArchiveEntry, Memento, Selection
from archives.moment import Moment
from archives.source import Fetcher, Request, WantedCaptures
from tests.clock import in_virtual_time
from tests.fakes import NOW, Canned, FakeFetcher, FakeReply, an_entry, clock

BASE: Final = "http://archive.example"
PAGE: Final = "http://example.org/"
AT: Final = Moment("20130615083000")
GATE: Final = f"{BASE}/timegate/{PAGE}"
TIMEMAP: Final = f"{BASE}/timemap/link/{PAGE}"
REDIRECT: Final = Canned(
    302,
    {
        "Location": f"{BASE}/web/20130615083000/{PAGE}",
        "Vary": "accept-datetime",
        "Link": f'<{PAGE}>; rel="original", <{BASE}/web/20130615083000/{PAGE}>; '
        'rel="memento"; datetime="Sat, 15 Jun 2013 08:30:00 GMT"',
    },
)
ROW: Final = (
    b'{"urlkey": "org,example)/", "timestamp": "20130615083000", '
    b'"url": "http://example.org/", "mime": "text/html", "status": "200", "digest": "A"}\n'
)
ROWS: Final = Canned(body=ROW)
ABSENT: Final = Canned(404)
FOUND: Final = "20130615083000"


def entry(kind: str, **fields: object) -> ArchiveEntry:
    return an_entry(
        kind,
        timegate=f"{BASE}/timegate/",
        cdx=f"{BASE}/cdx",
        dialect="pywb-cdxj",
        replay=BASE + "/web/{time14}/{uri}",
        **fields,
    )


class Archive:
    """Answers of the TimeGate, the index and the TimeMap."""

    def __init__(
        self,
        gate: Canned | ArchiveError = REDIRECT,
        index: Canned | ArchiveError = ROWS,
        timemap: Canned | ArchiveError = ABSENT,
    ) -> None:
        self.gate, self.index, self.timemap = gate, index, timemap
        self.fetch = FakeFetcher(self._answer)

    def _answer(self, request: Request) -> Canned | ArchiveError:
        if "/cdx?" in request.url:
            return self.index
        return self.timemap if request.url == TIMEMAP else self.gate

    @property
    def ways(self) -> list[str]:
        """The ways by which it was queried, in order; HEAD and GET are one."""
        ways = ["cdx" if "/cdx?" in request.url else "gate" for request in self.fetch.journal]
        return [way for n, way in enumerate(ways) if n == 0 or ways[n - 1] != way]


async def asked(archive: Archive, kind: str) -> tuple[str, str] | None:
    found = await source_for(entry(kind), archive.fetch, clock).closest(PAGE, AT)
    return None if found is None else (found.memento.stamp, found.via)


@pytest.mark.parametrize(
    "trouble",
    [
        Canned(500),
        Canned(502),
        Canned(503),
        Canned(403),
        Canned(200, {"Content-Type": "text/html"}, b"<html>are you human?"),
        Unreachable("test", GATE, "timed out"),
        Misbehaved("test", GATE, "broken HTTP"),
    ],
    ids=["500", "502", "503", "403", "bot gate", "timeout", "broken"],
)
async def test_the_index_is_asked_if_the_timegate_fails(
    trouble: Canned | ArchiveError,
) -> None:
    archive = Archive(gate=trouble)

    assert await asked(archive, "memento") == (FOUND, "cdx")
    assert archive.ways == ["gate", "cdx"]


async def test_the_timegate_is_asked_if_the_index_fails() -> None:
    archive = Archive(index=Canned(500))

    assert await asked(archive, "cdx") == (FOUND, "timegate")
    assert archive.ways == ["cdx", "gate"]


@pytest.mark.parametrize("kind", ["memento", "cdx"])
async def test_an_answer_of_the_first_way_is_enough(kind: str) -> None:
    archive = Archive()

    assert await asked(archive, kind) is not None
    assert len(archive.fetch.journal) == 1


async def test_a_clear_no_is_not_a_failure() -> None:
    archive = Archive(gate=Canned(404))

    assert await asked(archive, "memento") is None
    assert archive.ways == ["gate"]


@pytest.mark.parametrize(
    "limit",
    [
        Refused("test", GATE, 429, None),
        Refused("test", GATE, 503, 60.0),
        Refused("test", GATE, 451, None),
        Resting("test", GATE, "5 failures in a row", 30.0),
        Queued("test", GATE, "too many requests", 1.0),
    ],
    ids=["429", "503 with Retry-After", "451", "breaker", "queue"],
)
async def test_an_archive_that_must_not_be_asked_now_is_not_asked_another_way(
    limit: ArchiveError,
) -> None:
    archive = Archive(gate=limit)

    with pytest.raises(type(limit)):
        await asked(archive, "memento")
    assert archive.ways == ["gate"]


async def test_the_failure_names_both_reasons() -> None:
    archive = Archive(gate=Canned(500), index=Canned(502))

    with pytest.raises(Misbehaved) as caught:
        await asked(archive, "memento")

    assert caught.value.why == (
        "answers 500; queried as cdx: answers 502 to a request for a list"
    )


async def test_without_what_the_other_way_needs_there_is_only_one() -> None:
    archive = Archive(gate=Canned(500))
    only = an_entry("memento", timegate=f"{BASE}/timegate/", cdx=f"{BASE}/cdx")

    with pytest.raises(Misbehaved):
        await source_for(only, archive.fetch, clock).closest(PAGE, AT)
    assert archive.ways == ["gate"]


async def test_a_timegate_behind_a_bot_gate_is_no_second_way() -> None:
    archive = Archive(index=Canned(500))
    gated = entry("cdx", gate="Imperva challenge on replay, seen 2026-09")

    with pytest.raises(Misbehaved):
        await source_for(gated, archive.fetch, clock).closest(PAGE, AT)
    assert archive.ways == ["cdx"]


def test_a_timegate_that_hangs_leaves_time_for_the_index() -> None:
    @asynccontextmanager
    async def fetch(request: Request) -> AsyncGenerator[FakeReply]:
        if "/cdx?" not in request.url:
            await asyncio.sleep(3600)
        yield FakeReply(request.url, 200, {}, (ROW,), None)

    async def story() -> tuple[str, float]:
        found = await source_for(entry("memento"), fetch, clock).closest(PAGE, AT)
        assert found is not None
        return found.via, asyncio.get_running_loop().time()

    via, now = in_virtual_time(story())

    assert via == "cdx"
    assert now < 1_000 + 5, "later than the hard deadline of a resolution"


def test_a_slow_timegate_is_still_waited_for_if_the_index_fails() -> None:
    @asynccontextmanager
    async def fetch(request: Request) -> AsyncGenerator[FakeReply]:
        if "/cdx?" in request.url:
            raise Queued("test", request.url, "too many requests", 1.0)
        await asyncio.sleep(8)
        headers = {name.lower(): value for name, value in REDIRECT.headers.items()}
        yield FakeReply(request.url, 302, headers, (), None)

    async def story() -> str:
        found = await source_for(entry("memento"), fetch, clock).closest(PAGE, AT)
        assert found is not None
        return found.via

    assert in_virtual_time(story()) == "timegate"


def test_nothing_goes_on_when_a_question_is_given_up() -> None:
    ended: list[str] = []

    @asynccontextmanager
    async def fetch(request: Request) -> AsyncGenerator[FakeReply]:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("cdx" if "/cdx?" in request.url else "gate")
        yield FakeReply(request.url, 200, {}, (ROW,), None)

    async def story() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(15):
                await source_for(entry("memento"), fetch, clock).closest(PAGE, AT)

    in_virtual_time(story())

    assert sorted(ended) == ["cdx", "gate"]


class Minutes:
    """A wall clock that tests advance."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


async def test_after_two_failures_the_way_that_answers_comes_first_for_a_minute() -> None:
    archive, time = Archive(gate=Canned(500)), Minutes()
    adapter = adapter_for(entry("memento"), time)

    for _ in range(2):
        await adapter.closest(archive.fetch, PAGE, AT)
    archive.fetch.journal.clear()
    await adapter.closest(archive.fetch, PAGE, AT)
    assert archive.ways == ["cdx"]

    archive.gate, time.now = REDIRECT, NOW + timedelta(minutes=1)
    archive.fetch.journal.clear()
    await adapter.closest(archive.fetch, PAGE, AT)
    assert archive.ways == ["gate"]


async def test_the_way_of_its_kind_comes_first_again_when_the_other_fails() -> None:
    archive = Archive(gate=Canned(500))
    adapter = adapter_for(entry("memento"), clock)
    for _ in range(2):
        await adapter.closest(archive.fetch, PAGE, AT)

    archive.gate, archive.index = REDIRECT, Canned(500)
    found = await adapter.closest(archive.fetch, PAGE, AT)
    assert found is not None
    assert found.via == "timegate"
    archive.fetch.journal.clear()
    await adapter.closest(archive.fetch, PAGE, AT)
    assert archive.ways == ["gate"]


async def listed(archive: Archive, kind: str = "memento", **fields: object) -> list[str]:
    source = source_for(entry(kind, **fields), archive.fetch, clock)
    return [memento.stamp async for batch in source.mementos(PAGE) for memento in batch]


TIMEMAPS: Final = {"timemaps": {"link": f"{BASE}/timemap/link/"}}
LINKS: Final = (
    f'<{PAGE}>; rel="original",\n<{BASE}/web/20110101000000/{PAGE}>; rel="memento"; '
    'datetime="Sat, 01 Jan 2011 00:00:00 GMT"\n'
).encode()


async def test_the_index_is_listed_if_the_timemap_fails() -> None:
    archive = Archive(timemap=Canned(500))

    assert await listed(archive, "memento", **TIMEMAPS) == [FOUND]


async def test_the_timemap_is_listed_if_the_index_fails() -> None:
    archive = Archive(index=Canned(500), timemap=Canned(body=LINKS))

    assert await listed(archive, "cdx", **TIMEMAPS) == ["20110101000000"]


async def test_a_list_that_breaks_off_before_any_capture_is_replaced() -> None:
    archive = Archive(
        timemap=Canned(body=LINKS, breaks=Unreachable("test", TIMEMAP, "stalled"))
    )

    assert await listed(archive, "memento", **TIMEMAPS) == [FOUND]


class BrokenList:
    """An adapter whose list breaks off after one capture."""

    entry = entry("memento", **TIMEMAPS)
    selection: Selection = "nearest"

    async def closest(self, fetch: Fetcher, original: str, at: Moment | None) -> None:
        raise NotImplementedError

    async def mementos(
        self,
        fetch: Fetcher,
        original: str,
        *,
        detailed: bool = False,
        wanted: WantedCaptures | None = None,
    ) -> AsyncGenerator[Sequence[Memento], None]:
        del fetch, detailed, wanted
        yield [Memento("20110101000000", f"{BASE}/web/20110101000000/{PAGE}", PAGE, "test")]
        raise Unreachable("test", original, "stalled")


async def test_a_list_that_breaks_off_after_captures_is_not_begun_again() -> None:
    adapter = SecondWay(BrokenList(), BrokenList(), clock)
    batches = adapter.mementos(Archive().fetch, PAGE)

    assert [memento.stamp for memento in await anext(batches)] == ["20110101000000"]
    with pytest.raises(Unreachable):
        await anext(batches)


async def test_an_index_is_not_read_twice_where_there_is_no_timemap() -> None:
    archive = Archive(index=Canned(500))

    with pytest.raises(Misbehaved):
        await listed(archive)
    assert len(archive.fetch.journal) == 1
