"""Connection pool of one host, and connecting to the first of its addresses that answers.

Each host has a pool of its own: with one pool of 100 for all archives, 120 requests that hang
at one of them make a healthy one time out. The `RequestQueue` of the archive limits how many
connections are busy; the pool opens no more than that, and only to allowed addresses.
"""

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from timegate.event_loop import FairTurns
from timegate.upstream.dns import DnsCache
from timegate.upstream.egress import Endpoint
from timegate.upstream.http1 import ConnectionDropped, Http1Connection

TOO_LATE: Final = "no connection in time (TCP and TLS)"
_DELAY: Final = 0.25
"""Seconds until the next address is tried (RFC 8305); it is tried at once after a failure."""

_Attempt = asyncio.Task[socket.socket]


class ForbiddenAddress(OSError):
    """Raised before connecting where the address of an archive is not an allowed one."""


async def first_connected(
    addresses: Sequence[str], port: int, seconds: float
) -> tuple[str, socket.socket]:
    """Return the address that answers first, and a socket to it; all others are closed.

    Raises OSError: the error of the last address, or TimeoutError after *seconds* in all.
    """
    # However many addresses there are, the last one has half of the time.
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
    """Whether this machine has no address to connect from.

    Linux reports the same error where no local port is left, which would be a local fault. But
    far more machines lack IPv6, such as most containers, and there the archive is unreachable.
    """
    return isinstance(error, OSError) and error.errno == errno.EADDRNOTAVAIL


def _closed(attempt: _Attempt) -> None:
    """Close a socket that was connected too late; a late failure is ignored."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()


_RESPONSES_PER_TURN: Final = 16
"""Responses processed in one turn of the event loop: some 2 ms of work."""

Refusal = Callable[[str], str | None]
"""Returns why an address must not be connected to; None if it may."""


@dataclass(frozen=True, slots=True)
class Dialling:
    """What all connections of all hosts share."""

    names: DnsCache
    tls: Callable[[], ssl.SSLContext]
    buffer: bytearray
    connect_seconds: float
    tls_seconds: float
    responses: FairTurns = field(default_factory=lambda: FairTurns(_RESPONSES_PER_TURN))
    """Limits how many responses are processed in one turn of the event loop."""


class Connections:
    """The connections to one host."""

    def __init__(self, at_once: int, refusal: Refusal, dialling: Dialling) -> None:
        self._at_once = at_once
        self._refusal = refusal
        self._dialling = dialling
        self.turns = dialling.responses
        """The turns in which responses that have arrived are processed."""
        self._open: set[Http1Connection] = set()
        self._idle: list[Http1Connection] = []
        self._closed: asyncio.Future[None] | None = None

    @property
    def count(self) -> int:
        """Number of open connections, busy or idle."""
        return len(self._open)

    def idle(self, endpoint: Endpoint) -> Http1Connection | None:
        """Return the most recently used idle connection to *endpoint*, if there is one."""
        idle = self._idle
        for index in range(len(idle) - 1, -1, -1):
            connection = idle[index]
            if connection.endpoint is endpoint or connection.endpoint == endpoint:
                del idle[index]
                if connection.usable:
                    return connection
        return None

    async def opened(self, endpoint: Endpoint) -> Http1Connection:
        """Open a connection. Raises OSError, also ForbiddenAddress and UnknownName."""
        while self._idle and len(self._open) >= self._at_once:
            self._idle.pop(0).close()
        sock = await self._connected(endpoint)
        connection = Http1Connection(endpoint, self._dialling.buffer, self._forget)
        self._open.add(connection)
        try:
            await self._handed_over(sock, connection)
        except BaseException:
            self._forget(connection)
            sock.close()
            raise
        return connection

    def give_back(self, connection: Http1Connection) -> None:
        """End the exchange on *connection*; it stays open if it can be used again."""
        if connection.finish():
            self._idle.append(connection)

    async def close(self) -> None:
        """Close all connections, and wait until they are closed."""
        for connection in self._open:
            connection.close()
        if self._open:
            self._closed = asyncio.get_running_loop().create_future()
            await self._closed

    async def _connected(self, endpoint: Endpoint) -> socket.socket:
        """Connect to the first allowed address that answers, after checking it (R-2)."""
        names = self._dialling.names
        addresses = await names.addresses(endpoint.host)
        refusals = {address: self._refusal(address) for address in addresses}
        allowed = [address for address, why in refusals.items() if why is None]
        if not allowed:
            raise ForbiddenAddress(next(filter(None, refusals.values())))
        address, sock = await first_connected(
            allowed, endpoint.port, self._dialling.connect_seconds
        )
        names.prefer(endpoint.host, address)
        return sock

    async def _handed_over(self, sock: socket.socket, connection: Http1Connection) -> None:
        loop = asyncio.get_running_loop()
        if connection.endpoint.scheme == "http":
            await loop.create_connection(lambda: connection, sock=sock)
            return
        try:
            async with asyncio.timeout(self._dialling.tls_seconds):
                await loop.create_connection(
                    lambda: connection,
                    sock=sock,
                    ssl=self._dialling.tls(),
                    server_hostname=connection.endpoint.host,
                )
        except TimeoutError:
            raise TimeoutError(TOO_LATE) from None
        except ConnectionError as error:
            # The error that asyncio raises here has neither errno nor message.
            raise ConnectionDropped("ended the TLS handshake") from error

    def _forget(self, connection: Http1Connection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        if self._closed is not None and not self._open and not self._closed.done():
            self._closed.set_result(None)
