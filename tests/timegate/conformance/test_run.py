"""Many archives side by side, none of them faster than it wants to be asked."""

from contextlib import AsyncExitStack
from dataclasses import replace

from archives.model import Limits, Rate
from tests.timegate.conformance.archive import Archive, Asked, an_archive
from tests.timegate.conformance.checking import NOW, broken, job_for, settings_for
from timegate.conformance.estimate import seconds_for
from timegate.conformance.report import Report
from timegate.conformance.run import run_live

RATE = Rate(requests=100, seconds=1, burst=5)
LIMITS = Limits(memento=RATE, index=RATE, at_once=2, source="test")


def fastest(archive: Archive) -> float:
    """Return by how many requests the archive was ever asked more than its limits allow."""
    times = [entry.at for entry in archive.journal.entries if isinstance(entry, Asked)]
    allowed = RATE.burst * 2  # One bucket for mementos and one for lists.
    return max(
        (later - earlier + 1) - allowed - 2 * (times[later] - times[earlier]) * RATE.requests
        for earlier in range(len(times))
        for later in range(earlier, len(times))
    )


async def test_thirty_archives_are_checked_within_their_limits() -> None:
    done: list[Report] = []
    async with AsyncExitStack() as stack:
        archives = [await stack.enter_async_context(an_archive()) for _ in range(30)]
        jobs = [job_for(each, name=f"a{n}") for n, each in enumerate(archives)]
        jobs = [replace(job, entry=replace(job.entry, limits=LIMITS)) for job in jobs]

        reports = await run_live(jobs, settings_for(archives[0]), NOW, done.append)

        assert all(fastest(archive) <= 1 for archive in archives)
    assert [report.subject.id for report in reports] == [f"a{n}" for n in range(30)]
    assert {report.subject.id for report in done} == {f"a{n}" for n in range(30)}
    assert all(broken(report) == set() for report in reports)


async def test_the_estimate_follows_the_limits() -> None:
    async with an_archive() as archive:
        job = job_for(archive)
    slow = replace(LIMITS, memento=Rate(1, 10, burst=1))

    assert seconds_for(job.subject, job.entry.limits) == 0
    assert seconds_for(job.subject, slow) >= 280
