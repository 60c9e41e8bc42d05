"""Content coding: decodes a body piece by piece, and rejects decompression bombs.

Never expands more than one slice at a time, whatever the input claims: a megabyte of gzip can
hold a gigabyte. Limits count the decoded bytes, not the received ones (R-18). A body that ends
before its coding does is an error (R-21).
"""

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Final, Protocol

_SLICE: Final = 32 * 1024
"""Less than 0.1 ms of work for zlib; the reader lets other tasks run between two slices. Links
without dates, the slowest input to parse, take 7 ms in a slice of this size (10 are allowed,
R-18), and took 57 ms in 256 kB."""
_MEMBERS: Final = 1024
_RATIO: Final = 200
"""Most times by which a body may grow. HTML shrinks to a tenth, long link lists to a
fiftieth."""
_RATIO_FROM: Final = 1024 * 1024


class BadCoding(ValueError):
    """A body that is not in the coding it claims, breaks off, or grows too large."""


class _Member(Protocol):
    """One compressed stream; a body may consist of several of them in a row."""

    @property
    def finished(self) -> bool: ...

    @property
    def rest(self) -> bytes:
        """Bytes after the end of the stream."""
        ...

    @property
    def held(self) -> int:
        """Number of bytes received and not decoded yet, where the library reports it."""
        ...

    def expand(self, data: bytes) -> Iterator[bytes]: ...


class _Zlib:
    def __init__(self, wbits: int) -> None:
        self._stream = zlib.decompressobj(wbits)

    @property
    def finished(self) -> bool:
        return self._stream.eof

    @property
    def rest(self) -> bytes:
        return self._stream.unused_data

    @property
    def held(self) -> int:
        return len(self._stream.unconsumed_tail)

    def expand(self, data: bytes) -> Iterator[bytes]:
        while True:
            piece = self._stream.decompress(data, _SLICE)
            if piece:
                yield piece
            data = self._stream.unconsumed_tail
            if self._stream.eof or (not data and len(piece) < _SLICE):
                return


class _Deflate:
    """The coding "deflate" is the zlib format (RFC 9110 8.4.1.2); some servers send it raw."""

    def __init__(self) -> None:
        self._stream: _Zlib | None = None

    @property
    def finished(self) -> bool:
        return self._stream is not None and self._stream.finished

    @property
    def rest(self) -> bytes:
        return self._stream.rest if self._stream is not None else b""

    @property
    def held(self) -> int:
        return self._stream.held if self._stream is not None else 0

    def expand(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None:
            wrapped = data[0] & 0x0F == 8 and data[0] >> 4 <= 7  # RFC 1950 2.2: CM, CINFO
            self._stream = _Zlib(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
        yield from self._stream.expand(data)


class _Brotli:
    rest: Final = b""
    held: Final = 0

    def __init__(self, brotli: ModuleType) -> None:
        self._stream = brotli.Decompressor()

    @property
    def finished(self) -> bool:
        return bool(self._stream.is_finished())

    def expand(self, data: bytes) -> Iterator[bytes]:
        # can_accept_more_data() is no condition to stop: it is True while output is held back.
        piece = self._stream.process(data, output_buffer_limit=_SLICE)
        while piece:
            yield piece
            if self._stream.is_finished():
                return
            piece = self._stream.process(b"", output_buffer_limit=_SLICE)


class _Zstd:
    held: Final = 0

    def __init__(self, zstd: ModuleType) -> None:
        # RFC 9659: the window of a content coding is at most 8 MB (2 to the 23); the default
        # of the library is 128 MB.
        window = {zstd.DecompressionParameter.window_log_max: 23}
        self._stream = zstd.ZstdDecompressor(options=window)

    @property
    def finished(self) -> bool:
        return bool(self._stream.eof)

    @property
    def rest(self) -> bytes:
        return bytes(self._stream.unused_data)

    def expand(self, data: bytes) -> Iterator[bytes]:
        while True:
            piece = self._stream.decompress(data, _SLICE)
            if piece:
                yield piece
            if self._stream.eof or self._stream.needs_input:
                return
            data = b""


def _first_of(*names: str) -> ModuleType | None:
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    return None


_brotli: Final = _first_of("brotli", "brotlicffi")
_zstd: Final = _first_of("compression.zstd", "backports.zstd")

_CODINGS: Final[dict[str, Callable[[], _Member]]] = {
    "gzip": partial(_Zlib, zlib.MAX_WBITS | 16),
    "x-gzip": partial(_Zlib, zlib.MAX_WBITS | 16),
    "deflate": _Deflate,
}
if _brotli is not None:
    _CODINGS["br"] = partial(_Brotli, _brotli)
if _zstd is not None:
    _CODINGS["zstd"] = partial(_Zstd, _zstd)

# The error of each library; brotli.error and ZstdError derive from Exception alone.
_BROKEN: Final[tuple[type[Exception], ...]] = (
    zlib.error,
    *([_brotli.error] if _brotli is not None else []),
    *([_zstd.ZstdError] if _zstd is not None else []),
)
_SEVERAL_MEMBERS: Final = ("gzip", "x-gzip", "zstd")


def _coding(field: str) -> str:
    """Return the one coding in a Content-Encoding field, "" for none. Raises BadCoding."""
    names = (name.strip().lower() for name in field.split(","))
    codings = [name for name in names if name not in ("", "identity")]
    if len(codings) > 1:
        raise BadCoding(f"has {len(codings)} content codings")
    if codings and codings[0] not in _CODINGS:
        raise BadCoding(f"has a content coding we cannot read: {codings[0][:40]!r}")
    return codings[0] if codings else ""


class ContentDecoder:
    """Decodes one body."""

    def __init__(self, content_encoding: str, limit: int) -> None:
        self._coding = _coding(content_encoding)
        self._limit = limit
        self._member = _CODINGS[self._coding]() if self._coding else None
        self._members = 1
        self._received = 0
        self._decoded = 0

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded *data* in slices. Raises BadCoding at the first fault."""
        self._received += len(data)
        for piece in self._expanded(data) if self._member is not None else iter((data,)):
            self._decoded += len(piece)
            self._check_size()
            yield piece

    def finish(self, *, empty_is_whole: bool = True) -> None:
        """Raise BadCoding unless the coding is complete, or there was nothing to decode."""
        empty = not self._received and empty_is_whole
        if self._member is not None and not empty and not self._member.finished:
            raise BadCoding(f"breaks off before the end of its {self._coding} coding")

    def _expanded(self, data: bytes) -> Iterator[bytes]:
        while data:
            member = self._current(data)
            if member is None:
                return
            try:
                yield from member.expand(data)
            except _BROKEN as error:
                raise BadCoding(f"is not {self._coding}, as it claims: {error}") from error
            data = member.rest if member.finished else b""

    def _current(self, data: bytes) -> _Member | None:
        """Return the stream that *data* belongs to; None for padding after the last one."""
        member = self._member
        if member is None or not member.finished:
            return member
        if self._coding not in _SEVERAL_MEMBERS:
            raise BadCoding(f"goes on after the end of its {self._coding} coding")
        if not data.strip(b"\0"):
            # gzip blocks on tape are filled with zeros; gzip(1) skips them too.
            return None
        self._members += 1
        if self._members > _MEMBERS:
            raise BadCoding(f"has more than {_MEMBERS} {self._coding} members")
        self._member = _CODINGS[self._coding]()
        return self._member

    def _check_size(self) -> None:
        if self._decoded > self._limit:
            raise BadCoding(f"is larger than {self._limit:,} bytes")
        # The ratio is that of the decoded part: 64 kB that arrived at once may hold 19 MB.
        unpacked = self._received - (self._member.held if self._member is not None else 0)
        if self._decoded > max(_RATIO_FROM, unpacked * _RATIO):
            raise BadCoding(f"unpacks to more than {_RATIO} times its size")
