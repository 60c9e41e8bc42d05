"""Opens the local collections of a configuration, and keeps their indexes up to date."""

import asyncio
import logging
from collections.abc import AsyncIterator, Container, Mapping, Sequence
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
from timegate.collections import LOG, OpenCollection
from timegate.collections.replay import CollectionReplay, LocalFetcher
from timegate.config import HOME_LIMITS, BadConfig, Config, is_local
from timegate.responses.model import ClientRequest, Handler, Response, StreamingResponse

if TYPE_CHECKING:
    from timegate.upstream.stack import UpstreamSettings

_LOG: Final = logging.getLogger("timegate.collections")
_S3: Final = "s3://"
_READERS: Final = 4
"""Threads that read records, so that a slow disk does not block the event loop."""


@dataclass(frozen=True, slots=True)
class LocalCollections:
    """All open collections, with their sources and fetchers by archive id."""

    sources: Mapping[str, Source]
    fetchers: Mapping[str, Fetcher]
    collections: Sequence[OpenCollection]


def with_replay_addresses(config: Config, base_url: str) -> Config:
    """Return *config* with the addresses at which its collections are served."""
    entries = tuple(_addressed(entry, base_url) for entry in config.registry.entries)
    return replace(config, registry=Registry(entries, shared_hosts=True))


def _addressed(entry: ArchiveEntry, base_url: str) -> ArchiveEntry:
    if not entry.kind.is_local:
        return entry
    base = f"{base_url.rstrip('/')}/collections/{entry.id}"
    without_scheme = base.partition("://")[2]
    return replace(
        entry,
        replay=entry.replay or f"{base}/{{time14}}/{{uri}}",
        raw=f"{base}/{{time14}}id_/{{uri}}",
        forms=(*entry.forms, ReplayForm(f"{without_scheme}/{{time}}{{mod}}/{{uri}}")),
        hosts=(urlsplit(base_url).hostname or "localhost",),
    )


@asynccontextmanager
async def open_collections(
    registry: Registry,
    base_url: str,
    *,
    keep: bool,
    settings: "UpstreamSettings | None" = None,
    written: Container[str] = (),
) -> AsyncIterator[LocalCollections]:
    """Open the collections of *registry*; with *keep*, new files in their folders are indexed.

    Those that are *written* by this server index what they write. *settings* are for
    collections whose files or index are remote. Raises BadConfig.
    """
    entries = [entry for entry in registry.entries if is_local(entry)]
    async with AsyncExitStack() as stack:
        fetchers = await stack.enter_async_context(_fetchers(entries, settings))
        threads = await stack.enter_async_context(_reader_threads())
        opened = {}
        for entry in entries:
            collection = _collection(entry, fetchers)
            if isinstance(collection, Collection):
                await stack.enter_async_context(collection)
                place = collection.place
                if keep and isinstance(place, LocalFiles) and entry.id not in written:
                    updater = IndexUpdater(place, _LOG.warning)
                    await stack.enter_async_context(_running(updater))
            opener = _file_opener(entry, fetchers, stack)
            replayer = Replayer(entry.id, collection, threads, opener, LOG)
            source = WarcArchive(entry, collection)
            opened[entry.id] = OpenCollection(collection, source, replayer)
        replay = _replay(opened, registry, base_url)
        yield LocalCollections(
            {name: collection.source for name, collection in opened.items()},
            {name: LocalFetcher(name, replay, base_url) for name in opened},
            tuple(opened.values()),
        )


def _replay(opened: Mapping[str, OpenCollection], registry: Registry, base_url: str) -> Handler:
    """Return a handler that replays the captures of all collections."""
    replays = {
        name: CollectionReplay(
            one.collection,
            one.replayer,
            one.answers(registry, f"{base_url.rstrip('/')}/collections/{name}"),
            base_url,
        )
        for name, one in opened.items()
    }

    async def replayed(request: ClientRequest) -> Response | StreamingResponse:
        name, _, rest = request.rest.partition("/")
        return await replays[name](request.at(rest))

    return replayed


@asynccontextmanager
async def _reader_threads() -> AsyncIterator[ThreadPoolExecutor]:
    """Yield threads for reading records.

    They may be waiting for the event loop, so another thread waits until they have ended.
    """
    threads = ThreadPoolExecutor(_READERS, "replay")
    try:
        yield threads
    finally:
        shutdown = partial(threads.shutdown, cancel_futures=True)
        await asyncio.get_running_loop().run_in_executor(None, shutdown)


def _collection(
    entry: ArchiveEntry, fetchers: Mapping[str, Fetcher]
) -> Collection | CdxServerIndex:
    path = str(entry.path)
    if entry.cdx is not None and is_remote_path(entry.cdx):
        return CdxServerIndex(entry.id, entry.cdx, path, fetchers[entry.id])
    index = _index(entry)
    if not is_remote_path(path):
        return Collection(entry.id, Path(path), index)
    if index is None:
        raise BadConfig(f"{entry.origin}: index: is required if the files are remote")
    return Collection(entry.id, RemoteFiles(path, index))


def _index(entry: ArchiveEntry) -> Path | None:
    return None if entry.index is None else Path(entry.index)


@asynccontextmanager
async def _running(updater: IndexUpdater) -> AsyncIterator[None]:
    """Run *updater* until the block ends."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(updater.run())
        try:
            yield
        finally:
            task.cancel()


@asynccontextmanager
async def _fetchers(
    entries: Sequence[ArchiveEntry], settings: "UpstreamSettings | None"
) -> AsyncIterator[Mapping[str, Fetcher]]:
    """Open a fetcher for each remote collection, which reaches its own hosts only (R-1)."""
    # The command line imports this module for every command; the network is slow to import.
    from timegate.upstream.stack import UpstreamSettings, open_fetchers  # noqa: PLC0415

    remote = [await _endpoints_only(entry) for entry in entries if _is_remote(entry)]
    # The operator wrote these entries, so their hosts may have private addresses.
    own = frozenset(entry.id for entry in remote)
    settings = replace(settings or UpstreamSettings("no contact given"), allow_private=own)
    async with open_fetchers(remote, settings) as fetchers:
        yield fetchers


def _is_remote(entry: ArchiveEntry) -> bool:
    return any(is_remote_path(address) for address in (entry.path, entry.cdx) if address)


async def _endpoints_only(entry: ArchiveEntry) -> ArchiveEntry:
    """Return *entry* with the endpoints of its files and its index only."""
    for key, address in (("path", entry.path), ("cdx", entry.cdx)):
        if address and "@" in urlsplit(address).netloc:
            # It would be visible wherever the path is shown, and would not be sent.
            why = "must not contain a user name or password"
            raise BadConfig(f"{entry.origin}: {key}: {why}")
    limits = HOME_LIMITS if entry.limits == DEFAULT_LIMITS else entry.limits
    files = str(entry.path)
    if files.lower().startswith(_S3):
        from archives.warc_index.s3 import S3Bucket, S3NotInstalled  # noqa: PLC0415 -- few use it

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


def _file_opener(
    entry: ArchiveEntry, fetchers: Mapping[str, Fetcher], stack: AsyncExitStack
) -> FileOpener:
    """Return the opener for the files of *entry*; it is closed with *stack*."""
    root = str(entry.path).rstrip("/")
    if not is_remote_path(root):
        return open_local
    ranges = HttpRanges(fetchers[entry.id], _addresses(root))
    stack.callback(ranges.close)

    def opened(record: Record) -> BinaryIO:
        end = record.offset + record.length if record.length else None
        return open_remote(ranges, record.file.removeprefix(f"{root}/"), end)

    return opened


def _addresses(root: str) -> FileAddress:
    if root.lower().startswith(_S3):
        from archives.warc_index.s3 import S3Bucket  # noqa: PLC0415 -- few use it

        return S3Bucket(root).address_async

    async def address(path: str) -> str:
        return f"{root}/{quote(safe_path(path))}"

    return address
