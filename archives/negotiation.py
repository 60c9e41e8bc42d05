"""One question, followed through redirects until an archive has said which capture it is.

TimeGates answer in two styles (RFC 7089 4.2): with a redirect to the memento, or with the
memento itself. Redirects on the way are followed by hand, at most `MOST_HOPS`, each checked by
the `Fetcher`. No body is read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from archives.choice import nearest
from archives.errors import Misbehaved, Refused
from archives.evidence import Statement, address_of, weigh
from archives.model import ArchiveEntry, Closest, Memento, Negotiation, Relation
from archives.moment import Moment
from archives.source import Fetcher, Request

MOST_HOPS: Final = 5
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_CLEAR_NO: Final = (404, 410)
_GO_AWAY: Final = (401, 451)
_NO_HEAD: Final = (405, 501)
# Clocks differ; a capture from tomorrow is a wrong date all the same.
_CLOCK_DRIFT: Final = timedelta(hours=1)

Clock = Callable[[], datetime]


def latest_stamp(clock: Clock) -> str:
    """Return the last stamp that a capture can have now."""
    return Moment.of(clock().astimezone(UTC) + _CLOCK_DRIFT).digits


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

    def __init__(self, entry: ArchiveEntry, fetch: Fetcher, clock: Clock) -> None:
        self._entry = entry
        self._fetch = fetch
        self._clock = clock
        self._takes_head = True

    async def closest(self, question: Question) -> Closest | None:
        """Return what the archive answers; None for a clear no. Raises ArchiveError."""
        url = question.url
        seen = {url}
        for _ in range(MOST_HOPS + 1):
            statement = await self._ask(url, question.headers)
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

    async def _ask(self, url: str, headers: Mapping[str, str]) -> Statement:
        if self._takes_head:
            async with self._fetch(Request("HEAD", url, "memento", headers)) as reply:
                if reply.status not in _NO_HEAD or "memento-datetime" in reply.headers:
                    return Statement.of(reply)
            self._takes_head = False
        async with self._fetch(Request("GET", url, "memento", headers)) as reply:
            return Statement.of(reply)

    def _next_hop(self, statement: Statement, question: Question) -> str | Closest | None:
        """Return where to ask next, or the answer if the redirect gives it; None at the end."""
        if statement.status not in _REDIRECTS:
            return None
        if statement.datetime is not None and not _leads_to_itself(statement, question):
            return None
        if statement.location is None:
            raise self._misbehaved(statement.url, f"{statement.status} without Location")
        if statement.url.startswith("https:") and statement.location.startswith("http:"):
            raise self._misbehaved(statement.location, "redirects from https to http")
        return self._settled(statement, question) or statement.location

    def _settled(self, statement: Statement, question: Question) -> Closest | None:
        """Return the answer where a redirect already proves when its target was captured.

        It does where its own link to the target dates it and the digits of the address agree:
        then a second request would bring nothing new.
        """
        target = statement.location
        linked = statement.mementos.get(target or "")
        address = address_of(target or "")
        if target is None or linked is None or address is None:
            return None
        dated = weigh(None, linked, target, None, latest_stamp(self._clock))
        if dated.doubts or dated.stamp is None or dated.stamp != address.stamp:
            return None
        original = statement.original or question.original
        memento = Memento(dated.stamp, target, original, self._entry.id)
        return self._best(memento, statement, question, ())

    def _conclude(self, statement: Statement, question: Question) -> Closest | None:
        """Return what the last reply says about the capture."""
        uri = self._address(statement)
        linked = statement.mementos.get(uri)
        if statement.datetime is None and not (linked and statement.negotiates):
            self._check_clear_no(statement)
            return None
        now = latest_stamp(self._clock)
        dated = weigh(statement.datetime, linked, uri, question.asked, now)
        if dated.stamp is None:
            raise self._misbehaved(uri, "; ".join(dated.doubts))
        original = statement.original or question.original
        # Without Memento-Datetime this is the frame around a memento, and so is its status.
        status = statement.status if statement.datetime else None
        memento = Memento(dated.stamp, uri, original, self._entry.id, status)
        return self._best(memento, statement, question, dated.doubts)

    def _address(self, statement: Statement) -> str:
        """Return where the memento is: as stated, as linked, or else where we asked."""
        if statement.content_location:
            return statement.content_location
        linked = statement.mementos
        if statement.negotiates and len(linked) == 1:
            return next(iter(linked))
        dates = [uri for uri, date in linked.items() if date == statement.datetime]
        return dates[0] if statement.negotiates and len(dates) == 1 else statement.url

    def _best(
        self,
        memento: Memento,
        statement: Statement,
        question: Question,
        doubts: tuple[str, ...],
    ) -> Closest:
        """Prefer a neighbour that the archive links if it is nearer than its choice (S-6)."""
        now = latest_stamp(self._clock)
        neighbours: Mapping[Relation, Memento] = statement.neighbours(
            self._entry.id, memento.original, now
        )
        best = nearest([memento, *neighbours.values()], question.at)
        if best is not None and best.stamp != memento.stamp:
            doubts = (*doubts, f"chose {memento.stamp} although it links {best.stamp}")
            memento = best
        return Closest(memento, question.via, doubts, neighbours)

    def _check_clear_no(self, statement: Statement) -> None:
        """Return if the reply says that there is no capture; raise if it says anything else."""
        if statement.status in _CLEAR_NO:
            return
        if statement.status in _GO_AWAY:
            raise Refused(self._entry.id, statement.url, statement.status, None)
        if statement.status == 200:
            why = "answers 200 without Memento-Datetime: a gate or an error page, no memento"
            raise self._misbehaved(statement.url, why)
        raise self._misbehaved(statement.url, f"answers {statement.status}")

    def _misbehaved(self, url: str, why: str) -> Misbehaved:
        return Misbehaved(self._entry.id, url, why)


def _leads_to_itself(statement: Statement, question: Question) -> bool:
    """Whether a redirect with Memento-Datetime only leads to the capture that it dates.

    By RFC 7089 4.5.3 it would be a capture of a redirect. Some TimeGates send the header by
    mistake: then the target is a capture of the same page, and no other address is given.
    """
    if statement.content_location or statement.location is None:
        return False
    target = address_of(statement.location)
    here = address_of(statement.url)
    if target is None or (here is not None and here.stamp == target.stamp):
        return False
    return _same_page(target.original, statement.original or question.original)


def _same_page(one: str, other: str) -> bool:
    return _page_key(one) == _page_key(other)


def _page_key(url: str) -> str:
    """Return *url* without what archives fold: scheme, www, port 80, the last slash."""
    host, slash, path = url.partition("://")[2].partition("/")
    host = host.lower().removeprefix("www.").removesuffix(":80")
    return (host + slash + path).rstrip("/")
