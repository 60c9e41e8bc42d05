"""From a row of an index to the archived answer it stands for.

What is small is read whole and checked before the first octet goes out; what is large is
checked while it goes out, and ends abnormally where it is not what it says (R29).
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeVar

from archives.errors import Misbehaved
from archives.warc.captures import FileOpener, RecordLocation, RecordReader, open_local
from archives.warc.files import Damaged
from archives.warc.http import HttpHead

_NOW: Final = getattr(os, "RWF_NOWAIT", None)
"""Linux reads what the page cache has, and refuses to wait for a disk (preadv2(2))."""


def cached_bytes(file: str, offset: int, length: int) -> bytes | None:
    """Return the octets; None where they are not all in memory, or nobody can tell.

    Whoever gets None reads the file in a thread, and learns there what is the matter with it.
    """
    if _NOW is None:
        return None
    octets = bytearray(length)
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        read = os.preadv(descriptor, [octets], offset, _NOW)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return bytes(octets) if read == length else None


SMALL: Final = 1024**2
_PIECE: Final = 64 * 1024
_LITTLE: Final = 32 * 1024
"""Octets as stored. What is no larger, and in memory, takes less time than a thread does."""
_NOT_MODIFIED: Final = 304
_OK: Final = 200
_NO_BODY: Final = frozenset({*range(100, 200), 204, _NOT_MODIFIED})
"""Statuses behind which nothing can stand (RFC 9112 6.3)."""

T = TypeVar("T")


class UnreadableRecord(Misbehaved):
    """A record that cannot be replayed; *name* is the file's, without its folder."""

    def __init__(self, archive: str, place: RecordLocation, why: str) -> None:
        super().__init__(archive, place.url, f"{place.name} at {place.offset}: {why}")
        self.name = place.name
        self.offset = place.offset
        self.reason = why


class OriginalFinder(Protocol):
    """Finds the record whose payload a revisit repeats."""

    async def original_of(
        self, url: str, digest: str | None, refers_to: tuple[str, str] | None
    ) -> RecordLocation | None: ...


@dataclass(frozen=True, slots=True)
class ArchivedResponse:
    """An archived answer. Either it is *whole*, or `chunks` reads it, or nobody wants it."""

    head: HttpHead
    url: str
    stamp: str
    size: int | None
    """Octets of the body; None where only reading can tell."""
    whole: bytes | None = None
    reading: "_Chunks | None" = None

    def chunks(self, start: int = 0, end: int | None = None) -> AsyncGenerator[bytes, None]:
        """Yield the body from *start* to before *end*, and let go of the file.

        Raises Unreadable. A part that stops before the end is not checked: the digest is one
        of the whole.
        """
        if self.reading is None:
            return _sliced(self.whole or b"", start, end)
        return self.reading.part(start, end)

    async def close(self) -> None:
        """Let go of the file, if nobody reads it."""
        if self.reading is not None:
            await self.reading.close()


class Replayer:
    """Opens the records of one collection."""

    def __init__(
        self,
        archive: str,
        originals: OriginalFinder,
        threads: Executor,
        opening: FileOpener = open_local,
    ) -> None:
        """Read files through *opening*, which is called in *threads* and so may wait."""
        self._archive = archive
        self._originals = originals
        self._threads = threads
        self._opening = opening

    async def open(self, place: RecordLocation, *, body: bool = True) -> ArchivedResponse:
        """Return what was archived at *place*; without *body*, its head. Raises Unreadable."""
        opened = await self._opened(place, body=body)
        if opened.revisit is None:
            return self._archived(place, opened)
        original = await self._originals.original_of(
            place.url, place.digest, opened.revisit.refers_to
        )
        if original is None:
            why = "the original of this revisit is not in the collection"
            raise UnreadableRecord(self._archive, place, why)
        repeated = await self._opened(original, body=body)
        if repeated.revisit is not None:
            raise UnreadableRecord(self._archive, original, "a revisit of a revisit")
        return self._archived(place, replace(repeated, head=opened.revisit.over(repeated.head)))

    def _archived(self, place: RecordLocation, opened: "_Opened") -> ArchivedResponse:
        reading = None
        if opened.reading is not None:
            reading = _Chunks(opened.reading, lambda read: self._in_thread(place, read))
        head, size, whole = opened.head, opened.size, opened.whole
        return ArchivedResponse(head, place.url, place.stamp, size, whole, reading)

    async def _opened(self, place: RecordLocation, *, body: bool) -> "_Opened":
        if self._opening is open_local and 0 < place.length <= _LITTLE:
            octets = cached_bytes(place.file, place.offset, place.length)
            if octets is not None:
                with self._translated(place):
                    return _opened(place, octets, body=body)
        return await self._in_thread(
            place, lambda: _opened(place, body=body, opening=self._opening), _let_go
        )

    @contextmanager
    def _translated(self, place: RecordLocation) -> Iterator[None]:
        try:
            yield
        except Damaged as damaged:
            raise UnreadableRecord(self._archive, place, damaged.why) from damaged
        except OSError as error:
            why = f"the file cannot be read: {error.strerror}"
            raise UnreadableRecord(self._archive, place, why) from error

    async def _in_thread(
        self,
        place: RecordLocation,
        work: Callable[[], T],
        undo: Callable[["Future[T]"], None] = lambda _: None,
    ) -> T:
        doing = self._threads.submit(work)
        try:
            with self._translated(place):
                return await asyncio.wrap_future(doing)
        except asyncio.CancelledError:
            # The thread goes on, and nobody is there any more to take what it brings.
            doing.add_done_callback(undo)
            raise


@dataclass(frozen=True, slots=True)
class _Revisit:
    """A record that has its payload elsewhere."""

    own_head: HttpHead | None
    refers_to: tuple[str, str] | None

    def over(self, head: HttpHead) -> HttpHead:
        """Return the head of this visit; that of the original where this one has none.

        A 304 answered the crawler's question, not that of whoever visits now.
        """
        if self.own_head is None or self.own_head.status == _NOT_MODIFIED:
            return head
        return self.own_head


@dataclass(frozen=True, slots=True)
class _Opened:
    head: HttpHead
    size: int | None = None
    whole: bytes | None = None
    reading: RecordReader | None = None
    revisit: _Revisit | None = None


def _opened(
    place: RecordLocation,
    octets: bytes | None = None,
    *,
    body: bool,
    opening: FileOpener = open_local,
) -> _Opened:
    reading = RecordReader(place, octets, opening)
    keeps_open = False
    try:
        if reading.record.kind == "revisit":
            return _Opened(reading.head, revisit=_revisit(reading))
        if (reading.head.status or _OK) in _NO_BODY:
            return _Opened(reading.head, 0, b"")
        if not body:
            return _Opened(reading.head, reading.size)
        if reading.stored <= SMALL:
            whole = _read_whole(reading)
            return _Opened(reading.head, len(whole), whole)
        keeps_open = True
        return _Opened(reading.head, reading.size, reading=reading)
    finally:
        if not keeps_open:
            reading.close()


def _let_go(opening: "Future[_Opened]") -> None:
    if opening.cancelled() or opening.exception() is not None:
        return
    reading = opening.result().reading
    if reading is not None:
        reading.close()


def _revisit(reading: RecordReader) -> _Revisit:
    headers = reading.record.headers
    url = headers.get("warc-refers-to-target-uri")
    date = headers.get("warc-refers-to-date")
    return _Revisit(reading.own_head, (url, date) if url and date else None)


def _read_whole(reading: RecordReader) -> bytes:
    return b"".join(iter(lambda: reading.read(_PIECE), b""))


class _Chunks:
    """The body of a large record, a piece at a time."""

    def __init__(
        self,
        reading: RecordReader,
        in_thread: Callable[[Callable[[], bytes]], Awaitable[bytes]],
    ) -> None:
        self._reading = reading
        self._in_thread = in_thread

    async def part(self, start: int, end: int | None) -> AsyncGenerator[bytes, None]:
        """Yield what lies between.

        A piece waits until the next one was read: with a length that was promised and is
        reached, nobody would notice that the end is an error.
        """
        if end is not None and end == self._reading.size:
            end = None
        at, waiting = 0, b""
        try:
            while end is None or at < end:
                piece = await self._in_thread(lambda: self._reading.read(_PIECE))
                if waiting:
                    yield waiting
                if not piece:
                    return
                waiting = piece[max(start - at, 0) : None if end is None else end - at]
                at += len(piece)
            yield waiting
        finally:
            self._reading.close()

    async def close(self) -> None:
        self._reading.close()


async def _sliced(whole: bytes, start: int, end: int | None) -> AsyncGenerator[bytes, None]:
    yield whole[start:end]
