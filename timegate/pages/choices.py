"""Choices of the search page, where something is missing or several things may be meant.

A text may have several references, a reference several dates, and an id of an archive does not
contain the URL of its page.
"""

from collections.abc import Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Final, NamedTuple
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

    def __init__(
        self,
        found: "tuple[FoundReference, ...]",
        at: Moment | None = None,
        texts: Sequence[str] = (),
    ) -> None:
        """*at* is used for references without a date; *texts* are their own citations."""
        super().__init__(self.title)
        self.choices = tuple(
            _choice(each, at, text)
            for each, text in zip(found, chain(texts, repeat("")), strict=False)
        )
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


def _choice(found: "FoundReference", given: Moment | None = None, text: str = "") -> Choice:
    """Return the search for *found*, at the time *given* if it has no date.

    *text* is its citation, which is searched for as it is if an address can hold it.
    """
    if found.kind == "captures":
        path = f"/timemap/html/{quote(found.identifier, safe='')}"
        return Choice(found.identifier, search_of(found.identifier), found.said, path)
    at, said = "" if found.at is None else str(found.at), found.said
    if found.kind != "reference":
        said = (*said, found.trouble)
    elif found.dates.doubt:
        return Choice(found.identifier, _search_of_first(text, found.restated), said)
    elif given is not None and _is_undated(found):
        at, said = (
            str(given),
            (*said, f"Date used: {spoken(given)}, the date in the Date field"),
        )
    return Choice(found.identifier, _search_of_first(text, found.identifier, at), said)


def _search_of_first(text: str, reference: str, at: str = "") -> str:
    """Return the search for *text*, or for its *reference* if no address can hold the text."""
    query = search_of(text, at)
    is_held = text and len(query) <= LONGEST_ADDRESS
    return query if is_held else search_of(reference, at)


LONGEST_ADDRESS: Final = 7_500
"""Octets of the fields in an address. Many proxies refuse request lines of more than 8 kB."""


def search_of(reference: str, at: str = "") -> str:
    """Return the query string of a search for *reference*, with a date in the field."""
    return urlencode({"q": reference} | ({"at": at} if at else {}))


def date_choices(found: "FoundReference", text: str) -> tuple[Choice, ...]:
    """Return a search of *text* for each date that may be meant and is not used."""
    return tuple(
        Choice(spoken(moment), search_again(found, text, moment))
        for moment in found.dates.choices
    )


def search_again(found: "FoundReference", text: str, at: Moment | None) -> str:
    """Return the search for the same text at *at*; for a long text, that of its reference."""
    query = search_of(text, "" if at == found.at else str(at))
    is_short = len(query) <= LONGEST_ADDRESS
    return query if is_short else search_of(found.identifier, "" if at is None else str(at))


def archive_name(link: str, registry: Registry) -> str:
    """Return the name of the archive that *link* leads into; else its host."""
    host = link.partition("://")[2].partition("/")[0]
    entry = registry.by_host(host)
    return host if entry is None else entry.name
