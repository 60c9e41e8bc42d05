"""The local collections of a configuration, opened: asked, served, and kept up to date."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from archives.adapters.warc import WarcArchive
from archives.collection.collection import Collection
from archives.collection.watching import Keeper
from archives.model import ArchiveEntry, ReplayForm
from archives.registry import Registry
from archives.source import Fetcher, Source
from timegate.config import Config
from timegate.resolver import Deadlines
from timegate.web.collections import Collections, Holding
from timegate.web.local_fetcher import LocalFetcher

_LOG: Final = logging.getLogger("timegate.collections")
_READERS: Final = 4
"""Threads that read records; a slow disk holds up those who wait for it, and nobody else."""


@dataclass(frozen=True, slots=True)
class Local:
    """What the rest of the server needs to know of the collections."""

    sources: Mapping[str, Source]
    fetchers: Mapping[str, Fetcher]
    collections: Collections


def is_local(entry: ArchiveEntry) -> bool:
    """Whether *entry* is a collection on our own disk that may be read from here."""
    return entry.kind == "warc" and entry.use and entry.access != "onsite-only"


def addressed(config: Config, base_url: str) -> Config:
    """Return *config* with the addresses under which its collections are served."""
    entries = tuple(_addressed(entry, base_url) for entry in config.registry.entries)
    return replace(config, registry=Registry(entries, shared_hosts=True))


def _addressed(entry: ArchiveEntry, base_url: str) -> ArchiveEntry:
    if entry.kind != "warc":
        return entry
    base = f"{base_url.rstrip('/')}/collections/{entry.id}"
    below = base.partition("://")[2]
    return replace(
        entry,
        replay=entry.replay or f"{base}/{{time14}}/{{uri}}",
        raw=f"{base}/{{time14}}id_/{{uri}}",
        forms=(*entry.forms, ReplayForm(f"{below}/{{time}}{{mod}}/{{uri}}")),
        hosts=(urlsplit(base_url).hostname or "localhost",),
    )


@asynccontextmanager
async def opened(
    registry: Registry, base_url: str, deadlines: Deadlines, *, keep: bool
) -> AsyncIterator[Local]:
    """Open the collections of *registry*; with *keep*, index what comes to their folders."""
    entries = [entry for entry in registry.entries if is_local(entry)]
    async with AsyncExitStack() as stack:
        threads = stack.enter_context(ThreadPoolExecutor(_READERS, "replay"))
        holdings = {}
        for entry in entries:
            collection = Collection(entry.id, Path(str(entry.path)), _index(entry))
            await stack.enter_async_context(collection)
            source = WarcArchive(entry, collection)
            holdings[entry.id] = Holding.of(collection, source, threads)
            if keep:
                keeper = Keeper(collection.place, _LOG.warning)
                await stack.enter_async_context(_kept(keeper))
        collections = Collections(holdings.values(), registry, base_url, deadlines)
        yield Local(
            {name: holding.source for name, holding in holdings.items()},
            {name: LocalFetcher(name, collections, base_url) for name in holdings},
            collections,
        )


def _index(entry: ArchiveEntry) -> Path | None:
    return None if entry.index is None else Path(entry.index)


@asynccontextmanager
async def _kept(keeper: Keeper) -> AsyncIterator[None]:
    """Let *keeper* work until the block ends."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(keeper.run())
        try:
            yield
        finally:
            task.cancel()
