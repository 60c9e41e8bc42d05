"""What a pasted citation says about its page, and the citation itself with a copy added."""

import re
from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, Final, Literal, cast, get_args

from archives.moment import Moment
from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.citations import PageDescription, PastedCitation, UrlStatus
from timegate.citations.archive_links import (
    Edit,
    dated,
    edited,
    link_edits,
    safe_link,
    styles_of,
)
from timegate.references import TextSpan

if TYPE_CHECKING:
    from timegate.references.dates import FoundDate
    from timegate.references.model import FoundReference, ReferencePlace

_LONGEST: Final = 4_000
"""Characters of a citation; a longer text is a document."""
_LEAST_WORDS: Final = 4
"""Of prose beside its link: less is no citation, but a URL with a date."""
_PROSE: Final = frozenset(("lines", "markdown", "rst", "latex", "text"))
_ENGLISH: Final = compiled(r"\{\{\s{0,9}(?:cite\s|citation\b)", re.IGNORECASE)
_STATUS: Final = compiled(r"\|\s{0,9}(?:url-status|dead-?url)\s{0,9}=", re.IGNORECASE)


def described_by(found: "FoundReference", text: str, registry: Registry) -> PageDescription:
    """Return what *text*, whose only reference is *found*, says of the page."""
    status = found.url_status if found.url_status in get_args(UrlStatus) else None
    return PageDescription(
        found.title,
        cast("UrlStatus | None", status),
        _accessed(found),
        _citation(found, text.strip(), registry),
    )


def _dates(found: "FoundReference") -> "tuple[FoundDate, ...]":
    return (*([found.dates.used] if found.dates.used else []), *found.dates.unused)


def _accessed(found: "FoundReference") -> date | None:
    """Return the day of access, if a day is stated for certain."""
    days = [
        each.moment.digits[:8]
        for each in _dates(found)
        if each.basis == "accessed" and each.moment and len(each.moment.digits) >= 8
    ]
    if len(set(days)) != 1:
        return None
    year, month, day = int(days[0][:4]), int(days[0][4:6]), int(days[0][6:])
    return date(year, month, day)


def _citation(found: "FoundReference", text: str, registry: Registry) -> PastedCitation | None:
    """Return *text* as a citation to which a copy can be added; None if it is none."""
    # Here, because an identifier needs no reader of formats.
    from timegate.references.detection import detected  # noqa: PLC0415

    if len(text) > _LONGEST:
        return None
    form = detected(text)
    if form in ("wikitext", "bibtex"):
        places = [*_places(text, form, registry)]
        if len(places) != 1 or places[0].link is None:
            return None
        return PastedCitation(text, form, places[0], places[0].dates)
    is_copy = found.dates.used is not None and found.dates.used.basis == "own"
    beside = len(text.replace(found.written, "").split())
    if form not in _PROSE or is_copy or found.others or beside < _LEAST_WORDS:
        return None
    return PastedCitation(text, "prose", None, _dates(found))


def _places(
    text: str, notation: Literal["wikitext", "bibtex"], registry: Registry
) -> "Iterator[ReferencePlace]":
    from timegate.references.bibtex import read_bibtex  # noqa: PLC0415
    from timegate.references.formats import is_archive_link  # noqa: PLC0415
    from timegate.references.wikitext import read_wikitext  # noqa: PLC0415

    if notation == "bibtex":
        return read_bibtex(text, lambda link: is_archive_link(link, registry))
    return read_wikitext(text, lambda _: False, living=True, adding=True)


def with_copy(
    pasted: PastedCitation, uri: str, captured: Moment, url_status: UrlStatus
) -> str | None:
    """Return the citation *pasted* with the copy at *uri*; None if it cannot be linked."""
    link, text, place = safe_link(uri), pasted.text, pasted.place
    if link is None:
        return None
    if place is None:
        day = dated(str(captured)[:10], *styles_of(pasted.dates))
        end = "" if text.endswith((".", "?", "!", "/")) or "://" in text.split()[-1] else "."
        return f"{text}{end} Archived at {link} on {day}."
    edits = [*link_edits(text, place, link, str(captured))]
    if edits and _ENGLISH.search(text) and not _STATUS.search(text):
        end_of_link = (place.date or place.link or TextSpan(0, 0)).end
        edits.append(Edit(TextSpan(end_of_link, end_of_link), f" |url-status={url_status}"))
    # At equal positions, the order stays: the link, its date, its status.
    edits.sort(key=lambda edit: edit.span)
    return b"".join(edited(text, edits)).decode(errors="replace")
