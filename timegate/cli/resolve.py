"""``timegate resolve``: finds the best copy for each reference and how well it matches."""

import asyncio
import json
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from archives.diagnostics import Malformed
from archives.moment import Moment
from archives.registry import Registry
from timegate.batch.model import code_of, trusted
from timegate.citations import FORMS, Copy, Form, reference
from timegate.cli.batch import BatchOptions, batch_options, resolve_batch
from timegate.cli.options import (
    BASE_URL,
    SearchOptions,
    TitleOptions,
    Words,
    archives_option,
    check_contact,
    choice_options,
    config_option,
    configured,
    demo_option,
    open_core,
    title_options,
)
from timegate.cli.output import Styled, echo, echo_text, inputs, result_lines, show
from timegate.cli.titles import Titles, opened_titles
from timegate.collections.opening import with_replay_addresses
from timegate.config import Config
from timegate.extract.fetching import copy_of
from timegate.identifiers import parse
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Preferences, Query, Resolution
from timegate.resolution.query import NotNegotiable, query_for
from timegate.responses.report import report
from timegate.verdict import Verdict, delivers_raw, location, verdict

if TYPE_CHECKING:
    from timegate.core import Core


@dataclass(frozen=True, slots=True)
class ResolveOptions:
    """How references are resolved and results are printed."""

    preferences: Preferences
    at: Moment | None
    """The time for references without one."""
    form: Form | None
    titles: TitleOptions
    as_json: bool


async def resolve_all(
    config: Config, identifiers: tuple[str, ...], options: ResolveOptions
) -> int:
    """Resolve *identifiers*, print the results, and return the highest exit code."""
    worst = 0
    base_url = config.base_url or BASE_URL
    registry = with_replay_addresses(config, base_url).registry
    async with (
        open_core(config, base_url) as core,
        opened_titles(options.titles, config, base_url) as titles,
    ):
        for text in _interruptible(inputs(identifiers)):
            worst = max(worst, await _resolve(core, registry, text, options, titles))
    return worst


def _interruptible(texts: Iterator[str]) -> Iterator[str]:
    """Yield *texts*; Ctrl-C while waiting for the next one exits at once.

    On the first SIGINT asyncio.run only cancels its task, which would wait for the end of a
    line that is never typed.
    """
    while True:
        handler = signal.getsignal(signal.SIGINT)
        if handler is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            text = next(texts, None)
        finally:
            signal.signal(signal.SIGINT, handler)
        if text is None:
            return
        yield text


async def _resolve(
    core: "Core", registry: Registry, text: str, options: ResolveOptions, titles: Titles
) -> int:
    try:
        query = _dated(query_for(parse(text, registry), registry), options.at)
    except Malformed as error:
        return _reject(text, error, options, code=2)
    except NotNegotiable as error:
        # A valid identifier, for which no archive can be queried.
        return _reject(text, error, options, code=4)
    found = await core.resolver.resolve(query, options.preferences, UNLIMITED)
    resolution = trusted(found, registry)
    judged = verdict(resolution, registry)
    code = code_of(resolution, judged)
    if options.as_json:
        members = report(resolution, judged, registry, core.base_url)
        echo(json.dumps({"input": text, "code": code, **members}))
    elif options.form is not None:
        title = await _title(resolution, registry, titles)
        _cite(resolution, judged, registry, options.form, title)
    elif sys.stdout.isatty():
        show(text, resolution, judged, registry)
    else:
        echo(text)
        for line in result_lines(resolution, judged, registry):
            echo("  ", line)
    return code


def _dated(query: Query, at: Moment | None) -> Query:
    if at is None or query.at is not None:
        return query
    return query.dated(at)


def _reject(text: str, error: ValueError, options: ResolveOptions, *, code: int) -> int:
    """Print why *text* cannot be resolved, and return the exit code."""
    if options.as_json:
        echo(json.dumps({"input": text, "code": code, "error": str(error)}))
    elif options.form is not None:
        echo(f"{text}: {error}", err=True)
    else:
        echo(text)
        echo("  ", Styled("cannot be resolved", "red", bold=True), f": {error}")
    return code


async def _title(resolution: Resolution, registry: Registry, titles: Titles) -> str | None:
    memento = resolution.memento
    return None if memento is None else await titles.of(copy_of(memento, registry))


def _cite(
    resolution: Resolution,
    judged: Verdict,
    registry: Registry,
    form: Form,
    title: str | None,
) -> None:
    """Print a citation of the copy; if there is none, print why to standard error."""
    copy = _copy(resolution, registry, title)
    original = resolution.query.original
    text = None if copy is None else reference(form, copy)
    if text is not None:
        echo_text(text)
    elif copy is not None:
        echo(f"{original}: the copy cannot be cited as {form}", err=True)
    else:
        why = ", ".join(result_lines(resolution, judged, registry))
        echo(f"{original}: {why}", err=True)


def _copy(resolution: Resolution, registry: Registry, title: str | None) -> Copy | None:
    memento = resolution.memento
    if memento is None:
        return None
    entry = registry.by_id(memento.archive)
    return Copy(
        location(resolution, registry) or memento.uri,
        memento.original,
        memento.captured,
        memento.archive if entry is None else entry.name,
        entry.pwid[0] if entry and entry.pwid else None,
        raw=delivers_raw(resolution.query, memento, entry),
        title=title,
        viewed=datetime.now(UTC).date(),
    )


@click.command("resolve")
@click.argument("identifiers", nargs=-1, metavar="[ID]...")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per ID.")
@click.option(
    "--format", "form", type=Words(FORMS), help="Print a citation of the copy in this format."
)
@title_options
@choice_options
@config_option
@archives_option
@demo_option
@batch_options
def resolve_command(  # noqa: PLR0913 -- one parameter for each option
    identifiers: tuple[str, ...],
    *,
    as_json: bool,
    form: Form | None,
    titles: TitleOptions,
    choices: SearchOptions,
    config: Path | None,
    archives: Path | None,
    demo: bool,
    batch: BatchOptions,
) -> None:
    r"""Find the best archived copy for each ID, and show how well it matches.

    An ID is a PWID, a duri, a link to an archived page (even a dead link), or a URL. With -,
    IDs are read from standard input, one per line. --batch reads them from a list: lines, CSV,
    JSON, BibTeX, wikitext or HTML.

    \b
    Exit codes (the highest of all IDs):
      0  as requested
      1  found, but less precise than requested
      2  invalid identifier, or bad usage
      3  nothing found, and every archive answered
      4  nothing found, but an archive did not answer, or the named one was not queried

    \b
    Examples:
      timegate resolve --demo duri:2010-11:http://museum.example/
      timegate resolve --demo --at 2010-11 --json http://museum.example/opening-hours
      timegate resolve --demo --format cs1 \
        urn:pwid:harbour.example:2009-06-15T18:30:12Z:page:http://museum.example/
      echo http://museum.example/ 2016-01-22 | timegate resolve --demo --batch - --to csv
    """
    _check_usage(identifiers, batch, choices, single=as_json or form is not None)
    titles.check(form, identifiers)
    with configured(config, archives, demo=demo) as settings:
        check_contact(settings)
        preferences = choices.preferences(settings.registry)
        if batch.batch is not None:
            sys.exit(resolve_batch(settings, batch, preferences))
        options = ResolveOptions(preferences, choices.moment(), form, titles, as_json=as_json)
        sys.exit(asyncio.run(resolve_all(settings, identifiers, options)))


def _check_usage(
    identifiers: tuple[str, ...], batch: BatchOptions, choices: SearchOptions, *, single: bool
) -> None:
    if (batch.batch is None) == (not identifiers):
        raise click.UsageError("give either IDs or a list with --batch")
    if batch.batch is None:
        if choices.also and (len(identifiers) > 1 or "-" in identifiers):
            raise click.UsageError("--also is for a single ID; use a list with a column also")
        return
    if choices.also:
        raise click.UsageError("--also does not apply to a list; put a column also into it")
    if single:
        raise click.UsageError("--json and --format do not apply to a list; use --to")
    if choices.at is not None:
        why = "--at does not apply to a list; put dates into the list (see --date-column)"
        raise click.UsageError(why)
    if choices.wait is not None:
        raise click.UsageError(
            "--wait does not apply to a list, which always waits for all archives"
        )
