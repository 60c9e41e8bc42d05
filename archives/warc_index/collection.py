"""A local collection as the server asks it.

A look-up takes some 30 microseconds where the index is in memory, which it mostly is, and a
hop into a thread and back takes twice that. So it is done in the loop, until one has waited for
the disk: then threads do it for a while, and nobody else waits. Lists are for threads always.
"""

import asyncio
import math
import resource
import sqlite3
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from archives.errors import Unreachable
from archives.moment import Moment
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
_PATIENCE: Final = 5.0
_SWIFT: Final = 0.02
"""Seconds: a look-up that took longer, and has waited, has held up everybody else."""
_WHOSE: Final = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
_REST: Final = 5.0
"""Seconds for which threads look up after that."""


class Collection:
    """One collection. Use it as a context manager, which ends its threads.

    Every question raises Unreachable where the index cannot tell: not built yet, being built
    for the first time, damaged. Absence is said only after everything was read once.
    """

    def __init__(
        self,
        id: str,  # noqa: A002 -- what the registry calls it
        path: Path | RemoteFiles,
        index: Path | None = None,
        clock: Callable[[], float] = time.perf_counter,
        waits: Callable[[], int] | None = None,
    ) -> None:
        """*path* is the folder or file; *index* where its index is, if not beside it.

        Of files elsewhere the address says where the index is.
        """
        self.id = id
        self.place = path if isinstance(path, RemoteFiles) else LocalFiles.of(path, index)
        self._lookup = Lookup(self.place.index, self.place.root, _PATIENCE)
        self._swift = Lookup(self.place.index, self.place.root, 0.0)
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
        self._lookup.close()
        self._swift.close()

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

        Inside the interval the very URL goes before its variants, outside only time counts.
        """
        return await self._one(url, lambda lookup: lookup.nearest(_page(url), at))

    async def at(self, url: str, stamp: str) -> IndexRow | None:
        """Return the capture with exactly these digits, the very URL before its variants."""
        return await self._one(url, lambda lookup: lookup.at(_page(url), stamp))

    async def nearest_with_neighbours(self, url: str, at: Moment | None) -> Sequence[IndexRow]:
        """Return the nearest, then the first, those before and after it, and the last."""
        return (
            await self._one(
                url, lambda lookup: lookup.nearest_with_neighbours(_page(url), at) or None
            )
            or ()
        )

    async def original_of(
        self, url: str, digest: str | None, refers_to: tuple[str, str] | None
    ) -> IndexRow | None:
        """Return the record whose payload a revisit repeats.

        *refers_to*: the URL and the date it names, as WARC-Refers-To writes them or as digits.
        """
        return await self._one(
            url, lambda lookup: lookup.original_of(_page(url), digest, refers_to)
        )

    async def captures_of(self, url: str) -> AsyncGenerator[Sequence[IndexRow], None]:
        """Yield every capture in batches, oldest first."""
        page = _page(url)
        after: Key | None = None
        while rows := await self._ask(url, partial(self._lookup.captures_of, page, after)):
            yield rows
            after = rows[-1].key
            if len(rows) < BATCH:
                break
        await self._end_of_list(url)

    async def captures_between(
        self, lower: str, upper: str, after: Key | None = None
    ) -> AsyncGenerator[Sequence[IndexRow], None]:
        """Yield what lies from SURT *lower* to before *upper*, in order of SURT and time.

        *after* is the `key` of the last row somebody has already.
        """
        while rows := await self._ask(
            lower, partial(self._lookup.captures_between, lower, upper, after)
        ):
            yield rows
            after = rows[-1].key
            if len(rows) < BATCH:
                break
        await self._end_of_list(lower)

    async def _one(self, url: str, question: Callable[[Lookup], T | None]) -> T | None:
        return await self._swiftly(url, partial(self._answer, url, question))

    async def _swiftly(self, url: str, question: Callable[[Lookup], T]) -> T:
        """Ask in the loop while memory answers, otherwise in a thread."""
        began = self._clock()
        if began >= self._slow_until:
            waits = self._waits()
            try:
                return question(self._swift)
            except (OSError, sqlite3.Error, ForeignIndex, NewerIndex, OutdatedIndex):
                self._slow_until = began + _REST  # and the threads tell what is the matter
            finally:
                if self._clock() - began > _SWIFT and self._waits() > waits:
                    self._slow_until = began + _REST
        return await self._ask(url, partial(question, self._lookup))

    def _answer(
        self, url: str, question: Callable[[Lookup], T | None], lookup: Lookup
    ) -> T | None:
        found = question(lookup)
        if found is None:
            self._check_complete(lookup, url)
        return found

    async def _end_of_list(self, url: str) -> None:
        await self._ask(url, partial(self._check_complete, self._lookup, url))

    def _check_complete(self, lookup: Lookup, url: str) -> None:
        if not lookup.is_complete():
            raise Unreachable(self.id, url, "its first indexing is not complete")

    async def _ask(self, url: str, question: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._translated, url, question)

    def _translated(self, url: str, question: Callable[[], T]) -> T:
        """Run *question*; what goes wrong means that we do not know."""
        try:
            return question()
        except FileNotFoundError:
            why = f"not indexed yet: run {self.place.command}"
            raise Unreachable(self.id, url, why) from None
        except (ForeignIndex, NewerIndex, OutdatedIndex) as error:
            raise Unreachable(self.id, url, f"its index is {error}") from error
        except (OSError, sqlite3.Error) as error:
            why = f"its index cannot be read: {error}; {self.place.command} may mend it"
            raise Unreachable(self.id, url, why) from error


def _voluntary_switches() -> int:
    """Return how often this thread has waited for something.

    A disk makes it wait; a busy processor takes its turn away, which is counted apart, and is
    no reason to use threads. Where threads are not counted (macOS), all of the process is.
    """
    return resource.getrusage(_WHOSE).ru_nvcsw


def _page(url: str) -> str:
    return url.partition("#")[0]


PAUSE: Final = 5.0
"""Seconds between two looks."""
_MOST_TOLD: Final = 8 * 1024
_GRACE: Final = 5.0

Pause = Callable[[float], Awaitable[None]]
Child = Callable[[LocalFiles], Awaitable[tuple[int, str]]]
"""Indexes a collection; returns the exit code, and what was complained about."""


async def index_in_subprocess(place: LocalFiles) -> tuple[int, str]:
    """Index in a process of its own, which ends with us."""
    command = ("-m", "archives.warc_index", str(place.path), str(place.index))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, told = await process.communicate()
    except asyncio.CancelledError:
        process.terminate()
        await asyncio.wait_for(process.wait(), _GRACE)
        raise
    return process.returncode or 0, told[:_MOST_TOLD].decode(errors="replace").strip()


class IndexUpdater:
    """Keeps the index of one collection. `run` it until it is cancelled."""

    def __init__(
        self,
        place: LocalFiles,
        tell: Callable[[str], None],
        *,
        child: Child = index_in_subprocess,
        pause: Pause = asyncio.sleep,
        every: float = PAUSE,
    ) -> None:
        """*tell* takes what the operator should know."""
        self._place = place
        self._tell = tell
        self._child = child
        self._pause = pause
        self._every = every
        self._told = ""
        self._before: FolderContents | None = None
        self._indexed: FolderContents | None = None

    async def run(self) -> None:
        """Look, wait, look again."""
        with ExitStack() as held:
            while not self._is_keeper(held):
                await self._pause(self._every)
            await self._index(await self._look())
            while True:
                await self._pause(self._every)
                await self._keep()

    def _is_keeper(self, held: ExitStack) -> bool:
        try:
            self._place.index.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(exclusive_lock(self._place.index, "keeper"))
        except IndexInUse:
            return False
        except OSError as error:
            self._say(
                f"{self._place.index} cannot be written ({error.strerror}): "
                "set index to another place, or leave the indexing to timegate index"
            )
            return False
        return True

    async def _keep(self) -> None:
        """Index if something is new, and was the same when we looked before."""
        look = await self._look()
        steady = look == self._before
        self._before = look
        if look is not None and steady and look != self._indexed:
            await self._index(look)

    async def _look(self) -> FolderContents | None:
        """Return what is there; None where it cannot be listed: then nothing is concluded."""
        try:
            look = await asyncio.to_thread(files_in, self._place, lambda *_: None)
        except OSError as error:
            self._say(f"{self._place.path} cannot be listed: {error.strerror}")
            return None
        if not look.files and self._indexed is not None and self._indexed.files:
            # An index made of it would say that there never was anything.
            self._say(f"{self._place.path} is empty, and was not: is it mounted?")
            return None
        return look

    async def _index(self, look: FolderContents | None) -> None:
        if look is None:
            return
        code, told = await self._child(self._place)
        if told:
            self._say(told)
        # Whatever came of it: to try the same again would bring the same.
        if code >= 0:
            self._indexed = look

    def _say(self, what: str) -> None:
        """Tell it once, not every few seconds."""
        if what != self._told:
            self._told = what
            self._tell(what)
