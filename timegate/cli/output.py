"""An answer for people: coloured at a terminal, plain and stable where it is piped.

Everything an archive says is foreign text: it goes into `Text`, never into rich's markup, and
without what a terminal would act upon.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, Final

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from archives.model import Closest
from archives.registry import Registry
from timegate.resolution.model import Resolution
from timegate.responses.answer_view import AnswerView, ArchiveOutcome, HeldCopy, answer_view
from timegate.responses.report import unheard
from timegate.text import escaped
from timegate.verdict import Verdict, header_safe, in_words, location
from timegate.verdict.words import Point, Tone

_STYLES: Final[dict[Tone, str]] = {"good": "green", "fair": "yellow", "poor": "red"}
_SYMBOLS: Final[dict[Tone, str]] = {"good": "✔", "fair": "≈", "poor": "✘"}
_PLAIN_SYMBOLS: Final[dict[Tone, str]] = {"good": "+", "fair": "~", "poor": "-"}


def told(resolution: Resolution, judged: Verdict, registry: Registry) -> Iterator[str]:
    """Yield the answer in lines that stay as they are, for pipes."""
    memento = resolution.memento
    if memento is None:
        yield _nothing(resolution)
        if resolution.unasked:
            spared = ", ".join(escaped(one.url) for one in resolution.unasked)
            yield f"not every archive was asked for {spared}"
        yield from _unheard(resolution, registry)
        return
    yield location(resolution, registry) or memento.uri
    yield f"captured {memento.captured}, in {memento.archive}"
    yield in_words(judged)
    for attempt in resolution.alternatives:
        if isinstance(attempt.outcome, Closest):
            copy = attempt.outcome.memento
            yield f"also in {attempt.archive}: {header_safe(copy.uri)}"
    if resolution.failed:
        yield f"no answer from {', '.join(resolution.failed)}"


def _nothing(resolution: Resolution) -> str:
    silent = ", ".join(resolution.failed)
    if silent:
        return f"nothing found; no answer from {silent}"
    return "nothing found" if resolution.attempts else "nothing found: nobody could be asked"


def show(
    asked: str,
    resolution: Resolution,
    judged: Verdict,
    registry: Registry,
    console: Console | None = None,
) -> None:
    """Print the answer at a terminal."""
    view = answer_view(resolution, judged, registry)
    screen = console or Console(highlight=False)
    symbols = _SYMBOLS if screen.encoding.startswith("utf") else _PLAIN_SYMBOLS
    screen.print(Text(asked, "bold"), soft_wrap=True)
    parts = [*_parts(view, symbols), *map(Text, _unheard(resolution, registry))]
    screen.print(Padding(Group(*parts), (0, 0, 1, 2)))


def _unheard(resolution: Resolution, registry: Registry) -> Iterator[str]:
    """Yield why the archive that is named did not say no itself, where nothing was found."""
    written = resolution.query.archive_id
    if resolution.memento is None and written is not None:
        missing = unheard(resolution, registry.by_pwid(written))
        if missing is not None:
            yield escaped(missing)


def _parts(view: AnswerView, symbols: dict[Tone, str]) -> Iterator[RenderableType]:
    yield Text(f"{symbols[view.tone]} {view.headline}", f"bold {_STYLES[view.tone]}")
    if view.copy is not None:
        yield _link(view.copy.uri)
        yield Text(f"captured {view.copy.captured}, in {view.copy.name}")
    yield _points([point for point in view.points if point.tone != "good"], symbols)
    if view.others:
        yield Text("Also in", "dim")
        yield _others(view.others)
    silent = [one for one in view.heard if one.outcome == "unknown"]
    if silent:
        yield Text("Without an answer", "dim")
        yield _silent(silent)


def _link(uri: str) -> Text:
    """Write *uri* so that it can be opened also where it is folded into several lines."""
    safe = header_safe(uri)
    return Text(safe, Style(underline=True, link=safe), overflow="fold")


def _points(points: Sequence[Point], symbols: dict[Tone, str]) -> Table:
    table = _table()
    for point in points:
        symbol = Text(symbols[point.tone], _STYLES[point.tone])
        table.add_row(symbol, Text(point.topic, "dim"), Text(escaped(point.sentence)))
    return table


def _others(others: Sequence[HeldCopy]) -> Table:
    table = _table()
    for one in others:
        table.add_row(Text(one.name), Text(one.distance or one.captured), _link(one.uri))
    return table


def _silent(silent: Sequence[ArchiveOutcome]) -> Table:
    table = _table()
    for one in silent:
        table.add_row(Text(one.name, "magenta"), Text(one.told))
    return table


def _table() -> Table:
    return Table.grid(padding=(0, 2), pad_edge=False)


# 8,192 octets, each written as \u00XX in a JSON string, fit with room to spare.
_LONGEST_LINE: Final = 1 << 17


def inputs(arguments: Sequence[str]) -> Iterator[str]:
    """Yield each argument; for ``-`` each line of standard input."""
    for argument in arguments:
        if argument == "-":
            yield from lines(sys.stdin.buffer)
        else:
            yield argument


def lines(stream: BinaryIO) -> Iterator[str]:
    """Yield the lines of *stream*; one that begins with a quote is a JSON string.

    A line is never held beyond a fixed length: what is longer is cut there, and no identifier
    is that long. Octets that are no UTF-8 become lone surrogates, which every reader refuses.
    """
    while line := stream.readline(_LONGEST_LINE):
        whole = line.endswith(b"\n")
        while not whole and (rest := stream.readline(_LONGEST_LINE)):
            whole = rest.endswith(b"\n")
        text = line.decode(errors="surrogateescape").rstrip("\n").removesuffix("\r")
        yield _unquoted(text) if text.startswith('"') else text


def _unquoted(text: str) -> str:
    """Return the string that *text* is in JSON; *text* itself where it is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text


@contextmanager
def ungrouped(*kinds: type[Exception]) -> Iterator[None]:
    """Raise what went wrong first as it is, where nothing but *kinds* did.

    Not with ``except*``: before Python 3.11.4 it puts a group around what is raised in it
    (gh-103590).
    """
    try:
        yield
    except BaseExceptionGroup as group:
        expected, other = group.split(kinds)
        if expected is None or other is not None:
            raise
        raise first_of(expected) from None


def first_of(error: BaseException) -> BaseException:
    """Return what went wrong first, out of the groups around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
