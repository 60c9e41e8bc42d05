"""All that was found out about one archive with one page: what the checks are functions of.

None means that it was not asked, because it does not apply; an answer that did not come is a
`Said` with a `silence`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from archives.evidence import address_of
from timegate.conformance.listing import Capture, Listing, in_time
from timegate.conformance.said import Said
from timegate.conformance.subject import Subject


@dataclass(frozen=True, slots=True)
class Gate:
    """What the TimeGate said, by what it was asked for."""

    newest: Said
    """Without Accept-Datetime."""
    early: Said
    """A time between two mementos, nearer to the earlier one."""
    late: Said | None = None
    """The same, nearer to the later one; None where no two are known."""
    exact: Said | None = None
    """The very second of a memento."""
    before: Said | None = None
    after: Said | None = None
    again: Said | None = None
    """`early` once more."""
    head: Said | None = None
    """`early` with HEAD."""
    bad: Mapping[str, Said] = field(default_factory=dict)
    """Dates that are none, by what is wrong with them."""
    unknown: Said | None = None
    """A page that nobody can have captured."""
    preflight: Said | None = None
    later: tuple[Said, ...] = ()
    """`early` twice more, where an answer said that it is not whole."""

    @property
    def good(self) -> list[Said]:
        """The answers to questions with nothing wrong in them, about the sample."""
        asked = (self.newest, self.early, self.late, self.exact, self.before, self.after)
        return [said for said in asked if said is not None]


@dataclass(frozen=True, slots=True)
class TimeMap:
    """What the TimeMap said."""

    first: Listing
    pages: tuple[Listing, ...] = ()
    """The other pages, as far as they were followed."""
    cut: str = ""
    """Why the pages were not followed to their end."""
    head: Said | None = None
    negotiated: Listing | None = None
    """The same with Accept-Datetime."""
    json: Said | None = None
    cdxj: Said | None = None
    unknown: Said | None = None

    @property
    def documents(self) -> tuple[Listing, ...]:
        return (self.first, *self.pages)

    @property
    def captures(self) -> list[Capture]:
        """All that is listed, oldest first."""
        return in_time([each for page in self.documents for each in page.captures])


@dataclass(frozen=True, slots=True)
class Replay:
    """What one memento said, and how it was reached."""

    uri: str
    hops: tuple[Said, ...]
    """Everything from the first request on; the last is the memento, if one was reached."""
    stopped: str = ""
    """Why there was no further hop: a circle, too many, another host; empty at an end."""
    head: Said | None = None
    negotiated: Said | None = None
    raw: Said | None = None
    made_up: Said | None = None
    """The same page at a second for which there is no memento."""

    @property
    def end(self) -> Said:
        return self.hops[-1]


@dataclass(frozen=True)
class Facts:
    """What is known of one subject with one sample."""

    subject: Subject
    sample: str
    now: str
    """The second the run began: nothing can have been captured later."""
    gate: Gate | None = None
    timemap: TimeMap | None = None
    route: Replay | None = None
    """From the TimeGate to the memento, hop by hop."""
    replays: tuple[Replay, ...] = ()
    """Mementos that were asked for by their address; the chosen one first."""
    original: Said | None = None
    everything: tuple[Said, ...] = ()
    """Every exchange, for what concerns all of them."""

    @cached_property
    def captures(self) -> list[Capture]:
        """What the TimeMap lists, oldest first; nothing where it is not whole."""
        if self.timemap is None or any(page.silence for page in self.timemap.documents):
            return []
        return self.timemap.captures

    @cached_property
    def _stamps(self) -> dict[str, str]:
        return {uri: stamp for stamp, uri in self.captures}

    def listed(self, uri: str | None) -> str | None:
        """Return when the TimeMap says that *uri* was captured; None if it lists no such."""
        return None if uri is None else self._stamps.get(uri)

    def picked(self, said: Said) -> str | None:
        """Return the stamp of what a TimeGate chose; None where that cannot be told.

        The TimeMap's word counts before that of the answer under test.
        """
        uri = said.chosen
        address = address_of(uri) if uri else None
        return self.listed(uri) or (address and address.stamp[:14]) or said.stamp

    @property
    def reached(self) -> Iterator[Said]:
        """The mementos that were reached, with what they said."""
        return (replay.end for replay in self.replays)
