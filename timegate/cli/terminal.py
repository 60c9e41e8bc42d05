"""Results on a terminal, with colours; `cli.plain_result` has them as plain lines.

Rich's markup is never used. It is imported only by commands that show results.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.console import (
    Console,  # noqa: TID251 -- the one place
    ConsoleOptions,
    Group,
    RenderableType,
)
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from archives.registry import Registry
from timegate.cli.network import here
from timegate.cli.plain_result import named_archive, referral
from timegate.resolution.model import Resolution
from timegate.responses.answer_view import (
    AnswerView,
    ArchiveOutcome,
    CopyView,
    QuoteView,
    answer_view,
    by_explanation,
)
from timegate.text import escaped, sentence
from timegate.verdict import Verdict, header_safe
from timegate.verdict.words import Point, Tone


class Terminal(Console):
    """Rich's console, which writes unprintable characters of texts as escapes."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments of *renderable*; only rich's own control codes are kept."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                shown = "\n".join(map(escaped, segment.text.split("\n")))
                yield Segment(shown, segment.style)


_STYLES: Final[dict[Tone, str]] = {"good": "green", "fair": "yellow", "poor": "red"}
_SYMBOLS: Final[dict[Tone, str]] = {"good": "✔", "fair": "≈", "poor": "✘"}
_PLAIN_SYMBOLS: Final[dict[Tone, str]] = {"good": "+", "fair": "~", "poor": "-"}


def show(  # noqa: PLR0913 -- what is shown, and where
    identifier: str,
    resolution: Resolution,
    judged: Verdict,
    registry: Registry,
    console: Console | None = None,
    *,
    doubt: str = "",
) -> None:
    """Print the result on a terminal; *doubt*: its headline, if there is one."""
    view = answer_view(resolution, judged, registry).doubted(doubt)
    screen = console or Terminal(highlight=False)
    symbols = _SYMBOLS if screen.encoding.startswith("utf") else _PLAIN_SYMBOLS
    screen.print(Text(identifier, "bold"), soft_wrap=True)
    named = () if view.copy is None else named_archive(resolution, registry)
    notes = (*named, *referral(resolution, registry))
    parts = [*_parts(view, symbols), *(Text(note, overflow="fold") for note in notes)]
    screen.print(Padding(Group(*parts), (0, 0, 1, 2)))


def _parts(view: AnswerView, symbols: dict[Tone, str]) -> Iterator[RenderableType]:
    yield Text(f"{symbols[view.tone]} {here(view.headline)}", f"bold {_STYLES[view.tone]}")
    if view.copy is not None:
        yield _link(view.copy.uri)
        yield Text(f"captured {view.copy.captured}, in {view.copy.name}")
        yield _points([point for point in view.points if point.tone != "good"], symbols)
    elif view.live:
        yield _link(view.live)
        yield Text(sentence(view.words))
    else:
        step = "" if view.referral else view.next_step
        yield Text(f"{sentence(view.words)} {here(step)}".rstrip())
    if view.quote is not None:
        yield _quote(view.quote, symbols)
    if view.others:
        yield Text("Also in", "dim")
        yield _others(view.others)
    failed = [archive for archive in view.outcomes if archive.outcome == "unknown"]
    if failed and not view.is_offline:
        yield Text("No answer from", "dim")
        yield _failed(failed)


def _link(uri: str) -> Text:
    """Return *uri* as a link, which works even if it is folded into several lines."""
    safe = header_safe(uri)
    return Text(safe, Style(underline=True, link=safe), overflow="fold")


def _points(points: Sequence[Point], symbols: dict[Tone, str]) -> Table:
    table = _table()
    for point in points:
        symbol = Text(symbols[point.tone], _STYLES[point.tone])
        table.add_row(symbol, Text(point.topic, "dim"), Text(escaped(point.sentence)))
    return table


def _quote(quote: QuoteView, symbols: dict[Tone, str]) -> Table:
    table = _table()
    symbol = Text(symbols[quote.tone], _STYLES[quote.tone])
    table.add_row(symbol, Text("Quotation", "dim"), Text(escaped(quote.words)))
    if quote.status == "near":
        table.add_row("", Text("Passage", "dim"), Text(escaped(quote.passage)))
    if quote.status == "elsewhere":
        table.add_row("", "", _link(quote.uri))
    return table


def _others(others: Sequence[CopyView]) -> Table:
    table = _table()
    for copy in others:
        table.add_row(Text(copy.name), Text(copy.distance or copy.captured), _link(copy.uri))
    return table


def _failed(archives: Sequence[ArchiveOutcome]) -> Table:
    table = _table()
    for explanation, names in by_explanation(archives):
        table.add_row(Text(names, "magenta"), Text(explanation))
    return table


def _table() -> Table:
    return Table.grid(padding=(0, 2), pad_edge=False)
