# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Content codings that explode or lie.

Bombs are made while they are sent: small on the wire, smaller in memory.
"""

import asyncio
import gzip
import importlib
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from itertools import cycle
from types import ModuleType
from typing import Final, Protocol

from timegate.misbehave.faults.fault import EVERYTHING, LISTS, Fault, FaultContext, fault
from timegate.misbehave.site import Manner, ReplayQuestion, TimeGateQuestion
from timegate.misbehave.wire import (
    Authority,
    Fields,
    RawAnswer,
    WholeAnswer,
    chunk,
    head,
    once,
    written,
)

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


tls_right: Final = Fault(
    "tls-right", "No fault: TLS with a good certificate.", tls=Authority.right
)
tls_expired: Final = Fault(
    "tls-expired", "The certificate ran out in 2001.", tls=Authority.expired
)
tls_self_signed: Final = Fault(
    "tls-self-signed", "The certificate vouches for itself.", tls=Authority.self_signed
)
tls_wrong_host: Final = Fault(
    "tls-wrong-host", "The certificate is for archive.example.", tls=Authority.wrong_host
)
tls_outdated: Final = Fault(
    "tls-outdated", "The archive knows nothing newer than TLS 1.0.", tls=Authority.outdated
)
tls_hung: Final = Fault(
    "tls-hung", "The TLS handshake is never answered.", tls=Authority.right, silent=True
)
close_at_once: Final = Fault(
    "close-at-once", "Every connection is closed before a request is read.", hangs_up=True
)


async def silence(manner: Manner) -> AsyncIterator[bytes]:
    """Say nothing, for as long as the server lets it, while the client is there."""
    while True:
        yield b""
        await asyncio.sleep(manner.interval)


async def _trickle(first: bytes, text: bytes, manner: Manner) -> AsyncIterator[bytes]:
    """Yield *first* at once, then *text* over and over, a byte every `Manner.interval`."""
    yield first
    for byte in cycle(text):
        await asyncio.sleep(manner.interval)
        yield bytes([byte])


@fault(*EVERYTHING)
def drip_head(exchange: FaultContext) -> RawAnswer:
    """The header comes one byte at a time and never ends."""
    start = b"HTTP/1.1 200 OK\r\nContent-Type: application/link-format\r\nX-Slow: "
    return RawAnswer(_trickle(start, b"z", exchange.site.manner))


@fault(*EVERYTHING)
def drip_body(exchange: FaultContext) -> RawAnswer:
    """The right header comes at once, the body one byte at a time and never ends."""
    answer = exchange.right.having("Connection", "close")
    start = head(answer.status, answer.headers)
    return RawAnswer(_trickle(start, answer.body or b"z", exchange.site.manner))


@fault(*LISTS, ReplayQuestion)
def truncated_length(exchange: FaultContext) -> RawAnswer:
    """The body ends in its middle, short of its Content-Length."""
    whole = written(exchange.right, exchange.request.method)
    return RawAnswer(once(whole[: len(whole) - len(exchange.right.body) // 2]))


@fault(*LISTS, ReplayQuestion)
def truncated_chunks(exchange: FaultContext) -> RawAnswer:
    """A chunked body ends in its middle, without the last chunk."""
    answer = exchange.right.having("Transfer-Encoding", "chunked")
    half = answer.body[: len(answer.body) // 2 + 1]
    return RawAnswer(once(head(answer.status, answer.headers), chunk(half)))


@fault(*LISTS, ReplayQuestion)
def truncated_close(exchange: FaultContext) -> RawAnswer:
    """A body without a stated length ends in its middle: nobody can tell."""
    answer = exchange.right.having("Connection", "close")
    half = answer.body[: len(answer.body) // 2 + 1]
    return RawAnswer(once(head(answer.status, answer.headers) + half))


POISON: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Poison: yes\r\n"
    b"Memento-Datetime: Tue, 01 Jan 1991 00:00:00 GMT\r\nContent-Length: 6\r\n\r\npoison"
)
"""A whole answer, where no body may be: who reads on takes it for the next one."""

FOR_BROWSERS: Final[Fields] = (
    ("Set-Cookie", "spy=1; Path=/"),
    ("Clear-Site-Data", '"*"'),
    ("Service-Worker-Allowed", "/"),
    ("Strict-Transport-Security", "max-age=31536000; includeSubDomains"),
    ("Alt-Svc", 'h2="elsewhere.example:443"'),
    ("Refresh", "0; url=http://elsewhere.example/"),
    ("Link", "<http://elsewhere.example/evil.js>; rel=preload; as=script"),
)


@fault(*EVERYTHING)
def thousand_headers(exchange: FaultContext) -> WholeAnswer:
    """The right answer has 1,000 header fields more."""
    more = tuple((f"X-Filler-{number}", "z") for number in range(1000))
    return replace(exchange.right, headers=(*exchange.right.headers, *more))


@fault(*EVERYTHING)
def huge_header(exchange: FaultContext) -> WholeAnswer:
    """One header field of the right answer is 1 MB long."""
    return exchange.right.having("X-Filler", "z" * (exchange.site.manner.bulk // 10))


@fault(*EVERYTHING)
def continue_flood(exchange: FaultContext) -> RawAnswer:
    """Before the right answer come 100,000 times ``100 Continue``."""
    return RawAnswer(_continued(exchange), stays=True)


async def _continued(exchange: FaultContext) -> AsyncIterator[bytes]:
    hundred = head(100, ()) * 100
    for _ in range(max(1, exchange.site.manner.bulk // 10_000)):
        yield hundred
    yield written(exchange.right, exchange.request.method)


@fault(*EVERYTHING)
def nul_in_header(exchange: FaultContext) -> WholeAnswer:
    """A header field has a NUL in its value."""
    return exchange.right.having("X-Filler", "a\0b")


@fault(*EVERYTHING)
def two_lengths(exchange: FaultContext) -> RawAnswer:
    """There are two Content-Length fields, and they differ."""
    answer = exchange.right
    lengths = (("Content-Length", "1"), ("Content-Length", str(len(answer.body) + 1)))
    return RawAnswer(once(head(answer.status, (*answer.headers, *lengths)) + answer.body))


@fault(*EVERYTHING)
def browser_headers(exchange: FaultContext) -> WholeAnswer:
    """The right answer brings a cookie, and orders for browsers."""
    return replace(exchange.right, headers=(*exchange.right.headers, *FOR_BROWSERS))


def _bodied(exchange: FaultContext, status: int, *more: tuple[str, str]) -> RawAnswer:
    """Answer with *status* and a body that should not be there, and stay connected."""
    kept = tuple(pair for pair in exchange.right.headers if pair[0] != "Location")
    return RawAnswer(once(head(status, (*kept, *more)) + POISON), stays=True)


@fault(TimeGateQuestion, ReplayQuestion)
def status_304(exchange: FaultContext) -> RawAnswer:
    """A 304 that nobody asked for, with a body."""
    return _bodied(exchange, 304)


@fault(TimeGateQuestion, ReplayQuestion)
def status_204(exchange: FaultContext) -> RawAnswer:
    """A 204 with a body."""
    return _bodied(exchange, 204)


@fault(TimeGateQuestion, ReplayQuestion)
def status_205(exchange: FaultContext) -> RawAnswer:
    """A 205 with a body."""
    return _bodied(exchange, 205, ("Content-Length", str(len(POISON))))


@fault(TimeGateQuestion, ReplayQuestion)
def status_206(exchange: FaultContext) -> RawAnswer:
    """A 206 that nobody asked for, with a part of the body."""
    part = ("Content-Range", "bytes 0-3/1000"), ("Content-Length", "4")
    fields = (*exchange.right.headers, *part)
    return RawAnswer(once(head(206, fields) + b"part"), stays=True)


@fault(TimeGateQuestion, ReplayQuestion)
def status_416(exchange: FaultContext) -> RawAnswer:
    """A 416 that nobody asked for, with a body."""
    more = ("Content-Range", "bytes */1000"), ("Content-Length", str(len(POISON)))
    return _bodied(exchange, 416, *more)


@fault(*EVERYTHING)
def head_with_body(exchange: FaultContext) -> RawAnswer | WholeAnswer:
    """HEAD is answered with a body."""
    if exchange.request.method != "HEAD":
        return exchange.right
    length = ("Content-Length", str(len(POISON)))
    fields = (*exchange.right.headers, length)
    return RawAnswer(once(head(exchange.right.status, fields) + POISON), stays=True)
