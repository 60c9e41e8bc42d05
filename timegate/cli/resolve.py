"""``timegate resolve``: finds the best copy for each reference and how well it matches."""

import asyncio
import json
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from archives.diagnostics import Malformed
from archives.moment import Moment
from archives.registry import Registry
from timegate.batch.model import code_of, trusted
from timegate.citations import Copy, PageDescription, copy_found
from timegate.citations.forms import (
    FORMS,
    LABELS,
    OF_DESCRIPTION,
    Form,
    comes_back,
    reference,
)
from timegate.cli.batch_options import BatchOptions, batch_options, show_queue_progress
from timegate.cli.given import Given, SeveralFound, read_given
from timegate.cli.network import here
from timegate.cli.options import (
    BASE_URL,
    SearchOptions,
    TitleOptions,
    Words,
    archives_option,
    config_option,
    configured,
    contact_option,
    demo_option,
    is_file,
    list_choice_options,
    open_core,
    say_demo,
    title_options,
    with_contact,
)
from timegate.cli.output import (
    ProgressLine,
    Styled,
    echo,
    echo_lines,
    echo_text,
    inputs,
    waiting_words,
)
from timegate.cli.plain_result import result_lines, unmet
from timegate.cli.titles import Titles, opened_titles
from timegate.collections.opening import with_replay_addresses
from timegate.config import Config
from timegate.extract.fetching import copy_of
from timegate.resolution.context import UNLIMITED
from timegate.resolution.exhaustive import LOOKING, PATIENCE
from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.resolution.preferences import LONGEST_WAIT
from timegate.resolution.query import NotNegotiable, of_cited_copy, query_for
from timegate.responses.answer_view import name_of
from timegate.responses.problems import failure
from timegate.responses.report import report
from timegate.text import counted
from timegate.verdict import Verdict, in_words, verdict

if TYPE_CHECKING:
    from timegate.core import Core


def _patience(preferences: Preferences) -> float:
    return PATIENCE + (LOOKING if preferences.verify == "content" else 0.0)


@dataclass(frozen=True, slots=True)
class ResolveOptions:
    """How references are resolved and results are printed."""

    preferences: Preferences
    at: Moment | None
    """The time for references without one."""
    form: Form | None
    titles: TitleOptions
    as_json: bool
    repeated: str = ""
    """Options for the commands that are suggested, with a blank before each."""


async def resolve_all(
    config: Config, identifiers: tuple[str, ...], options: ResolveOptions
) -> int:
    """Resolve *identifiers*, print the results, and return the highest exit code."""
    worst, is_empty = 0, True
    base_url = config.base_url or BASE_URL
    registry = with_replay_addresses(config, base_url).registry
    async with (
        open_core(config, base_url) as core,
        opened_titles(options.titles, config, base_url) as titles,
    ):
        for text in _interruptible(inputs(identifiers)):
            is_empty = False
            worst = max(worst, await _resolve(core, registry, text, options, titles))
    if is_empty:
        echo("no references: standard input is empty", err=True)
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
        given = read_given(text, registry, options.at, datetime.now(UTC), options.repeated)
        query = _dated(query_for(given.reading, registry), given.at)
        query = of_cited_copy(query, given.others, registry)
    except (Malformed, SeveralFound) as error:
        return _reject(text, error, options, code=2)
    except NotNegotiable as error:
        # A valid identifier, for which no archive can be queried.
        return _reject(text, error, options, code=4)
    with _progress(core, registry, query, options.preferences):
        found = await core.resolver.resolve(query, options.preferences, UNLIMITED)
    resolution = trusted(found, registry)
    judged = verdict(resolution, registry)
    code = code_of(resolution, judged)
    less = dict(unmet(resolution, judged, options.preferences))
    if (given.doubt or less) and code == 0:
        # Another date may be meant, or an option is not met: it is less than was requested.
        code = 1
    if options.as_json:
        members = report(resolution, judged, registry, core.base_url)
        members |= _headline(resolution, judged, registry, given.doubt_words)
        more = {"unmet": [*less]} if less else {}
        echo(json.dumps({"input": text, "code": code, **given.members, **members, **more}))
    elif options.form is not None:
        title = await _title(resolution, registry, titles)
        described = given.described._replace(title=title or given.described.title)
        notes = _cite(resolution, judged, registry, options, described)
        _warn(given, judged, code, (*_less_than_requested(less), *notes))
    else:
        _show(given, resolution, judged, registry)
        lines = (*_less_than_requested(less), *given.said, *_longer(resolution))
        echo_lines(f"  {line}" for line in lines)
    return code


def _less_than_requested(less: Mapping[str, str]) -> Iterator[str]:
    """Yield which options the copy does not meet, from `unmet`."""
    if less:
        yield f"less than requested: {'; '.join(less.values())}"


def _warn(given: Given, judged: Verdict, code: int, notes: Sequence[str]) -> None:
    """Print to standard error why a copy that was cited is less than asked, and *notes*."""
    if code == 1:
        echo(f"{given.title}: {given.doubt_words or in_words(judged)}", err=True)
    for line in (*notes, *(given.said if code == 1 else ())):
        echo(f"  {line}", err=True)


def _headline(
    resolution: Resolution, judged: Verdict, registry: Registry, doubt: str
) -> dict[str, object]:
    """Return the words for a result without a copy, or with a *doubt*, as a headline."""
    if resolution.memento is None and judged.match.value == "none":
        lacking = failure(resolution, registry)
        return {"headline": here(lacking.title), "words": lacking.detail}
    return {"headline": doubt} if doubt else {}


def _repeated(
    config: Path | None, archives: Path | None, contact: str | None, *, demo: bool
) -> str:
    """Return the options that a suggested command must have to ask the same archives."""
    named = (("--config", config), ("--archives", archives), ("--contact", contact))
    given = (f" {name} {shlex.quote(str(value))}" for name, value in named if value is not None)
    return "".join([" --demo" if demo else "", *given])


def _longer(resolution: Resolution) -> Iterator[str]:
    """Yield how to wait for archives that did not answer in time."""
    late, waited = len(resolution.unanswered), resolution.preferences.wait
    if late and waited and waited < LONGEST_WAIT:
        yield (
            f"{counted(late, 'archive')} did not answer within {waited:g} s: "
            f"--wait {LONGEST_WAIT:g} waits longer"
        )


def _show(given: Given, resolution: Resolution, judged: Verdict, registry: Registry) -> None:
    """Print the result, on a terminal with colours."""
    if sys.stdout.isatty():
        from timegate.cli.terminal import show  # noqa: PLC0415 -- pipes need no rich

        show(given.title, resolution, judged, registry, doubt=given.doubt_words)
        return
    echo(given.title)
    echo_lines(f"  {line}" for line in result_lines(resolution, judged, registry))


@contextmanager
def _progress(
    core: "Core", registry: Registry, query: Query, preferences: Preferences
) -> Iterator[None]:
    """Show at a terminal which archives have answered, until the answer is there."""
    line = ProgressLine()
    if not line.is_visible:
        yield
        return
    waiting = dict.fromkeys(core.planner.plan(query, preferences, UNLIMITED).order)
    total = len(waiting)

    def show() -> None:
        names = [name_of(archive, registry) for archive in waiting]
        line.show(waiting_words(total - len(waiting), names))

    def note(attempt: Attempt) -> None:
        if attempt.archive in waiting and attempt.original == query.original:
            del waiting[attempt.archive]
            show()

    show()
    core.observer.watchers.add(note)
    try:
        yield
    finally:
        core.observer.watchers.discard(note)
        line.clear()


def _dated(query: Query, at: Moment | None) -> Query:
    if at is None or query.at is not None:
        return query
    return query.dated(at)


def _reject(text: str, error: ValueError, options: ResolveOptions, *, code: int) -> int:
    """Print why *text* cannot be resolved, and return the exit code."""
    if options.as_json:
        listed = {"references": error.references} if isinstance(error, SeveralFound) else {}
        echo(json.dumps({"input": text, "code": code, "error": str(error), **listed}))
    elif isinstance(error, SeveralFound):
        echo_lines(error.lines, err=options.form is not None)
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
    options: ResolveOptions,
    described: PageDescription,
) -> Sequence[str]:
    """Print a citation of the copy; if there is none, print why to standard error.

    Return what became of the citation in the ID.
    """
    copy = copy_found(resolution, registry, described=described)
    original = resolution.query.original
    text = None
    if copy is not None and options.form is not None:
        stated = options.titles.url_status
        copy = copy if stated == "bot: unknown" else replace(copy, url_status=stated)
        copy = replace(copy, accessed=options.titles.accessed or copy.accessed)
        text = reference(options.form, copy)
    if text is not None:
        echo_text(text)
    elif copy is not None:
        echo(f"{original}: the copy cannot be cited as {options.form}", err=True)
    else:
        why = ", ".join(result_lines(resolution, judged, registry))
        echo(f"{original}: {why}", err=True)
    if copy is None or text is None or options.form is None:
        return ()
    return [*_notes(options.form, copy, described, resolution, judged)]


def _notes(
    form: Form,
    copy: Copy,
    described: PageDescription,
    resolution: Resolution,
    judged: Verdict,
) -> Iterator[str]:
    """Yield what became of a pasted citation, or what *form* takes over from it."""
    pasted = copy.pasted
    if pasted is None or not comes_back(form, copy):
        if form in OF_DESCRIPTION and described.taken_over:
            yield f"{LABELS[form]} takes over from your citation: {described.taken_over}"
    elif pasted.is_unchanged:
        named = resolution.query.archive
        yield (
            f"your citation is unchanged: its archive link was not checked in {named}; "
            f"--distrust {named} replaces the link"
        )
    elif pasted.has_archive_link and judged.match.value != "exact":
        yield f"the archive link of your citation was replaced; the copy: {in_words(judged)}"


@click.command("resolve")
@click.argument("identifiers", nargs=-1, metavar="[ID]...")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per ID.")
@click.option(
    "--format", "form", type=Words(FORMS), help="Print a citation of the copy in this format."
)
@title_options
@list_choice_options
@contact_option
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
    contact: str | None,
    config: Path | None,
    archives: Path | None,
    demo: bool,
    batch: BatchOptions,
) -> None:
    r"""Find the best archived copy for each ID, and show how well it matches.

    An ID is a PWID, a duri, a link to an archived page (even a dead link), a URL, or a text
    with one of them, such as a citation with its date of access. With -, IDs are read from
    standard input, one per line. --batch reads them from a list or a document: lines, CSV,
    JSON, BibTeX, RIS, wikitext, HTML, Markdown, RST, LaTeX, text, DOCX or PDF.

    \b
    Exit codes (the highest of all IDs):
      0  as requested; a copy in another archive than the named one counts too, unless
         --precision demands that archive; also for an empty list
      1  found, but less than requested
      2  invalid identifier, several references in one ID, or bad usage
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
    batch = batch.with_status(choices.status)
    if batch.is_queue_only:
        batch.check_queue_only(identifiers)
        if batch.progress:
            sys.exit(show_queue_progress(batch))
    else:
        _check_usage(identifiers, batch, choices, single=as_json or form is not None)
    if as_json and form is not None:
        raise click.UsageError("use either --json or --format, not both")
    titles.check(form, identifiers)
    repeated = _repeated(config, archives, contact, demo=demo)
    _check_files(identifiers, repeated)
    with configured(config, archives, demo=demo) as basis:
        settings = with_contact(basis, contact)
        say_demo(demo=demo)
        preferences = batch.required(choices.preferences(settings.registry))
        if batch.batch is not None or batch.is_queue_only:
            from timegate.cli.batch import resolve_batch  # noqa: PLC0415 -- slow to import

            sys.exit(resolve_batch(settings, batch, preferences, choices.moment()))
        options = ResolveOptions(
            # As long as the page waits, so that both give the same answer.
            replace(preferences, wait=preferences.wait or _patience(preferences), live=True),
            choices.moment(),
            form,
            titles,
            as_json=as_json,
            repeated=repeated,
        )
        sys.exit(asyncio.run(resolve_all(settings, identifiers, options)))


def _check_files(identifiers: tuple[str, ...], repeated: str) -> None:
    """Raise UsageError for an ID that is the name of a file: its name would be a host."""
    for text in identifiers:
        if "/" not in text.strip("./") and ":" not in text and is_file(text):
            batch = f"timegate resolve{repeated} --batch {shlex.quote(text)}"
            raise click.UsageError(
                f"{text} is a file. For the references in it, type: {batch}\n"
                f"For a page of that name, type http://{text}/"
            )


def _check_usage(
    identifiers: tuple[str, ...], batch: BatchOptions, choices: SearchOptions, *, single: bool
) -> None:
    if (batch.batch is None) == (not identifiers):
        raise click.UsageError("give either IDs or a list with --batch")
    if batch.batch is None:
        if choices.also and (len(identifiers) > 1 or "-" in identifiers):
            raise click.UsageError("--also is for a single ID; use a list with a column also")
        batch.check_without_list(identifiers)
        return
    if choices.also:
        raise click.UsageError("--also does not apply to a list; put a column also into it")
    if single:
        raise click.UsageError("--json and --format do not apply to a list; use --to")
    if choices.wait is not None:
        raise click.UsageError(
            "--wait does not apply to a list, which always waits for all archives"
        )
