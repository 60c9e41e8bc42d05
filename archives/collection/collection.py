"""A local collection as the server asks it: look-ups in a few threads of its own.

Threads, because a page of the index that is not in memory takes as long as the disk takes, and
nobody else should wait for that.
"""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from archives.collection.database import Foreign, Newer, Outdated
from archives.collection.index import Key, Row
from archives.collection.lookup import BATCH, Lookup
from archives.collection.place import Place
from archives.errors import Unreachable
from archives.moment import Moment

T = TypeVar("T")
_THREADS: Final = 4


class Collection:
    """One collection. Use it as a context manager, which ends its threads.

    Every question raises Unreachable where the index cannot tell: not built yet, being built
    for the first time, damaged. Absence is said only after everything was read once.
    """

    def __init__(self, id: str, path: Path, index: Path | None = None) -> None:  # noqa: A002
        """*path* is the folder or file; *index* where its index is, if not beside it."""
        self.id = id
        self.place = Place.of(path, index)
        self._lookup = Lookup(self.place.index, self.place.root)
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

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.__exit__, None, None, None)

    async def nearest(self, url: str, at: Moment | None) -> Row | None:
        """Return the capture nearest to *at* (None: the newest); None if there is none.

        Inside the interval the very URL goes before its variants, outside only time counts.
        """
        return await self._one(url, partial(self._lookup.nearest, _page(url), at))

    async def at(self, url: str, stamp: str) -> Row | None:
        """Return the capture with exactly these digits, the very URL before its variants."""
        return await self._one(url, partial(self._lookup.at, _page(url), stamp))

    async def original_of(
        self, url: str, digest: str | None, refers_to: tuple[str, str] | None
    ) -> Row | None:
        """Return the record whose payload a revisit repeats.

        *refers_to*: the URL and the date it names, as WARC-Refers-To writes them or as digits.
        """
        question = partial(self._lookup.original_of, _page(url), digest, refers_to)
        return await self._one(url, question)

    async def listed(self, url: str) -> AsyncGenerator[Sequence[Row], None]:
        """Yield every capture in batches, oldest first."""
        page = _page(url)
        after: Key | None = None
        while rows := await self._ask(url, partial(self._lookup.listed, page, after)):
            yield rows
            after = rows[-1].key
            if len(rows) < BATCH:
                break
        await self._end_of_list(url)

    async def ranged(
        self, lower: str, upper: str, after: Key | None = None
    ) -> AsyncGenerator[Sequence[Row], None]:
        """Yield what lies from SURT *lower* to before *upper*, in order of SURT and time.

        *after* is the `key` of the last row somebody has already.
        """
        while rows := await self._ask(lower, partial(self._lookup.ranged, lower, upper, after)):
            yield rows
            after = rows[-1].key
            if len(rows) < BATCH:
                break
        await self._end_of_list(lower)

    async def _one(self, url: str, question: Callable[[], Row | None]) -> Row | None:
        def found() -> Row | None:
            row = question()
            if row is None:
                self._check_complete(url)
            return row

        return await self._ask(url, found)

    async def _end_of_list(self, url: str) -> None:
        await self._ask(url, partial(self._check_complete, url))

    def _check_complete(self, url: str) -> None:
        if not self._lookup.is_complete():
            raise Unreachable(self.id, url, "its first indexing is still under way")

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
        except (Foreign, Newer, Outdated) as error:
            raise Unreachable(self.id, url, f"its index is {error}") from error
        except (OSError, sqlite3.Error) as error:
            why = f"its index cannot be read: {error}; {self.place.command} may mend it"
            raise Unreachable(self.id, url, why) from error


def _page(url: str) -> str:
    return url.partition("#")[0]
