"""Resolves the references of a list into a journal, with all the politeness of a long run."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from archives.model import Rate
from timegate.batch.journal import Journal
from timegate.batch.model import Item
from timegate.batch.output import show_progress
from timegate.batch.run import (
    ArchiveQueue,
    BatchEnvironment,
    BatchRun,
    Waits,
    Without,
    rates_of,
    read_in_thread,
)
from timegate.cli.options import open_core
from timegate.config import Config
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Preferences, Query, Resolution
from timegate.resolution.preferences import LONGEST_WAIT
from timegate.responses.report import report
from timegate.text.times import read_time
from timegate.verdict import Verdict

# A question may wait in the queue of an archive for 2 s, and again after a redirect
# (upstream.pool.Settings); that is none of the time which the archive has to answer.

if TYPE_CHECKING:
    from timegate.app import Core

_IN_QUEUES: Final = 4.0
BASE_URL: Final = "http://127.0.0.1:1208"
"""What links in answers are built from where nothing is configured: the usual server."""


@dataclass(frozen=True, slots=True)
class ListJob:
    """How a list is resolved."""

    config: Config
    preferences: Preferences
    at_once: int
    rate_limits: Path | None = None
    """The file in which several processes share their rate limits; None for this one alone."""
    without: Without = lambda _: frozenset()
    """Which archives are not to be asked for an item."""

    @property
    def base_url(self) -> str:
        """What links in answers are built from."""
        return self.config.base_url or BASE_URL


async def run_list(
    job: ListJob,
    items: Iterator[Item],
    journal: Journal,
    total: int | None,
    settled: Callable[[], None] = lambda: None,
) -> None:
    """Resolve what *journal* does not have yet of *items*, of which there are *total*.

    *settled* is called when a result has become final.
    """
    config = job.config
    waits = Waits(min(config.hard + _IN_QUEUES, LONGEST_WAIT), LONGEST_WAIT)
    # Nobody sits and waits: a copy at hand is no reason not to hear the others out.
    patient = replace(config, soft=LONGEST_WAIT, hard=LONGEST_WAIT)
    async with open_core(patient, job.base_url, rate_limits=job.rate_limits) as core:
        with show_progress(total, journal.settled, terminal=sys.stderr.isatty()) as advance:

            def done() -> None:
                advance()
                settled()

            around = BatchEnvironment(
                partial(_resolve, core),
                partial(_report, core),
                config.registry,
                read_time,
                ArchiveQueue(rates_in(config, job.preferences)),
                done,
            )
            run = BatchRun(around, journal, job.preferences, job.at_once, job.without)
            await run.complete(read_in_thread(items), waits)


async def _resolve(core: "Core", query: Query, preferences: Preferences) -> Resolution:
    return await core.resolver.resolve(query, preferences, UNLIMITED)


def _report(core: "Core", resolution: Resolution, judged: Verdict) -> dict[str, object]:
    return dict(report(resolution, judged, core.registry, core.base_url))


def rates_in(config: Config, preferences: Preferences) -> dict[str, Rate]:
    """Return how fast each archive may be asked that *preferences* allows."""
    chosen, excluded = preferences.archives, preferences.exclude
    return rates_of(
        [
            entry
            for entry in config.askable
            if entry.id not in excluded and (chosen is None or entry.id in chosen)
        ]
    )
