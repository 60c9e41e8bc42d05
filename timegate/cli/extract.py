"""``timegate extract``: saves the copies for a list of references as a WARC."""

import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click

from timegate.batch.journal import BadJournal, Journal
from timegate.batch.lines import Columns
from timegate.batch.model import BadInput, Item
from timegate.batch.output import show_progress
from timegate.batch.source import ListSource
from timegate.cli.batch import ListJob, run_list
from timegate.cli.options import (
    SearchOptions,
    archives_option,
    check_contact,
    choice_options,
    config_option,
    configured,
    demo_option,
)
from timegate.cli.output import echo, ungrouped
from timegate.cli.titles import opened_fetchers
from timegate.collections.opening import with_replay_addresses
from timegate.config import Config
from timegate.extract.run import MOST_ATTEMPTS, Extracted, Extraction, FailedArchives
from timegate.extract.warc_file import WarcFile
from timegate.resolution.model import Preferences
from timegate.text import counted
from timegate.upstream.worker_rate_limits import create_rate_limits_file

_MOST: Final = 100_000
"""References in a list; the copy of each can have a gigabyte."""
_RESOLVED_AT_ONCE: Final = 16
_FETCHED_AT_ONCE: Final = 4
_MOST_SHOWN: Final = 100
"""References without a copy that the summary names; --json has all of them."""


def extract_list(
    config: Config, preferences: Preferences, name: str, output: Path, *, as_json: bool
) -> int:
    """Write the copies for the list *name* to *output*; return the exit code."""
    try:
        return _extract(config, preferences, name, output, as_json=as_json)
    except BadInput as error:
        raise click.UsageError(f"{name}: {error}") from error
    except FileExistsError as error:
        raise click.UsageError(
            f"{error.filename} already exists: choose another name"
        ) from error
    except OSError as error:
        raise click.ClickException(f"{error.filename or output}: {error.strerror}") from error


def _extract(
    config: Config, preferences: Preferences, name: str, output: Path, *, as_json: bool
) -> int:
    source = ListSource(name, None, Columns(None, ()), config.registry)
    results = _Results(as_json=as_json)
    info = _info(config, name)
    with TemporaryDirectory(prefix="timegate-") as folder, WarcFile(output, info) as warc:
        rate_limits = _rate_limits(config, Path(folder))
        choices = FailedArchives()
        job = ListJob(config, preferences, _RESOLVED_AT_ONCE, rate_limits, choices.without)
        with ungrouped(BadInput, BadJournal, OSError):
            asyncio.run(_extract_all(job, source, Path(folder), warc, choices, results))
        if results.written:
            warc.finish()
    if not results.total:
        echo(source.none_found(), err=True)
    results.summarize(output)
    return results.worst


async def _extract_all(  # noqa: PLR0913, PLR0917 -- input, output and progress
    job: ListJob,
    source: ListSource,
    folder: Path,
    warc: WarcFile,
    choices: FailedArchives,
    results: "_Results",
) -> None:
    """Resolve and fetch all references; then again those for which another copy is tried."""
    registry = with_replay_addresses(job.config, job.base_url).registry
    extraction = Extraction(
        {}, registry, warc, strict=_is_strict(job.preferences), choices=choices
    )
    items, total = _bounded(source.items()), None
    for number in range(MOST_ATTEMPTS):
        with Journal(folder / f"journal-{number}", "extract", resume=False) as journal:
            await run_list(job, items, journal, total)
            await _fetch(job, journal, extraction, results)
            positions = [*choices.again()]
            items = iter([result.item for at in positions if (result := journal.result(at))])
        if not positions:
            return
        total = len(positions)
        failed = counted(total, "reference")
        echo(f"{failed} could not be fetched: trying other archives", err=True)


def _is_strict(preferences: Preferences) -> bool:
    return preferences.precision != "any" or preferences.tolerance is not None


async def _fetch(
    job: ListJob, journal: Journal, extraction: Extraction, results: "_Results"
) -> None:
    async with opened_fetchers(job.config, job.base_url, job.rate_limits) as fetchers:
        fetching = replace(extraction, fetchers=fetchers)
        with show_progress(journal.finished, 0, terminal=sys.stderr.isatty()) as advance:

            def done(extracted: Extracted) -> None:
                results.add(extracted)
                advance()

            await fetching.complete(journal.results(), _FETCHED_AT_ONCE, done)


def _bounded(items: Iterator[Item]) -> Iterator[Item]:
    for item in items:
        if item.position >= _MOST:
            raise BadInput(f"more than {_MOST:,} references: split the list")
        yield item


def _rate_limits(config: Config, folder: Path) -> Path | None:
    """Create the file in which resolving and fetching share the rate limits of archives."""
    if not config.remote:
        return None
    create_rate_limits_file(folder / "rate_limits", config.remote)
    return folder / "rate_limits"


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
    }
    return json.dumps(report)


@click.command("extract")
@click.argument("source", metavar="LIST")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT.warc.gz",
    help="WARC file to write; compressed if it ends in .gz.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per reference.")
@choice_options
@config_option
@archives_option
@demo_option
def extract_command(  # noqa: PLR0913 -- one parameter for each option
    source: str,
    *,
    output: Path,
    as_json: bool,
    choices: SearchOptions,
    config: Path | None,
    archives: Path | None,
    demo: bool,
) -> None:
    r"""Fetch the original bytes of the copy for each reference in LIST, and write a WARC.

    LIST is a file as for `timegate resolve --batch` (lines, CSV, JSON, BibTeX, wikitext or
    HTML), or - for standard input. A metadata record describes each copy with its reference and
    its verdict. Copies that an archive only serves rewritten are skipped. If an archive does
    not deliver the bytes, up to two others are tried. Without --precision and --tolerance the
    best copy is used, however far it is from the requested time.

    \b
    Exit codes (the highest of all references):
      0  as requested, and in the WARC
      1  less precise than requested, but in the WARC
      2  invalid identifier, or bad usage
      3  nothing found, and every archive answered
      4  some archive did not answer, or did not deliver the bytes

    \b
    Examples:
      timegate extract --demo list.txt -o copies.warc.gz
      echo duri:2010:http://museum.example/ | timegate extract --demo - -o museum.warc.gz
    """
    if choices.at is not None or choices.wait is not None:
        raise click.UsageError(
            "--at and --wait do not apply to a list; put dates into the list"
        )
    if choices.also:
        raise click.UsageError("--also does not apply to a list; put a column also into it")
    with configured(config, archives, demo=demo) as settings:
        check_contact(settings)
        preferences = choices.preferences(settings.registry)
        sys.exit(extract_list(settings, preferences, source, output, as_json=as_json))
