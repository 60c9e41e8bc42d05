"""The misbehaving archive as these tests use it, open to the scripts of other sites.

The one place that knows where it lives.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Final

from tests.hostile import EXAMPLE, FAULTS, Archive, Capture, Manner, served
from tests.hostile.addresses import read_question
from tests.hostile.answers import right_answer
from tests.hostile.faults.fault import Exchange
from tests.hostile.journal import Asked
from tests.hostile.site import Site
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
QUICK: Final = Manner(delay=0.05, interval=0.05, patience=5.0, bulk=1_000_000, bomb=10_000_000)


class OpenExchange(Exchange):
    """An exchange whose right answer scripts may read."""

    @cached_property
    def right(self) -> Answer:
        """What a right archive would answer, with leave to read it."""
        answer = right_answer(self.site, self.request, self.question)
        return replace(answer, headers=(*answer.headers, *_OPEN))


class OpenArchive(Archive):
    """An archive whose answers scripts may read, unless that is the fault."""

    loop: asyncio.AbstractEventLoop
    """Of an archive that is served from a thread."""

    def reply(self, request: Request) -> Reply:
        """Answer, with leave to read it."""
        if self.fault.name == "no-cors":
            return super().reply(request)
        if request.method == "OPTIONS" and self.fault.name != "no-preflight":
            return Answer(204, _PREFLIGHT)
        site = Site(self.holdings, self.addresses, self.manner)
        reply = self.fault.reply(OpenExchange(site, request, read_question(request.target)))
        if isinstance(reply, Answer) and reply.value("Access-Control-Allow-Origin") is None:
            return replace(reply, headers=(*reply.headers, *_OPEN))
        return reply


@asynccontextmanager
async def an_archive(
    fault: str = "none", captures: Iterable[Capture] = EXAMPLE, manner: Manner = QUICK
) -> AsyncIterator[Archive]:
    """Serve an archive with *fault* on 127.0.0.1."""
    archive = OpenArchive(captures, fault, manner)
    async with served(archive):
        yield archive


@contextmanager
def running(fault: str = "none", manner: Manner = QUICK) -> Iterator[OpenArchive]:
    """Serve an archive from a thread, for commands that have an event loop of their own."""
    archive = OpenArchive(EXAMPLE, fault, manner)
    archive.loop = loop = asyncio.new_event_loop()
    ready, over = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with served(archive):
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(10)
        yield archive
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)
        loop.close()


__all__ = [
    "EXAMPLE",
    "FAULTS",
    "PAGE",
    "QUICK",
    "Archive",
    "Asked",
    "Manner",
    "an_archive",
    "running",
]
