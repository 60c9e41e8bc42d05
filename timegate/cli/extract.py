"""``timegate extract``: saves the copies for a list of references as a WARC or a WACZ."""

import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

import click

from archives.model import Memento
from timegate.batch.journal import BadJournal, Journal
from timegate.batch.model import BadInput, Item, preferences_digest
from timegate.batch.output import show_progress
from timegate.batch.source import ListSource
from timegate.cli.given import piped_instead
from timegate.cli.lists import ListJob, opened_core, run_list
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
from timegate.cli.output import echo, typed_with, ungrouped
from timegate.collections.opening import with_replay_addresses
from timegate.config import Config
from timegate.extract.fetching import FoundCopy
from timegate.extract.output import SUFFIXES, ExtractionOutput
from timegate.extract.run import MOST_ATTEMPTS, Extracted, Extraction, FailedArchives
from timegate.parts.composite import CompositeMemento, PartLimits
from timegate.references.lines import Columns
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Preferences
from timegate.text import counted
from timegate.upstream.worker_rate_limits import create_rate_limits_file

_MOST: Final = 100_000
"""References in a list; the copy of each can have a gigabyte."""
_RESOLVED_AT_ONCE: Final = 16
_FETCHED_AT_ONCE: Final = 4
_INTERRUPTED: Final = 130
_PART_LIMITS: Final = PartLimits(
    requests=1000, octets=256 * 1024**2, seconds=3600.0, variants=True
)
"""A list is not interactive: the parts of a page get their time within the rate limits."""
_MOST_SHOWN: Final = 100
"""References without a copy that the summary names; --json has all of them."""


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """The options of `extract`."""

    name: str
    """The list."""
    output: Path
    as_json: bool = False
    pages: bool = False
    """Whether references that state no extent mean a page with its parts."""
    resume: bool = False


def extract_list(config: Config, preferences: Preferences, options: ExtractOptions) -> int:
    """Write the copies for a list; return the exit code."""
    try:
        return _extract(config, preferences, options)
    except BadJournal as error:
        raise click.UsageError(str(error)) from error
    except BadInput as error:
        hint = "" if is_file(options.name) else piped_instead(options.name)
        raise click.UsageError(f"{options.name}: {error}{hint}") from error
    except FileExistsError as error:
        raise click.UsageError(
            f"{error.filename} already exists: choose another name"
        ) from error
    except OSError as error:
        name = error.filename or options.output
        raise click.ClickException(f"{name}: {error.strerror}") from error


def _extract(config: Config, preferences: Preferences, options: ExtractOptions) -> int:
    source = ListSource(options.name, None, Columns(None, ()), config.registry)
    results = _Results(as_json=options.as_json)
    output = ExtractionOutput(
        options.output,
        _info(config, options.name),
        json.dumps([preferences_digest(preferences), source.form, options.pages]),
        resume=options.resume,
    )
    try:
        with output:
            run = _Run(config, preferences, options, output, results)
            with ungrouped(BadInput, BadJournal, OSError):
                asyncio.run(run.complete(source))
            if results.written:
                output.finish()
    except KeyboardInterrupt:
        echo(f"interrupted; continue with --resume: {typed_with('--resume')}", err=True)
        return _INTERRUPTED
    if not results.total:
        echo(source.none_found(), err=True)
    results.summarize(options.output)
    return results.worst


class _Run:
    """Resolves and fetches the references of a list."""

    def __init__(
        self,
        config: Config,
        preferences: Preferences,
        options: ExtractOptions,
        output: ExtractionOutput,
        results: "_Results",
    ) -> None:
        self._choices = FailedArchives(output.journal.failures)
        self._job = ListJob(
            config,
            preferences,
            _RESOLVED_AT_ONCE,
            _rate_limits(config, output.folder),
            self._choices.without,
        )
        registry = with_replay_addresses(config, self._job.base_url).registry
        self._extraction = Extraction(
            {},
            registry,
            output.warc,
            strict=_is_strict(preferences),
            choices=self._choices,
            state=output.journal,
            all_pages=options.pages,
        )
        self._folder = output.folder
        self._results = results

    async def complete(self, source: ListSource) -> None:
        """Process all references; then again those for which another copy is tried."""
        items, total = _bounded(source.items()), None
        for attempt in range(MOST_ATTEMPTS):
            path = self._folder / f"journal-{attempt}"
            with Journal(path, "extract", resume=True) as journal:
                await run_list(self._job, items, journal, total)
                await self._fetch(journal, attempt)
                positions = self._choices.again(attempt)
                known = (journal.result(at) for at in positions)
                items = iter([result.item for result in known if result])
            if not positions:
                return
            total = len(positions)
            failed = counted(total, "reference")
            echo(f"{failed} could not be fetched: trying other archives", err=True)

    async def _fetch(self, journal: Journal, attempt: int) -> None:
        async with opened_core(self._job) as core:
            preferences = self._job.preferences

            async def parts(copy: FoundCopy) -> CompositeMemento:
                page = Memento(copy.captured.digits, copy.uri, copy.original, copy.archive)
                return await core.parts_of(page, UNLIMITED, _PART_LIMITS, preferences)

            fetching = replace(self._extraction, fetchers=core.fetchers, parts=parts)
            with show_progress(journal.finished, 0, terminal=sys.stderr.isatty()) as advance:

                def done(extracted: Extracted) -> None:
                    self._results.add(extracted)
                    advance()

                await fetching.complete(journal.results(), _FETCHED_AT_ONCE, done, attempt)


def _is_strict(preferences: Preferences) -> bool:
    return preferences.precision != "any" or preferences.tolerance is not None


def _bounded(items: Iterator[Item]) -> Iterator[Item]:
    for item in items:
        if item.position >= _MOST:
            raise BadInput(f"more than {_MOST:,} references: split the list")
        yield item


def _rate_limits(config: Config, folder: Path) -> Path | None:
    """Create the file in which resolving and fetching share the rate limits of archives."""
    if not config.remote:
        return None
    path = folder / "rate_limits"
    path.unlink(missing_ok=True)
    create_rate_limits_file(path, config.remote)
    return path


def _info(config: Config, name: str) -> dict[str, str]:
    """Return the fields of the warcinfo record."""
    info = {
        "software": f"timegate/{version('timegate-proxy')}",
        "format": "WARC File Format 1.1",
        "description": f"Archived copies for the references in {Path(name).name}. A metadata "
        "record for each copy describes how it differs from the reference.",
    }
    return info if config.contact is None else {**info, "operator": config.contact}


class _Results:
    """Counts the results, and prints each as JSON if requested."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._missing: list[str] = []
        self.total = 0
        """References in the list."""
        self.written = 0
        """References with a copy in the WARC."""
        self.worst = 0

    def add(self, extracted: Extracted) -> None:
        """Count *extracted*, and print it as JSON if requested."""
        self.total += 1
        self.worst = max(self.worst, extracted.code)
        if self._as_json:
            echo(_line(extracted))
        if extracted.record is not None:
            self.written += 1
        elif self.total - self.written <= _MOST_SHOWN:
            self._missing.append(f"  {extracted.result.item.text}: {extracted.why}")

    def summarize(self, output: Path) -> None:
        """Print how many copies were saved, and why others were not."""
        saved = f"{self.written} saved in {output}"
        none = f"none could be saved, so {output} was not written"
        total = counted(self.total, "reference")
        echo(f"{total}, {saved if self.written else none}", err=True)
        for line in self._missing:
            echo(line, err=True)
        more = self.total - self.written - len(self._missing)
        if more:
            echo(f"  and {more} more", err=True)


def _line(extracted: Extracted) -> str:
    result = extracted.result
    report = {
        "input": result.item.text,
        "outcome": result.outcome,
        "code": extracted.code,
        "why": extracted.why,
        "memento": result.memento,
        "record": extracted.record,
        **({} if extracted.parts is None else {"parts": extracted.parts}),
    }
    return json.dumps(report)


@click.command("extract")
@click.argument("source", metavar="LIST")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT",
    help="File to write: a WARC (.warc.gz, .warc), or a WACZ (.wacz).",
)
@click.option(
    "--pages", is_flag=True, help="Save pages with their parts, also if only a URL is given."
)
@click.option("--resume", is_flag=True, help="Continue an interrupted run.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per reference.")
@choice_options
@contact_option
@config_option
@archives_option
@demo_option
def extract_command(  # noqa: PLR0913 -- one parameter for each option
    source: str,
    *,
    output: Path,
    pages: bool,
    resume: bool,
    as_json: bool,
    choices: SearchOptions,
    contact: str | None,
    config: Path | None,
    archives: Path | None,
    demo: bool,
) -> None:
    r"""Fetch the copy of each reference in LIST as it was captured; write a WARC or a WACZ.

    LIST is a file as for `timegate resolve --batch` (lines, CSV, JSON, XML, BibTeX, wikitext,
    HTML or text), or - for standard input. A PWID of a part means one file; a PWID of a page
    means the page with the images, stylesheets and frames that it embeds. Of anything else, the
    file is saved, unless --pages is given. A metadata record describes each copy with its
    reference and its verdict. Copies that an archive only serves rewritten are skipped. If an
    archive does not deliver the bytes, up to two others are tried. Without --precision and
    --tolerance the best copy is used, however far it is from the requested time.

    \b
    Exit codes (the highest of all references):
      0  as requested, and in the file
      1  less precise than requested or without some parts, but in the file
      2  invalid identifier, or bad usage
      3  nothing found, and every archive answered
      4  some archive did not answer, or did not deliver the bytes

    \b
    Examples:
      timegate extract --demo list.txt -o copies.warc.gz
      timegate extract --demo --pages list.txt -o pages.wacz
      echo duri:2010:http://museum.example/ | timegate extract --demo - -o museum.warc.gz
    """
    if not output.name.lower().endswith(SUFFIXES):
        raise click.UsageError(f"{output}: the name must end in .warc.gz, .warc or .wacz")
    if choices.at is not None or choices.wait is not None:
        raise click.UsageError(
            "--at and --wait do not apply to a list; put dates into the list"
        )
    if choices.also:
        raise click.UsageError("--also does not apply to a list; put a column also into it")
    with configured(config, archives, demo=demo) as basis:
        settings = with_contact(basis, contact)
        preferences = choices.preferences(settings.registry)
        options = ExtractOptions(source, output, as_json, pages, resume)
        sys.exit(extract_list(settings, preferences, options))
