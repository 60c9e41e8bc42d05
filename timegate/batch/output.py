"""Output of a run: rows of results, documents with new links, and progress."""

import asyncio
import csv
import io
import json
import re
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, Protocol

from archives.errors import ArchiveError
from timegate.batch.journal import Journal
from timegate.batch.model import ItemResult, Requirement
from timegate.citations.archive_links import Edit, link_edits, safe_link
from timegate.references.model import ReferencePlace
from timegate.resolution.model import Preferences
from timegate.text import counted, escaped

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

COLUMNS: Final = (
    "input",
    "outcome",
    "memento",
    "archive",
    "datetime",
    "delta_seconds",
    "pwid",
    "why",
    "referral",
    "comparison",
    "quote",
)


class OutputFormat(NamedTuple):
    """A format of rows: the head, and the row of one result."""

    head: bytes
    row: Callable[[ItemResult], bytes]


def _line(result: ItemResult) -> bytes:
    """Return a line of JSON; ``report`` is the output of ``timegate resolve --json``."""
    members = {
        "input": result.item.text,
        "outcome": result.outcome,
        "code": result.code,
        "date": result.date,
        "why": result.why,
        "report": result.report,
    }
    return json.dumps(members).encode() + b"\n"


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
            result.referral,
            result.comparison,
            result.quote,
        )
    )


def _row(cells: Iterable[object]) -> bytes:
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerow(map(_cell, cells))
    return written.getvalue().encode(errors="backslashreplace")


def _cell(value: object) -> object:
    """Return *value* without control characters, which a terminal would execute.

    It is quoted if a spreadsheet would read it as a formula (CWE-1236).
    """
    if not isinstance(value, str):
        return value
    shown = escaped(value)
    return f"'{shown}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else shown


FORMS: Final[Mapping[str, OutputFormat]] = {
    "jsonl": OutputFormat(b"", _line),
    "csv": OutputFormat(_row(COLUMNS), _cells),
}


class OrderedRows:
    """Writes the final results of a journal as rows, in the order of the list."""

    def __init__(
        self, journal: Journal, row: Callable[[ItemResult], bytes], out: BinaryIO
    ) -> None:
        self._journal = journal
        self._row = row
        self._out = out
        self._next = 0
        self._changed = asyncio.Event()
        self._ended = False

    def advance(self) -> None:
        """Signal that another result is final."""
        self._changed.set()

    def end(self) -> None:
        """Signal that there are no more results."""
        self._ended = True
        self._changed.set()

    async def follow(self) -> None:
        """Write final results until the end. Raises OSError."""
        ended = False
        while not ended:
            ended = self._ended
            self._changed.clear()
            await asyncio.to_thread(self._write)
            if not ended:
                await self._changed.wait()

    def _write(self) -> None:
        self._out.writelines(map(self._row, self._final()))
        self._out.flush()

    def _final(self) -> Iterator[ItemResult]:
        while self._journal.is_final(self._next):
            result = self._journal.result(self._next)
            self._next += 1
            if result is not None:
                yield result


NO_PREFERENCES: Final = Preferences()


class Rewriting(NamedTuple):
    """What becomes of the references of a document."""

    edits: list[Edit]
    """In order, without overlap."""
    replaced: int
    added: int
    right: int
    """References that already lead to the very copy that they name."""
    kept: int
    """References that stay as they are for another reason."""
    reasons: list[str]
    """Why references stay, of the first of them."""

    @property
    def lines(self) -> Iterator[str]:
        """What was changed, and what was not, for people; nothing without references."""
        if not (self.replaced or self.added or self.right or self.kept):
            return
        changed = [
            *([f"{counted(self.replaced, 'link')} replaced"] if self.replaced else []),
            *([f"{counted(self.added, 'archive link')} added"] if self.added else []),
        ]
        right = f"; {self.right} already {_leads(self.right)}" if self.right else ""
        stay = "stays as it is" if self.kept == 1 else "stay as they are"
        kept = f"; {counted(self.kept, 'reference')} {stay}:" if self.kept else ""
        yield f"{', '.join(changed) or 'no link changed'}{right}{kept}"
        yield from (f"  {reason}" for reason in self.reasons)
        if self.kept > len(self.reasons):
            more = self.kept - len(self.reasons)
            yield f"  and {more} more; --report FILE.html has those with less than was asked"


def _leads(number: int) -> str:
    return "leads to its copy" if number == 1 else "lead to their copies"


def rewriting(
    document: str,
    places: Iterable[ReferencePlace],
    result_of: Callable[[int], ItemResult | None],
    required: Collection[Requirement] = (),
    preferences: Preferences = NO_PREFERENCES,
) -> Rewriting:
    """Return the edits that put better archive links into *document*, and what stays why.

    Only links and their dates change, and only if the copy is as good as asked, and has all
    that is *required*. A link that leads to the very copy it names stays, and one whose archive
    gave no answer, unless the *preferences* exclude that archive.
    """
    changes: list[Edit] = []
    replaced = added = right = kept = 0
    reasons: list[str] = []
    for place in places:
        result = result_of(place.item.position)
        if result is None:
            continue
        if _is_same_copy(result):
            right += 1
        elif reason := _reason_to_keep(document, place, result, required, preferences):
            kept += 1
            if len(reasons) < _MOST_LISTED:
                reasons.append(_listed(result, reason))
        else:
            added += bool(place.before_link)
            replaced += not place.before_link
            memento = result.memento or {}
            copy, captured = str(memento.get("uri") or ""), str(memento.get("datetime") or "")
            changes += link_edits(document, place, copy, captured)
    # At equal positions, the order stays: the link, then its date.
    changes.sort(key=lambda edit: edit.span)
    return Rewriting([*_apart(changes)], replaced, added, right, kept, reasons)


_MOST_LISTED: Final = 10


def _apart(changes: Iterable[Edit]) -> Iterator[Edit]:
    """Yield those of *changes*, which are in order, that do not overlap one before."""
    end = 0
    for edit in changes:
        # A template inside the link of another one: the outer one is not a link.
        if edit.span.start >= end:
            yield edit
            end = edit.span.end


def _listed(result: ItemResult, reason: str) -> str:
    """Return a reference that stays, with the reason if the outcome does not say it."""
    because = "" if reason == result.outcome else f" ({reason})"
    return f"{result.outcome}: {result.item.text}{because}"


def _reason_to_keep(
    document: str,
    place: ReferencePlace,
    result: ItemResult,
    required: Collection[Requirement],
    preferences: Preferences,
) -> str:
    """Return why the reference at *place* stays as it is; empty if it is rewritten."""
    if result.code > 1:
        return result.outcome
    other = (
        _unfit(result, required)
        or _without_place(place, result)
        or _persistent(document, place)
        or _unchecked(result, preferences)
    )
    if result.code == 0:
        return other
    if result.item.doubt:
        return "another date may be meant"
    is_only_distant = not other and preferences == replace(preferences, **_OF_ANY_DISTANCE)
    tolerance = result.sufficient_tolerance if is_only_distant else ""
    way = f"; --tolerance {tolerance} replaces the link" if tolerance else ""
    return f"{result.why}{way}"


_OF_ANY_DISTANCE: Final[Mapping[str, Any]] = {"precision": "any", "direction": "closest"}
"""Preferences that a copy at another time meets."""


def _unfit(result: ItemResult, required: Collection[Requirement]) -> str:
    """Return why the copy of *result* is not linked; empty if it is."""
    memento = result.memento or {}
    if memento.get("status") not in (None, 200):
        # A copy of an error or of a redirect is useless to a reader.
        return f"the copy is one of status {memento['status']}"
    if safe_link(str(memento.get("uri") or "")) is None:
        return "the copy has no address on the web"
    if not meets(result, required):
        return f"its copy is not known to have what --require {' and '.join(required)} demands"
    return ""


def _unchecked(result: ItemResult, preferences: Preferences) -> str:
    """Return why an archive link stays that may well work; empty if it does not stay."""
    archive = result.unchecked_archive
    if archive is None or not preferences.allow(archive):
        return ""
    return f"not checked in {archive}; --distrust {archive} replaces the link"


_PERSISTENT: Final = re.compile(r"\b(?:urn:(?:pwid|duri|tdb)|pwid|duri|tdb):", re.IGNORECASE)


def _persistent(document: str, place: ReferencePlace) -> str:
    """Return that a PWID or duri at *place* stays: a link does not say what it identifies."""
    written = "" if place.link is None else document[slice(*place.link)]
    kept = _PERSISTENT.search(written) is not None
    return "identifiers stay; --to csv names the copy" if kept else ""


def _without_place(place: ReferencePlace, result: ItemResult) -> str:
    """Return why there is no link to replace or to add at *place*; empty if there is."""
    if place.after and not place.item.dates:
        # Nothing says which copy of the page is meant.
        return "no date of access, which --at or --published gives"
    if place.link is not None:
        return ""
    return "no date; --at gives one" if result.is_of_no_time else "no link to replace"


def meets(result: ItemResult, required: Collection[Requirement]) -> bool:
    """Whether the copy is known to be the same page, and to have the quotation, if required.

    What is not known does not meet a requirement. Without a quotation, none is required.
    """
    if "content" in required and not result.is_same_page:
        return False
    return "quote" not in required or not result.item.quote or result.quote == "found"


def _is_same_copy(result: ItemResult) -> bool:
    """Whether the reference already names this copy."""
    named = (result.report or {}).get("archive")
    return (
        result.outcome == "exact"
        and isinstance(named, dict)
        and named.get("value") in ("same", "alias")
    )


_INTERVAL: Final = 10.0
"""Seconds between lines of progress."""
_BETWEEN_NOTES: Final = 30.0
_SHORT_REST: Final = 5.0
"""Seconds that an archive may be waited for without a word."""


class ListProgress(Protocol):
    """Shows the progress of a list; it is called whenever an item is done."""

    def __call__(self) -> None: ...

    def say(self, text: str) -> None:
        """Print *text*, without disturbing what is shown."""
        ...


SecondsLeft = Callable[[], float | None]


def _unknown() -> None:
    """Return no forecast."""


@contextmanager
def show_progress(
    total: int | None, done: int, *, terminal: bool, left: SecondsLeft = _unknown
) -> Iterator[ListProgress]:
    """Show the progress of *total* items (None if not known), of which *done* are done.

    *left* returns the seconds until the end; where it does not know, the rate so far is used.
    """
    if terminal:
        with _bar(total, done, left) as advance:
            yield advance
    else:
        yield ProgressLines(total, done, time.monotonic, left)


@contextmanager
def _bar(total: int | None, done: int, left: SecondsLeft) -> Iterator[ListProgress]:
    # Here, because rich takes long to import, and most commands show no bar.
    from rich.console import (  # noqa: PLC0415
        Console,  # noqa: TID251 -- it shows only our own numbers
    )
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import (  # noqa: PLC0415
        Progress as RichProgress,
    )

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with RichProgress(*columns, console=Console(stderr=True)) as progress:
        yield _Bar(
            progress, progress.add_task("", total=total, completed=done, rate="", left=""), left
        )


class _Bar:
    """Progress as a bar on a terminal."""

    def __init__(self, progress: "RichProgress", task: "TaskID", left: SecondsLeft) -> None:
        self._progress = progress
        self._task = task
        self._left = left
        self._shown = 0.0

    def __call__(self) -> None:
        task = self._progress.tasks[0]
        rate = "" if task.speed is None else f"{task.speed:.1f}/s"
        self._progress.update(self._task, advance=1, rate=rate)
        if time.monotonic() - self._shown >= 1:
            self._shown = time.monotonic()
            seconds = self._left() or task.time_remaining
            words = "" if seconds is None else f"{in_words(seconds)} left"
            self._progress.update(self._task, left=words)

    def say(self, text: str) -> None:
        self._progress.console.print(escaped(text), markup=False, highlight=False)


class ProgressLines:
    """Progress as a line on standard error every few seconds."""

    def __init__(
        self,
        total: int | None,
        done: int,
        clock: Callable[[], float],
        left: SecondsLeft = _unknown,
    ) -> None:
        self._total = total
        self._done = self._at_start = done
        self._clock = clock
        self._left = left
        self._began = self._last = clock()

    def __call__(self) -> None:
        self._done += 1
        now = self._clock()
        if now - self._last >= _INTERVAL:
            self._last = now
            rate = (self._done - self._at_start) / (now - self._began)
            self.say(progress_text(self._done, self._total, rate, self._left()))

    def say(self, text: str) -> None:
        print(escaped(text), file=sys.stderr)  # noqa: T201


class RestNotes:
    """Says which archive a list waits for, and until when: of each, once in half a minute."""

    def __init__(
        self,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.say = say
        self._clock = clock
        self._now = now
        self._quiet: dict[str, float] = {}

    def __call__(self, error: ArchiveError, seconds: float) -> None:
        """Note that *seconds* are waited because of *error*."""
        archive, clock = error.archive, self._clock()
        if seconds < _SHORT_REST or clock < self._quiet.get(archive, clock):
            return
        self._quiet[archive] = clock + _BETWEEN_NOTES
        until = self._now() + timedelta(seconds=seconds)
        self.say(f"waiting for {archive} until {until:%H:%M:%S} UTC: {error.why}")


def progress_text(done: int, total: int | None, rate: float, left: float | None) -> str:
    """Return the progress as text; without *left*, the seconds follow from the rate so far."""
    of = "" if total is None else f" of {total}"
    if left is None and total is not None and rate:
        left = (total - done) / rate
    ending = "" if left is None else f", {in_words(left)} left"
    return f"{done}{of}, {rate:.1f}/s{ending}"


def in_words(seconds: float) -> str:
    """Return *seconds* as a rounded duration for people."""
    for unit, name in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{max(seconds, 0):.0f} s"
