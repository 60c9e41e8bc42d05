"""View of a table of captures: years, a calendar, archives, and one page of the list."""

from calendar import Calendar
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from archives.moment import Moment
from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.pages.capture_table import STATUSES, CaptureFilter, CaptureTable, ListedCapture
from timegate.responses.answer_view import name_of, spoken
from timegate.responses.model import identifier_in
from timegate.responses.problems import printable
from timegate.text import MONTH_NAMES
from timegate.text.times import read_time
from timegate.timemaps import FORMATS
from timegate.verdict import header_safe

ROWS: Final = 50
"""Captures on one page of the list."""
_MOST_YEARS: Final = 60
"""Years of the overview; a list with more is wrong."""
_LEVELS: Final = 4
_MOST_FIELDS: Final = 20
_LONGEST_DATE: Final = 64
_YEAR: Final = compiled(r"(?:19|20)[0-9]{2}")
_STATUS_WORDS: Final = {
    "2xx": "a page (2xx)",
    "3xx": "a redirect (3xx)",
    "4xx": "an error (4xx)",
    "5xx": "a server error (5xx)",
    "unknown": "not stated",
}


@dataclass(frozen=True, slots=True)
class CaptureFields:
    """What the form of the page asks for."""

    url: str
    """The URL or identifier, as it was written."""
    archive: str = ""
    status: str = ""
    since: str = ""
    until: str = ""
    page: int = 1
    year: int | None = None
    """The year of the calendar; None for that of the last capture."""
    unknown_status: str = ""
    """A status that is none of `STATUSES`, and not used."""

    @classmethod
    def of(cls, rest: str) -> "CaptureFields":
        """Read ``{URL}`` or ``{encoded URL}?archive=...``; other parameters are ignored."""
        url = identifier_in(rest)
        target, mark, query = rest.partition("?")
        if url == rest or not mark:
            return cls(url)
        pairs = parse_qsl(query, errors="replace") if query.count("&") < _MOST_FIELDS else []
        fields = {name: value.strip() for name, value in pairs}
        number, status = fields.get("page", ""), fields.get("status", "")
        page = int(number) if number.isascii() and number.isdigit() and len(number) < 7 else 1
        return cls(
            identifier_in(target),
            fields.get("archive", ""),
            status if status in STATUSES else "",
            fields.get("from", "")[:_LONGEST_DATE],
            fields.get("to", "")[:_LONGEST_DATE],
            max(page, 1),
            _year(fields.get("year", "")),
            "" if status in STATUSES else status[:_LONGEST_DATE],
        )

    def filter(self) -> tuple[CaptureFilter, tuple[str, ...]]:
        """Return the filter, and what could not be read."""
        complaints: list[str] = []
        moments = [_moment(text, complaints) for text in (self.since, self.until)]
        return CaptureFilter(self.archive, self.status, *moments), tuple(complaints)

    def hints(self, wanted: CaptureFilter) -> Iterator[str]:
        """Yield what is probably a mistake in the form, which was read as *wanted*."""
        since, until = wanted.since, wanted.until
        if since and until and since.window[0] > until.window[1]:
            yield f"no capture can fit, because From ({self.since}) is after To ({self.until})"
        if self.unknown_status:
            status, known = printable(self.unknown_status), ", ".join(STATUSES)
            yield f"the status {status} was ignored: it is none of {known}"


def _year(text: str) -> int | None:
    return int(text) if _YEAR.fullmatch(text) else None


def _moment(text: str, complaints: list[str]) -> Moment | None:
    try:
        return read_time(text)
    except ValueError as error:
        complaints.append(f"a date of the form was ignored: {error}")
        return None


@dataclass(frozen=True, slots=True)
class CaptureAddress:
    """The page that was requested, and the addresses of its other parts."""

    root: str
    original: str
    fields: CaptureFields

    @property
    def path(self) -> str:
        """The address without parameters; the URL is encoded, so that they can follow."""
        return f"{self.root}/timemap/html/{quote(self.original, safe='')}"

    def href(self, **changes: str) -> str:
        """Return the address with *changes* of the parameters; an empty one is left out."""
        fields = self.fields
        parameters = {
            "archive": fields.archive,
            "status": fields.status,
            "from": fields.since,
            "to": fields.until,
            **changes,
        }
        stated = {name: value for name, value in parameters.items() if value}
        return f"{self.path}?{urlencode(stated)}" if stated else self.path


class Cell(NamedTuple):
    """A month or a day, with the number of its captures."""

    text: str
    label: str
    level: int
    """0 for none, up to 4."""
    href: str


class YearRow(NamedTuple):
    """One year of the overview."""

    year: str
    number: str
    href: str
    cells: tuple[Cell, ...]


class MonthView(NamedTuple):
    """One month of the calendar, in weeks that begin on Monday."""

    name: str
    weeks: tuple[tuple[Cell | None, ...], ...]


class CaptureRow(NamedTuple):
    """One capture."""

    name: str
    captured: str
    stamp: str
    uri: str
    status: str


class ArchiveRow(NamedTuple):
    """The captures of one archive."""

    id: str
    name: str
    number: str
    href: str
    first: CaptureRow
    last: CaptureRow


class FilterOption(NamedTuple):
    """One option of the form."""

    value: str
    text: str


@dataclass(frozen=True, slots=True)
class CapturesView:
    """Everything that the page shows."""

    original: str
    target: str
    address: CaptureAddress
    holders: int
    """The number of archives with captures."""
    total: str
    """The number of all captures, in words."""
    selected: str
    """The number of captures that fit the form."""
    is_filtered: bool
    first: CaptureRow | None
    last: CaptureRow | None
    years: tuple[YearRow, ...]
    more_years: int
    """Earlier years, which the overview leaves out."""
    year: str
    calendar: tuple[MonthView, ...]
    earlier: str
    """The address of the calendar of an earlier year with captures; empty if there is none."""
    later: str
    archives: tuple[ArchiveRow, ...]
    rows: tuple[CaptureRow, ...]
    start: int
    page: int
    pages: int
    previous: str
    next: str
    complaints: tuple[str, ...]
    """What could not be read in the form."""
    hints: tuple[str, ...]
    missing: tuple[tuple[str, str], ...]
    """Archives without a complete list, and why."""
    asked: tuple[str, ...]
    unasked: tuple[str, ...]
    """Archives that are in use, but were not asked for this page."""
    on_site: tuple[str, ...]
    """Archives that are known here, and can only be read on site."""
    others: int
    """Known archives that are not in use."""
    unjudged: int
    """Captures that a filter by status leaves out, because their status is not stated."""
    truncated: bool
    archive_choices: tuple[FilterOption, ...]
    status_choices: tuple[FilterOption, ...]
    formats: tuple[tuple[str, str], ...]
    wait: str
    """Seconds that this page waits for each list to begin."""
    months: tuple[str, ...] = MONTH_NAMES


def captures_view(
    address: CaptureAddress,
    table: CaptureTable,
    registry: Registry,
    hidden: frozenset[str],
    wait: float,
) -> CapturesView:
    """Return the view of *table* for a client from whom the archives in *hidden* are hidden."""
    fields = address.fields
    wanted, complaints = fields.filter()
    selected = table.select(wanted)
    months = table.months(wanted)
    years = sorted({year for year, _ in months})
    shown_year = int(table.at(selected[-1]).stamp[:4]) if selected else None
    stated = fields.year if fields.year in years else wanted.year
    year = stated or shown_year or (years[-1] if years else None)
    pages = max(ceil(len(selected) / ROWS), 1)
    page = min(fields.page, pages)
    shown = selected[(page - 1) * ROWS : page * ROWS]
    turn = _Turner(address)
    names = {archive: name_of(archive, registry) for archive in table.asked}
    known = [entry for entry in registry.entries if entry.id not in hidden]
    unasked = [entry for entry in known if entry.use and entry.id not in names]
    return CapturesView(
        original=address.original,
        target=header_safe(address.original),
        address=address,
        holders=table.holders,
        total=_captures(len(table)),
        selected=_captures(len(selected)),
        is_filtered=wanted != CaptureFilter(),
        first=_row(table.at(0), names) if len(table) else None,
        last=_row(table.at(len(table) - 1), names) if len(table) else None,
        years=tuple(_years(months, years[-_MOST_YEARS:], address)),
        more_years=max(len(years) - _MOST_YEARS, 0),
        year="" if year is None else f"{year:04}",
        calendar=() if year is None else tuple(_calendar(table, wanted, year, address)),
        earlier=turn.year(max((y for y in years if year and y < year), default=None)),
        later=turn.year(min((y for y in years if year and y > year), default=None)),
        archives=tuple(_archives(table, selected, names, address)),
        rows=tuple(_row(table.at(index), names) for index in shown),
        start=(page - 1) * ROWS + 1,
        page=page,
        pages=pages,
        previous=turn.page(page - 1) if page > 1 else "",
        next=turn.page(page + 1) if page < pages else "",
        complaints=complaints,
        hints=tuple(fields.hints(wanted)),
        missing=tuple(
            (names[archive], printable(error.why[:300]))
            for archive, error in table.failures.items()
        ),
        asked=tuple(names.values()),
        unasked=tuple(e.name for e in unasked if e.access != "onsite-only"),
        on_site=tuple(e.name for e in unasked if e.access == "onsite-only"),
        others=sum(not entry.use for entry in known),
        unjudged=table.without_status() if wanted.status not in ("", "unknown") else 0,
        truncated=table.truncated,
        archive_choices=tuple(FilterOption(archive, name) for archive, name in names.items()),
        status_choices=tuple(
            FilterOption(status, _STATUS_WORDS[status]) for status in STATUSES
        ),
        wait=f"{wait:g}",
        formats=tuple((name, writer.description) for name, writer in FORMATS.items()),
    )


class _Turner(NamedTuple):
    """Makes the addresses of other years and pages."""

    address: CaptureAddress

    def year(self, year: int | None) -> str:
        if year is None:
            return ""
        return f"{self.address.href(year=f'{year:04}')}#calendar"

    def page(self, number: int) -> str:
        return f"{self.address.href(page=str(number))}#list"


def _span(text: str) -> dict[str, str]:
    return {"from": text, "to": text}


def _years(
    months: Mapping[tuple[int, int], int], years: Sequence[int], address: CaptureAddress
) -> Iterator[YearRow]:
    most = max(months.values(), default=0)
    for year in years:
        counts = [months.get((year, month), 0) for month in range(1, 13)]
        cells = tuple(
            _month_cell(year, month, count, most, address)
            for month, count in enumerate(counts, start=1)
        )
        href = f"{address.href(year=f'{year:04}')}#calendar"
        yield YearRow(f"{year:04}", f"{sum(counts):,}", href, cells)


def _month_cell(year: int, month: int, count: int, most: int, address: CaptureAddress) -> Cell:
    label = f"{MONTH_NAMES[month - 1]} {year:04}: {_captures(count)}"
    if not count:
        return Cell("", label, 0, "")
    href = f"{address.href(**_span(f'{year:04}-{month:02}'))}#list"
    return Cell(_short(count), label, _level(count, most), href)


def _short(count: int) -> str:
    """Return *count* in at most three characters or so."""
    return str(count) if count < 1_000 else f"{count // 1_000}k"


def _level(count: int, most: int) -> int:
    """Return 1 to 4 on a logarithmic scale: a page captured hourly once hides no single one."""
    return 1 if count <= 1 or most <= 1 else 1 + round((_LEVELS - 1) * log(count) / log(most))


def _calendar(
    table: CaptureTable, wanted: CaptureFilter, year: int, address: CaptureAddress
) -> Iterator[MonthView]:
    whole = Moment(f"{year:04}")
    of_year = CaptureFilter(wanted.archive, wanted.status, whole, whole)
    days = table.days(table.select(of_year))
    most = max(days.values(), default=0)
    for month, name in enumerate(MONTH_NAMES, start=1):
        cells = {
            day: _day_cell(year, month, day, count, most, address)
            for day in range(1, 32)
            for count in (days.get((month, day), 0),)
        }
        weeks = Calendar().monthdayscalendar(year, month)
        yield MonthView(name, tuple(tuple(map(cells.get, week)) for week in weeks))


def _day_cell(  # noqa: PLR0913, PLR0917 -- a day, and what is known of it
    year: int, month: int, day: int, count: int, most: int, address: CaptureAddress
) -> Cell:
    label = f"{day} {MONTH_NAMES[month - 1]} {year:04}: {_captures(count)}"
    if not count:
        return Cell(str(day), label, 0, "")
    href = f"{address.href(**_span(f'{year:04}-{month:02}-{day:02}'))}#list"
    return Cell(str(day), label, _level(count, most), href)


def _captures(count: int) -> str:
    return f"{count:,} capture" if count == 1 else f"{count:,} captures"


def _archives(
    table: CaptureTable,
    selected: Sequence[int],
    names: Mapping[str, str],
    address: CaptureAddress,
) -> Iterator[ArchiveRow]:
    for held in table.by_archive(selected):
        yield ArchiveRow(
            held.archive,
            names[held.archive],
            f"{held.number:,}",
            f"{address.href(archive=held.archive)}#list",
            _row(held.first, names),
            _row(held.last, names),
        )


def _row(capture: ListedCapture, names: Mapping[str, str]) -> CaptureRow:
    moment = Moment(capture.stamp)
    status = "" if capture.status is None else str(capture.status)
    return CaptureRow(names[capture.archive], spoken(moment), str(moment), capture.uri, status)
