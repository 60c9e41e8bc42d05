"""From an item of a list to the questions it may mean, in order of preference."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from archives.moment import Moment
from archives.reading import Malformed
from archives.registry import Registry
from timegate.bulk.item import Item
from timegate.identifiers import parse
from timegate.querying import NotNegotiable, query_for
from timegate.resolution import Query

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
    return reading.scheme != "http-date" and not guessed


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
