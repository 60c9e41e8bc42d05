"""``timegate sync``: copies the mementos of another archive into a store of one's own."""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from archives.addresses import server_of
from archives.diagnostics import Malformed
from archives.errors import ArchiveError
from archives.model import ArchiveEntry
from archives.registry import BadEntry, Registry, entry_from
from archives.uri import check_text
from timegate.batch.source import ListSource
from timegate.cli.options import (
    BASE_URL,
    archives_option,
    config_option,
    configured,
    contact_option,
    open_core,
    with_contact,
)
from timegate.cli.output import ProgressLine, echo, ungrouped
from timegate.cli.stores import chosen_store, store_option, writable
from timegate.config import Config
from timegate.config.archives import with_home_limits
from timegate.identifiers import parse
from timegate.references import BadInput
from timegate.references.lines import Columns
from timegate.replication import SyncReport
from timegate.resolution.context import UNLIMITED
from timegate.resolution.query import NotNegotiable, query_for
from timegate.store import StoreError
from timegate.text import counted

if TYPE_CHECKING:
    from timegate.core import Core
    from timegate.replication.run import Synchronizer

_SOURCE: Final = "sync-source"
"""The id of a source that is given by its address."""
_WEB: Final = ("http://", "https://")
_TIMEMAP: Final = "/timemap/link"
_PATIENCE: Final = 600.0
"""Seconds that a request waits for the rate limit."""
_AT_ONCE: Final = 8
_SHOWN: Final = 20
_INCOMPLETE: Final = 1
_NO_ANSWER: Final = 4
_INTERRUPTED: Final = 130


@dataclass(frozen=True, slots=True)
class SyncCommand:
    """What is copied, from where, to where."""

    source: ArchiveEntry
    base: str | None
    """The address of the collection, if the source was given by its address."""
    pages: tuple[str, ...]
    """Empty for all."""
    store: str
    as_json: bool = False


async def sync(config: Config, command: SyncCommand) -> int:
    """Copy; return the exit code. Raises StoreError, ArchiveError, NoIndex."""
    from timegate.replication.run import HeldInstants, Synchronizer  # noqa: PLC0415
    from timegate.store.opening import open_stores  # noqa: PLC0415

    line = ProgressLine()

    def show(report: SyncReport) -> None:
        line.show(f"{report.listed} captures compared, {report.written} copied")

    async with open_stores(config, only=command.store) as stores:
        writer = writable(stores[command.store])
        core_opened = open_core(config, config.base_url or BASE_URL, queue_patience=_PATIENCE)
        with HeldInstants(writer.settings.path) as held:
            async with core_opened as core:
                copying = Synchronizer(
                    writer,
                    held,
                    core.fetchers[command.source.id],
                    command.source.id,
                    core.registry,
                    is_blocked=core.blocklist.holds,
                    at_once=min(_AT_ONCE, command.source.limits.at_once),
                )
                try:
                    await _copy(core, copying, command, show)
                finally:
                    line.clear()
                    _summarize(copying.report, command)
    report = copying.report
    if report.failures:
        return _NO_ANSWER
    return _INCOMPLETE if report.conflicts else 0


async def _copy(
    core: "Core", copying: "Synchronizer", command: SyncCommand, show: "Show"
) -> None:
    from timegate.replication.offers import IndexOffers, ListedOffers, NoIndex  # noqa: PLC0415

    source, base = command.source, command.base
    if base is not None:
        fetch = core.fetchers[source.id]
        try:
            for page in command.pages or (None,):
                await copying.copy_all(IndexOffers(fetch, source.id, base, page), show)
        except NoIndex as error:
            if not command.pages:
                why = f"{error}: it does not list its pages; name them with --url or --list"
                raise click.UsageError(why) from error
        else:
            return
    listed = ListedOffers(core.sources(source.id, UNLIMITED), command.pages)
    await copying.copy_all(listed, show)
    copying.report.failures.update(
        {f"the list of {page}": error.why for page, error in listed.failures.items()}
    )


if TYPE_CHECKING:
    from collections.abc import Callable

    Show = Callable[[SyncReport], None]


def _summarize(report: SyncReport, command: SyncCommand) -> None:
    if command.as_json:
        members = {
            "pages": report.pages,
            "listed": report.listed,
            "written": report.written,
            "here": report.here,
            "unverified": report.unverified,
            "conflicts": [each._asdict() for each in report.conflicts],
            "failures": report.failures,
        }
        echo(json.dumps(members))
        return
    unverified = f", {report.unverified} without a digest" if report.unverified else ""
    echo(
        f"{counted(report.pages, 'page')}, {counted(report.listed, 'capture')}: "
        f"{report.written} copied{unverified}, {report.here} here before, "
        f"{len(report.conflicts)} in conflict, {len(report.failures)} failed"
    )
    for each in report.conflicts[:_SHOWN]:
        digests = f"{each.here or 'no digest'}, there {each.there or 'no digest'}"
        echo(f"conflict: this instant holds {digests}: {each.uri}", err=True)
    for uri, why in list(report.failures.items())[:_SHOWN]:
        echo(f"failed: {uri}: {why}", err=True)


def source_entry(source: str, config: Config) -> tuple[ArchiveEntry, str | None]:
    """Return the archive *source*, and its address if it is one. Raises UsageError."""
    if not source.startswith(_WEB):
        entry = config.registry.by_id(source) or config.registry.by_pwid(source)
        if entry is None or not entry.kind.is_remote or entry not in config.remote:
            raise click.UsageError(
                f"{source!r} is neither the id of a remote archive in use nor an address; give "
                "the address of a collection, such as http://example.org/collections/notes"
            )
        return entry, None
    base = source.rstrip("/").removesuffix(_TIMEMAP)
    if server_of(base) is None or "?" in base or "#" in base or not base.isascii():
        raise click.UsageError(f"{source} is no address of a collection")
    described = {
        "id": _SOURCE,
        "name": base,
        "kind": "memento",
        "because": "the source of this command",
        "timegate": f"{base}/timegate/",
        "timemaps": {"link": f"{base}{_TIMEMAP}/"},
        "cdx": f"{base}/cdx",
        "dialect": "pywb-cdxj",
        "replay": f"{base}/{{time14}}/{{uri}}",
        "raw": f"{base}/{{time14}}id_/{{uri}}",
    }
    try:
        return with_home_limits(entry_from(described, source)), base
    except BadEntry as error:
        raise click.UsageError(f"{source}: {error}") from error


def _with_source(config: Config, entry: ArchiveEntry) -> Config:
    """Return *config* with the archive *entry*, which may be at a private address."""
    if config.registry.by_id(entry.id) is not None:
        return config
    registry = Registry((*config.registry.entries, entry), shared_hosts=True)
    return replace(config, registry=registry, private=config.private | {entry.id})


def _pages(urls: Sequence[str], lists: Sequence[str], config: Config) -> tuple[str, ...]:
    """Return the given pages, each once. Raises UsageError."""
    references = list(urls)
    for name in lists:
        try:
            items = ListSource(name, None, Columns(None, ()), config.registry).items()
            references += [item.text for item in items]
        except BadInput as error:
            raise click.UsageError(f"{name}: {error}") from error
    pages: dict[str, None] = {}
    for reference in references:
        try:
            check_text(reference)
            query = query_for(parse(reference, config.registry), config.registry)
        except Malformed as complaint:
            raise click.UsageError(f"{reference}: {complaint.why}") from complaint
        except NotNegotiable as error:
            raise click.UsageError(f"{reference}: {error}") from error
        pages[query.original] = None
    return tuple(pages)


@click.command("sync")
@click.argument("source", metavar="SOURCE")
@store_option
@click.option("--url", "urls", multiple=True, metavar="URL", help="A page; may be repeated.")
@click.option("--list", "lists", multiple=True, metavar="FILE", help="A list of pages.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@config_option
@archives_option
@contact_option
def sync_command(  # noqa: PLR0913 -- one parameter for each option
    source: str,
    *,
    store: str,
    urls: tuple[str, ...],
    lists: tuple[str, ...],
    as_json: bool,
    config: Path | None,
    archives: Path | None,
    contact: str | None,
) -> None:
    r"""Copy the mementos of another archive that a store does not hold yet.

    SOURCE is the address of a collection of timegate (http://host/collections/notes) or of pywb
    (http://host/collection), or the id of an archive in use. Only another timegate lists all
    its pages; for all others name them with --url or --list. Every copy is compared with the
    digest that the source states. You can stop at any time: the same command continues.

    \b
    Exit codes:
      0  the store holds all that the source lists
      1  an instant of the source holds other bytes here, which stay as they are
      2  bad usage
      4  some captures or lists could not be read

    \b
    Example:
      timegate sync http://127.0.0.1:8013/collections/notes --store ./copies
    """
    with configured(config, archives, demo=False) as basis:
        entry, base = source_entry(source, basis)
        pages = _pages(urls, lists, basis)
        if base is None and not pages:
            raise click.UsageError("name the pages of an archive with --url or --list")
        # Nothing but the source is queried.
        alone = _alone(_with_source(basis, entry), entry)
        settings, name = chosen_store(with_contact(alone, contact), store)
        command = SyncCommand(entry, base, pages, name, as_json)
        sys.exit(_run(settings, command))


def _alone(config: Config, entry: ArchiveEntry) -> Config:
    entries = tuple(
        replace(each, use=each.id == entry.id or each.kind.is_local)
        for each in config.registry.entries
    )
    return replace(config, registry=Registry(entries, shared_hosts=True))


def _run(config: Config, command: SyncCommand) -> int:
    try:
        with ungrouped(StoreError, ArchiveError, OSError):
            return asyncio.run(sync(config, command))
    except StoreError as error:
        raise click.ClickException(f"store {command.store}: {error}") from error
    except ArchiveError as error:
        echo(f"{error}; the same command continues", err=True)
        return _NO_ANSWER
    except OSError as error:
        raise click.ClickException(f"{error.filename or 'store'}: {error.strerror}") from error
    except KeyboardInterrupt:
        echo("interrupted; the same command continues", err=True)
        return _INTERRUPTED
