"""Runs a list: what ``timegate resolve --batch`` and ``timegate extract`` share."""

import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import structs

from archives.model import ArchiveEntry, Rate
from timegate.batch.dispatch import Answered, LaneLimits
from timegate.batch.host_queries import HostQueries
from timegate.batch.journal import Journal
from timegate.batch.model import Item
from timegate.batch.output import RestNotes, show_progress
from timegate.batch.run import (
    BatchEnvironment,
    BatchRun,
    Engines,
    ItemResolver,
    LocalEngines,
    QueueStatus,
    Waits,
    Without,
    allowances,
    rates_of,
    read_in_thread,
)
from timegate.cli.network import saying_without_network
from timegate.cli.options import BASE_URL, open_core
from timegate.cli.output import echo_text
from timegate.config import Config
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Preferences, Query, Resolution
from timegate.resolution.preferences import LONGEST_WAIT
from timegate.responses.report import report
from timegate.text.times import read_time
from timegate.verdict import Verdict

if TYPE_CHECKING:
    from timegate.core import Core

_QUEUE_TIME: Final = 86_400.0
"""Seconds that a request may wait for the rate limit of its archive. Once it is sent, it ends
by the time limits of HTTP."""
WAITS: Final = Waits(LONGEST_WAIT + _QUEUE_TIME, LONGEST_WAIT + _QUEUE_TIME)


@dataclass(frozen=True, slots=True)
class ListJob:
    """The configuration and preferences with which a list is resolved."""

    config: Config
    preferences: Preferences
    at_once: int
    rate_limits: Path | None = None
    """The file in which processes share their rate limits; None if there is only one."""
    without: Without = lambda _: frozenset()
    """Returns the archives that must not be queried for an item."""

    @property
    def base_url(self) -> str:
        """The base of links in results."""
        return self.config.base_url or BASE_URL


Status = Callable[[], QueueStatus]
OpenEngines = Callable[
    [ListJob, BatchEnvironment, Status], AbstractAsyncContextManager[Engines]
]


@asynccontextmanager
async def local_engines(
    job: ListJob, environment: BatchEnvironment, status: Status
) -> AsyncIterator[LocalEngines]:
    """Resolve items in this process."""
    del status
    resolver = ItemResolver(environment, job.preferences, WAITS, job.without)
    yield LocalEngines(resolver, LaneLimits(environment.entries, job.at_once))


async def run_list(  # noqa: PLR0913 -- the list, and where its results go
    job: ListJob,
    items: Iterator[Item],
    journal: Journal,
    total: int | None,
    settled: Callable[[], None] = lambda: None,
    *,
    in_blocks: bool = True,
    engines: OpenEngines = local_engines,
) -> None:
    """Resolve those of *items* that *journal* does not contain yet.

    *total* is the number of items, if known. *settled* is called when a result is final. Items
    that are read one by one, as they come, are not *in_blocks*.
    """
    began, at_start = time.monotonic(), journal.settled

    def status() -> QueueStatus:
        done = journal.settled
        rate = (done - at_start) / max(time.monotonic() - began, 0.001)
        return QueueStatus(done, total, rate, run.seconds_left(), complete=False)

    notes = RestNotes(lambda text: echo_text(text, err=True))
    async with (
        opened_environment(job, notes) as environment,
        engines(job, environment, status) as opened,
    ):
        run = BatchRun(journal, opened, allowances(environment.entries))
        terminal = sys.stderr.isatty()
        progress = show_progress(
            total, journal.settled, terminal=terminal, left=run.seconds_left
        )
        with progress as advance:
            notes.say = advance.say

            def done() -> None:
                advance()
                settled()

            await run.complete(read_in_thread(items, at_once=in_blocks), done)


@asynccontextmanager
async def opened_environment(job: ListJob, notes: RestNotes) -> AsyncIterator[BatchEnvironment]:
    """Open what a run needs to resolve the items of a list; *notes* of archives that rest."""
    entries = chosen_entries(job.config, job.preferences)
    async with opened_core(job) as core:
        with saying_without_network(core):
            yield BatchEnvironment(
                partial(_resolve, core),
                partial(_report, core),
                # With the addresses of our own collections, as in reports: a part is raw bytes.
                core.registry,
                read_time,
                entries,
                HostQueries(
                    [entry for entry in entries if not entry.kind.is_local],
                    core.fetchers,
                    core.answers.remember,
                    partial(datetime.now, UTC),
                ),
                notes,
            )


@asynccontextmanager
async def opened_core(job: ListJob) -> AsyncIterator["Core"]:
    """Open the core with which a list is resolved."""
    # A list is not interactive: all archives get their time even if a copy was found already.
    config = replace(job.config, soft=LONGEST_WAIT, hard=LONGEST_WAIT)
    async with open_core(
        config, job.base_url, rate_limits=job.rate_limits, queue_patience=_QUEUE_TIME
    ) as core:
        yield core


async def _resolve(
    core: "Core", query: Query, preferences: Preferences, answered: Answered
) -> Resolution:
    context = structs.replace(UNLIMITED, answered=answered)
    return await core.resolver.resolve(query, preferences, context)


def _report(core: "Core", resolution: Resolution, judged: Verdict) -> dict[str, object]:
    return dict(report(resolution, judged, core.registry, core.base_url))


def chosen_entries(config: Config, preferences: Preferences) -> list[ArchiveEntry]:
    """Return the archives that *preferences* allows."""
    chosen, excluded = preferences.archives, preferences.exclude
    return [
        entry
        for entry in config.askable
        if entry.id not in excluded and (chosen is None or entry.id in chosen)
    ]


def rates_in(config: Config, preferences: Preferences) -> dict[str, Rate]:
    """Return the rate limits of the archives that *preferences* allows."""
    return rates_of(chosen_entries(config, preferences))
