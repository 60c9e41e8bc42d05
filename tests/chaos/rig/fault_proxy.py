"""A TCP proxy that simulates a bad network to an archive or Redis, instead of netem."""

import asyncio
import random
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

_BLOCK: Final = 65536


@dataclass
class Faults:
    """The faults; they can be changed while connections are open."""

    latency: float = 0.0
    jitter: float = 0.0
    """Random additional delay, up to so many seconds."""
    bandwidth: float = 0.0
    """Bytes a second; 0 for no limit."""
    slices: int = 0
    """Bytes in a piece; 0 for the pieces as they were read."""
    reset_share: float = 0.0
    """Share of connections that end in a reset at their first answer."""
    most: int = 0
    """Bytes after which a connection is closed; 0 for never."""
    half_closed: bool = False
    """The connection to the client stays open after the server has closed its own."""
    hold: bool = False
    """Nothing is forwarded."""
    chance: random.Random = field(default_factory=lambda: random.Random(11))  # noqa: S311 -- the same faults in every run

    async def wait(self, octets: int) -> None:
        while self.hold:  # noqa: ASYNC110 -- a plain attribute, set by the scenario
            await asyncio.sleep(0.05)
        pause = self.latency + self.jitter * self.chance.random()
        if self.bandwidth:
            pause += octets / self.bandwidth
        if pause:
            await asyncio.sleep(pause)


@dataclass(frozen=True, slots=True)
class FaultProxy:
    """A running proxy."""

    port: int
    faults: Faults


@asynccontextmanager
async def fault_proxy(upstream: int, faults: Faults | None = None) -> AsyncIterator[FaultProxy]:
    """Run a proxy to the port *upstream* of 127.0.0.1."""
    settings = faults or Faults()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner, outer = await asyncio.open_connection("127.0.0.1", upstream)
        except OSError:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            way_in = _pump(reader, outer, Faults())
            await asyncio.gather(way_in, _pump(inner, writer, settings), return_exceptions=True)
        except asyncio.CancelledError:
            # The proxy is being stopped, which waits for this task.
            writer.transport.abort()
        finally:
            tasks.discard(task)

    tasks: set[asyncio.Task[object]] = set()
    async with await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024) as server:
        try:
            yield FaultProxy(server.sockets[0].getsockname()[1], settings)
        finally:
            server.close()
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, faults: Faults
) -> None:
    sent = 0
    try:
        while octets := await reader.read(_BLOCK):
            if sent == 0 and faults.chance.random() < faults.reset_share:
                _reset(writer)
                return
            await _forward(octets, writer, faults)
            sent += len(octets)
            if faults.most and sent > faults.most:
                return
    except OSError:
        writer.transport.abort()
    finally:
        if not faults.half_closed:
            writer.close()


async def _forward(octets: bytes, writer: asyncio.StreamWriter, faults: Faults) -> None:
    size = faults.slices or len(octets)
    for start in range(0, len(octets), size):
        piece = octets[start : start + size]
        if start == 0 or faults.bandwidth:
            await faults.wait(len(piece))
        writer.write(piece)
        await writer.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
