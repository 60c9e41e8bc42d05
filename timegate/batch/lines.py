"""Readers of plain lists: text lines, CSV tables, JSON and lines of JSON.

All but JSON are read as a stream, so that a list may be larger than memory.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import BinaryIO, Final, NamedTuple

from timegate.batch.model import BadInput, Item

_NAMES: Final = ("identifier", "url", "uri", "link", "href", "id")
_DATES: Final = ("dates", "date", "datetime", "timestamp", "accessed", "issued")
_ALSO: Final = "also"
_EXPECTED: Final = "expected a list of URLs, or of objects with url and date"


def read_json(text: str) -> Iterator[Item]:
    """Yield the items of a JSON document: a list, or an object with a list. Raises BadInput."""
    if not text.strip("\ufeff \t\r\n"):
        return
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        hint = "; if each line is a value of its own, call the file .jsonl"
        raise BadInput(f"not JSON: {error.msg} in line {error.lineno}{hint}") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"the JSON cannot be read: {error}") from error
    for position, member in enumerate(_listed(value)):
        yield item_of(position, member)


def item_of(position: int, value: object) -> Item:
    """Return the item that the JSON *value* describes."""
    if isinstance(value, str):
        return Item(position, value, (value,))
    text = json.dumps(value)
    if not isinstance(value, dict):
        return Item(position, text, (text,))
    members = _members(value)
    references = tuple(_references(members))
    dates = tuple(date for name in _DATES for date in _dates(members.get(name)))
    also = members.get(_ALSO)
    return Item(
        position,
        references[0] if references else text,
        references or (text,),
        dates,
        also=tuple(_strings(also if isinstance(also, list) else [also])),
    )


def _listed(value: object) -> Sequence[object]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        if next(_references(_members(value)), None) is not None:
            return [value]
        lists = [member for member in value.values() if isinstance(member, list)]
        if len(lists) == 1:
            return lists[0]
        raise BadInput(f"an object with {len(lists) or 'no'} lists instead of one; {_EXPECTED}")
    raise BadInput(f"not a list; {_EXPECTED}")


def _members(value: Mapping[str, object]) -> dict[str, object]:
    # CSL-JSON writes URL in capitals.
    return {name.lower(): member for name, member in value.items()}


def _references(members: Mapping[str, object]) -> Iterator[str]:
    """Yield the references; ``id`` comes first if it looks like an identifier."""
    found = {name: text for name in _NAMES for text in _strings([members.get(name)])}
    if ":" in found.get("id", ""):
        yield found.pop("id")
    yield from found.values()


def _dates(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        # CSL-JSON 1.0: {"date-parts": [[2016, 1, 22]]}
        parts = value.get("date-parts")
        first = parts[0] if isinstance(parts, list) and parts else None
        yield from _calendar_date(first)
    else:
        yield from _strings(value if isinstance(value, list) else [value])


def _calendar_date(parts: object) -> Iterator[str]:
    numbers = [*_strings(parts)] if isinstance(parts, list) else []
    if numbers:
        yield "-".join(number.zfill(2) for number in numbers[:3])


def _strings(values: Sequence[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str) and value.strip():
            yield value.strip()
        elif isinstance(value, int) and not isinstance(value, bool):
            # A year or a timestamp without quotes.
            yield str(value)


# An identifier has up to 8,192 octets; each may be written as \u00XX in a JSON string.
_LONGEST_LINE: Final = 1 << 17


def text_lines(stream: BinaryIO) -> Iterator[str]:
    """Yield the lines of *stream* without line ends, cut at a maximum length.

    Octets that are not UTF-8 become lone surrogates, which `parse` rejects.
    """
    first = True
    while line := stream.readline(_LONGEST_LINE):
        whole = line.endswith(b"\n")
        while not whole and (rest := stream.readline(_LONGEST_LINE)):
            whole = rest.endswith(b"\n")
        text = line.decode(errors="surrogateescape").rstrip("\r\n")
        yield text.removeprefix("\ufeff") if first else text
        first = False


def read_plain(stream: BinaryIO) -> Iterator[Item]:
    """Yield an item for each line: an identifier, or a URL, a space and a date.

    Empty lines and lines that begin with ``#`` are skipped.
    """
    position = 0
    for line in text_lines(stream):
        words = line.split(maxsplit=1)
        if words and not words[0].startswith("#"):
            yield Item(position, line.strip(), (words[0],), tuple(w.strip() for w in words[1:]))
            position += 1


def read_jsonl(stream: BinaryIO) -> Iterator[Item]:
    """Yield an item for each line: a JSON string, or an object with ``url`` and ``dates``.

    Any other line is an item too, and is reported as refused.
    """
    position = 0
    for line in text_lines(stream):
        if line.strip():
            yield _item(position, line.strip())
            position += 1


def _item(position: int, line: str) -> Item:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return Item(position, line, (line,))
    return item_of(position, value)


_SAMPLE: Final = 20
_DELIMITERS: Final = ",;\t"
_REFERENCE_HEADINGS: Final = ("url", "uri", "link", "href", "identifier", "reference")
_DATE_HEADINGS: Final = ("date", "datetime", "timestamp", "access-date", "urldate")


class Columns(NamedTuple):
    """The columns to read, by name or number; those not given are detected."""

    reference: str | None = None
    dates: tuple[str, ...] = ()


def read_table(
    stream: BinaryIO, columns: Columns, is_reference: Callable[[str], bool]
) -> Iterator[Item]:
    """Yield an item for each row that has a reference. Raises BadInput."""
    try:
        yield from _items(stream, columns, is_reference)
    except csv.Error as error:
        raise BadInput(f"not a CSV table: {error}; is a quotation mark missing?") from error


def _items(
    stream: BinaryIO, columns: Columns, is_reference: Callable[[str], bool]
) -> Iterator[Item]:
    lines = text_lines(stream)
    first = next(lines, "")
    delimiter = max(_DELIMITERS, key=first.count)
    rows = csv.reader((f"{line}\n" for line in chain([first], lines)), delimiter=delimiter)
    sample = list(islice(rows, _SAMPLE))
    has_no_heading = columns.reference is None and any(map(is_reference, sample[0]))
    headings = [] if has_no_heading else [cell.strip().lower() for cell in sample[0]]
    body = sample if has_no_heading else sample[1:]
    place = _reference_column(columns.reference, headings, body, is_reference)
    dates = _date_columns(columns.dates, headings)
    also = [column for column, name in enumerate(headings) if name == _ALSO]
    position = 0
    for row in chain(body, rows):
        reference = _cell(row, place)
        if reference:
            written = (_cell(row, column) for column in dates)
            yield Item(
                position,
                reference,
                (reference,),
                tuple(filter(None, written)),
                also=tuple(url for column in also for url in _cell(row, column).split()),
            )
            position += 1


def _cell(row: Sequence[str], column: int) -> str:
    return row[column].strip() if column < len(row) else ""


def _reference_column(
    wanted: str | None,
    headings: Sequence[str],
    body: Sequence[Sequence[str]],
    is_reference: Callable[[str], bool],
) -> int:
    if wanted is not None:
        return _column(wanted, headings)
    width = max(map(len, body), default=0)
    for column in range(width):
        if headings[column : column + 1] == [_ALSO]:
            continue
        cells = [cell for row in body if (cell := _cell(row, column))]
        # Half of them is enough: a faulty reference should be reported, not hide the column.
        if cells and sum(map(is_reference, cells)) * 2 >= len(cells):
            return column
    named = [headings.index(name) for name in _REFERENCE_HEADINGS if name in headings]
    if named or not body:
        return named[0] if named else 0
    raise BadInput("no column contains URLs or identifiers; name it with --column")


def _date_columns(wanted: Sequence[str], headings: Sequence[str]) -> list[int]:
    if wanted:
        return [_column(name, headings) for name in wanted]
    return [headings.index(name) for name in _DATE_HEADINGS if name in headings]


def _column(name: str, headings: Sequence[str]) -> int:
    """Return the index of the column called *name*, or with that number, from 1."""
    if name.strip().lower() in headings:
        return headings.index(name.strip().lower())
    if name.isascii() and name.isdecimal() and 0 < int(name[:6]) <= 1000:
        return int(name) - 1
    raise BadInput(f"there is no column {name!r}; the columns are {', '.join(headings)}")
