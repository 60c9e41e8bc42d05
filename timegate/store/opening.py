"""Opens the stores of a configuration for writing."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from timegate.config import Config
from timegate.store import (
    MEGABYTE,
    Journal,
    Revision,
    RevisionWriter,
    StoreError,
    StoreSettings,
    StoreUnwritable,
    Written,
)
from timegate.store.writer import StoreWriter

_LOG: Final = logging.getLogger("timegate.store")


class UnwritableStore:
    """A store that could not be opened for writing. What it holds is served all the same."""

    def __init__(self, settings: StoreSettings) -> None:
        self.settings = settings

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
            )
        )
    return settings


@asynccontextmanager
async def open_stores(
    config: Config, journals: Mapping[str, Journal] | None = None
) -> AsyncIterator[Mapping[str, RevisionWriter]]:
    """Open all stores, by id; they are closed at the end of the block."""
    async with AsyncExitStack() as stack:
        stores: dict[str, RevisionWriter] = {}
        for settings in store_settings(config):
            stores[settings.id] = await _opened(
                settings, stack, (journals or {}).get(settings.id)
            )
        yield stores


async def _opened(
    settings: StoreSettings, stack: AsyncExitStack, journal: Journal | None
) -> RevisionWriter:
    writer = StoreWriter(settings, journal=journal)
    try:
        # It may have to read files that a crash left.
        await asyncio.to_thread(writer.__enter__)
    except (OSError, StoreError) as error:
        _LOG.error("store %s cannot be written: %s", settings.id, error)
        return UnwritableStore(settings)
    stack.push_async_callback(asyncio.to_thread, writer.__exit__, None, None, None)
    return writer
