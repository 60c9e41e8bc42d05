"""CPU time for one answer of an archive, layer by layer.

Ten archives are ten ports of one small server in a process of its own, which answers every
request with the same 302; its CPU does not count. All ten are queried at once, as by a
TimeGate, over connections that are already open. The figures are CPU of this process alone, the
best of several rounds; all layers are measured in turn in the same run.
"""

import asyncio
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Final, cast

import aiohttp
import httptools
import uvloop

from archives.adapters import source_for
from archives.kinds import KINDS
from archives.model import ArchiveEntry, Limits, Rate
from archives.moment import Moment
from archives.source import Fetcher, Request
from timegate.upstream.connection_pool import Connections, Dialling
from timegate.upstream.dns import DnsCache, SystemResolver
from timegate.upstream.egress import Egress
from timegate.upstream.http1 import BUFFER
from timegate.upstream.http_client import HttpFetcher, Timeouts
from timegate.upstream.stack import UpstreamEnvironment, UpstreamSettings, open_fetchers

ARCHIVES: Final = 10
QUESTIONS: Final = 100
"""Questions in one round; each goes to all archives."""
ROUNDS: Final = 5
PAGE: Final = "http://example.org/"
WHEN: Final = "Tue, 30 Jun 2015 23:59:59 GMT"
FIRST: Final = "Fri, 01 Jan 2010 12:00:00 GMT"
LAST: Final = "Sun, 02 Feb 2020 02:02:02 GMT"

Ask = Callable[[int], Awaitable[object]]
Case = Callable[[list[int]], AbstractAsyncContextManager[Ask]]


def answer(port: int) -> bytes:
    """Return a 302 as pywb and OpenWayback write it."""
    base = f"http://127.0.0.1:{port}"
    there = f"{base}/web/20150630235959/{PAGE}"
    links = (
        f'<{PAGE}>; rel="original"',
        f'<{base}/web/timemap/link/{PAGE}>; rel="timemap"; type="application/link-format"',
        f'<{base}/web/20100101120000/{PAGE}>; rel="first memento"; datetime="{FIRST}"',
        f'<{there}>; rel="memento"; datetime="{WHEN}"',
        f'<{base}/web/20200202020202/{PAGE}>; rel="last memento"; datetime="{LAST}"',
    )
    fields = (
        "HTTP/1.1 302 Found",
        "Server: nginx/1.24.0",
        "Date: Sat, 01 Jun 2024 12:00:00 GMT",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Length: 0",
        "Connection: keep-alive",
        "Vary: accept-datetime",
        f"Location: {there}",
        f"Link: {', '.join(links)}",
    )
    return ("\r\n".join(fields) + "\r\n\r\n").encode()


class _Archive(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._answer = answer(transport.get_extra_info("sockname")[1])

    def data_received(self, data: bytes) -> None:
        self._transport.write(self._answer * data.count(b"\r\n\r\n"))


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    for _ in range(ARCHIVES):
        server = await loop.create_server(_Archive, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
    # Until the parent process closes the input.
    await loop.run_in_executor(None, sys.stdin.read)


@asynccontextmanager
async def tasks_alone(_ports: list[int]) -> AsyncGenerator[Ask]:
    async def ask(_: int) -> None:
        await asyncio.sleep(0)

    yield ask


class _Bare(asyncio.BufferedProtocol):
    """A minimal client."""

    def __init__(self) -> None:
        self.fields: list[tuple[bytes, bytes]] = []
        self.answered: asyncio.Future[None] | None = None
        self._buffer = bytearray(BUFFER)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> bytearray:
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        httptools.HttpResponseParser(self).feed_data(memoryview(self._buffer)[:nbytes])

    def on_header(self, name: bytes, value: bytes) -> None:
        self.fields.append((name, value))

    def on_headers_complete(self) -> None:
        assert self.answered is not None
        self.answered.set_result(None)


@asynccontextmanager
async def bare_httptools(ports: list[int]) -> AsyncGenerator[Ask]:
    loop = asyncio.get_running_loop()
    opened = [await loop.create_connection(_Bare, "127.0.0.1", port) for port in ports]
    head = f"HEAD /{PAGE} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Datetime: {WHEN}\r\n\r\n"
    request = head.encode()

    async def ask(index: int) -> None:
        transport, protocol = opened[index]
        protocol.fields.clear()
        protocol.answered = loop.create_future()
        transport.write(request)
        await protocol.answered

    yield ask
    for transport, _ in opened:
        transport.close()


@asynccontextmanager
async def bare_aiohttp(ports: list[int]) -> AsyncGenerator[Ask]:
    urls = [f"http://127.0.0.1:{port}/{PAGE}" for port in ports]

    async with aiohttp.ClientSession() as session:

        async def ask(index: int) -> None:
            fields = {"Accept-Datetime": WHEN}
            async with session.head(urls[index], headers=fields, allow_redirects=False):
                pass

        yield ask


def entry(number: int, port: int) -> ArchiveEntry:
    plenty = Rate(requests=1e6, seconds=1, burst=1_000_000)
    return ArchiveEntry(
        id=f"archive-{number}",
        name="An archive",
        kind=KINDS["memento"],
        use=True,
        because="",
        access="open",
        limits=Limits(plenty, plenty, 4, "benchmark"),
        timegate=f"http://127.0.0.1:{port}/",
    )


def _ask_through(fetchers: list[Fetcher], ports: list[int]) -> Ask:
    urls = [f"http://127.0.0.1:{port}/{PAGE}" for port in ports]

    async def ask(index: int) -> None:
        request = Request("HEAD", urls[index], "memento", {"accept-datetime": WHEN})
        async with fetchers[index](request) as reply:
            assert reply.status == 302

    return ask


@asynccontextmanager
async def client(ports: list[int]) -> AsyncGenerator[Ask]:
    names = DnsCache(SystemResolver(threads=1), time.monotonic)
    dialling = Dialling(names, ssl.create_default_context, bytearray(BUFFER), 2.0, 3.0)
    async with AsyncExitStack() as stack:
        fetchers: list[Fetcher] = []
        for number, port in enumerate(ports):
            egress = Egress.of(entry(number, port))
            connections = Connections(4, egress.refusal, dialling)
            stack.push_async_callback(connections.close)
            fetchers.append(HttpFetcher(egress, connections, "bench", Timeouts()))
        yield _ask_through(fetchers, ports)


@asynccontextmanager
async def stack(ports: list[int]) -> AsyncGenerator[Ask]:
    entries = [entry(number, port) for number, port in enumerate(ports)]
    async with open_fetchers(entries, UpstreamSettings("mailto:bench@example.org")) as fetchers:
        yield _ask_through(list(fetchers.values()), ports)


@asynccontextmanager
async def traced_stack(ports: list[int]) -> AsyncGenerator[Ask]:
    entries = [entry(number, port) for number, port in enumerate(ports)]
    around = UpstreamEnvironment(record=lambda _: None)
    async with open_fetchers(
        entries, UpstreamSettings("mailto:bench@example.org"), around
    ) as fetchers:
        yield _ask_through(list(fetchers.values()), ports)


@asynccontextmanager
async def adapters(ports: list[int]) -> AsyncGenerator[Ask]:
    entries = [entry(number, port) for number, port in enumerate(ports)]
    at = Moment("20150630235959")
    async with open_fetchers(entries, UpstreamSettings("mailto:bench@example.org")) as fetchers:
        sources = [
            source_for(entry, fetchers[entry.id], lambda: datetime.now(UTC))
            for entry in entries
        ]

        async def ask(index: int) -> None:
            assert await sources[index].closest(PAGE, at)

        yield ask


CASES: Final[dict[str, Case]] = {
    "tasks without a request": tasks_alone,
    "httptools, bare": bare_httptools,
    "aiohttp's client, bare": bare_aiohttp,
    "our client": client,
    "with breaker and rate limit": stack,
    "the same, with an exchange log": traced_stack,
    "with the adapter": adapters,
}


async def _question(ask: Ask) -> None:
    async with asyncio.TaskGroup() as group:
        for index in range(ARCHIVES):
            group.create_task(_one(ask, index))


async def _one(ask: Ask, index: int) -> None:
    await ask(index)


async def _seconds(case: Case, ports: list[int]) -> float:
    async with case(ports) as ask:
        await _question(ask)
        best = float("inf")
        for _ in range(ROUNDS):
            start = time.process_time()
            for _ in range(QUESTIONS):
                await _question(ask)
            best = min(best, time.process_time() - start)
    return best


def _measure(loop: str, ports: list[int]) -> None:
    print(f"\n{loop:<30}{'us an answer':>14}{'of bare':>9}{'ms a question':>15}")
    factory = uvloop.new_event_loop if loop == "uvloop" else None
    bare = 0.0
    for name, case in CASES.items():
        with asyncio.Runner(loop_factory=factory) as runner:
            seconds = runner.run(_seconds(case, ports))
        each = seconds / QUESTIONS / ARCHIVES
        bare = each if case is bare_httptools else bare
        ratio = f"{each / bare:9.2f}" if bare else f"{'':9}"
        print(f"{name:<30}{each * 1e6:>14.1f}{ratio}{each * ARCHIVES * 1e3:>15.2f}")


def main() -> None:
    """Print the CPU of one answer through each layer, on both loops."""
    command = [sys.executable, "-m", "tests.bench.upstream", "serve"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        ports = [int(server.stdout.readline()) for _ in range(ARCHIVES)]
        for loop in ("asyncio", "uvloop"):
            _measure(loop, ports)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(_serve())
    else:
        main()
