"""Helpers that check an archive of these tests, with short timeouts."""

from dataclasses import replace
from typing import Final

from archives.registry import entry_from
from tests.fakes import UNLIMITED
from tests.timegate.conformance.archive import PAGE, Archive
from timegate.conformance.report import Report
from timegate.conformance.run import CheckJob, run_live
from timegate.conformance.subject import subject_of
from timegate.upstream.http_client import Timeouts
from timegate.upstream.stack import UpstreamSettings

NOW: Final = "20261116050000"
IMPATIENT: Final = Timeouts(connect=0.5, tls=0.5, first_byte=0.5, stall=0.5, total=1.0)


def job_for(
    archive: Archive, *, name: str = "mine", samples: tuple[str, ...] = (PAGE,)
) -> CheckJob:
    """Return the job to check *archive*, as a configuration would define it."""
    table = {"id": name, "kind": "memento", "timegate": f"{archive.url}/timegate/"}
    entry = replace(entry_from(table, "test"), limits=UNLIMITED)
    subject = subject_of(entry, samples)
    assert subject is not None
    return CheckJob(subject, entry)


def settings_for(archive: Archive) -> UpstreamSettings:
    """Return the settings for requests to *archive*."""
    return UpstreamSettings("mailto:test@example.org", IMPATIENT, tls=archive.client_tls())


async def checked(archive: Archive, samples: tuple[str, ...] = (PAGE,)) -> Report:
    """Check *archive*."""
    job = job_for(archive, samples=samples)
    [report] = await run_live([job], settings_for(archive), NOW, lambda _: None)
    return report


def broken(report: Report) -> set[str]:
    """Return the checks that found a violation."""
    wrong = ("fail", "warn")
    return {r.check.name for r in report.results if r.finding.verdict in wrong}


def unknown(report: Report) -> set[str]:
    """Return the checks that could not be judged."""
    return {r.check.name for r in report.results if r.finding.verdict == "unknown"}
