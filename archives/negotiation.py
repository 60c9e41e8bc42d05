"""Datetime negotiation: one query, followed through redirects to the capture it leads to.

TimeGates answer in two styles (RFC 7089 4.2): with a redirect to the memento, or with the
memento itself. At most `MOST_HOPS` redirects are followed, one request each, and the `Fetcher`
checks each address. No body is read.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct, structs

from archives.addresses import ArchiveAddresses, RefusedAddress, downgrades
from archives.errors import Gated, Misbehaved, Refused
from archives.evidence import (
    Statement,
    address_of,
    common_redirect,
    plausible_stamp,
    same_key,
    same_page,
    weigh,
)
from archives.model import (
    ArchiveEntry,
    Closest,
    Hop,
    Memento,
    Negotiation,
    Relation,
    Selection,
    stamps_of,
)
from archives.moment import Moment, second_of
from archives.nearest import nearest, neighbours_of, true_neighbours
from archives.source import Fetcher, Reply, Request

MOST_HOPS: Final = 5
ABSENT: Final = (404, 410)
REJECTED: Final = (401, 451)
REDIRECTS: Final = (301, 302, 303, 307, 308)
_NO_HEAD: Final = (405, 501)
# Answers to range and conditional requests, which are never sent.
_UNREQUESTED: Final = (206, 304, 416)
_DAY: Final = re.compile(r"/(?:19|20)[0-9]{6}")
"""The beginning of a time in an address."""
# Clocks differ by less; a later capture has a wrong date.
_CLOCK_DRIFT: Final = timedelta(hours=1)

Clock = Callable[[], datetime]
_Method = Literal["GET", "HEAD"]


def latest_stamp(clock: Clock) -> str:
    """Return the last stamp that a capture can have now."""
    return _latest_in(int(clock().timestamp()))


@lru_cache(maxsize=8)
def _latest_in(second: int) -> str:
    return Moment.of(datetime.fromtimestamp(second, UTC) + _CLOCK_DRIFT).digits


def instant_for(at: Moment, selection: Selection) -> str:
    """Return the stamp to request from an archive; it depends on how it selects (T-11)."""
    return _instant_for(at.digits, selection)


@lru_cache(maxsize=1024)
def _instant_for(digits: str, selection: Selection) -> str:
    at, before = Moment(digits), selection == "nearest-before"
    return Moment.of(at.window[1] if before else at.negotiated).digits


class ObservedSelection:
    """How an archive selects: as its entry states, or as its answers show.

    A TimeGate that only looks back never chooses a capture after the requested time, even if it
    links one that is nearer. After `_ENOUGH` such answers, and none to the contrary, it is
    treated like an entry with ``selection = "nearest-before"``.
    """

    _ENOUGH: Final = 3

    def __init__(self, entry: ArchiveEntry) -> None:
        self._stated = entry.selection
        self._looked_back = 0
        self._looks_ahead = False
        self.value: Selection = entry.selection
        """How the archive selects, as far as known."""

    def observe(self, chosen: str, linked: Iterable[str], requested: str | None) -> None:
        """Learn from the stamp of an answer, for which the archive links the others."""
        if requested is None or self._looks_ahead:
            return
        if chosen[:14] > requested:
            # Also a TimeGate that looks back returns its first capture for an earlier time.
            self._looks_ahead = any(other < chosen for other in linked)
            if self._looks_ahead:
                self.value = self._stated
            return
        for other in linked:
            if other[:14] > requested and _is_nearer(other, chosen, requested):
                self._looked_back += 1
                if self._looked_back >= self._ENOUGH:
                    self.value = "nearest-before"
                return


class Question(Struct, frozen=True):
    """A request to *url* for the capture of *original* nearest to *at*."""

    url: str
    original: str
    at: Moment | None
    via: Negotiation
    headers: Mapping[str, str]
    requested: str | None
    """The stamp in Accept-Datetime or in *url*."""


class Negotiator:
    """Queries one archive for mementos, with HEAD as long as the archive supports HEAD."""

    def __init__(self, entry: ArchiveEntry, addresses: ArchiveAddresses, clock: Clock) -> None:
        self._entry = entry
        self._addresses = addresses
        self._clock = clock
        self._observed = ObservedSelection(entry)
        self._supports_head = True
        self._latest = ""
        """The last stamp that a capture could have when this was computed; time only passes."""
        self._may_misread_head = True
        """Whether GET is still to be tried once after an unusable answer to HEAD."""

    @property
    def selection(self) -> Selection:
        """How the archive selects among its captures, as far as known."""
        return self._observed.value

    async def closest(self, fetch: Fetcher, question: Question) -> Closest | None:
        """Return the answer; None if the archive has no capture. Raises ArchiveError."""
        url = question.url
        seen = {url}
        hops: list[Hop] = []
        names_mementos = False
        for hop in range(MOST_HOPS + 1):
            answer = await self._request(fetch, url, question, redirected=hop > 0)
            if isinstance(answer, Closest):
                return answer
            hops.append(self._hop(answer))
            following = self._next_hop(answer, question)
            if following is None:
                found = self._conclude(answer, question, tuple(hops), names=names_mementos)
                return found and self._checked(found)
            if isinstance(following, Closest):
                return self._checked(following)
            if following in seen:
                raise self._misbehaved(url, "redirects in a loop")
            seen.add(following)
            names_mementos = names_mementos or bool(self._named(answer, question))
            url = following
        raise self._misbehaved(url, f"more than {MOST_HOPS} redirects")

    def _checked(self, found: Closest) -> Closest:
        """Raise if an address in the answer is not the archive's, however it got there."""
        usual = self._addresses.usual
        for memento in (found.memento, *found.neighbours.values()):
            if memento.uri.startswith(usual):
                continue
            address = self._addresses.accepted(memento.uri, "list")
            if isinstance(address, RefusedAddress):
                raise self._misbehaved(found.memento.uri, f"names a memento at {address.why}")
        return found

    async def _request(
        self, fetch: Fetcher, url: str, question: Question, *, redirected: bool
    ) -> Statement | Closest:
        """Send HEAD, then GET if the answer to HEAD cannot be the one to GET.

        A server without HEAD answers 405, or anything else. A 404 to HEAD is accepted, because
        two requests for every page that an archive lacks exceed its rate limit; but not
        after a redirect by the archive itself. For other unusable answers, GET is tried once.
        """
        if not self._supports_head:
            return await self._send(fetch, "GET", url, question)
        try:
            answer = await self._send(fetch, "HEAD", url, question)
        except Misbehaved:
            # Some servers send a body in answer to HEAD, which violates HTTP.
            if not self._may_misread_head:
                raise
        else:
            if isinstance(answer, Closest) or not self._is_suspect(
                answer, redirected=redirected
            ):
                return answer
            self._supports_head = answer.status not in _NO_HEAD
        self._may_misread_head = False
        answer = await self._send(fetch, "GET", url, question)
        is_usable = isinstance(answer, Closest) or _is_answer(answer)
        self._supports_head = self._supports_head and not is_usable
        return answer

    async def _send(
        self, fetch: Fetcher, method: _Method, url: str, question: Question
    ) -> Statement | Closest:
        """Return what the reply states, or at once the answer if it is the common redirect."""
        async with fetch(Request(method, url, "memento", question.headers)) as reply:
            common = self._common_redirect(reply, question)
            return common or Statement.of(reply).without_foreign_links(self._is_own)

    def _common_redirect(self, reply: Reply, question: Question) -> Closest | None:
        """Return the answer if the reply is the redirect that most TimeGates send."""
        headers = reply.headers
        if reply.status not in REDIRECTS or "memento-datetime" in headers:
            return None
        location, link = headers.get("location", ""), headers.get("link", "")
        around = common_redirect(
            location, link, question.original, self._entry.id, self._latest
        )
        # All its mementos are at one server: that of the location.
        if around is None or not around.prefix.startswith(self._addresses.usual):
            return None
        if reply.url.startswith("https:") and downgrades(reply.url, location):
            return None
        memento = around.memento
        self._observed.observe(memento.stamp, around.stamps.values(), question.requested)
        return Closest(memento, question.via, (), around)

    def _is_suspect(self, statement: Statement, *, redirected: bool) -> bool:
        if _is_answer(statement):
            return False
        if statement.status in ABSENT:
            return redirected
        return statement.status in _NO_HEAD or self._may_misread_head

    def _next_hop(self, statement: Statement, question: Question) -> str | Closest | None:
        """Return the next address, or the answer if the redirect proves it; None at the end."""
        if statement.status not in REDIRECTS:
            return None
        if statement.datetime is not None and not _leads_to_itself(statement, question):
            return None
        if statement.location is None:
            raise self._misbehaved(statement.url, f"{statement.status} without Location")
        return self._proved_by_redirect(statement, question) or self._followed(statement)

    def _followed(self, statement: Statement) -> str:
        """Return the address that a redirect leads to, if it may be requested."""
        target = statement.location or ""
        address = self._addresses.accepted(target, "request", after=statement.url)
        if isinstance(address, RefusedAddress):
            raise self._misbehaved(statement.url, f"redirects to {address.why}")
        return address

    def _proved_by_redirect(self, statement: Statement, question: Question) -> Closest | None:
        """Return the answer if the redirect proves when its target was captured; else None.

        The proof is a link to the target with a date that the digits of the address confirm: a
        second request would add nothing.
        """
        target = statement.location or ""
        linked = statement.date_of(target)
        address = address_of(target)
        if linked is None or address is None:
            return None
        if not self._addresses.is_own(target, "link", after=statement.url):
            return None
        dated = weigh(None, linked, target, None, self._latest_stamp())
        if dated.doubts or dated.stamp is None:
            return None
        original = statement.original(target, question.original)
        if not same_key(address.original, original):
            return None
        chosen = Memento(dated.stamp, target, original, self._entry.id)
        return self._with_neighbours(chosen, statement, question)

    def _hop(self, statement: Statement) -> Hop:
        now, date = self._latest_stamp(), statement.datetime
        stamp = None if date is None else plausible_stamp(date, now)
        return Hop(statement.url, statement.status, stamp)

    def _conclude(
        self, statement: Statement, question: Question, hops: tuple[Hop, ...], *, names: bool
    ) -> Closest | None:
        """Return the capture that the last reply proves; None if there is none."""
        uri, doubts = self._address(statement, question)
        linked = statement.date_of(uri)
        if statement.datetime is None and not (linked and statement.is_frame):
            self._check_absent(statement, question, hops, names=names)
            return self._linked_although_absent(statement, question)
        # Digits that we wrote ourselves prove nothing: some archives serve the nearest there.
        evidence = "" if uri == question.url else uri
        # Only the address that was given the time can repeat it.
        requested = question.requested if statement.url == question.url else None
        now = self._latest_stamp()
        dated = weigh(statement.datetime, linked, evidence, requested, now)
        if dated.stamp is None:
            raise self._misbehaved(uri, "; ".join(dated.doubts))
        doubts += dated.doubts
        if uri == question.url and "accept-datetime" in question.headers:
            # Pattern 2.3 of RFC 7089. A client that follows it may send no Accept-Datetime.
            doubts += (
                "no URI-M of its own: without Accept-Datetime it may be another capture",
            )
        # Without Memento-Datetime this is the frame around a memento, with its own status.
        status = statement.status if statement.datetime else None
        if status in _UNREQUESTED:
            doubts += (f"answers {status}, which was not requested",)
        original = statement.original(uri, question.original)
        chosen = Memento(dated.stamp, uri, original, self._entry.id, status)
        closest = self._with_neighbours(chosen, statement, question, doubts)
        # Another address than the one that answered, or another time, is only promised.
        delivered = uri == statement.url and dated.stamp[:14] == hops[-1].stamp
        if "accept-datetime" in question.headers and statement.status in REDIRECTS:
            # A TimeGate that redirects without a target is no memento itself.
            delivered = delivered and uri != question.url
        return structs.replace(
            closest, evidence="delivered" if delivered else "promised", hops=hops
        )

    def _address(self, statement: Statement, question: Question) -> tuple[str, tuple[str, ...]]:
        """Return the URI-M: Content-Location, or the link, or else the requested address."""
        stated = statement.content_location
        if stated is not None and self._is_its_address(stated, statement, question):
            return stated, ()
        if not statement.negotiates:
            return statement.url, ()
        doubts = () if stated is None else (f"Content-Location is no memento: {stated[:200]}",)
        linked, more_doubts = self._linked(statement)
        return linked or statement.url, doubts + more_doubts

    def _linked(self, statement: Statement) -> tuple[str | None, tuple[str, ...]]:
        """Return the linked address if a client may be redirected to it; otherwise doubts.

        It is checked like the target of a redirect. A frame has no other address.
        """
        linked = statement.linked_address
        if linked is not None and not downgrades(statement.url, linked):
            return linked, ()
        rejected = linked or statement.foreign_link
        if rejected is None:
            return None, ()
        why = f"links a memento at an address that is not its own: {rejected[:200]}"
        if statement.datetime is None and statement.status == 200:
            raise self._misbehaved(statement.url, why)
        return None, (why,)

    def _is_its_address(self, stated: str, statement: Statement, question: Question) -> bool:
        """Whether Content-Location is the archive's, and not a header of the archived page."""
        address = address_of(stated)
        is_own = self._addresses.is_own(stated, "link", after=statement.url)
        if not is_own:
            return False
        if address is None:
            # Without digits, it may be the remains of an address: a link says more.
            return statement.negotiates and statement.linked_address in (None, stated)
        pages = (*statement.originals, question.original)
        return any(same_page(address.original, page) for page in pages)

    def _with_neighbours(
        self,
        chosen: Memento,
        statement: Statement,
        question: Question,
        doubts: tuple[str, ...] = (),
    ) -> Closest:
        """Return the memento that the archive chose, with the others that it links.

        One of the others may be nearer; the caller decides (`archives.nearest.candidates`).
        Asked for 2020-02-01T02:03:57, the Internet Archive passed over the prev that it links,
        one second off, and redirected to a capture that it can replay.
        """
        linked = statement.neighbours(chosen, self._latest_stamp())
        neighbours = {
            relation: memento
            for relation, memento in true_neighbours(chosen, linked).items()
            if not downgrades(statement.url, memento.uri)
        }
        stamps = stamps_of(neighbours).values()
        self._observed.observe(chosen.stamp, stamps, question.requested)
        doubts += statement.contradictions + _wrong_page(chosen)
        return Closest(chosen, question.via, doubts, neighbours)

    def _check_absent(
        self, statement: Statement, question: Question, hops: Sequence[Hop], *, names: bool
    ) -> None:
        """Return if the reply states that there is no capture; otherwise raise.

        *names* is whether a redirect before it has links to mementos.
        """
        if statement.status in ABSENT:
            # The archive itself redirected to a capture, wherever that led.
            others = (hop.url for hop in hops if hop.url != question.url)
            if names or any(_names_capture(url, question.original) for url in others):
                raise self._misbehaved(
                    statement.url, "redirects to a capture that does not exist"
                )
            return
        if statement.status in REJECTED:
            raise Refused(self._entry.id, statement.url, statement.status, None)
        if statement.status == 200:
            why = "answers 200 without Memento-Datetime: a bot gate or an error page"
            raise Gated(self._entry.id, statement.url, why)
        raise self._misbehaved(statement.url, f"answers {statement.status}")

    def _linked_although_absent(
        self, statement: Statement, question: Question
    ) -> Closest | None:
        """Return the nearest memento that a TimeGate links while it answers 404; None if none.

        Some TimeGates answer so for times before their first or after their last capture.
        """
        if question.via != "timegate":
            return None
        linked = self._named(statement, question)
        best = nearest(linked.values(), question.at)
        if best is None or downgrades(statement.url, best.uri):
            return None
        doubt = f"answers {statement.status}, although it links mementos"
        around = true_neighbours(best, neighbours_of(best, best, linked))
        return Closest(best, question.via, (doubt,), around)

    def _named(self, statement: Statement, question: Question) -> Mapping[Relation, Memento]:
        """Return the mementos of the page that a reply links."""
        original = statement.original(None, question.original)
        page = Memento("", statement.url, original, self._entry.id)
        return statement.neighbours(page, self._latest_stamp())

    def _latest_stamp(self) -> str:
        """Return the last stamp that a capture can have now."""
        self._latest = latest_stamp(self._clock)
        return self._latest

    def _is_own(self, uri: str) -> bool:
        return self._addresses.accepts(uri, "link")

    def _misbehaved(self, url: str, why: str) -> Misbehaved:
        return Misbehaved(self._entry.id, url, why)


def _is_answer(statement: Statement) -> bool:
    """Whether a reply leads to a memento or is one."""
    redirects = statement.status in REDIRECTS and statement.location is not None
    return redirects or statement.datetime is not None or statement.is_frame


def _names_capture(url: str, original: str) -> bool:
    """Whether *url* is the address of a capture of *original*, or what is left of one."""
    if address_of(url) is not None:
        return True
    page = url.find(original)
    # Where the page itself is damaged, it begins with the second scheme.
    page = url.find("://", len("https://")) if page < 0 else page
    return _DAY.search(url if page < 0 else url[:page]) is not None


def _is_nearer(other: str, chosen: str, requested: str) -> bool:
    """Whether the stamp *other*, after the *requested* one, is nearer to it than *chosen*."""
    instant = second_of(requested)
    return second_of(other) - instant < instant - second_of(chosen)


def _wrong_page(chosen: Memento) -> tuple[str, ...]:
    """Return a doubt if the address of a memento is of another page than its original."""
    address = address_of(chosen.uri)
    if address is None or same_key(address.original, chosen.original):
        return ()
    return (f"its address is of {address.original[:200]}",)


def _leads_to_itself(statement: Statement, question: Question) -> bool:
    """Whether a redirect with Memento-Datetime leads to the capture that the header dates.

    By RFC 7089 4.5.3 it would be a capture of a redirect, as the Internet Archive serves them:
    to the same stamp of another page. Some TimeGates send the header by mistake: then the
    target is a capture of the same page, and no other address is stated.
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
