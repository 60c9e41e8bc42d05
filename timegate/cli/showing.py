"""An answer for people: coloured at a terminal, plain and stable where it is piped.

Everything an archive says is foreign text: it goes into `Text`, never into rich's markup, and
without what a terminal would act upon.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from archives.model import Closest
from archives.registry import Registry
from timegate.printing import escaped
from timegate.report import unheard
from timegate.resolution import Resolution
from timegate.verdict import Verdict, header_safe, in_words, location
from timegate.verdict.explanation import Point, Tone
from timegate.web.site.view import AnswerView, ArchiveOutcome, HeldCopy, answer_view

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
