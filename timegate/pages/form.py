"""Reads the form of the search page: a field for any reference, and an optional date."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qsl
from zlib import crc32

from archives.diagnostics import Diagnostic, Malformed
from archives.moment import Moment
from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.citations import NO_DESCRIPTION, PageDescription
from timegate.citations.pasted import described_by, own_texts
from timegate.identifiers import parse
from timegate.identifiers.model import ParsedIdentifier
from timegate.pages.choices import (
    LONGEST_ADDRESS,
    Choice,
    SeveralReferences,
    Unresolvable,
    date_choices,
    search_again,
    search_of,
)
from timegate.pages.own_addresses import OwnAddresses, OwnReference
from timegate.references.pasted import NoReference, read_pasted
from timegate.resolution.model import Query
from timegate.resolution.query import (
    NotNegotiable,
    of_cited_copy,
    query_for,
    query_for_url,
)
from timegate.responses.answer_view import spoken
from timegate.responses.problems import status_of_refusal
from timegate.text import masked
from timegate.text.times import read_time
from timegate.verdict.words import DOUBTED, DOUBTED_LINK

if TYPE_CHECKING:
    from timegate.references.model import FoundReference

MOST_TEXT: Final = 100_000
"""Characters of a pasted text: some 1,500 references, which are read in half a second."""
_LOOK: Final = "verify=content"
_MOST_FIELDS: Final = 10
_LONGEST_DATE: Final = 64
_MOST_DATES: Final = 5
_NO_REFERENCE: Final = "No reference found"
_NO_LINK: Final = compiled(r"[^.:/%]*+")
"""A word that cannot have been meant as a link or an identifier."""
_CONTEXT: Final = 60
"""Characters shown on each side of the wrong one."""


class FormFields(NamedTuple):
    """The fields of the form."""

    q: str = ""
    at: str = ""
    last: str = ""
    """The mark of the search for which the form was filled in before; a hidden field."""
    verify: str = ""
    """What is to be looked at beside the copy; only ``content`` has a meaning."""

    @classmethod
    def of(cls, rest: str) -> "FormFields":
        """Read ``?q=...&at=...&last=...&verify=...``; other fields are ignored."""
        query = rest.removeprefix("?")
        pairs = parse_qsl(query, errors="replace") if query.count("&") < _MOST_FIELDS else []
        fields = dict(pairs)
        at, last = fields.get("at", "").strip(), fields.get("last", "")
        verify = fields.get("verify", "")
        return cls(fields.get("q", "").strip(" \t\r\n"), at, last, verify)

    @property
    def address(self) -> str:
        """The query string of the text, the date, and whether the content is looked at."""
        look = f"&{_LOOK}" if self.is_look else ""
        return f"{search_of(self.q, self.at)}{look}" if self.q else ""

    @property
    def is_look(self) -> bool:
        """Whether the content of the copy is to be compared with that of others."""
        return self.verify == "content"

    @property
    def look(self) -> str:
        """The query string of the same search that looks at the content; empty if too long."""
        address = self._replace(verify="content").address
        return address if len(address) <= LONGEST_ADDRESS else ""

    @property
    def mark(self) -> str:
        """The date, and a checksum of the text with which it was searched; else empty."""
        text = " ".join(self.q.split())
        return f"{crc32(text.encode()):08x} {self.at}" if self.at else ""

    @property
    def is_date_left(self) -> bool:
        """Whether the date was left in the field from an earlier search for another text."""
        is_same_date = bool(self.at) and self.last.partition(" ")[2] == self.at
        return is_same_date and self.last != self.mark

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
    other: Choice | None = None
    """The search with the date that was not used, if both the text and the field have one."""
    is_field_cleared: bool = False
    """Whether the date in the field is of an earlier search, and was not used."""
    described: PageDescription = NO_DESCRIPTION
    """What the text says about the page, for citations."""
    text: str = ""
    """The whole text, with which another date is searched for."""

    def field(self, form: FormFields) -> FormFields:
        """Return the form to show: without the date of an earlier search that was not used."""
        return form._replace(at="") if self.is_field_cleared else form

    @property
    def doubt(self) -> str:
        """The headline if another date or link may be meant; else empty."""
        if self.found is None or not self.found.dates.doubt:
            return ""
        return DOUBTED_LINK if self.found.is_link_doubted else DOUBTED

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Searches with the dates that were not used, if they may be meant."""
        doubted = (
            date_choices(self.found, self.text) if self.found is not None and self.doubt else ()
        )
        return (*([self.other] if self.other else []), *doubted)


def read_form(
    form: FormFields, registry: Registry, now: datetime, own: OwnAddresses | None = None
) -> FormQuery:
    """Return the query of *form* at *now*. Raises FormRejection and SeveralReferences.

    Addresses that begin as *own* are read as the references in them.
    A date in the field counts, unless the text has one and that in the field was left from an
    earlier search. The date that is not used is named, with a search for it.
    """
    if form.length > MOST_TEXT:
        why = (
            f"it has {form.length:,} characters, and this page reads {MOST_TEXT:,}. Paste it "
            "in parts, or save it as a file and run: timegate resolve --batch FILE"
        )
        raise FormRejection(413, "The text is too long", why)
    address = None if own is None else own.read(form.q)
    remarks = []
    if address is not None:
        form = _of_address(address, form)
        remarks.append(f"The address is one of this server. The reference in it: {form.q}")
    at = _date(form.at)
    reading, found = _read(form.q, at, registry, now)
    if found is not None:
        remarks.append(f"Reference found in your text: {found.identifier}")
    document = reading.identifier.document
    if document is not None:
        # The identifier names a thing; archives hold the document that describes it (D-8).
        remarks.append(
            "This identifier names a thing. Below is the document that describes it."
        )
        reading = parse(document, registry)
    try:
        query = query_for(reading, registry)
        states_time = reading.kind.states_time and query.at is not None
        dates = _both_dates(form, at, found, query.original if states_time else None)
        remarks += dates.said
        if dates.at is not None and not states_time:
            query = query_for_url(query.original, dates.at, reading.diagnostics)
        remarks += _said_of_future(query, now)
    except NotNegotiable as error:
        status = 404 if error.code == "unknown-archive" else 422
        raise FormRejection(
            status, "Archives cannot be searched for this", str(error)
        ) from error
    described = NO_DESCRIPTION
    if found is not None:
        query = of_cited_copy(query, found.others, registry)
        described = described_by(found, form.q, registry)
        found = found.undated if dates.is_of_field else found
    return FormQuery(
        query,
        reading.diagnostics,
        tuple(remarks),
        found,
        dates.other,
        dates.other is not None and form.is_date_left and not dates.is_of_field,
        described,
        form.q,
    )


def _said_of_future(query: Query, now: datetime) -> tuple[str, ...]:
    if query.at is None or query.at.window[0] <= now:
        return ()
    asked = spoken(query.at)
    return (
        f"The requested time, {asked}, is in the future: no archive can have a copy of then",
    )


def _of_address(address: OwnReference, form: FormFields) -> FormFields:
    """Return the form for the reference in an address of this server. Raises Unresolvable."""
    if address.is_list:
        from timegate.references import TextSpan  # noqa: PLC0415
        from timegate.references.model import FoundReference  # noqa: PLC0415

        url = address.reference
        said = ("The address is one of this server",)
        raise Unresolvable(
            FoundReference(url, url, TextSpan(0, len(url)), kind="captures", notes=said)
        )
    last = form.last if form.is_date_left else ""
    at = address.at or form.at
    return FormFields(address.reference, at, "" if address.at else last, form.verify)


class _UsedDate(NamedTuple):
    """Which is used of the date in the field and that in the text."""

    at: Moment | None
    said: tuple[str, ...] = ()
    other: Choice | None = None
    """The search with the other date."""
    is_of_field: bool = False
    """Whether the date in the field is used, and that of the text is another or none."""


def _both_dates(
    form: FormFields, at: Moment | None, found: "FoundReference | None", dated: str | None
) -> _UsedDate:
    """Return the date to use of that in the field, *at*, and that in the text.

    *dated* is the URL of a reference that states its time itself.
    """
    said = () if found is None else found.said
    if at is None:
        return _UsedDate(None if found is None else found.at, said)
    if dated is not None:
        ignored = (
            f"The reference has a date of its own, so the other date was ignored: {form.at}"
        )
        other = Choice(spoken(at), search_of(dated, form.at))
        return _UsedDate(None, (*said, ignored), other)
    return _UsedDate(at) if found is None else _beside(form, at, found)


def _beside(form: FormFields, at: Moment, found: "FoundReference") -> _UsedDate:
    """Return the date to use of *at*, that in the field, and those that stand in the text."""
    dates = found.dates
    if found.at == at and not dates.doubt:
        return _UsedDate(at, found.said)
    listed = [*([dates.used] if dates.used else []), *dates.unused]
    if not listed:
        return _UsedDate(at, found.notes, is_of_field=True)
    is_dated = found.at is not None or dates.doubt
    if form.is_date_left and is_dated:
        left = f"Not used: {form.at}, which was left in the Date field from an earlier search"
        search = Choice(spoken(at), search_again(found, form.q, at))
        return _UsedDate(found.at, (*found.said, left), search)
    passed = ", ".join(date.words for date in listed[:_MOST_DATES])
    used = f"Date used: {form.at}, the date in the Date field"
    name = "that of the text" if found.at is None else spoken(found.at)
    other = Choice(name, search_again(found, form.q, found.at)) if is_dated else None
    return _UsedDate(at, (*found.notes, used, f"Not used: {passed}"), other, is_of_field=True)


def _read(
    text: str, at: Moment | None, registry: Registry, now: datetime
) -> "tuple[ParsedIdentifier, FoundReference | None]":
    """Return the reference in *text*, and how it was found if there is more text."""
    try:
        pasted = read_pasted(text, registry, now)
    except NoReference as nothing:
        raise FormRejection(400, _NO_REFERENCE, nothing.why) from nothing
    except Malformed as complaint:
        if complaint.code == "item-not-absolute" and _NO_LINK.fullmatch(text):
            why = str(NoReference(text))
            raise FormRejection(400, _NO_REFERENCE, why) from complaint
        where = f"{complaint.why}, at character {complaint.position + 1}"
        title = "The reference cannot be read"
        caret = Caret.at(text, complaint.position)
        raise FormRejection(status_of_refusal(complaint), title, where, caret) from complaint
    if pasted.reading is not None:
        return pasted.reading, None
    usable = [found for found in pasted.found if found.kind != "faulty"]
    if len(usable) > 1:
        texts = own_texts(text.strip("\r\n").rstrip(), usable, registry, now)
        raise SeveralReferences(tuple(usable), at, tuple(texts))
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
