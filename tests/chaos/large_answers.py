"""Memory for a list of a million mementos, and for large mementos with slow readers."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from tests.chaos.rig.archives import archives
from tests.chaos.rig.asking import Client
from tests.chaos.rig.liveness import pinged
from tests.chaos.rig.timegates import timegate
from tests.chaos.scenario import Rig, Scenario

_STAMP: Final = re.compile(rb'/([0-9]{14})/[^>]*+>; rel="(?:first |last )*+memento"')
_PAGE: Final = "http://www.example.org/large"
_OTHERS: Final = 10_000


@asynccontextmanager
async def _answer(port: int, target: str) -> AsyncIterator[asyncio.StreamReader]:
    client = Client(port, date=None)
    reader, writer = await client.connect()
    try:
        # HTTP/1.0, so that the body has no chunks.
        request = client.request(target, last=True).replace(b"HTTP/1.1", b"HTTP/1.0", 1)
        writer.write(request)
        yield reader
    finally:
        writer.transport.abort()


async def long_list(rig: Rig) -> None:
    """RB-01, S12: one archive lists a million mementos, eleven others 10,000 each."""
    length = rig.scaled(1_000_000, 100_000)
    with archives(12, rig.folder) as farm:
        farm.behave([0], length=length)
        farm.behave(range(1, 12), length=_OTHERS)
        with timegate(rig.place("t"), farm.entries()) as server:
            began = time.monotonic()
            async with (
                pinged(server.port, rig.folder) as liveness,
                _answer(server.port, f"/timemap/link/{_PAGE}") as reader,
            ):
                first, count, in_order = await _read_list(reader)
                took = time.monotonic() - began
            peak = server.running.peak
    wanted = length + 11 * _OTHERS
    rig.promise(
        f"a TimeMap of {wanted:,} mementos: sorted and complete",
        f"{count:,}, {'in order' if in_order else 'not in order'}",
        f"{wanted:,}, in order",
        met=count == wanted and in_order,
    )
    rig.promise("its peak memory", f"{peak:.0f} MB", "256 MB", met=peak <= 256)
    rig.speed(
        "its first byte",
        f"{first - began:.1f} s of {took:.0f} s",
        "2 s",
        met=first - began <= 2,
    )
    rig.speed("liveness meanwhile", liveness, "max 250 ms", met=liveness.worst <= 250)


async def _read_list(reader: asyncio.StreamReader) -> tuple[float, int, bool]:
    await reader.readuntil(b"\r\n\r\n")
    first = 0.0
    count, last, rest, in_order = 0, b"", b"", True
    while piece := await reader.read(1 << 20):
        first = first or time.monotonic()
        rest += piece
        end = rest.rfind(b"\n") + 1
        stamps = _STAMP.findall(rest[:end])
        rest = rest[end:]
        in_order = in_order and [last, *stamps] == sorted([last, *stamps])
        last = stamps[-1] if stamps else last
        count += len(stamps)
    return first, count + len(_STAMP.findall(rest)), in_order


async def slow_list_reader(rig: Rig) -> None:
    """RB-01: the same list for a client that reads 200 kB a second, for some seconds."""
    seconds = rig.scaled(20, 8)
    with archives(12, rig.folder) as farm:
        farm.behave([0], length=1_000_000)
        farm.behave(range(1, 12), length=_OTHERS)
        with timegate(rig.place("t"), farm.entries()) as server:
            async with _answer(server.port, f"/timemap/link/{_PAGE}") as reader:
                for _ in range(seconds * 10):
                    await reader.read(20_000)
                    await asyncio.sleep(0.1)
                peak = server.running.peak
            await asyncio.sleep(1)
            left = server.running.descriptors
    rig.promise(
        f"{seconds} s of a slow reader (200 kB/s): peak memory",
        f"{peak:.0f} MB, then {left} descriptors",
        "256 MB",
        met=peak <= 256,
    )


async def large_mementos(rig: Rig) -> None:
    """RB-05: raw mementos of 1 GB for clients that read 100 kB a second."""
    readers, seconds = rig.scaled(50, 20), rig.scaled(15, 6)
    with archives(1, rig.folder) as farm:
        farm.behave([0], size=1 << 30)
        with timegate(rig.place("t"), farm.entries()) as server:
            stamp = farm.closest("Fri, 22 Jan 2010 11:20:29 GMT", [0], "").split("/")[4]
            target = f"/memento/proxy/{stamp}/{_PAGE}"
            async with _answer(server.port, target) as reader:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            await asyncio.sleep(1)
            before = server.running.megabytes
            server.running.reset_peak()
            async with asyncio.TaskGroup() as group:
                for _ in range(readers):
                    group.create_task(_read_slowly(server.port, target, seconds))
            grown = server.running.peak - before
    rig.promise(
        f"{readers} raw mementos of 1 GB for slow readers: memory",
        f"+{grown:.0f} MB ({head.split(chr(13))[0]})",
        f"+{readers} MB",
        met=grown <= readers and " 200 " in head,
    )


async def _read_slowly(port: int, target: str, seconds: int) -> None:
    async with _answer(port, target) as reader:
        for _ in range(seconds * 10):
            await reader.read(10_000)
            await asyncio.sleep(0.1)


SCENARIOS: Final = (
    Scenario("long-list", "RB-01, S12, S3", long_list, 150),
    Scenario("slow-list-reader", "RB-01, S12", slow_list_reader, 90),
    Scenario("large-mementos", "RB-05", large_mementos, 90),
)
