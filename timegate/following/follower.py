"""Queries the archives that are followed, politely, and writes what is new to the file.

Collections of our own are compared by the version of their index, which is cheap, so a new
revision is noticed at once. Another archive is queried about a page at most once in an
interval, however many clients read, however often the server is started, and by one process.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Protocol, Self

from cachetools import LRUCache

from archives.errors import ArchiveError
from timegate.following import Change
from timegate.following.change_file import ChangeFile, Claim
from timegate.following.polling import SourceThrough, read_list
from timegate.resolution.coalescing import Containment

_MOST_AT_ONCE: Final = 16
"""Lists that are read at once."""
_MOST_VERSIONS: Final = 4096
_NEVER: Final = -1.0


class VersionedPages(Protocol):
    """A collection that says when the captures of a page have changed."""

    async def version_of(self, url: str) -> str:
        """Return a text that changes whenever the captures of *url* do. Raises ArchiveError."""
        ...


class Follower:
    """Follows pages. Use it as a context manager, which ends the queries in progress."""

    def __init__(  # noqa: PLR0913, PLR0917 -- what is queried, and how
        self,
        file: ChangeFile,
        sources: SourceThrough,
        containment: Containment,
        own: Mapping[str, VersionedPages],
        every: float | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Query archives that are not *own* after *every* seconds; None for never."""
        self.file = file
        self.own = own
        self.every = every
        self.news = asyncio.Event()
        """Set when there may be changes; then another event takes its place."""
        self._sources = sources
        self._containment = containment
        self._clock = clock
        self._versions: LRUCache[tuple[str, str], str] = LRUCache(_MOST_VERSIONS)
        self._checking = asyncio.Lock()
        self._slots = asyncio.Semaphore(_MOST_AT_ONCE)
        self._tasks: set[asyncio.Task[list[Change]]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def announce(self) -> None:
        """Wake all that wait for `news`."""
        self.news.set()
        self.news = asyncio.Event()

    async def follow(self, page: str) -> None:
        """Follow *page* from now on. Raises sqlite3.Error."""
        await asyncio.to_thread(self.file.follow, page, self._clock())

    async def check_own(self, page: str, archives: Sequence[str]) -> list[Change]:
        """Notice what is new in collections of our own. Raises sqlite3.Error."""
        changes: list[Change] = []
        for archive in archives:
            collection = self.own.get(archive)
            if collection is not None:
                changes += await self._checked(page, archive, collection)
        return changes

    async def start_queries(
        self, page: str, archives: Sequence[str]
    ) -> Sequence[asyncio.Task[list[Change]]]:
        """Query those of *archives* that are due; return the queries, which go on anyway.

        Raises sqlite3.Error.
        """
        if self.every is None:
            return ()
        now = self._clock()
        due = [archive for archive in archives if archive not in self.own]
        started = []
        for archive in due:
            claim = await asyncio.to_thread(
                self.file.claim, page, archive, now - self.every, now
            )
            if claim is not None:
                task = asyncio.get_running_loop().create_task(
                    self._queried(claim), name=f"changes in {archive}"
                )
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                started.append(task)
        return started

    async def _checked(
        self, page: str, archive: str, collection: VersionedPages
    ) -> list[Change]:
        # One after the other: a check that began before a write does not count for it.
        async with self._checking:
            try:
                # Before the list: what is added in between is read once more, and is known.
                version = await collection.version_of(page)
            except ArchiveError as error:
                version = f"not known: {error.why}"
            if self._versions.get((page, archive)) == version:
                return []
            now = self._clock()
            claim = await asyncio.to_thread(self.file.claim, page, archive, now, now)
            changes = [] if claim is None else await self._queried(claim)
            self._versions[page, archive] = version
            return changes

    async def _queried(self, claim: Claim) -> list[Change]:
        """Read the list of one archive, and write what is new."""
        file = self.file
        try:
            async with self._slots:
                found = await read_list(
                    self._sources, claim.archive, claim.page, claim.version, self._containment
                )
        except ArchiveError as error:
            # The state says so; the next query is due after the usual time.
            with suppress(sqlite3.Error):
                await asyncio.to_thread(file.note_trouble, claim, error.why)
            return []
        now = self._clock()
        if found is None:
            await asyncio.to_thread(file.note_unchanged, claim, now)
            return []
        changes = await asyncio.to_thread(file.note, claim, found.captures, found.version, now)
        if changes:
            self.announce()
        return changes
