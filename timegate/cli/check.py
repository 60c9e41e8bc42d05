"""``timegate check``: does an archive keep to RFC 7089, and to what its users rely on."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, cast

import click

from archives.moment import Moment
from timegate.cli.check_output import CheckOutput, CheckProgress, announce, finish
from timegate.cli.check_subjects import check_contact, entries_in, given, job_at, job_for
from timegate.cli.options import archives_option, config_option, loaded
from timegate.conformance.recording import BadRecording, RecordedRun, begun, read_run
from timegate.conformance.report import Report
from timegate.conformance.run import PATIENCE, CheckJob, run_again, run_live
from timegate.conformance.subject import ROLES, Role
from timegate.upstream.pool import UpstreamSettings

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
        now = _from_recording(lambda: begun(folder, RecordedRun(now, subjects))).now
    announce(jobs)
    done = CheckProgress(len(jobs))
    reports = asyncio.run(run_live(jobs, asking.settings, now, done, folder))
    return now, reports
