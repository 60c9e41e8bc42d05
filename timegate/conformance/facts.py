"""Everything that was gathered about one archive with one page: the input of the checks.

None means that a request does not apply and was not sent; a response that did not arrive is a
`ParsedResponse` with a reason in `no_answer`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from archives.evidence import address_of
from timegate.conformance.parsed_response import Capture, ParsedResponse, ParsedTimeMap, in_time
from timegate.conformance.subject import Subject


@dataclass(frozen=True, slots=True)
class GateFacts:
    """The responses of the TimeGate, by the kind of request."""

    newest: ParsedResponse
    """Without Accept-Datetime."""
    early: ParsedResponse
    """For a time between two mementos, nearer to the earlier one."""
    late: ParsedResponse | None = None
    """The same, nearer to the later one; None unless two mementos are known."""
    exact: ParsedResponse | None = None
    """For the exact second of a memento."""
    before: ParsedResponse | None = None
    """For a time before the first memento."""
    after: ParsedResponse | None = None
    """For a time after the last memento."""
    again: ParsedResponse | None = None
    """The request of `early`, repeated."""
    head: ParsedResponse | None = None
    """The request of `early`, with HEAD."""
    bad_dates: Mapping[str, ParsedResponse] = field(default_factory=dict)
    """For an invalid Accept-Datetime, by what is wrong with it."""
    unknown: ParsedResponse | None = None
    """For a page that cannot have been captured."""
    preflight: ParsedResponse | None = None
    repeats: tuple[ParsedResponse, ...] = ()
    """The request of `early` twice more, where a response declared itself incomplete."""

    @property
    def valid(self) -> list[ParsedResponse]:
        """The responses to valid requests for the sample."""
        responses = (self.newest, self.early, self.late, self.exact, self.before, self.after)
        return [response for response in responses if response is not None]


@dataclass(frozen=True, slots=True)
class TimeMapFacts:
    """The responses of the TimeMap."""

    first: ParsedTimeMap
    pages: tuple[ParsedTimeMap, ...] = ()
    """The other pages, as far as they were requested."""
    stopped: str = ""
    """Why the pages were not followed to the end; empty if they were."""
    head: ParsedResponse | None = None
    negotiated: ParsedTimeMap | None = None
    """The first page, requested with Accept-Datetime."""
    json: ParsedResponse | None = None
    cdxj: ParsedResponse | None = None
    unknown: ParsedResponse | None = None

    @property
    def all_pages(self) -> tuple[ParsedTimeMap, ...]:
        return (self.first, *self.pages)

    @property
    def captures(self) -> list[Capture]:
        """All listed captures, oldest first."""
        return in_time([capture for page in self.all_pages for capture in page.captures])


@dataclass(frozen=True, slots=True)
class ReplayFacts:
    """The responses for one memento, and the redirects that led to it."""

    uri: str
    hops: tuple[ParsedResponse, ...]
    """All responses from the first request on; the last is the memento, if one was reached."""
    stopped: str = ""
    """Why a redirect was not followed: a loop, too many, another host; empty at the end."""
    head: ParsedResponse | None = None
    negotiated: ParsedResponse | None = None
    raw: ParsedResponse | None = None
    made_up: ParsedResponse | None = None
    """The same page, requested at a second for which there is no memento."""

    @property
    def end(self) -> ParsedResponse:
        return self.hops[-1]


@dataclass(frozen=True)
class Facts:
    """What is known of one subject with one sample page."""

    subject: Subject
    sample: str
    now: str
    """When the run began, in 14 digits: nothing can have been captured later."""
    gate: GateFacts | None = None
    timemap: TimeMapFacts | None = None
    route: ReplayFacts | None = None
    """From the TimeGate to the memento, redirect by redirect."""
    replays: tuple[ReplayFacts, ...] = ()
    """Mementos that were requested by their address; the chosen one first."""
    original: ParsedResponse | None = None
    responses: tuple[ParsedResponse, ...] = ()
    """Every response, for the checks that concern all of them."""

    @cached_property
    def captures(self) -> list[Capture]:
        """What the TimeMap lists, oldest first; empty if a page of it is missing."""
        if self.timemap is None or any(page.no_answer for page in self.timemap.all_pages):
            return []
        return self.timemap.captures

    @cached_property
    def _stamps(self) -> dict[str, str]:
        return {uri: stamp for stamp, uri in self.captures}

    def listed_stamp(self, uri: str | None) -> str | None:
        """Return the capture time of *uri* in the TimeMap; None if it is not listed."""
        return None if uri is None else self._stamps.get(uri)

    def chosen_stamp(self, response: ParsedResponse) -> str | None:
        """Return the capture time of the memento that a TimeGate chose; None if unknown.

        The TimeMap takes precedence over the response under test.
        """
        uri = response.chosen
        address = address_of(uri) if uri else None
        return self.listed_stamp(uri) or (address and address.stamp[:14]) or response.stamp
