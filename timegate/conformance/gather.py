"""Asks the questions, in an order in which each answer tells what to ask next.

The only module here that asks, apart from `recognition`. What does not depend on the page is
asked with the first one alone; `estimate` says how much that is.
"""

from dataclasses import dataclass, replace
from typing import Final, assert_never

from archives.evidence import address_of
from archives.negotiation import MOST_HOPS, downgrades
from archives.source import Request
from timegate.conformance import questions
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
"""Of one TimeMap. The Internet Archive pages by 10 000 or so; who has more is not read out."""
_LINK_FORM: Final = "/timemap/link/"
_NO_OLDER: Final = "19920101000000"
"""Before the first capture of any archive: the Internet Archive begins in 1996."""


async def gather(subject: Subject, sample: str, session: Session, now: str) -> Facts:
    """Find out about *subject* with *sample* whatever can be found out."""
    before = len(session.asked)
    gathering = _Gathering(subject, sample, session, now)
    facts = await gathering.whatever_it_is()
    everything = tuple(ParsedResponse(each) for each in [*session.asked.values()][before:])
    return replace(facts, everything=everything)


class _Gathering:
    """One archive and one page."""

    def __init__(self, subject: Subject, sample: str, session: Session, now: str) -> None:
        self._subject = subject
        self._sample = sample
        self._session = session
        self._now = now
        self._first = sample == subject.samples[0]

    async def _ask(self, request: Request, turn: int = 0) -> ParsedResponse:
        return ParsedResponse(await self._session.get(request, turn))

    async def whatever_it_is(self) -> Facts:
        """Ask what there is to ask of a TimeGate, a TimeMap, a memento, an original."""
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
                original = await self._ask(questions.timegate(subject.url))
                return Facts(subject, sample, now, original=original)
            case _:
                assert_never(subject.role)

    async def _archive(self) -> Facts:
        """Ask the TimeGate, the TimeMap it names, and some of the mementos they name."""
        subject, url = self._subject, self._subject.url + self._sample
        newest = await self._ask(questions.from_another_site(url))
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
        near_earlier, near_later = questions.between(captures)
        oldest = captures[0][0] if captures else None
        early = questions.timegate(url, near_earlier)
        gate = GateFacts(
            newest,
            await self._ask(early),
            await self._at(url, near_later),
            await self._at(url, oldest),
            await self._at(url, questions.a_year_before(oldest) if oldest else _NO_OLDER),
            await self._at(url, questions.after(captures, self._now)),
            await self._ask(early, turn=1),
            await self._ask(questions.head(url, "memento", near_earlier)),
            await self._bad_dates(url) if self._first else {},
            await self._unknown(self._subject.url) if self._first else None,
            await self._ask(questions.preflight(url)) if self._first else None,
        )
        return replace(gate, later=await self._later(early, gate))

    async def _later(self, early: Request, gate: GateFacts) -> tuple[ParsedResponse, ...]:
        """Ask twice more where an answer says that it is not whole: a later one may be.

        Twice, since who still waits for an archive lets the next question wait along.
        """
        asked = (gate.early, gate.again, gate.head)
        if not any(said is not None and said.is_partial for said in asked):
            return ()
        return (await self._ask(early, turn=2), await self._ask(early, turn=3))

    async def _at(self, url: str, stamp: str | None) -> ParsedResponse | None:
        return None if stamp is None else await self._ask(questions.timegate(url, stamp))

    async def _bad_dates(self, url: str) -> dict[str, ParsedResponse]:
        return {
            name: await self._ask(questions.with_bad_date(url, date))
            for name, date in questions.BAD_DATES.items()
        }

    async def _unknown(self, prefix: str) -> ParsedResponse:
        return await self._ask(questions.timegate(prefix + NEVER_CAPTURED))

    def _timemap_address(self, newest: ParsedResponse) -> str | None:
        """Return where the TimeMap is: as the registry knows, or as the TimeGate links it."""
        if "link" in self._subject.timemaps:
            return self._subject.timemaps["link"] + self._sample
        return next((uri for uri in newest.targets("timemap") if self._subject.owns(uri)), None)

    async def _timemap(self, url: str) -> TimeMapFacts:
        """Read the TimeMap at *url* to its last page, and in its other forms."""
        first = ParsedTimeMap(await self._ask(questions.listing(url)))
        pages, cut = await self._pages(first)
        captures = in_time([each for page in (first, *pages) for each in page.captures])
        newest = captures[-1][0] if captures else self._now
        return TimeMapFacts(
            first,
            pages,
            cut,
            await self._ask(questions.head(url, "index")),
            ParsedTimeMap(await self._ask(questions.listing(url, newest)))
            if captures
            else None,
            await self._form("json", url),
            await self._form("cdxj", url),
            await self._unknown_timemap(url) if self._first else None,
        )

    async def _pages(self, first: ParsedTimeMap) -> tuple[tuple[ParsedTimeMap, ...], str]:
        """Follow the pages until they bring nothing new; say why if that is not the end."""
        pages: list[ParsedTimeMap] = []
        seen, waiting = {first.said.url}, first.pages
        known = set(first.captures)
        while waiting:
            url, *waiting = waiting
            if url in seen or not self._subject.owns(url):
                continue
            if len(pages) == MOST_PAGES:
                return tuple(pages), f"more than {MOST_PAGES} pages"
            seen.add(url)
            pages.append(page := ParsedTimeMap(await self._ask(questions.listing(url))))
            if page.captures and known.issuperset(page.captures):
                return tuple(pages), f"{url} lists nothing that was not on the pages before it"
            known.update(page.captures)
            waiting += page.pages
        return tuple(pages), ""

    async def _form(self, form: str, url: str) -> ParsedResponse | None:
        known = self._subject.timemaps.get(form)
        if known is not None:
            return await self._ask(questions.listing(known + self._sample))
        if _LINK_FORM not in url:
            return None
        guess = url.replace(_LINK_FORM, f"/timemap/{form}/", 1)
        return await self._ask(questions.listing(guess))

    async def _unknown_timemap(self, url: str) -> ParsedResponse | None:
        if not url.endswith(self._sample):
            return None
        unknown = url.removesuffix(self._sample) + NEVER_CAPTURED
        return await self._ask(questions.listing(unknown))

    async def _replays(
        self, gate: GateFacts, captures: list[Capture]
    ) -> tuple[ReplayFacts, ...]:
        """Ask for the chosen memento, the first and the last, where they are the archive's."""
        ends = [captures[0][1], captures[-1][1]] if captures else []
        chosen = [gate.early.chosen] if not gate.early.silence else []
        uris = [uri for uri in dict.fromkeys([*chosen, *ends]) if uri]
        own = [uri for uri in uris if self._subject.owns(uri) and not self._is_gate(uri)]
        return tuple(
            [await self._replay(uri, thoroughly=number == 0) for number, uri in enumerate(own)]
        )

    def _is_gate(self, uri: str) -> bool:
        return uri == self._subject.url + self._sample

    async def _replay(self, uri: str, *, thoroughly: bool) -> ReplayFacts:
        """Ask for the memento at *uri*; *thoroughly*: also with HEAD, with a date, and raw."""
        request = questions.timegate(uri)
        plain = await self._followed(await self._ask(request), request)
        if not thoroughly or plain.end.silence:
            return plain
        there = plain.end.url
        return ReplayFacts(
            uri,
            plain.hops,
            plain.stopped,
            await self._ask(questions.head(there, "memento")),
            await self._ask(questions.timegate(there, questions.a_year_after(self._now))),
            await self._raw(there),
        )

    async def _with_made_up(
        self, replays: tuple[ReplayFacts, ...], captures: list[Capture]
    ) -> tuple[ReplayFacts, ...]:
        """Ask for the first of *replays* at a second without a memento as well."""
        near_earlier, near_later = questions.between(captures)
        address = address_of(replays[0].uri) if replays else None
        if address is None:
            return replays
        other = near_earlier if near_later else questions.a_year_before(address.stamp)
        uri = questions.at_another_time(replays[0].uri, address.stamp, other)
        made_up = await self._ask(questions.timegate(uri))
        return (replace(replays[0], made_up=made_up), *replays[1:])

    async def _raw(self, uri: str) -> ParsedResponse | None:
        """Ask for the unaltered bytes: by the registry's template, or as most archives do."""
        address = address_of(uri)
        if address is None:
            return None
        stamp, original = address
        if self._subject.raw is not None:
            raw = self._subject.raw.replace("{time14}", stamp).replace("{uri}", original)
        else:
            raw = uri.replace(f"/{stamp}/", f"/{stamp}id_/", 1)
        return await self._ask(questions.timegate(raw)) if self._subject.owns(raw) else None

    async def _followed(self, said: ParsedResponse, request: Request) -> ReplayFacts:
        """Follow redirects until something else comes, or the way is not to be gone."""
        hops = [said]
        while hops[-1].redirects and (following := hops[-1].location):
            stop = self._obstacle(hops, following)
            if stop:
                return ReplayFacts(said.url, tuple(hops), stop)
            onward = Request("GET", following, "memento", request.headers)
            hops.append(await self._ask(onward))
        return ReplayFacts(said.url, tuple(hops))

    def _obstacle(self, hops: list[ParsedResponse], following: str) -> str:
        if following in {hop.url for hop in hops}:
            return f"a circle: {following} again"
        if downgrades(hops[-1].url, following):
            return f"from https to http: {following}"
        if not self._subject.owns(following):
            return f"leaves the archive: {following}"
        return f"more than {MOST_HOPS} redirects" if len(hops) > MOST_HOPS else ""


@dataclass(frozen=True, slots=True)
class Recognised:
    """What an address is, where it begins, and with which pages to try it."""

    role: Role
    url: str
    samples: tuple[str, ...]


def said_to_be(role: Role, url: str, samples: tuple[str, ...]) -> Recognised:
    """Take somebody's word for what *url* is."""
    cut = embedded(url)
    if role == "timegate":
        prefix, page = cut or (url, DEFAULT_SAMPLE)
        return Recognised(role, prefix, samples or (page,))
    page = url if role == "original" or cut is None else cut[1]
    return Recognised(role, url, (page,))


async def recognised(url: str, samples: tuple[str, ...], session: Session) -> Recognised:
    """Ask *url* once, and see what answers. What says nothing is taken for a TimeGate."""
    said = ParsedResponse(await session.get(questions.timegate(url)))
    return said_to_be(_role(said, whole=embedded(url) is not None), url, samples)


def _role(said: ParsedResponse, *, whole: bool) -> Role:
    if not whole:
        linking = said.targets("timegate") or said.datetime is not None
        return "original" if linking and not said.negotiates else "timegate"
    if (said.field("content-type") or "").startswith(LINK_FORMAT):
        return "timemap"
    if address_of(said.url) is not None and not said.negotiates:
        return "memento"
    return "timegate"
