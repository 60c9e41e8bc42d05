"""One reference of a list: what is written there, and the times it may have meant."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import BinaryIO, Final, NamedTuple

from archives.diagnostics import Malformed
from archives.moment import Moment
from archives.registry import Registry
from timegate.identifiers import parse
from timegate.resolution.model import Query
from timegate.resolution.query import NotNegotiable, query_for


class BadInput(ValueError):
    """A list that cannot be read; says where, and what was expected."""


class Item(NamedTuple):
    """One reference, as it stands in the list."""

    position: int
    """Counted from 0, over the items of the list."""
    text: str
    """What a person would recognise it by."""
    references: tuple[str, ...]
    """Identifiers, the one that says most first; the first that can be asked for counts."""
    dates: tuple[str, ...] = ()
    """Times as written, in order of preference, for a reference that has none of its own."""
    trouble: str = ""
    """Why it cannot be asked for as it is written; empty where it can be tried."""

    @property
    def key(self) -> int:
        """Return 64 bits that another item, or the same at another place, does not have."""
        told = json.dumps([self.position, self.text, self.references, self.dates])
        return int.from_bytes(blake2b(told.encode(), digest_size=8).digest())


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


ReadTime = Callable[[str], Moment | None]


class Candidate(NamedTuple):
    """One question that an item may mean."""

    query: Query
    date: str | None
    """The date of the list that it uses; None where the reference has its own, or none."""


def candidates(item: Item, registry: Registry, read_time: ReadTime) -> list[Candidate]:
    """Return the questions *item* may mean, the preferred first.

    Raises ValueError where it means none: it cannot be read, or none of its dates can.
    """
    query = _query(item, registry)
    if query.at is not None or not item.dates:
        return [Candidate(query, None)]
    return list(_dated(query, item, read_time))


def is_reference(text: str, registry: Registry) -> bool:
    """Whether *text* is beyond doubt an identifier or URL: a title like Node.js is not."""
    try:
        reading = parse(text, registry)
    except Malformed:
        return False
    guessed = "scheme-assumed" in {note.token for note in reading.diagnostics}
    return reading.kind.is_reference and not guessed


def _query(item: Item, registry: Registry) -> Query:
    """Return what the first usable reference asks; short links into archive.today are not."""
    if item.trouble:
        raise ValueError(item.trouble)
    complaint: ValueError = ValueError("no reference")
    for number, text in enumerate(item.references):
        try:
            return query_for(parse(text, registry), registry)
        except (Malformed, NotNegotiable) as error:
            complaint = error if number == 0 else complaint
    raise complaint


def _dated(query: Query, item: Item, read_time: ReadTime) -> Iterator[Candidate]:
    seen: set[Moment | None] = set()
    complaints: list[ValueError] = []
    for date in item.dates:
        try:
            at = read_time(date)
        except ValueError as error:
            complaints.append(error)
            continue
        if at not in seen:
            seen.add(at)
            # The name of the undated URL would no longer be the name of what is asked.
            yield Candidate(replace(query, at=at, identifier=None), date)
    if not seen:
        raise complaints[0]
