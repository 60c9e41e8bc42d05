"""Helpers that check an archive of these tests, with short timeouts."""

from dataclasses import replace
from typing import Final

from archives.model import ArchiveEntry
from archives.registry import entry_from
from tests.fakes import UNLIMITED
from tests.timegate.conformance.archive import PAGE, Archive
from timegate.conformance.recognition import Recognised, as_declared, recognised
from timegate.conformance.report import Report
from timegate.conformance.run import CheckJob, run_live
from timegate.conformance.session import Session
from timegate.conformance.subject import Role, entry_for, subject_of
from timegate.upstream.http_client import Timeouts
from timegate.upstream.stack import UpstreamSettings, open_fetchers

NOW: Final = "20261116050000"
PATIENT: Final = Timeouts(connect=20.0, tls=20.0, first_byte=20.0, stall=20.0, total=60.0)
"""For archives that answer every request: only a busy machine makes them slow."""
IMPATIENT: Final = Timeouts(connect=0.5, tls=0.5, first_byte=0.5, stall=0.5, total=1.0)
"""For archives with faults: some of them never answer."""


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
    faulty = archive.has_fault(lambda fault: not fault.is_valid)
    timeouts = IMPATIENT if faulty else PATIENT
    return UpstreamSettings("mailto:test@example.org", timeouts, tls=archive.client_tls())


async def checked(archive: Archive, samples: tuple[str, ...] = (PAGE,)) -> Report:
    """Check *archive*."""
    job = job_for(archive, samples=samples)
    [report] = await run_live([job], settings_for(archive), NOW, lambda _: None)
    return report


async def checked_at(archive: Archive, path: str) -> tuple[Role, Report]:
    """Check an address of *archive* in the role that is recognised; return both."""
    url = f"{archive.url}{path}"
    entry = replace(entry_for(url, ()), limits=UNLIMITED)
    settings = replace(settings_for(archive), allow_private=frozenset({entry.id}))
    async with open_fetchers([entry], settings) as fetchers:
        found = await recognised(url, (), Session(fetchers[entry.id]))
    return found.role, await _checked(archive, entry, found)


async def checked_as(archive: Archive, path: str, role: Role) -> Report:
    """Check an address of *archive* in a declared role."""
    url = f"{archive.url}{path}"
    entry = replace(entry_for(url, ()), limits=UNLIMITED)
    return await _checked(archive, entry, as_declared(role, url, ()))


async def _checked(archive: Archive, entry: ArchiveEntry, found: Recognised) -> Report:
    subject = subject_of(entry, found.samples)
    assert subject is not None
    settings = replace(settings_for(archive), allow_private=frozenset({entry.id}))
    subject = replace(subject, role=found.role, url=found.url, detected=found.detected)
    job = CheckJob(subject, entry, found.exchanges)
    [report] = await run_live([job], settings, NOW, lambda _: None)
    return report


def broken(report: Report) -> set[str]:
    """Return the checks that found a violation."""
    wrong = ("fail", "warn")
    return {r.check.name for r in report.results if r.finding.verdict in wrong}


def unknown(report: Report) -> set[str]:
    """Return the checks that could not be judged."""
    return {r.check.name for r in report.results if r.finding.verdict == "unknown"}


def verdicts(report: Report) -> dict[str, str]:
    """Return the verdict of each check."""
    return {r.check.name: r.finding.verdict for r in report.results}
