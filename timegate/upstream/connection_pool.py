"""Opens connections to one host archive, keeps them for a while, and closes them.

Each host archive has its own: in a pool of 100 for all, 120 requests that hang at one archive
make a healthy one time out (M2). How many are busy at once is up to the archive's `Door`; here
no more are open than that, and none goes where it must not.
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
"""Seconds until the next address is tried, as RFC 8305 has it; at once where one fails."""

_Attempt = asyncio.Task[socket.socket]


class ForbiddenAddress(OSError):
    """Raised before connecting where the address of an archive is not an allowed one."""


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


_AT_A_TURN: Final = 16
"""Answers that are gone on with at one turn of the loop: some 2 ms of work."""

Refusal = Callable[[str], str | None]
"""Says why an address must not be connected to; None if it may."""


@dataclass(frozen=True, slots=True)
class Dialling:
    """What is the same for all connections."""

    names: DnsCache
    tls: Callable[[], ssl.SSLContext]
    buffer: bytearray
    connect_seconds: float
    tls_seconds: float
    answers: FairTurns = field(default_factory=lambda: FairTurns(_AT_A_TURN))
    """Where answers of all archives wait until they are read."""


class Connections:
    """The connections to one host archive."""

    def __init__(self, at_once: int, refusal: Refusal, dialling: Dialling) -> None:
        self._at_once = at_once
        self._refusal = refusal
        self._dialling = dialling
        self._open: set[Http1Connection] = set()
        self._idle: list[Http1Connection] = []
        self._closed: asyncio.Future[None] | None = None

    async def turn(self) -> None:
        """Wait until an answer that has come may be read: one after the other, if many have."""
        await self._dialling.answers.enter()

    @property
    def count(self) -> int:
        """How many are open, busy or not."""
        return len(self._open)

    def idle(self, endpoint: Endpoint) -> Http1Connection | None:
        """Return the last used of the unused connections to *endpoint*, if there is one."""
        for index in range(len(self._idle) - 1, -1, -1):
            connection = self._idle[index]
            if connection.endpoint == endpoint:
                del self._idle[index]
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
        """End the exchange on *connection*, and keep it if it can be used again."""
        if connection.finish():
            self._idle.append(connection)

    async def close(self) -> None:
        """Close all of them, and wait until they are gone."""
        for connection in self._open:
            connection.close()
        if self._open:
            self._closed = asyncio.get_running_loop().create_future()
            await self._closed

    async def _connected(self, endpoint: Endpoint) -> socket.socket:
        """Connect to the first address that answers; what is checked is what is used (R2)."""
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
            # What asyncio raises here has neither number nor words.
            raise ConnectionDropped("ended the TLS handshake") from error

    def _forget(self, connection: Http1Connection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        if self._closed is not None and not self._open and not self._closed.done():
            self._closed.set_result(None)
