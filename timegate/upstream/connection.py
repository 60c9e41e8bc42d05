"""Opens connections: one pool for each host archive, names resolved off everybody's way.

aiohttp's default is one pool of 100 for all, where 120 requests that hang at one archive made
a healthy one time out (M2), and names looked up in the six threads that do all other blocking
work as well (M4).
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from timegate.upstream.translation import ForbiddenAddress

_FIELD_LIMIT: Final = 64 * 1024
"""A Link field may repeat a long URL five times: with aiohttp's 8190 bytes that fails (M3)."""
_FIELD_COUNT: Final = 256
_LINE_LIMIT: Final = 8190
_BUFFER: Final = 64 * 1024
_IDLE: Final = 30.0
_NAMES_KEPT: Final = 60

Refusal = Callable[[str], str | None]
"""Says why an address must not be connected to; None if it may."""


class _Dropped(aiohttp.ClientConnectionError):
    """A new connection that ended without an answer; not one that aiohttp tries again."""


class Attempt:
    """Keeps aiohttp from asking twice.

    It repeats a GET whose connection ends without an answer. That is right for a connection
    that was kept alive and closed meanwhile (RFC 9112 9.3.1), but a server that drops a new
    one would get two requests for each of ours, past the token bucket (S8).
    """

    def __init__(self) -> None:
        self.new_connection = False

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        self.new_connection = False
        try:
            return await handler(request)
        except aiohttp.ServerDisconnectedError as error:
            if self.new_connection:
                raise _Dropped("closed the connection without an answer") from error
            raise
        except aiohttp.ClientConnectorError:
            raise
        except aiohttp.ClientOSError as error:
            if self.new_connection:
                raise _Dropped(f"connection lost: {error.strerror or error}") from error
            raise


async def _note_new_connection(
    _session: aiohttp.ClientSession,
    context: SimpleNamespace,
    _parameters: aiohttp.TraceConnectionCreateEndParams,
) -> None:
    context.trace_request_ctx.new_connection = True


class BoundedResolver(AbstractResolver):
    """Ends a look-up after *seconds*, which aiohttp does not."""

    def __init__(self, inner: AbstractResolver, seconds: float) -> None:
        self._inner = inner
        self._seconds = seconds

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._inner.resolve(host, port, family)
        except TimeoutError:
            raise OSError(None, f"no answer from DNS in {self._seconds:g} s") from None

    async def close(self) -> None:
        await self._inner.close()


class SystemResolver(AbstractResolver):
    """Asks the operating system, in threads of its own: knows /etc/nsswitch.conf and mDNS."""

    def __init__(self, threads: int = 32) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="dns")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await asyncio.get_running_loop().run_in_executor(
            self._threads, socket.getaddrinfo, host, port, family, socket.SOCK_STREAM
        )
        return [
            ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=port,
                family=kind,
                proto=protocol,
                flags=socket.AI_NUMERICHOST,
            )
            for kind, _, protocol, _, address in found
        ]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def guarded_socket(refusal: Refusal) -> Callable[[aiohttp.AddrInfoType], socket.socket]:
    """Return a socket factory that looks at the very address that is connected to (R2)."""

    def make(address: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, endpoint = address
        why = refusal(str(endpoint[0]))
        if why is not None:
            raise ForbiddenAddress(why)
        return socket.socket(family, kind, protocol)

    return make


@asynccontextmanager
async def session(
    at_once: int, refusal: Refusal, resolver: AbstractResolver, tls: ssl.SSLContext | None
) -> AsyncGenerator[aiohttp.ClientSession]:
    """Open a session with a pool of *at_once* connections that go where *refusal* lets them."""
    connector = aiohttp.TCPConnector(
        limit=at_once,
        keepalive_timeout=_IDLE,
        resolver=resolver,
        ttl_dns_cache=_NAMES_KEPT,
        socket_factory=guarded_socket(refusal),
        ssl=tls if tls is not None else True,
    )
    watch = aiohttp.TraceConfig()
    watch.on_connection_create_end.append(_note_new_connection)
    async with aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent", "Content-Type"),
        read_bufsize=_BUFFER,
        max_line_size=_LINE_LIMIT,
        max_field_size=_FIELD_LIMIT,
        max_headers=_FIELD_COUNT,
        trace_configs=[watch],
    ) as opened:
        yield opened
