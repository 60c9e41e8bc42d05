"""Input and output that commands share: lines of text, lines of input, errors.

Results are coloured on a terminal, and plain and stable if piped. Text from archives, files and
arguments is untrusted: control characters in it would be executed by a terminal, or hide and
reorder text. So commands write only with `echo`, and with `Terminal` of `timegate.cli`, which
write such characters as escapes; the linter bans click's and rich's own.
"""

import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import BinaryIO, Final, NamedTuple, TextIO

import click

from timegate.text import escaped

TYPED: Final = "timegate.typed"
"""Where the context of a command has the words after ``timegate``."""


def typed_with(*more: str) -> str:
    """Return the command line of this command, with *more* after its options.

    After ``--``, a word is an ID even if it looks like an option.
    """
    words: tuple[str, ...] = click.get_current_context().meta.get(TYPED, ())
    end = words.index("--") if "--" in words else len(words)
    added = [word for word in more if word not in words[:end]]
    return shlex.join(["timegate", *words[:end], *added, *words[end:]])


def typed_changed(values: Mapping[str, str]) -> str:
    """Return the command line of this command, with other *values* for options."""
    words = list(click.get_current_context().meta.get(TYPED, ()))
    for option, value in values.items():
        named = [word.partition("=")[0] for word in words]
        if option not in named:
            end = words.index("--") if "--" in words else len(words)
            words[end:end] = [option, value]
            continue
        at = named.index(option)
        if words[at] == option:
            words[at + 1 : at + 2] = [value]
        else:
            words[at] = f"{option}={value}"
    return shlex.join(["timegate", *words])


def typed_without(arguments: Sequence[str]) -> str:
    """Return the command line of this command, without its *arguments*: with its options."""
    words = [*click.get_current_context().meta.get(TYPED, ())]
    for argument in arguments:
        # Arguments stand behind options, whose values may be the same word.
        last = len(words) - 1 - words[::-1].index(argument)
        del words[last]
    return shlex.join(["timegate", *(word for word in words if word != "--")])


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


class ProgressLine:
    """A line on standard error that is replaced while a command waits, and then removed.

    There is none if standard error is not a terminal that can move its cursor.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self.is_visible = self._stream.isatty() and os.environ.get("TERM") != "dumb"

    def show(self, text: str) -> None:
        """Replace the line with *text*, cut to the width of the terminal."""
        from shutil import get_terminal_size  # noqa: PLC0415 -- few commands show progress

        width = max(get_terminal_size().columns - 1, 1)
        self._write(escaped(text)[:width])

    def clear(self) -> None:
        """Remove the line."""
        self._write("")

    def _write(self, text: str) -> None:
        if self.is_visible:
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()


def waiting_words(answered: int, waiting: Sequence[str]) -> str:
    """Return how many archives have answered, and the names of the first that have not."""
    total = answered + len(waiting)
    noun = "archive has" if total == 1 else "archives have"
    more = f" and {len(waiting) - 3} more" if len(waiting) > 3 else ""
    names = f", waiting for {', '.join(waiting[:3])}{more}" if waiting else ""
    return f"{answered} of {total} {noun} answered{names}"


@contextmanager
def printable_errors() -> Iterator[None]:
    """Write unprintable characters in the messages of click's errors as escapes."""
    try:
        yield
    except click.ClickException as error:
        vars(error)["message"] = "\n".join(map(escaped, error.message.split("\n")))
        raise


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
