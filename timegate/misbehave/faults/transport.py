# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Faults of HTTP and TLS: codings, certificates, trickles, truncated bodies, odd headers.

Compression bombs are generated while they are sent: small on the wire, smaller in memory.
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
from timegate.misbehave.site import ArchiveOptions, ReplayQuestion, TimeGateQuestion
from timegate.misbehave.wire import (
    Authority,
    Fields,
    RawAnswer,
    WholeAnswer,
    chunk,
    head,
    stream,
    written,
)

BLOCK: Final = b'<http://x.example/web/2013/http://example.org/>; rel="memento",\n' * (1 << 14)
"""About one megabyte of links that every TimeMap parser has to read."""
_GZIP_HEAD: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"


class Compressor(Protocol):
    """A streaming compressor whose output can be sent at once."""

    def compressed(self, data: bytes) -> bytes:
        """Return *data* compressed and flushed."""
        ...

    def end(self) -> bytes:
        """Return the end of the stream."""
        ...


def gzip_stream(size: int) -> Iterator[bytes]:
    """Yield a gzip stream of *size* bytes or a little more, block by block.

    After a full flush, deflate refers to nothing before it, so one compressed block can be
    sent repeatedly; only the checksum has to be computed.
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
    """Yield *pieces* in another layer of gzip."""
    layer = zlib.compressobj(9, zlib.DEFLATED, 31)
    for piece in pieces:
        yield layer.compress(piece) + layer.flush(zlib.Z_SYNC_FLUSH)
    yield layer.flush()


def compressed_blocks(compressor: Compressor, size: int) -> Iterator[bytes]:
    """Yield *size* bytes or a little more, compressed by *compressor*."""
    for _ in range(0, size, len(BLOCK)):
        yield compressor.compressed(BLOCK)
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
    """The body expands to a gigabyte, 300 times what is sent."""
    return RawAnswer(_coded(exchange.correct, "gzip", gzip_stream(exchange.site.options.bomb)))


@fault(*LISTS, ReplayQuestion)
def gzip_nested(exchange: FaultContext) -> RawAnswer:
    """A gzip bomb in a second layer of gzip, as declared in Content-Encoding."""
    pieces = gzipped(gzip_stream(exchange.site.options.bomb))
    return RawAnswer(_coded(exchange.correct, "gzip, gzip", pieces))


@fault(*LISTS, ReplayQuestion)
def gzip_members(exchange: FaultContext) -> RawAnswer:
    """The body is 100,000 gzip members of one byte each."""
    hundred = gzip.compress(b"\n", mtime=0) * 100
    count = max(1, exchange.site.options.bulk // 10_000)
    return RawAnswer(_coded(exchange.correct, "gzip", (hundred for _ in range(count))))


@fault(*LISTS, ReplayQuestion)
def says_gzip(exchange: FaultContext) -> WholeAnswer:
    """Content-Encoding says gzip, but the body is plain."""
    return exchange.correct.having("Content-Encoding", "gzip")


@fault(*LISTS, ReplayQuestion)
def says_gzip_twice(exchange: FaultContext) -> WholeAnswer:
    """Content-Encoding says ``gzip, gzip``, but the body is gzip once."""
    packed = replace(exchange.correct, body=gzip.compress(exchange.correct.body, mtime=0))
    return packed.having("Content-Encoding", "gzip, gzip")


@fault(*LISTS, ReplayQuestion)
def says_unknown(exchange: FaultContext) -> WholeAnswer:
    """Content-Encoding names an unknown coding."""
    return exchange.correct.having("Content-Encoding", "x-shuffled")


class _Brotli:
    def __init__(self) -> None:
        self._stream = importlib.import_module("brotli").Compressor(quality=5)

    def compressed(self, data: bytes) -> bytes:
        return bytes(self._stream.process(data) + self._stream.flush())

    def end(self) -> bytes:
        return bytes(self._stream.finish())


class _Zstd:
    def __init__(self) -> None:
        self._stream = _zstd().ZstdCompressor(level=3)

    def compressed(self, data: bytes) -> bytes:
        return bytes(self._stream.compress(data, self._stream.FLUSH_BLOCK))

    def end(self) -> bytes:
        return bytes(self._stream.flush())


def _zstd() -> ModuleType:
    try:
        return importlib.import_module("compression.zstd")  # Python 3.14
    except ImportError:
        return importlib.import_module("backports.zstd")


def _bomb(name: str, coding: str, compressor: Callable[[], Compressor]) -> Fault:
    def apply(exchange: FaultContext) -> RawAnswer:
        pieces = compressed_blocks(compressor(), exchange.site.options.bomb)
        return RawAnswer(_coded(exchange.correct, coding, pieces))

    sentence = f"The body expands to a gigabyte, with {name} (needs its library)."
    return Fault(f"{name}-bomb", sentence, (*LISTS, ReplayQuestion), apply)


brotli_bomb: Final = _bomb("brotli", "br", _Brotli)
zstd_bomb: Final = _bomb("zstd", "zstd", _Zstd)


tls_right: Final = Fault(
    "tls-right", "No fault: TLS with a valid certificate.", tls=Authority.valid
)
tls_expired: Final = Fault(
    "tls-expired", "The certificate expired in 2001.", tls=Authority.expired
)
tls_self_signed: Final = Fault(
    "tls-self-signed", "The certificate is self-signed.", tls=Authority.self_signed
)
tls_wrong_host: Final = Fault(
    "tls-wrong-host", "The certificate is for archive.example.", tls=Authority.wrong_host
)
tls_outdated: Final = Fault(
    "tls-outdated", "The archive supports nothing newer than TLS 1.0.", tls=Authority.outdated
)
tls_hung: Final = Fault(
    "tls-hung", "The TLS handshake is never answered.", tls=Authority.valid, silent=True
)
close_at_once: Final = Fault(
    "close-at-once", "Every connection is closed before a request is read.", hangs_up=True
)


async def no_bytes(options: ArchiveOptions) -> AsyncIterator[bytes]:
    """Yield empty pieces until the server's time limit, while the client is connected."""
    while True:
        yield b""
        await asyncio.sleep(options.interval)


async def _trickle(first: bytes, text: bytes, options: ArchiveOptions) -> AsyncIterator[bytes]:
    """Yield *first* at once, then *text* repeatedly, a byte every `options.interval`."""
    yield first
    for byte in cycle(text):
        await asyncio.sleep(options.interval)
        yield bytes([byte])


@fault(*EVERYTHING)
def drip_head(exchange: FaultContext) -> RawAnswer:
    """The header arrives one byte at a time and never ends."""
    start = b"HTTP/1.1 200 OK\r\nContent-Type: application/link-format\r\nX-Slow: "
    return RawAnswer(_trickle(start, b"z", exchange.site.options))


@fault(*EVERYTHING)
def drip_body(exchange: FaultContext) -> RawAnswer:
    """The correct header arrives at once, the body one byte at a time without end."""
    answer = exchange.correct.having("Connection", "close")
    start = head(answer.status, answer.headers)
    return RawAnswer(_trickle(start, answer.body or b"z", exchange.site.options))


@fault(*LISTS, ReplayQuestion)
def truncated_length(exchange: FaultContext) -> RawAnswer:
    """The body ends half-way, short of its Content-Length."""
    whole = written(exchange.correct, exchange.request.method)
    return RawAnswer(stream(whole[: len(whole) - len(exchange.correct.body) // 2]))


@fault(*LISTS, ReplayQuestion)
def truncated_chunks(exchange: FaultContext) -> RawAnswer:
    """A chunked body ends half-way, without the last chunk."""
    answer = exchange.correct.having("Transfer-Encoding", "chunked")
    half = answer.body[: len(answer.body) // 2 + 1]
    return RawAnswer(stream(head(answer.status, answer.headers), chunk(half)))


@fault(*LISTS, ReplayQuestion)
def truncated_close(exchange: FaultContext) -> RawAnswer:
    """A body without a stated length ends half-way, which cannot be detected."""
    answer = exchange.correct.having("Connection", "close")
    half = answer.body[: len(answer.body) // 2 + 1]
    return RawAnswer(stream(head(answer.status, answer.headers) + half))


POISON: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Poison: yes\r\n"
    b"Memento-Datetime: Tue, 01 Jan 1991 00:00:00 GMT\r\nContent-Length: 6\r\n\r\npoison"
)
"""A complete answer where no body may be: a client that reads on takes it for the next."""

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
    """The correct answer has 1,000 additional header fields."""
    more = tuple((f"X-Filler-{number}", "z") for number in range(1000))
    return replace(exchange.correct, headers=(*exchange.correct.headers, *more))


@fault(*EVERYTHING)
def huge_header(exchange: FaultContext) -> WholeAnswer:
    """One header field of the correct answer is 1 MB long."""
    return exchange.correct.having("X-Filler", "z" * (exchange.site.options.bulk // 10))


@fault(*EVERYTHING)
def continue_flood(exchange: FaultContext) -> RawAnswer:
    """Before the correct answer come 100,000 times ``100 Continue``."""
    return RawAnswer(_continued(exchange), keeps_alive=True)


async def _continued(exchange: FaultContext) -> AsyncIterator[bytes]:
    hundred = head(100, ()) * 100
    for _ in range(max(1, exchange.site.options.bulk // 10_000)):
        yield hundred
    yield written(exchange.correct, exchange.request.method)


@fault(*EVERYTHING)
def nul_in_header(exchange: FaultContext) -> WholeAnswer:
    """A header field contains a NUL."""
    return exchange.correct.having("X-Filler", "a\0b")


@fault(*EVERYTHING)
def two_lengths(exchange: FaultContext) -> RawAnswer:
    """There are two Content-Length fields with different values."""
    answer = exchange.correct
    lengths = (("Content-Length", "1"), ("Content-Length", str(len(answer.body) + 1)))
    return RawAnswer(stream(head(answer.status, (*answer.headers, *lengths)) + answer.body))


@fault(*EVERYTHING)
def browser_headers(exchange: FaultContext) -> WholeAnswer:
    """The correct answer has a cookie and other headers that control browsers."""
    return replace(exchange.correct, headers=(*exchange.correct.headers, *FOR_BROWSERS))


def _with_body(exchange: FaultContext, status: int, *more: tuple[str, str]) -> RawAnswer:
    """Answer with *status* and a body that must not be there, and keep the connection."""
    fields = tuple(pair for pair in exchange.correct.headers if pair[0] != "Location")
    return RawAnswer(stream(head(status, (*fields, *more)) + POISON), keeps_alive=True)


@fault(TimeGateQuestion, ReplayQuestion)
def status_304(exchange: FaultContext) -> RawAnswer:
    """An unsolicited 304 with a body."""
    return _with_body(exchange, 304)


@fault(TimeGateQuestion, ReplayQuestion)
def status_204(exchange: FaultContext) -> RawAnswer:
    """A 204 with a body."""
    return _with_body(exchange, 204)


@fault(TimeGateQuestion, ReplayQuestion)
def status_205(exchange: FaultContext) -> RawAnswer:
    """A 205 with a body."""
    return _with_body(exchange, 205, ("Content-Length", str(len(POISON))))


@fault(TimeGateQuestion, ReplayQuestion)
def status_206(exchange: FaultContext) -> RawAnswer:
    """An unsolicited 206 with a part of the body."""
    part = ("Content-Range", "bytes 0-3/1000"), ("Content-Length", "4")
    fields = (*exchange.correct.headers, *part)
    return RawAnswer(stream(head(206, fields) + b"part"), keeps_alive=True)


@fault(TimeGateQuestion, ReplayQuestion)
def status_416(exchange: FaultContext) -> RawAnswer:
    """An unsolicited 416 with a body."""
    more = ("Content-Range", "bytes */1000"), ("Content-Length", str(len(POISON)))
    return _with_body(exchange, 416, *more)


@fault(*EVERYTHING)
def head_with_body(exchange: FaultContext) -> RawAnswer | WholeAnswer:
    """HEAD is answered with a body."""
    if exchange.request.method != "HEAD":
        return exchange.correct
    length = ("Content-Length", str(len(POISON)))
    fields = (*exchange.correct.headers, length)
    return RawAnswer(stream(head(exchange.correct.status, fields) + POISON), keeps_alive=True)
