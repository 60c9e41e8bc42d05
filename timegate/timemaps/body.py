"""The body of a TimeMap, written while the lists are merged.

A TimeMap that turns out to be incomplete after its beginning was sent must not look complete:
either its end says so, where the format has room for it, or the end is missing (R-21).
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Final

from archives.errors import ArchiveError
from archives.model import Memento
from timegate.timemaps.formats import Ends, TimeMapWriter
from timegate.timemaps.merge import MOST_ITEMS, Merge

_SLICE: Final = 2_000
"""Captures written at once: some 4 ms, in which no other request is served."""


async def written(
    writer: TimeMapWriter, merge: Merge, ends: Ends
) -> AsyncGenerator[bytes, None]:
    """Yield the TimeMap. Raises ArchiveError where it is incomplete and cannot say so."""
    body = _merged(writer, merge, ends)
    if merge.is_whole:
        # All captures are here, so all is written at once: captures take three times as much
        # memory as their text, and need not wait for a client that reads slowly.
        pieces = deque([part async for part in body])
        while pieces:
            yield pieces.popleft()
        return
    async with aclosing(body):
        async for part in body:
            yield part


async def _merged(
    writer: TimeMapWriter, merge: Merge, ends: Ends
) -> AsyncGenerator[bytes, None]:
    announced = frozenset(merge.failures)
    yield writer.head(ends).encode()
    pending = _OneBehind(writer)
    async with aclosing(merge.blocks()) as blocks:
        async for block in blocks:
            for part in _slices(block):
                text = pending.advance(part)
                if text:
                    yield text.encode()
                await asyncio.sleep(0)
            _check(writer, merge, announced)
    _check(writer, merge, announced)
    whole, text = pending.end()
    yield (text + writer.tail(whole, merge_summary(merge))).encode()


class _OneBehind:
    """Holds back one capture: whether it is the last is known only when another comes."""

    def __init__(self, writer: TimeMapWriter) -> None:
        self._writer = writer
        self._held: list[Memento] = []
        self._first: Memento | None = None

    def advance(self, captures: Sequence[Memento]) -> str:
        """Return the text of all captures so far that are not the last."""
        ready = [*self._held, *captures]
        self._held = [ready.pop()]
        if not ready:
            return ""
        lead = ""
        if self._first is None:
            self._first = ready.pop(0)
            lead = self._writer.marked(self._first, "first")
        return lead + self._writer.plain(ready)

    def end(self) -> tuple[Ends, str]:
        """Return the first capture and the last, and the text of the last."""
        (last,) = self._held
        if self._first is None:
            return Ends(last, last), self._writer.marked(last, "first last")
        return Ends(self._first, last), self._writer.marked(last, "last")


def merge_summary(merge: Merge) -> Mapping[str, object]:
    """Return the summary of a merge that has ended, in types that JSON has."""
    missing = {archive: why.why[:300] for archive, why in sorted(merge.failures.items())}
    return {
        "sources": "partial" if missing or merge.cut_short else "complete",
        "count": merge.sent,
        "asked": list(merge.asked),
        "missing": missing,
        "truncated": merge.cut_short,
    }


def _slices(block: list[Memento]) -> Iterator[list[Memento]]:
    for start in range(0, len(block), _SLICE):
        yield block[start : start + _SLICE]


def _check(writer: TimeMapWriter, merge: Merge, announced: frozenset[str]) -> None:
    if writer.tells_failures:
        return
    for archive, error in merge.failures.items():
        if archive not in announced:
            raise error
    if merge.cut_short:
        raise ArchiveError("all archives", "", f"list more than {MOST_ITEMS} captures")
