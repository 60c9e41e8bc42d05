"""Dispatch: starts items as soon as the archive that they wait for can take them.

An item counts at the archive of its lane until that archive has answered; afterwards it may
wait for other archives without holding up its lane. So an archive always has requests waiting
at its rate limit as long as any reference needs it, and never more than a few.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, Protocol

from archives.model import ArchiveEntry, Limits
from archives.source import Purpose
from timegate.batch.model import Item

EVERY: Final = ""
"""The lane of items that need all archives."""
_AHEAD: Final = 0.5
"""Seconds of its allowance that wait for an archive, so that none of it is lost."""
_ELSEWHERE: Final = 4
"""Items that may wait for other archives, for each one in the lane."""
_MOST_ELSEWHERE: Final = 500
"""Items of all lanes that may wait for other archives beyond that. Without these, a slow
archive that a tenth of the references needed held up all lanes: they used a third of what their
archives allowed."""


class Answered(Protocol):
    """Called whenever an archive has answered a request, or failed to."""

    def __call__(self, archive: str, purpose: Purpose = "memento", /) -> None: ...


class Supply(Protocol):
    """The waiting items."""

    def lanes(self) -> Collection[str]:
        """Return the lanes in which items wait."""
        ...

    def take(self, lane: str) -> Sequence[Item]:
        """Take the next item of *lane*, and those of the same page; none if there are none."""
        ...


Work = Callable[[str, Sequence[Item], Answered], Awaitable[None]]
"""Resolves the items of one page, one after the other."""


class LaneLimits:
    """How many items may be in progress in each lane."""

    def __init__(self, entries: Iterable[ArchiveEntry], at_once: int) -> None:
        """*at_once* is the most for any lane."""
        by_id = {entry.id: entry for entry in entries}
        self._hosts = {name: host_of(entry, by_id) for name, entry in by_id.items()}
        self._limits = {entry.id: entry.limits for entry in by_id.values()}
        self._indexes = {entry.id for entry in by_id.values() if entry.kind.uses_index}
        self._at_once = at_once

    def lane(self, archive: str | None) -> str:
        """Return the lane of items that name *archive*: that of its host."""
        return EVERY if archive is None else self._hosts.get(archive, EVERY)

    def bucket(self, archive: str, purpose: Purpose) -> str:
        """Return the name of the rate limit for requests of this *purpose*, as in `allowances`.

        It is the host for questions; an index, which does not deliver mementos, has another
        limit for these.
        """
        return bucket_of(self.lane(archive), purpose, is_index=archive in self._indexes)

    @property
    def lanes(self) -> tuple[str, ...]:
        """All lanes."""
        return (EVERY, *dict.fromkeys(self._hosts.values()))

    def most(self, lane: str) -> int:
        """Return how many items of *lane* may wait for its archive."""
        limits = self._limits.get(lane)
        return self._at_once if limits is None else min(self._at_once, useful(limits))


def bucket_of(host: str, purpose: Purpose, *, is_index: bool) -> str:
    """Return the name of the rate limit of *host* for requests of this *purpose*."""
    return host if (purpose == "index") == is_index else f"{host} {purpose}"


def host_of(entry: ArchiveEntry, entries: Mapping[str, ArchiveEntry]) -> str:
    """Return the archive whose rate limit *entry* shares, or its own id."""
    host = entry.hosted_by
    return host if host is not None and host in entries else entry.id


def useful(limits: Limits) -> int:
    """Return how many items keep an archive busy: more would only wait longer."""
    rate = limits.memento
    return limits.at_once + math.ceil(rate.requests / rate.seconds * _AHEAD) + 1


class Dispatcher:
    """Starts items, lane by lane."""

    def __init__(self, supply: Supply, limits: LaneLimits, work: Work) -> None:
        self._supply = supply
        self._limits = limits
        self._work = work
        self._at_archive: Counter[str] = Counter()
        self._elsewhere: Counter[str] = Counter()
        self._at_others: Counter[str] = Counter()
        """Those of them that another archive was asked for: not their copy is being checked."""
        self._changed = asyncio.Event()
        self._ended = False

    def wake(self) -> None:
        """Look again: there are new items."""
        self._changed.set()

    def end(self) -> None:
        """Return from `run` when the items that are there now are done."""
        self._ended = True
        self._changed.set()

    @property
    def has_ended(self) -> bool:
        """Whether no more items will come."""
        return self._ended

    def has_room(self, lane: str) -> bool:
        """Whether another item of *lane* may start."""
        most = self._limits.most(lane)
        if self._at_archive[lane] >= most:
            return False
        few = self._elsewhere[lane] < most * _ELSEWHERE
        return few or self._elsewhere.total() < _MOST_ELSEWHERE

    def elsewhere(self, lane: str) -> int:
        """Return how many pages of *lane* wait for other archives than their own."""
        return self._at_others[lane]

    @property
    def in_progress(self) -> int:
        """The number of pages in progress."""
        return self._at_archive.total() + self._elsewhere.total()

    async def run(self) -> None:
        """Resolve items until `end` was called and none is left."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                ended = self._ended
                self._start(tasks)
                if ended and not self.in_progress and not self._supply.lanes():
                    return
                await self._changed.wait()

    def _start(self, tasks: asyncio.TaskGroup) -> None:
        for lane in self._supply.lanes():
            while self.has_room(lane) and (items := self._supply.take(lane)):
                page = _PageInProgress(self, lane)
                self._at_archive[lane] += 1
                tasks.create_task(self._finish(page, items))

    async def _finish(self, page: "_PageInProgress", items: Sequence[Item]) -> None:
        try:
            await self._work(page.lane, items, page.answered)
        finally:
            page.finish()

    def answers(self, archive: str, lane: str) -> bool:
        """Whether an item of *lane* waits for *archive*."""
        return lane != EVERY and self._limits.lane(archive) == lane

    def count_elsewhere(self, lane: str, pages: int) -> None:
        """Count *pages* that other archives are asked for."""
        self._at_others[lane] += pages

    def move(self, lane: str, at_archive: int, elsewhere: int) -> None:
        """Change the counts of *lane*."""
        self._at_archive[lane] += at_archive
        self._elsewhere[lane] += elsewhere
        self._changed.set()


class _PageInProgress:
    """The items of one page: at the archive of their lane, then elsewhere."""

    __slots__ = ("_asks_others", "_dispatcher", "_is_at_archive", "lane")

    def __init__(self, dispatcher: Dispatcher, lane: str) -> None:
        self._dispatcher = dispatcher
        self.lane = lane
        self._is_at_archive = True
        self._asks_others = False

    def answered(self, archive: str, _: Purpose = "memento", /) -> None:
        is_own = self._dispatcher.answers(archive, self.lane)
        if self._is_at_archive and is_own:
            self._is_at_archive = False
            self._dispatcher.move(self.lane, -1, 1)
        elif not is_own and not self._is_at_archive and not self._asks_others:
            self._asks_others = True
            self._dispatcher.count_elsewhere(self.lane, 1)

    def finish(self) -> None:
        self._dispatcher.count_elsewhere(self.lane, -self._asks_others)
        if self._is_at_archive:
            self._dispatcher.move(self.lane, -1, 0)
        else:
            self._dispatcher.move(self.lane, 0, -1)
