"""Many archives at once, and thousands of idle or slow clients."""

import asyncio
import socket
import time
from collections.abc import Iterator
from itertools import count
from typing import Final

from tests.chaos.rig.archives import archives
from tests.chaos.rig.asking import (
    DATE,
    Answer,
    Client,
    original,
    percentile,
    statuses,
    timegates,
)
from tests.chaos.rig.liveness import pinged
from tests.chaos.rig.timegates import timegate
from tests.chaos.scenario import Rig, Scenario

_EACH: Final = 25
"""Connections from one address; the limit is 32."""


async def many_archives(rig: Rig) -> None:
    """LO-08: 35 archives at 50 ms, 200 new questions at once."""
    with archives(35, rig.folder) as farm:
        farm.behave(range(35), seconds=0.05)
        with timegate(rig.place("t"), farm.entries()) as server:
            await Client(server.port).at_once(timegates("warm", 10), 1)
            farm.forget()
            async with pinged(server.port, rig.folder) as liveness:
                answers = await Client(server.port).at_once(timegates("many", 200), 200)
            counts = farm.request_counts
    right = [
        a
        for a in answers
        if a.header("Location") == farm.closest(DATE, range(35), original(a.target))
    ]
    marked = [
        a
        for a in answers
        if a in right
        or (a.status == 302 and "partial" in (a.header("Memento-Precision") or ""))
    ]
    rig.promise(
        "200 new questions at once to 35 archives: right, or marked as partial",
        f"{len(right)} right, {len(marked) - len(right)} partial of 200 ({statuses(answers)})",
        "all",
        met=len(marked) == len(answers),
    )
    rig.speed(
        "requests to an archive, fewest and most",
        f"{min(counts)} and {max(counts)}",
        "within 10 %",
        met=min(counts) >= 0.9 * max(counts),
    )
    rig.speed("liveness", liveness, "p99 100 ms", met=liveness.p99 <= 100)


class Crowd:
    """Connections from many addresses of 127.0.0.0/8, kept open."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._numbers = count()
        self.open: list[socket.socket] = []
        self.failed = 0

    def _address(self) -> str:
        number = next(self._numbers) // _EACH
        return f"127.{20 + number // 250}.1.{number % 250 + 1}"

    async def join(self, octets: bytes) -> None:
        """Open a connection, send *octets*, and read nothing."""
        client = socket.socket()
        client.setblocking(False)  # noqa: FBT003 -- its only parameter
        # Unread data is then buffered in the server, not in the kernel.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        loop = asyncio.get_running_loop()
        try:
            client.bind((self._address(), 0))
            await asyncio.wait_for(loop.sock_connect(client, ("127.0.0.1", self._port)), 10)
            await loop.sock_sendall(client, octets)
        except (OSError, TimeoutError):
            self.failed += 1
            client.close()
        else:
            self.open.append(client)

    def read_little(self) -> Iterator[int]:
        """Read a little from each."""
        for client in self.open:
            try:
                yield len(client.recv(1000))
            except BlockingIOError:
                yield -1
            except OSError:
                yield 0

    def close(self) -> None:
        for client in self.open:
            client.close()


def _octets(port: int, number: int) -> bytes:
    """Return half a head, a request, or a request for a list."""
    client = Client(port)
    match number % 3:
        case 0:
            return b"GET /timegate/http://www.example.org/ HTTP/1.1\r\nHost: loc"
        case 1:
            return client.request("/healthz", last=False)
        case _:
            return client.request("/timemap/link/http://www.example.org/list", last=False)


async def slow_clients(rig: Rig) -> None:
    """RB-02, S13: 10,000 connections: half a head, idle, slow readers, a third each."""
    wanted = rig.scaled(10_000, 1_500)
    with archives(2, rig.folder) as farm:
        farm.behave([0], length=3000)
        limited = ("prlimit", "--nofile=12000", "--")
        with timegate(rig.place("t"), farm.entries(), before=limited) as server:
            await Client(server.port).ask("/timemap/link/http://www.example.org/list")
            crowd = Crowd(server.port)
            rig.stack.callback(crowd.close)
            began = time.monotonic()
            for first in range(0, wanted, 200):
                numbers = range(first, min(first + 200, wanted))
                await asyncio.gather(
                    *(crowd.join(_octets(server.port, number)) for number in numbers)
                )
            took = time.monotonic() - began
            held = server.running.descriptors
            answers = await _normal_client(crowd, Client(server.port), rig.scaled(15, 5))
            peak = server.running.peak
    rig.promise(
        f"{wanted:,} slow clients in {took:.0f} s: memory",
        f"{peak:.0f} MB with {held:,} descriptors open ({crowd.failed} rejected)",
        "300 MB",
        met=peak <= 300,
    )
    p99 = percentile(answers, 0.99)
    good = [answer for answer in answers if answer.status == 302]
    rig.promise(
        "a normal client at the same time",
        f"{len(good)} of {len(answers)} ({statuses(answers)})",
        "all answered",
        met=len(good) == len(answers),
    )
    rig.speed("its p99", f"{p99:.2f} s", "1 s", met=p99 <= 1)


async def _normal_client(crowd: Crowd, client: Client, seconds: int) -> list[Answer]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(client.at_rate(timegates("normal", seconds * 10), 10))
        for _ in range(seconds):
            sum(crowd.read_little())
            await asyncio.sleep(1)
    return task.result()


SCENARIOS: Final = (
    Scenario("many-archives", "LO-08", many_archives),
    Scenario("slow-clients", "RB-02, S13", slow_clients, 150),
)
