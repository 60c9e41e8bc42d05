"""Sorts a list that is too long for memory: sorted runs in a temporary file, then their merge.

Some archives list the newest first, and a popular page has millions of captures (R17). The file
has no name, so nothing is left behind; everything that touches it happens in threads.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from heapq import merge
from itertools import islice
from operator import itemgetter
from tempfile import TemporaryFile
from typing import IO, Final

import msgspec

from archives.errors import ArchiveError, Misbehaved
from archives.model import Memento

MOST_OCTETS: Final = 512 * 1024**2
"""Two million captures, more than anybody is believed to list, are 300 MB."""
RUN: Final = 50_000
_BLOCK: Final = 500
"""Captures that are read back at once from each run."""
_BATCH: Final = 2_000
_order: Final = itemgetter(0, 1)
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[Memento]).decode


class _Full(Exception):
    """No more may be written."""


async def sorted_on_disk(
    captures: list[Memento],
    batches: AsyncIterator[list[Memento]],
    complaint: Callable[[str], Misbehaved],
    most: int = MOST_OCTETS,
) -> AsyncGenerator[list[Memento], None]:
    """Yield *captures* and those in *batches*, oldest first, by way of *most* octets.

    Where the list breaks off, what came before is yielded first.
    """
    with await asyncio.to_thread(TemporaryFile) as file:
        runs = _Runs(file, most)
        try:
            trouble = await _collect(runs, captures, batches)
        except _Full:
            why = f"lists more than {most} octets of captures out of order"
            raise complaint(why) from None
        ordered = runs.merged()
        while batch := await asyncio.to_thread(_next, ordered):
            yield batch
    if trouble is not None:
        raise trouble


async def _collect(
    runs: "_Runs", captures: list[Memento], batches: AsyncIterator[list[Memento]]
) -> ArchiveError | None:
    """Write everything into runs; return what broke the list off."""
    trouble = None
    try:
        async for batch in batches:
            captures += batch
            if len(captures) >= RUN:
                await asyncio.to_thread(runs.add, captures)
                captures = []
    except ArchiveError as error:
        trouble = error
    await asyncio.to_thread(runs.add, captures)
    return trouble


def _next(ordered: Iterator[Memento]) -> list[Memento]:
    return list(islice(ordered, _BATCH))


class _Runs:
    """Sorted runs in a file, in blocks."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file = file
        self._most = most
        self._runs: list[Sequence[tuple[int, int]]] = []
        """Of each run, where its blocks begin and how long they are."""
        self._end = 0

    def add(self, captures: list[Memento]) -> None:
        """Write one more run. Raises _Full."""
        captures.sort(key=_order)
        places = []
        for start in range(0, len(captures), _BLOCK):
            block = _encode(captures[start : start + _BLOCK])
            if self._end + len(block) > self._most:
                raise _Full
            self._file.write(block)
            places.append((self._end, len(block)))
            self._end += len(block)
        self._runs.append(places)

    def merged(self) -> Iterator[Memento]:
        """Yield all captures, oldest first."""
        return merge(*map(self._run, self._runs), key=_order)

    def _run(self, places: Sequence[tuple[int, int]]) -> Iterator[Memento]:
        for start, length in places:
            self._file.seek(start)
            yield from _decode(self._file.read(length))
