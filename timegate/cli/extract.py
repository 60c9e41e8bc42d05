"""``timegate extract``: the copies behind a list of references become a WARC."""

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
from timegate.cli.list_run import ListJob, run_list
from timegate.cli.options import (
    SearchOptions,
    archives_option,
    check_contact,
    choice_options,
    config_option,
    configured,
    demo_option,
)
from timegate.cli.output import ungrouped
from timegate.cli.titles import opened_fetchers
from timegate.collections.opening import with_replay_addresses
from timegate.config import Config
from timegate.extract.run import MOST_ATTEMPTS, Extracted, Extraction, FailedArchives
from timegate.extract.warc_file import WarcFile
from timegate.resolution.model import Preferences
from timegate.text import counted, escaped
from timegate.upstream.worker_rate_limits import create_rate_limits_file

_MOST: Final = 100_000
"""References of a list; each may be a copy of a gigabyte."""
_RESOLVED_AT_ONCE: Final = 16
_FETCHED_AT_ONCE: Final = 4
_SHOWN: Final = 100
"""What could not be had is told of so many; --json tells of all."""


def extract_list(
    config: Config, preferences: Preferences, name: str, output: Path, *, as_json: bool
) -> int:
    """Write the copies of the list *name* to *output*; return the exit code."""
    try:
        return _extracted(config, preferences, name, output, as_json=as_json)
    except BadInput as error:
        raise click.UsageError(f"{name}: {error}") from error
    except FileExistsError as error:
        raise click.UsageError(f"{error.filename} exists: choose another name") from error
    except OSError as error:
        raise click.ClickException(f"{error.filename or output}: {error.strerror}") from error


def _extracted(
    config: Config, preferences: Preferences, name: str, output: Path, *, as_json: bool
) -> int:
    source = ListSource(name, None, Columns(None, ()), config.registry)
    telling = _Telling(as_json=as_json)
    info = _info(config, name)
    with TemporaryDirectory(prefix="timegate-") as folder, WarcFile(output, info) as warc:
        rate_limits = _rate_limits(config, Path(folder))
        choices = FailedArchives()
        job = ListJob(config, preferences, _RESOLVED_AT_ONCE, rate_limits, choices.without)
        with ungrouped(BadInput, BadJournal, OSError):
            asyncio.run(_worked(job, source, Path(folder), warc, choices, telling))
        if telling.written:
            warc.finish()
    if not telling.total:
        click.echo(source.none_found(), err=True)
    telling.summarize(output)
    return telling.worst


async def _worked(  # noqa: PLR0913, PLR0917 -- from where, whereto, and who is told
    job: ListJob,
    source: ListSource,
    folder: Path,
    warc: WarcFile,
    choices: FailedArchives,
    telling: "_Telling",
) -> None:
    """Resolve all and fetch all; then the same for those of which another copy is tried."""
    registry = with_replay_addresses(job.config, job.base_url).registry
    extraction = Extraction(
        {}, registry, warc, strict=_is_strict(job.preferences), choices=choices
    )
    items, total = _bounded(source.items()), None
    for number in range(MOST_ATTEMPTS):
        with Journal(folder / f"journal-{number}", "extract", resume=False) as journal:
            await run_list(job, items, journal, total)
            await _fetched(job, journal, extraction, telling)
            again = [*choices.again()]
            items = iter([result.item for at in again if (result := journal.result(at))])
        if not again:
            return
        total = len(again)
        click.echo(f"{total} could not be had there: looking elsewhere", err=True)


def _is_strict(preferences: Preferences) -> bool:
    return preferences.precision != "any" or preferences.tolerance is not None


async def _fetched(
    job: ListJob, journal: Journal, extraction: Extraction, telling: "_Telling"
) -> None:
    async with opened_fetchers(job.config, job.base_url, job.rate_limits) as fetchers:
        fetching = replace(extraction, fetchers=fetchers)
        with show_progress(journal.finished, 0, terminal=sys.stderr.isatty()) as advance:

            def done(extracted: Extracted) -> None:
                telling(extracted)
                advance()

            await fetching.complete(journal.results(), _FETCHED_AT_ONCE, done)


def _bounded(items: Iterator[Item]) -> Iterator[Item]:
    for item in items:
        if item.position >= _MOST:
            raise BadInput(f"more than {_MOST:,} references: take them in parts")
        yield item


def _rate_limits(config: Config, folder: Path) -> Path | None:
    """Return where requests are counted: fetching goes on where resolving left off."""
    elsewhere = config.remote
    if not elsewhere:
        return None
    create_rate_limits_file(folder / "rate_limits", elsewhere)
    return folder / "rate_limits"


def _info(config: Config, name: str) -> dict[str, str]:
    """Return what stands in the first record: who made the file, and what of."""
    told = {
        "software": f"timegate/{version('timegate-proxy')}",
        "format": "WARC File Format 1.1",
        "description": f"Copies behind the references of {Path(name).name}, as archives hold "
        "them. Beside each stands how it differs from what was asked for.",
    }
    return told if config.contact is None else {**told, "operator": config.contact}


class _Telling:
    """Counts what became of the references, and tells of each in JSON."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._missing: list[str] = []
        self.total = 0
        """References of the list."""
        self.written = 0
        """References whose copies are in the WARC."""
        self.worst = 0

    def __call__(self, extracted: Extracted) -> None:
        self.total += 1
        self.worst = max(self.worst, extracted.code)
        if self._as_json:
            click.echo(_line(extracted))
        if extracted.record is not None:
            self.written += 1
        elif self.total - self.written <= _SHOWN:
            text = escaped(extracted.result.item.text)
            self._missing.append(f"  {text}: {escaped(extracted.why)}")

    def summarize(self, output: Path) -> None:
        """Say what was written, and what could not be had."""
        where = f"in {output}" if self.written else f"so {output} was not written"
        told = counted(self.total, "reference")
        click.echo(f"{told}, {self.written} of them {where}", err=True)
        for line in self._missing:
            click.echo(line, err=True)
        untold = self.total - self.written - len(self._missing)
        if untold:
            click.echo(f"  and {untold} more", err=True)


def _line(extracted: Extracted) -> str:
    result = extracted.result
    told = {
        "input": result.item.text,
        "outcome": result.outcome,
        "code": extracted.code,
        "why": extracted.why,
        "memento": result.memento,
        "record": extracted.record,
    }
    return json.dumps(told)


@click.command("extract")
@click.argument("source", metavar="LIST")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT.warc.gz",
    help="The WARC to write; compressed if it ends in .gz.",
)
@click.option("--json", "as_json", is_flag=True, help="One line of JSON for each reference.")
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
    r"""Fetch the copy of each reference in LIST as it was harvested, and write all into a WARC.

    LIST is what `timegate resolve --batch` takes: lines, CSV, JSON, BibTeX, wikitext or HTML; -
    is standard input. Beside each copy stands a metadata record with the reference and the
    verdict. What an archive shows only rewritten is not taken; where it does not give the
    bytes, two others are tried. Without --precision and --tolerance the best copy of each is
    taken, however far off.

    \b
    Exit codes, the worst of all references:
      0  the copy is as asked, and in the WARC
      1  less precise than asked, but in the WARC
      2  not an identifier, or bad usage
      3  nothing found, and every archive answered
      4  some archive did not answer, or did not give the bytes

    \b
    Examples:
      timegate extract --demo list.txt -o copies.warc.gz
      echo duri:2010:http://museum.example/ | timegate extract --demo - -o museum.warc.gz
    """
    if choices.at is not None or choices.wait is not None:
        raise click.UsageError("--at and --wait are for IDs; dates stand in the list")
    # Only now: who asks for help or completes a word does not wait for the web server.

    with configured(config, archives, demo=demo) as settings:
        check_contact(settings)
        preferences = choices.preferences(settings.registry)
        sys.exit(extract_list(settings, preferences, source, output, as_json=as_json))
