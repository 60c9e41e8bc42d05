"""Sends the requests; each response determines what is requested next.

Nothing else in this package sends requests. What does not depend on the page is requested with
the first page only; `run.estimated` tells how many requests that makes.
"""

from dataclasses import dataclass, replace
from typing import Final, assert_never

from archives.addresses import downgrades
from archives.evidence import address_of
from archives.negotiation import MOST_HOPS
from archives.source import Request
from timegate.conformance import probes
from timegate.conformance.facts import Facts, GateFacts, ReplayFacts, TimeMapFacts
from timegate.conformance.parsed_response import (
    LINK_FORMAT,
    Capture,
    ParsedResponse,
    ParsedTimeMap,
    in_time,
)
from timegate.conformance.session import Session
from timegate.conformance.subject import DEFAULT_SAMPLE, NEVER_CAPTURED, Role, Subject, embedded

MOST_PAGES: Final = 50
"""Pages of one TimeMap that are read. The Internet Archive has some 10 000 mementos a page."""
_LINK_FORM: Final = "/timemap/link/"
_NO_OLDER: Final = "19920101000000"
"""Earlier than the first capture of any archive: the Internet Archive begins in 1996."""


async def gather(subject: Subject, sample: str, session: Session, now: str) -> Facts:
    """Gather everything the checks need about *subject*, with the page *sample*."""
    before = len(session.exchanges)
    gathering = _Gathering(subject, sample, session, now)
    facts = await gathering.by_role()
    responses = tuple(
        ParsedResponse(exchange) for exchange in [*session.exchanges.values()][before:]
    )
    return replace(facts, responses=responses)


class _Gathering:
    """The requests to one archive for one page."""

    def __init__(self, subject: Subject, sample: str, session: Session, now: str) -> None:
        self._subject = subject
        self._sample = sample
        self._session = session
        self._now = now
        self._first = sample == subject.samples[0]

    async def _ask(self, request: Request, repeat: int = 0) -> ParsedResponse:
        return ParsedResponse(await self._session.get(request, repeat))

    async def by_role(self) -> Facts:
        """Send the requests that suit a TimeGate, a TimeMap, a memento or an original."""
        subject, sample, now = self._subject, self._sample, self._now
        match subject.role:
            case "timegate":
                return await self._archive()
            case "timemap":
                return Facts(subject, sample, now, timemap=await self._timemap(subject.url))
            case "memento":
                replay = await self._replay(subject.url, thoroughly=True)
                return Facts(subject, sample, now, replays=(replay,))
            case "original":
                original = await self._ask(probes.memento(subject.url))
                return Facts(subject, sample, now, original=original)
            case _:
                assert_never(subject.role)

    async def _archive(self) -> Facts:
        """Query the TimeGate, the TimeMap it links, and some of the mementos they list."""
        subject, url = self._subject, self._subject.url + self._sample
        newest = await self._ask(probes.cross_site(url))
        address = self._timemap_address(newest)
        timemap = None if address is None else await self._timemap(address)
        captures = [] if timemap is None else timemap.captures
        gate = await self._gate(url, newest, captures)
        route = await self._followed(gate.early, gate.early.exchange.request)
        replays = await self._replays(gate, captures)
        replays = await self._with_made_up(replays, captures)
        return Facts(subject, self._sample, self._now, gate, timemap, route, replays)

    async def _gate(
        self, url: str, newest: ParsedResponse, captures: list[Capture]
    ) -> GateFacts:
        near_earlier, near_later = probes.between(captures)
        oldest = captures[0][0] if captures else None
        early = probes.memento(url, near_earlier)
        gate = GateFacts(
            newest,
            await self._ask(early),
            await self._at(url, near_later),
            await self._at(url, oldest),
            await self._at(url, probes.a_year_before(oldest) if oldest else _NO_OLDER),
            await self._at(url, probes.after(captures, self._now)),
            await self._ask(early, repeat=1),
            await self._ask(probes.head(url, "memento", near_earlier)),
            await self._bad_dates(url) if self._first else {},
            await self._unknown(self._subject.url) if self._first else None,
            await self._ask(probes.preflight(url)) if self._first else None,
        )
        return replace(gate, repeats=await self._repeats(early, gate))

    async def _repeats(self, early: Request, gate: GateFacts) -> tuple[ParsedResponse, ...]:
        """Repeat the request twice where a response is incomplete: a later one may be whole.

        Twice, because an aggregator that still waits for an archive lets the next request
        join that wait.
        """
        responses = (gate.early, gate.again, gate.head)
        if not any(response is not None and response.is_partial for response in responses):
            return ()
        return (await self._ask(early, repeat=2), await self._ask(early, repeat=3))

    async def _at(self, url: str, stamp: str | None) -> ParsedResponse | None:
        return None if stamp is None else await self._ask(probes.memento(url, stamp))

    async def _bad_dates(self, url: str) -> dict[str, ParsedResponse]:
        return {
            name: await self._ask(probes.bad_date(url, date))
            for name, date in probes.BAD_DATES.items()
        }

    async def _unknown(self, prefix: str) -> ParsedResponse:
        return await self._ask(probes.memento(prefix + NEVER_CAPTURED))

    def _timemap_address(self, newest: ParsedResponse) -> str | None:
        """Return the address of the TimeMap, from the registry or from the TimeGate's links."""
        if "link" in self._subject.timemaps:
            return self._subject.timemaps["link"] + self._sample
        return next((uri for uri in newest.targets("timemap") if self._subject.owns(uri)), None)

    async def _timemap(self, url: str) -> TimeMapFacts:
        """Read the TimeMap at *url* with all its pages, and in its other formats."""
        first = ParsedTimeMap(await self._ask(probes.timemap(url)))
        pages, cut = await self._pages(first)
        captures = in_time([each for page in (first, *pages) for each in page.captures])
        newest = captures[-1][0] if captures else self._now
        return TimeMapFacts(
            first,
            pages,
            cut,
            await self._ask(probes.head(url, "index")),
            ParsedTimeMap(await self._ask(probes.timemap(url, newest))) if captures else None,
            await self._form("json", url),
            await self._form("cdxj", url),
            await self._unknown_timemap(url) if self._first else None,
        )

    async def _pages(self, first: ParsedTimeMap) -> tuple[tuple[ParsedTimeMap, ...], str]:
        """Read the pages until none brings new captures; also return why it stopped early."""
        pages: list[ParsedTimeMap] = []
        seen, waiting = {first.response.url}, first.pages
        known = set(first.captures)
        while waiting:
            url, *waiting = waiting
            if url in seen or not self._subject.owns(url):
                continue
            if len(pages) == MOST_PAGES:
                return tuple(pages), f"more than {MOST_PAGES} pages"
            seen.add(url)
            pages.append(page := ParsedTimeMap(await self._ask(probes.timemap(url))))
            if page.captures and known.issuperset(page.captures):
                return tuple(pages), f"{url} lists only what the pages before it list"
            known.update(page.captures)
            waiting += page.pages
        return tuple(pages), ""

    async def _form(self, form: str, url: str) -> ParsedResponse | None:
        known = self._subject.timemaps.get(form)
        if known is not None:
            return await self._ask(probes.timemap(known + self._sample))
        if _LINK_FORM not in url:
            return None
        guess = url.replace(_LINK_FORM, f"/timemap/{form}/", 1)
        return await self._ask(probes.timemap(guess))

    async def _unknown_timemap(self, url: str) -> ParsedResponse | None:
        if not url.endswith(self._sample):
            return None
        unknown = url.removesuffix(self._sample) + NEVER_CAPTURED
        return await self._ask(probes.timemap(unknown))

    async def _replays(
        self, gate: GateFacts, captures: list[Capture]
    ) -> tuple[ReplayFacts, ...]:
        """Request the chosen, first and last memento, as far as they are the archive's own."""
        ends = [captures[0][1], captures[-1][1]] if captures else []
        chosen = [gate.early.chosen] if not gate.early.no_answer else []
        uris = [uri for uri in dict.fromkeys([*chosen, *ends]) if uri]
        own = [uri for uri in uris if self._subject.owns(uri) and not self._is_gate(uri)]
        return tuple(
            [await self._replay(uri, thoroughly=number == 0) for number, uri in enumerate(own)]
        )

    def _is_gate(self, uri: str) -> bool:
        return uri == self._subject.url + self._sample

    async def _replay(self, uri: str, *, thoroughly: bool) -> ReplayFacts:
        """Request the memento at *uri*; *thoroughly*: also with HEAD, with a date, and raw."""
        request = probes.memento(uri)
        plain = await self._followed(await self._ask(request), request)
        if not thoroughly or plain.end.no_answer:
            return plain
        there = plain.end.url
        return ReplayFacts(
            uri,
            plain.hops,
            plain.stopped,
            await self._ask(probes.head(there, "memento")),
            await self._ask(probes.memento(there, probes.a_year_after(self._now))),
            await self._raw(there),
        )

    async def _with_made_up(
        self, replays: tuple[ReplayFacts, ...], captures: list[Capture]
    ) -> tuple[ReplayFacts, ...]:
        """Request the first of *replays* also at a second without a memento."""
        near_earlier, near_later = probes.between(captures)
        address = address_of(replays[0].uri) if replays else None
        if address is None:
            return replays
        other = near_earlier if near_later else probes.a_year_before(address.stamp)
        uri = probes.at_another_time(replays[0].uri, address.stamp, other)
        made_up = await self._ask(probes.memento(uri))
        return (replace(replays[0], made_up=made_up), *replays[1:])

    async def _raw(self, uri: str) -> ParsedResponse | None:
        """Request the unaltered bytes, by the registry's template or as most archives do."""
        address = address_of(uri)
        if address is None:
            return None
        stamp, original = address
        if self._subject.raw is not None:
            raw = self._subject.raw.replace("{time14}", stamp).replace("{uri}", original)
        else:
            raw = uri.replace(f"/{stamp}/", f"/{stamp}id_/", 1)
        return await self._ask(probes.memento(raw)) if self._subject.owns(raw) else None

    async def _followed(self, response: ParsedResponse, request: Request) -> ReplayFacts:
        """Follow redirects to the first other response, or to one that must not be followed."""
        hops = [response]
        while hops[-1].is_redirect and (following := hops[-1].location):
            stop = self._obstacle(hops, following)
            if stop:
                return ReplayFacts(response.url, tuple(hops), stop)
            onward = Request("GET", following, "memento", request.headers)
            hops.append(await self._ask(onward))
        return ReplayFacts(response.url, tuple(hops))

    def _obstacle(self, hops: list[ParsedResponse], following: str) -> str:
        if following in {hop.url for hop in hops}:
            return f"a loop: {following} again"
        if downgrades(hops[-1].url, following):
            return f"from https to http: {following}"
        if not self._subject.owns(following):
            return f"leaves the archive: {following}"
        return f"more than {MOST_HOPS} redirects" if len(hops) > MOST_HOPS else ""


@dataclass(frozen=True, slots=True)
class Recognised:
    """The role of an address, its prefix, and the sample pages to check it with."""

    role: Role
    url: str
    samples: tuple[str, ...]


def as_declared(role: Role, url: str, samples: tuple[str, ...]) -> Recognised:
    """Return *url* in the role that the user declared."""
    cut = embedded(url)
    if role == "timegate":
        prefix, page = cut or (url, DEFAULT_SAMPLE)
        return Recognised(role, prefix, samples or (page,))
    page = url if role == "original" or cut is None else cut[1]
    return Recognised(role, url, (page,))


async def recognised(url: str, samples: tuple[str, ...], session: Session) -> Recognised:
    """Request *url* once and determine its role; without Memento headers, a TimeGate."""
    response = ParsedResponse(await session.get(probes.memento(url)))
    return as_declared(_role(response, whole=embedded(url) is not None), url, samples)


def _role(response: ParsedResponse, *, whole: bool) -> Role:
    if not whole:
        linking = response.targets("timegate") or response.datetime is not None
        return "original" if linking and not response.negotiates else "timegate"
    if (response.field("content-type") or "").startswith(LINK_FORMAT):
        return "timemap"
    if address_of(response.url) is not None and not response.negotiates:
        return "memento"
    return "timegate"
