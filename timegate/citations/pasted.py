"""What a pasted citation says about its page, and the citation itself with a copy added."""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, cast, get_args

from archives.diagnostics import Malformed
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
from timegate.citations.prose import ProseCitation, read_citation_in_prose
from timegate.references import InputFormat, TextSpan
from timegate.references.pasted import read_pasted

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
    # Here, because an identifier needs no reader of formats.
    from timegate.references.detection import detected  # noqa: PLC0415

    text = text.strip()
    form = detected(text) if len(text) <= _LONGEST else None
    prose = read_citation_in_prose(text) if form in _PROSE else ProseCitation()
    status = found.url_status if found.url_status in get_args(UrlStatus) else None
    return PageDescription(
        found.title or prose.title,
        cast("UrlStatus | None", status),
        _accessed(found),
        None if form is None else _citation(found, text, form, registry),
        prose.authors,
        prose.year,
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


def _citation(
    found: "FoundReference", text: str, form: InputFormat, registry: Registry
) -> PastedCitation | None:
    """Return *text* as a citation to which a copy can be added; None if it is none."""
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


def own_texts(
    text: str, found: "Sequence[FoundReference]", registry: Registry, now: datetime
) -> Iterator[str]:
    """Yield, for each of several references *found* in *text*, the text of its citation.

    It is empty if there is none that is read alike without the text around it.
    """
    spans = [each.span for each in found]
    for each in found:
        others = [span for span in spans if span != each.span]
        cuts = _texts_around(text, each.span, others) if each.kind == "reference" else ()
        alike = (cut for cut in islice(cuts, 2) if _is_read_alike(cut, each, registry, now))
        yield next(alike, "")


def _is_read_alike(
    cut: str, found: "FoundReference", registry: Registry, now: datetime
) -> bool:
    """Whether the only reference in *cut* is *found*, and *cut* describes its page."""
    try:
        read = read_pasted(cut, registry, now).found
    except Malformed:
        return False
    only = [each for each in read if each.kind != "faulty"]
    if len(only) != 1 or _meaning(only[0]) != _meaning(found):
        return False
    described = described_by(only[0], cut, registry)
    return bool(described.pasted or described.title)


def _meaning(found: "FoundReference") -> tuple[object, ...]:
    return found.identifier, found.kind, found.at, found.dates.doubt, found.others


def _texts_around(text: str, link: TextSpan, others: Sequence[TextSpan]) -> Iterator[str]:
    """Yield the parts of *text* that may be the citation with *link*, likeliest first.

    None contains one of *others*, the links of other citations, or is too long.
    """
    seen = set()
    for span in filter(None, (part(text, link) for part in _PARTS)):
        is_shared = any(span.start < each.end and each.start < span.end for each in others)
        cut = text[slice(*span)].strip()
        if is_shared or len(cut) > MOST_CARRIED or cut in seen:
            continue
        seen.add(cut)
        yield cut


MOST_CARRIED: Final = 2_000
"""Characters of a citation that addresses carry."""


def _element(text: str, link: TextSpan) -> TextSpan | None:
    """Return what is between ``<ref>`` and ``</ref>`` around *link*."""
    start = text.rfind("<ref", max(link.start - MOST_CARRIED, 0), link.start)
    begin = text.find(">", start, link.start) + 1 if start >= 0 else 0
    end = text.find("</ref", link.end, link.end + MOST_CARRIED)
    if not begin or end < 0 or "</ref" in text[begin : link.start]:
        return None
    return TextSpan(begin, end)


def _braced(text: str, link: TextSpan) -> TextSpan | None:
    """Return the outermost template, or the entry of BibTeX, around *link*."""
    opening: list[int] = []
    begin = max(link.start - MOST_CARRIED, 0)
    for brace in _BRACE.finditer(text, begin, link.end + MOST_CARRIED):
        at = brace.start()
        if brace[0] != "}":
            opening.append(at)
        elif opening:
            start = opening.pop()
            if not opening and start <= link.start and at >= link.end:
                return TextSpan(start, brace.end())
    return None


_BRACE: Final = compiled(r"@[A-Za-z]{1,20}\s{0,9}\{|[{}]")


def _record(text: str, link: TextSpan) -> TextSpan | None:
    """Return the record of RIS around *link*."""
    start = text.rfind("TY  - ", max(link.start - MOST_CARRIED, 0), link.start)
    end = text.find("ER  -", link.end, link.end + MOST_CARRIED)
    return None if start < 0 or end < 0 else TextSpan(start, end + len("ER  -"))


def _between(mark: str) -> Callable[[str, TextSpan], TextSpan | None]:
    """Return a function for what is around a link, up to the next *mark* on each side."""

    def part(text: str, link: TextSpan) -> TextSpan | None:
        start = text.rfind(mark, max(link.start - MOST_CARRIED, 0), link.start)
        end = text.find(mark, link.end, link.end + MOST_CARRIED)
        return TextSpan(start + len(mark) if start >= 0 else 0, end if end >= 0 else len(text))

    return part


_PARTS: Final = (_element, _record, _braced, *map(_between, ("\n\n", "\r\n\r\n", "\n")))


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
