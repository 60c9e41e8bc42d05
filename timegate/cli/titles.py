"""What a page is called: as somebody says, or as the copy itself does."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import click

from archives.errors import ArchiveError
from archives.source import Fetcher
from timegate.cli.fetchers import opened_fetchers
from timegate.cli.title_options import TitleOptions
from timegate.config import Config
from timegate.extraction.held import FoundCopy
from timegate.extraction.titles import archived_title
from timegate.printing import escaped


class Titles:
    """Titles of copies."""

    def __init__(self, given: str | None, fetchers: Mapping[str, Fetcher] | None) -> None:
        """Take the title of all that are asked for, or what archives are asked with."""
        self._given = given
        self._fetchers = fetchers

    async def of(self, copy: FoundCopy) -> str | None:
        """Return the title of *copy*; None where there is none, which is said."""
        if self._fetchers is None:
            return self._given
        title, why = None, "the copy is no page with a title"
        try:
            title = await self._fetched(copy, self._fetchers)
        except ArchiveError as error:
            why = f"{error.archive} {error.why}"
        if title is None:
            click.echo(f"{escaped(copy.uri)}: no title: {escaped(why)}", err=True)
        return title

    async def _fetched(self, copy: FoundCopy, fetchers: Mapping[str, Fetcher]) -> str | None:
        fetch = fetchers.get(copy.archive)
        if fetch is None:
            raise ArchiveError(copy.archive, copy.uri, "is not asked with this configuration")
        return await archived_title(copy, fetch)


@asynccontextmanager
async def opened_titles(
    options: TitleOptions, config: Config, base_url: str
) -> AsyncIterator[Titles]:
    """Open what titles are fetched with, if that is wanted."""
    if not options.fetch_title:
        yield Titles(options.title, None)
        return
    async with opened_fetchers(config, base_url) as fetchers:
        yield Titles(None, fetchers)
