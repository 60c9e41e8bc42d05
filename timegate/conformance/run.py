"""A run: many archives at the same time, each within its rate limit; and its cost."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from archives.model import ArchiveEntry, Limits, Rate
from archives.moment import Moment
from archives.source import Fetcher, Purpose
from timegate.conformance.facts import Pattern
from timegate.conformance.gather import gather
from timegate.conformance.report import CheckResult, Report, judged, undecided
from timegate.conformance.session import (
    Key,
    RecordedExchange,
    RecordingWriter,
    Session,
    read_recording,
)
from timegate.conformance.subject import DEFAULT_SAMPLE, Subject, subject_of
from timegate.resolution.context import TimeBudget
from timegate.upstream.rate_limit import LocalRateLimiter, RateLimiter
from timegate.upstream.stack import UpstreamEnvironment, UpstreamSettings, open_fetchers

AT_ONCE: Final = 16
"""Archives that are checked at the same time."""
PATIENCE: Final = 300.0
"""Seconds that a request may wait for the rate limit; a check is in no hurry."""

OnReport = Callable[[Report], None]


class TimedRateLimiter:
    """A rate limiter that notes when the last request was sent: waiting is not latency."""

    def __init__(self, limiter: RateLimiter, clock: Callable[[], float]) -> None:
        self._limiter = limiter
        self._clock = clock
        self.sent = clock()

    async def outlook(
        self, purpose: Purpose, ahead: int, budget: TimeBudget | None = None
    ) -> float:
        return await self._limiter.outlook(purpose, ahead, budget)

    async def take(self, purpose: Purpose, budget: TimeBudget | None = None) -> float:
        wait = await self._limiter.take(purpose, budget)
        if wait == 0:
            self.sent = self._clock()
        return wait

    async def rest(self, seconds: float, budget: TimeBudget | None = None) -> None:
        await self._limiter.rest(seconds, budget)

    async def resting(self) -> float:
        return await self._limiter.resting()


@dataclass(frozen=True, slots=True)
class CheckJob:
    """One archive to check, with the registry entry that says how to query it."""

    subject: Subject
    entry: ArchiveEntry
    known: Mapping[Key, RecordedExchange] = field(default_factory=dict)
    """Requests that were sent to find out what the subject is; they are not sent again."""


async def run_live(  # noqa: PLR0913, PLR0917 -- all are needed by one caller
    jobs: Collection[CheckJob],
    settings: UpstreamSettings,
    now: str,
    on_report: OnReport,
    folder: Path | None = None,
    shared: Callable[[ArchiveEntry], RateLimiter] | None = None,
) -> list[Report]:
    """Check *jobs* and pass each report to *on_report*; with *folder*, record and resume.

    *shared* returns the rate limiters of a server, so that both together keep the limits.
    """
    clock = time.monotonic
    limiters: dict[str, TimedRateLimiter] = {}

    def limiter_for(entry: ArchiveEntry) -> TimedRateLimiter:
        limiter = LocalRateLimiter(entry.limits, clock) if shared is None else shared(entry)
        limiters[entry.id] = TimedRateLimiter(limiter, clock)
        return limiters[entry.id]

    entries = [job.entry for job in jobs]
    around = UpstreamEnvironment(clock=clock, limiter=limiter_for)
    with ExitStack() as writers:
        async with open_fetchers(entries, settings, around) as fetchers:
            sessions = {
                job.subject.id: _session(job, fetchers, limiters, writers, folder)
                for job in jobs
            }
            return await _check_all([job.subject for job in jobs], sessions, now, on_report)


def _session(
    job: CheckJob,
    fetchers: Mapping[str, Fetcher],
    limiters: Mapping[str, TimedRateLimiter],
    writers: ExitStack,
    folder: Path | None,
) -> Session:
    name = job.subject.id
    if folder is None:
        session = Session(fetchers[job.entry.id], job.known)
    else:
        known = read_recording(folder, name, failed=False)
        writer = writers.enter_context(RecordingWriter(folder, name))
        for key, exchange in job.known.items():
            if key not in known:
                writer(exchange, key[-1])
        session = Session(fetchers[job.entry.id], {**job.known, **known}, writer)
    session.stopwatch = limiters.get(job.entry.hosted_by or job.entry.id)
    return session


async def check_entry(
    entry: ArchiveEntry,
    settings: UpstreamSettings,
    shared: Callable[[ArchiveEntry], RateLimiter],
) -> tuple[Report, str]:
    """Check one archive with the *shared* rate limiters of a server.

    Returns the report, and when the run began in 14 digits. Raises ValueError if the archive
    has no TimeGate.
    """
    subject = subject_of(entry, (DEFAULT_SAMPLE,))
    if subject is None:
        raise ValueError(f"{entry.id} has no TimeGate that could be checked")
    now = Moment.of(datetime.now(UTC)).digits
    patient = replace(settings, patience=PATIENCE)
    [report] = await run_live([CheckJob(subject, entry)], patient, now, _ignore, shared=shared)
    return report, now


def _ignore(_: Report) -> None:
    """Do nothing with a report."""


async def run_again(
    subjects: Sequence[Subject], now: str, on_report: OnReport, folder: Path
) -> list[Report]:
    """Judge the recording in *folder* without sending requests."""
    sessions = {
        each.id: Session(None, read_recording(folder, each.id, failed=True))
        for each in subjects
    }
    return await _check_all(subjects, sessions, now, on_report)


async def _check_all(
    subjects: Sequence[Subject], sessions: Mapping[str, Session], now: str, on_report: OnReport
) -> list[Report]:
    slots = asyncio.Semaphore(AT_ONCE)

    async def check(subject: Subject) -> Report:
        async with slots:
            report = await check_subject(subject, sessions[subject.id], now)
        on_report(report)
        return report

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(check(subject)) for subject in subjects]
    return [task.result() for task in tasks]


async def check_subject(subject: Subject, session: Session, now: str) -> Report:
    """Gather facts about *subject* with each of its sample pages, and judge them."""
    results: list[CheckResult] = []
    patterns: list[Pattern] = []
    for sample in subject.samples:
        try:
            facts = await gather(subject, sample, session, now)
            results += judged(facts)
            patterns.append(facts.pattern)
        except Exception as error:  # noqa: BLE001 -- the boundary around each page
            results += undecided(sample, error)
            patterns.append("")
    return Report(subject, tuple(results), session.request_count, tuple(patterns))


@dataclass(frozen=True, slots=True)
class RequestEstimate:
    """Number of requests, not counting further pages of a TimeMap and redirects."""

    memento: int
    index: int


FIRST_SAMPLE: Final = RequestEstimate(memento=34, index=6)
OTHER_SAMPLE: Final = RequestEstimate(memento=24, index=5)
_SINGLE: Final = RequestEstimate(memento=3, index=0)


def estimated(subject: Subject) -> RequestEstimate:
    """Return how many requests checking *subject* takes at most."""
    if subject.role in ("timegate", "original"):
        more = len(subject.samples) - 1
        return RequestEstimate(
            FIRST_SAMPLE.memento + more * OTHER_SAMPLE.memento,
            FIRST_SAMPLE.index + more * OTHER_SAMPLE.index,
        )
    return RequestEstimate(0, FIRST_SAMPLE.index) if subject.role == "timemap" else _SINGLE


def seconds_for(subject: Subject, limits: Limits) -> float:
    """Return the seconds that checking *subject* takes because of the rate limits alone."""
    cost = estimated(subject)
    return _at_rate(cost.memento, limits.memento) + _at_rate(cost.index, limits.index)


def _at_rate(requests: int, rate: Rate) -> float:
    return max(0, requests - rate.burst) * rate.seconds / rate.requests
