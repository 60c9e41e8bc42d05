"""``timegate resolve --batch``: resolves a list of references, with a journal to resume from.

`run_list` also resolves the list of ``timegate extract``.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, get_args

import click

from archives.model import Rate
from timegate.batch.html_report import Statistics, as_html
from timegate.batch.journal import BadJournal, Journal
from timegate.batch.lines import Columns
from timegate.batch.model import BadInput, Item, preferences_digest
from timegate.batch.output import (
    FORMS,
    OrderedRows,
    edited,
    edits,
    in_words,
    show_progress,
)
from timegate.batch.run import (
    ArchiveQueue,
    BatchEnvironment,
    BatchRun,
    Waits,
    Without,
    estimate,
    rates_of,
    read_in_thread,
)
from timegate.batch.source import InputFormat, ListSource
from timegate.cli.options import BASE_URL, Words, bundling, open_core
from timegate.cli.output import echo_text, ungrouped
from timegate.config import Config
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Preferences, Query, Resolution
from timegate.resolution.preferences import LONGEST_WAIT
from timegate.responses.report import report
from timegate.text import counted
from timegate.text.times import read_time
from timegate.verdict import Verdict

if TYPE_CHECKING:
    from timegate.core import Core

_FORMATS: Final = get_args(InputFormat)
_OUTPUTS: Final = ("jsonl", "csv", "html", "wikitext", "bibtex")


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """The options of ``--batch``."""

    batch: str | None
    input_format: InputFormat | None
    column: str | None
    date_column: tuple[str, ...]
    output: str
    to: str | None
    report: Path | None
    resume: bool
    retry_unknown: bool
    at_once: int
    exit_zero: bool


_OPTIONS: Final = (
    click.option(
        "--batch", metavar="FILE", help="Resolve a list of references; - reads standard input."
    ),
    click.option("--input-format", type=Words(_FORMATS), help="Format of the list."),
    click.option("--column", metavar="NAME", help="CSV column with the references."),
    click.option(
        "--date-column",
        multiple=True,
        metavar="NAME",
        help="CSV column with dates; repeatable.",
    ),
    click.option(
        "--output", default="-", metavar="FILE", help="File for the results; - prints them."
    ),
    click.option("--to", type=Words(_OUTPUTS), help="Format of the results."),
    click.option(
        "--report",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write an HTML report with charts and gaps.",
    ),
    click.option("--resume", is_flag=True, help="Continue an interrupted run."),
    click.option(
        "--retry-unknown",
        is_flag=True,
        help="With --resume, retry where archives did not answer.",
    ),
    click.option(
        "--at-once",
        type=click.IntRange(1, 256),
        default=16,
        show_default=True,
        help="Number of references to resolve at the same time.",
    ),
    click.option(
        "--exit-zero", is_flag=True, help="Exit with 0 when the whole list was processed."
    ),
)

batch_options: Final = bundling(BatchOptions, "batch", _OPTIONS)


_INTERRUPTED: Final = 130
"""128 plus the number of SIGINT, as in shells."""
_SUFFIXES: Final = {
    ".bib": "bibtex",
    ".csv": "csv",
    ".html": "html",
    ".wiki": "wikitext",
    ".wikitext": "wikitext",
}


def resolve_batch(config: Config, options: BatchOptions, preferences: Preferences) -> int:
    """Resolve the list; return the exit code."""
    try:
        return _Batch(config, options, preferences).work()
    except BadInput as error:
        raise click.UsageError(f"{options.batch}: {error}") from error
    except BadJournal as error:
        raise click.UsageError(str(error)) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise click.ClickException(f"{error.filename or 'output'}: {error.strerror}") from error


class _Batch:
    """One run over a list."""

    def __init__(self, config: Config, options: BatchOptions, preferences: Preferences) -> None:
        self._config = config
        self._options = options
        self._preferences = preferences
        columns = Columns(options.column, options.date_column)
        self._source = ListSource(
            options.batch or "-", options.input_format, columns, config.registry
        )
        self._form = self._output_format()

    def work(self) -> int:
        """Resolve what is left; write rows as they are final, and other formats at the end."""
        self._check_source()
        with ExitStack() as stack:
            journal = stack.enter_context(self._journal(stack))
            out = stack.enter_context(_replaced(self._options.output))
            self._resolve(journal, out)
            statistics = Statistics()
            for result in journal.results():
                statistics.add(result)
            if self._form not in FORMS:
                out.writelines(self._whole(journal, statistics))
            if self._options.report is not None:
                with _replaced(str(self._options.report)) as page:
                    page.writelines(self._page(journal, statistics))
        _print(self._summary(statistics))
        return 0 if self._options.exit_zero else statistics.worst

    def _check_source(self) -> None:
        """Raise BadInput for a list that was misread, before a journal is created."""
        if self._source.repeatable and next(self._source.items(), None) is None:
            self._source.none_found()

    def _summary(self, statistics: Statistics) -> str:
        if not statistics.total:
            return self._source.none_found()
        outcomes = [f"{n} {name}" for name, n in statistics.outcomes.most_common()]
        return f"{counted(statistics.total, 'reference')}: {', '.join(outcomes)}"

    def _output_format(self) -> str:
        suffix = Path(self._options.output).suffix.lower()
        form = self._options.to or _SUFFIXES.get(suffix, "jsonl")
        if form in ("wikitext", "bibtex") and self._source.form != form:
            raise BadInput(
                f"a list in the format {self._source.form} cannot be written as {form}"
            )
        return form

    def _journal(self, stack: ExitStack) -> Journal:
        """Open the journal next to the output file; without one, a temporary journal."""
        options = self._options
        if options.retry_unknown and not options.resume:
            raise BadJournal("--retry-unknown requires --resume")
        preferences = self._preferences
        settings = [
            preferences_digest(preferences),
            self._source.form,
            options.column or "",
        ]
        binding = blake2b("\n".join([*settings, *options.date_column]).encode(), digest_size=16)
        if options.output != "-":
            path = Path(f"{options.output}.journal")
            return Journal(path, binding.hexdigest(), resume=options.resume)
        if options.resume:
            raise BadJournal(
                "--resume requires --output: the journal is next to the output file"
            )
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="timegate-"))
        return Journal(Path(folder) / "journal", binding.hexdigest(), resume=False)

    def _resolve(self, journal: Journal, out: BinaryIO) -> None:
        total = self._count(journal)
        if self._options.retry_unknown:
            _print(f"retrying {counted(journal.reopen(), 'reference')}")
        self._print_estimate(total, journal.settled)
        try:
            with ungrouped(BadInput, BadJournal, OSError):
                asyncio.run(self._run(journal, total, out))
        except KeyboardInterrupt:
            _print("interrupted; continue with --resume")
            sys.exit(_INTERRUPTED)

    async def _run(self, journal: Journal, total: int | None, out: BinaryIO) -> None:
        job = ListJob(self._config, self._preferences, self._options.at_once)
        items = self._source.items()
        form = FORMS.get(self._form)
        if form is None:
            await run_list(job, items, journal, total)
            return
        out.write(form.head)
        rows = OrderedRows(journal, form.row, out)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(rows.follow())
            await run_list(job, items, journal, total, rows.advance)
            rows.end()

    def _count(self, journal: Journal) -> int | None:
        """Return the number of items; None if they can be read only once.

        Raises BadJournal if the journal belongs to another list, before any archive is queried.
        """
        if not self._source.repeatable:
            return None
        total = 0
        for item in self._source.items():
            journal.knows(item)
            total += 1
        journal.check_length(total)
        return total

    def _print_estimate(self, total: int | None, done: int) -> None:
        if not total:
            return
        already = f", {done} already done" if done else ""
        _print(f"{counted(total, 'reference')}{already}")
        expected = estimate(total - done, rates_in(self._config, self._preferences))
        if expected is not None and expected.seconds >= 1:
            rate = expected.rate
            _print(
                f"about {in_words(expected.seconds)} if every archive must be queried for each "
                f"one: {expected.archive} allows {rate.requests:g} requests in "
                f"{rate.seconds:g} s"
            )

    def _whole(self, journal: Journal, statistics: Statistics) -> Iterable[bytes]:
        document = self._source.document
        if document is None or self._form == "html":
            return self._page(journal, statistics)
        return edited(document, edits(document, self._source.places(), journal.result))

    def _page(self, journal: Journal, statistics: Statistics) -> Iterator[bytes]:
        gaps = (result for result in journal.results() if result.code)
        for piece in as_html(f"References of {self._source.name}", statistics, gaps):
            yield piece.encode(errors="replace")


@contextmanager
def _replaced(name: str) -> Iterator[BinaryIO]:
    """Open the file *name* for writing; it is replaced only when it is complete.

    Until then the output is in a ``.part`` file next to it.
    """
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    part = Path(f"{name}.part")
    with part.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    part.replace(name)


def _print(text: str) -> None:
    echo_text(text, err=True)


_QUEUE_TIME: Final = 4.0
"""Seconds added to the time that an archive has to answer: a request may wait for 2 s in the
queue of the archive (`UpstreamSettings.patience`), and again after a redirect."""


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


async def run_list(
    job: ListJob,
    items: Iterator[Item],
    journal: Journal,
    total: int | None,
    settled: Callable[[], None] = lambda: None,
) -> None:
    """Resolve those of *items* that *journal* does not contain yet.

    *total* is the number of items, if known. *settled* is called when a result is final.
    """
    config = job.config
    waits = Waits(min(config.hard + _QUEUE_TIME, LONGEST_WAIT), LONGEST_WAIT)
    # A list is not interactive: all archives get their time even if a copy was found already.
    patient = replace(config, soft=LONGEST_WAIT, hard=LONGEST_WAIT)
    async with open_core(patient, job.base_url, rate_limits=job.rate_limits) as core:
        with show_progress(total, journal.settled, terminal=sys.stderr.isatty()) as advance:

            def done() -> None:
                advance()
                settled()

            environment = BatchEnvironment(
                partial(_resolve, core),
                partial(_report, core),
                config.registry,
                read_time,
                ArchiveQueue(rates_in(config, job.preferences)),
                done,
            )
            run = BatchRun(environment, journal, job.preferences, job.at_once, job.without)
            await run.complete(read_in_thread(items), waits)


async def _resolve(core: "Core", query: Query, preferences: Preferences) -> Resolution:
    return await core.resolver.resolve(query, preferences, UNLIMITED)


def _report(core: "Core", resolution: Resolution, judged: Verdict) -> dict[str, object]:
    return dict(report(resolution, judged, core.registry, core.base_url))


def rates_in(config: Config, preferences: Preferences) -> dict[str, Rate]:
    """Return the rate limits of the archives that *preferences* allows."""
    chosen, excluded = preferences.archives, preferences.exclude
    return rates_of(
        [
            entry
            for entry in config.askable
            if entry.id not in excluded and (chosen is None or entry.id in chosen)
        ]
    )
