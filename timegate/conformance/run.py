"""A whole run: many archives side by side, each asked in its own time, results as they come."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from archives.model import ArchiveEntry, Limits, Rate
from archives.moment import Moment
from archives.source import Fetcher, Purpose
from timegate.conformance.gather import gather
from timegate.conformance.report import CheckResult, Report, judged
from timegate.conformance.session import Session, Tape, read_tape
from timegate.conformance.subject import DEFAULT_SAMPLE, Subject, subject_of
from timegate.upstream.rate_limit import LocalRateLimiter, RateLimiter
from timegate.upstream.stack import UpstreamEnvironment, UpstreamSettings, open_fetchers

AT_ONCE: Final = 16
"""Archives that are checked side by side."""
PATIENCE: Final = 300.0
"""Seconds that a question waits for its turn: nobody is in a hurry here."""

Done = Callable[[Report], None]


class Punch:
    """A ledger that remembers when the last request left: waiting is no latency."""

    def __init__(self, ledger: RateLimiter, clock: Callable[[], float]) -> None:
        self._ledger = ledger
        self._clock = clock
        self.sent = clock()

    async def outlook(self, purpose: Purpose, ahead: int) -> float:
        return await self._ledger.outlook(purpose, ahead)

    async def take(self, purpose: Purpose) -> float:
        wait = await self._ledger.take(purpose)
        if wait == 0:
            self.sent = self._clock()
        return wait

    async def rest(self, seconds: float) -> None:
        await self._ledger.rest(seconds)

    async def resting(self) -> float:
        return await self._ledger.resting()


@dataclass(frozen=True, slots=True)
class CheckJob:
    """One archive to check, and how it is asked."""

    subject: Subject
    entry: ArchiveEntry


async def run_live(  # noqa: PLR0913, PLR0917 -- what is asked, how, and who hears of it
    jobs: Collection[CheckJob],
    settings: UpstreamSettings,
    now: str,
    done: Done,
    folder: Path | None = None,
    shared: Callable[[ArchiveEntry], RateLimiter] | None = None,
) -> list[Report]:
    """Check *jobs*, telling *done* of each; with *folder*, record, and go on where it ended.

    *shared* gives the ledgers of a server, so that the sum keeps to each archive's limit.
    """
    clock = time.monotonic
    punches: dict[str, Punch] = {}

    def ledger(entry: ArchiveEntry) -> Punch:
        kept = LocalRateLimiter(entry.limits, clock) if shared is None else shared(entry)
        punches[entry.id] = Punch(kept, clock)
        return punches[entry.id]

    entries = [job.entry for job in jobs]
    around = UpstreamEnvironment(clock=clock, ledger=ledger)
    with ExitStack() as tapes:
        async with open_fetchers(entries, settings, around) as fetchers:
            sessions = {
                job.subject.id: _session(job, fetchers, punches, tapes, folder) for job in jobs
            }
            return await _all([job.subject for job in jobs], sessions, now, done)


def _session(
    job: CheckJob,
    fetchers: Mapping[str, Fetcher],
    punches: Mapping[str, Punch],
    tapes: ExitStack,
    folder: Path | None,
) -> Session:
    name = job.subject.id
    if folder is None:
        session = Session(fetchers[job.entry.id])
    else:
        known = read_tape(folder, name, failed=False)
        tape = tapes.enter_context(Tape(folder, name))
        session = Session(fetchers[job.entry.id], known, tape)
    session.stopwatch = punches.get(job.entry.hosted_by or job.entry.id)
    return session


async def check_entry(
    entry: ArchiveEntry,
    settings: UpstreamSettings,
    shared: Callable[[ArchiveEntry], RateLimiter],
) -> tuple[Report, str]:
    """Check one archive for a server, with its ledgers; returns also when, in 14 digits.

    Raises ValueError where there is no TimeGate to ask.
    """
    subject = subject_of(entry, (DEFAULT_SAMPLE,))
    if subject is None:
        raise ValueError(f"{entry.id} has no TimeGate that could be checked")
    now = Moment.of(datetime.now(UTC)).digits
    patient = replace(settings, patience=PATIENCE)
    [report] = await run_live([CheckJob(subject, entry)], patient, now, _unheard, shared=shared)
    return report, now


def _unheard(_: Report) -> None:
    """Tell nobody."""


async def run_again(
    subjects: Sequence[Subject], now: str, done: Done, folder: Path
) -> list[Report]:
    """Judge what was recorded in *folder*; nobody is asked."""
    sessions = {
        each.id: Session(None, read_tape(folder, each.id, failed=True)) for each in subjects
    }
    return await _all(subjects, sessions, now, done)


async def _all(
    subjects: Sequence[Subject], sessions: Mapping[str, Session], now: str, done: Done
) -> list[Report]:
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(subject: Subject) -> Report:
        async with slots:
            report = await check_subject(subject, sessions[subject.id], now)
        done(report)
        return report

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(subject)) for subject in subjects]
    return [task.result() for task in tasks]


async def check_subject(subject: Subject, session: Session, now: str) -> Report:
    """Find out about *subject* with each of its pages, and judge."""
    results: list[CheckResult] = []
    for sample in subject.samples:
        results += judged(await gather(subject, sample, session, now))
    return Report(subject, tuple(results), len(session.asked))


@dataclass(frozen=True, slots=True)
class RequestEstimate:
    """How many questions a sample costs, pages of a TimeMap and redirects left out."""

    memento: int
    index: int


FIRST_SAMPLE: Final = RequestEstimate(memento=31, index=6)
OTHER_SAMPLE: Final = RequestEstimate(memento=21, index=5)
_SINGLE: Final = RequestEstimate(memento=3, index=0)


def estimated(subject: Subject) -> RequestEstimate:
    """Return at most how many questions checking *subject* takes, pages left out."""
    if subject.role == "timegate":
        more = len(subject.samples) - 1
        return RequestEstimate(
            FIRST_SAMPLE.memento + more * OTHER_SAMPLE.memento,
            FIRST_SAMPLE.index + more * OTHER_SAMPLE.index,
        )
    return RequestEstimate(0, FIRST_SAMPLE.index) if subject.role == "timemap" else _SINGLE


def seconds_for(subject: Subject, limits: Limits) -> float:
    """Return how long politeness makes checking *subject* take, answers themselves left out."""
    cost = estimated(subject)
    return _at_rate(cost.memento, limits.memento) + _at_rate(cost.index, limits.index)


def _at_rate(requests: int, rate: Rate) -> float:
    return max(0, requests - rate.burst) * rate.seconds / rate.requests
