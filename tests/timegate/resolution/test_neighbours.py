"""What lies around a copy."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

from archives.model import Closest, Memento
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
        self, archive: str, original: str, budget: TimeBudget | None = None
    ) -> tuple[Sequence[Memento], float] | None:
        del budget
        kept = self.kept.get((archive, original))
        return None if kept is None else (kept, 1.0)

    async def remember_timemap(
        self,
        archive: str,
        original: str,
        captures: Sequence[Memento],
        budget: TimeBudget | None = None,
    ) -> None:
        del budget
        self.kept[archive, original] = captures


def found(archive: FakeArchive, stamp: str) -> Resolution:
    memento = next(m for m in archive.captures(URL) if m.stamp == stamp)
    best = Attempt(archive.name, Closest(memento, "timegate"), 0.1, URL)
    return Resolution(Query(URL, None), Preferences(), best, (), (best,))


def around(resolution: Resolution) -> dict[str, str]:
    assert resolution.best is not None
    assert isinstance(resolution.best.outcome, Closest)
    return {name: m.stamp for name, m in resolution.best.outcome.neighbours.items()}


def test_an_archive_of_our_own_is_asked_for_its_list_once() -> None:
    archive, lists = FakeArchive("a", 0.0, STAMPS), FakeLists()
    surroundings = Neighbours(fixed({"a": archive}), lists, frozenset({"a"}))

    filled = asyncio.run(surroundings.filled_in(found(archive, STAMPS[1]), UNLIMITED))
    again = asyncio.run(surroundings.filled_in(found(archive, STAMPS[1]), UNLIMITED))

    expected = {"first": STAMPS[0], "prev": STAMPS[0], "next": STAMPS[2], "last": STAMPS[3]}
    assert around(filled) == around(again) == expected
    assert ("a", URL) in lists.kept


def test_others_are_not_asked_but_a_list_at_hand_is_used() -> None:
    archive, lists = FakeArchive("a", 0.0, STAMPS), FakeLists()
    surroundings = Neighbours(fixed({"a": archive}), lists, frozenset())

    bare = asyncio.run(surroundings.filled_in(found(archive, STAMPS[0]), UNLIMITED))
    lists.kept["a", URL] = archive.captures(URL)
    filled = asyncio.run(surroundings.filled_in(found(archive, STAMPS[0]), UNLIMITED))

    assert around(bare) == {}
    assert around(filled) == {"first": STAMPS[0], "next": STAMPS[1], "last": STAMPS[3]}


def test_a_list_that_does_not_come_spoils_nothing() -> None:
    archive = FakeArchive("a", NEVER, STAMPS)
    surroundings = Neighbours(
        fixed({"a": archive}), FakeLists(), frozenset({"a"}), patience=0.01
    )
    resolution = found(archive, STAMPS[0])

    assert asyncio.run(surroundings.filled_in(resolution, UNLIMITED)) == resolution


def test_one_list_tells_nothing_while_others_were_not_heard() -> None:
    archive = FakeArchive("a", 0.0, STAMPS)
    surroundings = Neighbours(fixed({"a": archive}), FakeLists(), frozenset({"a"}))
    ended = replace(found(archive, STAMPS[1]), skipped=("b",))

    assert asyncio.run(surroundings.filled_in(ended, UNLIMITED)) == ended


def test_where_nothing_was_found_there_is_nothing_around() -> None:
    nothing = Resolution(Query(URL, None), Preferences(), None, (), ())

    assert (
        asyncio.run(
            Neighbours(fixed({}), FakeLists(), frozenset()).filled_in(nothing, UNLIMITED)
        )
        == nothing
    )


def test_the_only_copy_has_no_neighbours_but_itself() -> None:
    only = FakeArchive("a", 0.0, STAMPS[:1]).captures(URL)

    assert neighbours(only[0], only) == {"first": only[0], "last": only[0]}


class Counting(FakeArchive):
    """Counts how often it is asked for its list."""

    lists = 0

    async def mementos(self, original: str) -> AsyncGenerator[Sequence[Memento], None]:
        self.lists += 1
        async for batch in super().mementos(original):
            yield batch


def test_many_who_ask_at_once_cost_one_list() -> None:
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


def test_who_leaves_while_others_wait_costs_them_their_neighbours_only() -> None:
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
