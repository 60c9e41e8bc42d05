"""The misbehaving archive with quick faults, in this event loop or in a thread."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from timegate.misbehave import (
    EXAMPLE,
    FAULTS,
    Archive,
    ArchiveOptions,
    FakeCapture,
    misbehaving_archive,
    served,
)
from timegate.misbehave.archive import RequestSeen

PAGE: Final = EXAMPLE[0].original
QUICK: Final = ArchiveOptions(
    delay=0.05, interval=0.05, patience=5.0, bulk=1_000_000, bomb=10_000_000
)


class ThreadedArchive(Archive):
    """An archive that is served from a thread."""

    loop: asyncio.AbstractEventLoop


@asynccontextmanager
async def an_archive(
    fault: str = "none",
    captures: Iterable[FakeCapture] = EXAMPLE,
    options: ArchiveOptions = QUICK,
) -> AsyncIterator[Archive]:
    """Serve an archive with *fault* on 127.0.0.1."""
    async with misbehaving_archive(captures, fault, options) as archive:
        yield archive


@contextmanager
def running(fault: str = "none", options: ArchiveOptions = QUICK) -> Iterator[ThreadedArchive]:
    """Serve an archive from a thread, for commands with their own event loop."""
    archive = ThreadedArchive(EXAMPLE, fault, options)
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
    "ArchiveOptions",
    "RequestSeen",
    "an_archive",
    "running",
]
