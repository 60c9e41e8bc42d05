"""Cites copies with what a configuration knows, and with their titles."""

from archives.model import Memento
from archives.reading import Malformed
from archives.registry import Registry
from timegate.cli.cite import Writing, cite_link, copy_behind
from timegate.cli.lines import inputs
from timegate.cli.list_run import BASE_URL
from timegate.cli.title_options import TitleOptions
from timegate.cli.titles import Titles, opened_titles
from timegate.config import Config
from timegate.extraction.held import held
from timegate.identifiers import parse
from timegate.local import with_replay_addresses


async def cite_all(
    config: Config, links: tuple[str, ...], writing: Writing, options: TitleOptions
) -> bool:
    """Print how the copy behind each of *links* is cited; return whether all could be."""
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
        # Which `cite_link` will say.
        return None
    archive = parse(link, registry).entry or copy.archive
    memento = Memento(copy.captured.digits, copy.uri, copy.original, archive)
    return await titles.of(held(memento, registry))
