"""References as they are written in lists and documents: their links, dates and positions."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from archives.moment import Moment
from timegate.references import FoundKind, Item, TextSpan
from timegate.references.dates import ChosenDate, FoundDate, choose, found_date, unread_date
from timegate.references.mistyped_links import ALTERED, is_altered, with_scheme_repaired
from timegate.text.times import read_time
from timegate.text.written_dates import find_dates, whole_date

Notation = Literal["plain", "html", "tex"]
"""How special characters of a link are written."""


class ReferencePlace(NamedTuple):
    """A reference in a document, and the ranges that may be rewritten."""

    item: Item
    link: TextSpan | None
    """The archive link; None if there is none."""
    date: TextSpan | None = None
    """The date of the archive link; None if there is none."""
    before_link: str = ""
    """Markup to insert before a link where there was none."""
    before_date: str = ""
    """Markup to insert before a date where there was none."""
    after: str = ""
    """Markup to insert after a link, and after a date, where there was none."""
    dates: tuple[FoundDate, ...] = ()
    """Every date of the reference, with what it is the date of."""
    where: TextSpan | None = None
    """Where the reference is, if it is not rewritten."""
    notation: Notation = "plain"
    """How a new link is written at its place."""
    title: str = ""
    """The title of the page, if the citation has it."""
    url_status: str = ""
    """Whether the link works, in the words of Wikipedia's templates; empty if not stated."""
    altered: bool = False
    """Whether a link is mistyped, and was repaired."""


def cited(
    references: tuple[str, ...],
    dates: tuple[FoundDate, ...],
    trouble: str = "",
    *,
    altered: bool = False,
) -> ReferencePlace:
    """Return a citation with its *dates*: those of publication count only without any other.

    *altered*: a link may be incomplete, or other than it is meant.
    """
    chosen = choose(dates)
    repaired = tuple(map(with_scheme_repaired, references))
    altered = altered or any(map(is_altered, references))
    said = [*([ALTERED] if altered else []), *(chosen.said if chosen.is_to_be_said else ())]
    item = Item(
        0,
        repaired[0],
        repaired,
        usable_dates(dates, chosen),
        trouble,
        said=". ".join(said),
        doubt=chosen.doubt or altered,
        published=str(chosen.published or ""),
    )
    return ReferencePlace(item, None, dates=dates, altered=altered)


def usable_dates(dates: Sequence[FoundDate], chosen: ChosenDate) -> tuple[str, ...]:
    """Return the dates to try for a reference, in order of preference."""
    if chosen.used is None or chosen.at is None:
        return ()
    if chosen.used.moment is None:
        return (str(chosen.at),)
    strong = [date for date in dates if date.basis in ("archived", "accessed") and date.moment]
    weak = [date for date in dates if date.basis == chosen.used.basis and date.moment]
    # The finest first: of publication dates, a day says more than its year.
    weak.sort(key=lambda date: -len(date.moment.digits) if date.moment else 0)
    return tuple(dict.fromkeys(_readable(date) for date in strong or weak))


def _readable(date: FoundDate) -> str:
    """Return the date as it is written if it can be read so, else its moment."""
    written = readable_date(date.text)
    found = whole_date(written)
    return written if found is None or found.moment == date.moment else str(date.moment)


def readable_date(text: str) -> str:
    """Return *text* if it is a time that can be read, else what is certain of it."""
    day = whole_date(text) if ":" in text else None
    if day is not None and day.moment is not None and ":" not in day.text:
        # Without a time zone, only the day is certain.
        return str(day.moment)
    try:
        read_time(text)
    except ValueError:
        found = whole_date(text)
        return text if found is None or found.common is None else str(found.common)
    return text


class FoundReference(NamedTuple):
    """A reference in a text, with the date that is used for it."""

    identifier: str
    """What is resolved; for a list of captures, the URL of the page."""
    written: str
    span: TextSpan
    dates: ChosenDate = ChosenDate()
    kind: FoundKind = "reference"
    others: tuple[str, ...] = ()
    """Other identifiers of the same reference, in order of preference."""
    notes: tuple[str, ...] = ()
    """How it was read, if it differs from what is written."""
    trouble: str = ""
    """Why it cannot be resolved; empty if it can be tried."""
    incomplete: bool = False
    """Whether the text may contain only a part of the link."""
    title: str = ""
    """The title of the page, if the citation has it."""
    url_status: str = ""
    """Whether the link works, in the words of Wikipedia's templates; empty if not stated."""
    quote: str = ""
    """A quotation of the page that stands beside the link."""

    @property
    def at(self) -> Moment | None:
        """The time to search at, of a reference that states none itself."""
        used = self.dates.used
        return None if used is None or used.basis == "own" else self.dates.at

    @property
    def is_link_doubted(self) -> bool:
        """Whether the doubt is about the link, which may be altered, and not about the date."""
        dates = [*([self.dates.used] if self.dates.used else []), *self.dates.unused]
        is_altered = self.incomplete or ALTERED in self.notes
        return self.dates.doubt and is_altered and not choose(dates).doubt

    @property
    def undated(self) -> "FoundReference":
        """The reference without its dates, for a time that was given otherwise.

        A link that may be incomplete stays in doubt.
        """
        return self._replace(dates=ChosenDate(doubt=self.incomplete))

    @property
    def dated(self) -> str:
        """The reference and its date as one identifier, if there is such a notation."""
        if self.dates.doubt:
            return self.restated
        if self.at is None or self.kind != "reference":
            return self.identifier
        return f"duri:{self.at}:{self.identifier}"

    @property
    def restated(self) -> str:
        """A short text that is read alike, with the same doubt about its date."""
        if self.dates.doubt and self.dates.used and self.dates.used.basis == "own":
            # A copy of a copy is doubted again as it is written; else it is marked as cut off.
            is_nested = self.written != self.identifier
            return self.written if is_nested else f"{self.identifier}\u2026"
        dates = [*([self.dates.used] if self.dates.used else []), *self.dates.unused]
        is_implied = self.written in self.others
        # A link that only implies the page is read alike as it is written.
        shown = self.written if is_implied else self.identifier
        others = "" if is_implied else "".join(f" [{other}]" for other in self.others[:1])
        link = f"{shown}\u2026" if self.incomplete else shown
        if is_implied and not dates:
            return link
        if self.dates.doubt and not (dates or others or self.incomplete):
            return f"{link} {_NO_DATE}"
        if not (is_implied or others or self.incomplete) and not choose(dates).doubt:
            # The doubt is not about the dates themselves.
            dates = [_questioned(date) for date in dates]
        return f"{link}{others} {' '.join(map(_restated, dates[:5]))}".strip()

    @property
    def said(self) -> tuple[str, ...]:
        """Sentences on how it was read and which date is used."""
        return (*self.notes, *self.dates.said)


_MARKS: Final = {
    **{basis: f"({basis} {{}})" for basis in ("archived", "accessed", "published")},
    "dead": "(published {})",
    "event": "(founded {})",
}


_NO_DATE: Final = "(accessed n.d.)"


def _questioned(date: FoundDate) -> FoundDate:
    """Return *date* as one that is not certain."""
    if date.moment is None:
        return date
    return date._replace(moment=None, readings=(date.moment,))


def _restated(date: FoundDate) -> str:
    if date.moment is None and not date.readings and not _is_read_alike(date):
        return _NO_DATE
    is_short = date.moment is None and next(find_dates(date.text), None) is None
    if date.basis not in _MARKS and is_short:
        # With a year of two digits, it is a date only in its own place.
        is_one = len(date.readings) == 1
        return f"(perhaps {date.readings[0]}?)" if is_one else _NO_DATE
    if date.impossible:
        return _MARKS.get(date.basis, "(perhaps {})").format(date.text)
    if date.moment is None and len(date.readings) == 1:
        # A date that the text itself doubts, or with a year of two digits.
        return _MARKS.get(date.basis, "(perhaps {})").format(f"{date.readings[0]}?")
    # Seconds since 1970 are a date only in their own place.
    text = str(date.moment) if date.moment and date.text.isdecimal() else date.text
    return _MARKS.get(date.basis, "(perhaps {})").format(text)


def _is_read_alike(date: FoundDate) -> bool:
    """Whether a date that cannot be used is found in its own words, and no other date."""
    if date.basis not in _MARKS:
        return False
    dates = [found_date(each, date.basis) for each in find_dates(date.text)]
    if dates:
        return all(each.moment is None for each in dates)
    return date.basis == "accessed" and unread_date("", f" (accessed {date.text})") is not None


def place_of(found: FoundReference, notation: Notation = "plain") -> ReferencePlace:
    """Return *found* as an item of a list; its link can be rewritten if it states a time."""
    chosen = found.dates
    dates = () if found.at is None else (str(found.at),)
    said = [*found.notes, *(chosen.said if chosen.is_to_be_said else ())]
    item = Item(
        0,
        found.written if found.kind == "captures" else found.identifier,
        (found.identifier, *found.others),
        dates,
        # An id of an archive is a valid reference, for which no archive can be queried.
        found.trouble if found.kind in ("captures", "faulty") else "",
        said=". ".join(said),
        doubt=chosen.doubt,
        quote=found.quote,
        published=str(chosen.published or ""),
    )
    link = found.span if chosen.at is not None and found.kind == "reference" else None
    return ReferencePlace(item, link, notation=notation, where=found.span)


def masked(text: str, spans: Iterable[TextSpan], sign: str = " ") -> str:
    """Return *text* with blanks, or *sign*, in place of *spans*, so that positions stay."""
    pieces, at = [], 0
    for start, end in spans:
        if end <= at:
            continue
        pieces += [text[at:start], sign * (end - max(start, at))]
        at = end
    return "".join([*pieces, text[at:]])
