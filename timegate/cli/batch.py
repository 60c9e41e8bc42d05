"""``timegate resolve --batch``: resolves a list of references, with a journal to resume from.

`run_list` also resolves the list of ``timegate extract``.
"""

import asyncio
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Final

import click

from archives.moment import Moment
from timegate.batch.html_report import Statistics, as_html
from timegate.batch.journal import BadJournal, Journal, is_journal
from timegate.batch.model import BadInput, preferences_digest
from timegate.batch.output import (
    FORMS,
    OrderedRows,
    Rewriting,
    in_words,
    rewriting,
)
from timegate.batch.run import BadQueue, estimate, estimate_checked
from timegate.batch.source import ListSource
from timegate.citations.archive_links import edited
from timegate.cli.batch_options import BatchOptions
from timegate.cli.given import piped_instead
from timegate.cli.list_files import STDOUT, check_files, replaced
from timegate.cli.lists import (
    ListJob,
    OpenEngines,
    chosen_entries,
    local_engines,
    rates_in,
    run_list,
)
from timegate.cli.options import BASE_URL, DEMO_LINKS, is_file
from timegate.cli.output import echo_text, typed_changed, typed_with, ungrouped
from timegate.collections.opening import with_replay_addresses
from timegate.config import Config
from timegate.references.formats import REWRITTEN
from timegate.references.lines import Columns
from timegate.resolution.model import Preferences
from timegate.responses.referral import is_demo
from timegate.text import counted

_INTERRUPTED: Final = 130
_TERMINATED: Final = 143
"""128 plus the numbers of SIGINT and SIGTERM, as in shells."""
_ONLY_READ: Final = (".docx", ".pdf")
_SUFFIXES: Final = {
    "": "jsonl",
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".ndjson": "jsonl",
    ".bib": "bibtex",
    ".csv": "csv",
    ".html": "html",
    ".wiki": "wikitext",
    ".wikitext": "wikitext",
    ".md": "markdown",
    ".rst": "rst",
    ".tex": "latex",
    ".ris": "ris",
}


def resolve_batch(
    config: Config, options: BatchOptions, preferences: Preferences, at: Moment | None = None
) -> int:
    """Resolve the list, references without a date at the time *at*; return the exit code."""
    # Links to our own collections are references, too.
    config = with_replay_addresses(config, config.base_url or BASE_URL)
    try:
        if options.queue is not None:
            # The client of Redis is an extra.
            from timegate.cli import queue  # noqa: PLC0415

            if options.work:
                return queue.work_on_queue(config, options.queue, options.at_once)
            config = queue.sharing(config, options.queue)
        return _Batch(config, options, preferences, at).work()
    except BadInput as error:
        name = options.batch or "-"
        hint = "" if name == "-" or is_file(name) else piped_instead(name)
        raise click.UsageError(f"{name}: {error}{hint}") from error
    except (BadJournal, BadQueue) as error:
        raise click.UsageError(str(error)) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise click.ClickException(_of_files(error, options)) from error


def _of_files(error: OSError, options: BatchOptions) -> str:
    """Return which file could not be written, and how the run is continued."""
    why = f"{error.filename or 'a file'}: {error.strerror or error}"
    if options.output == STDOUT:
        return f"{why}\nWith --output FILE, a run can be continued."
    if not is_journal(Path(f"{options.output}.journal")):
        return why
    kept = f"The results so far are in {options.output}.journal; continue with:"
    return f"{why}\n{kept} {typed_with('--resume')}"


class _Batch:
    """One run over a list."""

    def __init__(
        self,
        config: Config,
        options: BatchOptions,
        preferences: Preferences,
        at: Moment | None = None,
    ) -> None:
        check_files(options.batch, options.output, options.report, options.to)
        self._at = at
        self._config = config
        self._options = options
        self._preferences = preferences
        columns = Columns(options.column, options.date_column)
        self._source = ListSource(
            options.batch or "-",
            options.input_format,
            columns,
            config.registry,
            at,
            published=options.published,
        )
        if self._source.form != "csv" and (options.column or options.date_column):
            option = "--column" if options.column else "--date-column"
            why = f"{option} is for CSV, but the list was read as {self._source.form}"
            raise BadInput(f"{why}; --input-format csv reads it as a table")
        self._form = self._output_format()

    def work(self) -> int:
        """Resolve what is left; write rows as they are final, and other formats at the end."""
        self._check_source()
        with ExitStack() as stack:
            journal = stack.enter_context(self._journal(stack))
            with replaced(self._options.output) as out:
                self._resolve(journal, out)
                statistics = Statistics()
                for result in journal.results():
                    statistics.add(result)
                changed = self._rewriting(journal)
                if changed is not None:
                    out.writelines(edited(self._source.document or "", changed.edits))
                elif self._form not in FORMS:
                    out.writelines(self._page(journal, statistics))
            # The output is in its place even if the report cannot be written.
            if self._options.report is not None:
                with replaced(self._options.report) as page:
                    page.writelines(self._page(journal, statistics))
            journal.complete()
        _print(self._summary(statistics))
        for line in () if changed is None else changed.lines:
            _print(line)
        is_linked = statistics.total > 0 and is_demo(self._config.registry)
        if is_linked and not sys.stderr.isatty():
            _print(DEMO_LINKS)
        for line in self._not_read():
            _print(line)
        return 0 if self._options.exit_zero else statistics.worst

    def _not_read(self) -> Iterator[str]:
        """Yield which lines or citations of the list are no references, and how they can be."""
        if without := self._source.lines_without():
            have = "has" if without == 1 else "have"
            yield (
                f"{counted(without, 'line')} {have} no reference: the list was read as text; "
                "--input-format lines reports every line"
            )
        if unlinked := self._source.entries_without():
            entries = "1 entry was" if unlinked == 1 else f"{unlinked} entries were"
            yield f"{entries} passed over, without a link"
        if passed := self._source.passed_over():
            yield self._passed(passed)

    def _passed(self, passed: int) -> str:
        """Return how many citations were passed over, and how their copies are found."""
        were = "was" if passed == 1 else "were"
        changes, how = {"--batch": "-"}, "read standard input without --input-format"
        what = "to resolve them too"
        if self._is_rewritten:
            # In the document they would stay as they are.
            changes |= self._rows_instead()
            what, how = "for a table with their copies", f"{how} and with --to csv"
        if self._options.input_format is None:
            how = f"{typed_changed(changes)} < {shlex.quote(self._options.batch or '')}"
        return (
            f"{counted(passed, 'citation')} {were} passed over, neither marked as dead nor "
            f"with an archive link; {what}: {how}"
        )

    def _check_source(self) -> None:
        """Raise BadInput for a list that was misread, before a journal is created."""
        if self._source.repeatable and next(self._source.items(), None) is None:
            self._source.none_found()

    def _summary(self, statistics: Statistics) -> str:
        if not statistics.total:
            return self._source.none_found()
        outcomes = [f"{n} {name}" for name, n in statistics.outcomes.most_common()]
        doubtful = f"; in {n} another date may be meant" if (n := statistics.doubtful) else ""
        return f"{counted(statistics.total, 'reference')}: {', '.join(outcomes)}{doubtful}"

    def _output_format(self) -> str:
        suffix = Path(self._options.output).suffix.lower()
        form = self._options.to or _SUFFIXES.get(suffix)
        if form is None:
            raise click.UsageError(self._unknown(suffix))
        rewrites = form == "document" or form in REWRITTEN - {"html"}
        if rewrites and not self._source.rewritable:
            why = f"a list in the format {self._source.form} cannot be written as {form}"
            raise BadInput(f"{why}; its results can be written as CSV\nTry: {self._as_rows()}")
        if rewrites and self._source.form != form != "document":
            why = f"a list in the format {self._source.form} cannot be written as {form}"
            raise BadInput(f"{why}\nTry: {self._as_document()}")
        return form

    def _unknown(self, suffix: str) -> str:
        """Return why no output has the *suffix*, with the line to type."""
        output = f"--output {self._options.output}:"
        if suffix in _ONLY_READ:
            why = f"{output} a {suffix} is only read, never written; use .csv"
            return f"{why}\nTry: {self._as_rows()}"
        known = ", ".join(filter(None, _SUFFIXES))
        rewritable = self._source.rewritable
        line = self._as_document(renamed=False) if rewritable else self._as_rows()
        return (
            f"{output} the format of {suffix} is not known; use {known}, or name it with --to\n"
            f"Try: {line}"
        )

    def _as_rows(self) -> str:
        """Return the command line with which the results are written as CSV."""
        return typed_changed(self._rows_instead())

    def _rows_instead(self) -> dict[str, str]:
        """Return the options with which the results are written as CSV."""
        changes = {}
        if self._options.output != "-":
            changes["--output"] = str(Path(self._options.output).with_suffix(".csv"))
        if self._options.to is not None or not changes:
            changes["--to"] = "csv"
        return changes

    def _as_document(self, *, renamed: bool = True) -> str:
        """Return the command line with which the document is written again.

        *renamed*: into a file with the suffix of its format.
        """
        # HTML is a report, unless it is asked for as the document.
        form: str = self._source.form
        suffix = next((end for end, name in _SUFFIXES.items() if name == form), "")
        changes = {}
        if renamed and suffix and self._options.output != "-":
            changes["--output"] = str(Path(self._options.output).with_suffix(suffix))
        if form == "html" or self._options.to is not None or not changes:
            changes["--to"] = "document" if form == "html" else form
        return typed_changed(changes)

    def _journal(self, stack: ExitStack) -> Journal:
        """Open the journal next to the output file; without one, a temporary journal."""
        options = self._options
        if options.retry_unknown and not options.resume:
            line = typed_with("--resume")
            if options.output == STDOUT:
                line += " --output results.jsonl"
            raise BadJournal(f"--retry-unknown requires --resume\nTry: {line}")
        preferences = self._preferences
        settings = [
            preferences_digest(preferences),
            self._source.form,
            options.column or "",
            *([] if self._at is None else [self._at.digits]),
        ]
        binding = blake2b("\n".join([*settings, *options.date_column]).encode(), digest_size=16)
        if options.output != "-":
            path = Path(f"{options.output}.journal")
            if options.resume and not path.exists():
                _print(f"there is no {path} to continue: this run begins anew")
            return Journal(path, binding.hexdigest(), resume=options.resume)
        if options.resume:
            why = "--resume requires --output: the journal is next to the output file"
            name = f"results.{'csv' if options.to == 'csv' else 'jsonl'}"
            line = typed_changed({"--output": name})
            raise BadJournal(f"{why}\nTry: {line}")
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="timegate-"))
        return Journal(Path(folder) / "journal", binding.hexdigest(), resume=False)

    def _resolve(self, journal: Journal, out: BinaryIO) -> None:
        total = self._count(journal)
        if self._options.retry_unknown:
            _print(f"retrying {counted(journal.reopen(), 'reference')}")
        self._print_estimate(total, journal.settled)
        try:
            with ungrouped(BadInput, BadJournal, BadQueue, OSError):
                asyncio.run(self._run(journal, total, out))
        except (KeyboardInterrupt, asyncio.CancelledError) as end:
            if self._options.output == "-":
                _print("interrupted; with --output FILE, a run can be continued")
            else:
                _print(f"interrupted; continue with --resume: {typed_with('--resume')}")
            sys.exit(_INTERRUPTED if isinstance(end, KeyboardInterrupt) else _TERMINATED)

    async def _run(self, journal: Journal, total: int | None, out: BinaryIO) -> None:
        # As Ctrl-C does: what is under way ends, and the line to continue with is printed.
        run = asyncio.current_task()
        if run is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, run.cancel)
        job = ListJob(self._config, self._preferences, self._options.at_once)
        items = self._source.items()
        in_blocks = self._source.repeatable
        engines: OpenEngines = local_engines
        if self._options.queue is not None:
            from timegate.cli.queue import queue_engines  # noqa: PLC0415 -- it needs Redis

            engines = queue_engines(self._options.queue)
        form = FORMS.get(self._form)
        if form is None:
            await run_list(job, items, journal, total, in_blocks=in_blocks, engines=engines)
            return
        out.write(form.head)
        rows = OrderedRows(journal, form.row, out)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(rows.follow())
            await run_list(
                *(job, items, journal, total, rows.advance),
                in_blocks=in_blocks,
                engines=engines,
            )
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
        left = total - done
        expected = estimate(left, rates_in(self._config, self._preferences))
        if expected is not None and expected.seconds >= 1:
            rate = expected.rate
            checking = self._checking(left, expected.seconds)
            _print(
                f"about {in_words(expected.seconds)} if every archive must be queried for each "
                f"one{checking}: {expected.archive} allows {rate.requests:g} requests in "
                f"{rate.seconds:g} s"
            )

    def _checking(self, left: int, seconds: float) -> str:
        """Return how long it takes at most with requests for copies; empty if that is alike."""
        entries = chosen_entries(self._config, self._preferences)
        checked = estimate_checked(left, entries)
        if self._preferences.verify == "none" or in_words(checked) == in_words(seconds):
            return ""
        return f", up to {in_words(checked)} if each copy is requested as well (--verify)"

    def _rewriting(self, journal: Journal) -> Rewriting | None:
        """Return what becomes of the document; None if it is not written again."""
        document = self._source.document
        if document is None or not self._is_rewritten:
            return None
        places, required = self._source.places(), self._options.require
        return rewriting(document, places, journal.result, required, self._preferences)

    @property
    def _is_rewritten(self) -> bool:
        """Whether the result is the document with other links."""
        is_document = self._source.document is not None
        return is_document and self._form not in FORMS and self._form != "html"

    def _page(self, journal: Journal, statistics: Statistics) -> Iterator[bytes]:
        gaps = (result for result in journal.results() if result.code or result.is_in_doubt)
        for piece in as_html(f"References of {self._source.name}", statistics, gaps):
            yield piece.encode(errors="replace")


def _print(text: str) -> None:
    echo_text(text, err=True)
