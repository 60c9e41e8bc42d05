"""What a person pasted or a program sent: one identifier, a text with references, or a list.

The readers of formats are imported for texts and lists only: an identifier needs none of them.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from archives.diagnostics import Malformed
from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.identifiers import SCHEMES, parse_wrapped
from timegate.identifiers.model import ParsedIdentifier
from timegate.references import Item
from timegate.references.broken_lines import has_broken_pwid
from timegate.references.links import find_links, is_identifier
from timegate.references.places import is_other_page, is_plain_url

if TYPE_CHECKING:
    from timegate.references.model import FoundReference


class Pasted(NamedTuple):
    """A pasted text."""

    reading: ParsedIdentifier | None
    """The identifier that the text is, as a whole; None if it is anything else."""
    found: "tuple[FoundReference, ...]" = ()


_BLANK: Final = "control-or-space"
_OTHER_SCHEME: Final = compiled(
    r"\b(ftps?|file|gopher|gemini|ipfs|magnet|smb|sftp|ssh)://", re.IGNORECASE
)


class NoReference(Malformed):
    """A text of several words without a link."""

    def __init__(self, text: str = "") -> None:
        other = _OTHER_SCHEME.search(text)
        what = (
            f"web archives hold http and https pages, not {other[1].lower()}"
            if other
            else "there is no link in this text"
        )
        why = (
            f"{what}: write a URL such as http://example.org/, a PWID or "
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
            is_other = is_other_page(joined, reading, registry) or _is_glued(stripped, reading)
            if not (_is_opaque(reading) or is_other):
                return Pasted(reading)
    from timegate.references.formats import extract  # noqa: PLC0415

    # The first line keeps its indentation, by which lists are told from citations.
    found = extract(text.strip("\r\n").rstrip(), registry, now)
    if any(each.kind != "faulty" for each in found):
        return Pasted(None, found)
    if complaint is not None:
        raise _refusal(stripped, complaint, found) from complaint
    try:
        return Pasted(parse_wrapped(stripped, registry))
    except Malformed as error:
        raise _refusal(stripped, error, found) from error


def _refusal(text: str, complaint: Malformed, found: "tuple[FoundReference, ...]") -> Malformed:
    """Return *complaint*, or for prose that it has no link."""
    if not found and (complaint.code == _BLANK or _is_prose(text)):
        return NoReference(text)
    return complaint


def _is_prose(text: str) -> bool:
    """Whether *text* has several words and does not begin as an identifier."""
    return len(text.split(maxsplit=1)) > 1 and text.partition(":")[0].lower() not in SCHEMES


def _is_opaque(reading: ParsedIdentifier) -> bool:
    """Whether it is an archive link that does not contain the URL of its page."""
    return reading.kind.is_archive_link and reading.identifier.item is None


def _is_glued(text: str, reading: ParsedIdentifier) -> bool:
    """Whether a line of a plain URL begins with another one: they are two references."""
    return is_plain_url(reading) and _LINE_OF_LINK.search(text) is not None


_LINE_OF_LINK: Final = compiled(r"[\r\n]\s{0,8}https?://", re.IGNORECASE)
_LISTS: Final = {
    "application/json": "json",
    "text/csv": "csv",
    "application/xml": "xml",
    "text/xml": "xml",
}
"""Media types of lists; others are detected."""
_MOST_OTHERS: Final = 100
"""Links of a list that are no references, such as namespaces."""


def are_lines(body: bytes, media_type: str) -> bool:
    """Whether each line of a list is certainly a reference of its own; a quick look."""
    text = body.decode(errors="surrogateescape")
    return media_type not in _LISTS and not _may_be_data(text) and not has_broken_pwid(text)


def read_list(
    body: bytes, media_type: str, registry: Registry, now: datetime, most: int
) -> Sequence[Item] | None:
    """Return the references of a list; None if each line is a reference of its own.

    Of a list with more than *most*, at least one more than that is returned. Raises BadInput.
    """
    from timegate.references.detection import format_of  # noqa: PLC0415
    from timegate.references.formats import extract, is_reference  # noqa: PLC0415
    from timegate.references.lines import Columns, read_json, read_table  # noqa: PLC0415
    from timegate.references.model import place_of  # noqa: PLC0415

    text = body.decode(errors="surrogateescape")
    form = _LISTS.get(media_type, "lines")
    if form == "lines" or format_of("-", body) == "jsonl":
        form = _form_without_type(text, body)
    if form == "json":
        return [*islice(read_json(text), most + 1)]
    if form == "csv":
        reads = read_table(BytesIO(body), Columns(), lambda cell: is_reference(cell, registry))
        return [*islice(reads, most + 1)]
    if form in ("xml", "text"):
        # Finding the dates of a link takes much longer than finding the link. Some links may be
        # named twice, or are no references.
        links = [*islice(find_links(text), 2 * most + _MOST_OTHERS)]
        if len(links) == 2 * most + _MOST_OTHERS:
            return [Item(n, link.written, (link.written,)) for n, link in enumerate(links)]
        return [place_of(found).item for found in extract(text, registry, now)]
    return None


def _form_without_type(text: str, body: bytes) -> str:
    """Return the form of a list; a line with commas may be a URL, so CSV is not guessed."""
    if has_broken_pwid(text):
        return "text"
    if not _may_be_data(text):
        # Which of the other formats it has takes long to find out.
        return "lines"
    from timegate.references.detection import format_of  # noqa: PLC0415

    form = format_of("-", body)
    return form if form in ("json", "xml") else "lines"


def _may_be_data(text: str) -> bool:
    """Whether *text* may be JSON or XML."""
    return text.lstrip("\ufeff \r\n\t").startswith(("[", "{", "<"))
