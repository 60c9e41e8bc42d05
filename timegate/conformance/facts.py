"""Everything that was gathered about one archive with one page: the input of the checks.

None means that a request does not apply and was not sent; a response that did not arrive is a
`ParsedResponse` with a reason in `no_answer`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from archives.evidence import address_of
from timegate.conformance.parsed_response import Capture, ParsedResponse, ParsedTimeMap, in_time
from timegate.conformance.subject import Subject, memento_key, same_original


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
    preceding: tuple[ParsedResponse, ...] = ()
    """Redirects that lead to this TimeGate: intermediate resources, and other TimeGates."""
    future: ParsedResponse | None = None
    """For a time in the future."""
    long_before: ParsedResponse | None = None
    """For a time before 1970."""
    head_newest: ParsedResponse | None = None
    """The request of `newest`, with HEAD."""

    @property
    def valid(self) -> list[ParsedResponse]:
        """The responses to valid requests for the sample."""
        inside = (self.newest, self.early, self.late, self.exact)
        outside = (self.before, self.after, self.long_before, self.future)
        return [response for response in (*inside, *outside) if response is not None]


@dataclass(frozen=True, slots=True)
class TimeMapFacts:
    """The responses of the TimeMap."""

    first: ParsedTimeMap
    pages: tuple[ParsedTimeMap, ...] = ()
    """The other pages, as far as they were requested."""
    stopped: str = ""
    """Why the pages were not followed to the end; empty if they were."""
    elsewhere: tuple[str, ...] = ()
    """Pages on hosts that may not be queried (RFC 7089, figure 29)."""
    address: str = ""
    """The address that was requested first; redirects may lead to another."""
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
    twice: tuple[ParsedResponse, ParsedResponse] | None = None
    """The same GET twice: of the unaltered bytes, or of the page where there are none."""

    @property
    def end(self) -> ParsedResponse:
        return self.hops[-1]


def _own(memento: ParsedResponse) -> list[str]:
    """Return the addresses of a response that is a memento."""
    return [memento.url, *filter(None, (memento.chosen,))]


LinkSource = Literal["original", "timegate", "memento", "timemap"]
LinkRelation = Literal["timegate", "timemap", "self"]
Pattern = Literal["1.1", "1.2", "1.3", "2.1", "2.2", "2.3", "3", "4", ""]
"""The patterns of RFC 7089 4; empty if none is recognised."""


@dataclass(frozen=True, slots=True)
class LinkedFacts:
    """A link to a TimeGate or TimeMap, and the responses of its target."""

    source: LinkSource
    relation: LinkRelation
    linking: ParsedResponse
    uri: str
    hops: tuple[ParsedResponse, ...] = ()
    """The redirects that were followed, and the last response; none for other hosts."""


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
    gate_url: str = ""
    """The address of the TimeGate, which is the original itself in pattern 1."""
    linked: tuple[LinkedFacts, ...] = ()
    """Where links to TimeGates and TimeMaps lead."""
    responses: tuple[ParsedResponse, ...] = ()
    """Every response, for the checks that concern all of them."""

    @cached_property
    def captures(self) -> list[Capture]:
        """What the TimeMap lists, oldest first; empty if a page of it is missing."""
        timemap = self.timemap
        if timemap is None or timemap.elsewhere:
            return []
        return [] if any(page.no_answer for page in timemap.all_pages) else timemap.captures

    @property
    def page(self) -> str | None:
        """The original that every response is about; None where its URL is not known."""
        known = self.subject.role in ("timegate", "original") or self.sample != self.subject.url
        return self.sample if known else None

    @cached_property
    def pattern(self) -> Pattern:
        """The pattern of RFC 7089 4 that the archive uses."""
        if self.gate is None:
            return self._pattern_without_timegate
        early, own = self.gate.early, self.gate_url == self.sample
        if early.no_answer:
            return ""
        if early.is_redirect:
            return "1.1" if own else "2.1"
        if early.datetime is None:
            return ""
        if early.field("content-location") is not None:
            return "1.2" if own else "2.2"
        return "1.3" if own else "2.3"

    @property
    def _pattern_without_timegate(self) -> Pattern:
        ends = [replay.end for replay in self.replays if replay.end.datetime is not None]
        if self.original is not None:
            return "3" if self.original.datetime is not None else ""
        return "4" if ends and not ends[0].targets("timegate") else ""

    @cached_property
    def _stamps(self) -> dict[str, str]:
        # Without addresses of their own, mementos are listed at that of the TimeGate.
        shared = (self.gate_url, self.sample)
        return {memento_key(uri): stamp for stamp, uri in self.captures if uri not in shared}

    def listed_stamp(self, uri: str | None) -> str | None:
        """Return the capture time of *uri* in the TimeMap; None if it is not listed."""
        if uri is None or uri in (self.gate_url, self.sample):
            return None
        return self._stamps.get(memento_key(uri))

    @property
    def told(self) -> list[ParsedResponse]:
        """The responses of the TimeGate for the page, and the mementos of the page."""
        gate = [] if self.gate is None else self.gate.valid
        ends = [replay.end for replay in self.replays if replay.end.datetime is not None]
        page = self.page
        return [
            response
            for response in (*gate, *ends)
            if not response.no_answer
            and not response.is_partial
            and (
                page is None
                or all(same_original(u, page) for u in response.targets("original"))
            )
        ]

    @cached_property
    def known_stamps(self) -> list[str]:
        """The capture times that the archive states: in the TimeMap, else in headers."""
        if self.captures:
            return sorted({stamp for stamp, _ in self.captures})
        told = self.told
        dated = [link for response in told for link in response.mementos if link.stamp]
        linked = {memento_key(link.uri) for link in dated}
        # A memento whose links date it otherwise is judged elsewhere.
        alone = [r.stamp for r in told if not {memento_key(u) for u in _own(r)} & linked]
        return sorted({stamp for stamp in (*(link.stamp for link in dated), *alone) if stamp})

    @cached_property
    def _reached(self) -> dict[str, ReplayFacts]:
        """Where the addresses lead that were requested without an obstacle."""
        routes = {replay.uri: replay for replay in self.replays if not replay.stopped}
        if self.route is not None and not self.route.stopped and len(self.route.hops) > 1:
            routes[self.route.hops[1].url] = self.route
        return routes

    def reached(self, response: ParsedResponse) -> ParsedResponse | None:
        """Return the response at the end of the redirects that begin with *response*."""
        replay = self._reached.get(response.chosen or "")
        return None if replay is None else replay.end

    def chosen_uri(self, response: ParsedResponse) -> str | None:
        """Return the address of the memento that a TimeGate chose, behind redirects."""
        end = self.reached(response)
        is_between = end is not None and end.datetime is not None and response.is_redirect
        if end is not None and is_between and not self.listed_stamp(response.chosen):
            return end.url
        return response.chosen

    def chosen_stamp(self, response: ParsedResponse) -> str | None:
        """Return the capture time of the memento that a TimeGate chose; None if unknown.

        The TimeMap takes precedence over the response under test, then the memento's header.
        """
        uri, end = response.chosen, self.reached(response)
        address = address_of(uri) if uri else None
        linked = [link.stamp for link in response.mementos if uri and link.uri == uri]
        return (
            self.listed_stamp(uri)
            or next((stamp for stamp in linked if stamp and not self.captures), None)
            or (end and end.stamp)
            or response.stamp
            or next((stamp for stamp in linked if stamp), None)
            or (address and address.stamp[:14])
        )
