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
"""Octets a second that a client has to take on average, after a grace of so many seconds."""
GRACE: Final = 20.0


class ClientDeadline:
    """How long a client may keep us waiting: so long, and a second more for each kilobyte."""

    def __init__(
        self, grace: float = GRACE, slowest: float = _SLOWEST, most: float = inf
    ) -> None:
        """*most*: seconds that are saved up at most by taking octets faster than it has to.

        Octets that wait in the kernel look like taken ones: hundreds of kilobytes of them.
        """
        self._left = grace
        self._slowest = slowest
        self._most = most

    @asynccontextmanager
    async def of(self, octets: int) -> AsyncIterator[None]:
        """Wait for *octets* to be taken; raise TimeoutError if that takes too long."""
        clock = asyncio.get_running_loop().time
        self._left = min(self._left, self._most) + octets / self._slowest
        began = clock()
        async with asyncio.timeout(self._left):
            yield
        self._left -= clock() - began


async def stream(request: web.BaseRequest, response: StreamingResponse) -> web.StreamResponse:
    """Send a body as it is made, at the pace of the client."""
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
                # A slower client would hold archives and memory for nothing (S-16).
                async with reading.of(len(chunk)):
                    await sent.write(chunk)
            # Up to 64 kB are not waited for by `write`, but here.
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
    """Read the body of *request*: not more than *most*, not longer than *seconds* (S16)."""
    received = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.content.iter_any():
                received += chunk
                if len(received) > most:
                    detail = f"at most {most} bytes at once; send the rest in another request"
                    raise EarlyResponse(problem(413, "too-large", detail))
    except TimeoutError as error:
        raise EarlyResponse(
            problem(408, "timeout", "the body did not arrive in time")
        ) from error
    return bytes(received)
