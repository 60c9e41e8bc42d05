"""Input and output that commands share: results as text, lines of input, errors.

Results are coloured on a terminal, and plain and stable if piped. Text from archives, files and
arguments is untrusted: control characters in it would be executed by a terminal, or hide and
reorder text. So commands write only with `echo` and `Terminal`, which write such characters as
escapes; the linter bans click's and rich's own. Rich's markup is never used.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, Final, NamedTuple

import click
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
from timegate.resolution.model import Resolution
from timegate.responses.answer_view import AnswerView, ArchiveOutcome, CopyView, answer_view
from timegate.responses.referral import missing_named_archive
from timegate.responses.report import referred
from timegate.text import escaped
from timegate.verdict import Verdict, header_safe, in_words, location
from timegate.verdict.words import Point, Tone


class Styled(NamedTuple):
    """Words in a colour."""

    text: str
    colour: str
    bold: bool = False


Line = str | tuple[str | Styled, ...]


def echo(*parts: str | Styled, err: bool = False) -> None:
    """Print one line; unprintable characters, line breaks too, are written as escapes."""
    click.echo("".join(map(_coloured, parts)), err=err)  # noqa: TID251 -- the one place


def _coloured(part: str | Styled) -> str:
    if isinstance(part, str):
        return escaped(part)
    return click.style(escaped(part.text), part.colour, bold=part.bold or None)


def echo_lines(lines: Iterable[Line], *, err: bool = False) -> None:
    """Print *lines*."""
    for line in lines:
        echo(*((line,) if isinstance(line, str) else line), err=err)


def echo_text(text: str, *, err: bool = False) -> None:
    """Print a text of several lines, whose line breaks are our own."""
    echo_lines(text.split("\n"), err=err)


def write_document(octets: bytes) -> None:
    """Write a part of a document, such as a TimeMap, whose format escapes foreign text."""
    click.echo(octets, nl=False)  # noqa: TID251 -- the one place


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


@contextmanager
def printable_errors() -> Iterator[None]:
    """Write unprintable characters in the messages of click's errors as escapes."""
    try:
        yield
    except click.ClickException as error:
        vars(error)["message"] = "\n".join(map(escaped, error.message.split("\n")))
        raise


_STYLES: Final[dict[Tone, str]] = {"good": "green", "fair": "yellow", "poor": "red"}
_SYMBOLS: Final[dict[Tone, str]] = {"good": "✔", "fair": "≈", "poor": "✘"}
_PLAIN_SYMBOLS: Final[dict[Tone, str]] = {"good": "+", "fair": "~", "poor": "-"}


def result_lines(resolution: Resolution, judged: Verdict, registry: Registry) -> Iterator[str]:
    """Yield the result as plain lines with a stable format, for pipes."""
    memento = resolution.memento
    if memento is None:
        yield _nothing(resolution)
        if resolution.unasked:
            urls = ", ".join(escaped(variant.url) for variant in resolution.unasked)
            yield f"not every archive was queried for {urls}"
        yield from _named_archive(resolution, registry)
        yield from _referral(resolution, registry)
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
    yield from _named_archive(resolution, registry)
    yield from _referral(resolution, registry)


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
    notes = (*_named_archive(resolution, registry), *_referral(resolution, registry))
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
    if view.others:
        yield Text("Also in", "dim")
        yield _others(view.others)
    failed = [archive for archive in view.outcomes if archive.outcome == "unknown"]
    if failed:
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


def _others(others: Sequence[CopyView]) -> Table:
    table = _table()
    for copy in others:
        table.add_row(Text(copy.name), Text(copy.distance or copy.captured), _link(copy.uri))
    return table


def _failed(archives: Sequence[ArchiveOutcome]) -> Table:
    table = _table()
    for archive in archives:
        table.add_row(Text(archive.name, "magenta"), Text(archive.explanation))
    return table


def _table() -> Table:
    return Table.grid(padding=(0, 2), pad_edge=False)


_LONGEST_LINE: Final = 1 << 17
"""Bytes: more than 8,192 bytes that are all written as \\u00XX in a JSON string."""


def inputs(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments; ``-`` stands for the lines of standard input."""
    for argument in arguments:
        if argument == "-":
            yield from lines(sys.stdin.buffer)
        else:
            yield argument


def lines(stream: BinaryIO) -> Iterator[str]:
    """Yield the lines of *stream*; a line that begins with a quote is a JSON string.

    Lines are cut at a fixed length, which no identifier reaches. Bytes that are not UTF-8
    become lone surrogates, which every parser of identifiers rejects.
    """
    while line := stream.readline(_LONGEST_LINE):
        whole = line.endswith(b"\n")
        while not whole and (rest := stream.readline(_LONGEST_LINE)):
            whole = rest.endswith(b"\n")
        text = line.decode(errors="surrogateescape").rstrip("\n").removesuffix("\r")
        yield _unquoted(text) if text.startswith('"') else text


def _unquoted(text: str) -> str:
    """Return the value of the JSON string *text*; *text* itself if it is not one."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text


@contextmanager
def ungrouped(*kinds: type[Exception]) -> Iterator[None]:
    """Raise the first error without its group if the group contains only *kinds*.

    This does not use ``except*``, which before Python 3.11.4 puts a group around the errors
    that are raised in it (gh-103590).
    """
    try:
        yield
    except BaseExceptionGroup as group:
        expected, other = group.split(kinds)
        if expected is None or other is not None:
            raise
        raise first_of(expected) from None


def first_of(error: BaseException) -> BaseException:
    """Return the first error in nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
