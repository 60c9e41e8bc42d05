"""Reads the form of the search page: a field for any reference, and an optional date."""

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlencode

from archives.diagnostics import Diagnostic, Malformed
from archives.moment import Moment
from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.identifiers import parse, parse_wrapped
from timegate.identifiers.model import ParsedIdentifier
from timegate.resolution.model import Query
from timegate.resolution.query import NotNegotiable, query_for, query_for_url
from timegate.responses.problems import status_of_refusal
from timegate.text import masked
from timegate.text.times import read_time

_REFERENCE: Final = compiled(
    r"(?<![\w/:.-])(?:urn:pwid:|pwid:|duri:|tdb:|pdi://|https?+://)\S++(\s*+)",
    re.IGNORECASE,
)
_ENDS_A_SENTENCE: Final = ".,;:!?'\">]}\u00bb\u2019\u201c\u201d"


class Pasted(NamedTuple):
    """A reference found in a longer text."""

    identifier: str
    at: Moment | None
    """The time that the rest of the text states; None if it is not a time."""


def reference_in(text: str) -> Pasted | None:
    """Return the only reference in *text*; None if there are none or several."""
    matches = list(_REFERENCE.finditer(text))
    references = {_bare(match[0]) for match in matches}
    if len(references) != 1 or any("\n" in match[1] for match in matches):
        return None
    rest = text[: matches[0].start()] + text[matches[-1].end() :]
    return Pasted(references.pop(), _time(rest))


def _bare(word: str) -> str:
    """Return *word* without the closing punctuation, quotes and brackets behind it."""
    bare = word.rstrip().rstrip(_ENDS_A_SENTENCE)
    while bare.endswith(")") and bare.count(")") > bare.count("("):
        bare = bare[:-1].rstrip(_ENDS_A_SENTENCE)
    return bare


def _time(text: str) -> Moment | None:
    date = text.strip(" \t\r\n,;()[]")
    try:
        return read_time(date) if len(date) <= _LONGEST_DATE else None
    except ValueError:
        return None


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


def read_form(form: FormFields, registry: Registry) -> FormQuery:
    """Return the query of *form*. Raises FormRejection."""
    reading, pasted = _read(form.q, registry)
    remarks = [] if pasted is None else [f"Reference found in your text: {pasted.identifier}"]
    document = reading.identifier.document
    if document is not None:
        # The identifier names a thing; archives hold the document that describes it (D-8).
        remarks.append(
            "This identifier names a thing. Below is the document that describes it."
        )
        reading = parse(document, registry)
    at = _date(form.at) or (pasted and pasted.at)
    try:
        query = query_for(reading, registry)
        if at is not None and not reading.kind.states_time:
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
    return FormQuery(query, reading.diagnostics, tuple(remarks))


def _read(text: str, registry: Registry) -> tuple[ParsedIdentifier, Pasted | None]:
    """Return the reference in *text*, and how it was found if there is more text."""
    try:
        return parse_wrapped(text, registry), None
    except Malformed as complaint:
        pasted = reference_in(text)
        if pasted is not None:
            with suppress(Malformed):
                return parse(pasted.identifier, registry), pasted
        where = f"{complaint.why}, at character {complaint.position + 1}"
        title = "The reference cannot be read"
        caret = Caret.at(text, complaint.position)
        raise FormRejection(status_of_refusal(complaint), title, where, caret) from complaint


def _date(text: str) -> Moment | None:
    if len(text) > _LONGEST_DATE:
        raise FormRejection(400, "The date cannot be read", "it is too long for a date")
    try:
        return read_time(text)
    except ValueError as error:
        raise FormRejection(400, "The date cannot be read", str(error)) from error
