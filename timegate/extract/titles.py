"""Titles of archived pages, read from the beginning of their bytes."""

import asyncio
from collections.abc import Mapping
from typing import Final

from archives.errors import ArchiveError, Unreachable
from archives.model import Memento
from archives.registry import Registry
from archives.source import Fetcher
from timegate.extract.fetching import archived_title, copy_of
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import RequestContext, placed

_TIMEOUT: Final = 5.0
"""Seconds for one title."""


class ArchivedTitles:
    """Reads the titles of mementos, with the limits of the client that asks."""

    def __init__(
        self, fetchers: Mapping[str, Fetcher], registry: Registry, containment: Containment
    ) -> None:
        self._fetchers = fetchers
        self._registry = registry
        self._containment = containment

    async def of(self, memento: Memento, context: RequestContext) -> str | None:
        """Return the title; None if the page has none. Raises ArchiveError."""
        archive, uri = memento.archive, memento.uri
        fetch = self._fetchers.get(archive)
        if fetch is None:
            raise ArchiveError(archive, uri, "is not in use with this configuration")
        fetch = placed(fetch, archive, context.places)
        with self._containment.around(archive, uri):
            try:
                async with asyncio.timeout(_TIMEOUT):
                    return await archived_title(copy_of(memento, self._registry), fetch)
            except TimeoutError as error:
                why = f"did not send the copy within {_TIMEOUT:.0f} s"
                raise Unreachable(archive, uri, why) from error
