"""One process with many archives, each at its own port and with its own behaviour.

    python -m tests.chaos.rig.farm COUNT [HOST]

It reads commands as JSON lines from its standard input, and answers each with one line; it ends
when the input ends. Archive *n* is below ``/a{n}/`` and holds ten captures of every URL, at
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
from functools import lru_cache
from typing import Final

from tests.bench.archives import EPOCH, World

MOST_REQUESTS: Final = 200_000


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The behaviour of one archive."""

    kind: str = "right"
    """right, absent, failing, limited, hang, reset, refuse, mute"""
    seconds: float = 0.0
    """Delay of its answers."""
    length: int = 0
    """Mementos in its lists; 0 for the ten of every URL."""
    size: int = 100
    """Bytes of its raw mementos."""
    allowed: int = 0
    """Requests in any *span* seconds before it answers 429; 0 for no limit."""
    span: float = 60.0
    share: float = 1.0
    """Random share of the requests that get this behaviour; the others are answered right."""


class Farm(World):
    """The archives."""

    def __init__(self, count: int, host: str) -> None:
        super().__init__(count, 0.0, 0.0, None)
        self.host = host
        self.behaviours = [Behaviour() for _ in range(count)]
        self.requests: list[list[tuple[float, str]]] = [[] for _ in range(count)]
        self.servers: list[asyncio.Server | None] = [None] * count
        self.ports = [0] * count
        self.writers: list[set[asyncio.StreamWriter]] = [set() for _ in range(count)]

    async def listen(self, number: int) -> None:
        """Start to listen for one archive."""
        if self.servers[number] is not None:
            return

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self.serve(number, reader, writer)

        server = await asyncio.start_server(
            connected, self.host, self.ports[number], backlog=1024, reuse_address=True
        )
        self.servers[number] = server
        self.ports[number] = server.sockets[0].getsockname()[1]

    def shut(self, number: int) -> None:
        """Refuse new connections, and end the open ones."""
        server, self.servers[number] = self.servers[number], None
        if server is not None:
            server.close()
        for writer in self.writers[number]:
            writer.transport.abort()

    async def serve(
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
        behaviour = self._behaviour(number)
        requests = self.requests[number]
        if len(requests) < MOST_REQUESTS:
            requests.append((time.monotonic(), target))
        if behaviour.kind == "hang":
            await asyncio.sleep(300)
        if behaviour.kind == "reset":
            _reset(writer)
            return False
        if behaviour.seconds:
            await asyncio.sleep(behaviour.seconds)
        async for piece in self._pieces(number, behaviour, target, headers):
            writer.write(
                piece.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if method == "HEAD" else piece
            )
            await writer.drain()
            if method == "HEAD":
                break
        # A long list has no Content-Length: it ends with the connection.
        return not (behaviour.length and "/timemap/" in target)

    def _behaviour(self, number: int) -> Behaviour:
        behaviour = self.behaviours[number]
        if behaviour.share < 1 and self.random.random() >= behaviour.share:
            return replace(behaviour, kind="right")
        return behaviour

    async def _pieces(
        self, number: int, behaviour: Behaviour, target: str, headers: dict[str, str]
    ) -> AsyncIterator[bytes]:
        rest = target.split("/", 2)[2]
        base = f"http://127.0.0.1:{self.ports[number]}/a{number}"
        if self._is_too_often(number) or behaviour.kind == "limited":
            yield _plain(429, b"slowly", "Retry-After: 2\r\n")
        elif behaviour.kind in ("absent", "failing"):
            yield _plain(404 if behaviour.kind == "absent" else 500, b"no")
        elif behaviour.length and rest.startswith("timemap/"):
            for piece in long_list(base, rest.split("/", 2)[2], number, behaviour.length):
                yield piece
        elif rest[:14].isdecimal():
            for piece in copy(rest[:14], behaviour.size):
                yield piece
        else:
            yield self._right(number, rest, headers, base)

    def _is_too_often(self, number: int) -> bool:
        behaviour = self.behaviours[number]
        since = time.monotonic() - behaviour.span
        recent = sum(1 for at, _ in self.requests[number][-1000:] if at > since)
        return bool(behaviour.allowed) and recent > behaviour.allowed


def _reset(writer: asyncio.StreamWriter) -> None:
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def _plain(status: int, body: bytes, headers: str = "") -> bytes:
    return (
        f"HTTP/1.1 {status} X\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body
    )


@lru_cache(8)
def long_list(base: str, url: str, number: int, length: int) -> tuple[bytes, ...]:
    """Return a TimeMap of any length in pieces; it is made once."""
    return tuple(_long_list(base, url, number, length))


def _long_list(base: str, url: str, number: int, length: int) -> Iterator[bytes]:
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/link-format\r\nConnection: close"
    yield f'{head}\r\n\r\n<{url}>; rel="original"'.encode()

    def line(n: int) -> str:
        at = EPOCH + timedelta(seconds=600 * n + number)
        when = f"{at:%a, %d %b %Y %H:%M:%S GMT}"
        return f',\n<{base}/{at:%Y%m%d%H%M%S}/{url}>; rel="memento"; datetime="{when}"'

    for first in range(0, length, 500):
        yield "".join(line(n) for n in range(first, min(first + 500, length))).encode()


def copy(stamp: str, size: int) -> Iterator[bytes]:
    """Yield the response for a capture, with a body of zeros."""
    when = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.strptime(stamp, "%Y%m%d%H%M%S"))
    yield (
        f"HTTP/1.1 200 OK\r\nMemento-Datetime: {when}\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {size}\r\n\r\n"
    ).encode()
    block = bytes(65536)
    for sent in range(0, size, len(block)):
        yield block[: size - sent]


async def execute(farm: Farm, command: dict[str, object]) -> object:
    """Execute one command, and return its answer."""
    match command:
        case {"behave": list(numbers), "behaviour": dict(options)}:
            for number in numbers:
                farm.behaviours[number] = Behaviour(**options)
                if farm.behaviours[number].kind == "refuse":
                    farm.shut(number)
                else:
                    await farm.listen(number)
            return "ok"
        case {"get": "counts"}:
            return [len(requests) for requests in farm.requests]
        case {"get": "requests", "archive": int(number)}:
            return farm.requests[number]
        case {"forget": True}:
            farm.requests = [[] for _ in farm.requests]
            return "ok"
    raise ValueError(f"unknown: {command}")


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
        answer = await execute(farm, json.loads(line))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), *sys.argv[2:]))
