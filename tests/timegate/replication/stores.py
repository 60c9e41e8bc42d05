"""Two served stores, and the command that copies from one to the other."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from tests.timegate.endpoints.stored import StoreClient, serving_store
from timegate.app import build_core
from timegate.cli.sync import SyncCommand, _alone, _with_source, source_entry
from timegate.config import load_config
from timegate.replication import SyncReport
from timegate.replication.offers import IndexOffers
from timegate.replication.run import HeldInstants, Synchronizer
from timegate.store import RevisionWriter
from timegate.store.opening import open_stores

__all__ = ["SyncCommand", "copying", "index_of", "served", "sync_into"]


@asynccontextmanager
async def served(folder: Path, *names: str) -> AsyncIterator[list[StoreClient]]:
    """Serve a store for each name, each in a folder of its own."""
    async with AsyncExitStack() as stack:
        clients = []
        for name in names:
            (folder / name).mkdir(exist_ok=True)
            clients.append(await stack.enter_async_context(serving_store(folder / name)))
        yield clients


def address(store: StoreClient) -> str:
    return f"{store.site.url}/collections/notes"


async def index_of(store: StoreClient) -> list[dict[str, object]]:
    """Return what a store lists."""
    seen = await store.get("/collections/notes/index")
    assert seen.status == 200
    return [json.loads(line) for line in unchunked(seen.body).splitlines()]


def unchunked(body: bytes) -> bytes:
    found = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        found += body[: int(size, 16)]
        body = body[int(size, 16) + 2 :]
    return found


@asynccontextmanager
async def copying(
    source: StoreClient, folder: Path, writer: RevisionWriter | None = None
) -> AsyncIterator[tuple[Synchronizer, IndexOffers]]:
    """Yield what copies from *source* into the store in *folder*."""
    config = load_config(folder / "timegate.toml")
    entry, base = source_entry(address(source), config)
    assert base is not None
    settings = replace(_alone(_with_source(config, entry), entry), contact="test")
    path = folder / "notes"
    async with (
        open_stores(settings) as stores,
        build_core(settings, "http://gate.example") as core,
    ):
        with HeldInstants(path) as held:
            fetch = core.fetchers[entry.id]
            yield (
                Synchronizer(
                    writer or stores["notes"],
                    held,
                    fetch,
                    entry.id,
                    core.registry,
                    pause=0.0,
                ),
                IndexOffers(fetch, entry.id, base, None),
            )


async def sync_into(folder: Path, source: StoreClient) -> SyncReport:
    """Copy from *source* into the store in *folder*."""
    async with copying(source, folder) as (synchronizer, offers):
        await synchronizer.copy_all(offers)
        return synchronizer.report
