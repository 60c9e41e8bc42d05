"""A file that lies on another machine, read by ranges as if it lay here.

What a server says is compared, range by range, with what was asked and with what it said
before: one that ignores ranges, cuts them short, or puts another file in the place of the
first is an error, never other octets. Everything is raised as OSError, as from a disk.
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
"""Octets of one request while a long record is read; also what is held of it."""
_PARTIAL: Final = 206
_TOLD: Final = {
    200: "the server ignores ranges",
    401: "the server wants credentials",
    403: "the server refuses",
    404: "there is no such file",
    416: "it is shorter than the index says",
}


class Piece(NamedTuple):
    """Some octets of a file, how many it has in all, and which state of it they are from."""

    octets: bytes
    total: int
    version: str
    """ETag, or else Last-Modified; empty where the server tells neither."""


class RangeReader(Protocol):
    """Where ranges come from. Asked in threads, not in the loop."""

    def get(self, name: str, start: int, end: int) -> Piece:
        """Return what stands from *start* to before *end*, or to the end. Raises OSError."""
        ...


def read_error(why: str) -> OSError:
    """Return what is raised where a file elsewhere cannot be read."""
    return OSError(errno.EIO, why)


def safe_path(path: str) -> str:
    """Return *path* if it leads to a file below where it begins, and nowhere else."""
    if not path.isprintable() or {"", ".", ".."}.intersection(path.split("/")):
        raise read_error("its name leads elsewhere")
    return path


def checked_range(
    status: int, headers: Mapping[str, str], octets: bytes, start: int, end: int
) -> Piece:
    """Return *octets* if the answer is the range that was asked for; names in lower case."""
    if status != _PARTIAL:
        raise read_error(_TOLD.get(status, f"the server answers {status}"))
    if headers.get("content-encoding", "identity") != "identity":
        # Offsets would be those of something that was packed on the way.
        raise read_error("the server packs what it was asked to send as it is")
    told = _RANGE.fullmatch(headers.get("content-range", ""))
    if told is None:
        raise read_error("the server does not say which range it sends")
    first, last, total = map(int, told.groups())
    if first != start or last + 1 != min(end, total):
        raise read_error("the server sends another range than was asked for")
    if len(octets) != last + 1 - first:
        raise read_error("the server breaks off in the middle")
    version = headers.get("etag") or headers.get("last-modified") or ""
    return Piece(octets, total, version)


class RemoteFile(io.RawIOBase):
    """The file *name* from its start to *end*; to its own end where that is None."""

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
        """Fill *buffer* with one request, or up to the end."""
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
            raise read_error("the file was changed while it was read")
        self._seen = seen
        return piece


def open_remote(
    ranges: RangeReader, name: str, end: int | None = None, ahead: int = _AHEAD
) -> io.BufferedReader:
    """Open a file elsewhere; *ahead* octets are asked for at a time, none behind *end*."""
    return io.BufferedReader(RemoteFile(ranges, name, end), ahead)


_PATIENCE: Final = 60.0
"""Seconds for one range of at most a megabyte."""

FileAddress = Callable[[str], Awaitable[str]]
"""Returns where a file of the collection can be had right now. Raises OSError."""


class HttpRanges:
    """`Ranges` of the files of one collection. Make it in the loop that is to ask."""

    def __init__(self, fetch: Fetcher, address: FileAddress) -> None:
        self._fetch = fetch
        self._address = address
        self._loop = asyncio.get_running_loop()
        self._under_way: set[concurrent.futures.Future[Piece]] = set()
        self._closed = False

    def close(self) -> None:
        """Call off what threads wait for, so that nobody has to wait for the threads."""
        self._closed = True
        for asking in tuple(self._under_way):
            asking.cancel()

    def get(self, name: str, start: int, end: int) -> Piece:
        """See `Ranges`; never to be called in the loop itself, which would wait for itself."""
        asking = asyncio.run_coroutine_threadsafe(self._get(name, start, end), self._loop)
        self._under_way.add(asking)
        if self._closed:
            asking.cancel()
        try:
            return asking.result(_PATIENCE)
        except ArchiveError as error:
            # Neither its words nor its cause: both have the address.
            raise read_error(error.why) from None
        except (TimeoutError, concurrent.futures.CancelledError):
            asking.cancel()
            raise read_error("the server does not answer in time") from None
        finally:
            self._under_way.discard(asking)

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
