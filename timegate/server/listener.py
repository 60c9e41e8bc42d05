"""aiohttp's server, below its router, with limits of our own."""

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
"""Seconds for each later one, from the end of the answer before it."""
_DRAIN: Final = 10.0
_BACKLOG: Final = 1024
_UNSENT: Final = 128 * 1024
"""Octets of an answer that wait in the kernel for its reader; up to 2.8 MB did before."""
_LONGEST_LINE: Final = 16_384
"""More than an identifier may have, so that what is too long gets 414 and not 400."""


def check_parser() -> None:
    """Refuse to serve with aiohttp's parser in Python: it takes what llhttp refuses (R31)."""
    if HttpRequestParser is HttpRequestParserPy and "TIMEGATE_PYTHON_PARSER" not in os.environ:
        why = (
            "aiohttp runs without its C extensions: install a wheel for this platform, "
            "or set TIMEGATE_PYTHON_PARSER=1 if you know what you do"
        )
        raise RuntimeError(why)


def bound(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Take *port*, 0 for a free one, before anything is built that has to know it.

    *shared*: several processes listen there. Raises OSError.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    place = socket.create_server(
        (host, port), family=family, backlog=_BACKLOG, reuse_port=shared
    )
    _hold_back(place)
    return place


def _hold_back(place: socket.socket) -> None:
    """Let who reads slowly be known by it, not fill the kernel's memory for all connections.

    The connections of a listener begin with what is set for it. What is under way on a fast
    and long line is not counted, so nothing gets slower.
    """
    with suppress(OSError):
        # As Linux and macOS call it; elsewhere there is no such thing.
        option = getattr(socket, "TCP_NOTSENT_LOWAT", None)
        if option is not None:
            place.setsockopt(socket.IPPROTO_TCP, option, _UNSENT)


@asynccontextmanager
async def serving(
    dispatch: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
    place: socket.socket,
    *,
    head_deadline: float = HEAD_DEADLINE,
    room: ConnectionLimit | None = None,
) -> AsyncIterator[None]:
    """Answer at *place* until the block ends, then let requests under way finish."""
    check_parser()
    room = room or ConnectionLimit(per_client=10_000)
    server = LimitedServer(
        dispatch,
        room,
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
        for listener in (place, *(place.dup() for _ in range(room.at_a_turn - 1))):
            await web.SockSite(runner, listener, backlog=_BACKLOG).start()
        yield
    finally:
        await runner.cleanup()


@asynccontextmanager
async def listening(
    dispatch: Dispatch, host: str, port: int, *, head_deadline: float = HEAD_DEADLINE
) -> AsyncIterator[int]:
    """Serve at a place of its own; yields the port."""
    with bound(host, port) as place:
        async with serving(dispatch, place, head_deadline=head_deadline):
            yield int(place.getsockname()[1])
