"""What the bytes of copies are fetched with, over the network and from our own disk."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from archives.model import ArchiveEntry
from archives.source import Fetcher
from timegate.app import askable
from timegate.config import Config
from timegate.local import is_local, open_collections, with_replay_addresses
from timegate.resolver import Deadlines
from timegate.upstream.pool import (
    UpstreamEnvironment,
    UpstreamSettings,
    open_fetchers,
)
from timegate.upstream.shared import WorkerRateLimiters

_PATIENCE: Final = 300.0
"""Seconds that a request may wait for its turn: nobody sits and waits."""


def remote(config: Config) -> list[ArchiveEntry]:
    """Return the archives that are asked over the network."""
    return [entry for entry in askable(config) if not is_local(entry)]


@asynccontextmanager
async def opened_fetchers(
    config: Config, base_url: str, ledgers: Path | None = None
) -> AsyncIterator[Mapping[str, Fetcher]]:
    """Open one for each archive that may be asked.

    *ledgers* is where others have counted their requests to the same archives.
    """
    config = with_replay_addresses(config, base_url)
    elsewhere = remote(config)
    settings = UpstreamSettings(
        config.contact or "no contact given",
        allow_private=config.private,
        patience=_PATIENCE,
        authorizations=config.authorizations,
    )
    shared = None if ledgers is None else WorkerRateLimiters(ledgers, elsewhere)
    around = UpstreamEnvironment(ledger=None if shared is None else shared.of)
    deadlines = Deadlines(config.soft, config.hard)
    try:
        async with (
            open_fetchers(elsewhere, settings, around) as network,
            open_collections(
                config.registry, base_url, deadlines, keep=False, settings=settings
            ) as local,
        ):
            yield {**network, **local.fetchers}
    finally:
        if shared is not None:
            shared.close()
