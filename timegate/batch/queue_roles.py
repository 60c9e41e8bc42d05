"""The two roles at a queue in Redis: one process feeds it and collects, all work on it."""

import asyncio
import math
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from timegate.batch.backlog import ListBacklog, WaitingItem
from timegate.batch.dispatch import Answered, Dispatcher, LaneLimits
from timegate.batch.model import Item, ItemResult
from timegate.batch.run import Accept, BadQueue, Engine, ItemResolver, QueueStatus, noting
from timegate.batch.stream_queue import KEEP, Entry, Job, StreamQueue

_PAGES_AHEAD: Final = 200
"""Pages of a lane that are in Redis: half a minute for the fastest archive."""
_POLL: Final = 0.05
"""Seconds between two looks at a queue that has nothing to do."""
_LONGEST_POLL: Final = 1.0
_CHECK: Final = 5.0
"""Seconds between two checks that Redis has not lost anything."""

_TAKE_OVER: Final = 20.0
"""Seconds after which a process that was killed no longer owns its queue."""
LONGEST_WAIT_FOR_NEXT: Final = 300.0
"""Seconds for which a worker that finds a complete list waits for the next one."""
_LOOK: Final = 1.0
"""Seconds between two looks at whether the list is complete."""

Report = Callable[[], QueueStatus]


class QueueEngines:
    """Resolves items in all processes that work on a queue."""

    def __init__(
        self,
        queue: StreamQueue,
        job: Job,
        place: Callable[[Item], WaitingItem],
        status: Report,
    ) -> None:
        self._queue = queue
        self._job = job
        self._placed = place
        self._status = status

    def place(self, item: Item) -> WaitingItem:
        return self._placed(item)

    def engine(self, backlog: ListBacklog, accept: Accept, *, last: bool) -> Engine:
        return QueueFeeder(self._queue, self._job, backlog, accept, self._status, last=last)


class QueueFeeder:
    """Feeds a queue from a backlog, and collects the results."""

    def __init__(  # noqa: PLR0913 -- the queue, the list, and where results go
        self,
        queue: StreamQueue,
        job: Job,
        backlog: ListBacklog,
        accept: Accept,
        status: Report,
        *,
        last: bool,
    ) -> None:
        self._queue = queue
        self._job = job
        self._backlog = backlog
        self._accept = accept
        self._status = status
        self._last = last
        self._fed: Counter[str] = Counter()
        """Pages in Redis, by lane."""
        self._ended = False
        self._checked = 0.0

    def wake(self) -> None:
        """Do nothing: the queue is looked at all the time."""

    def end(self) -> None:
        self._ended = True

    def elsewhere(self, lane: str) -> int:
        """Return 0: what the workers wait for is not known here."""
        del lane
        return 0

    async def run(self) -> None:
        """Feed and collect until nothing is left. Raises BadQueue."""
        clock, pause = asyncio.get_running_loop().time, _POLL
        while not self._ended or self._backlog.left():
            if clock() - self._checked >= _CHECK:
                await self._check()
                self._checked = clock()
            moved = await self._feed() + await self._collect()
            pause = _POLL if moved else min(2 * pause, _LONGEST_POLL)
            if not moved:
                await asyncio.sleep(pause)

    async def _feed(self) -> int:
        """Add pages to every lane that has few; return their number."""
        feeding = []
        for lane in self._backlog.lanes():
            while self._fed[lane] < _PAGES_AHEAD and (items := self._backlog.take(lane)):
                self._fed[lane] += 1
                feeding.append(self._queue.feed(self._job, lane, items, last=self._last))
        # Together: the client sends them in one batch.
        await asyncio.gather(*feeding)
        return len(feeding)

    async def _collect(self) -> int:
        """Accept results; return the number of pages."""
        pages = await self._queue.results()
        for page in pages:
            if page.job == self._job.id:
                await self._accept_page(page.lane, page.results)
        # Only now: a result that was not written would be lost.
        await self._queue.remove_results([page.id for page in pages])
        return len(pages)

    async def _accept_page(
        self, lane: str, results: Sequence[tuple[ItemResult, Mapping[str, int]]]
    ) -> None:
        before = self._backlog.taken(lane)
        for result, asks in results:
            await self._accept(lane, result, asks)
        if self._backlog.taken(lane) < before:
            self._fed[lane] = max(self._fed[lane] - 1, 0)

    async def _check(self) -> None:
        """Feed again what Redis has lost, and report the progress."""
        lost = await self._queue.put_job(self._job)
        lanes = [lane for lane, number in self._fed.items() if number]
        lengths = {lane: 0 if lost else await self._queue.length(lane) for lane in lanes}
        while await self._collect():
            pass
        # A page that was done meanwhile is no longer counted as fed.
        missing = [lane for lane in lanes if lost or self._fed[lane] > lengths[lane]]
        if missing:
            await self._queue.clear(missing)
            for lane in missing:
                self._backlog.take_back(lane)
                self._fed[lane] = 0
        await self._queue.report(self._status())


class _TakenPages:
    """The pages that this worker has taken and not started: a `Supply`."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Entry]] = {}
        self.entries: dict[int, Entry] = {}
        """The entries that were taken and are not done, by their first position."""

    def put(self, entry: Entry) -> None:
        # A page that comes twice, after Redis has lost something, is resolved once.
        if entry.items[0].position not in self.entries:
            self.entries[entry.items[0].position] = entry
            self._waiting.setdefault(entry.lane, deque()).append(entry)

    def lanes(self) -> Sequence[str]:
        return [lane for lane, entries in self._waiting.items() if entries]

    def take(self, lane: str) -> Sequence[Item]:
        entries = self._waiting.get(lane)
        return entries.popleft().items if entries else ()


class QueueWorker:
    """Works on the queue of one job."""

    def __init__(
        self,
        queue: StreamQueue,
        job: Job,
        resolver: ItemResolver,
        limits: LaneLimits,
        unread: Callable[[float], None] | None = None,
    ) -> None:
        """*unread* is called when nothing reads the results any more, with the seconds.

        It is called with 0 when they are read again.
        """
        self._unread = unread
        self._is_unread = False
        self._queue = queue
        self._job = job
        self._resolver = resolver
        self._limits = limits
        self._pages = _TakenPages()
        self._dispatcher = Dispatcher(self._pages, limits, self._work)
        self.resolved = 0
        """References that this worker has resolved."""

    async def run(self) -> None:
        """Work until the list is complete, or the queue has another one."""
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self._dispatcher.run())
            keeping = tasks.create_task(self._keep())
            try:
                await self._take_pages()
            finally:
                self._dispatcher.end()
                keeping.cancel()
            await running

    async def _take_pages(self) -> None:
        clock = asyncio.get_running_loop().time
        pause, looked = _POLL, clock()
        while True:
            if clock() - looked >= _LOOK:
                if await self._queue.is_over(self._job):
                    return
                looked = clock()
            found = await self._take()
            pause = min(2 * pause, _LONGEST_POLL) if found == 0 else _POLL
            await asyncio.sleep(pause)

    async def _take(self) -> int | None:
        """Take pages of the lanes that have room; return their number, None without room."""
        waiting = set(self._pages.lanes())
        limits, has_room = self._limits, self._dispatcher.has_room
        free = [lane for lane in self._job.lanes if lane not in waiting and has_room(lane)]
        if not free:
            return None
        entries = await self._queue.take({lane: limits.most(lane) for lane in free})
        for entry in entries:
            self._pages.put(entry)
        self._dispatcher.wake()
        return len(entries)

    async def _keep(self) -> None:
        while True:
            await self._look_for_reader()
            await asyncio.sleep(KEEP)
            await self._queue.keep(list(self._pages.entries.values()))

    async def _look_for_reader(self) -> None:
        if self._unread is None:
            return
        seconds = await self._queue.silence()
        if bool(seconds) != self._is_unread:
            self._is_unread = bool(seconds)
            self._unread(seconds)

    async def _work(self, lane: str, items: Sequence[Item], answered: Answered) -> None:
        del lane
        entry = self._pages.entries[items[0].position]
        results = []
        for item in items:
            asks: Counter[str] = Counter()
            noted = noting(asks, answered, self._limits)
            results.append((await self._resolver.resolve(item, noted, last=entry.last), asks))
        await self._queue.finish(entry, results)
        self.resolved += len(results)
        del self._pages.entries[items[0].position]


class JobWaits(Protocol):
    """Is told what a worker waits for."""

    def first(self) -> None:
        """Note that there was no list yet: any one is waited for."""
        ...

    def next(self, seconds: float) -> None:
        """Note that the list is complete: the next one is waited for at most *seconds*."""
        ...


async def wait_for_job(queue: StreamQueue, waits: JobWaits) -> Job | None:
    """Return the job of the queue, as soon as there is one.

    A worker may be started before the next list, too: after a complete list, the next one is
    waited for. Returns None if none has come by then.
    """
    clock = asyncio.get_running_loop().time
    is_told, give_up = False, math.inf
    while (job := await queue.job()) is None and clock() < give_up:
        status = await queue.status()
        if status is not None and status.complete:
            if give_up == math.inf:
                give_up = clock() + LONGEST_WAIT_FOR_NEXT
                waits.next(LONGEST_WAIT_FOR_NEXT)
        elif not is_told:
            waits.first()
            is_told = True
        await asyncio.sleep(_LONGEST_POLL)
    return job


async def begin_job(queue: StreamQueue, job: Job) -> None:
    """Make *job* that of the queue, as soon as a killed process no longer owns it.

    Raises BadQueue if another process feeds the queue.
    """
    clock = asyncio.get_running_loop().time
    give_up = clock() + _TAKE_OVER
    while True:
        try:
            await queue.put_job(job)
            break
        except BadQueue:
            if clock() >= give_up:
                raise
            await asyncio.sleep(_LONGEST_POLL)
    # That of an earlier list would be shown as the progress of this one.
    await queue.report(QueueStatus(0, None, 0.0, None, complete=False))
    # What is left of an earlier list was not collected: it is fed again.
    await queue.clear(job.lanes)


def check_archives(job: Job, archives: str) -> None:
    """Raise BadQueue if this process would query other archives than the others."""
    if job.archives != archives:
        why = "the list is resolved with other archives than those configured here"
        raise BadQueue(f"--queue: {why}; use the same configuration")
