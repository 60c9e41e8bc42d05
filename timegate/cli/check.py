"""``timegate check``: does an archive keep to RFC 7089, and to what its users rely on."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, cast

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from archives.model import ArchiveEntry
from archives.moment import Moment
from timegate.cli.options import archives_option, config_option, loaded
from timegate.config import Config
from timegate.conformance.catalogue import VERDICTS, Verdict
from timegate.conformance.gather import Recognised, as_declared, recognised
from timegate.conformance.history import BadHistory, History
from timegate.conformance.report import (
    CheckResult,
    Report,
    as_json,
    as_junit,
    exit_code,
    lines,
    printable,
    summary,
    trace,
)
from timegate.conformance.report_html import as_html
from timegate.conformance.run import (
    PATIENCE,
    CheckJob,
    estimated,
    run_again,
    run_live,
    seconds_for,
)
from timegate.conformance.session import (
    BadRecording,
    RecordedRun,
    Session,
    open_recording,
    read_run,
)
from timegate.conformance.subject import (
    DEFAULT_SAMPLE,
    ROLES,
    Role,
    entry_for,
    is_foreign,
    subject_of,
)
from timegate.upstream.stack import UpstreamSettings, open_fetchers

_STYLES: Final[dict[Verdict, str]] = {
    "pass": "green",
    "fail": "bold red",
    "warn": "yellow",
    "unknown": "magenta",
    "skip": "dim",
}
_WRONG: Final = ("fail", "warn")
_WIDE: Final = 100
"""Columns of a terminal from which on there is room for rule and level."""


@dataclass(frozen=True, slots=True)
class CheckOutput:
    """Where the report goes."""

    json: bool
    junit: Path | None
    html: Path | None
    history: Path | None
    strict: bool
    verbose: bool


def announce(jobs: Sequence[CheckJob]) -> None:
    """Say beforehand what the run will cost."""
    costs = [estimated(job.subject) for job in jobs]
    requests = sum(cost.memento + cost.index for cost in costs)
    seconds = max(seconds_for(job.subject, job.entry.limits) for job in jobs)
    archives = "1 archive" if len(jobs) == 1 else f"{len(jobs)} archives"
    click.echo(
        f"asking {archives}: up to {requests} requests and pages of TimeMaps, "
        f"at least {seconds:.0f} s within their limits",
        err=True,
    )


class CheckProgress:
    """Says which archive is done."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0

    def __call__(self, report: Report) -> None:
        self._done += 1
        click.echo(f"[{self._done}/{self._total}] {summary(report)}", err=True)


def finish(reports: Sequence[Report], now: str, output: CheckOutput, *, live: bool) -> None:
    """Write the report in every form that was asked for, and end; a replay is no history."""
    code = exit_code(reports, strict=output.strict)
    try:
        if output.history is not None and live:
            History(output.history).add(reports, now)
    except (BadHistory, OSError) as error:
        raise click.UsageError(f"--history: {error}") from error
    if output.junit is not None:
        output.junit.write_bytes(as_junit(reports, strict=output.strict))
    if output.html is not None:
        output.html.write_text(as_html(reports, now))
    if output.json:
        click.echo(as_json(reports, now, code))
    else:
        _print(reports, verbose=output.verbose)
    sys.exit(code)


def _print(reports: Sequence[Report], *, verbose: bool) -> None:
    if sys.stdout.isatty():
        console = Console(highlight=False)
        for report in reports:
            show(report, console, verbose=verbose)
        return
    for report in reports:
        for line in lines(report, verbose=verbose):
            click.echo(line)


def show(report: Report, console: Console, *, verbose: bool) -> None:
    """Print *report* as a table for each page, with the traces of what is wrong below it."""
    subject = report.subject
    for sample in subject.samples:
        shown = [r for r in report.results if r.sample == sample]
        shown = [r for r in shown if verbose or r.finding.verdict != "skip"]
        console.print(Text(printable(f"{subject.id}: {subject.role} {subject.url}"), "bold"))
        console.print(Text(printable(f"with {sample}"), "dim"))
        console.print(_table(shown, wide=console.width >= _WIDE))
        for result in shown:
            if result.finding.verdict in _WRONG:
                _show_trace(result, console)
    console.print(_counts(report))


def _table(results: Sequence[CheckResult], *, wide: bool) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("verdict", no_wrap=True)
    if wide:
        table.add_column("rule", no_wrap=True)
        table.add_column("level", no_wrap=True)
    table.add_column("check", no_wrap=True)
    table.add_column("found", overflow="fold")
    for result in results:
        check, finding = result.check, result.finding
        more = [Text(check.rule), Text(check.level)] if wide else []
        found = Text(printable(finding.why), "dim" if finding.verdict == "pass" else "")
        verdict = Text(finding.verdict, _STYLES[finding.verdict])
        table.add_row(verdict, *more, Text(check.name), found)
    return table


def _show_trace(result: CheckResult, console: Console) -> None:
    check, verdict = result.check, result.finding.verdict
    console.print()
    head = Text.assemble((verdict, _STYLES[verdict]), f" {check.name} ({check.section})")
    console.print(head, Text(f"  {check.sentence}"), sep="\n", soft_wrap=True)
    for line in trace(result):
        console.print(Text(f"  {line}", _trace_style(line)), soft_wrap=True)


def _trace_style(line: str) -> str:
    return {">": "cyan", "<": "blue"}.get(line[:1], "")


def _counts(report: Report) -> Text:
    told = Text(f"\n{printable(report.subject.id)}:")
    for verdict in VERDICTS:
        if report.counts[verdict]:
            told.append(f" {report.counts[verdict]} {verdict}", _STYLES[verdict])
    return told.append(f" ({report.requests} requests)\n")


def entries_in(config: Config, ids: Sequence[str], *, everything: bool) -> list[ArchiveEntry]:
    """Return the archives with these *ids*, or *everything* that has a TimeGate."""
    entries = _all_with_timegates(config) if everything else []
    for name in ids:
        entry = config.registry.by_id(name) or config.registry.by_pwid(name)
        if entry is None:
            why = f"no archive {name!r}; `timegate archives` lists those that are known"
            raise click.UsageError(why)
        if entry.timegate is None:
            raise click.UsageError(f"{entry.id} has no TimeGate that could be checked")
        entries.append(entry)
    return list({entry.id: entry for entry in entries}.values())


def _all_with_timegates(config: Config) -> list[ArchiveEntry]:
    without = [entry.id for entry in config.registry.used if entry.timegate is None]
    if without:
        click.echo(f"without a TimeGate, not checked: {', '.join(without)}", err=True)
    return [entry for entry in config.registry.used if entry.timegate]


def job_for(entry: ArchiveEntry, samples: tuple[str, ...]) -> CheckJob:
    """Return what is to be checked of an archive of the registry."""
    subject = subject_of(entry, samples or (DEFAULT_SAMPLE,))
    if subject is None:
        raise click.UsageError(f"{entry.id} has no TimeGate that could be checked")
    return CheckJob(subject, entry)


def given(url: str, also: Sequence[str]) -> ArchiveEntry:
    """Return the archive that *url* belongs to, as far as that is known."""
    try:
        return entry_for(url, also)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def check_contact(entries: Sequence[ArchiveEntry], contact: str | None) -> None:
    """Public archives are asked only by those who say who they are (R-14)."""
    if contact is None and any(map(is_foreign, entries)):
        why = "public archives want to know who asks: give --contact mailto:you@example.org"
        raise click.UsageError(why)


async def job_at(
    entry: ArchiveEntry,
    url: str,
    role: Role | None,
    samples: tuple[str, ...],
    contact: str | None,
) -> CheckJob:
    """Return what is to be checked at *url*: what it is said to be, or found to be."""
    found: Recognised
    if role is not None:
        found = as_declared(role, url, samples)
    else:
        settings = UpstreamSettings(
            contact or "no contact given",
            allow_private=frozenset({entry.id}),
            patience=PATIENCE,
        )
        async with open_fetchers([entry], settings) as fetchers:
            found = await recognised(url, samples, Session(fetchers[entry.id]))
    subject = subject_of(entry, found.samples)
    if subject is None:
        raise click.UsageError(f"{url} cannot be checked")
    return CheckJob(replace(subject, role=found.role, url=found.url), entry)


_EXAMPLES: Final = """\b
Examples:
  timegate check http://localhost:8080/my-web-archive/ --sample http://example.org/
  timegate check --archive arquivo-pt --sample http://www.sapo.pt/ --html report.html
  timegate check --all --record today/ && timegate check --replay today/ --json
"""
_FILE: Final = click.Path(dir_okay=False, path_type=Path)
_FOLDER: Final = click.Path(file_okay=False, path_type=Path)


@click.command("check", epilog=_EXAMPLES)
@click.argument("url", required=False)
@click.option("--archive", "ids", multiple=True, metavar="ID", help="An archive by its id.")
@click.option("--all", "everything", is_flag=True, help="Every archive that is in use.")
@click.option("--kind", type=click.Choice(ROLES), help="What URL is; else found by asking.")
@click.option("--sample", "samples", multiple=True, metavar="URL", help="A page to try with.")
@click.option("--also", multiple=True, metavar="URL", help="Another host that may be asked.")
@click.option("--strict", is_flag=True, help="A broken SHOULD counts for the exit code.")
@click.option("--json", is_flag=True, help="One JSON object.")
@click.option("--junit", type=_FILE, metavar="FILE", help="A report for build servers.")
@click.option("--html", type=_FILE, metavar="FILE", help="A page with every trace.")
@click.option("--history", type=_FILE, metavar="FILE", help="Keep the verdicts there, too.")
@click.option("--record", type=_FOLDER, metavar="DIR", help="Keep every exchange; go on there.")
@click.option("--replay", type=_FOLDER, metavar="DIR", help="Judge a recording; ask nobody.")
@click.option("--contact", envvar="TIMEGATE_CONTACT", help="Who asks; sent as User-Agent.")
@click.option("-v", "--verbose", is_flag=True, help="Also what does not apply.")
@config_option
@archives_option
def check_command(  # noqa: PLR0913 -- one parameter for each option
    url: str | None,
    *,
    ids: tuple[str, ...],
    everything: bool,
    kind: str | None,
    samples: tuple[str, ...],
    also: tuple[str, ...],
    strict: bool,
    json: bool,
    junit: Path | None,
    html: Path | None,
    history: Path | None,
    record: Path | None,
    replay: Path | None,
    contact: str | None,
    verbose: bool,
    config: Path | None,
    archives: Path | None,
) -> None:
    """Check whether an archive keeps to RFC 7089, and to what its users rely on.

    URL is the prefix of a TimeGate, or a TimeMap, a memento or an original. Without --sample
    the page http://example.com/ is tried, which most archives hold. Archives are asked as
    slowly as they want to be. Exit code 0: every MUST holds. 1: one does not. 4: it could not
    be judged, because the archive did not answer.
    """
    output = CheckOutput(json, junit, html, history, strict, verbose)
    if replay is not None:
        run, reports = _replayed(replay)
        finish(reports, run.now, output, live=False)
    settings = loaded(config, archives)
    who = contact or settings.contact
    chosen = entries_in(settings, ids, everything=everything)
    if not chosen and url is None:
        raise click.UsageError("give a URL, --archive ID, --all or --replay DIR")
    jobs = [job_for(entry, samples) for entry in chosen]
    if url is not None:
        entry = given(url, also)
        check_contact([entry], who)
        role = cast("Role | None", kind)
        jobs.append(asyncio.run(job_at(entry, url, role, samples, who)))
    check_contact([job.entry for job in jobs], who)
    asked = _Asking(jobs, who or "no contact given", settings.private)
    now, reports = _checked(asked, record)
    finish(reports, now, output, live=True)


@dataclass(frozen=True, slots=True)
class _Asking:
    jobs: list[CheckJob]
    contact: str
    private: frozenset[str]

    @property
    def settings(self) -> UpstreamSettings:
        # Who writes an address on the command line allows it, private or not.
        own = {
            job.entry.id for job in self.jobs if not job.entry.origin.startswith("archives/")
        }
        return UpstreamSettings(
            self.contact, allow_private=self.private | own, patience=PATIENCE
        )


def _replayed(folder: Path) -> tuple[RecordedRun, list[Report]]:
    run = _from_recording(lambda: read_run(folder))
    reports = asyncio.run(run_again(run.subjects, run.now, lambda _: None, folder))
    return run, reports


def _from_recording(read: Callable[[], RecordedRun]) -> RecordedRun:
    try:
        return read()
    except BadRecording as error:
        raise click.UsageError(str(error)) from error


def _checked(asking: _Asking, folder: Path | None) -> tuple[str, list[Report]]:
    jobs = asking.jobs
    now = Moment.of(datetime.now(UTC)).digits
    subjects = tuple(job.subject for job in jobs)
    if folder is not None:
        now = _from_recording(lambda: open_recording(folder, RecordedRun(now, subjects))).now
    announce(jobs)
    done = CheckProgress(len(jobs))
    reports = asyncio.run(run_live(jobs, asking.settings, now, done, folder))
    return now, reports
