"""Originals that speak Memento themselves: their own TimeGate, or one that they link (RFC 7089).

| pattern of RFC 7089 | what the original answers |
|---|---|
| 1.1, 1.2, 1.3 | ``Vary: accept-datetime``: it is its own TimeGate, with a redirect or with the memento |
| 2.1, 2.2, 2.3 | a link with the relation ``timegate`` to the TimeGate |
| 3 | ``Memento-Datetime``: it never changes, and is its own memento |
| any other | nothing of that: it has no mementos of its own |

The original is requested first, without its body; then its TimeGate is queried like that of an archive.
Only the servers of the original and of the TimeGate that it links may answer, and give addresses. A TimeGate
at an archive that is queried by itself is not requested again, nor is one at this server.
"""  # noqa: E501 -- a table

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple

from msgspec import structs

from archives.addresses import AddressPolicy, downgrades
from archives.errors import Misbehaved, Refused
from archives.evidence import links_of, same_page
from archives.formats.httpdate import http_date
from archives.formats.linkformat import Link, resolved
from archives.listing import list_captures
from archives.model import ArchiveEntry, Closest, Hop, Memento, Selection
from archives.moment import Moment
from archives.negotiation import REDIRECTS, Clock, Negotiator, Question, instant_for
from archives.source import Fetcher, Reply, Request, WantedCaptures
from archives.uri import WEB

_MOST_REDIRECTS: Final = 3
_NO_HEAD: Final = (405, 501)
_NOT_NEGOTIATED: Final = "http://mementoweb.org/terms/donotnegotiate"
_ITSELF: Final = "timegate"


class _Spoken(NamedTuple):
    """What an original says of Memento."""

    url: str
    """Its address, after redirects to another spelling of it."""
    timegate: str | None
    """The TimeGate to query; None if there is none."""
    timemap: str | None
    hops: tuple[Hop, ...]
    """The responses before the TimeGate."""
    reply: "_Head | None" = None
    """Its answer to HEAD, where it is its own TimeGate."""


@dataclass(frozen=True, slots=True)
class _Head:
    """A `Reply` without body that was received before."""

    url: str
    status: int
    headers: Mapping[str, str]

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield nothing."""
        none: tuple[bytes, ...] = ()
        for piece in none:
            yield piece


def _answered_before(fetch: Fetcher, reply: _Head) -> Fetcher:
    """Return *fetch*, with *reply* as the answer to HEAD of its address."""

    @asynccontextmanager
    async def fetched(request: Request) -> AsyncGenerator[Reply]:
        if request.method == "HEAD" and request.url == reply.url:
            yield reply
            return
        async with fetch(request) as other:
            yield other

    return fetched


class OriginalTimeGates:
    """An `Adapter` over all originals, each of which is queried at its own server."""

    def __init__(self, entry: ArchiveEntry, clock: Clock, policy: AddressPolicy) -> None:
        self.entry = entry
        self._clock = clock
        self._policy = policy

    @property
    def selection(self) -> Selection:
        """How they select: each in its own way, so the nearest is asked for."""
        return "nearest"

    async def closest(self, fetch: Fetcher, original: str, at: Moment | None) -> Closest | None:
        """Query the TimeGate of *original*; None if it has none. Raises ArchiveError."""
        page = original.partition("#")[0]
        requested = None if at is None else instant_for(at, self.selection)
        headers = {} if requested is None else {"accept-datetime": http_date(requested)}
        spoken = await self._asked(fetch, page, headers)
        if spoken is None or spoken.timegate is None:
            return None
        if spoken.reply is not None:
            # It has just been asked with this Accept-Datetime.
            fetch = _answered_before(fetch, spoken.reply)
        addresses = self._policy.at(self.entry, spoken.timegate, spoken.url, page)
        negotiator = Negotiator(self.entry, addresses, self._clock)
        question = Question(spoken.timegate, page, at, "timegate", headers, requested)
        found = await negotiator.closest(fetch, question)
        return (
            None if found is None else structs.replace(found, hops=(*spoken.hops, *found.hops))
        )

    async def mementos(
        self,
        fetch: Fetcher,
        original: str,
        *,
        detailed: bool = False,
        wanted: WantedCaptures | None = None,
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Read the TimeMap that the original or its TimeGate links, if there is one."""
        page = original.partition("#")[0]
        spoken = await self._asked(fetch, page, {})
        if spoken is None:
            return
        timemap = spoken.timemap
        if timemap is None and spoken.timegate not in (None, spoken.url):
            timemap = await self._linked_timemap(fetch, spoken.timegate or "", page)
        if timemap is None:
            return
        urls = [url for url in (timemap, spoken.timegate, spoken.url, page) if url is not None]
        batches = list_captures(
            self.entry,
            self._policy.at(self.entry, *urls),
            fetch,
            self._clock,
            page,
            detailed=detailed,
            wanted=wanted,
            timemap=timemap,
        )
        try:
            async for batch in batches:
                yield batch
        finally:
            await batches.aclose()

    async def _asked(
        self, fetch: Fetcher, page: str, headers: dict[str, str]
    ) -> _Spoken | None:
        """Request the original; None if it may not be, or does not speak Memento."""
        url = page
        hops: tuple[Hop, ...] = ()
        for _ in range(_MOST_REDIRECTS + 1):
            if self._is_elsewhere(url):
                return None
            answer = await self._answered(fetch, url, headers)
            if isinstance(answer, _Spoken):
                return answer._replace(hops=(*hops, *answer.hops))
            if answer is None or not same_page(answer, page) or downgrades(url, answer):
                return None
            hops = (*hops, Hop(url, 302, None))
            url = answer
        raise Misbehaved(self.entry.id, url, f"redirects more than {_MOST_REDIRECTS} times")

    def _is_elsewhere(self, url: str) -> bool:
        """Whether *url* is at this server, or at an archive that is queried by itself."""
        return self._policy.is_ours(url) or self._policy.has_archive(url)

    async def _answered(
        self, fetch: Fetcher, url: str, headers: dict[str, str]
    ) -> "_Spoken | str | None":
        """Return what the original says, where an ordinary redirect leads, or None."""
        try:
            async with fetch(Request("HEAD", url, "memento", headers)) as reply:
                if reply.status not in _NO_HEAD:
                    spoken = self._read(reply)
                    if not isinstance(spoken, _Spoken) or spoken.timegate != reply.url:
                        return spoken
                    return spoken._replace(reply=_Head(reply.url, reply.status, reply.headers))
        except Refused as error:
            if error.status not in _NO_HEAD:
                raise
        async with fetch(Request("GET", url, "memento", headers)) as reply:
            return self._read(reply)

    def _read(self, reply: Reply) -> "_Spoken | str | None":
        links, url = links_of(reply), reply.url
        if any(link.target == _NOT_NEGOTIATED and "type" in link.rels for link in links):
            return None
        vary = {token.strip().lower() for token in reply.headers.get("vary", "").split(",")}
        timemap = self._linked(links, url, "timemap")
        if "accept-datetime" in vary or "memento-datetime" in reply.headers:
            return _Spoken(url, url, timemap, ())
        timegate = self._linked(links, url, _ITSELF)
        if timegate is not None or timemap is not None:
            return _Spoken(url, timegate, timemap, (Hop(url, reply.status, None),))
        if reply.status in REDIRECTS:
            return resolved(reply.headers.get("location", "").strip(), url)
        return None

    def _linked(self, links: Sequence[Link], url: str, relation: str) -> str | None:
        """Return the first link with *relation* of which the original is the context."""
        for link in links:
            target = resolved(link.target, url)
            is_its_own = link.anchor is None or resolved(link.anchor, url) == url
            if relation not in link.rels or not is_its_own or target is None:
                continue
            media_type = link.params.get("type", "application/link-format")
            if relation == "timemap" and media_type != "application/link-format":
                continue
            usable = target.startswith(WEB) and not downgrades(url, target)
            if usable and not self._is_elsewhere(target):
                return target
        return None

    async def _linked_timemap(self, fetch: Fetcher, timegate: str, page: str) -> str | None:
        """Return the TimeMap that the TimeGate links."""
        async with fetch(Request("HEAD", timegate, "memento")) as reply:
            for link in links_of(reply):
                target = resolved(link.target, timegate)
                if (
                    "timemap" in link.rels
                    and target is not None
                    and (link.anchor is None or same_page(link.anchor, page))
                ):
                    found = target if target.startswith(WEB) else None
                    return None if found is None or self._is_elsewhere(found) else found
        return None
