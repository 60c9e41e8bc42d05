"""What a person typed into the page: one field that takes anything, and perhaps a date."""

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
    """What was found in a text."""

    identifier: str
    at: Moment | None
    """The time that is the rest of the text; None where that is no time."""


def reference_in(text: str) -> Pasted | None:
    """Return the one reference in *text*; None where there is none, or no telling which."""
    found = list(_REFERENCE.finditer(text))
    names = {_bare(match[0]) for match in found}
    if len(names) != 1 or any("\n" in match[1] for match in found):
        return None
    rest = text[: found[0].start()] + text[found[-1].end() :]
    return Pasted(names.pop(), _time(rest))


def _bare(word: str) -> str:
    """Return *word* without what closes a sentence, a quotation or a bracket behind it."""
    bare = word.rstrip().rstrip(_ENDS_A_SENTENCE)
    while bare.endswith(")") and bare.count(")") > bare.count("("):
        bare = bare[:-1].rstrip(_ENDS_A_SENTENCE)
    return bare


def _time(text: str) -> Moment | None:
    said = text.strip(" \t\r\n,;()[]")
    try:
        return read_time(said) if len(said) <= _LONGEST_DATE else None
    except ValueError:
        return None


_MOST_FIELDS: Final = 10
_LONGEST_DATE: Final = 64
_AROUND: Final = 60
"""Characters that are shown before and behind the wrong one."""


class FormFields(NamedTuple):
    """The fields as they were sent."""

    q: str = ""
    at: str = ""

    @classmethod
    def of(cls, rest: str) -> "FormFields":
        """Read ``?q=...&at=...``; what else stands there is not ours."""
        sent = rest.removeprefix("?")
        pairs = parse_qsl(sent, errors="replace") if sent.count("&") < _MOST_FIELDS else []
        fields = dict(pairs)
        return cls(fields.get("q", "").strip(" \t\r\n"), fields.get("at", "").strip())

    @property
    def address(self) -> str:
        """The query with which the same is asked again."""
        return urlencode({name: value for name, value in self._asdict().items() if value})


class Caret(NamedTuple):
    """The place of a mistake: what stands before, the wrong character, what follows."""

    before: str
    wrong: str
    after: str

    @classmethod
    def at(cls, text: str, position: int) -> "Caret":
        """Return the surroundings of *position* in *text*, line breaks as blanks."""
        start = max(position - _AROUND, 0)
        shown = [
            masked(part, " ")
            for part in (
                text[start:position],
                text[position : position + 1],
                text[position + 1 : position + 1 + _AROUND],
            )
        ]
        return cls(("... " if start else "") + shown[0], shown[1], shown[2])


class FormRejection(Exception):
    """What was typed cannot be asked for."""

    def __init__(self, status: int, title: str, why: str, caret: Caret | None = None) -> None:
        super().__init__(why)
        self.status = status
        self.title = title
        self.why = why
        self.caret = caret


@dataclass(frozen=True, slots=True)
class FormQuery:
    """What is asked, and what the reader has to say of how it was written."""

    query: Query
    complaints: tuple[Diagnostic, ...] = ()
    remarks: tuple[str, ...] = ()


def read_form(form: FormFields, registry: Registry) -> FormQuery:
    """Return what *form* asks for. Raises Refusal."""
    reading, meant = _read(form.q, registry)
    remarks = [] if meant is None else [f"Taken out of the text: {meant.identifier}"]
    document = reading.identifier.document
    if document is not None:
        # It names the thing; what archives hold is the document about it (D-8).
        remarks.append("This names a thing. Shown is the document that describes it.")
        reading = parse(document, registry)
    at = _date(form.at) or (meant and meant.at)
    try:
        query = query_for(reading, registry)
        if at is not None and not reading.kind.states_time:
            query = query_for_url(query.original, at, reading.diagnostics)
        elif at is not None:
            remarks.append("The reference says itself when; the date beside it was not used.")
    except NotNegotiable as error:
        status = 404 if error.code == "unknown-archive" else 422
        raise FormRejection(status, "No archive can be asked for this", str(error)) from error
    return FormQuery(query, reading.diagnostics, tuple(remarks))


def _read(text: str, registry: Registry) -> tuple[ParsedIdentifier, Pasted | None]:
    """Return the reference, and where it is a part of *text* only, that part."""
    try:
        return parse_wrapped(text, registry), None
    except Malformed as complaint:
        pasted = reference_in(text)
        if pasted is not None:
            with suppress(Malformed):
                return parse(pasted.identifier, registry), pasted
        where = f"{complaint.why}, at character {complaint.position + 1}"
        title = "This cannot be read"
        caret = Caret.at(text, complaint.position)
        raise FormRejection(status_of_refusal(complaint), title, where, caret) from complaint


def _date(text: str) -> Moment | None:
    if len(text) > _LONGEST_DATE:
        raise FormRejection(400, "The date cannot be read", "it is longer than any date")
    try:
        return read_time(text)
    except ValueError as error:
        raise FormRejection(400, "The date cannot be read", str(error)) from error
