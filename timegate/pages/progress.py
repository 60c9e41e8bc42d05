"""A search that can be watched: who has answered so far, then the answer.

The search belongs to this room, not to the client that watches: whoever leaves early has still
filled the cache, and a body that is sent owns no task. It ends with the patience of `ExhaustiveResolver`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, NamedTuple, Self

from timegate.event_loop import end
from timegate.resolution.context import RequestContext
from timegate.resolution.exhaustive import ExhaustiveResolver
from timegate.resolution.model import Attempt, Preferences, Query, Resolution

MOST: Final = 32
"""Searches watched at once, in one process."""


class SearchProgress(NamedTuple):
    """How far a search is."""

    asked: tuple[str, ...]
    attempts: tuple[Attempt, ...]

    @property
    def waiting(self) -> tuple[str, ...]:
        """Those who have not answered."""
        answered = {attempt.archive for attempt in self.attempts}
        return tuple(archive for archive in self.asked if archive not in answered)


_BACKLOG: Final = 1_000
"""Pieces of news for one watcher, who would be far behind by then."""
_Queue = asyncio.Queue[Attempt | None]


class SearchEvents:
    """Answers of archives, for the searches that are being watched."""

    def __init__(self, subscriptions: set[Callable[[Attempt], None]] | None = None) -> None:
        """Subscribe in *subscriptions* while a search is being watched."""
        self._subscriptions = set() if subscriptions is None else subscriptions
        self._watchers: dict[_Queue, str] = {}

    def observe(self, attempt: Attempt) -> None:
        """Pass *attempt* on to the searches for its URL."""
        for queue, original in self._watchers.items():
            concerns = attempt.original == original and attempt.variant is None
            if concerns and queue.qsize() < _BACKLOG:
                queue.put_nowait(attempt)

    @contextmanager
    def of(self, original: str) -> Iterator[_Queue]:
        """Collect the news of *original*."""
        queue: _Queue = asyncio.Queue()
        self._watchers[queue] = original
        self._subscriptions.add(self.observe)
        try:
            yield queue
        finally:
            del self._watchers[queue]
            if not self._watchers:
                self._subscriptions.discard(self.observe)


class RunningSearches:
    """Searches under way. Use as a context manager: it ends them."""

    def __init__(
        self, everyone: ExhaustiveResolver, news: SearchEvents, most: int = MOST
    ) -> None:
        self._everyone = everyone
        self._news = news
        self._most = most
        self._tasks: set[asyncio.Task[Resolution]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        tasks = list(self._tasks)
        await end(tasks)

    @property
    def full(self) -> bool:
        """Whether nobody else can watch now."""
        return len(self._tasks) >= self._most

    async def follow(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> AsyncGenerator[SearchProgress | Resolution, None]:
        """Yield how far the search is whenever an archive has answered, last the answer."""
        with self._news.of(query.original) as queue:
            task = self._started(query, preferences, context, queue)
            progress = SearchProgress(self._everyone.archives(query, preferences, context), ())
            yield progress
            while (attempt := await queue.get()) is not None:
                if attempt.archive in progress.waiting:
                    progress = progress._replace(attempts=(*progress.attempts, attempt))
                    yield progress
            yield await task

    def _started(
        self, query: Query, preferences: Preferences, context: RequestContext, queue: _Queue
    ) -> asyncio.Task[Resolution]:
        task = asyncio.get_running_loop().create_task(
            self._everyone.resolve(query, preferences, context)
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: queue.put_nowait(None))
        return task
