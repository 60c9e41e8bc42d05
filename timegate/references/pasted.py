"""What a person pasted or a program sent: one identifier, a text with references, or a list."""

from collections.abc import Sequence
from datetime import datetime
from io import BytesIO
from typing import Final, NamedTuple

from archives.diagnostics import Malformed
from archives.registry import Registry
from timegate.identifiers import parse_wrapped
from timegate.identifiers.model import ParsedIdentifier
from timegate.references.broken_lines import has_broken_pwid
from timegate.references.formats import extract, format_of, is_reference
from timegate.references.lines import Columns, read_json, read_table
from timegate.references.links import is_identifier
from timegate.references.model import FoundReference, Item, place_of
from timegate.references.places import is_other_page


class Pasted(NamedTuple):
    """A pasted text."""

    reading: ParsedIdentifier | None
    """The identifier that the text is, as a whole; None if it is anything else."""
    found: tuple[FoundReference, ...] = ()


_BLANK: Final = "control-or-space"


class NoReference(Malformed):
    """A text of several words without a link."""

    def __init__(self) -> None:
        why = (
            "there is no link in this text: write a URL such as http://example.org/, a PWID or "
            "a duri, or paste the citation with its link"
        )
        super().__init__(_BLANK, why, 0)

    def __str__(self) -> str:
        return self.why


def read_pasted(text: str, registry: Registry, now: datetime) -> Pasted:
    """Return the identifier that *text* is, or the references in it.

    A date of access after *now* is not certain.

    Raises Malformed if it is neither.
    """
    stripped = text.strip()
    complaint: Malformed | None = None
    if is_identifier(stripped):
        try:
            reading = parse_wrapped(stripped, registry)
        except Malformed as error:
            complaint = error
        else:
            joined = "".join(stripped.split())
            if not (_is_opaque(reading) or is_other_page(joined, reading, registry)):
                return Pasted(reading)
    found = extract(stripped, registry, now)
    if any(each.kind != "faulty" for each in found):
        return Pasted(None, found)
    if complaint is None:
        return Pasted(parse_wrapped(stripped, registry))
    if complaint.code == _BLANK and not found:
        raise NoReference from complaint
    raise complaint


def _is_opaque(reading: ParsedIdentifier) -> bool:
    """Whether it is an archive link that does not contain the URL of its page."""
    return reading.kind.is_archive_link and reading.identifier.item is None


_LISTS: Final = {
    "application/json": "json",
    "text/csv": "csv",
    "application/xml": "xml",
    "text/xml": "xml",
}
"""Media types of lists; others are detected."""


def read_list(
    body: bytes, media_type: str, registry: Registry, now: datetime
) -> Sequence[Item] | None:
    """Return the references of a list; None if each line is a reference of its own.

    Raises BadInput.
    """
    text = body.decode(errors="surrogateescape")
    form = _LISTS.get(media_type, "lines")
    if form == "lines" or format_of("-", body) == "jsonl":
        form = _form_without_type(text, body)
    if form == "json":
        return [*read_json(text)]
    if form == "csv":
        reads = read_table(BytesIO(body), Columns(), lambda cell: is_reference(cell, registry))
        return [*reads]
    if form in ("xml", "text"):
        return [place_of(found).item for found in extract(text, registry, now)]
    return None


def _form_without_type(text: str, body: bytes) -> str:
    """Return the form of a list; a line with commas may be a URL, so CSV is not guessed."""
    if has_broken_pwid(text):
        return "text"
    form = format_of("-", body)
    return form if form in ("json", "xml") else "lines"
