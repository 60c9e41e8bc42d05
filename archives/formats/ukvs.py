"""UKVS, the Unified Key Value Store in which MementoMaps are written.

Headers come first, then one record on each line: a word for each key and value, and optionally
an object (oduwsdl/ORS, ukvs.md)::

    !fields {keys: ["surt"], values: ["frequency"]}
    !meta {type: "MementoMap", updated_at: "2018-09-03T13:27:52Z"}
    com,cnn)/*          400+/100
    com,cnn)/profiles/* 0
    com,twitter)/       100 {datetime: {"2014": "20~/10"}}

The tool that writes such files (`mementomap` 0.1.0b2) writes no headers.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

import msgspec

from archives.diagnostics import Malformed
from archives.regex_compat import compiled

LONGEST_LINE: Final = 65_536
"""Eight times the longest URL: room for an object after the longest key."""
MOST_HEADERS: Final = 1_000

Bound = Literal["", "+", "-", "~"]
"""How exact a count is: exactly, at least, at most, about."""

_COUNT: Final = r"[0-9]{1,18}+[+~-]?+"
_FREQUENCY_TEXT: Final = rf"(?:{_COUNT}(?:/(?:{_COUNT})?+)?+|/(?:{_COUNT})?+)"
_FREQUENCY: Final = compiled(_FREQUENCY_TEXT)
_WORD: Final = r"[!-~]++"
_BLANK: Final = r"[ \t]++"
_HEADER: Final = compiled(rb"!([a-z_]++)[ \t]++(.++)")
# Headers are JSON whose names need no quotes; strings are matched to be left unchanged.
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
        """Whether the count is zero, exactly or at most."""
        count = self.mementos or self.originals
        return count is not None and count.number == 0 and count.bound in ("", "-")

    @property
    def something(self) -> bool:
        """Whether there are captures, perhaps in unknown number."""
        count = self.mementos or self.originals
        return count is None or count.number > 0


class UkvsRecord(NamedTuple):
    """One line. Its words are not decoded, because there are millions of them."""

    key: bytes
    frequency: bytes
    whole: bool
    """Whether it applies to everything under the key, not only to a year or a status."""


class Header(NamedTuple):
    """The headers of a file that are used here."""

    keys: tuple[str, ...] = ("surt",)
    values: tuple[str, ...] = ("frequency",)
    archive: str | None = None
    """The address of the archive that the file describes."""
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
    """A file in memory: its header, which is read at once, and its records, read on demand.

    Raises Malformed; the position is that of the octet, and the message has the line number.
    """

    def __init__(self, octets: bytes) -> None:
        self._octets = octets
        self._start = 0
        self._header_lines = 0
        self.header = self._read_header()

    def records(self) -> Iterator[UkvsRecord]:
        """Yield every record in the order of the file."""
        record, others = _record_pattern(self.header), len(self.header.keys) - 1
        for line in _lines(self._octets, self._start, self._header_lines):
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
            self._start, self._header_lines = line.end + 1, line.number
        return header


def _lines(octets: bytes, start: int, before: int) -> Iterator[_Line]:
    """Yield the lines from *start* on that are not blank; *before* lines precede it."""
    number = before
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
    members = _object(line, found[2])
    if found[1] == b"fields":
        return header._replace(
            keys=_names(line, members, "keys"), values=_names(line, members, "values")
        )
    if found[1] == b"id":
        return header._replace(archive=_text(members, "uri") or header.archive)
    return header._replace(updated=_text(members, "updated_at") or header.updated)


def _object(line: _Line, octets: bytes) -> Mapping[str, object]:
    try:
        text = _UNQUOTED_NAME.sub(lambda found: found[1] or f'"{found[2]}"', octets.decode())
        value: object = msgspec.json.decode(text)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        raise _bad(line, "bad-header", f"is not an object: {error}") from None
    if not isinstance(value, dict):
        raise _bad(line, "bad-header", "is not an object")
    return value


def _names(line: _Line, members: Mapping[str, object], name: str) -> tuple[str, ...]:
    listed = members.get(name)
    if isinstance(listed, list) and 0 < len(listed) <= 20:
        names = tuple(each for each in listed if isinstance(each, str))
        if len(names) == len(listed):
            return names
    raise _bad(line, "bad-header", f"{name} is not a list of names")


def _text(members: Mapping[str, object], name: str) -> str | None:
    value = members.get(name)
    return value if isinstance(value, str) else None


def _record_pattern(header: Header) -> re.Pattern[bytes]:
    """Return the pattern of a record: key, other keys, values with the frequency, object."""
    if header.keys[0] != "surt" or "frequency" not in header.values:
        why = "the first key of a MementoMap must be surt, and its values must have frequency"
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
        return _bad(line, "late-header", "headers must come before the first record")
    fields = " ".join((*header.keys, *header.values))
    return _bad(line, "bad-record", f"is not a record of {fields}")


def _bad(line: _Line, code: str, why: str) -> Malformed:
    return Malformed(code, f"line {line.number}: {why}", line.start)
