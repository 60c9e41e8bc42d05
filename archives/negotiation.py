"""One question, followed through redirects until an archive has said which capture it is.

TimeGates answer in two styles (RFC 7089 4.2): with a redirect to the memento, or with the
memento itself. Redirects on the way are followed by hand, at most `MOST_HOPS`, each checked by
the `Fetcher`. No body is read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from archives.errors import Misbehaved, Refused
from archives.evidence import WEB, Statement, address_of, filed_as_one, same_page, weigh
from archives.model import ArchiveEntry, Closest, Memento, Negotiation, Selection
from archives.moment import Moment
from archives.nearest import nearest, second_of
from archives.source import Fetcher, Request
from archives.uri import USUAL_PORTS, plain_host, plain_origin

MOST_HOPS: Final = 5
CLEAR_NO: Final = (404, 410)
GO_AWAY: Final = (401, 451)
REDIRECTS: Final = (301, 302, 303, 307, 308)
_NO_HEAD: Final = (405, 501)
# Nobody asked for a part, or whether something has changed.
_UNASKED: Final = (206, 304, 416)
# Clocks differ; a capture from tomorrow is a wrong date all the same.
_CLOCK_DRIFT: Final = timedelta(hours=1)

Clock = Callable[[], datetime]
_Method = Literal["GET", "HEAD"]


def latest_stamp(clock: Clock) -> str:
    """Return the last stamp that a capture can have now."""
    return _latest_in(clock().replace(microsecond=0))


@lru_cache(maxsize=8)
def _latest_in(second: datetime) -> str:
    return Moment.of(second.astimezone(UTC) + _CLOCK_DRIFT).digits


def instant_for(at: Moment, entry: ArchiveEntry) -> str:
    """Return the second to ask *entry* for: T-11, by how it chooses."""
    return _instant(at, entry.selection)


@lru_cache(maxsize=1024)
def _instant(at: Moment, selection: Selection) -> str:
    before = selection == "nearest-before"
    return Moment.of(at.window[1] if before else at.negotiated).digits


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: *url* about *original*, for a capture near *at*."""

    url: str
    original: str
    at: Moment | None
    via: Negotiation
    headers: Mapping[str, str]
    asked: str | None
    """The stamp that was negotiated for."""


class Negotiator:
    """Asks one archive about mementos, with HEAD as long as it takes HEAD."""

    def __init__(self, entry: ArchiveEntry, clock: Clock) -> None:
        self._entry = entry
        self._clock = clock
        self._homes = Homes.of(entry)
        urls = (entry.timegate, entry.replay, entry.raw)
        self._at_home = tuple(f"{o}/" for url in urls if url and (o := _origin(url)))
        self._takes_head = True
        self._may_mistake_head = True

    async def closest(self, fetch: Fetcher, question: Question) -> Closest | None:
        """Return what the archive answers; None for a clear no. Raises ArchiveError."""
        url = question.url
        seen = {url}
        for hop in range(MOST_HOPS + 1):
            statement = await self._ask(fetch, url, question, sent_on=hop > 0)
            following = self._next_hop(statement, question)
            if following is None:
                return self._conclude(statement, question)
            if isinstance(following, Closest):
                return following
            if following in seen:
                raise self._misbehaved(url, "redirects in a circle")
            seen.add(following)
            url = following
        raise self._misbehaved(url, f"more than {MOST_HOPS} redirects")

    async def _ask(
        self, fetch: Fetcher, url: str, question: Question, *, sent_on: bool
    ) -> Statement:
        """Ask with HEAD, and with GET where the answer to HEAD cannot be what GET would say.

        Whoever does not know HEAD says 405, or anything at all. A 404 to HEAD is believed,
        because asking every archive twice for every page it lacks is more than they allow
        (S7), but not where the archive itself has just sent us. Other nonsense is looked into
        once.
        """
        if not self._takes_head:
            return await self._said(fetch, "GET", url, question)
        try:
            told = await self._said(fetch, "HEAD", url, question)
        except Misbehaved:
            # Some send the body along, which breaks HTTP.
            if not self._may_mistake_head:
                raise
        else:
            if not self._is_suspect(told, sent_on=sent_on):
                return told
            self._takes_head = told.status not in _NO_HEAD
        self._may_mistake_head = False
        again = await self._said(fetch, "GET", url, question)
        self._takes_head = self._takes_head and not _is_answer(again)
        return again

    async def _said(
        self, fetch: Fetcher, method: _Method, url: str, question: Question
    ) -> Statement:
        request = Request(method, url, "memento", question.headers)
        async with fetch(request) as reply:
            return Statement.of(reply).only_at(self._is_ours)

    def _is_suspect(self, told: Statement, *, sent_on: bool) -> bool:
        if _is_answer(told):
            return False
        if told.status in CLEAR_NO:
            return sent_on
        return told.status in _NO_HEAD or self._may_mistake_head

    def _next_hop(self, statement: Statement, question: Question) -> str | Closest | None:
        """Return where to ask next, or the answer if the redirect gives it; None at the end."""
        if statement.status not in REDIRECTS:
            return None
        if statement.datetime is not None and not _leads_to_itself(statement, question):
            return None
        if statement.location is None:
            raise self._misbehaved(statement.url, f"{statement.status} without Location")
        if statement.location.lower().startswith(WEB) and not plain_host(statement.location):
            why = "leads to an address whose host not everybody reads alike"
            raise self._misbehaved(statement.url, why)
        if downgrades(statement.url, statement.location):
            raise self._misbehaved(statement.location, "redirects from https to http")
        return self._settled(statement, question) or statement.location

    def _settled(self, statement: Statement, question: Question) -> Closest | None:
        """Return the answer where a redirect already proves when its target was captured.

        It does where its own link to the target dates it and the digits of the address agree:
        then a second request would bring nothing new. A target at some other host is left to
        the `Fetcher` to judge.
        """
        target = statement.location or ""
        linked = statement.date_of(target)
        address = address_of(target)
        if linked is None or address is None or not self._is_ours(target):
            return None
        dated = weigh(None, linked, target, None, latest_stamp(self._clock))
        if dated.doubts or dated.stamp is None:
            return None
        original = statement.original(target, question.original)
        if not filed_as_one(address.original, original):
            return None
        chosen = Memento(dated.stamp, target, original, self._entry.id)
        return self._best(chosen, statement, question)

    def _conclude(self, statement: Statement, question: Question) -> Closest | None:
        """Return what the last reply says about the capture."""
        uri, doubts = self._address(statement, question)
        linked = statement.date_of(uri)
        if statement.datetime is None and not (linked and statement.is_frame):
            self._check_clear_no(statement, question)
            return None
        # Digits that we wrote ourselves say nothing: some archives serve the nearest there.
        spoken = "" if uri == question.url else uri
        # Only who was told the time can echo it.
        asked = question.asked if statement.url == question.url else None
        dated = weigh(statement.datetime, linked, spoken, asked, latest_stamp(self._clock))
        if dated.stamp is None:
            raise self._misbehaved(uri, "; ".join(dated.doubts))
        doubts += dated.doubts
        if uri == question.url and "accept-datetime" in question.headers:
            # Pattern 2.3 of RFC 7089. Whoever is led there has no Accept-Datetime to send.
            doubts += (
                "it has no address of its own: without a time, this one may lead elsewhere",
            )
        # Without Memento-Datetime this is the frame around a memento, and so is its status.
        status = statement.status if statement.datetime else None
        if status in _UNASKED:
            doubts += (f"answers {status}, which nobody asked for",)
        original = statement.original(uri, question.original)
        chosen = Memento(dated.stamp, uri, original, self._entry.id, status)
        return self._best(chosen, statement, question, doubts)

    def _address(self, statement: Statement, question: Question) -> tuple[str, tuple[str, ...]]:
        """Return where the memento is: as stated, as linked, or else where we asked."""
        stated = statement.content_location
        if stated is not None and self._is_its_address(stated, statement, question):
            return stated, ()
        if not statement.negotiates:
            return statement.url, ()
        doubts = () if stated is None else (f"Content-Location is no memento: {stated[:200]}",)
        linked, stray = self._linked(statement)
        return linked or statement.url, doubts + stray

    def _linked(self, statement: Statement) -> tuple[str | None, tuple[str, ...]]:
        """Return the address that the links give, where people may be led; else doubts.

        It is checked as the target of a redirect is. A frame has no other address.
        """
        linked, stray = statement.linked_address, statement.stray
        if linked is not None and not downgrades(statement.url, linked):
            return linked, ()
        stray = linked or stray
        if stray is None:
            return None, ()
        why = f"links a memento where nobody is led: {stray[:200]}"
        if statement.datetime is None and statement.status == 200:
            raise self._misbehaved(statement.url, why)
        return None, (why,)

    def _is_its_address(self, stated: str, statement: Statement, question: Question) -> bool:
        """Whether Content-Location is the archive's word, not a header of the archived page."""
        address = address_of(stated)
        ours = self._is_ours(stated) and not downgrades(statement.url, stated)
        if not ours or address is None:
            return statement.negotiates and ours
        pages = (*statement.originals, question.original)
        return any(same_page(address.original, page) for page in pages)

    def _best(
        self,
        chosen: Memento,
        statement: Statement,
        question: Question,
        doubts: tuple[str, ...] = (),
    ) -> Closest:
        """Prefer a neighbour that lies inside the interval if the choice does not (S-6).

        One that is merely nearer is only a claim: asked for 2020-02-01T02:03:57, the Internet
        Archive leads past the prev that it links, one second off, to a copy it can play.
        """
        neighbours = statement.neighbours(chosen, latest_stamp(self._clock))
        secure = [m for m in neighbours.values() if not downgrades(statement.url, m.uri)]
        best = nearest([chosen, *secure], question.at) or chosen
        if best.stamp[:14] == chosen.stamp[:14]:
            best = chosen
        doubts += statement.quarrels + self._wrong_choice(chosen, best, question.at)
        doubts += _wrong_page(chosen)
        at, looks_back = question.at, self._entry.selection == "nearest-before"
        taken = best if at is None or looks_back or not _outside(at, best) else chosen
        return Closest(taken, question.via, doubts, neighbours)

    def _wrong_choice(
        self, chosen: Memento, best: Memento, at: Moment | None
    ) -> tuple[str, ...]:
        """Doubt an archive that missed the nearest; how it breaks ties is its own (M-18)."""
        if best is chosen or self._entry.selection == "nearest-before":
            return ()
        if at is not None and _outside(at, best) == _outside(at, chosen):
            return ()
        return (f"chose {chosen.stamp} although it links {best.stamp}",)

    def _check_clear_no(self, statement: Statement, question: Question) -> None:
        """Return if the reply says that there is no capture; raise if it says anything else."""
        if statement.status in CLEAR_NO:
            if statement.url != question.url and address_of(statement.url):
                raise self._misbehaved(statement.url, "leads to a capture that is not there")
            return
        if statement.status in GO_AWAY:
            raise Refused(self._entry.id, statement.url, statement.status, None)
        if statement.status == 200:
            why = "answers 200 without Memento-Datetime: a gate or an error page, no memento"
            raise self._misbehaved(statement.url, why)
        raise self._misbehaved(statement.url, f"answers {statement.status}")

    def _is_ours(self, uri: str) -> bool:
        return uri.startswith(self._at_home) or self._homes.hold(uri)

    def _misbehaved(self, url: str, why: str) -> Misbehaved:
        return Misbehaved(self._entry.id, url, why)


class Homes(NamedTuple):
    """Where the addresses of one archive may lead, as far as its entry says."""

    hosts: frozenset[str]
    ports: frozenset[tuple[str, int]]
    """Scheme and port: the usual ones, and those of its endpoints."""

    @classmethod
    def of(cls, entry: ArchiveEntry, *also: str) -> "Homes":
        """Read the homes of *entry*; *also* names more hosts."""
        urls = (entry.timegate, *entry.timemaps.values(), entry.cdx, entry.replay, entry.raw)
        asked = list(filter(None, map(plain_origin, filter(None, urls))))
        named = [_host_and_port(host) for host in (*entry.hosts, *also)]
        hosts = (*(host for host, _ in named), *(host for _, host, _ in asked))
        ports = {(scheme, port) for scheme, _, port in asked} | {*USUAL_PORTS.items()}
        ports |= {(scheme, port) for _, port in named if port for scheme in USUAL_PORTS}
        return cls(frozenset(hosts), frozenset(ports))

    def hold(self, uri: str, *, below: bool = False) -> bool:
        """Whether *uri* is at one of the hosts, with *below* also at one under them."""
        origin = plain_origin(uri)
        return origin is not None and _is_home(self, origin, below=below)


@lru_cache(maxsize=1024)
def _is_home(homes: Homes, origin: tuple[str, str, int], *, below: bool) -> bool:
    scheme, host, port = origin
    if (scheme, port) not in homes.ports:
        return False
    return host in homes.hosts or (
        below and any(host.endswith(f".{home}") for home in homes.hosts)
    )


def _host_and_port(text: str) -> tuple[str, int | None]:
    """Return a host of an entry; only those of a command line have a port."""
    name = text.partition("/")[0].lower()
    host, _, port = name.rpartition(":")
    has_port = host and ":" not in host and port.isascii() and port.isdecimal()
    return (host, int(port[:6])) if has_port else (name, None)


def _origin(url: str) -> str | None:
    """Return scheme, host and port of an http(s) address as they are written."""
    scheme, separator, rest = url.partition("://")
    authority = rest.partition("/")[0]
    plain = separator and not set(authority) & set("@{}?#")
    return f"{scheme}://{authority}" if plain and url.startswith(WEB) else None


def downgrades(url: str, following: str) -> bool:
    """Whether a redirect falls back from https to http (R3)."""
    return url.lower().startswith("https:") and following.lower().startswith("http:")


def _is_answer(statement: Statement) -> bool:
    """Whether a reply leads to a memento: more than yes or no can be said without one."""
    redirects = statement.status in REDIRECTS and statement.location is not None
    return redirects or statement.datetime is not None or statement.is_frame


def _wrong_page(chosen: Memento) -> tuple[str, ...]:
    """Doubt a memento whose address spells another page than the one it is said to be of."""
    address = address_of(chosen.uri)
    if address is None or filed_as_one(address.original, chosen.original):
        return ()
    return (f"its address is of {address.original[:200]}",)


def _outside(at: Moment, capture: Memento) -> timedelta:
    return abs(at.distance(second_of(capture.stamp)))


def _leads_to_itself(statement: Statement, question: Question) -> bool:
    """Whether a redirect with Memento-Datetime only leads to the capture that it dates.

    By RFC 7089 4.5.3 it would be a capture of a redirect, as the Internet Archive serves them:
    to the same stamp of another page. Some TimeGates send the header by mistake: then the
    target is a capture of the same page, and no other address is given.
    """
    if statement.location is None:
        return False
    if statement.content_location is not None:
        return statement.content_location == statement.location
    target = address_of(statement.location)
    here = address_of(statement.url)
    if target is None or (here is not None and here.stamp == target.stamp):
        return False
    return same_page(target.original, statement.original(None, question.original))
