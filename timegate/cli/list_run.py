"""Resolves the references of a list into a journal, with all the politeness of a long run."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from archives.model import Rate
from timegate.app import askable, running
from timegate.batch.journal import Journal
from timegate.batch.model import Item
from timegate.batch.output import shown
from timegate.batch.run import (
    ArchiveQueue,
    BatchEnvironment,
    BatchRun,
    Waits,
    Without,
    aside,
    rates_of,
)
from timegate.config import Config
from timegate.resolution.model import Preferences
from timegate.resolution.preferences import LONGEST_WAIT
from timegate.text.times import read_time

# A question may wait in the queue of an archive for 2 s, and again after a redirect
# (upstream.pool.Settings); that is none of the time which the archive has to answer.
_IN_QUEUES: Final = 4.0
BASE_URL: Final = "http://127.0.0.1:1208"
"""What links in answers are built from where nothing is configured: the usual server."""


@dataclass(frozen=True, slots=True)
class ListJob:
    """How a list is resolved."""

    config: Config
    preferences: Preferences
    at_once: int
    ledgers: Path | None = None
    """Where others count their requests to the same archives; None if there are none."""
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
    async with running(patient, job.base_url, job.ledgers) as app:
        with shown(total, journal.settled, terminal=sys.stderr.isatty()) as advance:

            def done() -> None:
                advance()
                settled()

            around = BatchEnvironment(
                app.answers.resolve,
                app.answers.report,
                config.registry,
                read_time,
                ArchiveQueue(rates_in(config, job.preferences)),
                done,
            )
            run = BatchRun(around, journal, job.preferences, job.at_once, job.without)
            await run.complete(aside(items), waits)


def rates_in(config: Config, preferences: Preferences) -> dict[str, Rate]:
    """Return how fast each archive may be asked that *preferences* allows."""
    chosen, excluded = preferences.archives, preferences.exclude
    return rates_of(
        [
            entry
            for entry in askable(config)
            if entry.id not in excluded and (chosen is None or entry.id in chosen)
        ]
    )
