"""Choices of the search page, where something is missing or several things may be meant.

A text may have several references, a reference several dates, and an id of an archive does not
contain the URL of its page.
"""

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode

from archives.moment import Moment
from archives.registry import Registry
from timegate.resolution.exhaustive import PATIENCE
from timegate.responses.answer_view import spoken

if TYPE_CHECKING:
    from timegate.references.model import FoundReference


class Choice(NamedTuple):
    """A link that searches for one of several references or dates."""

    text: str
    query: str
    """The query string of the search; empty if it cannot be resolved."""
    said: tuple[str, ...] = ()
    captures: str = ""
    """The path of the list of captures; empty if the reference is not such a list."""


class SeveralReferences(Exception):
    """A text with more than one reference."""

    title = "Several references found"

    def __init__(self, found: "tuple[FoundReference, ...]", at: Moment | None = None) -> None:
        """*at* is used for references without a date."""
        super().__init__(self.title)
        self.choices = tuple(_choice(each, at) for each in found)
        self.lines = "\n".join(_line(each, at) for each in found if each.kind == "reference")
        """The references as a batch, one for each line."""
        self.left_out = tuple(
            (each.identifier, _why_left_out(each)) for each in found if each.kind != "reference"
        )
        """The references that no batch can resolve, and why."""
        self.count = len(found)
        self.wait = f"{PATIENCE:g}"
        """Seconds that pages wait for archives."""


class Unresolvable(Exception):
    """A reference for which something is missing: the URL of the page, or a capture."""

    def __init__(self, found: "FoundReference") -> None:
        super().__init__(found.trouble)
        self.kind = found.kind
        self.link = found.identifier
        self.choice = _choice(found)
        self.at = found.dates.at
        self.title = (
            "This is a list of captures"
            if found.kind == "captures"
            else "The URL of the page is missing"
        )

    @property
    def time(self) -> str:
        """The time of the copy, for people; empty if it is not known."""
        return "" if self.at is None else spoken(self.at)


def _why_left_out(found: "FoundReference") -> str:
    if found.kind == "captures":
        return "a list of captures, which names none of them"
    return found.trouble


def _is_undated(found: "FoundReference") -> bool:
    return found.dates.at is None and not found.dates.doubt


def _line(found: "FoundReference", at: Moment | None) -> str:
    """Return the line of a batch for *found*, at *at* if it has no date."""
    if at is None or not _is_undated(found):
        return found.dated
    return f"duri:{at}:{found.identifier}"


def _choice(found: "FoundReference", given: Moment | None = None) -> Choice:
    """Return the search for *found*, at the time *given* if it has no date."""
    if found.kind == "captures":
        path = f"/timemap/html/{quote(found.identifier, safe='')}"
        return Choice(found.identifier, search_of(found.identifier), found.said, path)
    at, said = "" if found.at is None else str(found.at), found.said
    if found.kind != "reference":
        said = (*said, found.trouble)
    elif found.dates.doubt:
        return Choice(found.identifier, search_of(found.restated), said)
    elif given is not None and _is_undated(found):
        at, said = (
            str(given),
            (*said, f"Date used: {spoken(given)}, the date in the Date field"),
        )
    return Choice(found.identifier, search_of(found.identifier, at), said)


def search_of(reference: str, at: str = "") -> str:
    """Return the query string of a search for *reference*, with a date in the field."""
    return urlencode({"q": reference} | ({"at": at} if at else {}))


def date_choices(found: "FoundReference") -> tuple[Choice, ...]:
    """Return a search for each date that may be meant and is not used."""
    return tuple(
        Choice(spoken(moment), search_of(found.identifier, str(moment)))
        for moment in found.dates.choices
    )


def archive_name(link: str, registry: Registry) -> str:
    """Return the name of the archive that *link* leads into; else its host."""
    host = link.partition("://")[2].partition("/")[0]
    entry = registry.by_host(host)
    return host if entry is None else entry.name
