"""Archived files in memory: the bytes as captured, within a budget, for replay."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from archives.errors import ArchiveError, Unreachable
from archives.model import Memento
from archives.registry import Registry
from archives.source import Fetcher, Reply, Request
from timegate.config import is_public
from timegate.extract.fetching import archived_fields, copy_of, fetched, stated_type
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import Budget, RequestContext, counted, placed
from timegate.responses.archived_headers import redirect_target

_TIMEOUT: Final = 15.0
"""Seconds for one file."""


class ArchivedFile(NamedTuple):
    """The bytes of a memento."""

    memento: Memento
    status: int
    content_type: str
    """Empty if it is not stated."""
    octets: bytes
    redirect: str | None
    """The URL to which an archived redirect leads."""


class ArchivedFiles:
    """Reads archived files."""

    def __init__(
        self, fetchers: Mapping[str, Fetcher], registry: Registry, containment: Containment
    ) -> None:
        self._fetchers = fetchers
        self._registry = registry
        self._containment = containment

    async def of(
        self, memento: Memento, context: RequestContext, budget: Budget, most: int
    ) -> ArchivedFile:
        """Return the file, at most *most* octets. Raises ArchiveError."""
        archive, uri = memento.archive, memento.uri
        fetch = self._fetchers.get(archive)
        if fetch is None:
            raise ArchiveError(archive, uri, "is not in use with this configuration")
        entry = self._registry.by_id(archive)
        if entry is None or not entry.kind.is_local:
            paid = entry is None or is_public(entry)
            fetch = _within(placed(fetch, archive, context.places), archive, budget, paid=paid)
            most = min(most, budget.octets)
        with self._containment.around(archive, uri):
            try:
                async with asyncio.timeout(_TIMEOUT):
                    return await self._read(memento, fetch, most)
            except TimeoutError as error:
                why = f"did not send the file within {_TIMEOUT:.0f} s"
                raise Unreachable(archive, uri, why) from error

    async def _read(self, memento: Memento, fetch: Fetcher, most: int) -> ArchivedFile:
        async with fetched(copy_of(memento, self._registry), fetch, most) as copy:
            fields = archived_fields(copy, self._registry) or []
            octets = await copy.octets()
            status = copy.archived_status
            target = redirect_target(status, fields, memento.original)
            return ArchivedFile(memento, status, stated_type(copy) or "", octets, target)


def _within(fetch: Fetcher, archive: str, budget: Budget, *, paid: bool) -> Fetcher:
    """Return *fetch* within *budget*; if *paid*, requests count for the quota of the client."""

    @asynccontextmanager
    async def drawn(request: Request) -> AsyncGenerator[Reply]:
        if paid:
            await budget.draw_paid(archive, request.url)
        else:
            budget.draw(archive, request.url)
        async with counted(fetch(request), budget, archive) as reply:
            yield reply

    return drawn
