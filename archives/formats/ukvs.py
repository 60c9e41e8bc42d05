"""UKVS, the Unified Key Value Store in which MementoMaps are written.

Headers first, then one record a line: as many words as there are keys and values, and perhaps
an object (oduwsdl/ORS, ukvs.md)::

    !fields {keys: ["surt"], values: ["frequency"]}
    !meta {type: "MementoMap", updated_at: "2018-09-03T13:27:52Z"}
    com,cnn)/*          400+/100
    com,cnn)/profiles/* 0
    com,twitter)/       100 {datetime: {"2014": "20~/10"}}

The tool that makes such files (`mementomap` 0.1.0b2) writes no headers at all.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

import msgspec

from archives.diagnostics import Malformed
from archives.regex_compat import compiled

LONGEST_LINE: Final = 65_536
"""Eight times the longest URL: room for an object behind the longest key."""
MOST_HEADERS: Final = 1_000

Bound = Literal["", "+", "-", "~"]
"""How exact a count is: exactly, at least, at most, about."""

_COUNT: Final = r"[0-9]{1,18}+[+~-]?+"
_FREQUENCY_TEXT: Final = rf"(?:{_COUNT}(?:/(?:{_COUNT})?+)?+|/(?:{_COUNT})?+)"
_FREQUENCY: Final = compiled(_FREQUENCY_TEXT)
_WORD: Final = r"[!-~]++"
_BLANK: Final = r"[ \t]++"
_HEADER: Final = compiled(rb"!([a-z_]++)[ \t]++(.++)")
# Headers are JSON whose names need no quotes; strings are passed over as they are.
_UNQUOTED_NAME: Final = compiled(
    r"""("(?:[^"\\]|\\.)*+")|([A-Za-z_][A-Za-z0-9_]*+)(?=[ \t]*+:)"""
)


class Count(NamedTuple):
    """A number of captures or of pages, and how exact it is."""

    number: int
    bound: Bound = ""


class Frequency(NamedTuple):
    """How much an archive holds of something: ``400+/100``, ``200``, ``/50``, ``/``."""

    mementos: Count | None
    originals: Count | None

    @property
    def nothing(self) -> bool:
        """Whether it says clearly that nothing can be had."""
        count = self.mementos or self.originals
        return count is not None and count.number == 0 and count.bound in ("", "-")

    @property
    def something(self) -> bool:
        """Whether it says that there is something, be it in unknown number."""
        count = self.mementos or self.originals
        return count is None or count.number > 0


class UkvsRecord(NamedTuple):
    """One line. Words are kept as they stand, because there are millions of them."""

    key: bytes
    frequency: bytes
    whole: bool
    """Whether it holds for everything under the key, not only for a year or a status."""


class Header(NamedTuple):
    """What the file says of itself, as far as it matters here."""

    keys: tuple[str, ...] = ("surt",)
    values: tuple[str, ...] = ("frequency",)
    archive: str | None = None
    """The address of the archive it is about."""
    updated: str | None = None


class _Line(NamedTuple):
    number: int
    start: int
    end: int
    text: bytes


def read_frequency(text: str) -> Frequency:
    """Read ``[<captures>][/[<pages>]]``, each with its bound. Raises Malformed."""
    if not _FREQUENCY.fullmatch(text):
        why = "a frequency is written as 400, 400+/100, /100 or /"
        raise Malformed("bad-frequency", why, 0)
    mementos, _, originals = text.partition("/")
    return Frequency(_count(mementos), _count(originals))


def _count(text: str) -> Count | None:
    for bound in ("+", "-", "~"):
        if text.endswith(bound):
            return Count(int(text[:-1]), bound)
    return Count(int(text)) if text else None


class UkvsFile:
    """A file in memory: its header, read at once, and its records, read as they are asked for.

    Raises Malformed; the position is that of the octet, and the line is in the message.
    """

    def __init__(self, octets: bytes) -> None:
        self._octets = octets
        self._start = 0
        self._passed = 0
        self.header = self._read_header()

    def records(self) -> Iterator[UkvsRecord]:
        """Yield every record in the order of the file."""
        record, others = _record_pattern(self.header), len(self.header.keys) - 1
        for line in _lines(self._octets, self._start, self._passed):
            found = record.fullmatch(line.text)
            if found is None:
                raise _unreadable(line, self.header)
            whole = not others or all(word in (b":", b"*", b"-") for word in found[2].split())
            yield UkvsRecord(found[1], found["frequency"], whole)

    def _read_header(self) -> Header:
        header = Header()
        for line in _lines(self._octets, 0, 0):
            if not line.text.startswith(b"!"):
                break
            if line.number > MOST_HEADERS:
                raise _bad(line, "too-many-headers", f"more than {MOST_HEADERS} headers")
            header = _with_line(header, line)
            self._start, self._passed = line.end + 1, line.number
        return header


def _lines(octets: bytes, start: int, passed: int) -> Iterator[_Line]:
    """Yield the lines from *start* on that are not blank; *passed* stand before it."""
    number = passed
    while start < len(octets):
        number += 1
        end = octets.find(b"\n", start, start + LONGEST_LINE + 1)
        if end < 0:
            end = len(octets)
            if end - start > LONGEST_LINE:
                raise Malformed("too-long", f"line {number} is too long", start)
        text = octets[start:end].rstrip(b" \t\r")
        if text:
            yield _Line(number, start, end, text)
        start = end + 1


def _with_line(header: Header, line: _Line) -> Header:
    found = _HEADER.fullmatch(line.text)
    if found is None:
        raise _bad(line, "bad-header", "a header is !name and a value")
    if found[1] not in (b"fields", b"id", b"meta"):
        return header
    told = _object(line, found[2])
    if found[1] == b"fields":
        return header._replace(
            keys=_names(line, told, "keys"), values=_names(line, told, "values")
        )
    if found[1] == b"id":
        return header._replace(archive=_text(told, "uri") or header.archive)
    return header._replace(updated=_text(told, "updated_at") or header.updated)


def _object(line: _Line, octets: bytes) -> Mapping[str, object]:
    try:
        text = _UNQUOTED_NAME.sub(lambda found: found[1] or f'"{found[2]}"', octets.decode())
        told: object = msgspec.json.decode(text)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        raise _bad(line, "bad-header", f"is no object: {error}") from None
    if not isinstance(told, dict):
        raise _bad(line, "bad-header", "is no object")
    return told


def _names(line: _Line, told: Mapping[str, object], name: str) -> tuple[str, ...]:
    listed = told.get(name)
    if isinstance(listed, list) and 0 < len(listed) <= 20:
        names = tuple(each for each in listed if isinstance(each, str))
        if len(names) == len(listed):
            return names
    raise _bad(line, "bad-header", f"{name} is no list of names")


def _text(told: Mapping[str, object], name: str) -> str | None:
    value = told.get(name)
    return value if isinstance(value, str) else None


def _record_pattern(header: Header) -> re.Pattern[bytes]:
    """Key, other keys, values; the frequency where it stands among them; the object."""
    if header.keys[0] != "surt" or "frequency" not in header.values:
        why = "a MementoMap is keyed by surt first, and frequency is among its values"
        raise Malformed("unknown-fields", why, 0)
    others = rf"{_BLANK}{_WORD}" * (len(header.keys) - 1)
    values = [
        rf"{_BLANK}(?P<frequency>{_FREQUENCY_TEXT})"
        if name == "frequency"
        else rf'{_BLANK}(?:"[^"]*+"|{_WORD})'
        for name in header.values
    ]
    pattern = rf"({_WORD})({others}){''.join(values)}(?:{_BLANK}\{{.*+(?<=\}}))?+"
    return compiled(pattern.encode())


def _unreadable(line: _Line, header: Header) -> Malformed:
    if line.text.startswith(b"!"):
        return _bad(line, "late-header", "headers stand before the first record")
    fields = " ".join((*header.keys, *header.values))
    return _bad(line, "bad-record", f"is no record of {fields}")


def _bad(line: _Line, code: str, why: str) -> Malformed:
    return Malformed(code, f"line {line.number}: {why}", line.start)
