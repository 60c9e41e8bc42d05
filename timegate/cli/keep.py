"""``timegate keep``: makes sure that each reference has a copy in a store of one's own."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Literal

import click

from archives.moment import Moment
from timegate.batch.model import BadInput, Item
from timegate.batch.output import show_progress
from timegate.batch.source import ListSource
from timegate.cli.lists import WAITS, ListJob, opened_core
from timegate.cli.options import (
    SearchOptions,
    archives_option,
    choice_options,
    config_option,
    configured,
    contact_option,
    demo_option,
    is_file,
    with_contact,
)
from timegate.cli.output import echo, ungrouped
from timegate.cli.stores import chosen_store, store_option, writable
from timegate.config import Config
from timegate.keep.model import KeptReference
from timegate.keep.opening import open_keeper
from timegate.keep.run import KeepOptions
from timegate.references.lines import Columns
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Preferences
from timegate.store import RevisionWriter, StoreError
from timegate.store.opening import open_stores
from timegate.text import counted

if TYPE_CHECKING:
    from timegate.core import Core
    from timegate.keep.live import LiveCrawler

_MOST: Final = 100_000
"""References in all lists."""
_AT_ONCE: Final = 8
_INTERRUPTED: Final = 130


@dataclass(frozen=True, slots=True)
class KeepCommand:
    """What is to be kept, and where."""

    given: tuple[str, ...]
    store: str
    options: KeepOptions
    as_json: bool = False
    live: bool = False


def keep_list(
    config: Config, preferences: Preferences, choices: SearchOptions, command: KeepCommand
) -> int:
    """Keep all references; return the exit code."""
    results = _Results(as_json=command.as_json)
    try:
        with TemporaryDirectory(prefix="timegate-keep-") as folder:
            sources = list(_sources(command.given, config, choices, Path(folder)))
            items = _numbered(chain.from_iterable(source.items() for source in sources))
            with ungrouped(BadInput, StoreError, OSError):
                asyncio.run(_keep(config, preferences, command, items, results))
            if not results.total:
                echo("; ".join(source.none_found() for source in sources), err=True)
    except BadInput as error:
        raise click.UsageError(str(error)) from error
    except StoreError as error:
        results.summarize()
        raise click.ClickException(f"store {command.store}: {error}") from error
    except OSError as error:
        raise click.ClickException(f"{error.filename or 'store'}: {error.strerror}") from error
    except KeyboardInterrupt:
        echo("interrupted; the same command continues", err=True)
        return _INTERRUPTED
    results.summarize()
    return results.worst


async def _keep(
    config: Config,
    preferences: Preferences,
    command: KeepCommand,
    items: Iterator[Item],
    results: "_Results",
) -> None:
    job = ListJob(config, preferences, _AT_ONCE)
    # The store is opened first: that creates its folder and its index.
    async with open_stores(config, only=command.store) as stores:
        writer = writable(stores[command.store])
        async with opened_core(job) as core, _crawler(core, command, writer) as live:
            keeper = open_keeper(
                core, writer, preferences, command.options, UNLIMITED, WAITS, live=live
            )
            progress = show_progress(None, 0, terminal=sys.stderr.isatty())
            with progress as advance:

                def done(kept: KeptReference) -> None:
                    results.add(kept)
                    advance()

                await keeper.complete(items, done, _AT_ONCE)


@asynccontextmanager
async def _crawler(
    core: "Core", command: KeepCommand, writer: RevisionWriter
) -> AsyncIterator["LiveCrawler | None"]:
    """Open what fetches live pages, if that is wanted."""
    if not command.live:
        yield None
        return
    from timegate.keep.live import LiveLimits, open_crawler  # noqa: PLC0415 -- only here

    limits = LiveLimits(octets=writer.settings.largest_revision)
    hosts = frozenset(core.config.live.hosts)
    async with open_crawler(core.upstream_settings, hosts, limits) as crawler:
        yield crawler


def _sources(
    given: Sequence[str], config: Config, choices: SearchOptions, folder: Path
) -> Iterator[ListSource]:
    """Yield the lists; arguments that are no files are references of their own."""
    at = choices.moment()
    for number, text in enumerate(given):
        if text == "-" or is_file(text):
            yield _read(text, None, config, at)
            continue
        path = folder / f"{number}.txt"
        path.write_text(" ".join(text.split()), errors="surrogateescape")
        yield _read(str(path), "lines", config, at)


def _read(
    name: str, form: Literal["lines"] | None, config: Config, at: Moment | None
) -> ListSource:
    try:
        return ListSource(name, form, Columns(None, ()), config.registry, at)
    except BadInput as error:
        raise BadInput(f"{name}: {error}") from error


def _numbered(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items of several lists with positions of their own."""
    for position, item in enumerate(items):
        if position >= _MOST:
            raise BadInput(f"more than {_MOST:,} references: split the list")
        yield item._replace(position=position)


class _Results:
    """Counts the results, and prints them in the order of the list."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self.total = 0
        self.worst = 0
        self._kept = 0
        self._new = 0
        self._twice = 0
        self._waiting: dict[int, KeptReference] = {}
        self._printed = 0

    def add(self, kept: KeptReference) -> None:
        """Count and print *kept*."""
        self.total += 1
        self.worst = max(self.worst, kept.code)
        self._kept += kept.is_kept
        self._new += kept.outcome == "kept"
        self._twice += kept.is_kept and kept.independent > 1
        self._waiting[kept.item.position] = kept
        while (first := self._waiting.pop(self._printed, None)) is not None:
            self._printed += 1
            echo(json.dumps(first.described) if self._as_json else first.line)

    def summarize(self) -> None:
        """Print how many references have copies."""
        before = self._kept - self._new
        echo(
            f"{counted(self.total, 'reference')}: {self._kept} kept "
            f"({self._new} now, {before} before), {self.total - self._kept} not; "
            f"{self._twice} with two or more independent copies",
            err=True,
        )


@click.command("keep")
@click.argument("given", metavar="URL|ID|LIST...", nargs=-1, required=True)
@store_option
@click.option(
    "--ensure",
    type=click.IntRange(1, 9),
    default=1,
    show_default=True,
    help="Independent copies that there are to be, your own included.",
)
@click.option(
    "--pages", is_flag=True, help="Keep pages with their parts, also if only a URL is given."
)
@click.option(
    "--live", is_flag=True, help="Also fetch the live page, as a polite crawler does."
)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per reference.")
@choice_options
@contact_option
@config_option
@archives_option
@demo_option
def keep_command(  # noqa: PLR0913 -- one parameter for each option
    given: tuple[str, ...],
    *,
    store: str,
    ensure: int,
    pages: bool,
    live: bool,
    as_json: bool,
    choices: SearchOptions,
    contact: str | None,
    config: Path | None,
    archives: Path | None,
    demo: bool,
) -> None:
    r"""Make sure that each reference has a copy in a store of your own.

    Give URLs, identifiers, or lists as for `timegate resolve --batch`; - is standard input. The
    bytes of the best copy are written into the store as they were captured, with where they
    come from. A copy that is there already is not fetched again, so an interrupted run is
    continued by the same command. The report says for each reference how many independent
    copies there are: yours, and those of other archives that were seen to deliver one.

    With --live, the page itself is fetched where no archive delivers a copy, and in any case
    for references without a date: robots.txt is respected, one request a second is sent to a
    host, and only public addresses are connected to.

    \b
    Exit codes (the highest of all references):
      0  kept, as requested
      1  kept, but less precise, without some parts, or with fewer copies than --ensure
      2  invalid identifier, or bad usage
      3  nothing found, and every archive answered
      4  some archive did not answer, or did not deliver the bytes

    \b
    Examples:
      timegate keep --demo --store ./notes duri:2010:http://museum.example/
      timegate keep --config timegate.toml --store notes --ensure 2 references.bib
    """
    if choices.wait is not None:
        raise click.UsageError("--wait does not apply to keep: every archive gets its time")
    if choices.also:
        raise click.UsageError("--also does not apply to keep; put a column also into a list")
    with configured(config, archives, demo=demo) as basis:
        settings, name = chosen_store(with_contact(basis, contact), store)
        preferences = choices.preferences(settings.registry)
        is_strict = preferences.precision != "any" or preferences.tolerance is not None
        options = KeepOptions(ensure, pages, is_strict)
        if live and settings.contact is None:
            raise click.UsageError(
                "--live requires a contact for the User-Agent: --contact mailto:you@example.org"
            )
        command = KeepCommand(given, name, options, as_json, live)
        sys.exit(keep_list(settings, preferences, choices, command))
