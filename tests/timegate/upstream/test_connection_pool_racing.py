"""Connecting to several addresses at once, over real sockets: one wins, the others close."""

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from timegate.upstream.connection_pool import first_connected

LIVE = "127.0.0.1"
REFUSING = "127.0.0.99"
_OPEN = ("01", "02")
"""ESTABLISHED and SYN_SENT."""
SILENT = [f"127.0.0.{number}" for number in range(2, 9)]


@contextmanager
def silent(address: str, port: int) -> Iterator[None]:
    """Listen with a full queue, so that the next connection is not accepted."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server((address, port), backlog=0))
        del server
        stack.enter_context(socket.create_connection((address, port)))
        for _ in range(2):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)  # noqa: FBT003 -- it takes no keyword
            assert waiting.connect_ex((address, port)) in (0, errno.EINPROGRESS)
        yield


@contextmanager
def live() -> Iterator[int]:
    with socket.create_server((LIVE, 0)) as server:
        yield int(server.getsockname()[1])


def connections(port: int) -> int:
    """Return how many are open to *port* or on the way there, as the kernel sees it."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(1 for row in rows if row[2].endswith(f":{port:04X}") and row[3] in _OPEN)


async def settled() -> None:
    """Let the loop finish cancelled tasks."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_the_next_address_is_tried_while_the_first_does_not_answer() -> None:
    with live() as port, silent(SILENT[0], port):
        before = connections(port)
        address, sock = await first_connected([SILENT[0], LIVE], port, 10)
        await settled()

        assert address == LIVE
        assert sock.getpeername() == (LIVE, port)
        assert connections(port) == before + 1
        sock.close()


async def test_one_live_address_of_eight_is_enough() -> None:
    with live() as port, ExitStack() as stack:
        for address in SILENT:
            stack.enter_context(silent(address, port))
        before = connections(port)
        address, sock = await first_connected([*SILENT, LIVE], port, 10)
        await settled()

        assert address == LIVE
        assert connections(port) == before + 1
        sock.close()


async def test_after_a_refused_connection_the_next_address_is_tried() -> None:
    with live() as port:
        address, sock = await first_connected([REFUSING, REFUSING, LIVE], port, 10)
    assert address == LIVE
    sock.close()


async def test_if_all_addresses_refuse_the_error_says_so() -> None:
    with live() as port:
        pass
    with pytest.raises(ConnectionRefusedError):
        await first_connected([REFUSING, LIVE], port, 10)


async def test_if_no_address_answers_no_socket_is_left() -> None:
    with live() as port, silent(SILENT[0], port), silent(SILENT[1], port):
        before = connections(port)
        with pytest.raises(TimeoutError, match="no connection in time"):
            await first_connected(SILENT[:2], port, 0.05)
        await settled()

        assert connections(port) == before


async def test_a_cancelled_connection_leaves_no_socket() -> None:
    with live() as port, silent(SILENT[0], port):
        before = connections(port)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(first_connected([SILENT[0]], port, 10))
            await settled()
            assert connections(port) > before
            task.cancel()
        await settled()

        assert connections(port) == before
