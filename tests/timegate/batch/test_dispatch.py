"""Lanes under a virtual clock, with real rate limits: how much of its allowance each uses."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence

import pytest

from archives.errors import ArchiveError
from archives.model import ArchiveEntry, Limits, Rate
from archives.source import Request
from tests.clock import in_virtual_time
from tests.fakes import an_entry
from timegate.batch.backlog import ListBacklog, WaitingItem
from timegate.batch.dispatch import EVERY, Answered, Dispatcher, LaneLimits, useful
from timegate.batch.model import Item
from timegate.upstream.rate_limit import LocalRateLimiter, RequestQueue

LATENCY = 0.3


def an_archive(name: str, rate: Rate, at_once: int = 8) -> ArchiveEntry:
    return an_entry("memento", id=name, limits=Limits(rate, rate, at_once, "test"))


FAST = an_archive("fast", Rate(8, 1, 8))
SLOW = an_archive("slow", Rate(1, 1, 1))
SLOWEST = an_archive("slowest", Rate(2, 60, 1), 1)


class Archives:
    """Archives behind real rate limits; an item asks those that its text names, in order."""

    def __init__(self, *entries: ArchiveEntry) -> None:
        clock = asyncio.get_running_loop().time
        self._queues = {
            e.id: RequestQueue(LocalRateLimiter(e.limits, clock), e.limits.at_once)
            for e in entries
        }
        self.sent: dict[str, list[float]] = defaultdict(list)
        self.pages: list[list[int]] = []
        self.most = 0
        self._under_way = 0

    async def work(self, lane: str, items: Sequence[Item], answered: Answered) -> None:
        del lane
        self.pages.append([item.position for item in items])
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        for item in items:
            for archive in item.text.split():
                await self._ask(archive, answered)
        self._under_way -= 1

    async def _ask(self, archive: str, answered: Answered) -> None:
        clock = asyncio.get_running_loop().time
        queue = self._queues[archive]
        await queue.enter(archive, Request("HEAD", "http://a/", "memento"), 1e6)
        self.sent[archive].append(clock())
        await asyncio.sleep(LATENCY)
        queue.leave()
        answered(archive)

    def used(self, entry: ArchiveEntry) -> float:
        """Return the part of its allowance that was used while it was needed."""
        rate, times = entry.limits.memento, self.sent[entry.id]
        allowed = (times[-1] - times[0]) * rate.requests / rate.seconds
        return (len(times) - rate.burst) / allowed


def dispatched(
    entries: Sequence[ArchiveEntry], texts: Sequence[str], at_once: int = 16
) -> Archives:
    """Dispatch one item for each text, which names the archives that it asks."""

    async def story() -> Archives:
        archives = Archives(*entries)
        limits = LaneLimits(entries, at_once)
        with ListBacklog() as backlog:
            dispatcher = Dispatcher(backlog, limits, archives.work)
            backlog.put(
                WaitingItem(
                    Item(n, text, (text,)),
                    EVERY if text.startswith(" ") else limits.lane(text.split()[0]),
                    f"page{n}",
                )
                for n, text in enumerate(texts)
            )
            dispatcher.end()
            await dispatcher.run()
            assert backlog.lanes() == []
        return archives

    return in_virtual_time(story())


@pytest.mark.parametrize("at_once", [16, 64, 256])
def test_each_archive_is_used_to_the_full_whatever_the_order(at_once: int) -> None:
    everything = [FAST, SLOW, SLOWEST]
    texts = ["slowest"] * 10 + ["slow"] * 100 + ["fast"] * 1000

    archives = dispatched(everything, texts, at_once)

    assert [len(archives.sent[e.id]) for e in everything] == [1000, 100, 10]
    assert min(map(archives.used, everything)) >= 0.9


def test_references_that_go_on_to_a_slow_archive_do_not_hold_up_the_others() -> None:
    texts = ["fast slow"] * 40 + ["fast"] * 400

    archives = dispatched([FAST, SLOW], texts)

    assert archives.used(FAST) >= 0.9
    assert archives.used(SLOW) >= 0.9


def test_references_without_an_archive_use_the_slowest_to_the_full() -> None:
    archives = dispatched([FAST, SLOW], [" fast slow"] * 60 + ["fast"] * 600)

    assert archives.used(SLOW) >= 0.9
    assert archives.used(FAST) >= 0.9


def test_no_more_references_are_started_than_an_archive_can_use() -> None:
    archives = dispatched([FAST], ["fast"] * 500, at_once=256)

    assert archives.most <= useful(FAST.limits) + 4 * useful(FAST.limits)


def test_references_to_one_page_are_resolved_one_after_the_other() -> None:
    async def story() -> list[list[int]]:
        archives = Archives(FAST)
        with ListBacklog() as backlog:
            backlog.put(
                WaitingItem(Item(n, "fast", ()), "fast", f"page{n % 2}") for n in range(5)
            )
            dispatcher = Dispatcher(backlog, LaneLimits([FAST], 16), archives.work)
            dispatcher.end()
            await dispatcher.run()
        return archives.pages

    assert in_virtual_time(story()) == [[0, 2, 4], [1, 3]]


def test_a_lane_is_that_of_the_host() -> None:
    lodger = an_entry("memento", id="lodger", hosted_by="fast")
    limits = LaneLimits([FAST, lodger], 16)

    assert [limits.lane(name) for name in ("lodger", "fast", "unknown", None)] == [
        *("fast", "fast"),
        *(EVERY, EVERY),
    ]
    assert (limits.most("fast"), limits.most(EVERY)) == (13, 16)


def test_a_failure_ends_the_run() -> None:
    async def broken(*_: object) -> None:
        raise OSError("disk full")

    async def story() -> None:
        with ListBacklog() as backlog:
            backlog.put([WaitingItem(Item(0, "", ()), "", "p")])
            await Dispatcher(backlog, LaneLimits([], 1), broken).run()

    with pytest.raises(ExceptionGroup) as raised:
        in_virtual_time(story())

    assert raised.group_contains(OSError)
    assert not raised.group_contains(ArchiveError)
