"""Listening sockets, and aiohttp's low-level server with our limits and timeouts."""

import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from aiohttp import web
from aiohttp.http_parser import HttpRequestParser, HttpRequestParserPy

from timegate.server.connection_limit import ConnectionLimit, LimitedServer
from timegate.server.middleware import Dispatch

HEAD_DEADLINE: Final = 10.0
"""Seconds for the head of a connection's first request."""
_KEEP_ALIVE: Final = 30.0
"""Seconds for the head of each later request, from the end of the response before it."""
_DRAIN: Final = 10.0
_BACKLOG: Final = 1024
_UNSENT: Final = 128 * 1024
"""Unsent octets of a response in the kernel's send buffer; without this limit, up to 2.8 MB."""
_LONGEST_LINE: Final = 16_384
"""Octets. Longer than the longest identifier, so that a too long one gets 414 and not 400."""


def check_parser() -> None:
    """Refuse to serve with aiohttp's pure-Python parser, which is laxer than llhttp (R-31)."""
    if HttpRequestParser is HttpRequestParserPy and "TIMEGATE_PYTHON_PARSER" not in os.environ:
        message = (
            "aiohttp runs without its C extensions: install a wheel for this platform, "
            "or set TIMEGATE_PYTHON_PARSER=1 to accept its laxer HTTP parser"
        )
        raise RuntimeError(message)


def bound(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a socket bound to *port*, 0 for a free one; the base URL depends on the port.

    *shared*: several processes listen on the port. Raises OSError.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server(
        (host, port), family=family, backlog=_BACKLOG, reuse_port=shared
    )
    _limit_unsent(listener)
    return listener


def _limit_unsent(listener: socket.socket) -> None:
    """Limit the unsent octets of each connection, so that slow readers are noticed.

    Otherwise they fill the kernel's memory for all connections. Accepted connections inherit
    the option. Octets that are sent but not acknowledged do not count, so fast connections
    with a long round-trip time do not get slower.
    """
    with suppress(OSError):
        # Linux and macOS have the option; other systems do not.
        option = getattr(socket, "TCP_NOTSENT_LOWAT", None)
        if option is not None:
            listener.setsockopt(socket.IPPROTO_TCP, option, _UNSENT)


@asynccontextmanager
async def serving(
    dispatch: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
    listener: socket.socket,
    *,
    head_deadline: float = HEAD_DEADLINE,
    connections: ConnectionLimit | None = None,
) -> AsyncIterator[None]:
    """Serve on *listener* until the block ends, then let requests in progress finish."""
    check_parser()
    connections = connections or ConnectionLimit(per_client=10_000)
    server = LimitedServer(
        dispatch,
        connections,
        access_log=None,
        head_deadline=head_deadline,
        keepalive_timeout=_KEEP_ALIVE,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_LINE,
        lingering_time=2.0,
    )
    runner = web.ServerRunner(server, shutdown_timeout=_DRAIN)
    await runner.setup()
    try:
        copies = (listener.dup() for _ in range(connections.accepted_per_turn - 1))
        for one in (listener, *copies):
            await web.SockSite(runner, one, backlog=_BACKLOG).start()
        yield
    finally:
        await runner.cleanup()


@asynccontextmanager
async def listening(
    dispatch: Dispatch, host: str, port: int, *, head_deadline: float = HEAD_DEADLINE
) -> AsyncIterator[int]:
    """Bind a socket and serve on it; yields the port."""
    with bound(host, port) as listener:
        async with serving(dispatch, listener, head_deadline=head_deadline):
            yield int(listener.getsockname()[1])
