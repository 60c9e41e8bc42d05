"""Titles for citations: given on the command line, or fetched from the copy."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from archives.diagnostics import Malformed
from archives.errors import ArchiveError
from archives.model import Memento
from archives.registry import Registry
from archives.source import Fetcher
from timegate.citations import copy_behind
from timegate.cli.cite import Writing, cite_link
from timegate.cli.options import BASE_URL, TitleOptions
from timegate.cli.output import echo, inputs
from timegate.collections.opening import open_collections, with_replay_addresses
from timegate.config import Config
from timegate.extract.fetching import FoundCopy, archived_title, copy_of
from timegate.identifiers import parse
from timegate.upstream.worker_rate_limits import WorkerRateLimiters

_PATIENCE: Final = 300.0
"""Seconds that a request may wait in the queue of its archive."""


@asynccontextmanager
async def opened_fetchers(
    config: Config, base_url: str, rate_limits: Path | None = None
) -> AsyncIterator[Mapping[str, Fetcher]]:
    """Open a fetcher for each archive that may be queried.

    *rate_limits* is the file in which several processes share their rate limits.
    """
    from timegate.upstream.stack import (  # noqa: PLC0415 -- help and completion must be quick
        UpstreamEnvironment,
        UpstreamSettings,
        open_fetchers,
    )

    config = with_replay_addresses(config, base_url)
    settings = UpstreamSettings(
        config.contact or "no contact given",
        allow_private=config.private,
        patience=_PATIENCE,
        authorizations=config.authorizations,
    )
    shared = None if rate_limits is None else WorkerRateLimiters(rate_limits, config.remote)
    environment = UpstreamEnvironment(limiter=None if shared is None else shared.of)
    try:
        async with (
            open_fetchers(config.remote, settings, environment) as network,
            open_collections(config.registry, base_url, keep=False, settings=settings) as local,
        ):
            yield {**network, **local.fetchers}
    finally:
        if shared is not None:
            shared.close()


class Titles:
    """Finds the titles of copies."""

    def __init__(self, given: str | None, fetchers: Mapping[str, Fetcher] | None) -> None:
        """Use the title *given* for all copies, or fetch titles with *fetchers*."""
        self._given = given
        self._fetchers = fetchers

    async def of(self, copy: FoundCopy) -> str | None:
        """Return the title of *copy*; if there is none, print why and return None."""
        if self._fetchers is None:
            return self._given
        title, why = None, "the copy has no title"
        try:
            title = await self._fetched(copy, self._fetchers)
        except ArchiveError as error:
            why = f"{error.archive} {error.why}"
        if title is None:
            echo(f"{copy.uri}: no title: {why}", err=True)
        return title

    async def _fetched(self, copy: FoundCopy, fetchers: Mapping[str, Fetcher]) -> str | None:
        fetch = fetchers.get(copy.archive)
        if fetch is None:
            raise ArchiveError(copy.archive, copy.uri, "is not in use with this configuration")
        return await archived_title(copy, fetch)


@asynccontextmanager
async def opened_titles(
    options: TitleOptions, config: Config, base_url: str
) -> AsyncIterator[Titles]:
    """Open the source of titles that *options* ask for."""
    if not options.fetch_title:
        yield Titles(options.title, None)
        return
    async with opened_fetchers(config, base_url) as fetchers:
        yield Titles(None, fetchers)


async def cite_all(
    config: Config, links: tuple[str, ...], writing: Writing, options: TitleOptions
) -> bool:
    """Print a citation of the copy behind each of *links*; return whether all succeeded."""
    base_url = config.base_url or BASE_URL
    registry = with_replay_addresses(config, base_url).registry
    cited = True
    async with opened_titles(options, config, base_url) as titles:
        for link in inputs(links):
            title = await _title(link, registry, titles)
            cited = cite_link(link, registry, writing, title) and cited
    return cited


async def _title(link: str, registry: Registry, titles: Titles) -> str | None:
    try:
        copy = copy_behind(link, registry)
    except Malformed:
        # `cite_link` reports the error.
        return None
    archive = parse(link, registry).entry or copy.archive
    memento = Memento(copy.captured.digits, copy.uri, copy.original, archive)
    return await titles.of(copy_of(memento, registry))
