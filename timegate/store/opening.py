"""Opens the stores of a configuration for writing."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Final

from archives.registry import Registry
from archives.registry.entry import entry_from
from timegate.config import Config
from timegate.config.schema import StoreSection
from timegate.store import (
    MEGABYTE,
    JournalWriter,
    Revision,
    StoreError,
    StoreJournal,
    StoreSettings,
    StoreUnwritable,
    Written,
)
from timegate.store.writer import StoreWriter

_NOT_IN_IDS: Final = re.compile(r"[^a-z0-9-]++")
_LOG: Final = logging.getLogger("timegate.store")


class UnwritableStore:
    """A store that could not be opened for writing. What it holds is served all the same."""

    def __init__(self, settings: StoreSettings, why: str = "") -> None:
        self.settings = settings
        self.why = why

    async def write(self, revision: Revision) -> Written:
        """Refuse the revision."""
        del revision
        raise _unwritable()

    async def record(self, request: object, octets: int) -> object:
        """Refuse the request."""
        del request, octets
        raise _unwritable()


def _unwritable() -> StoreUnwritable:
    return StoreUnwritable("this store cannot be written now; the log says why")


def with_folder_store(config: Config, path: Path) -> tuple[Config, str]:
    """Return *config* with a store in the folder *path*, and the id of the store.

    Where a store or a collection of the configuration is in this folder, that is the store.
    """
    folder = path.expanduser().absolute()
    for store in store_settings(config):
        if store.path.absolute() == folder:
            return config, store.id
    known = {entry.id for entry in config.registry.entries}
    stem = _NOT_IN_IDS.sub("-", folder.name.lower()).strip("-") or "store"
    name = next(name for name in chain([stem], _numbered(stem)) if name not in known)
    section = StoreSection(name, str(folder))
    entry = entry_from(
        {
            "id": name,
            "name": name,
            "kind": "warc",
            "path": str(folder),
            "because": "a store of this command",
        },
        str(path),
    )
    registry = Registry((*config.registry.entries, entry), shared_hosts=True)
    stores = (*config.stores, section)
    return replace(config, registry=registry, stores=stores), name


def _numbered(stem: str) -> Iterator[str]:
    return (f"{stem}-{number}" for number in count(2))


def store_settings(config: Config) -> list[StoreSettings]:
    """Return the settings of all stores."""
    settings = []
    for section in config.stores:
        entry = config.registry.by_id(section.id)
        settings.append(
            StoreSettings(
                section.id,
                Path(section.path if entry is None or entry.path is None else entry.path),
                config.store_tokens.get(section.id, ()),
                section.revision_megabytes * MEGABYTE,
                None if section.megabytes is None else section.megabytes * MEGABYTE,
                section.writes_per_minute,
                section.file_megabytes * MEGABYTE,
                section.free_megabytes * MEGABYTE,
                section.keep,
            )
        )
    return settings


@asynccontextmanager
async def open_stores(
    config: Config,
    only: str | None = None,
    journals: Mapping[str, StoreJournal] | None = None,
) -> AsyncIterator[Mapping[str, JournalWriter]]:
    """Open all stores, or *only* one, by id; they are closed at the end of the block."""
    async with AsyncExitStack() as stack:
        stores: dict[str, JournalWriter] = {}
        for settings in store_settings(config):
            if only not in (None, settings.id):
                continue
            journal = (journals or {}).get(settings.id)
            stores[settings.id] = await _opened(settings, stack, journal)
        yield stores


async def _opened(
    settings: StoreSettings, stack: AsyncExitStack, journal: StoreJournal | None
) -> JournalWriter:
    writer = StoreWriter(settings, journal=journal)
    try:
        # It may have to read files that a crash left.
        await asyncio.to_thread(writer.__enter__)
    except (OSError, StoreError) as error:
        _LOG.error("store %s cannot be written: %s", settings.id, error)
        return UnwritableStore(settings, str(error))
    stack.push_async_callback(asyncio.to_thread, writer.__exit__, None, None, None)
    return writer
