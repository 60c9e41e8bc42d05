"""Puts a keeper together: a core that resolves and fetches, and a store that is written."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from msgspec import structs

from archives.errors import ArchiveError
from archives.model import Memento
from timegate.access.blocklist import Blocklist
from timegate.batch.model import Item, ItemResult, candidates
from timegate.batch.run import BatchEnvironment, ItemResolver, Waits
from timegate.core import Core
from timegate.keep.run import HeldCaptures, Keeper, KeepOptions, LivePage, LivePages
from timegate.parts.composite import CompositeMemento, PartLimits
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Preferences, Query, Resolution
from timegate.responses.report import report
from timegate.store import RevisionWriter
from timegate.text.times import read_time
from timegate.upstream.open_web import ORIGINAL
from timegate.verdict import Verdict

PART_LIMITS: Final = PartLimits(
    requests=1000, octets=256 * 1024**2, seconds=3600.0, variants=True
)
"""A list is not interactive: the parts of a page get their time within the rate limits."""


def open_keeper(  # noqa: PLR0913, PLR0917 -- what the command line and the server differ in
    core: Core,
    writer: RevisionWriter,
    preferences: Preferences,
    options: KeepOptions,
    context: RequestContext,
    waits: Waits,
    *,
    live: LivePages | None = None,
    limits: PartLimits = PART_LIMITS,
) -> Keeper:
    """Return a keeper that writes with *writer* what *core* finds."""
    store = writer.settings.id
    own = replace(preferences, archives=frozenset({store}), exclude=frozenset())
    others = replace(preferences, exclude=preferences.exclude | {store})

    async def parts(memento: Memento, archives: frozenset[str] | None) -> CompositeMemento:
        allowed = others if archives is None else replace(own, archives=archives)
        return await core.parts_of(memento, context, limits, allowed)

    return Keeper(
        writer,
        _held(core, store),
        _resolving(core, own, context, waits),
        _resolving(core, others, context, waits),
        core.fetchers,
        core.registry,
        parts,
        core.config.replay_url or core.base_url,
        partial(_is_undated, core),
        None if live is None else _AllowedPages(live, core.blocklist),
        options,
    )


class _AllowedPages(NamedTuple):
    """Live pages that the operator has not blocked."""

    live: LivePages
    blocklist: Blocklist

    async def captured(self, url: str) -> LivePage:
        if self.blocklist and self.blocklist.holds(url):
            raise ArchiveError(ORIGINAL, url, "is blocked by the operator of this server")
        return await self.live.captured(url)


def _held(core: Core, store: str) -> HeldCaptures:
    return next(one.collection for one in core.local.collections if one.collection.id == store)


def _resolving(
    core: Core, preferences: Preferences, context: RequestContext, waits: Waits
) -> Callable[[Item, frozenset[str]], Awaitable[ItemResult]]:
    """Return what resolves items as in a batch, patiently."""

    async def resolve(
        query: Query, preferences: Preferences, answered: Callable[[str], None]
    ) -> Resolution:
        return await core.resolver.resolve(
            query, preferences, structs.replace(context, answered=answered)
        )

    environment = BatchEnvironment(
        resolve, partial(_report, core), core.registry, read_time, core.config.askable
    )

    excluded: dict[int, frozenset[str]] = {}
    resolver = ItemResolver(
        environment, preferences, waits, lambda item: excluded.get(item.position, frozenset())
    )

    async def resolved(item: Item, without: frozenset[str]) -> ItemResult:
        excluded[item.position] = without
        try:
            return await resolver.resolve(item, lambda *_: None, last=True)
        finally:
            del excluded[item.position]

    return resolved


def _is_undated(core: Core, item: Item) -> bool:
    try:
        return candidates(item, core.registry, read_time)[0].query.at is None
    except ValueError:
        return False


def _report(core: Core, resolution: Resolution, judged: Verdict) -> dict[str, object]:
    return dict(report(resolution, judged, core.registry, core.base_url))
