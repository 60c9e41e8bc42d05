"""Asks one archive, over the network or on our own disk, and notes what it said."""

from collections.abc import Awaitable
from datetime import UTC, datetime

from archives.adapters import source_for
from archives.errors import ArchiveError
from archives.model import ArchiveEntry, Closest
from archives.registry import Registry
from timegate.cli.inquiry import ArchiveAnswer
from timegate.config import Config
from timegate.local import is_local, open_collections, with_replay_addresses
from timegate.resolver import Deadlines
from timegate.upstream.pool import UpstreamEnvironment, UpstreamSettings, open_fetchers


async def ask(
    config: Config, entry: ArchiveEntry, contact: str, inquiry: ArchiveAnswer
) -> None:
    """Ask *entry*, and note in *inquiry* what it said."""
    if is_local(entry):
        await _look(config, entry, inquiry)
    else:
        await _send(config, entry, contact, inquiry)


async def _send(
    config: Config, entry: ArchiveEntry, contact: str, inquiry: ArchiveAnswer
) -> None:
    """Ask over the network, and note every exchange."""
    settings = UpstreamSettings(contact, allow_private=config.private, patience=30.0)
    around = UpstreamEnvironment(record=inquiry.trail.append)
    async with open_fetchers([entry], settings, around) as fetchers:
        source = source_for(entry, fetchers[entry.id], lambda: datetime.now(UTC))
        inquiry.outcome = await _outcome(source.closest(inquiry.original, inquiry.at))


async def _look(config: Config, entry: ArchiveEntry, inquiry: ArchiveAnswer) -> None:
    """Look into a collection on our own disk."""
    base_url = config.base_url or "http://127.0.0.1:1208"
    deadlines = Deadlines(config.soft, config.hard)
    ours = with_replay_addresses(config, base_url).registry.by_id(entry.id) or entry
    registry = Registry((ours,), shared_hosts=True)
    async with open_collections(registry, base_url, deadlines, keep=False) as local:
        source = local.sources[entry.id]
        inquiry.outcome = await _outcome(source.closest(inquiry.original, inquiry.at))


async def _outcome(answer: Awaitable[Closest | None]) -> Closest | ArchiveError | None:
    try:
        return await answer
    except ArchiveError as error:
        return error
