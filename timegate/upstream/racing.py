"""Connects to whichever address of a name answers first (Happy Eyeballs, RFC 8305 5).

One after the other, either an archive far away has no time to answer, or the one who waits
has none left for the next address: with seven of eight dead, each would be waited for in vain.
So the next is tried while those before it may still answer.
"""

import asyncio
import errno
import os
import socket
from collections.abc import Sequence
from typing import Final

TOO_LATE: Final = "no connection in time (TCP and TLS)"
_DELAY: Final = 0.25
"""Seconds until the next address is tried, as RFC 8305 has it; at once where one fails."""

_Attempt = asyncio.Task[socket.socket]


async def first_connected(
    addresses: Sequence[str], port: int, seconds: float
) -> tuple[str, socket.socket]:
    """Return the address that answers first, and a socket to it; to others none is left.

    Raises OSError: what the last of them had to say, or TimeoutError after *seconds* for all.
    """
    # However many they are, the last has half of the time.
    delay = min(_DELAY, seconds / len(addresses) / 2)
    running: dict[_Attempt, str] = {}
    try:
        async with asyncio.timeout(seconds):
            return await _first(addresses, port, delay, running)
    except TimeoutError:
        raise TimeoutError(TOO_LATE) from None
    finally:
        for attempt in running:
            attempt.cancel()
            attempt.add_done_callback(_closed)


async def _first(
    addresses: Sequence[str], port: int, delay: float, running: dict[_Attempt, str]
) -> tuple[str, socket.socket]:
    loop = asyncio.get_running_loop()
    waiting = list(addresses)
    while True:
        if waiting:
            address = waiting.pop(0)
            running[loop.create_task(_connect(address, port))] = address
        done, _ = await asyncio.wait(
            running, timeout=delay if waiting else None, return_when=asyncio.FIRST_COMPLETED
        )
        for attempt in done:
            address = running.pop(attempt)
            failure = attempt.exception()
            if failure is None:
                return address, attempt.result()
            if not waiting and not running:
                raise failure


async def _connect(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setblocking(False)  # noqa: FBT003 -- it takes no keyword
    try:
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
    except BaseException as error:
        sock.close()
        if family == socket.AF_INET6 and _has_no_source(error):
            raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH)) from error
        raise
    return sock


def _has_no_source(error: BaseException) -> bool:
    """Whether we lack an address to connect from.

    Linux says the same where no port is left, which is our trouble; but far more machines are
    without IPv6, as most containers, and then the archive is what cannot be reached.
    """
    return isinstance(error, OSError) and error.errno == errno.EADDRNOTAVAIL


def _closed(attempt: _Attempt) -> None:
    """Close what was connected after all; what failed by now is of no interest."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()
