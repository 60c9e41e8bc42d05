"""Resolves references one by one, and prints what came of each as soon as it is known."""

import json
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import click

from archives.moment import Moment
from archives.reading import Malformed
from archives.registry import Registry
from timegate.app import App, running
from timegate.bulk.result import code_of
from timegate.bulk.trust import trusted
from timegate.cite import Copy, Form, reference
from timegate.cli.lines import inputs
from timegate.cli.list_run import BASE_URL
from timegate.cli.showing import show, told
from timegate.cli.title_options import TitleOptions
from timegate.cli.titles import Titles, opened_titles
from timegate.config import Config
from timegate.extraction.held import held
from timegate.identifiers import parse
from timegate.local import with_replay_addresses
from timegate.printing import escaped
from timegate.querying import NotNegotiable, query_for
from timegate.resolution import Preferences, Query, Resolution
from timegate.verdict import Verdict, delivers_raw, location, verdict


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be done with each reference."""

    policy: Preferences
    at: Moment | None
    """For references that have no time of their own."""
    form: Form | None
    titles: TitleOptions
    as_json: bool


async def resolve_all(config: Config, identifiers: tuple[str, ...], wanted: Wanted) -> int:
    """Resolve each of *identifiers*, print what was found, and return the worst code."""
    worst = 0
    base_url = config.base_url or BASE_URL
    registry = with_replay_addresses(config, base_url).registry
    async with (
        running(config, base_url) as app,
        opened_titles(wanted.titles, config, base_url) as titles,
    ):
        for text in _interruptible(inputs(identifiers)):
            worst = max(worst, await _resolve(app, registry, text, wanted, titles))
    return worst


def _interruptible(texts: Iterator[str]) -> Iterator[str]:
    """Yield *texts*; Ctrl-C while waiting for the next one ends the command at once.

    asyncio.run answers the first SIGINT by cancelling its task, which has to wait for the end
    of a line that nobody is going to type.
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
    app: App, registry: Registry, text: str, wanted: Wanted, titles: Titles
) -> int:
    try:
        query = _dated(query_for(parse(text, registry), registry), wanted.at)
    except (Malformed, NotNegotiable) as error:
        _refuse(text, error, wanted)
        return 2
    answer = await app.answers.resolve(query, wanted.policy)
    resolution = trusted(answer, registry)
    judged = verdict(resolution, registry)
    code = code_of(resolution, judged)
    if wanted.as_json:
        report = app.answers.report(resolution, judged)
        click.echo(json.dumps({"input": text, "code": code, **report}))
    elif wanted.form is not None:
        title = await _title(resolution, registry, titles)
        _cite(resolution, judged, registry, wanted.form, title)
    elif sys.stdout.isatty():
        show(escaped(text), resolution, judged, registry)
    else:
        click.echo("\n  ".join([escaped(text), *told(resolution, judged, registry)]))
    return code


def _dated(query: Query, at: Moment | None) -> Query:
    if at is None or query.at is not None:
        return query
    # The name of the undated URL would no longer be the name of what is asked.
    return replace(query, at=at, identifier=None)


def _refuse(text: str, error: ValueError, wanted: Wanted) -> None:
    if wanted.as_json:
        click.echo(json.dumps({"input": text, "code": 2, "error": str(error)}))
    elif wanted.form is not None:
        click.echo(f"{escaped(text)}: {error}", err=True)
    else:
        click.echo(f"{escaped(text)}\n  {click.style('refused', 'red', bold=True)}: {error}")


async def _title(resolution: Resolution, registry: Registry, titles: Titles) -> str | None:
    memento = resolution.memento
    return None if memento is None else await titles.of(held(memento, registry))


def _cite(
    resolution: Resolution,
    judged: Verdict,
    registry: Registry,
    form: Form,
    title: str | None,
) -> None:
    """Print a reference to the copy; to standard error, why there is none or how it differs."""
    copy = _copy(resolution, registry, title)
    original = escaped(resolution.query.original)
    text = None if copy is None else reference(form, copy)
    if text is not None:
        click.echo(text)
    elif copy is not None:
        click.echo(f"{original}: the copy cannot be written as {form}", err=True)
    else:
        why = ", ".join(told(resolution, judged, registry))
        click.echo(f"{original}: {why}", err=True)


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
