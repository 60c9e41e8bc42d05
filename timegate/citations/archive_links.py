"""Edits that put the link to a copy, and its day, at the place of a reference in a text."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from archives.moment import Moment
from archives.regex_compat import compiled
from timegate.references import TextSpan
from timegate.references.dates import FoundDate
from timegate.references.model import Notation, ReferencePlace
from timegate.text import MONTH_NAMES

_ISO: Final = compiled(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DAY_FIRST: Final = compiled(r"[0-9]{1,2} ([A-Za-z]{3,9}) [0-9]{4}")
_MONTH_FIRST: Final = compiled(r"([A-Za-z]{3,9}) [0-9]{1,2}, [0-9]{4}")
# Characters that end a link, a parameter, a template, a field or a comment.
_UNSAFE: Final = frozenset(" |[]{}<>\"'\\^`")


class Edit(NamedTuple):
    """A replacement for a range of a text."""

    span: TextSpan
    text: str


def edited(document: str, edits: Iterable[Edit]) -> Iterator[bytes]:
    """Yield *document* in pieces with *edits* made, which are in order without overlap."""
    at = 0
    for (start, end), text in edits:
        yield document[at:start].encode(errors="surrogateescape")
        yield text.encode()
        at = end
    yield document[at:].encode(errors="surrogateescape")


def link_edits(
    document: str, place: ReferencePlace, copy: str, captured: str
) -> Iterator[Edit]:
    """Yield the edits that put the link to *copy* at *place*, and the day of *captured*.

    The day is written as the one before it, or else as the other dates of the citation.
    """
    link = safe_link(copy)
    if place.link is None or link is None:
        return
    new = _written(link, place.notation, document[place.link.start : place.link.end])
    yield Edit(place.link, f"{place.before_link}{new}{place.after}")
    if place.date is not None and len(captured) >= len("2016-01-22"):
        written = document[place.date.start : place.date.end]
        day = dated(captured[:10], written, *styles_of(place.dates))
        yield Edit(place.date, f"{place.before_date}{day}{place.after}")


def _written(link: str, notation: Notation, before: str) -> str:
    """Return *link* with special characters as *notation* needs them, and *before* had them."""
    if notation == "html":
        return link.replace("&", "&amp;")
    if notation == "tex" and "\\" in before:
        return "".join(f"\\{c}" if c in "%#&_" else c for c in link)
    return link


def safe_link(uri: str) -> str | None:
    """Return *uri* without characters that are markup; None if it is not an http URL."""
    if not uri.lower().startswith(("http://", "https://")):
        return None
    return "".join(
        "".join(f"%{octet:02X}" for octet in c.encode(errors="replace"))
        if c in _UNSAFE or not c.isascii() or not c.isprintable()
        else c
        for c in uri
    )


def styles_of(dates: Iterable[FoundDate]) -> Iterator[str]:
    """Yield *dates* as they are written, those of access first: they are of the same kind."""
    listed = [*dates]
    accessed = (date.text for date in listed if date.basis == "accessed")
    yield from chain(accessed, (date.text for date in listed))


def dated(day: str, *like: str) -> str:
    """Return *day* (ISO 8601) in the notation of the first of *like* that has a known one."""
    moment = Moment(day.replace("-", ""))
    year, month, date = moment.digits[:4], int(moment.digits[4:6]), int(moment.digits[6:8])
    for written in like:
        if _ISO.fullmatch(written.strip()):
            return day
        if day_first := _DAY_FIRST.fullmatch(written.strip()):
            return f"{date} {_month(month, day_first[1])} {year}"
        if month_first := _MONTH_FIRST.fullmatch(written.strip()):
            return f"{_month(month, month_first[1])} {date}, {year}"
    return day


def _month(number: int, like: str) -> str:
    name = MONTH_NAMES[number - 1]
    # May is the same in both lengths.
    return name[:3] if len(like) == 3 and like.lower() != "may" else name
