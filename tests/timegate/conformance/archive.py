"""The misbehaving archive as these tests use it, open to the scripts of other sites.

The one place that knows where it lives.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final

from tests.hostile import EXAMPLE, FAULTS, Archive, Capture, Manner, served
from tests.hostile.wire import Answer, Fields, Reply, Request

PAGE: Final = EXAMPLE[0].original
_OPEN: Final[Fields] = (
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", "Link, Location, Memento-Datetime, Content-Location"),
)
_PREFLIGHT: Final[Fields] = (
    *_OPEN,
    ("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"),
    ("Access-Control-Allow-Headers", "Accept-Datetime, Prefer"),
)
QUICK: Final = Manner(delay=0.05, interval=0.05, patience=5.0, bulk=200_000, bomb=20_000_000)


class OpenArchive(Archive):
    """An archive whose answers scripts may read, unless that is the fault."""

    def reply(self, request: Request) -> Reply:
        """Answer, with leave to read it."""
        if request.method == "OPTIONS" and self.fault.name != "no-preflight":
            return Answer(204, _PREFLIGHT)
        reply = super().reply(request)
        if isinstance(reply, Answer) and self.fault.name != "no-cors":
            return Answer(reply.status, (*reply.headers, *_OPEN), reply.body, reply.delay)
        return reply


@asynccontextmanager
async def an_archive(
    fault: str = "none", captures: Iterable[Capture] = EXAMPLE, manner: Manner = QUICK
) -> AsyncIterator[Archive]:
    """Serve an archive with *fault* on 127.0.0.1."""
    archive = OpenArchive(captures, fault, manner)
    async with served(archive):
        yield archive


__all__ = ["EXAMPLE", "FAULTS", "PAGE", "Archive", "Manner", "an_archive"]
