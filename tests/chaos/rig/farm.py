"""One process that plays many archives, each at a port of its own, each with its manner.

    python -m tests.chaos.rig.farm COUNT [HOST]

It is told what to do in JSON lines at its standard input, and answers each with one; it ends
when the input does. Archive *n* is below ``/a{n}/`` and holds ten captures of every URL, at
times of its own (`tests.bench.archives.captures`).
"""

import asyncio
import json
import socket
import struct
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from tests.bench.archives import EPOCH, World

MOST_NOTED: Final = 200_000


@dataclass(frozen=True, slots=True)
class Manner:
    """How one archive behaves."""

    kind: str = "right"
    """right, absent, failing, limited, hang, reset, refuse, mute"""
    seconds: float = 0.0
    """It answers that much later."""
    length: int = 0
    """Mementos in its lists; 0 for the ten it has of every URL."""
    size: int = 100
    """Bytes of its raw copies."""
    allowed: int = 0
    """Answered 429 to whoever asks more often, in any *span* seconds; 0 for no limit."""
    span: float = 60.0
    share: float = 1.0
    """Of its requests that are treated so, by chance; the others are answered right."""


class Farm(World):
    """The archives."""

    def __init__(self, count: int, host: str) -> None:
        super().__init__(count, 0.0, 0.0, None)
        self.host = host
        self.manners = [Manner() for _ in range(count)]
        self.noted: list[list[tuple[float, str]]] = [[] for _ in range(count)]
        self.servers: list[asyncio.Server | None] = [None] * count
        self.ports = [0] * count
        self.writers: list[set[asyncio.StreamWriter]] = [set() for _ in range(count)]

    async def listen(self, number: int) -> None:
        """Open the door of one archive."""
        if self.servers[number] is not None:
            return

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self.converse(number, reader, writer)

        server = await asyncio.start_server(
            connected, self.host, self.ports[number], backlog=1024, reuse_address=True
        )
        self.servers[number] = server
        self.ports[number] = server.sockets[0].getsockname()[1]

    def shut(self, number: int) -> None:
        """Refuse connections, and end those there are."""
        server, self.servers[number] = self.servers[number], None
        if server is not None:
            server.close()
        for writer in self.writers[number]:
            writer.transport.abort()

    async def converse(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.writers[number].add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if not await self._exchange(number, head.decode("latin-1"), writer):
                    return
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        finally:
            self.writers[number].discard(writer)
            writer.close()

    async def _exchange(self, number: int, head: str, writer: asyncio.StreamWriter) -> bool:
        first, *lines = head.split("\r\n")
        headers = {n.lower(): v for n, _, v in (line.partition(": ") for line in lines)}
        method, target, _ = first.split(" ", 2)
        manner = self._manner(number)
        noted = self.noted[number]
        if len(noted) < MOST_NOTED:
            noted.append((time.monotonic(), target))
        if manner.kind == "hang":
            await asyncio.sleep(300)
        if manner.kind == "reset":
            _reset(writer)
            return False
        if manner.seconds:
            await asyncio.sleep(manner.seconds)
        async for piece in self._pieces(number, manner, target, headers):
            writer.write(
                piece.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if method == "HEAD" else piece
            )
            await writer.drain()
            if method == "HEAD":
                break
        # A long list has no length: it ends with the connection.
        return not (manner.length and "/timemap/" in target)

    def _manner(self, number: int) -> Manner:
        manner = self.manners[number]
        if manner.share < 1 and self.random.random() >= manner.share:
            return replace(manner, kind="right")
        return manner

    async def _pieces(
        self, number: int, manner: Manner, target: str, headers: dict[str, str]
    ) -> AsyncIterator[bytes]:
        rest = target.split("/", 2)[2]
        base = f"http://127.0.0.1:{self.ports[number]}/a{number}"
        if self._is_too_often(number) or manner.kind == "limited":
            yield _plain(429, b"slowly", "Retry-After: 2\r\n")
        elif manner.kind in ("absent", "failing"):
            yield _plain(404 if manner.kind == "absent" else 500, b"no")
        elif manner.length and rest.startswith("timemap/"):
            for piece in long_list(base, rest.split("/", 2)[2], number, manner.length):
                yield piece
        elif rest[:14].isdecimal():
            for piece in copy(rest[:14], manner.size):
                yield piece
        else:
            yield self._right(number, rest, headers, base)

    def _is_too_often(self, number: int) -> bool:
        manner = self.manners[number]
        since = time.monotonic() - manner.span
        recent = sum(1 for at, _ in self.noted[number][-1000:] if at > since)
        return bool(manner.allowed) and recent > manner.allowed


def _reset(writer: asyncio.StreamWriter) -> None:
    one: socket.socket = writer.get_extra_info("socket")
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def _plain(status: int, body: bytes, headers: str = "") -> bytes:
    return (
        f"HTTP/1.1 {status} X\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body
    )


def long_list(base: str, url: str, number: int, length: int) -> Iterator[bytes]:
    """Make a TimeMap of any length while it is sent."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/link-format\r\nConnection: close"
    yield f'{head}\r\n\r\n<{url}>; rel="original"'.encode()

    def line(n: int) -> str:
        at = EPOCH + timedelta(seconds=600 * n + number)
        when = f"{at:%a, %d %b %Y %H:%M:%S GMT}"
        return f',\n<{base}/{at:%Y%m%d%H%M%S}/{url}>; rel="memento"; datetime="{when}"'

    for first in range(0, length, 500):
        yield "".join(line(n) for n in range(first, min(first + 500, length))).encode()


def copy(stamp: str, size: int) -> Iterator[bytes]:
    """Make the bytes of a capture, nothing but zeros."""
    when = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.strptime(stamp, "%Y%m%d%H%M%S"))
    yield (
        f"HTTP/1.1 200 OK\r\nMemento-Datetime: {when}\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {size}\r\n\r\n"
    ).encode()
    block = bytes(65536)
    for sent in range(0, size, len(block)):
        yield block[: size - sent]


async def obey(farm: Farm, told: dict[str, object]) -> object:
    """Do what a line says; return what to answer."""
    match told:
        case {"behave": list(numbers), "manner": dict(manner)}:
            for number in numbers:
                farm.manners[number] = Manner(**manner)
                if farm.manners[number].kind == "refuse":
                    farm.shut(number)
                else:
                    await farm.listen(number)
            return "ok"
        case {"tell": "counts"}:
            return [len(noted) for noted in farm.noted]
        case {"tell": "noted", "archive": int(number)}:
            return farm.noted[number]
        case {"forget": True}:
            farm.noted = [[] for _ in farm.noted]
            return "ok"
    raise ValueError(f"unknown: {told}")


async def main(count: int, host: str = "127.0.0.1") -> None:
    farm = Farm(count, host)
    for number in range(count):
        await farm.listen(number)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    sys.stdout.write(json.dumps(farm.ports) + "\n")
    sys.stdout.flush()
    while line := await reader.readline():
        answer = await obey(farm, json.loads(line))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), *sys.argv[2:]))
