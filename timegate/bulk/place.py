"""Where a reference stands in a document, and how the document reads with another one there.

Documents are UTF-8 whose wrong octets are kept as lone surrogates: what is not replaced is
written again octet for octet.
"""

from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final, NamedTuple

from timegate.bulk.item import BadInput, Item

MOST_OCTETS: Final = 64 * 1024 * 1024


class TextSpan(NamedTuple):
    """A piece of a document, in characters."""

    start: int
    end: int


class ReferencePlace(NamedTuple):
    """One reference in a document."""

    item: Item
    link: TextSpan | None
    """The archive link that may be replaced; None where there is none."""
    date: TextSpan | None = None
    """The date of the archive link, where one stands beside it."""
    before_link: str = ""
    """What comes before a link that was not there."""
    before_date: str = ""


class Edit(NamedTuple):
    """What takes the place of a span."""

    span: TextSpan
    text: str


def read_document(stream: BinaryIO, most: int = MOST_OCTETS) -> str:
    """Return the whole of *stream*. Raises BadInput where it is too large."""
    octets = stream.read(most + 1)
    if len(octets) > most:
        raise BadInput(f"more than {most >> 20} MB; split the file")
    return octets.decode(errors="surrogateescape")


def edited(document: str, edits: Iterable[Edit]) -> Iterator[bytes]:
    """Yield *document* in pieces, with *edits* made; they come in order and do not overlap."""
    at = 0
    for (start, end), text in edits:
        yield document[at:start].encode(errors="surrogateescape")
        yield text.encode()
        at = end
    yield document[at:].encode(errors="surrogateescape")
