"""Results as lines of JSON and as a table, one at a time."""

import asyncio
import csv
import io
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO, Final, NamedTuple

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from timegate.batch.journal import Journal
from timegate.batch.result import ItemResult

COLUMNS: Final = (
    "input",
    "outcome",
    "memento",
    "archive",
    "datetime",
    "delta_seconds",
    "pwid",
    "why",
)


class OutputFormat(NamedTuple):
    """How results are written: what stands before all of them, and each by itself."""

    head: bytes
    row: Callable[[ItemResult], bytes]


def _line(result: ItemResult) -> bytes:
    """Return a line of JSON; ``report`` is what ``timegate resolve --json`` tells."""
    told = {
        "input": result.item.text,
        "outcome": result.outcome,
        "code": result.code,
        "date": result.date,
        "why": result.why,
        "report": result.report,
    }
    return json.dumps(told).encode() + b"\n"


def _cells(result: ItemResult) -> bytes:
    memento = result.memento or {}
    return _row(
        (
            result.item.text,
            result.outcome,
            memento.get("uri"),
            memento.get("archive"),
            memento.get("datetime"),
            result.delta,
            result.pwid,
            result.why,
        )
    )


def _row(cells: Iterable[object]) -> bytes:
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerow(map(_cell, cells))
    return written.getvalue().encode(errors="backslashreplace")


def _cell(value: object) -> object:
    """Return *value* so that no spreadsheet takes it for a formula (CWE-1236)."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value


FORMS: Final[Mapping[str, OutputFormat]] = {
    "jsonl": OutputFormat(b"", _line),
    "csv": OutputFormat(_row(COLUMNS), _cells),
}


class OrderedRows:
    """Writes the rows of one journal, each once."""

    def __init__(
        self, journal: Journal, row: Callable[[ItemResult], bytes], out: BinaryIO
    ) -> None:
        self._journal = journal
        self._row = row
        self._out = out
        self._next = 0
        self._news = asyncio.Event()
        self._over = False

    def advance(self) -> None:
        """Note that a result has become final."""
        self._news.set()

    def end(self) -> None:
        """Note that there will be no more results."""
        self._over = True
        self._news.set()

    async def follow(self) -> None:
        """Write what is final, until the end. Raises OSError."""
        over = False
        while not over:
            over = self._over
            self._news.clear()
            await asyncio.to_thread(self._write)
            if not over:
                await self._news.wait()

    def _write(self) -> None:
        self._out.writelines(map(self._row, self._final()))
        self._out.flush()

    def _final(self) -> Iterator[ItemResult]:
        while self._journal.is_final(self._next):
            result = self._journal.result(self._next)
            self._next += 1
            if result is not None:
                yield result


_EVERY: Final = 10.0

Advance = Callable[[], None]


@contextmanager
def shown(total: int | None, done: int, *, terminal: bool) -> Iterator[Advance]:
    """Show the progress of *total* items (None: nobody knows), of which *done* are done."""
    if terminal:
        with _bar(total, done) as advance:
            yield advance
    else:
        yield ProgressLines(total, done, time.monotonic)


@contextmanager
def _bar(total: int | None, done: int) -> Iterator[Advance]:
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=total, completed=done, rate="")

        def advance() -> None:
            speed = progress.tasks[0].speed
            rate = "" if speed is None else f"{speed:.1f}/s"
            progress.update(task, advance=1, rate=rate)

        yield advance


class ProgressLines:
    """Writes a line every few seconds, when something has happened."""

    def __init__(self, total: int | None, done: int, clock: Callable[[], float]) -> None:
        self._of = "" if total is None else f" of {total}"
        self._total = total
        self._done = self._at_start = done
        self._clock = clock
        self._began = self._last = clock()

    def __call__(self) -> None:
        self._done += 1
        now = self._clock()
        if now - self._last >= _EVERY:
            self._last = now
            rate = (self._done - self._at_start) / (now - self._began)
            left = ""
            if self._total is not None:
                left = f", {in_words((self._total - self._done) / rate)} left"
            print(f"{self._done}{self._of}, {rate:.1f}/s{left}", file=sys.stderr)  # noqa: T201


def in_words(seconds: float) -> str:
    """Return about how long *seconds* are."""
    for unit, name in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{max(seconds, 0):.0f} s"
