"""How far a run is: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

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
