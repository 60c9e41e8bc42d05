"""The local collections of a configuration, opened: asked, served, and kept up to date."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final
from urllib.parse import quote, urlsplit

from archives.adapters.warc import WarcArchive
from archives.model import ArchiveEntry, ReplayForm
from archives.registry import DEFAULT_LIMITS, Registry
from archives.source import Fetcher, Source
from archives.warc.captures import FileOpener, open_local
from archives.warc.captures import RecordLocation as Record
from archives.warc.remote import FileAddress, HttpRanges, open_remote, safe_path
from archives.warc.replay import Replayer
from archives.warc_index.cdx import CdxServerIndex
from archives.warc_index.collection import Collection, IndexUpdater
from archives.warc_index.model import LocalFiles, RemoteFiles, is_remote_path
from archives.warc_index.s3 import S3Bucket, S3NotInstalled
from timegate.collections.access import OpenCollection
from timegate.collections.replay import CollectionReplay, LocalFetcher
from timegate.config import HOME_LIMITS, BadConfig, Config, is_local
from timegate.responses.model import ClientRequest, Handler, Response, StreamingResponse

if TYPE_CHECKING:
    from timegate.upstream.stack import UpstreamSettings

_LOG: Final = logging.getLogger("timegate.collections")
_S3: Final = "s3://"
_READERS: Final = 4
"""Threads that read records; a slow disk holds up those who wait for it, and nobody else."""


@dataclass(frozen=True, slots=True)
class LocalCollections:
    """What the rest of the server needs to know of the collections."""

    sources: Mapping[str, Source]
    fetchers: Mapping[str, Fetcher]
    collections: Sequence[OpenCollection]


def with_replay_addresses(config: Config, base_url: str) -> Config:
    """Return *config* with the addresses under which its collections are served."""
    entries = tuple(_addressed(entry, base_url) for entry in config.registry.entries)
    return replace(config, registry=Registry(entries, shared_hosts=True))


def _addressed(entry: ArchiveEntry, base_url: str) -> ArchiveEntry:
    if not entry.kind.is_local:
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
async def open_collections(
    registry: Registry,
    base_url: str,
    *,
    keep: bool,
    settings: "UpstreamSettings | None" = None,
) -> AsyncIterator[LocalCollections]:
    """Open the collections of *registry*; with *keep*, index what comes to their folders.

    *settings* are for collections whose files or index lie elsewhere. Raises BadConfig.
    """
    entries = [entry for entry in registry.entries if is_local(entry)]
    async with AsyncExitStack() as stack:
        fetchers = await stack.enter_async_context(_fetchers(entries, settings))
        threads = await stack.enter_async_context(_readers())
        holdings = {}
        for entry in entries:
            shelf = _shelf(entry, fetchers)
            if isinstance(shelf, Collection):
                await stack.enter_async_context(shelf)
                if keep and isinstance(shelf.place, LocalFiles):
                    keeper = IndexUpdater(shelf.place, _LOG.warning)
                    await stack.enter_async_context(_kept(keeper))
            replayer = Replayer(entry.id, shelf, threads, _opening(entry, fetchers, stack))
            holdings[entry.id] = OpenCollection(shelf, WarcArchive(entry, shelf), replayer)
        replay = _replay(holdings, registry, base_url)
        yield LocalCollections(
            {name: holding.source for name, holding in holdings.items()},
            {name: LocalFetcher(name, replay, base_url) for name in holdings},
            tuple(holdings.values()),
        )


def _replay(
    holdings: Mapping[str, OpenCollection], registry: Registry, base_url: str
) -> Handler:
    """Return a handler that replays the captures of all collections."""
    replays = {
        name: CollectionReplay(
            holding.shelf,
            holding.replayer,
            holding.answers(registry, f"{base_url.rstrip('/')}/collections/{name}"),
            base_url,
        )
        for name, holding in holdings.items()
    }

    async def replayed(request: ClientRequest) -> Response | StreamingResponse:
        name, _, rest = request.rest.partition("/")
        return await replays[name](request._replace(rest=rest))

    return replayed


@asynccontextmanager
async def _readers() -> AsyncIterator[ThreadPoolExecutor]:
    """Yield threads that may wait for the loop, and so are not waited for in it."""
    threads = ThreadPoolExecutor(_READERS, "replay")
    try:
        yield threads
    finally:
        ending = partial(threads.shutdown, cancel_futures=True)
        await asyncio.get_running_loop().run_in_executor(None, ending)


def _shelf(entry: ArchiveEntry, fetchers: Mapping[str, Fetcher]) -> Collection | CdxServerIndex:
    path = str(entry.path)
    if entry.cdx is not None and is_remote_path(entry.cdx):
        return CdxServerIndex(entry.id, entry.cdx, path, fetchers[entry.id])
    index = _index(entry)
    if not is_remote_path(path):
        return Collection(entry.id, Path(path), index)
    if index is None:
        raise BadConfig(f"{entry.origin}: index: is needed where the files are elsewhere")
    return Collection(entry.id, RemoteFiles(path, index))


def _index(entry: ArchiveEntry) -> Path | None:
    return None if entry.index is None else Path(entry.index)


@asynccontextmanager
async def _kept(keeper: IndexUpdater) -> AsyncIterator[None]:
    """Let *keeper* work until the block ends."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(keeper.run())
        try:
            yield
        finally:
            task.cancel()


@asynccontextmanager
async def _fetchers(
    entries: Sequence[ArchiveEntry], settings: "UpstreamSettings | None"
) -> AsyncIterator[Mapping[str, Fetcher]]:
    """Open what reaches the origins of each collection, and nothing else (R-1)."""
    # The command line imports this module for every command; the network is slow to import.
    from timegate.upstream.stack import UpstreamSettings, open_fetchers  # noqa: PLC0415

    reached = [await _reached(entry) for entry in entries if _is_remote(entry)]
    # An operator wrote these entries, so their names may lead to private addresses.
    own = frozenset(entry.id for entry in reached)
    settings = replace(settings or UpstreamSettings("no contact given"), allow_private=own)
    async with open_fetchers(reached, settings) as fetchers:
        yield fetchers


def _is_remote(entry: ArchiveEntry) -> bool:
    return any(is_remote_path(address) for address in (entry.path, entry.cdx) if address)


async def _reached(entry: ArchiveEntry) -> ArchiveEntry:
    """Return *entry* with the endpoints of its files and its index, and no others."""
    for key, address in (("path", entry.path), ("cdx", entry.cdx)):
        if address and "@" in urlsplit(address).netloc:
            # It would be shown wherever the collection is named, and is not sent.
            raise BadConfig(f"{entry.origin}: {key}: an address holds no name or password")
    limits = HOME_LIMITS if entry.limits == DEFAULT_LIMITS else entry.limits
    files = str(entry.path)
    if files.lower().startswith(_S3):
        try:
            files = await S3Bucket(files).address_async("any")
        except (S3NotInstalled, ValueError, OSError) as error:
            raise BadConfig(f"{entry.origin}: path: {error}") from error
    return replace(
        entry,
        timegate=None,
        timemaps={},
        cdx=entry.cdx if entry.cdx and is_remote_path(entry.cdx) else None,
        replay=files if is_remote_path(files) else None,
        raw=None,
        hosts=(),
        limits=limits,
    )


def _opening(
    entry: ArchiveEntry, fetchers: Mapping[str, Fetcher], stack: AsyncExitStack
) -> FileOpener:
    """Return what opens the files of *entry*, until *stack* ends."""
    root = str(entry.path).rstrip("/")
    if not is_remote_path(root):
        return open_local
    ranges = HttpRanges(fetchers[entry.id], _addresses(root))
    stack.callback(ranges.close)

    def opening(record: Record) -> BinaryIO:
        end = record.offset + record.length if record.length else None
        return open_remote(ranges, record.file.removeprefix(f"{root}/"), end)

    return opening


def _addresses(root: str) -> FileAddress:
    if root.lower().startswith(_S3):
        return S3Bucket(root).address_async

    async def below(path: str) -> str:
        return f"{root}/{quote(safe_path(path))}"

    return below
