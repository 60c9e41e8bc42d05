"""Neighbours of a memento: first, previous, next and last."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from archives.model import Closest, Memento
from archives.moment import Moment
from archives.source import WantedCaptures
from tests.clock import in_virtual_time
from tests.scenario import NEVER, FakeArchive
from timegate.resolution.coalescing import fixed
from timegate.resolution.context import UNLIMITED, TimeBudget
from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.resolution.neighbours import Neighbours, neighbours

URL = "http://example.org/"
STAMPS = ("20100101000000", "20120101000000", "20140101000000", "20160101000000")


class FakeLists:
    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Sequence[Memento]] = {}

    async def recall_timemap(
        self,
        archive: str,
        original: str,
        budget: TimeBudget | None = None,
        *,
        detailed: bool = False,
    ) -> tuple[Sequence[Memento], float] | None:
        del budget, detailed
        kept = self.kept.get((archive, original))
        return None if kept is None else (kept, 1.0)

    async def remember_timemap(
        self,
        archive: str,
        original: str,
        captures: Sequence[Memento],
        budget: TimeBudget | None = None,
        *,
        detailed: bool = False,
    ) -> None:
        del budget, detailed
        self.kept[archive, original] = captures


def found(archive: FakeArchive, stamp: str, requested: str | None = None) -> Resolution:
    memento = next(m for m in archive.captures(URL) if m.stamp == stamp)
    best = Attempt(archive.name, Closest(memento, "timegate"), 0.1, URL)
    query = Query(URL, Moment(requested or stamp))
    return Resolution(query, Preferences(), best, (), (best,))


def around(resolution: Resolution) -> dict[str, str]:
    assert resolution.best is not None
    assert isinstance(resolution.best.outcome, Closest)
    return {name: m.stamp for name, m in resolution.best.outcome.neighbours.items()}


def test_the_list_of_an_own_archive_is_requested_once() -> None:
    archive, lists = FakeArchive("a", 0.0, STAMPS), FakeLists()
    surroundings = Neighbours(fixed({"a": archive}), lists, frozenset({"a"}))

    filled = asyncio.run(surroundings.filled_in(found(archive, STAMPS[1]), UNLIMITED))
    again = asyncio.run(surroundings.filled_in(found(archive, STAMPS[1]), UNLIMITED))

    expected = {"first": STAMPS[0], "prev": STAMPS[0], "next": STAMPS[2], "last": STAMPS[3]}
    assert around(filled) == around(again) == expected
    assert ("a", URL) in lists.kept


def test_a_listed_memento_that_is_nearer_than_the_choice_of_the_archive_is_taken() -> None:
    archive = FakeArchive("a", 0.0, STAMPS)
    surroundings = Neighbours(fixed({"a": archive}), FakeLists(), frozenset({"a"}))
    newest = found(archive, STAMPS[3], requested=STAMPS[1])

    filled = asyncio.run(surroundings.filled_in(newest, UNLIMITED))

    assert filled.memento is not None
    assert filled.memento.stamp == STAMPS[1]
    assert around(filled)["prev"] == STAMPS[0]


def test_no_list_is_requested_from_other_archives_but_a_cached_one_is_used() -> None:
    archive, lists = FakeArchive("a", 0.0, STAMPS), FakeLists()
    surroundings = Neighbours(fixed({"a": archive}), lists, frozenset())

    bare = asyncio.run(surroundings.filled_in(found(archive, STAMPS[0]), UNLIMITED))
    lists.kept["a", URL] = archive.captures(URL)
    filled = asyncio.run(surroundings.filled_in(found(archive, STAMPS[0]), UNLIMITED))

    assert around(bare) == {}
    assert around(filled) == {"first": STAMPS[0], "next": STAMPS[1], "last": STAMPS[3]}


def test_without_a_list_in_time_the_resolution_is_unchanged() -> None:
    archive = FakeArchive("a", NEVER, STAMPS)
    surroundings = Neighbours(
        fixed({"a": archive}), FakeLists(), frozenset({"a"}), patience=0.01
    )
    resolution = found(archive, STAMPS[0])

    assert asyncio.run(surroundings.filled_in(resolution, UNLIMITED)) == resolution


def test_neighbours_are_not_filled_in_while_other_archives_were_skipped() -> None:
    archive = FakeArchive("a", 0.0, STAMPS)
    surroundings = Neighbours(fixed({"a": archive}), FakeLists(), frozenset({"a"}))
    ended = replace(found(archive, STAMPS[1]), skipped=("b",))

    assert asyncio.run(surroundings.filled_in(ended, UNLIMITED)) == ended


def test_without_a_memento_there_are_no_neighbours() -> None:
    nothing = Resolution(Query(URL, None), Preferences(), None, (), ())

    assert (
        asyncio.run(
            Neighbours(fixed({}), FakeLists(), frozenset()).filled_in(nothing, UNLIMITED)
        )
        == nothing
    )


def test_a_single_memento_is_the_first_and_the_last() -> None:
    only = FakeArchive("a", 0.0, STAMPS[:1]).captures(URL)

    assert neighbours(only[0], only) == {"first": only[0], "last": only[0]}


class Counting(FakeArchive):
    """Counts how often its list is requested."""

    lists = 0

    async def mementos(
        self, original: str, *, detailed: bool = False, wanted: WantedCaptures | None = None
    ) -> AsyncGenerator[Sequence[Memento], None]:
        self.lists += 1
        async for batch in super().mementos(original, detailed=detailed, wanted=wanted):
            yield batch


def test_concurrent_requests_share_one_list() -> None:
    archive = Counting("a", 0.1, STAMPS)
    surroundings = Neighbours(fixed({"a": archive}), FakeLists(), frozenset({"a"}))

    async def asked() -> list[Resolution]:
        resolution = found(archive, STAMPS[1])
        return await asyncio.gather(
            *(surroundings.filled_in(resolution, UNLIMITED) for _ in range(100))
        )

    filled = in_virtual_time(asked())

    assert archive.lists == 1
    assert {around(one)["first"] for one in filled} == {STAMPS[0]}


def test_if_the_first_request_is_cancelled_the_others_only_lose_the_neighbours() -> None:
    archive = Counting("a", 0.5, STAMPS)
    surroundings = Neighbours(fixed({"a": archive}), FakeLists(), frozenset({"a"}))

    async def asked() -> Resolution:
        resolution = found(archive, STAMPS[1])
        leader = asyncio.ensure_future(surroundings.filled_in(resolution, UNLIMITED))  # noqa: TID251 -- a client that leaves
        await asyncio.sleep(0.1)
        follower = asyncio.ensure_future(surroundings.filled_in(resolution, UNLIMITED))  # noqa: TID251
        await asyncio.sleep(0.1)
        leader.cancel()
        return await follower

    assert around(in_virtual_time(asked())) == {}


@given(st.lists(st.integers(0, 8), min_size=1, max_size=12), st.data())
def test_neighbours_have_other_stamps_however_many_twins_there_are(
    seconds: list[int], data: st.DataObject
) -> None:
    captures = [
        Memento(f"2010010100000{second}", f"http://a/{n}/{URL}", URL, "a")
        for n, second in enumerate(sorted(seconds))
    ]
    chosen = data.draw(st.sampled_from(captures))

    found = neighbours(chosen, captures)

    earlier = [each.stamp for each in captures if each.stamp < chosen.stamp]
    later = [each.stamp for each in captures if each.stamp > chosen.stamp]
    assert (found["prev"].stamp if "prev" in found else None) == max(earlier, default=None)
    assert (found["next"].stamp if "next" in found else None) == min(later, default=None)


def test_captures_of_other_archives_in_the_list_of_an_aggregator_are_no_neighbours() -> None:
    stamps_and_hosts = zip(STAMPS, ("other", "own", "own", "other"), strict=True)
    captures = [
        Memento(stamp, f"http://{host}/{stamp}/{URL}", URL, "a")
        for stamp, host in stamps_and_hosts
    ]

    assert neighbours(captures[1], captures) == {"next": captures[2]}
