"""What ``timegate check`` prints and writes: an estimate, progress, and the report.

On a terminal the report is a table in colours; piped, it is one line for each check.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from timegate.conformance.estimate import estimated, seconds_for
from timegate.conformance.finding import VERDICTS, Verdict
from timegate.conformance.history import BadHistory, History
from timegate.conformance.report import CheckResult, Report, exit_code
from timegate.conformance.run import CheckJob
from timegate.conformance.writing.html import as_html
from timegate.conformance.writing.json import as_json
from timegate.conformance.writing.junit import as_junit
from timegate.conformance.writing.text import lines, summary, trace
from timegate.conformance.writing.trace import printable

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
