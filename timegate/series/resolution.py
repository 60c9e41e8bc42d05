"""From a PDI to the bytes that it names: version, format, fragment and citation (3.6.3).

What differs from the name is in the members of the verdict; what is not there is `NotThere`.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar, TypeVarTuple

from archives.warc.files import Damaged
from timegate.identifiers.pdi import Pdi
from timegate.responses.model import weight
from timegate.series import Representation, SeriesDocument
from timegate.series.catalogue import document_name
from timegate.series.citations import CitationCheck, compared
from timegate.series.formats import base_type, media_type_of
from timegate.series.fragments import (
    BadFragment,
    DocumentPart,
    OutOfRange,
    Unextracted,
    extracted,
    read_fragment,
)
from timegate.series.opening import AllSeries, OpenSeries
from timegate.series.records import body_of
from timegate.verdict import Member

Members = tuple[tuple[str, Member], ...]
_LONGEST_WHY: Final = 200
_LOG: Final = logging.getLogger("timegate.series")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class NotThere(Exception):
    """The PDI names nothing here. *kind* is that of the problem."""

    def __init__(
        self,
        detail: str,
        *,
        status: int = 404,
        kind: str = "not-found",
        document: SeriesDocument | None = None,
        size: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.document = document
        """The document of which this is no version or format; None if there is none."""
        self.size = size
        """The size of the document of which this is no part."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a PDI names."""

    pdi: str
    """The fully qualified name of the content, with its fragment."""
    representation: Representation
    document: SeriesDocument
    media_type: str
    body: bytes
    """Empty if the representation is bound to a URI."""
    members: Members
    """Of the verdict."""
    negotiated: bool
    """Whether the format was chosen by ``Accept``."""
    is_qualified: bool
    """Whether the PDI has format and version, so that its content never changes."""
    citation: CitationCheck | None = None


class _Choice(NamedTuple):
    representation: Representation
    version: Member
    format: Member


async def found_document(series: OpenSeries, pdi: Pdi) -> SeriesDocument:
    """Return the document of *pdi*. Raises NotThere and CatalogueFailed."""
    name = document_name(pdi)
    document = await reading(series.catalogue.document, name)
    if document is None:
        raise NotThere(f"{name} was never minted")
    return document


class CatalogueFailed(Exception):
    """The catalogue or a file of the series cannot be read."""


async def reading(read: Callable[[*Ts], T], *values: *Ts) -> T:
    """Call *read* in a thread. Raises CatalogueFailed."""
    try:
        return await asyncio.to_thread(read, *values)
    except (OSError, sqlite3.Error, Damaged) as error:
        _LOG.error("a series cannot be read: %s", error)
        raise CatalogueFailed(f"the series cannot be read: {type(error).__name__}") from error


async def resolve(
    series: AllSeries, site: OpenSeries, pdi: Pdi, accept: str | None
) -> Resolved:
    """Return what *pdi* names; *accept* chooses the format if it has none.

    Raises NotThere and CatalogueFailed.
    """
    document = await found_document(site, pdi)
    choice = chosen(document, pdi, accept)
    found = choice.representation
    body = b""
    if found.location is not None:
        body = await reading(body_of, found.location)
    part = None if pdi.fragment is None else await _part(pdi.fragment, found, body)
    citation = None
    if pdi.cites is not None:
        citation = await cited(series, pdi, found, body)
    members = _members(choice, pdi, part, citation)
    is_part = isinstance(part, DocumentPart)
    suffix = pdi.suffix if is_part or pdi.cites is not None else ""
    return Resolved(
        found.pdi + suffix,
        found,
        document,
        part.media_type if isinstance(part, DocumentPart) else found.media_type,
        part.body if isinstance(part, DocumentPart) else body,
        members,
        pdi.format is None,
        pdi.format is not None and pdi.version is not None,
        citation,
    )


def chosen(document: SeriesDocument, pdi: Pdi, accept: str | None) -> _Choice:
    """Return the representation that *pdi* names. Raises NotThere."""
    if pdi.format is None:
        return _negotiated(document, accept)
    of_format = _of_format(document.representations, pdi.format)
    if pdi.version is None:
        if not of_format:
            raise _missing(document, f"has no format {pdi.format}")
        highest = max(each.version for each in of_format)
        version = _version("highest", highest, document)
    else:
        highest = int(pdi.version)
        version = _version("exact", highest, document)
    found = next((each for each in of_format if each.version == highest), None)
    if found is None:
        raise _missing(document, f"has no {pdi.format} in version {highest}")
    return _Choice(found, version, Member("exact", {"got": found.format}))


def _negotiated(document: SeriesDocument, accept: str | None) -> _Choice:
    """Choose by ``Accept`` among the formats of the highest version; the first of equals."""
    highest = document.highest
    offers = sorted(
        (each for each in document.representations if each.version == highest),
        key=lambda each: (each.stamp, each.format),
    )
    best = offers[0]
    if (accept or "").strip():
        best = max(offers, key=lambda each: weight(accept or "", base_type(each.media_type)))
        if not weight(accept or "", base_type(best.media_type)):
            detail = f"{document.name} has the formats {_words(document.formats)}"
            raise NotThere(detail, status=406, kind="not-acceptable", document=document)
    version = _version("highest", highest, document)
    return _Choice(best, version, Member("negotiated", {"got": best.format}))


def _of_format(offers: Sequence[Representation], token: str) -> list[Representation]:
    """Return those in the format *token*; else those of its media type, by another token."""
    same = [each for each in offers if each.format == token]
    expected = media_type_of(token)
    if same or expected is None:
        return same
    return [each for each in offers if each.media_type == expected]


def _version(value: str, got: int, document: SeriesDocument) -> Member:
    return Member(value, {"got": got, "highest": document.highest})


def _missing(document: SeriesDocument, what: str) -> NotThere:
    offered = _words(
        [each.pdi.removeprefix(f"{document.name}.") for each in document.representations]
    )
    return NotThere(f"{document.name} {what}; there are {offered}", document=document)


def _words(names: Sequence[str]) -> str:
    return ", ".join(names)


async def _part(text: str, found: Representation, body: bytes) -> DocumentPart | Unextracted:
    """Return the part of a representation. Raises NotThere."""
    if found.is_bound:
        return Unextracted("the document is elsewhere")
    try:
        fragment = read_fragment(text, found.media_type)
        return await asyncio.to_thread(extracted, fragment, found.media_type, body)
    except OutOfRange as error:
        raise NotThere(str(error), size=error.size) from error
    except BadFragment as error:
        raise NotThere(str(error), status=400, kind="bad-identifier") from error


async def cited(
    series: AllSeries, pdi: Pdi, citing: Representation, body: bytes
) -> CitationCheck:
    """Return whether the cited fragment stands in the citing document, as far as is known."""
    target = pdi.cites
    site = None if target is None else series.get(target.series)
    origin = pdi.origin or ""
    if target is None or site is None or site.settings.name != target.series:
        return CitationCheck(origin, "unknown", "the cited series is not served here")
    if target.cites is not None:
        return CitationCheck(origin, "unknown", "the citation of a citation is not looked up")
    try:
        document = await found_document(site, target)
        found = chosen(document, target, None).representation
        if found.location is None or citing.location is None:
            return CitationCheck(origin, "unknown", "a document is elsewhere")
        quoted = await reading(body_of, found.location)
        return await asyncio.to_thread(
            compared, origin, citing.media_type, body, target.fragment, found.media_type, quoted
        )
    except NotThere as error:
        return CitationCheck(origin, "unknown", str(error))


def _members(
    choice: _Choice,
    pdi: Pdi,
    part: DocumentPart | Unextracted | None,
    citation: CitationCheck | None,
) -> Members:
    bound = choice.representation.is_bound
    ignored = isinstance(part, Unextracted)
    differs = citation is not None and citation.result != "quoted"
    match = "promised" if bound else "approximate" if ignored or differs else "exact"
    members = [
        ("match", Member(match)),
        ("evidence", Member("promised" if bound else "held")),
        ("version", choice.version),
        ("format", choice.format),
    ]
    if isinstance(part, DocumentPart):
        members.append(("coverage", Member("as-requested", {"req": "part", "got": "part"})))
        params = {"req": pdi.fragment or "", "size": part.size}
        members.append(("fragment", Member("applied", params)))
    elif part is not None:
        req = f"fragment {pdi.fragment}"
        members.append(("coverage", Member("degraded", {"req": req, "got": "document"})))
        why = part.why[:_LONGEST_WHY]
        members.append(("fragment", Member("ignored", {"req": pdi.fragment or "", "why": why})))
    if citation is not None:
        params = {"position": citation.origin, "why": citation.why[:_LONGEST_WHY]}
        members.append(("citation", Member(citation.result, params)))
    members.append(("content", _content(choice.representation, part)))
    return tuple(members)


def _content(found: Representation, part: DocumentPart | Unextracted | None) -> Member:
    if found.is_bound:
        return Member("unknown", {"binding": found.uri or ""})
    converted = isinstance(part, DocumentPart) and base_type(part.media_type) != base_type(
        found.media_type
    )
    digest = {"digest": found.digest or ""}
    return Member("rendered" if converted else "raw", digest)
