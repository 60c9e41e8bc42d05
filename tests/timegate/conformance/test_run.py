"""Runs against many archives at once, each within its rate limit."""

import time
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from archives.model import Limits, Rate
from archives.source import Purpose
from tests.timegate.conformance.archive import Archive, RequestSeen, an_archive
from tests.timegate.conformance.checking import NOW, broken, job_for, settings_for
from timegate.conformance.report import Report
from timegate.conformance.run import check_entry, run_live, seconds_for
from timegate.misbehave import captures_of
from timegate.resolution.context import TimeBudget
from timegate.upstream.rate_limit import LocalRateLimiter

RATE = Rate(requests=100, seconds=1, burst=5)
LIMITS = Limits(memento=RATE, index=RATE, at_once=2, source="test")


def fastest(archive: Archive) -> float:
    """Return by how many requests the limits of the archive were exceeded at most."""
    times = [entry.at for entry in archive.journal.entries if isinstance(entry, RequestSeen)]
    allowed = RATE.burst * 2  # One bucket for mementos and one for lists.
    return max(
        (later - earlier + 1) - allowed - 2 * (times[later] - times[earlier]) * RATE.requests
        for earlier in range(len(times))
        for later in range(earlier, len(times))
    )


async def test_thirty_archives_are_checked_within_their_limits() -> None:
    reports_seen: list[Report] = []
    async with AsyncExitStack() as stack:
        archives = [await stack.enter_async_context(an_archive()) for _ in range(30)]
        jobs = [job_for(each, name=f"a{n}") for n, each in enumerate(archives)]
        jobs = [replace(job, entry=replace(job.entry, limits=LIMITS)) for job in jobs]

        reports = await run_live(jobs, settings_for(archives[0]), NOW, reports_seen.append)

        assert all(fastest(archive) <= 1 for archive in archives)
    assert [report.subject.id for report in reports] == [f"a{n}" for n in range(30)]
    assert {report.subject.id for report in reports_seen} == {f"a{n}" for n in range(30)}
    assert all(broken(report) == set() for report in reports)


async def test_the_estimate_follows_the_limits() -> None:
    async with an_archive() as archive:
        job = job_for(archive)
    slow = replace(LIMITS, memento=Rate(1, 10, burst=1))

    assert seconds_for(job.subject, job.entry.limits) == 0
    assert seconds_for(job.subject, slow) >= 280


class Counting(LocalRateLimiter):
    """A rate limiter that counts the requests it allows."""

    taken = 0

    async def take(self, purpose: Purpose, budget: TimeBudget | None = None) -> float:
        wait = await super().take(purpose, budget)
        self.taken += wait == 0
        return wait


async def test_a_server_checks_within_its_shared_rate_limits() -> None:
    captures = captures_of("http://example.com/", "2010", "2015")
    async with an_archive(captures=captures) as archive:
        job = job_for(archive)
        settings = replace(settings_for(archive), allow_private=frozenset({"mine"}))
        limiter = Counting(job.entry.limits, time.monotonic)

        report, now = await check_entry(job.entry, settings, lambda _: limiter)

    assert limiter.taken == report.requests == archive.journal.request_count
    assert report.counts["fail"] == 0
    assert len(now) == 14


async def test_an_archive_without_a_timegate_cannot_be_checked() -> None:
    async with an_archive() as archive:
        job = job_for(archive)
        with pytest.raises(ValueError, match="no TimeGate"):
            await check_entry(
                replace(job.entry, timegate=None),
                settings_for(archive),
                lambda entry: LocalRateLimiter(entry.limits, time.monotonic),
            )
