"""The entries of a BibTeX file: their fields, with macros put in and pieces put together.

The scanner is our own because places are what counts, which bibtexparser does not keep. An
entry ends where the next line that begins with ``@`` starts, at the latest: so one brace too
few spoils one entry and not the rest, and the scan stays linear.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from archives.possessive import compiled
from timegate.bulk.place import TextSpan

_START: Final = re.compile(r"^[ \t]{0,64}@([A-Za-z]{1,64})[ \t\r\n]{0,64}[{(]", re.MULTILINE)
_NEXT: Final = compiled(r"[\s,]*+[})][ \t]*+@([A-Za-z]{1,64})[ \t\r\n]{0,64}[{(]")
_FIELD: Final = compiled(r"[\s,]*+([A-Za-z][A-Za-z0-9_:.+-]*+)\s*+=\s*+")
_KEY: Final = compiled(r"[^,=\"{}]*+,")
_BARE: Final = compiled(r"[^\s,{}\"#]++")
_JOIN: Final = compiled(r"\s*+#\s*+")
_TURN: Final = re.compile(r"[{}\"]")
_NOT_READ: Final = ("comment", "preamble")
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
)
_MOST_FIELDS: Final = 1000
_LONGEST_MACRO: Final = 2048
_LONGEST: Final = 8192
"""Characters of a value that was put together: macros of macros could grow without end."""

Macros = Mapping[str, str]


class Value(NamedTuple):
    """What a field says."""

    text: str
    span: TextSpan | None
    """Where the text stands in the file; None where it was put together."""
    trouble: str = ""
    """Why it could not be read; empty where it could."""


EntryFields = dict[str, Value]


def entries(text: str) -> Iterator[EntryFields]:
    """Yield the fields of every entry, in order; of equal names the first counts."""
    starts = [*_START.finditer(text)]
    ends = [*(match.start() for match in starts[1:]), len(text)]
    macros: dict[str, str] = {}
    for start, end in zip(starts, ends, strict=False):
        opening: re.Match[str] | None = start
        while opening is not None and opening[1].lower() not in _NOT_READ:
            fields, at = _fields(text, opening.end(), end, macros)
            if opening[1].lower() == "string":
                macros |= {
                    name: value.text
                    for name, value in fields.items()
                    if not value.trouble and len(value.text) <= _LONGEST_MACRO
                }
            else:
                yield fields
            # Another one in the same line.
            opening = _NEXT.match(text, at, end)


def _fields(text: str, start: int, end: int, macros: Macros) -> tuple[EntryFields, int]:
    """Return the fields of the entry that is opened before *start*, and where they end."""
    fields: EntryFields = {}
    key = _KEY.match(text, start, end)
    at = key.end() if key else start
    while len(fields) < _MOST_FIELDS and (match := _FIELD.match(text, at, end)):
        value, at = _value(text, match.end(), end, macros)
        fields.setdefault(match[1].lower(), value)
    return fields, at


def _value(text: str, start: int, end: int, macros: Macros) -> tuple[Value, int]:
    """Return the value, whose pieces have ``#`` between them, and where it ends."""
    value, at = _piece(text, start, end, macros)
    while join := _JOIN.match(text, at, end):
        piece, at = _piece(text, join.end(), end, macros)
        value = _joined(value, piece)
    return value, at


def _joined(one: Value, other: Value) -> Value:
    trouble = one.trouble or other.trouble
    if len(one.text) + len(other.text) > _LONGEST:
        return Value("", None, trouble or f"more than {_LONGEST} characters, put together")
    return Value(one.text + other.text, None, trouble)


def _piece(text: str, start: int, end: int, macros: Macros) -> tuple[Value, int]:
    """Return one piece without its braces or quotes, and where it ends with them."""
    opening = text[start : start + 1]
    if opening in ("{", '"'):
        closing = _balanced(text, start + 1, end, "}" if opening == "{" else '"')
        return Value(text[start + 1 : closing], TextSpan(start + 1, closing)), closing + 1
    bare = _BARE.match(text, start, end)
    stop = bare.end() if bare else start
    return _named(text[start:stop], TextSpan(start, stop), macros), stop


def _named(word: str, span: TextSpan, macros: Macros) -> Value:
    """Return what *word* stands for: a number for itself, a month too, else a macro."""
    known = macros.get(word.lower())
    if known is not None:
        return Value(known, None)
    # A URL without braces is no BibTeX, and what somebody meant.
    if not word or word[0].isdigit() or "://" in word or word.lower() in _MONTHS:
        return Value(word, span)
    return Value(word, span, f"the macro {word[:64]} is not defined before it, or too long")


def _balanced(text: str, start: int, end: int, closing: str) -> int:
    """Return where the *closing* of the same depth is; *end* where it is missing."""
    depth = 0
    for match in _TURN.finditer(text, start, end):
        if match[0] == closing and depth == 0:
            return match.start()
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
    return end
