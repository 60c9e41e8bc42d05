"""Results as text: coloured on a terminal, plain and stable if piped.

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

from archives.model import Closest
from archives.registry import Registry
from timegate.content.findings import QuoteFinding
from timegate.resolution.model import LiveOriginal, Resolution
from timegate.responses.answer_view import (
    AnswerView,
    ArchiveOutcome,
    CopyView,
    QuoteView,
    answer_view,
    by_explanation,
)
from timegate.responses.problems import failure
from timegate.responses.quotes import quote_words
from timegate.responses.referral import missing_named_archive
from timegate.responses.report import referred
from timegate.text import escaped, sentence
from timegate.verdict import Verdict, header_safe, in_words, quoted_location
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


def result_lines(resolution: Resolution, judged: Verdict, registry: Registry) -> Iterator[str]:
    """Yield the result as plain lines with a stable format, for pipes."""
    memento, live = resolution.memento, resolution.live
    if live is not None and live.answers:
        yield from _live_lines(live, judged)
        return
    if memento is None:
        yield from _nothing_lines(resolution, registry)
        return
    yield quoted_location(resolution, registry) or memento.uri
    yield f"captured {memento.captured}, in {memento.archive}"
    yield in_words(judged)
    if resolution.quote is not None:
        yield from quote_lines(resolution.quote, registry)
    for attempt in resolution.alternatives:
        if isinstance(attempt.outcome, Closest):
            copy = attempt.outcome.memento
            yield f"also in {attempt.archive}: {header_safe(copy.uri)}"
    if resolution.failed:
        yield f"no answer from {', '.join(resolution.failed)}"
    yield from _named_archive(resolution, registry)
    yield from _referral(resolution, registry)


def _nothing_lines(resolution: Resolution, registry: Registry) -> Iterator[str]:
    yield _nothing(resolution)
    lacking = failure(resolution, registry)
    if lacking.kind == "no-network":
        yield f"{lacking.title}: {lacking.detail}"
        yield lacking.next_step
    if resolution.unasked:
        urls = ", ".join(escaped(variant.url) for variant in resolution.unasked)
        yield f"not every archive was queried for {urls}"
    yield from _named_archive(resolution, registry)
    yield from _referral(resolution, registry)


def _live_lines(live: LiveOriginal, judged: Verdict) -> Iterator[str]:
    yield header_safe(live.url)
    yield f"the original, requested {live.requested}; it is no memento"
    yield in_words(judged)


def quote_lines(found: QuoteFinding, registry: Registry) -> Iterator[str]:
    """Yield whether the copy has the quotation, and the passage."""
    yield f"quote {found.status}: {escaped(quote_words(found, registry))}"
    holder = found.holder
    if holder is not None and holder is not found.copies[0]:
        yield f"  {header_safe(holder.address())}"
    if holder is not None and holder.status == "near":
        yield f"  passage: {escaped(' '.join(holder.passage.split()))}"


def _nothing(resolution: Resolution) -> str:
    failed = ", ".join(resolution.failed)
    if failed:
        return f"nothing found; no answer from {failed}"
    if resolution.attempts:
        return "nothing found"
    return "nothing found: no archive could be queried"


def show(
    identifier: str,
    resolution: Resolution,
    judged: Verdict,
    registry: Registry,
    console: Console | None = None,
) -> None:
    """Print the result on a terminal."""
    view = answer_view(resolution, judged, registry)
    screen = console or Terminal(highlight=False)
    symbols = _SYMBOLS if screen.encoding.startswith("utf") else _PLAIN_SYMBOLS
    screen.print(Text(identifier, "bold"), soft_wrap=True)
    named = () if view.copy is None else _named_archive(resolution, registry)
    notes = (*named, *_referral(resolution, registry))
    parts = [*_parts(view, symbols), *(Text(note, overflow="fold") for note in notes)]
    screen.print(Padding(Group(*parts), (0, 0, 1, 2)))


def _named_archive(resolution: Resolution, registry: Registry) -> Iterator[str]:
    """Yield why the archive in the identifier gave no answer."""
    if resolution.memento is None or resolution.unqueried is not None:
        reason = missing_named_archive(resolution, registry)
        if reason is not None:
            yield escaped(reason)


def _referral(resolution: Resolution, registry: Registry) -> Iterator[str]:
    """Yield the unchecked link to the archive in the identifier, and what one can do."""
    unchecked = referred(resolution, registry)
    if unchecked is not None:
        if unchecked.uri is not None:
            yield f"unchecked link: {unchecked.uri}"
        # For archives that are read on site, the reason contains the advice.
        if unchecked.advice and unchecked.cause != "on-site":
            yield escaped(unchecked.advice)


def _parts(view: AnswerView, symbols: dict[Tone, str]) -> Iterator[RenderableType]:
    yield Text(f"{symbols[view.tone]} {view.headline}", f"bold {_STYLES[view.tone]}")
    if view.copy is not None:
        yield _link(view.copy.uri)
        yield Text(f"captured {view.copy.captured}, in {view.copy.name}")
        yield _points([point for point in view.points if point.tone != "good"], symbols)
    elif view.live:
        yield _link(view.live)
        yield Text(sentence(view.words))
    else:
        step = "" if view.referral else view.next_step
        yield Text(f"{sentence(view.words)} {step}".rstrip())
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
