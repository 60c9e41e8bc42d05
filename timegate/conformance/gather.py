"""Sends the requests; each response determines what is requested next.

Nothing else in this package sends requests. What does not depend on the page is requested with
the first page only; `run.estimated` tells how many requests that makes.
"""

from dataclasses import replace
from typing import Final, Literal, assert_never

from archives.addresses import downgrades
from archives.evidence import address_of
from archives.formats.linkformat import resolved
from archives.negotiation import MOST_HOPS
from archives.source import Request
from timegate.conformance import probes
from timegate.conformance.facts import (
    Facts,
    GateFacts,
    LinkedFacts,
    LinkSource,
    ReplayFacts,
    TimeMapFacts,
)
from timegate.conformance.parsed_response import (
    LINK_FORMAT,
    Capture,
    ParsedResponse,
    ParsedTimeMap,
    in_time,
)
from timegate.conformance.session import Session, Wanted
from timegate.conformance.subject import (
    NEVER_CAPTURED,
    Subject,
    is_of_another,
    memento_key,
)

_MOST_LINKED: Final = 2
"""TimeGates or TimeMaps of one response that are requested."""
MOST_PAGES: Final = 50
"""Pages of one TimeMap that are read. The Internet Archive has some 10 000 mementos a page."""
MOST_REQUESTS: Final = 40
"""Requests with the first page, not counting the pages of a TimeMap."""
_MOST_SAMPLED: Final = 6
"""Mementos that are requested beside the chosen, first and last one."""
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
        self._pages_read = 0
        self._is_extra = False
        """Whether requests are only sent as long as some are left of `MOST_REQUESTS`."""

    @property
    def _left(self) -> int:
        """How many requests may still be sent with the first page, pages of TimeMaps included.

        What the recognition of the address took is not known when a recording is judged.
        """
        is_new = self._subject.detected and self._subject.role != "original"
        sent = sum(exchange.was_sent for exchange in self._session.exchanges.values())
        return MOST_REQUESTS - (2 if is_new else 0) - sent

    async def _ask(
        self, request: Request, repeat: int = 0, *, wanted: Wanted = "lists"
    ) -> ParsedResponse:
        return ParsedResponse(await self._session.get(request, repeat, wanted=wanted))

    async def by_role(self) -> Facts:
        """Send the requests that suit a TimeGate, a TimeMap, a memento or an original."""
        subject, sample, now = self._subject, self._sample, self._now
        match subject.role:
            case "timegate":
                facts = await self._archive(subject.url + sample)
            case "timemap":
                facts = Facts(subject, sample, now, timemap=await self._timemap(subject.url))
            case "memento":
                facts = await self._memento()
            case "original":
                facts = await self._original()
            case _:
                assert_never(subject.role)
        facts = await self._with_links(facts)
        return await self._with_more(facts) if self._first else facts

    async def _memento(self) -> Facts:
        """Query a memento, and the TimeMap it links: there may be no TimeGate (pattern 4)."""
        subject = self._subject
        replay = await self._replay(subject.url, thoroughly=True)
        address = self._timemap_address(replay.end)
        timemap = None if address is None else await self._timemap(address)
        return Facts(subject, self._sample, self._now, timemap=timemap, replays=(replay,))

    async def _original(self) -> Facts:
        """Query an original, and its TimeGate: itself (pattern 1) or the one it links (2)."""
        subject, url = self._subject, self._subject.url
        original = await self._ask(probes.memento(url), wanted="text")
        gate = await self._timegate_of(original)
        if gate is not None:
            return replace(await self._archive(gate), original=original)
        fixed = original.datetime is not None and not original.no_answer
        replays = (await self._replay(url, thoroughly=True),) if fixed else ()
        return Facts(subject, self._sample, self._now, replays=replays, original=original)

    async def _timegate_of(self, original: ParsedResponse) -> str | None:
        """Return the address of the TimeGate that may be queried; None if there is none."""
        if original.status == 0 or original.declines_negotiation:
            return None
        if original.negotiates:
            return original.url
        linked = [*original.targets("timegate"), *original.html_targets("timegate")]
        if linked or original.datetime is not None or original.no_answer:
            return next((uri for uri in linked if self._subject.owns(uri)), None)
        if original.status >= 400:
            return None
        some_time, _ = probes.between([])
        negotiated = await self._ask(probes.memento(original.url, some_time))
        return original.url if negotiated.negotiates else None

    async def _archive(self, url: str) -> Facts:
        """Query the TimeGate, the TimeMap it links, and some of the mementos they list."""
        subject = self._subject
        newest, before = await self._timegate_at(url)
        url = newest.url
        address = self._timemap_address(newest)
        timemap = None if address is None else await self._timemap(address)
        captures = [] if timemap is None else timemap.captures
        gate = replace(await self._gate(url, newest, captures), preceding=before)
        route = await self._followed(gate.early, gate.early.exchange.request)
        replays = await self._replays(gate, captures)
        replays = await self._with_made_up(replays, captures)
        return Facts(
            subject, self._sample, self._now, gate, timemap, route, replays, gate_url=url
        )

    async def _timegate_at(self, url: str) -> tuple[ParsedResponse, tuple[ParsedResponse, ...]]:
        """Return the response of the TimeGate, and the redirects that lead to it.

        Intermediate resources and other TimeGates may come first (RFC 7089 4.5.7). A redirect
        is one of those if a later response on the way is that of a TimeGate.
        """
        newest = await self._ask(probes.cross_site(url))
        if _names_a_memento(newest):
            return newest, ()
        route = await self._followed(newest, probes.memento(url), "digest")
        gates = [
            number
            for number, hop in enumerate(route.hops)
            if number and _is_timegate(hop, route.hops[:number])
        ]
        if not gates:
            return newest, ()
        last = gates[-1]
        effective = await self._ask(probes.cross_site(route.hops[last].url))
        return effective, route.hops[:last]

    async def _gate(
        self, url: str, newest: ParsedResponse, captures: list[Capture]
    ) -> GateFacts:
        near_earlier, near_later = probes.between(captures)
        linked = sorted(link.stamp for link in newest.mementos if link.stamp)
        oldest = captures[0][0] if captures else next(iter(linked), None)
        before = probes.a_year_before(captures[0][0]) if captures else _NO_OLDER
        early = probes.memento(url, near_earlier)
        gate = GateFacts(
            newest,
            await self._ask(early, wanted="digest"),
            await self._at(url, near_later),
            await self._at(url, oldest),
            await self._at(url, before),
            await self._at(url, probes.after(captures, self._now)),
            await self._ask(early, repeat=1, wanted="digest"),
            await self._ask(probes.head(url, "memento", near_earlier)),
            await self._bad_dates(url) if self._first else {},
            await self._unknown(url) if self._first else None,
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

    async def _unknown(self, url: str) -> ParsedResponse | None:
        """Request a page that cannot be held; None where the address has no page in it."""
        prefix = url.removesuffix(self._sample)
        if prefix in (url, ""):
            return None
        return await self._ask(probes.memento(prefix + NEVER_CAPTURED))

    def _timemap_address(self, linking: ParsedResponse) -> str | None:
        """Return the address of the TimeMap, from the registry or from links."""
        if "link" in self._subject.timemaps:
            return self._subject.timemaps["link"] + self._sample
        return next((uri for uri in timemap_targets(linking) if self._subject.owns(uri)), None)

    async def _timemap(self, url: str) -> TimeMapFacts:
        """Read the TimeMap at *url* with all its pages, and in its other formats."""
        request = probes.timemap(url)
        route = await self._followed(await self._ask(request), request)
        first = ParsedTimeMap(route.end)
        pages, cut, elsewhere = await self._pages(first)
        captures = in_time([each for page in (first, *pages) for each in page.captures])
        newest = captures[-1][0] if captures else self._now
        return TimeMapFacts(
            first,
            pages,
            cut,
            elsewhere,
            url,
            await self._ask(probes.head(first.response.url, "index")),
            ParsedTimeMap(await self._ask(probes.timemap(first.response.url, newest)))
            if captures
            else None,
            await self._form("json", url),
            await self._form("cdxj", url),
            await self._unknown_timemap(url) if self._first else None,
        )

    async def _pages(
        self, first: ParsedTimeMap
    ) -> tuple[tuple[ParsedTimeMap, ...], str, tuple[str, ...]]:
        """Read the pages until none brings new captures.

        Also return why it stopped early, and the pages on hosts that may not be queried.
        """
        pages: list[ParsedTimeMap] = []
        elsewhere: list[str] = []
        seen, waiting = {first.response.url}, first.pages
        known = set(first.captures)
        while waiting:
            url, *waiting = waiting
            if not self._subject.owns(url):
                elsewhere.append(url)
                continue
            if url in seen:
                continue
            if len(pages) == MOST_PAGES:
                return tuple(pages), f"more than {MOST_PAGES} pages", tuple(elsewhere)
            seen.add(url)
            self._pages_read += 1
            pages.append(page := ParsedTimeMap(await self._ask(probes.timemap(url))))
            if page.captures and known.issuperset(page.captures):
                onward = [uri for uri in page.pages if uri not in seen and uri not in waiting]
                if onward or not _is_earlier_page(page, (first, *pages[:-1])):
                    why = f"{url} lists only what the pages before it list"
                    return tuple(pages), why, tuple(elsewhere)
            known.update(page.captures)
            waiting += page.pages
        return tuple(pages), "", tuple(elsewhere)

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
        shared = {gate.newest.url, self._sample}
        own = [uri for uri in uris if self._subject.owns(uri) and uri not in shared]
        if not own and gate.early.datetime is not None:
            # The TimeGate's address is that of its mementos (patterns 1.3 and 2.3).
            twice = None if gate.again is None else (gate.early, gate.again)
            return (ReplayFacts(gate.early.url, (gate.early,), twice=twice),)
        return tuple(
            [await self._replay(uri, thoroughly=number == 0) for number, uri in enumerate(own)]
        )

    async def _replay(self, uri: str, *, thoroughly: bool) -> ReplayFacts:
        """Request the memento at *uri*; *thoroughly*: also with HEAD, with a date, and raw."""
        request = probes.memento(uri)
        wanted: Wanted = "digest" if thoroughly else "lists"
        plain = await self._followed(await self._ask(request, wanted=wanted), request, wanted)
        if not thoroughly or plain.end.no_answer:
            return plain
        there = plain.end.url
        raw = await self._raw(there)
        return ReplayFacts(
            uri,
            plain.hops,
            plain.stopped,
            await self._ask(probes.head(there, "memento")),
            await self._ask(probes.memento(there, probes.a_year_after(self._now))),
            raw,
            twice=await self._twice(plain.end, raw),
        )

    async def _twice(
        self, page: ParsedResponse, raw: ParsedResponse | None
    ) -> tuple[ParsedResponse, ParsedResponse] | None:
        """Request the unaltered bytes once more, or the page where there are none."""
        once = page if raw is None or raw.datetime is None else raw
        if once.datetime is None:
            return None
        request = Request("GET", once.url, "memento", once.exchange.request.headers)
        if not once.exchange.digest:
            # A page that was searched for links, before it was known to be a memento.
            once = await self._ask(request, repeat=2, wanted="digest")
        return once, await self._ask(request, repeat=1, wanted="digest")

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
        if not self._subject.owns(raw):
            return None
        return await self._ask(probes.memento(raw), wanted="digest")

    async def _with_links(self, facts: Facts) -> Facts:
        """Request the TimeGates and TimeMaps that are linked, also by an original."""
        linked: list[LinkedFacts] = []
        original = facts.original
        if original is not None and not original.declines_negotiation:
            linked += await self._timemaps_linked_by("original", original)
            gates = [*original.targets("timegate"), *original.html_targets("timegate")]
            linked += await self._timegates("original", original, gates)
        if facts.gate is not None:
            linked += await self._timemaps_linked_by("timegate", facts.gate.newest)
        ends = [replay.end for replay in facts.replays]
        memento = next((end for end in ends if end.datetime is not None), None)
        if memento is not None:
            linked += await self._timemaps_linked_by("memento", memento)
            linked += await self._timegates("memento", memento, memento.targets("timegate"))
        if facts.timemap is not None and facts.timemap.first.is_list:
            first = facts.timemap.first
            linked += await self._timegates(
                "timemap", first.response, first.targets("timegate")
            )
            linked += await self._targets(
                "timemap", "self", first.response, first.targets("self")
            )
        return replace(facts, linked=tuple(linked))

    async def _with_more(self, facts: Facts) -> Facts:
        """Send what is left of the requests: extreme dates, chosen and other mementos."""
        self._is_extra = True
        gate = facts.gate
        if gate is not None:
            url, pages = gate.newest.url, self._pages_read
            future = probes.memento(url, probes.future(self._now))
            past = probes.memento(url, probes.LONG_BEFORE)
            gate = replace(
                gate,
                future=await self._extra(future, pages),
                long_before=await self._extra(past, pages),
                head_newest=await self._extra(probes.head_cross_site(url), pages),
            )
            facts = replace(facts, gate=gate)
            facts = await self._with_choices(facts, gate)
        uris = probes.spread(self._others(facts), _MOST_SAMPLED, self._sample)
        return await self._with_replays(facts, uris)

    async def _extra(self, request: Request, beyond: int = 0) -> ParsedResponse | None:
        """Send *request* if one is left; None if not, or if a recording lacks it.

        *beyond*: how many more may be sent, because the TimeMap has pages.
        """
        if self._left + beyond < 1:
            return None
        response = await self._ask(request)
        trouble = response.exchange.trouble
        return None if trouble is not None and trouble.kind == "not-asked" else response

    async def _with_choices(self, facts: Facts, gate: GateFacts) -> Facts:
        """Request what the TimeGate chose where neither TimeMap nor links tell what it is."""
        uris = []
        for response in gate.valid:
            uri = response.chosen if response.is_redirect else None
            if uri and not facts.listed_stamp(uri) and self._may_be_memento(facts, uri):
                uris.append(uri)
        return await self._with_replays(facts, [*dict.fromkeys(uris)])

    def _may_be_memento(self, facts: Facts, uri: str) -> bool:
        requested = {replay.uri for replay in facts.replays}
        shared = {facts.gate_url, self._sample}
        return self._subject.owns(uri) and uri not in requested | shared

    def _others(self, facts: Facts) -> list[str]:
        """Return the mementos that were not requested, of the TimeMap or else of links."""
        linked = [
            (link.stamp or "", link.uri)
            for response in facts.told
            for link in response.mementos
        ]
        page = facts.page or self._sample
        uris = dict.fromkeys(uri for _, uri in facts.captures or in_time(linked))
        ends = {memento_key(hop.url) for replay in facts.replays for hop in replay.hops}
        return [
            uri
            for uri in uris
            if self._may_be_memento(facts, uri)
            and memento_key(uri) not in ends
            # What is listed of another page is reported as such.
            and not is_of_another(uri, page)
        ]

    async def _with_replays(self, facts: Facts, uris: list[str]) -> Facts:
        """Request the mementos at *uris* as long as requests are left."""
        replays = list(facts.replays)
        for uri in uris:
            first = await self._extra(probes.memento(uri))
            if first is not None:
                replays.append(await self._followed(first, first.exchange.request))
        return replace(facts, replays=tuple(replays))

    async def _timemaps_linked_by(
        self, source: LinkSource, linking: ParsedResponse
    ) -> list[LinkedFacts]:
        return await self._targets(source, "timemap", linking, timemap_targets(linking))

    async def _timegates(
        self, source: LinkSource, linking: ParsedResponse, uris: list[str]
    ) -> list[LinkedFacts]:
        return [
            LinkedFacts(
                source,
                "timegate",
                linking,
                uri,
                (await self._ask(probes.cross_site(uri)),) if self._subject.owns(uri) else (),
            )
            for uri in [*dict.fromkeys(uris)][:_MOST_LINKED]
        ]

    async def _targets(
        self,
        source: LinkSource,
        relation: Literal["timemap", "self"],
        linking: ParsedResponse,
        uris: list[str],
    ) -> list[LinkedFacts]:
        linked = []
        for uri in [*dict.fromkeys(uris)][:_MOST_LINKED]:
            hops: tuple[ParsedResponse, ...] = ()
            if self._subject.owns(uri):
                request = probes.timemap(uri)
                hops = (await self._followed(await self._ask(request), request)).hops
            linked.append(LinkedFacts(source, relation, linking, uri, hops))
        return linked

    async def _followed(
        self, response: ParsedResponse, request: Request, wanted: Wanted = "lists"
    ) -> ReplayFacts:
        """Follow redirects to the first other response, or to one that must not be followed."""
        hops = [response]
        while hops[-1].is_redirect and (following := hops[-1].location):
            stop = self._obstacle(hops, following)
            if not stop and self._is_extra and self._left < 1:
                stop = f"not followed: {MOST_REQUESTS} requests were sent"
            if stop:
                return ReplayFacts(response.url, tuple(hops), stop)
            onward = Request("GET", following, request.purpose, request.headers)
            hops.append(await self._ask(onward, wanted=wanted))
        return ReplayFacts(response.url, tuple(hops))

    def _obstacle(self, hops: list[ParsedResponse], following: str) -> str:
        if following in {hop.url for hop in hops}:
            return f"a loop: {following} again"
        if downgrades(hops[-1].url, following):
            return f"from https to http: {following}"
        if not self._subject.owns(following):
            return f"leaves the archive: {following}"
        return f"more than {MOST_HOPS} redirects" if len(hops) > MOST_HOPS else ""


def _is_earlier_page(page: ParsedTimeMap, earlier: tuple[ParsedTimeMap, ...]) -> bool:
    """Whether *page* is a page that was read, at another address that only later pages link."""
    same = [each for each in earlier if each.captures == page.captures]
    return bool(same) and not any(page.response.url in each.pages for each in same)


def timemap_targets(linking: ParsedResponse) -> list[str]:
    """Return the TimeMaps in link-format that a response links."""
    targets = [
        resolved(link.target, linking.url)
        for link in linking.links
        if "timemap" in link.rels
        and link.anchor in (None, linking.url)
        and link.params.get("type", LINK_FORMAT).lower().startswith(LINK_FORMAT)
    ]
    return [uri for uri in targets if uri]


def _names_a_memento(response: ParsedResponse) -> bool:
    """Whether a TimeGate redirects to a memento by all appearances: nothing is in between."""
    target = response.location
    if target is None or not response.negotiates:
        return False
    linked = {link.uri for link in response.mementos}
    return address_of(target) is not None or target in linked


def _is_timegate(response: ParsedResponse, before: tuple[ParsedResponse, ...]) -> bool:
    """Whether a response after redirects is that of a TimeGate, not of a memento."""
    if response.no_answer or not response.negotiates:
        return False
    if response.is_redirect:
        return True
    named = response.statement.content_location
    if named is not None and named != response.url:
        return True
    # A memento that wrongly names accept-datetime in Vary follows a TimeGate.
    led = any(hop.negotiates for hop in before)
    return not led and address_of(response.url) is None
