"""Readers of plain lists: text lines, CSV tables, JSON and lines of JSON.

All but JSON are read as a stream, so that a list may be larger than memory.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, dropwhile, islice
from typing import BinaryIO, Final, Literal, NamedTuple

from archives.regex_compat import compiled
from timegate.references import BadInput, Item
from timegate.references.date_context import writes_day_first
from timegate.references.dates import FIRST_PAGE, basis_of_name
from timegate.references.json_shapes import has_other_pages, known_pages
from timegate.references.links import find_links
from timegate.references.named_copies import copies_of
from timegate.text.written_dates import whole_date

_NAMES: Final = ("pwid", "identifier", "url", "uri", "link", "href", "id")
_DATES: Final = ("dates", "date", "datetime", "timestamp", "accessed")
_PUBLISHED: Final = "issued"
_ALSO: Final = "also"
_QUOTES: Final = ("quote", "quotation")
_COPIES: Final = (
    *(
        "archive_url",
        "archive-url",
        "archiveurl",
        "archive url",
        "archived_url",
        "archived url",
    ),
    *(
        "archived url",
        "archive_link",
        "archive link",
        "wayback_url",
        "wayback url",
        "wayback",
        "memento",
    ),
    *("memento_url", "snapshot_url", "snapshot url", "archived_copy", "archived copy"),
)
"""Names of columns with links to copies."""
_UNCLEAR: Final = "No name of a field or column says when the page was seen"
_SEVERAL: Final = "Several columns say when the page was seen, and their dates differ"
_OTHER_PAGES: Final = "The object names other addresses as well"
_NOT_USED: Final = (
    "No date is used: the newest copy is searched for. Not used: {} (the date of publication)"
)
_EMPTY_CELL: Final = "the row has no reference: its cell is empty"
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
    pages = known_pages(value)
    for position, member in enumerate(_listed(value) if pages is None else pages):
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
    notes = " ".join(member for member in members.values() if isinstance(member, str))
    references = tuple(dict.fromkeys((*copies_of(references, notes), *references)))
    dates = tuple(_named_dates(value))
    dates = dates or tuple(date for name in _DATES for date in _dates(members.get(name)))
    # When a page was published does not say when it was seen.
    published = "" if dates else next(_dates(members.get(_PUBLISHED)), "")
    published = published or ("" if dates else next(_published_dates(value), ""))
    unknown = () if dates or published else tuple(_unnamed_dates(members))
    is_unclear = len(set(unknown)) > 1
    dates = dates or (() if is_unclear else tuple(filter(_may_be_seen, unknown)))
    dates = tuple(map(_calendar_time, dates))
    also = members.get(_ALSO)
    equal = tuple(_strings(also if isinstance(also, list) else [also]))
    is_known = "URL" in value  # CSL-JSON, whose other members are not the page
    # The page on which a link checker found a link is not what is meant.
    pages = {
        name: each for name, each in value.items() if name != "parent" or "state" not in value
    }
    is_one_of = (
        bool(references) and not is_known and has_other_pages(pages, (*references, *equal))
    )
    said = _UNCLEAR if unknown else _NOT_USED.format(published) if published else ""
    return Item(
        position,
        references[0] if references else text,
        references or (text,),
        dates,
        also=equal,
        quote=next(_strings([members.get(name) for name in _QUOTES]), ""),
        said=". ".join(filter(None, (said, _OTHER_PAGES if is_one_of else ""))),
        doubt=bool(unknown or published or is_one_of)
        or (not dates and _has_unread_date(value)),
        published=published,
    )


def _has_unread_date(value: Mapping[str, object]) -> bool:
    """Whether a member has a date of publication, or of something else, in any notation."""
    named = (member for name, member in value.items() if basis_of_name(name) is not None)
    return any(next(_dates(member), None) for member in named)


def _named_dates(value: Mapping[str, object]) -> Iterator[str]:
    """Yield the dates of members whose names say that the page was seen then."""
    for name, member in value.items():
        if basis_of_name(name) in ("accessed", "archived"):
            yield from _dates(member)


_SECONDS: Final = len("1288952430")
_OF_CHROME: Final = len("13233425700000000")
_FROM_1601: Final = 11_644_473_600
"""Seconds from 1601, from which Chrome counts microseconds, to 1970."""


def _calendar_time(date: str) -> str:
    """Return *date*; a time that a program counts as one of the calendar.

    It is counted in seconds, milliseconds or microseconds since 1970, or as Chrome does.
    """
    is_count = date.isascii() and date.isdecimal() and date[0] == "1"
    if is_count and len(date) in (_SECONDS, _SECONDS + 3, _SECONDS + 6):
        seconds = int(date[:_SECONDS])
    elif is_count and len(date) == _OF_CHROME and date[1] in "234":
        seconds = int(date[:-6]) - _FROM_1601
    else:
        return date
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _published_dates(value: Mapping[str, object]) -> Iterator[str]:
    """Yield the dates of members whose names say that the page was published then."""
    for name, member in value.items():
        if basis_of_name(name) == "published":
            yield from filter(whole_date, _dates(member))


def _unnamed_dates(members: Mapping[str, object]) -> Iterator[str]:
    """Yield the days in members of any name: one of them may be meant."""
    for member in members.values():
        if isinstance(member, str) and _is_day(member):
            yield member


_LYCHEE: Final = ("error_map", "fail_map", "timeout_map")
"""Members of a report of lychee with broken links, by the files that contain them."""
_WORKING: Final = frozenset(
    ("ok", "skipped", "working", "ignored", "unchecked", "redirected", "local", "success")
)


def _is_working(value: object) -> bool:
    """Whether a link checker (linkinator, LinkChecker, Sphinx) says that the link works."""
    if not isinstance(value, dict):
        return False
    if {"valid", "parentname"} <= value.keys():
        return value["valid"] is True
    # linkinator states no parent of the page at which it began.
    if not ({"lineno", "parent"} & value.keys() or {"url", "status", "state"} <= value.keys()):
        return False
    state = value.get("state", value.get("status"))
    return isinstance(state, str) and state.lower() in _WORKING


def _broken_links(report: Mapping[str, object]) -> list[object] | None:
    """Return the broken links of a report of lychee; None if it is none."""
    maps = [report[name] for name in _LYCHEE if isinstance(report.get(name), dict)]
    if not maps:
        return None
    found = [
        link["url"]
        for by_file in maps
        if isinstance(by_file, dict)
        for links in by_file.values()
        if isinstance(links, list)
        for link in links
        if isinstance(link, dict) and isinstance(link.get("url"), str)
    ]
    return list(dict.fromkeys(link for link in found if link.startswith(("http:", "https:"))))


def _listed(value: object) -> Sequence[object]:
    if isinstance(value, list):
        return [member for member in value if not _is_working(member)]
    if isinstance(value, dict):
        broken = _broken_links(value)
        if broken is not None:
            return broken
        if next(_references(_members(value)), None) is not None:
            return [value]
        lists = [member for member in value.values() if isinstance(member, list)]
        inner = [member for member in value.values() if isinstance(member, dict)]
        if not lists and len(inner) == len(value) == 1:
            # One reference with a name: {"source": {"url": ...}}.
            return _listed(inner[0])
        if len(lists) == 1:
            return [member for member in lists[0] if not _is_working(member)]
        raise BadInput(f"an object with {len(lists) or 'no'} lists instead of one; {_EXPECTED}")
    raise BadInput(f"not a list; {_EXPECTED}")


def _members(value: Mapping[str, object]) -> dict[str, object]:
    # CSL-JSON writes URL in capitals.
    return {name.lower(): member for name, member in value.items()}


def _references(members: Mapping[str, object]) -> Iterator[str]:
    """Yield the references; ``id`` comes first if it looks like an identifier."""
    found = {name: text for name in _NAMES for text in _strings([members.get(name)])}
    name = found.get("id", "")
    if name.lower().startswith(("http:", "https:")) and len(found) > 1:
        # The address of an entry in a library, as Zotero writes it.
        del found["id"]
    elif ":" in name:
        yield found.pop("id")
    elif name.isdecimal() and len(found) > 1:
        # The number of an entry.
        del found["id"]
    yield from found.values()
    for doi in _strings([members.get("doi")]):
        if doi.startswith("10."):
            yield f"https://doi.org/{doi}"


def _dates(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        # CSL-JSON 1.0: {"date-parts": [[2016, 1, 22]]}, or {"raw": "22 January 2016"}
        parts = value.get("date-parts")
        first = parts[0] if isinstance(parts, list) and parts else None
        written = _strings([value.get("raw"), value.get("literal")])
        raw = (text for text in written if any(map(str.isdigit, text)))
        yield from _calendar_date(first) if first else raw
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
        for item in _items_of(line.strip()) if line.strip() else ():
            yield item._replace(position=position)
            position += 1


def _items_of(line: str) -> Iterator[Item]:
    """Yield the item of a line, or those of a list in it; no link that works."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        # A line of plain text may be a reference; one that begins as JSON is damaged.
        broken = f"not JSON: {error}" if line.startswith(("{", "[", '"')) else ""
        yield Item(0, line, (line,), trouble=broken)
        return
    pages = known_pages(value)
    listed = [value] if pages is None else pages
    if (
        pages is None
        and isinstance(value, dict)
        and next(_references(_members(value)), None) is None
    ):
        lists = [member for member in value.values() if isinstance(member, list)]
        listed = lists[0] if len(lists) == 1 else listed
    for member in listed:
        if not _is_working(member):
            yield item_of(0, member)


_SAMPLE: Final = 20
_CLOCK_TIME: Final = compiled(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:\s?[APap]\.?[Mm]\.?)?")
_MOST_COLUMNS: Final = 1000
_DELIMITERS: Final = ",;\t"
REFERENCE_HEADINGS: Final = (
    *("pwid", "url", "uri", "link", "href", "identifier", "reference"),
    *("adresse", "lien", "enlace", "address", "website"),
)
_ACCESS_HEADINGS: Final = (
    *("archive-date", "access-date", "access date", "accessdate", "accessed", "urldate"),
    *("retrieved", "date accessed", "abgerufen am", "last visited"),
    # Histories of browsers.
    *("visit_time", "visit time", "visittime", "visit_date", "visit date", "visited on"),
    *("last_visit_time", "last visit time", "last_visit_date", "lastvisittime"),
)
_DATE_HEADINGS: Final = (
    *("date", "datetime", "timestamp", "time", "year"),
    *("datum", "dato", "fecha", "data", "tarih", "дата", "日期", "日付", "날짜"),
)


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
    # LinkChecker's tables begin with comments.
    lines = dropwhile(lambda line: line.startswith("#"), text_lines(stream))
    first = next(lines, "")
    delimiter = max(_DELIMITERS, key=first.count)
    rows = csv.reader((f"{line}\n" for line in chain([first], lines)), delimiter=delimiter)
    sample = list(islice(rows, _SAMPLE))
    if max(map(len, sample)) > _MOST_COLUMNS:
        raise BadInput(f"not a CSV table: a row has more than {_MOST_COLUMNS:,} columns")
    # A cell with a link among words, or without a scheme, is no name of a column either.
    has_links = any(is_reference(cell) or _has_link(cell) for cell in sample[0])
    has_no_heading = columns.reference is None and has_links
    names = [] if has_no_heading else [cell.strip().lower() for cell in sample[0]]
    # "Accessed (dd/mm/yyyy)" names the column, and the order in its dates.
    headings = [_ORDER.sub("", name) for name in names]
    if {"valid", "parentname"} <= {*headings}:
        # Whether LinkChecker had the answer in its cache is no date.
        headings = [name.replace("cached", "") for name in headings]
    body = sample if has_no_heading else sample[1:]
    place = _reference_column(columns.reference, headings, body, is_reference)
    dates = [
        column
        for column in _date_columns(columns.dates, headings)
        if not _are_clock_times(body, column)
    ]
    issued = [] if dates else _published_columns(headings)
    days = [column for column in _columns_of_dates(body, place) if column not in issued]
    # With several columns of dates and no word about access, any of them may be meant; a date
    # beside more than a reference may be that of anything.
    is_known = bool(columns.dates or _access_columns(headings))
    several = not is_known and len({*days, *dates}) > 1
    is_alone = not headings and max(map(len, body), default=0) <= len(("reference", "date"))
    doubt = several or bool(days and not dates and not is_alone)
    dates = dates or ([] if several else days)
    also = [column for column, name in enumerate(headings) if name == _ALSO]
    orders = {
        column: _order_of(names[column], body, column) if names[column:] else None
        for column in (*dates, *issued)
    }
    quotes = [column for column, name in enumerate(headings) if name in _QUOTES]
    copies = [column for column, name in enumerate(headings) if name in _COPIES]
    valid = headings.index("valid") if {"valid", "parentname"} <= {*headings} else None
    position = 0
    for row in chain(body, rows):
        reference = _cell(row, place)
        if not reference and any(cell.strip() for cell in row) and valid is None:
            yield Item(position, delimiter.join(row), ("",), trouble=_EMPTY_CELL)
            position += 1
        if reference and (valid is None or _cell(row, valid).lower() != "true"):
            cells = [
                _in_order(cell, orders[column])
                for column in dates
                if (cell := _cell(row, column))
            ]
            written = tuple(filter(_may_be_seen, map(_calendar_time, cells)))
            is_counted = not is_known and set(written).isdisjoint(cells) and bool(written)
            is_counted = is_counted or (not written and any(map(_is_count, row)))
            is_in_path = not is_known and any(_is_in_path(reference, cell) for cell in cells)
            published = next(filter(None, (_cell(row, column) for column in issued)), "")
            published = (
                _calendar_time(_in_order(published, orders[issued[0]])) if published else ""
            )
            is_several = not columns.dates and len(set(map(_day_of, written))) > 1
            said = _NOT_USED.format(published) if published else ""
            # The link to a copy is the most specific.
            copy = [cell for column in copies if is_reference(cell := _cell(row, column))]
            yield Item(
                position,
                reference,
                tuple(dict.fromkeys((*copy[:1], reference))),
                written,
                also=tuple(url for column in also for url in _cell(row, column).split()),
                said=_UNCLEAR if doubt or is_in_path else _SEVERAL if is_several else said,
                # Seconds since 1970 without a word may be of anything that a program did.
                doubt=doubt or bool(published) or is_counted or is_in_path or is_several,
                quote=next(filter(None, (_cell(row, column) for column in quotes)), ""),
                published=published,
            )
            position += 1


_ORDER: Final = compiled(
    r"[ \t]{0,4}[(\[]?(?<!\w)(?:format:?[ ]?)?"
    r"(?:(?P<day>(?:d{1,2}|tt|jj|gg|day)[ ./-]{1,2}(?:m{1,2}|month)[ ./-]{1,2})"
    r"|(?P<month>(?:m{1,2}|month)[ ./-]{1,2}(?:d{1,2}|day)[ ./-]{1,2}))"
    r"(?:y{1,4}|j{2,4}|a{2,4}|\u00e5{2,4}|r{2,4}|year)(?!\w)[)\]]?",
    re.IGNORECASE,
)
"""The order of the parts of a date, in the heading of a column: dd/mm/yyyy, TT.MM.JJJJ."""
_IN_FIGURES: Final = compiled(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})(?![0-9])")
_LAST_MONTH: Final = 12
DateOrder = Literal["day", "month"]
"""What is first in a date in figures."""


def _order_of(heading: str, body: Sequence[Sequence[str]], column: int) -> DateOrder | None:
    """Return the order of a column: its heading or its language states it, or 25/03/2010 in it.

    None if neither does, or if they contradict each other.
    """
    found: set[DateOrder] = set()
    if stated := _ORDER.search(heading):
        found.add("day" if stated["day"] else "month")
    elif writes_day_first(heading):
        found.add("day")
    for date in filter(None, (_IN_FIGURES.match(_cell(row, column)) for row in body)):
        first, second = int(date[1]) > _LAST_MONTH, int(date[3]) > _LAST_MONTH
        if first is not second:
            found.add("day" if first else "month")
    return found.pop() if len(found) == 1 else None


def _in_order(cell: str, order: DateOrder | None) -> str:
    """Return the day that *cell* is in the *order* of its column, if it is ambiguous."""
    date = _IN_FIGURES.match(cell)
    if date is None or (
        (clock := cell[date.end() :].strip(" ,")) and not _CLOCK_TIME.fullmatch(clock)
    ):
        return cell
    found = whole_date(date[0])
    if found is None or found.moment is not None:
        return cell
    if order is None:
        return date[0]
    day, month = (date[1], date[3]) if order == "day" else (date[3], date[1])
    return f"{date[4]}-{month.zfill(2)}-{day.zfill(2)}"


def _day_of(date: str) -> str:
    """Return the day that *date* is, in digits; *date* itself if it is not certain."""
    found = whole_date(date)
    return date if found is None or found.moment is None else found.moment.digits[:8]


def _is_count(cell: str) -> bool:
    """Whether *cell* may be a time as a program counts it."""
    return _calendar_time(cell.strip()) != cell.strip()


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
    column = _column_of(is_reference, headings, body)
    named = [headings.index(name) for name in REFERENCE_HEADINGS if name in headings]
    if column is None and (named or not body):
        return named[0] if named else 0
    # Links among words, or without a scheme.
    column = _column_of(_has_link, headings, body) if column is None else column
    if column is None:
        raise BadInput("no column contains URLs or identifiers; name it with --column")
    return column


def _column_of(
    is_one: Callable[[str], bool], headings: Sequence[str], body: Sequence[Sequence[str]]
) -> int | None:
    """Return the first column of whose cells half are references; None if there is none.

    Half of them is enough: a faulty reference should be reported, not hide the column.
    """
    for column in range(max(map(len, body), default=0)):
        cells = [cell for row in body if (cell := _cell(row, column))]
        is_other = headings[column : column + 1] == [_ALSO]
        if cells and not is_other and sum(map(is_one, cells)) * 2 >= len(cells):
            return column
    return None


def _has_link(cell: str) -> bool:
    return next(find_links(cell), None) is not None


def _date_columns(wanted: Sequence[str], headings: Sequence[str]) -> list[int]:
    if wanted:
        return [_column(name, headings) for name in wanted]
    return _access_columns(headings) or [
        headings.index(name) for name in _DATE_HEADINGS if name in headings
    ]


def _access_columns(headings: Sequence[str]) -> list[int]:
    """Return the columns whose headings say that the pages were seen then."""
    named = [headings.index(name) for name in _ACCESS_HEADINGS if name in headings]
    return named or [
        column
        for column, name in enumerate(headings)
        if name not in _COPIES and basis_of_name(name) in ("accessed", "archived")
    ]


def _published_columns(headings: Sequence[str]) -> list[int]:
    """Return the columns whose headings say that the pages were published then."""
    return [
        column for column, name in enumerate(headings) if basis_of_name(name) == "published"
    ]


def _columns_of_dates(body: Sequence[Sequence[str]], reference: int) -> list[int]:
    """Return the columns in which there is nothing but days."""
    width = max(map(len, body), default=0)
    found = []
    for column in range(width):
        cells = [cell for row in body if (cell := _cell(row, column))]
        if column != reference and cells and all(map(_is_day, cells)):
            found.append(column)
    return found


def _are_clock_times(body: Sequence[Sequence[str]], column: int) -> bool:
    """Whether a column has nothing but times of day, beside a column of days."""
    cells = [cell for row in body if (cell := _cell(row, column))]
    return bool(cells) and all(map(_CLOCK_TIME.fullmatch, cells))


def _is_day(cell: str) -> bool:
    date = whole_date(cell)
    if date is None or not (date.moment or date.readings):
        return False
    return len((date.moment or date.readings[0]).digits) > len("2010")


_DAY_IN_PATH: Final = compiled(
    r"/((?:19|20)[0-9]{2})[/-]?([01]?[0-9])[/-]?([0-3]?[0-9])(?=[/_-])"
)


def _is_in_path(reference: str, cell: str) -> bool:
    """Whether a day is in the address too: then it may be the day of publication."""
    day, date = _DAY_IN_PATH.search(reference), whole_date(cell)
    if day is None or date is None or date.moment is None:
        return False
    return date.moment.digits[:8] == f"{day[1]}{int(day[2]):02}{int(day[3]):02}"


def _may_be_seen(cell: str) -> bool:
    """Whether there was a Web at that date."""
    date = whole_date(cell)
    return date is None or date.moment is None or date.moment.digits >= FIRST_PAGE


def _column(name: str, headings: Sequence[str]) -> int:
    """Return the index of the column called *name*, or with that number, from 1."""
    if name.strip().lower() in headings:
        return headings.index(name.strip().lower())
    if name.isascii() and name.isdecimal() and 0 < int(name[:6]) <= 1000:
        return int(name) - 1
    raise BadInput(f"there is no column {name!r}; the columns are {', '.join(headings)}")
