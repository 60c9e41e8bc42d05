"""Reads the form of the search page: a field for any reference, and an optional date."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qsl, urlencode

from archives.diagnostics import Diagnostic, Malformed
from archives.moment import Moment
from archives.registry import Registry
from timegate.citations import NO_DESCRIPTION, PageDescription
from timegate.citations.pasted import described_by
from timegate.identifiers import parse
from timegate.identifiers.model import ParsedIdentifier
from timegate.pages.choices import Choice, SeveralReferences, Unresolvable, date_choices
from timegate.references.pasted import NoReference, read_pasted
from timegate.resolution.model import Query
from timegate.resolution.query import (
    NotNegotiable,
    of_cited_copy,
    query_for,
    query_for_url,
)
from timegate.responses.problems import status_of_refusal
from timegate.text import masked
from timegate.text.times import read_time

if TYPE_CHECKING:
    from timegate.references.model import FoundReference

MOST_TEXT: Final = 100_000
"""Characters of a pasted text: some 1,500 references, which are read in half a second."""
LONGEST_ADDRESS: Final = 7_500
"""Octets of the fields in an address. Many proxies refuse request lines of more than 8 kB."""
_MOST_FIELDS: Final = 10
_LONGEST_DATE: Final = 64
_CONTEXT: Final = 60
"""Characters shown on each side of the wrong one."""


class FormFields(NamedTuple):
    """The fields of the form."""

    q: str = ""
    at: str = ""

    @classmethod
    def of(cls, rest: str) -> "FormFields":
        """Read ``?q=...&at=...``; other fields are ignored."""
        query = rest.removeprefix("?")
        pairs = parse_qsl(query, errors="replace") if query.count("&") < _MOST_FIELDS else []
        fields = dict(pairs)
        return cls(fields.get("q", "").strip(" \t\r\n"), fields.get("at", "").strip())

    @property
    def address(self) -> str:
        """The query string of these fields."""
        return urlencode({name: value for name, value in self._asdict().items() if value})

    @property
    def length(self) -> int:
        """Characters of the text; browsers send a line break as two."""
        return len(self.q) - self.q.count("\r\n")


class Caret(NamedTuple):
    """An error in a text: what is before it, the wrong character, what is after it."""

    before: str
    wrong: str
    after: str

    @classmethod
    def at(cls, text: str, position: int) -> "Caret":
        """Return the context of *position* in *text*, with line breaks as spaces."""
        start = max(position - _CONTEXT, 0)
        parts = [
            masked(part, " ")
            for part in (
                text[start:position],
                text[position : position + 1],
                text[position + 1 : position + 1 + _CONTEXT],
            )
        ]
        return cls(("... " if start else "") + parts[0], parts[1], parts[2])


class FormRejection(Exception):
    """The form does not contain a reference that can be resolved."""

    def __init__(self, status: int, title: str, why: str, caret: Caret | None = None) -> None:
        super().__init__(why)
        self.status = status
        self.title = title
        self.why = why
        self.caret = caret


@dataclass(frozen=True, slots=True)
class FormQuery:
    """The query of a form, and notes on how the form was read."""

    query: Query
    diagnostics: tuple[Diagnostic, ...] = ()
    remarks: tuple[str, ...] = ()
    found: "FoundReference | None" = None
    """The reference in a longer text; None if the text is the reference."""
    described: PageDescription = NO_DESCRIPTION
    """What the text says about the page, for citations."""

    @property
    def doubt(self) -> bool:
        """Whether another date may be meant, so that no copy is certainly as requested."""
        return self.found is not None and self.found.dates.doubt

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Searches with the dates that were not used, if they may be meant."""
        return date_choices(self.found) if self.found is not None and self.doubt else ()


def read_form(form: FormFields, registry: Registry, now: datetime) -> FormQuery:
    """Return the query of *form* at *now*. Raises FormRejection and SeveralReferences."""
    if form.length > MOST_TEXT:
        why = (
            f"it has {form.length:,} characters, and this page reads {MOST_TEXT:,}. Paste it "
            "in parts, or save it as a file and run: timegate resolve --batch FILE"
        )
        raise FormRejection(413, "The text is too long", why)
    at = _date(form.at)
    reading, found = _read(form.q, registry, now)
    remarks = []
    if found is not None:
        # A date in the field was given on purpose: no other is searched for.
        found = found.undated if at is not None else found
        remarks = [f"Reference found in your text: {found.identifier}", *found.said]
    document = reading.identifier.document
    if document is not None:
        # The identifier names a thing; archives hold the document that describes it (D-8).
        remarks.append(
            "This identifier names a thing. Below is the document that describes it."
        )
        reading = parse(document, registry)
    at = at or (found and found.at)
    try:
        query = query_for(reading, registry)
        if at is not None and (not reading.kind.states_time or query.at is None):
            query = query_for_url(query.original, at, reading.diagnostics)
        elif at is not None:
            remarks.append(
                "The reference has a date of its own, so the other date was ignored."
            )
    except NotNegotiable as error:
        status = 404 if error.code == "unknown-archive" else 422
        raise FormRejection(
            status, "Archives cannot be searched for this", str(error)
        ) from error
    if found is None:
        return FormQuery(query, reading.diagnostics, tuple(remarks))
    query = of_cited_copy(query, found.others, registry)
    described = described_by(found, form.q, registry)
    return FormQuery(query, reading.diagnostics, tuple(remarks), found, described)


def _read(
    text: str, registry: Registry, now: datetime
) -> "tuple[ParsedIdentifier, FoundReference | None]":
    """Return the reference in *text*, and how it was found if there is more text."""
    try:
        pasted = read_pasted(text, registry, now)
    except NoReference as nothing:
        raise FormRejection(400, "No reference found", nothing.why) from nothing
    except Malformed as complaint:
        where = f"{complaint.why}, at character {complaint.position + 1}"
        title = "The reference cannot be read"
        caret = Caret.at(text, complaint.position)
        raise FormRejection(status_of_refusal(complaint), title, where, caret) from complaint
    if pasted.reading is not None:
        return pasted.reading, None
    usable = [found for found in pasted.found if found.kind != "faulty"]
    if len(usable) > 1:
        raise SeveralReferences(tuple(usable))
    found = usable[0]
    if found.kind != "reference":
        raise Unresolvable(found)
    return parse(found.identifier, registry), found


def _date(text: str) -> Moment | None:
    if len(text) > _LONGEST_DATE:
        raise FormRejection(400, "The date cannot be read", "it is too long for a date")
    try:
        return read_time(text)
    except ValueError as error:
        raise FormRejection(400, "The date cannot be read", str(error)) from error
