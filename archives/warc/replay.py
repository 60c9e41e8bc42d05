"""Replay: from the location of a record to the archived response.

A small record is read whole and checked before its first byte is sent. A large one is checked
while it is sent, and the response is aborted if a check fails (R-29).
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeVar

from archives.errors import Misbehaved, place_of
from archives.warc.captures import (
    FileOpener,
    RecordLocation,
    RecordReader,
    open_local,
    read_response,
)
from archives.warc.files import Damaged
from archives.warc.http import HttpHead

_NO_WAIT: Final = getattr(os, "RWF_NOWAIT", None)
"""Makes Linux read from the page cache only, without waiting for a disk (preadv2(2))."""


def cached_bytes(file: str, offset: int, length: int) -> bytes | None:
    """Return bytes of a file if all are in the page cache, or else None.

    Errors are None too: the caller then reads the file in a thread, where they are raised.
    """
    if _NO_WAIT is None:
        return None
    octets = bytearray(length)
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        read = os.preadv(descriptor, [octets], offset, _NO_WAIT)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return bytes(octets) if read == length else None


SMALL: Final = 1024**2
"""Bytes of a payload that is read whole."""
_PIECE: Final = 64 * 1024
_TINY: Final = 32 * 1024
"""Stored bytes. A record up to this size that is in memory is read faster than in a thread."""
_NOT_MODIFIED: Final = 304
_OK: Final = 200
_NO_BODY: Final = frozenset({*range(100, 200), 204, _NOT_MODIFIED})
"""Statuses of responses that have no body (RFC 9112 6.3)."""

T = TypeVar("T")


class UnreadableRecord(Misbehaved):
    """A record that cannot be replayed; `name` is the file name without its folder."""

    def __init__(self, archive: str, location: RecordLocation, why: str) -> None:
        super().__init__(archive, location.url, f"{location.name} at {location.offset}: {why}")
        self.name = location.name
        self.offset = location.offset
        self.reason = why


class OriginalFinder(Protocol):
    """Finds the original record that a revisit refers to."""

    async def original_of(
        self, url: str, digest: str | None, refers_to: tuple[str, str] | None
    ) -> RecordLocation | None: ...


class ArchivedResponse(NamedTuple):
    """An archived response. Its body is *whole*, or read by `chunks`, or was not requested."""

    head: HttpHead
    url: str
    stamp: str
    size: int | None
    """Bytes of the body; None if only reading can tell."""
    whole: bytes | None = None
    reader: "_Chunks | None" = None
    diagnosis: str | None = None
    """What is wrong with the archived Content-Length, if anything is."""

    def chunks(self, start: int = 0, end: int | None = None) -> AsyncGenerator[bytes, None]:
        """Yield the body from *start* to before *end*, then close the file.

        Raises UnreadableRecord. A part that stops before the end is not checked: the digest
        covers the whole payload.
        """
        if self.reader is None:
            return _slice(self.whole or b"", start, end)
        return self.reader.part(start, end)

    async def close(self) -> None:
        """Close the file of a body that is not read."""
        if self.reader is not None:
            await self.reader.close()


class Replayer:
    """Opens the records of one collection."""

    def __init__(
        self,
        archive: str,
        originals: OriginalFinder,
        threads: Executor,
        opener: FileOpener = open_local,
        log: Callable[[str, Exception], None] = lambda _archive, _error: None,
    ) -> None:
        """Open files with *opener*, which is called in *threads* and so may block.

        *log* takes exceptions that no code foresees: they cost one record.
        """
        self._log = log
        self._archive = archive
        self._originals = originals
        self._threads = threads
        self._opener = opener

    async def open(self, location: RecordLocation, *, body: bool = True) -> ArchivedResponse:
        """Return the response at *location*; without *body*, only its head.

        Raises UnreadableRecord.
        """
        record = await self._open(location, body=body)
        if record.revisit is None:
            return self._response(location, record)
        original = await self._originals.original_of(
            location.url, location.digest, record.revisit.refers_to
        )
        if original is None:
            why = "the original of this revisit is not in the collection"
            raise UnreadableRecord(self._archive, location, why)
        repeated = await self._open(original, body=body)
        if repeated.revisit is not None:
            raise UnreadableRecord(self._archive, original, "it is a revisit of a revisit")
        head = record.revisit.head_over(repeated.head)
        return self._response(location, repeated._replace(head=head))

    def _response(self, location: RecordLocation, record: "_OpenRecord") -> ArchivedResponse:
        reader = None
        if record.reader is not None:
            reader = _Chunks(record.reader, lambda read: self._in_thread(location, read))
        head, size, whole = record.head, record.size, record.whole
        return ArchivedResponse(
            head, location.url, location.stamp, size, whole, reader, record.diagnosis
        )

    async def _open(self, location: RecordLocation, *, body: bool) -> "_OpenRecord":
        if self._opener is open_local and 0 < location.length <= _TINY:
            octets = cached_bytes(location.file, location.offset, location.length)
            if octets is not None:
                try:
                    usual = _open_usual(location, octets) if body else None
                    return usual or _open(location, octets, body=body)
                except Exception as error:
                    raise self._unreadable(location, error) from error
        return await self._in_thread(
            location, lambda: _open(location, body=body, opener=self._opener), _close_unused
        )

    def _unreadable(self, location: RecordLocation, error: Exception) -> UnreadableRecord:
        """Return *error* as what a client is told; what no code foresees is logged."""
        if isinstance(error, Damaged):
            why = error.why
        elif isinstance(error, OSError):
            why = f"the file cannot be read: {error.strerror}"
        else:
            self._log(self._archive, error)
            why = f"the record cannot be read: {place_of(error)}"
        return UnreadableRecord(self._archive, location, why)

    async def _in_thread(
        self,
        location: RecordLocation,
        work: Callable[[], T],
        undo: Callable[["Future[T]"], None] = lambda _: None,
    ) -> T:
        future = self._threads.submit(work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            # The thread continues, and its result must be released.
            future.add_done_callback(undo)
            raise
        except Exception as error:
            raise self._unreadable(location, error) from error


@dataclass(frozen=True, slots=True)
class _Revisit:
    """A revisit record: its payload is in another record."""

    response_head: HttpHead | None
    refers_to: tuple[str, str] | None

    def head_over(self, head: HttpHead) -> HttpHead:
        """Return the head of this visit, or that of the original if this visit has none.

        A 304 answered the crawler's conditional request, not that of the current client.
        """
        if self.response_head is None or self.response_head.status == _NOT_MODIFIED:
            return head
        return self.response_head


class _OpenRecord(NamedTuple):
    head: HttpHead
    size: int | None = None
    whole: bytes | None = None
    reader: RecordReader | None = None
    revisit: _Revisit | None = None
    diagnosis: str | None = None


def _open_usual(location: RecordLocation, octets: bytes) -> _OpenRecord | None:
    """Return a response in the usual form; None for all other records."""
    read = read_response(location, octets)
    if read is None or (read[0].status or _OK) in _NO_BODY:
        return None
    return _OpenRecord(read[0], len(read[1]), read[1])


def _open(
    location: RecordLocation,
    octets: bytes | None = None,
    *,
    body: bool,
    opener: FileOpener = open_local,
) -> _OpenRecord:
    reader = RecordReader(location, octets, opener)
    keeps_open = False
    try:
        if reader.record.kind == "revisit":
            return _OpenRecord(reader.head, revisit=_revisit(reader))
        if (reader.head.status or _OK) in _NO_BODY:
            return _OpenRecord(reader.head, 0, b"")
        diagnosis = reader.diagnosis
        if not body:
            return _OpenRecord(reader.head, reader.size, diagnosis=diagnosis)
        if reader.stored <= SMALL:
            whole = _read_whole(reader)
            return _OpenRecord(reader.head, len(whole), whole, diagnosis=diagnosis)
        keeps_open = True
        return _OpenRecord(reader.head, reader.size, reader=reader, diagnosis=diagnosis)
    finally:
        if not keeps_open:
            reader.close()


def _close_unused(future: "Future[_OpenRecord]") -> None:
    if future.cancelled() or future.exception() is not None:
        return
    reader = future.result().reader
    if reader is not None:
        reader.close()


def _revisit(reader: RecordReader) -> _Revisit:
    headers = reader.record.headers
    url = headers.get("warc-refers-to-target-uri")
    date = headers.get("warc-refers-to-date")
    return _Revisit(reader.response_head, (url, date) if url and date else None)


def _read_whole(reader: RecordReader) -> bytes:
    return b"".join(iter(lambda: reader.read(_PIECE), b""))


class _Chunks:
    """The body of a large record, read piece by piece."""

    def __init__(
        self,
        reader: RecordReader,
        in_thread: Callable[[Callable[[], bytes]], Awaitable[bytes]],
    ) -> None:
        self._reader = reader
        self._in_thread = in_thread

    async def part(self, start: int, end: int | None) -> AsyncGenerator[bytes, None]:
        """Yield the body from *start* to before *end*.

        Each piece is held back until the next one was read: once all bytes of Content-Length
        are sent, a client could not notice that the check at the end failed.
        """
        if end is not None and end == self._reader.size:
            end = None
        at, waiting = 0, b""
        try:
            while end is None or at < end:
                piece = await self._in_thread(lambda: self._reader.read(_PIECE))
                if waiting:
                    yield waiting
                if not piece:
                    return
                waiting = piece[max(start - at, 0) : None if end is None else end - at]
                at += len(piece)
            yield waiting
        finally:
            self._reader.close()

    async def close(self) -> None:
        self._reader.close()


async def _slice(whole: bytes, start: int, end: int | None) -> AsyncGenerator[bytes, None]:
    yield whole[start:end]
