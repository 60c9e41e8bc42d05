"""All that was found out about one archive with one page: what the checks are functions of.

None means that it was not asked, because it does not apply; an answer that did not come is a
`ParsedResponse` with a `silence`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from archives.evidence import address_of
from timegate.conformance.parsed_response import Capture, ParsedResponse, ParsedTimeMap, in_time
from timegate.conformance.subject import Subject


@dataclass(frozen=True, slots=True)
class GateFacts:
    """What the TimeGate said, by what it was asked for."""

    newest: ParsedResponse
    """Without Accept-Datetime."""
    early: ParsedResponse
    """A time between two mementos, nearer to the earlier one."""
    late: ParsedResponse | None = None
    """The same, nearer to the later one; None where no two are known."""
    exact: ParsedResponse | None = None
    """The very second of a memento."""
    before: ParsedResponse | None = None
    after: ParsedResponse | None = None
    again: ParsedResponse | None = None
    """`early` once more."""
    head: ParsedResponse | None = None
    """`early` with HEAD."""
    bad: Mapping[str, ParsedResponse] = field(default_factory=dict)
    """Dates that are none, by what is wrong with them."""
    unknown: ParsedResponse | None = None
    """A page that nobody can have captured."""
    preflight: ParsedResponse | None = None
    later: tuple[ParsedResponse, ...] = ()
    """`early` twice more, where an answer said that it is not whole."""

    @property
    def good(self) -> list[ParsedResponse]:
        """The answers to questions with nothing wrong in them, about the sample."""
        asked = (self.newest, self.early, self.late, self.exact, self.before, self.after)
        return [said for said in asked if said is not None]


@dataclass(frozen=True, slots=True)
class TimeMapFacts:
    """What the TimeMap said."""

    first: ParsedTimeMap
    pages: tuple[ParsedTimeMap, ...] = ()
    """The other pages, as far as they were followed."""
    cut: str = ""
    """Why the pages were not followed to their end."""
    head: ParsedResponse | None = None
    negotiated: ParsedTimeMap | None = None
    """The same with Accept-Datetime."""
    json: ParsedResponse | None = None
    cdxj: ParsedResponse | None = None
    unknown: ParsedResponse | None = None

    @property
    def documents(self) -> tuple[ParsedTimeMap, ...]:
        return (self.first, *self.pages)

    @property
    def captures(self) -> list[Capture]:
        """All that is listed, oldest first."""
        return in_time([each for page in self.documents for each in page.captures])


@dataclass(frozen=True, slots=True)
class ReplayFacts:
    """What one memento said, and how it was reached."""

    uri: str
    hops: tuple[ParsedResponse, ...]
    """Everything from the first request on; the last is the memento, if one was reached."""
    stopped: str = ""
    """Why there was no further hop: a circle, too many, another host; empty at an end."""
    head: ParsedResponse | None = None
    negotiated: ParsedResponse | None = None
    raw: ParsedResponse | None = None
    made_up: ParsedResponse | None = None
    """The same page at a second for which there is no memento."""

    @property
    def end(self) -> ParsedResponse:
        return self.hops[-1]


@dataclass(frozen=True)
class Facts:
    """What is known of one subject with one sample."""

    subject: Subject
    sample: str
    now: str
    """The second the run began: nothing can have been captured later."""
    gate: GateFacts | None = None
    timemap: TimeMapFacts | None = None
    route: ReplayFacts | None = None
    """From the TimeGate to the memento, hop by hop."""
    replays: tuple[ReplayFacts, ...] = ()
    """Mementos that were asked for by their address; the chosen one first."""
    original: ParsedResponse | None = None
    everything: tuple[ParsedResponse, ...] = ()
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

    def picked(self, said: ParsedResponse) -> str | None:
        """Return the stamp of what a TimeGate chose; None where that cannot be told.

        The TimeMap's word counts before that of the answer under test.
        """
        uri = said.chosen
        address = address_of(uri) if uri else None
        return self.listed(uri) or (address and address.stamp[:14]) or said.stamp

    @property
    def reached(self) -> Iterator[ParsedResponse]:
        """The mementos that were reached, with what they said."""
        return (replay.end for replay in self.replays)
