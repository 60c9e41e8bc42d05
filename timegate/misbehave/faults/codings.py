# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Content codings that explode or lie.

Bombs are made while they are sent: small on the wire, smaller in memory.
"""

import gzip
import importlib
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Final, Protocol

from timegate.misbehave.addresses import ReplayQuestion
from timegate.misbehave.faults.fault import LISTS, Fault, FaultContext, fault
from timegate.misbehave.wire import RawAnswer, WholeAnswer, chunk, head

BLOCK: Final = b'<http://x.example/web/2013/http://example.org/>; rel="memento",\n' * (1 << 14)
"""About one megabyte that every TimeMap reader has to read."""
_GZIP_HEAD: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"


class Compressor(Protocol):
    """Squeezes a stream; what comes out can be sent at once."""

    def squeezed(self, data: bytes) -> bytes:
        """Return all that *data* becomes."""
        ...

    def end(self) -> bytes:
        """Return what ends the stream."""
        ...


def gzip_stream(size: int) -> Iterator[bytes]:
    """Yield a gzip stream of *size* bytes or a little more, block by block.

    After a full flush deflate refers to nothing before it, so one compressed block can be
    sent again and again; only the checksum has to be carried along.
    """
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = deflate.compress(BLOCK) + deflate.flush(zlib.Z_FULL_FLUSH)
    ending, checksum, length = zlib.compressobj(9, zlib.DEFLATED, -15).flush(), 0, 0
    yield _GZIP_HEAD
    while length < size:
        yield block
        checksum, length = zlib.crc32(BLOCK, checksum), length + len(BLOCK)
    yield ending + struct.pack("<LL", checksum, length & 0xFFFFFFFF)


def gzipped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield *pieces* in one more layer of gzip."""
    layer = zlib.compressobj(9, zlib.DEFLATED, 31)
    for piece in pieces:
        yield layer.compress(piece) + layer.flush(zlib.Z_SYNC_FLUSH)
    yield layer.flush()


def squeezed(compressor: Compressor, size: int) -> Iterator[bytes]:
    """Yield *size* bytes or a little more through *compressor*."""
    for _ in range(0, size, len(BLOCK)):
        yield compressor.squeezed(BLOCK)
    yield compressor.end()


async def _coded(
    answer: WholeAnswer, coding: str, pieces: Iterator[bytes]
) -> AsyncIterator[bytes]:
    coded = answer.having("Content-Encoding", coding).having("Transfer-Encoding", "chunked")
    yield head(answer.status, coded.headers)
    for piece in pieces:
        if piece:
            yield chunk(piece)
    yield b"0\r\n\r\n"


@fault(*LISTS, ReplayQuestion)
def gzip_bomb(exchange: FaultContext) -> RawAnswer:
    """The body unpacks to a gigabyte, 300 times what is sent."""
    return RawAnswer(_coded(exchange.right, "gzip", gzip_stream(exchange.site.manner.bomb)))


@fault(*LISTS, ReplayQuestion)
def gzip_nested(exchange: FaultContext) -> RawAnswer:
    """A gzip bomb in a second layer of gzip, as Content-Encoding says."""
    pieces = gzipped(gzip_stream(exchange.site.manner.bomb))
    return RawAnswer(_coded(exchange.right, "gzip, gzip", pieces))


@fault(*LISTS, ReplayQuestion)
def gzip_members(exchange: FaultContext) -> RawAnswer:
    """The body is 100,000 gzip members of one byte each."""
    hundred = gzip.compress(b"\n", mtime=0) * 100
    count = max(1, exchange.site.manner.bulk // 10_000)
    return RawAnswer(_coded(exchange.right, "gzip", (hundred for _ in range(count))))


@fault(*LISTS, ReplayQuestion)
def says_gzip(exchange: FaultContext) -> WholeAnswer:
    """Content-Encoding says gzip; the body is plain."""
    return exchange.right.having("Content-Encoding", "gzip")


@fault(*LISTS, ReplayQuestion)
def says_gzip_twice(exchange: FaultContext) -> WholeAnswer:
    """Content-Encoding says ``gzip, gzip``; the body is gzip once."""
    packed = replace(exchange.right, body=gzip.compress(exchange.right.body, mtime=0))
    return packed.having("Content-Encoding", "gzip, gzip")


@fault(*LISTS, ReplayQuestion)
def says_unknown(exchange: FaultContext) -> WholeAnswer:
    """Content-Encoding names a coding that nobody knows."""
    return exchange.right.having("Content-Encoding", "x-shuffled")


class _Brotli:
    def __init__(self) -> None:
        self._stream = importlib.import_module("brotli").Compressor(quality=5)

    def squeezed(self, data: bytes) -> bytes:
        return bytes(self._stream.process(data) + self._stream.flush())

    def end(self) -> bytes:
        return bytes(self._stream.finish())


class _Zstd:
    def __init__(self) -> None:
        self._stream = _zstd().ZstdCompressor(level=3)

    def squeezed(self, data: bytes) -> bytes:
        return bytes(self._stream.compress(data, self._stream.FLUSH_BLOCK))

    def end(self) -> bytes:
        return bytes(self._stream.flush())


def _zstd() -> ModuleType:
    try:
        return importlib.import_module("compression.zstd")  # Python 3.14
    except ImportError:
        return importlib.import_module("backports.zstd")


def _bomb(name: str, coding: str, compressor: Callable[[], Compressor]) -> Fault:
    def spoil(exchange: FaultContext) -> RawAnswer:
        pieces = squeezed(compressor(), exchange.site.manner.bomb)
        return RawAnswer(_coded(exchange.right, coding, pieces))

    sentence = f"The body unpacks to a gigabyte, with {name} (needs its library)."
    return Fault(f"{name}-bomb", sentence, (*LISTS, ReplayQuestion), spoil)


brotli_bomb: Final = _bomb("brotli", "br", _Brotli)
zstd_bomb: Final = _bomb("zstd", "zstd", _Zstd)
