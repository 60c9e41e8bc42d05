"""Fake archives for benchmarks: many in one process, as fast as asyncio allows.

    python -m tests.bench.archives COUNT [--median SECONDS --sigma S] [--hang N] [--neighbours]

Archive *n* is below ``/a{n}/``: ``timegate/{url}`` (302 with Link), ``timemap/link/{url}`` and
``{stamp}/{url}``, which is a memento if the stamp is that of a capture. Each holds 10 captures
of every URL, at times of its own, so that no two archives have the same distance. Prints its
port. ``/stats`` counts requests by archive. With ``--neighbours``, the captures before and
after the chosen one are linked as well.
"""

import argparse
import asyncio
import json
import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime

EPOCH = datetime(2005, 1, 1, tzinfo=UTC)
CAPTURES = 10


def captures(archive: int) -> list[datetime]:
    """Return the times of the captures of archive number *archive*."""
    return [
        EPOCH + timedelta(days=400 * n, seconds=7_919 * (archive + 1)) for n in range(CAPTURES)
    ]


class World:
    """The archives and their delays."""

    def __init__(
        self,
        count: int,
        median: float,
        sigma: float,
        hang: int | None,
        *,
        neighbours: bool = False,
    ) -> None:
        self.neighbours = neighbours
        self.times = [captures(n) for n in range(count)]
        self.median, self.sigma, self.hang = median, sigma, hang
        self.counts = [0] * count
        self.random = random.Random(7)

    async def answer(self, target: str, headers: dict[str, str], base: str) -> bytes | None:
        if target == "/stats":
            return _reply(200, json.dumps(self.counts).encode())
        _, name, rest = target.split("/", 2)
        archive = int(name[1:])
        self.counts[archive] += 1
        if archive == self.hang:
            await asyncio.sleep(120)
            return None
        if self.median:
            await asyncio.sleep(self.median * self.random.lognormvariate(0, self.sigma))
        return self._right(archive, rest, headers, f"{base}/{name}")

    def _right(self, archive: int, rest: str, headers: dict[str, str], base: str) -> bytes:
        times = self.times[archive]
        if rest.startswith("timegate/"):
            url = rest[9:]
            wanted = headers.get("accept-datetime")
            at = parsedate_to_datetime(wanted) if wanted else times[-1]
            chosen = min(range(len(times)), key=lambda n: abs(times[n] - at))
            location = _memento(base, times[chosen], url)
            links = _links(base, url, times, chosen, neighbours=self.neighbours)
            return _reply(
                302, b"", f"Location: {location}\r\nVary: accept-datetime\r\nLink: {links}\r\n"
            )
        if rest.startswith("timemap/link/"):
            url = rest[13:]
            lines = [
                f'<{url}>; rel="original"',
                *(_link(base, t, url, "memento") for t in times),
            ]
            return _reply(
                200, ",\n".join(lines).encode(), "Content-Type: application/link-format\r\n"
            )
        stamp, _, url = rest.partition("/")
        held = [n for n, at in enumerate(times) if f"{at:%Y%m%d%H%M%S}" == stamp]
        if not held:
            return _reply(404, b"")
        date = format_datetime(times[held[0]], usegmt=True)
        links = _links(base, url, times, held[0], neighbours=self.neighbours)
        return _reply(200, b"bytes", f"Memento-Datetime: {date}\r\nLink: {links}\r\n")


def _memento(base: str, at: datetime, url: str) -> str:
    return f"{base}/{at:%Y%m%d%H%M%S}/{url}"


def _link(base: str, at: datetime, url: str, rel: str) -> str:
    when = format_datetime(at, usegmt=True)
    return f'<{_memento(base, at, url)}>; rel="{rel}"; datetime="{when}"'


def _links(base: str, url: str, times: list[datetime], chosen: int, *, neighbours: bool) -> str:
    links = [
        f'<{url}>; rel="original"',
        f'<{base}/timegate/{url}>; rel="timegate"',
        f'<{base}/timemap/link/{url}>; rel="timemap"; type="application/link-format"',
        _link(base, times[chosen], url, "memento"),
        _link(base, times[0], url, "first memento"),
        _link(base, times[-1], url, "last memento"),
    ]
    if neighbours and chosen > 0:
        links.append(_link(base, times[chosen - 1], url, "prev memento"))
    if neighbours and chosen + 1 < len(times):
        links.append(_link(base, times[chosen + 1], url, "next memento"))
    return ", ".join(links)


def _reply(status: int, body: bytes, headers: str = "") -> bytes:
    return (
        f"HTTP/1.1 {status} X\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body
    )


class Connection(asyncio.Protocol):
    """One connection; requests on it are answered one after the other."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.buffer = b""
        self.queue: asyncio.Queue[bytes] = asyncio.Queue()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        port = transport.get_extra_info("sockname")[1]
        self.base = f"http://127.0.0.1:{port}"
        self.worker = asyncio.get_running_loop().create_task(self._work())

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            self.queue.put_nowait(self.buffer[:end])
            self.buffer = self.buffer[end + 4 :]

    def connection_lost(self, _: Exception | None) -> None:
        self.worker.cancel()

    async def _work(self) -> None:
        while True:
            head = (await self.queue.get()).decode("latin-1")
            first, *lines = head.split("\r\n")
            headers = {n.lower(): v for n, _, v in (line.partition(": ") for line in lines)}
            method, target, _ = first.split(" ", 2)
            reply = await self.world.answer(target, headers, self.base)
            if reply is None:
                self.transport.abort()
                return
            self.transport.write(
                reply.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if method == "HEAD" else reply
            )


async def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("count", type=int)
    options.add_argument("--median", type=float, default=0.0)
    options.add_argument("--sigma", type=float, default=0.0)
    options.add_argument("--hang", type=int)
    options.add_argument("--neighbours", action="store_true")
    given = options.parse_args()
    world = World(
        given.count, given.median, given.sigma, given.hang, neighbours=given.neighbours
    )
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(world), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
