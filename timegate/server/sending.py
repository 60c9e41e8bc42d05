"""Reading request bodies and sending responses, with limits on size and time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from math import inf
from typing import Final

from aiohttp import web
from multidict import CIMultiDict

from archives.errors import ArchiveError
from timegate.responses.model import EarlyResponse, StreamingResponse
from timegate.responses.problems import problem
from timegate.server.connection_limit import COMMON

_SLOWEST: Final = 1024
"""Octets per second that a client has to read on average, after the grace period."""
GRACE: Final = 20.0
"""Seconds."""


class ClientDeadline:
    """Limits the time spent sending to a client: a grace period, and a second per kilobyte."""

    def __init__(
        self, grace: float = GRACE, slowest: float = _SLOWEST, most: float = inf
    ) -> None:
        """*most*: seconds that a client can save up by reading faster than it has to.

        Octets in the kernel's buffers, hundreds of kilobytes, look as if they had been read.
        """
        self._left = grace
        self._slowest = slowest
        self._most = most

    @asynccontextmanager
    async def of(self, octets: int) -> AsyncIterator[None]:
        """Wait in this block until *octets* are sent. Raises TimeoutError."""
        clock = asyncio.get_running_loop().time
        self._left = min(self._left, self._most) + octets / self._slowest
        began = clock()
        async with asyncio.timeout(self._left):
            yield
        self._left -= clock() - began


async def stream(request: web.BaseRequest, response: StreamingResponse) -> web.StreamResponse:
    """Send a body while it is produced, at the pace of the client."""
    headers = CIMultiDict(COMMON)
    headers.update(response.headers)
    sent = web.StreamResponse(status=response.status, headers=headers)
    async with aclosing(response.chunks) as chunks:
        await sent.prepare(request)
        if request.method == "HEAD":
            return sent
        reading = _deadline(response)
        try:
            async for chunk in chunks:
                # A slower client would hold connections to archives, and memory.
                async with reading.of(len(chunk)):
                    await sent.write(chunk)
            # `write` does not wait for the last 64 kB; this does.
            async with reading.of(0):
                await sent.write_eof()
        except ConnectionError:
            # The client has disconnected.
            return sent
        except (ArchiveError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()
            raise
    return sent


def _deadline(response: StreamingResponse) -> ClientDeadline:
    idle = response.most_idle
    return ClientDeadline() if idle is None else ClientDeadline(idle, most=idle)


async def body_of(request: web.BaseRequest, most: int, seconds: float) -> bytes:
    """Return the body of *request*. Raises EarlyResponse if it is too large or too slow."""
    received = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.content.iter_any():
                received += chunk
                if len(received) > most:
                    detail = f"a body may have {most} bytes; send the rest in another request"
                    raise EarlyResponse(problem(413, "too-large", detail))
    except TimeoutError as error:
        raise EarlyResponse(
            problem(408, "timeout", f"the body did not arrive within {seconds:g} seconds")
        ) from error
    return bytes(received)
