"""A collection of the server: asynchronous queries to its index, and updating the index.

A query takes some 30 microseconds if the index is in memory, as it usually is, and handing it
to a thread takes twice that. So queries run in the event loop until one has waited for the
disk; then they run in threads for a while. Listings always run in threads.
"""

import asyncio
import math
import os
import resource
import sqlite3
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, aclosing, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from archives.errors import Unreachable
from archives.moment import Moment
from archives.source import ALL, WantedCaptures
from archives.warc_index.database import (
    ForeignIndex,
    IndexInUse,
    NewerIndex,
    OutdatedIndex,
    exclusive_lock,
)
from archives.warc_index.files import files_in
from archives.warc_index.lookup import BATCH, Lookup
from archives.warc_index.model import FolderContents, IndexRow, Key, LocalFiles, RemoteFiles

T = TypeVar("T")
_THREADS: Final = 4
_BUSY_TIMEOUT: Final = 5.0
_SLOW: Final = 0.02
"""Seconds; a query that took longer and has waited for the disk has blocked the loop."""
_RUSAGE_SCOPE: Final = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
_THREADS_ONLY: Final = 5.0
"""Seconds for which queries run in threads after that."""


class Collection:
    """The index of one collection. Use it as a context manager, which ends its threads.

    Every query raises Unreachable if the index cannot answer: it is not built yet, or being
    built for the first time, or damaged. Absence is reported only once all files were read.
    """

    def __init__(
        self,
        id: str,  # noqa: A002 -- the registry's name for it
        path: Path | RemoteFiles,
        index: Path | None = None,
        clock: Callable[[], float] = time.perf_counter,
        waits: Callable[[], int] | None = None,
    ) -> None:
        """Open the folder, file or remote files at *path*.

        *index* is the index file of local files, if it is not at the default location.
        """
        self.id = id
        self.place = path if isinstance(path, RemoteFiles) else LocalFiles.of(path, index)
        self._thread_lookup = Lookup(self.place.index, self.place.root, _BUSY_TIMEOUT)
        self._loop_lookup = Lookup(self.place.index, self.place.root, 0.0)
        self._clock = clock
        self._waits = waits or _voluntary_switches
        self._slow_until = -math.inf
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix=f"collection-{id}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._threads.shutdown(cancel_futures=True)
        self._thread_lookup.close()
        self._loop_lookup.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.__exit__, None, None, None)

    async def nearest(self, url: str, at: Moment | None) -> IndexRow | None:
        """Return the capture nearest to *at* (None: the newest); None if there is none.

        Inside the interval of *at* the exact URL wins over its variants; outside it only time
        counts.
        """
        return await self._query_one(url, lambda lookup: lookup.nearest(_page(url), at))

    async def at(self, url: str, stamp: str) -> IndexRow | None:
        """Return the capture at exactly *stamp*, preferring the exact URL to its variants."""
        return await self._query_one(url, lambda lookup: lookup.at(_page(url), stamp))

    async def newest_spelled(self, url: str) -> IndexRow | None:
        """Return the newest capture of exactly *url*, without its variants."""
        return await self._query_one(url, lambda lookup: lookup.newest_spelled(_page(url)))

    async def nearest_with_neighbours(self, url: str, at: Moment | None) -> Sequence[IndexRow]:
        """Return the nearest capture, then the first, its two neighbours, and the last."""

        def query(lookup: Lookup) -> Sequence[IndexRow] | None:
            return lookup.nearest_with_neighbours(_page(url), at) or None

        return await self._query_one(url, query) or ()

    async def original_of(
        self, url: str, digest: str | None, refers_to: tuple[str, str] | None
    ) -> IndexRow | None:
        """Return the original of a revisit.

        *refers_to* holds its WARC-Refers-To-Target-URI and -Date, the date perhaps as digits.
        """
        return await self._query_one(
            url, lambda lookup: lookup.original_of(_page(url), digest, refers_to)
        )

    async def version_of(self, url: str) -> str:
        """Return a text that changes whenever the captures of *url* do."""
        lookup = self._thread_lookup
        return await self._query_in_thread(url, partial(lookup.version_of, _page(url)))

    def changed_at(self) -> float | None:
        """Return a Unix time since which the index has not changed; None if there is none."""
        index = str(self.place.index)
        times = [_modified(index), _modified(f"{index}-wal")]
        return max((time for time in times if time is not None), default=None)

    async def captures_of(
        self, url: str, wanted: WantedCaptures | None = None
    ) -> AsyncGenerator[Sequence[IndexRow], None]:
        """Yield every capture, or at least those *wanted*, in batches, oldest first."""
        page, lookup = _page(url), self._thread_lookup
        wanted = wanted or ALL
        excerpt = None
        if wanted.is_short:
            excerpt = await self._query_in_thread(url, partial(lookup.excerpt, page, wanted))
        if excerpt is not None:
            yield excerpt
        else:
            async with aclosing(self._pages(url, wanted)) as batches:
                async for rows in batches:
                    yield rows
        await self._end_of_list(url)

    async def _pages(
        self, url: str, wanted: WantedCaptures
    ) -> AsyncGenerator[Sequence[IndexRow], None]:
        lookup, page = self._thread_lookup, _page(url)
        after: Key | None = None
        while rows := await self._query_in_thread(
            url, partial(lookup.captures_of, page, after, wanted)
        ):
            yield rows
            after = rows[-1].key
            if len(rows) < BATCH:
                return

    async def captures_between(
        self, lower: str, upper: str, after: Key | None = None
    ) -> AsyncGenerator[Sequence[IndexRow], None]:
        """Yield the captures from SURT *lower* to before *upper*, in order of SURT and time.

        *after* is the `key` of the row after which the listing continues.
        """
        while rows := await self._query_in_thread(
            lower, partial(self._thread_lookup.captures_between, lower, upper, after)
        ):
            yield rows
            after = rows[-1].key
            if len(rows) < BATCH:
                break
        await self._end_of_list(lower)

    async def _query_one(self, url: str, query: Callable[[Lookup], T | None]) -> T | None:
        """Run *query* in the event loop, or in a thread if queries have to wait."""
        started = self._clock()
        if started >= self._slow_until:
            waits = self._waits()
            try:
                return self._answer_or_raise(url, query, self._loop_lookup)
            except (OSError, sqlite3.Error, ForeignIndex, NewerIndex, OutdatedIndex):
                self._slow_until = (
                    started + _THREADS_ONLY
                )  # the query in a thread raises it again
            finally:
                if self._clock() - started > _SLOW and self._waits() > waits:
                    self._slow_until = started + _THREADS_ONLY
        return await self._query_in_thread(
            url, partial(self._answer_or_raise, url, query, self._thread_lookup)
        )

    def _answer_or_raise(
        self, url: str, query: Callable[[Lookup], T | None], lookup: Lookup
    ) -> T | None:
        answer = query(lookup)
        if answer is None:
            self._check_complete(lookup, url)
        return answer

    async def _end_of_list(self, url: str) -> None:
        await self._query_in_thread(
            url, partial(self._check_complete, self._thread_lookup, url)
        )

    def _check_complete(self, lookup: Lookup, url: str) -> None:
        if not lookup.is_complete():
            raise Unreachable(self.id, url, "its first indexing is not complete yet")

    async def _query_in_thread(self, url: str, query: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._run, url, query)

    def _run(self, url: str, query: Callable[[], T]) -> T:
        """Run *query*; errors of the index become Unreachable."""
        try:
            return query()
        except FileNotFoundError:
            why = f"not indexed yet: run {self.place.command}"
            raise Unreachable(self.id, url, why) from None
        except (ForeignIndex, NewerIndex, OutdatedIndex) as error:
            raise Unreachable(self.id, url, f"its index is {error}") from error
        except (OSError, sqlite3.Error) as error:
            why = f"its index cannot be read: {error}; {self.place.command} may repair it"
            raise Unreachable(self.id, url, why) from error


def _voluntary_switches() -> int:
    """Return how often this thread has waited, for example for a disk.

    Preemption on a busy processor is counted separately, and is no reason to use threads. On
    systems that do not count per thread (macOS), this is the count of the whole process.
    """
    return resource.getrusage(_RUSAGE_SCOPE).ru_nvcsw


def _modified(path: str) -> float | None:
    try:
        return os.stat(path).st_mtime  # noqa: PTH116 -- for each request
    except OSError:
        return None


def _page(url: str) -> str:
    return url.partition("#")[0]


INTERVAL: Final = 5.0
"""Seconds between two listings of a folder."""
_MAX_OUTPUT: Final = 8 * 1024
_EXIT_TIMEOUT: Final = 5.0

Pause = Callable[[float], Awaitable[None]]
Indexer = Callable[[LocalFiles], Awaitable[tuple[int, str]]]
"""Indexes a collection; returns the exit code and the error output."""


async def index_in_subprocess(place: LocalFiles) -> tuple[int, str]:
    """Run ``python -m archives.warc_index``; cancelling ends the subprocess."""
    command = ("-m", "archives.warc_index", str(place.path), str(place.index))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, output = await process.communicate()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):  # it has just ended, or was ended with this process
            process.terminate()
        await asyncio.wait_for(process.wait(), _EXIT_TIMEOUT)
        raise
    return process.returncode or 0, output[:_MAX_OUTPUT].decode(errors="replace").strip()


class IndexUpdater:
    """Keeps the index of one collection up to date. `run` runs until it is cancelled."""

    def __init__(
        self,
        place: LocalFiles,
        log: Callable[[str], None],
        *,
        indexer: Indexer = index_in_subprocess,
        pause: Pause = asyncio.sleep,
        interval: float = INTERVAL,
    ) -> None:
        """Update the index of *place*; messages for the operator go to *log*."""
        self._place = place
        self._log = log
        self._indexer = indexer
        self._pause = pause
        self._interval = interval
        self._last_message = ""
        self._previous: FolderContents | None = None
        self._indexed: FolderContents | None = None

    async def run(self) -> None:
        """Index once, then whenever files have changed; waits while another process does."""
        with ExitStack() as locks:
            while not self._acquire_lock(locks):
                await self._pause(self._interval)
            await self._index(await self._list_files())
            while True:
                await self._pause(self._interval)
                await self._update()

    def _acquire_lock(self, locks: ExitStack) -> bool:
        try:
            self._place.index.parent.mkdir(parents=True, exist_ok=True)
            locks.enter_context(exclusive_lock(self._place.index, "keeper"))
        except IndexInUse:
            return False
        except OSError as error:
            self._log_once(
                f"{self._place.index} cannot be written ({error.strerror}): "
                "set index to another place, or index it with timegate index"
            )
            return False
        return True

    async def _update(self) -> None:
        """Index if the files have changed, and were the same in the last two listings."""
        listing = await self._list_files()
        unchanged = listing == self._previous
        self._previous = listing
        if listing is not None and unchanged and listing != self._indexed:
            await self._index(listing)

    async def _list_files(self) -> FolderContents | None:
        """Return the files; None if they cannot be listed, so that the index stays as it is."""
        try:
            listing = await asyncio.to_thread(files_in, self._place, lambda *_: None)
        except OSError as error:
            self._log_once(f"{self._place.path} cannot be listed: {error.strerror}")
            return None
        if not listing.files and self._indexed is not None and self._indexed.files:
            # Indexing it would remove all captures.
            self._log_once(f"{self._place.path} is empty, but was not before: is it mounted?")
            return None
        return listing

    async def _index(self, listing: FolderContents | None) -> None:
        if listing is None:
            return
        code, output = await self._indexer(self._place)
        if output:
            self._log_once(output)
        # Also after a failure: indexing the same files again would fail again.
        if code >= 0:
            self._indexed = listing

    def _log_once(self, message: str) -> None:
        """Log *message* unless it is the same as the last one."""
        if message != self._last_message:
            self._last_message = message
            self._log(message)
