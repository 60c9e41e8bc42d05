"""``timegate check``: checks whether an archive follows RFC 7089 and common practice."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, NoReturn, cast

import click
from rich.table import Table
from rich.text import Text

from archives.model import ArchiveEntry
from archives.moment import Moment
from timegate.cli.options import archives_option, config_option, loaded
from timegate.cli.output import echo, echo_lines, echo_text
from timegate.cli.terminal import Terminal
from timegate.config import Config
from timegate.conformance.catalogue import VERDICTS, Verdict
from timegate.conformance.exports import (
    MOSTLY_UNKNOWN,
    as_badge_json,
    as_badge_svg,
    as_junit,
    as_sarif,
)
from timegate.conformance.grading import (
    PROFILES,
    BadBaseline,
    Grading,
    Profile,
    read_baseline,
)
from timegate.conformance.history import BadHistory, History
from timegate.conformance.recognition import Recognised, as_declared, recognised
from timegate.conformance.report import (
    CheckResult,
    Report,
    as_html,
    as_json,
    described,
    lines,
    printable,
    summary,
    trace,
)
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
_DEMO_SAMPLE: Final = "http://museum.example/"
_WIDE: Final = 100
"""Width of a terminal, in columns, from which on rule and level are shown."""


@dataclass(frozen=True, slots=True)
class CheckFiles:
    """Files that the report is written to."""

    junit: Path | None
    sarif: Path | None
    html: Path | None
    badge: Path | None
    history: Path | None
    baseline: Path | None

    def write(self, reports: Sequence[Report], now: str, grading: Grading) -> None:
        """Write all files except the history. Raises OSError."""
        if self.junit is not None:
            self.junit.write_bytes(as_junit(reports, grading))
        if self.sarif is not None:
            self.sarif.write_text(as_sarif(reports, grading, version("timegate-proxy")))
        if self.html is not None:
            self.html.write_text(as_html(reports, now))
        if self.badge is not None:
            write = as_badge_json if self.badge.suffix == ".json" else as_badge_svg
            self.badge.write_text(write(reports, grading))
        if self.baseline is not None:
            self.baseline.write_bytes(grading.baseline(reports))


@dataclass(frozen=True, slots=True)
class CheckOutput:
    """Where and how the report is written."""

    json: bool
    files: CheckFiles
    grading: Grading
    verbose: bool


def announce(jobs: Sequence[CheckJob]) -> None:
    """Print how many requests and how much time the run will take."""
    costs = [estimated(job.subject) for job in jobs]
    requests = sum(cost.memento + cost.index for cost in costs)
    seconds = max(seconds_for(job.subject, job.entry.limits) for job in jobs)
    archives = "1 archive" if len(jobs) == 1 else f"{len(jobs)} archives"
    echo(
        f"checking {archives}: up to {requests} requests and TimeMap pages, "
        f"at least {seconds:.0f} s because of rate limits",
        err=True,
    )


class CheckProgress:
    """Prints a line for each archive that is done."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0

    def __call__(self, report: Report) -> None:
        self._done += 1
        echo(f"[{self._done}/{self._total}] {summary(report)}", err=True)


def finish(reports: Sequence[Report], now: str, output: CheckOutput, *, live: bool) -> NoReturn:
    """Write the report in all requested formats, and exit; only a live run has history."""
    grading, files = output.grading, output.files
    code = grading.exit_code(reports)
    try:
        if files.history is not None and live:
            History(files.history).add(reports, now)
    except (BadHistory, OSError) as error:
        raise click.UsageError(f"--history: {error}") from error
    try:
        files.write(reports, now, grading)
    except OSError as error:
        raise click.UsageError(f"the report cannot be written: {error}") from error
    if output.json:
        echo_text(as_json(reports, now, code, _graded(reports, grading)))
    else:
        _print(reports, verbose=output.verbose)
    for line in conclusion(reports, grading):
        echo(line, err=True)
    sys.exit(code)


def _graded(reports: Sequence[Report], grading: Grading) -> dict[str, object]:
    """Return the part of the JSON report that says what failed the run."""
    return {
        "profile": grading.profile,
        "failed": [
            {"archive": report.subject.id, "check": result.check.name}
            for report in reports
            for result in grading.red(report)
        ],
        "mostly_unknown": [r.subject.id for r in reports if r.is_mostly_unknown],
        "repaired": grading.repaired(reports),
    }


def conclusion(reports: Sequence[Report], grading: Grading) -> Iterator[str]:
    """Yield what fails the run, and what the baseline need not have any more."""
    for report in reports:
        red = dict.fromkeys(result.check.name for result in grading.red(report))
        name = printable(report.subject.id)
        if red:
            yield f"{name} fails the profile {grading.profile}: {', '.join(red)}"
        if report.is_mostly_unknown:
            yield f"{name} fails: {MOSTLY_UNKNOWN}"
    for check in grading.repaired(reports):
        yield f"the baseline has {check}, which is not violated any more: remove it"


def _print(reports: Sequence[Report], *, verbose: bool) -> None:
    if sys.stdout.isatty():
        console = Terminal(highlight=False)
        for report in reports:
            show(report, console, verbose=verbose)
        return
    for report in reports:
        echo_lines(lines(report, verbose=verbose))


def show(report: Report, console: Terminal, *, verbose: bool) -> None:
    """Print *report* as a table per page, followed by the exchanges of what is wrong."""
    subject = report.subject
    if report.silence and not verbose:
        console.print(Text("\n".join(lines(report, verbose=False))), soft_wrap=True)
        return
    for sample in subject.samples:
        results = [r for r in report.results if r.sample == sample]
        results = [r for r in results if verbose or r.finding.verdict != "skip"]
        console.print(Text(described(subject), "bold"))
        console.print(Text(printable(f"with {sample}"), "dim"))
        console.print(_table(results, wide=console.width >= _WIDE))
        for result in results:
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


def _show_trace(result: CheckResult, console: Terminal) -> None:
    check, verdict = result.check, result.finding.verdict
    console.print()
    head = Text.assemble((verdict, _STYLES[verdict]), f" {check.name} ({check.section})")
    console.print(head, Text(f"  {check.sentence}"), sep="\n", soft_wrap=True)
    for line in trace(result):
        console.print(Text(f"  {line}", _trace_style(line)), soft_wrap=True)


def _trace_style(line: str) -> str:
    return {">": "cyan", "<": "blue"}.get(line[:1], "")


def _counts(report: Report) -> Text:
    line = Text(f"\n{printable(report.subject.id)}:")
    for verdict in VERDICTS:
        if report.counts[verdict]:
            line.append(f" {report.counts[verdict]} {verdict}", _STYLES[verdict])
    return line.append(f" ({report.requests} requests)\n")


def entries_in(config: Config, ids: Sequence[str], *, everything: bool) -> list[ArchiveEntry]:
    """Return the archives with these *ids*; with *everything*, all that have a TimeGate."""
    entries = _all_with_timegates(config) if everything else []
    for name in ids:
        entry = config.registry.by_id(name) or config.registry.by_pwid(name)
        if entry is None:
            why = f"unknown archive {name!r}; `timegate archives` lists the known ones"
            raise click.UsageError(why)
        if entry.timegate is None:
            raise click.UsageError(_without_timegate(entry))
        entries.append(entry)
    return list({entry.id: entry for entry in entries}.values())


def _without_timegate(entry: ArchiveEntry) -> str:
    if entry.kind.asks_originals:
        return (
            f"{entry.id} stands for every page that is its own TimeGate, and has no address of "
            "its own: give the address of one: timegate check --kind original URL"
        )
    return f"{entry.id} has no TimeGate to check"


def _all_with_timegates(config: Config) -> list[ArchiveEntry]:
    without = [entry.id for entry in config.registry.used if entry.timegate is None]
    if without:
        echo(f"not checked, as they have no TimeGate: {', '.join(without)}", err=True)
    return [entry for entry in config.registry.used if entry.timegate]


def job_for(entry: ArchiveEntry, samples: tuple[str, ...]) -> CheckJob:
    """Return the check job for an archive of the registry."""
    subject = subject_of(entry, samples or (DEFAULT_SAMPLE,))
    if subject is None:
        raise click.UsageError(f"{entry.id} has no TimeGate to check")
    return CheckJob(subject, entry)


def entry_at(url: str, also: Sequence[str]) -> ArchiveEntry:
    """Return an entry for the archive at *url*."""
    try:
        return entry_for(url, also)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def check_contact(entries: Sequence[ArchiveEntry], contact: str | None) -> None:
    """Raise UsageError if a public archive would be queried without a contact (R-14)."""
    if contact is None and any(map(is_foreign, entries)):
        why = "public archives need to know who is asking: use --contact mailto:you@example.org"
        raise click.UsageError(why)


async def job_at(
    entry: ArchiveEntry,
    url: str,
    role: Role | None,
    samples: tuple[str, ...],
    contact: str | None,
) -> CheckJob:
    """Return the check job for *url*, which has the given role or a detected one."""
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
    subject = replace(subject, role=found.role, url=found.url, detected=found.detected)
    return CheckJob(subject, entry, found.exchanges)


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
@click.option(
    "--archive", "ids", multiple=True, metavar="ID", help="Archive to check, by its ID."
)
@click.option("--all", "everything", is_flag=True, help="Check all archives in use.")
@click.option("--kind", type=click.Choice(ROLES), help="What URL is; detected by default.")
@click.option("--sample", "samples", multiple=True, metavar="URL", help="Page to test with.")
@click.option("--also", multiple=True, metavar="URL", help="Another host that may be queried.")
@click.option(
    "--profile",
    type=click.Choice([*PROFILES]),
    default="rfc-must",
    show_default=True,
    help="What fails: a MUST; also a SHOULD; also common practice.",
)
@click.option("--strict", is_flag=True, help="The same as --profile rfc-strict.")
@click.option(
    "--baseline", type=_FILE, metavar="FILE", help="Known failures, which are allowed."
)
@click.option("--write-baseline", type=_FILE, metavar="FILE", help="Write the failures there.")
@click.option("--json", is_flag=True, help="Print one JSON object.")
@click.option("--junit", type=_FILE, metavar="FILE", help="Write a JUnit report.")
@click.option("--sarif", type=_FILE, metavar="FILE", help="Write a SARIF report.")
@click.option("--badge", type=_FILE, metavar="FILE", help="Write a badge: .svg, or .json.")
@click.option("--html", type=_FILE, metavar="FILE", help="Write a page with all exchanges.")
@click.option("--history", type=_FILE, metavar="FILE", help="Add the results to this file.")
@click.option("--record", type=_FOLDER, metavar="DIR", help="Record all exchanges; resumable.")
@click.option("--replay", type=_FOLDER, metavar="DIR", help="Check a recording offline.")
@click.option("--contact", envvar="TIMEGATE_CONTACT", help="Your contact, sent in User-Agent.")
@click.option("-v", "--verbose", is_flag=True, help="Also show checks that do not apply.")
@config_option
@archives_option
@click.option("--demo", is_flag=True, help="Check the TimeGate of the demo, without network.")
def check_command(  # noqa: PLR0913 -- one parameter for each option
    url: str | None,
    *,
    ids: tuple[str, ...],
    everything: bool,
    kind: str | None,
    samples: tuple[str, ...],
    also: tuple[str, ...],
    profile: Profile,
    strict: bool,
    baseline: Path | None,
    write_baseline: Path | None,
    json: bool,
    junit: Path | None,
    sarif: Path | None,
    badge: Path | None,
    html: Path | None,
    history: Path | None,
    record: Path | None,
    replay: Path | None,
    contact: str | None,
    verbose: bool,
    config: Path | None,
    archives: Path | None,
    demo: bool,
) -> None:
    r"""Check whether an archive follows RFC 7089 and common practice.

    URL is the prefix of a TimeGate, or the URL of a TimeMap, a memento or an original page.
    Without --sample, http://example.com/ is used, which most archives hold. The rate limits of
    archives are respected.

    \b
    Exit codes:
      0  every MUST is met (see --profile)
      1  some MUST is violated, or most could not be judged
      4  some could not be judged, because the archive did not answer
    """
    files = CheckFiles(junit, sarif, html, badge, history, write_baseline)
    grading = _grading("rfc-strict" if strict and profile == "rfc-must" else profile, baseline)
    output = CheckOutput(json, files, grading, verbose)
    if demo:
        if url or ids or everything or config or archives or replay:
            raise click.UsageError("--demo takes no URL, archive, configuration or recording")
        _check_demo(samples, also, record, output)
    if replay is not None:
        run, reports = _replay(replay)
        finish(reports, run.now, output, live=False)
    settings = loaded(config, archives)
    contact = contact or settings.contact
    chosen = entries_in(settings, ids, everything=everything)
    if not chosen and url is None:
        raise click.UsageError("give a URL, --archive ID, --all or --replay DIR")
    jobs = [job_for(entry, samples) for entry in chosen]
    if url is not None:
        entry = entry_at(url, also)
        check_contact([entry], contact)
        role = cast("Role | None", kind)
        jobs.append(asyncio.run(job_at(entry, url, role, samples, contact)))
    check_contact([job.entry for job in jobs], contact)
    live = _LiveRun(jobs, contact or "no contact given", settings.private)
    now, reports = _run(live, record)
    finish(reports, now, output, live=True)


def _grading(profile: Profile, baseline: Path | None) -> Grading:
    try:
        return Grading(profile, () if baseline is None else read_baseline(baseline))
    except BadBaseline as error:
        raise click.UsageError(f"--baseline: {error}") from error


def _check_demo(
    samples: tuple[str, ...],
    also: tuple[str, ...],
    record: Path | None,
    output: CheckOutput,
) -> NoReturn:
    """Start the demo, check the TimeGate of its largest collection, and exit."""
    with running_demo() as address:
        url = f"{address}/collections/harbour/timegate/"
        entry = entry_at(url, also)
        jobs = [asyncio.run(job_at(entry, url, None, samples or (_DEMO_SAMPLE,), None))]
        now, reports = _run(_LiveRun(jobs, "no contact given", frozenset()), record)
    finish(reports, now, output, live=True)


@contextmanager
def running_demo() -> Iterator[str]:
    """Run the server of the demo in a process of its own; yield its address."""
    command = [sys.executable, "-m", "timegate", "serve", "--demo", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 -- ourselves
        lines = process.stderr or ()
        try:
            first = next((line for line in lines if "listening at" in line), None)
            if first is None:
                raise click.ClickException("the demo did not start; try: timegate serve --demo")
            yield first.removeprefix("listening at ").rstrip("/\n")
        finally:
            process.terminate()


@dataclass(frozen=True, slots=True)
class _LiveRun:
    """Checks that query archives."""

    jobs: list[CheckJob]
    contact: str
    private: frozenset[str]

    @property
    def settings(self) -> UpstreamSettings:
        # An address that is given on the command line may be private.
        own = {
            job.entry.id for job in self.jobs if not job.entry.origin.startswith("archives/")
        }
        return UpstreamSettings(
            self.contact, allow_private=self.private | own, patience=PATIENCE
        )


def _replay(folder: Path) -> tuple[RecordedRun, list[Report]]:
    run = _from_recording(lambda: read_run(folder))
    reports = asyncio.run(run_again(run.subjects, run.now, lambda _: None, folder))
    return run, reports


def _from_recording(read: Callable[[], RecordedRun]) -> RecordedRun:
    try:
        return read()
    except BadRecording as error:
        raise click.UsageError(str(error)) from error


def _run(live: _LiveRun, folder: Path | None) -> tuple[str, list[Report]]:
    jobs = live.jobs
    now = Moment.of(datetime.now(UTC)).digits
    subjects = tuple(job.subject for job in jobs)
    if folder is not None:
        now = _from_recording(lambda: open_recording(folder, RecordedRun(now, subjects))).now
    announce(jobs)
    done = CheckProgress(len(jobs))
    reports = asyncio.run(run_live(jobs, live.settings, now, done, folder))
    return now, reports
