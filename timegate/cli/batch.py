"""``timegate resolve --batch``: a whole list, politely, with a journal to go on from."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Final, get_args

import click

from timegate.batch.html_report import Statistics, as_html
from timegate.batch.journal import BadJournal, Journal
from timegate.batch.lines import Columns
from timegate.batch.model import BadInput, preferences_digest
from timegate.batch.output import FORMS, OrderedRows, edited, edits, in_words
from timegate.batch.run import estimate
from timegate.batch.source import InputFormat, ListSource
from timegate.cli.list_run import ListJob, rates_in, run_list
from timegate.cli.options import Words, bundling
from timegate.cli.output import ungrouped
from timegate.config import Config
from timegate.resolution.model import Preferences
from timegate.text import counted

_FORMATS: Final = get_args(InputFormat)
_OUTPUTS: Final = ("jsonl", "csv", "html", "wikitext", "bibtex")


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """What the command line says about a list."""

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


_DECLARED: Final = (
    click.option("--batch", metavar="FILE", help="Resolve a whole list; - is standard input."),
    click.option("--input-format", type=Words(_FORMATS), help="Of the list."),
    click.option("--column", metavar="NAME", help="Of the references, in a CSV list."),
    click.option(
        "--date-column", multiple=True, metavar="NAME", help="Of dates, the preferred first."
    ),
    click.option("--output", default="-", metavar="FILE", help="Where results go; - prints."),
    click.option("--to", type=Words(_OUTPUTS), help="Format of the results."),
    click.option(
        "--report",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write pictures and gaps to an HTML file.",
    ),
    click.option("--resume", is_flag=True, help="Go on where an earlier run was ended."),
    click.option(
        "--retry-unknown",
        is_flag=True,
        help="With --resume, ask again where archives did not answer.",
    ),
    click.option(
        "--at-once",
        type=click.IntRange(1, 256),
        default=16,
        show_default=True,
        help="How many references are under way.",
    ),
    click.option(
        "--exit-zero", is_flag=True, help="End with 0 if the list was worked through."
    ),
)

batch_options: Final = bundling(BatchOptions, "batch", _DECLARED)


_INTERRUPTED: Final = 130
"""128 and the number of SIGINT, as shells have it."""
_SUFFIXES: Final = {
    ".bib": "bibtex",
    ".csv": "csv",
    ".html": "html",
    ".wiki": "wikitext",
    ".wikitext": "wikitext",
}


def resolve_batch(config: Config, options: BatchOptions, preferences: Preferences) -> int:
    """Work through the list; return the exit code."""
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
    """One list, and what is to be done with it."""

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
        """Resolve what is not done; write rows meanwhile, and what needs all of them then."""
        self._check_source()
        with ExitStack() as stack:
            journal = stack.enter_context(self._journal(stack))
            out = stack.enter_context(_written(self._options.output))
            self._resolve(journal, out)
            statistics = Statistics()
            for result in journal.results():
                statistics.add(result)
            if self._form not in FORMS:
                out.writelines(self._whole(journal, statistics))
            if self._options.report is not None:
                with _written(str(self._options.report)) as page:
                    page.writelines(self._page(journal, statistics))
        _say(self._summary(statistics))
        return 0 if self._options.exit_zero else statistics.worst

    def _check_source(self) -> None:
        """Raise BadInput for a list that was misread, before there is a journal of it."""
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
            raise BadInput(f"a list in {self._source.form} cannot be written as {form}")
        return form

    def _journal(self, stack: ExitStack) -> Journal:
        """Open the journal beside the output; what is printed has none that lasts."""
        options = self._options
        if options.retry_unknown and not options.resume:
            raise BadJournal("--retry-unknown goes with --resume")
        preferences = self._preferences
        told = [
            preferences_digest(preferences),
            preferences.verify,
            self._source.form,
            options.column or "",
        ]
        binding = blake2b("\n".join([*told, *options.date_column]).encode(), digest_size=16)
        if options.output != "-":
            path = Path(f"{options.output}.journal")
            return Journal(path, binding.hexdigest(), resume=options.resume)
        if options.resume:
            raise BadJournal("--resume needs an --output, beside which the journal is")
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="timegate-"))
        return Journal(Path(folder) / "journal", binding.hexdigest(), resume=False)

    def _resolve(self, journal: Journal, out: BinaryIO) -> None:
        total = self._counted(journal)
        if self._options.retry_unknown:
            _say(f"{journal.reopen()} of the references are asked for again")
        self._foretell(total, journal.settled)
        try:
            self._ended(journal, total, out)
        except KeyboardInterrupt:
            _say("ended early; --resume goes on with what is left")
            sys.exit(_INTERRUPTED)

    def _ended(self, journal: Journal, total: int | None, out: BinaryIO) -> None:
        with ungrouped(BadInput, BadJournal, OSError):
            asyncio.run(self._run(journal, total, out))

    async def _run(self, journal: Journal, total: int | None, out: BinaryIO) -> None:
        job = ListJob(self._config, self._preferences, self._options.at_once)
        items = self._source.items()
        form = FORMS.get(self._form)
        if form is None:
            await run_list(job, items, journal, total)
            return
        out.write(form.head)
        following = OrderedRows(journal, form.row, out)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(following.follow())
            await run_list(job, items, journal, total, following.advance)
            following.end()

    def _counted(self, journal: Journal) -> int | None:
        """Return how many items there are; None where they can be read only once.

        Finds out, before anybody is asked, that a journal is that of another list.
        """
        if not self._source.repeatable:
            return None
        total = 0
        for item in self._source.items():
            journal.knows(item)
            total += 1
        journal.check_length(total)
        return total

    def _foretell(self, total: int | None, done: int) -> None:
        if not total:
            return
        took_up = f", {done} of them done" if done else ""
        _say(f"{counted(total, 'reference')}{took_up}")
        expected = estimate(total - done, rates_in(self._config, self._preferences))
        if expected is not None and expected.seconds >= 1:
            rate = expected.rate
            _say(
                f"about {in_words(expected.seconds)} if every archive has to be asked once "
                f"for each: {expected.archive} allows {rate.requests:g} in {rate.seconds:g} s"
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
def _written(name: str) -> Iterator[BinaryIO]:
    """Hand out the file *name*, which is as before until it is whole.

    Until then what there is stands beside it.
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


def _say(text: str) -> None:
    click.echo(text, err=True)
