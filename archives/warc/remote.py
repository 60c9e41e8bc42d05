"""A file on another machine, read by HTTP ranges as if it were local.

Each response is compared with the requested range and with the responses before it. A server
that ignores ranges, truncates them, or replaces the file meanwhile causes an error, never wrong
bytes. All errors are OSError, like those of a disk.
"""

import asyncio
import concurrent.futures
import errno
import io
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple, Protocol

from archives.errors import ArchiveError
from archives.source import Fetcher, Request

_RANGE: Final = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")
_AHEAD: Final = 1024 * 1024
"""Bytes per request while a long record is read, and the size of its buffer."""
_PARTIAL: Final = 206
_STATUS_ERRORS: Final = {
    200: "the server ignores ranges",
    401: "the server requires credentials",
    403: "the server refuses access",
    404: "there is no such file",
    416: "the file is shorter than the index says",
}


class Piece(NamedTuple):
    """Some bytes of a file, with the file's size and version."""

    octets: bytes
    total: int
    version: str
    """ETag, or else Last-Modified; empty if the server sends neither."""


class RangeReader(Protocol):
    """Reads ranges of files. It blocks, so call it in threads, not in the event loop."""

    def get(self, name: str, start: int, end: int) -> Piece:
        """Return the bytes from *start* to before *end*, or to the end. Raises OSError."""
        ...


def read_error(why: str) -> OSError:
    """Return the error for a remote file that cannot be read."""
    return OSError(errno.EIO, why)


def safe_path(path: str) -> str:
    """Return *path* if it is a plain relative path; raise OSError otherwise."""
    if not path.isprintable() or {"", ".", ".."}.intersection(path.split("/")):
        raise read_error("its name is not a plain relative path")
    return path


def checked_range(
    status: int, headers: Mapping[str, str], octets: bytes, start: int, end: int
) -> Piece:
    """Return *octets* if the response is the requested range; header names in lower case."""
    if status != _PARTIAL:
        raise read_error(_STATUS_ERRORS.get(status, f"the server answers {status}"))
    if headers.get("content-encoding", "identity") != "identity":
        # Offsets would count compressed bytes.
        raise read_error("the server compresses the file although that was refused")
    content_range = _RANGE.fullmatch(headers.get("content-range", ""))
    if content_range is None:
        raise read_error("the server does not say which range it sends")
    first, last, total = map(int, content_range.groups())
    if first != start or last + 1 != min(end, total):
        raise read_error("the server sends another range than requested")
    if len(octets) != last + 1 - first:
        raise read_error("the server sends more or fewer bytes than it says")
    version = headers.get("etag") or headers.get("last-modified") or ""
    return Piece(octets, total, version)


class RemoteFile(io.RawIOBase):
    """The remote file *name* up to *end*; up to its own end if that is None."""

    def __init__(self, ranges: RangeReader, name: str, end: int | None = None) -> None:
        super().__init__()
        self._ranges = ranges
        self._file = name
        self._end = end
        self._at = 0
        self._seen: tuple[int, str] | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_END:
            offset += self._known_end()
        elif whence == io.SEEK_CUR:
            offset += self._at
        self._at = offset
        return offset

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill *buffer* with one request, or up to the end of the file."""
        end = min(self._at + len(buffer), self._known_end())
        if end <= self._at:
            return 0
        octets = self._get(self._at, end).octets
        buffer[: len(octets)] = octets
        self._at += len(octets)
        return len(octets)

    def _known_end(self) -> int:
        if self._end is None:
            self._end = self._get(0, 1).total
        return self._end

    def _get(self, start: int, end: int) -> Piece:
        piece = self._ranges.get(self._file, start, end)
        seen = (piece.total, piece.version)
        if self._seen not in (None, seen):
            raise read_error("the file changed while it was read")
        self._seen = seen
        return piece


def open_remote(
    ranges: RangeReader, name: str, end: int | None = None, ahead: int = _AHEAD
) -> io.BufferedReader:
    """Open a remote file; each request reads *ahead* bytes, and none after *end*."""
    return io.BufferedReader(RemoteFile(ranges, name, end), ahead)


_TIMEOUT: Final = 60.0
"""Seconds for one range of at most a megabyte."""

FileAddress = Callable[[str], Awaitable[str]]
"""Returns the current URL of a file of the collection. Raises OSError."""


class HttpRanges:
    """`RangeReader` for one collection's files over HTTP. Create it in the event loop."""

    def __init__(self, fetch: Fetcher, address: FileAddress) -> None:
        self._fetch = fetch
        self._address = address
        self._loop = asyncio.get_running_loop()
        self._pending: set[concurrent.futures.Future[Piece]] = set()
        self._closed = False

    def close(self) -> None:
        """Cancel the requests that threads wait for, so that the threads end."""
        self._closed = True
        for request in tuple(self._pending):
            request.cancel()

    def get(self, name: str, start: int, end: int) -> Piece:
        """See `RangeReader`; a call from the event loop itself would block forever."""
        request = asyncio.run_coroutine_threadsafe(self._get(name, start, end), self._loop)
        self._pending.add(request)
        if self._closed:
            request.cancel()
        try:
            return request.result(_TIMEOUT)
        except ArchiveError as error:
            # Neither its text nor its cause: both contain the URL, which may be signed.
            raise read_error(error.why) from None
        except (TimeoutError, concurrent.futures.CancelledError):
            request.cancel()
            raise read_error("the server does not answer in time") from None
        finally:
            self._pending.discard(request)

    async def _get(self, name: str, start: int, end: int) -> Piece:
        headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        request = Request("GET", await self._address(name), "memento", headers)
        async with self._fetch(request) as reply:
            octets = bytearray()
            if reply.status == 206:
                async for piece in reply.chunks():
                    octets += piece
                    if len(octets) > end - start:
                        break
            return checked_range(reply.status, reply.headers, bytes(octets), start, end)
