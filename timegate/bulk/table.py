"""Lists in a table: CSV with commas, semicolons or tabs, with or without a line of headings."""

import csv
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import BinaryIO, Final, NamedTuple

from timegate.bulk.item import BadInput, Item
from timegate.bulk.lines import text_lines

_SAMPLE: Final = 20
_DELIMITERS: Final = ",;\t"
_REFERENCE_HEADINGS: Final = ("url", "uri", "link", "href", "identifier", "reference")
_DATE_HEADINGS: Final = ("date", "datetime", "timestamp", "access-date", "urldate")


class Columns(NamedTuple):
    """Which columns count; None for those that are to be found."""

    reference: str | None = None
    dates: tuple[str, ...] = ()


def read_table(
    stream: BinaryIO, columns: Columns, is_reference: Callable[[str], bool]
) -> Iterator[Item]:
    """Yield an item for each row that has a reference. Raises BadInput."""
    try:
        yield from _items(stream, columns, is_reference)
    except csv.Error as error:
        raise BadInput(f"not a table: {error}; is a quotation mark missing?") from error


def _items(
    stream: BinaryIO, columns: Columns, is_reference: Callable[[str], bool]
) -> Iterator[Item]:
    lines = text_lines(stream)
    first = next(lines, "")
    delimiter = max(_DELIMITERS, key=first.count)
    rows = csv.reader((f"{line}\n" for line in chain([first], lines)), delimiter=delimiter)
    sample = list(islice(rows, _SAMPLE))
    headless = columns.reference is None and any(map(is_reference, sample[0]))
    headings = [] if headless else [cell.strip().lower() for cell in sample[0]]
    body = sample if headless else sample[1:]
    place = _reference_column(columns.reference, headings, body, is_reference)
    dates = _date_columns(columns.dates, headings)
    position = 0
    for row in chain(body, rows):
        reference = _cell(row, place)
        if reference:
            written = (_cell(row, column) for column in dates)
            yield Item(position, reference, (reference,), tuple(filter(None, written)))
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
        cells = [cell for row in body if (cell := _cell(row, column))]
        # Half of them: a broken one shall be reported, not hide the column.
        if cells and sum(map(is_reference, cells)) * 2 >= len(cells):
            return column
    named = [headings.index(name) for name in _REFERENCE_HEADINGS if name in headings]
    if named or not body:
        return named[0] if named else 0
    raise BadInput("no column holds URLs or identifiers; name it with --column")


def _date_columns(wanted: Sequence[str], headings: Sequence[str]) -> list[int]:
    if wanted:
        return [_column(name, headings) for name in wanted]
    return [headings.index(name) for name in _DATE_HEADINGS if name in headings]


def _column(name: str, headings: Sequence[str]) -> int:
    """Return the column called *name*, or the one with that number, counted from 1."""
    if name.strip().lower() in headings:
        return headings.index(name.strip().lower())
    if name.isascii() and name.isdecimal() and 0 < int(name[:6]) <= 1000:
        return int(name) - 1
    raise BadInput(f"there is no column {name!r}; the columns are {', '.join(headings)}")
