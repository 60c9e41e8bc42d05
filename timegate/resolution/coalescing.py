"""Coalescing: identical questions to an archive are asked once, however many clients wait.

A question in progress belongs to the `Coalescer`, not to the client that asked first. It ends
when the last search that waits for it is cancelled, because its client has disconnected. If a
search ends with a result instead, its questions continue for up to `patience` seconds, to fill
the cache. An unforeseen exception ends at the `Containment` around each question: it becomes an
`Internal` error of that archive, and the answers of the other archives are used.
"""

import asyncio
from collections import OrderedDict
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from types import TracebackType
from typing import Final, Protocol, Self

from archives.errors import ArchiveError, Internal, Unreachable
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from archives.nearest import nearest
from archives.source import Source, WantedCaptures
from timegate.event_loop import FairTurns, end
from timegate.resolution.context import QueueTime, RequestContext, TimeBudget
from timegate.resolution.model import Attempt, CachedAnswer, Direction, Rule
from timegate.resolution.ranking import in_direction


class Containment:
    """Turns unforeseen exceptions into errors of the archive that was queried."""

    def __init__(
        self,
        failed: Callable[[str], None] = lambda _: None,
        worked: Callable[[str], None] = lambda _: None,
        log: Callable[[str, Exception], None] = lambda _archive, _error: None,
    ) -> None:
        """*failed* and *worked* are called with the archive of each question."""
        self.failed = failed
        self.worked = worked
        self._log = log

    def around(self, archive: str, url: str) -> "_Around":
        """Return a context manager for one question to *archive* about *url*."""
        return _Around(self, archive, url)

    def failure(self, archive: str, url: str, error: Exception) -> Internal:
        """Note *error*, and return it as a failure of *archive*."""
        self._log(archive, error)
        self.failed(archive)
        return Internal(archive, url, error)


class _Around:
    """The context of one question. ArchiveError and cancellation pass through."""

    __slots__ = ("_archive", "_containment", "_url")

    def __init__(self, containment: Containment, archive: str, url: str) -> None:
        self._containment = containment
        self._archive = archive
        self._url = url

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, ArchiveError):
            raise self._containment.failure(self._archive, self._url, error) from error


class Contained:
    """A `Source` that raises no exception but `ArchiveError`."""

    def __init__(self, source: Source, containment: Containment) -> None:
        self._source = source
        self._containment = containment

    @property
    def entry(self) -> ArchiveEntry:
        return self._source.entry

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        with self._containment.around(self.entry.id, original):
            return await self._source.closest(original, at)

    async def mementos(
        self, original: str, *, detailed: bool = False, wanted: WantedCaptures | None = None
    ) -> AsyncGenerator[Sequence[Memento], None]:
        with self._containment.around(self.entry.id, original):
            batches = self._source.mementos(original, detailed=detailed, wanted=wanted)
            async with aclosing(batches):
                async for batch in batches:
                    yield batch


Question = tuple[str, str, Moment | None, Direction]
_PATIENCE: Final = 15.0
"""Seconds for one question, not counting the time in our own queue for the archive."""
_SKEW: Final = 60.0
"""Seconds by which the clocks of two replicas may differ."""
_STARTS_PER_TURN: Final = 16
"""Questions that are started in one iteration of the event loop: some 2 ms of work."""
_JUST_NOW: Final = 2.0
"""Seconds: an answer that is no older came between the cache lookup and the question."""

_LATE: Final = 0.05
"""Seconds by which a question may be given up too early."""
_MOST_HELD: Final = 4096
"""Pages of archives that are remembered as held: some 250 bytes each."""

AtReplayAddress = Callable[[str, str, Moment | None, RequestContext], Awaitable[Closest | None]]
"""Requests a memento at its replay address; None if it is not there."""
SourceFor = Callable[[str, RequestContext], Source]
"""Returns the source for an archive, within the limits of a request."""


def contained_sources(source_for: SourceFor, containment: Containment) -> SourceFor:
    """Return sources for callers that have no boundary of their own."""
    return lambda archive, context: Contained(source_for(archive, context), containment)


def fixed(sources: Mapping[str, Source]) -> SourceFor:
    """Return sources that do not depend on the request."""
    return lambda archive, _context: sources[archive]


class AnswerMemory(Protocol):
    """Earlier answers of archives. *budget* limits the time spent waiting for Redis."""

    async def recall(
        self,
        archive: str,
        original: str,
        at: Moment | None,
        budget: TimeBudget | None = None,
    ) -> CachedAnswer | None: ...

    async def recall_all(
        self,
        archives: Sequence[str],
        original: str,
        at: Moment | None,
        budget: TimeBudget | None = None,
    ) -> dict[str, CachedAnswer]:
        """Return the answers by archive, as far as they are known."""
        ...

    async def remember(
        self,
        archive: str,
        original: str,
        at: Moment | None,
        outcome: Closest | None,
        budget: TimeBudget | None = None,
    ) -> None: ...


class ReplicaLocks(Protocol):
    """Locks by question, so that of several replicas one asks the archive."""

    async def wait(self, question: Question, context: RequestContext) -> float | None:
        """Wait while another replica asks; return for how many seconds.

        0 if no other replica asks, None if that is unknown: then no answer can be expected.
        """
        ...

    def done(self, question: Question) -> None:
        """Release the lock: the question is answered and cached, or given up."""
        ...


class NoReplicas:
    """A single replica, which needs no locks."""

    async def wait(self, question: Question, context: RequestContext) -> None:
        del question, context

    def done(self, question: Question) -> None:
        """Do nothing."""


class _Asked:
    """A question in progress."""

    __slots__ = (
        *("clock", "ends", "is_overdue", "key", "question", "queue_time", "searches", "task"),
    )

    task: "asyncio.Task[Attempt]"

    def __init__(
        self,
        question: Question,
        key: tuple[str, ...],
        clock: Callable[[], float],
        patience: float,
    ) -> None:
        self.question = question
        self.key = key
        self.clock = clock
        """Returns the time of the event loop."""
        self.ends = clock() + patience
        """The time of the event loop at which it is given up, but for the time in our queue."""
        self.queue_time = QueueTime()
        self.searches = 0
        """Searches that asked it and were not cancelled."""
        self.is_overdue = False


class Coalescer:
    """Asks archives. Use as a context manager: its end cancels questions in progress."""

    def __init__(  # noqa: PLR0913 -- its parts
        self,
        source_for: SourceFor,
        memory: AnswerMemory,
        observe: Callable[[Attempt], None] = lambda _: None,
        patience: float = _PATIENCE,
        *,
        locks: ReplicaLocks | None = None,
        containment: Containment | None = None,
        public: frozenset[str] = frozenset(),
        replay_address: AtReplayAddress | None = None,
        repeated: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Charge questions to the archives in *public* to the quota of the client.

        *replay_address* requests a memento at its replay address, before its archive is asked.
        *repeated* is called with the archive of each question that is asked twice.
        """
        self._source_for = source_for
        self._memory = memory
        self._observe = observe
        self._patience = patience
        self._locks = locks
        self._containment = containment or Containment()
        self._public = public
        self._replay_address = replay_address
        self._repeated = repeated
        self._held: OrderedDict[tuple[str, str], None] = OrderedDict()
        """Archives and URLs of which a memento was found, the latest last."""
        self._starts = FairTurns(_STARTS_PER_TURN)
        self._in_progress: dict[tuple[str, ...], asyncio.Task[Attempt]] = {}
        self._asked: dict[asyncio.Task[Attempt], _Asked] = {}
        """Questions in progress, the oldest first: all are given up after the same time."""
        self._timer: asyncio.TimerHandle | None = None
        """Gives up the oldest question. One timer for all: timers are costly."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        tasks = list(self._in_progress.values())
        await end(tasks)

    def ask(  # noqa: PLR0913 -- the question, and the request that asks it
        self,
        archive: str,
        original: str,
        at: Moment | None,
        context: RequestContext,
        *,
        direction: Direction = "closest",
        variant: Rule | None = None,
        at_replay_address: bool = False,
    ) -> "asyncio.Task[Attempt]":
        """Return the answer as a task; wait for it, but never cancel it.

        A question in progress is joined; it keeps the context of its first request. With
        *at_replay_address*, the memento itself is requested first, where that is possible: one
        request finds and verifies it.
        """
        # The digits, and not the time itself, whose hash is computed by a function.
        key = (archive, original, "" if at is None else at.digits, direction)
        task = self._in_progress.get(key)
        if task is None:
            loop = asyncio.get_running_loop()
            question = (archive, original, at, direction)
            asked = _Asked(question, key, loop.time, self._patience)
            direct = self._replay_address if at_replay_address else None
            task = loop.create_task(self._answer(asked, context, variant, direct))
            asked.task = task
            self._in_progress[key] = task
            self._asked[task] = asked
            if self._timer is None:
                self._timer = loop.call_at(asked.ends, self._give_up_overdue)
        self._asked[task].searches += 1
        return task

    def abandon(self, tasks: "Iterable[asyncio.Task[Attempt]]") -> None:
        """End the questions of a cancelled search, except those that other searches asked."""
        for task in tasks:
            asked = self._asked.get(task)
            if asked is not None:
                asked.searches -= 1
                if not asked.searches:
                    # At once, so that no new search joins it.
                    self._done(asked)
                    task.cancel()

    def queued(self, task: "asyncio.Task[Attempt]", now: float) -> float:
        """Return the seconds that a question has waited in our own queue for its archive."""
        asked = self._asked.get(task)
        return 0.0 if asked is None else asked.queue_time.total(now)

    def _give_up_overdue(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time() + _LATE
        following = now + self._patience
        for task, asked in self._asked.items():
            ends = asked.ends + asked.queue_time.total(now)
            if ends > now:
                following = min(following, ends)
            elif not asked.is_overdue:
                asked.is_overdue = True
                task.cancel()
            if asked.ends > now:
                break
        again = bool(self._asked)
        self._timer = loop.call_at(following, self._give_up_overdue) if again else None

    def _done(self, asked: _Asked) -> None:
        # A question that was abandoned is done already, and may have been asked again.
        if self._asked.pop(asked.task, None) is not None:
            del self._in_progress[asked.key]

    async def _answer(  # noqa: C901 -- one branch for each way to end
        self,
        asked: _Asked,
        context: RequestContext,
        variant: Rule | None,
        direct: AtReplayAddress | None,
    ) -> Attempt:
        question = asked.question
        archive, original, at, direction = question
        clock = asked.clock
        began = clock()
        outcome: Closest | ArchiveError | None
        try:
            context = context.of_question(asked.queue_time)
            if not self._starts.enter_now():
                await self._starts.enter()
                began = clock()
            if self._locks is not None:
                cached = await self._answered_elsewhere(self._locks, question, context)
                if cached is not None:
                    took = clock() - began
                    return Attempt(archive, cached.outcome, took, original, variant, cached.age)
            outcome = await self._outcome(question, context, direct)
            # Text from an archive cannot always be encoded: a header may not be UTF-8.
            if direction == "closest":
                await self._memory.remember(archive, original, at, outcome, context.redis_time)
            self._containment.worked(archive)
        except ArchiveError as error:
            outcome = error
        except Exception as error:  # noqa: BLE001 -- the boundary around each question
            outcome = self._containment.failure(archive, original, error)
        except asyncio.CancelledError:
            if not asked.is_overdue:
                raise
            outcome = Unreachable(archive, original, f"no answer within {self._patience:g} s")
        finally:
            self._done(asked)
            if self._locks is not None:
                self._locks.done(question)
        now = clock()
        took = now - began - asked.queue_time.total(now)
        attempt = Attempt(archive, outcome, took, original, variant)
        self._observe(attempt)
        return attempt

    async def _answered_elsewhere(
        self, locks: ReplicaLocks, question: Question, context: RequestContext
    ) -> CachedAnswer | None:
        """Return the answer that another replica got meanwhile; None if there is none.

        After a wait without an answer there is no second wait: the other replica has failed.
        """
        waited = await locks.wait(question, context)
        if waited is None:
            return None
        archive, original, at, _ = question
        cached = await self._memory.recall(archive, original, at, context.redis_time)
        # An older answer was in the cache before and did not suffice. One that came between
        # the lookup and the question is the answer that the other requests got.
        oldest = waited + _SKEW if waited else _JUST_NOW
        return cached if cached is not None and cached.fresh and cached.age <= oldest else None

    async def _outcome(
        self, question: Question, context: RequestContext, direct: AtReplayAddress | None
    ) -> Closest | None:
        archive, original, at, direction = question
        if archive in self._public and context.charge is not None:
            context.charge.use()
        delivered = None if direct is None else await direct(archive, original, at, context)
        if delivered is not None and at is not None and _is_of_second(delivered, at):
            return delivered
        source = self._source_for(archive, context)
        # An archive that has just delivered a memento of another time does hold the page.
        closest = await source.closest(original, at) or delivered
        if closest is None and await self._held_before(question, context):
            self._repeated(archive)
            closest = await source.closest(original, at)
        self._note_held(archive, original, held=closest is not None)
        if closest is None or at is None:
            return closest
        return in_direction(closest, at, direction) or await _nearest_in_list(
            source, original, at, direction
        )

    async def _held_before(self, question: Question, context: RequestContext) -> bool:
        """Whether the archive is known to have held the page: an empty answer is doubtful.

        Some archives answer an index that is down, or being renewed, as if it were empty.
        """
        archive, original, at, _ = question
        if (archive, original) in self._held:
            return True
        cached = await self._memory.recall(archive, original, at, context.redis_time)
        return cached is not None and cached.outcome is not None

    def _note_held(self, archive: str, original: str, *, held: bool) -> None:
        key = (archive, original)
        if not held:
            self._held.pop(key, None)
            return
        held_pages = self._held
        if key in held_pages:
            held_pages.move_to_end(key)
            return
        held_pages[key] = None
        if len(held_pages) > _MOST_HELD:
            held_pages.popitem(last=False)


async def _nearest_in_list(
    source: Source, original: str, at: Moment, direction: Direction
) -> Closest | None:
    """Search the list of the archive: its own choice was in the wrong direction."""
    best: Memento | None = None
    async with aclosing(source.mementos(original)) as batches:
        async for batch in batches:
            fitting = [
                memento
                for memento in batch
                if in_direction(Closest(memento, "timemap"), at, direction) is not None
            ]
            best = nearest(fitting if best is None else [best, *fitting], at)
    return None if best is None else Closest(best, "timemap")


def _is_of_second(closest: Closest, at: Moment) -> bool:
    return closest.memento.stamp[:14] == at.digits[:14]
