"""Writes down every exchange with an archive, hop by hop, for people who want to see it."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from archives.errors import ArchiveError, Refused
from archives.source import Fetcher, Reply, Request


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what became of it."""

    archive: str
    request: Request
    status: int | None
    """None if no answer arrived."""
    headers: Mapping[str, str] = field(default_factory=dict)
    error: ArchiveError | None = None
    seconds: float = 0.0
    """Until the head of the answer, or until it failed; waiting out of politeness included."""


def traced(
    fetch: Fetcher, archive: str, record: Callable[[Exchange], None], clock: Callable[[], float]
) -> Fetcher:
    """Return a `Fetcher` that hands each exchange to *record* when it is over."""

    @asynccontextmanager
    async def tracing(request: Request) -> AsyncGenerator[Reply]:
        began = clock()
        answered: Reply | None = None
        seconds: float | None = None
        error: ArchiveError | None = None
        try:
            async with fetch(request) as answered:
                seconds = clock() - began
                yield answered
        except ArchiveError as trouble:
            error = trouble
            raise
        finally:
            took = seconds if seconds is not None else clock() - began
            record(_exchange(archive, request, answered, error, took))

    return tracing


def _exchange(
    archive: str,
    request: Request,
    reply: Reply | None,
    error: ArchiveError | None,
    seconds: float,
) -> Exchange:
    if reply is not None:
        return Exchange(archive, request, reply.status, dict(reply.headers), error, seconds)
    status = error.status if isinstance(error, Refused) else None
    return Exchange(archive, request, status, {}, error, seconds)
