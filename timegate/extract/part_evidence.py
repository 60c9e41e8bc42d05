"""What archives say of a part: its capture itself, and the captures around the page's time."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from archives.diagnostics import Malformed
from archives.errors import ArchiveError
from archives.formats.httpdate import stamp_from_http_date
from archives.listing import is_excerpted
from archives.model import Evidence, Memento
from archives.moment import Moment, second_of
from archives.registry import Registry
from archives.source import Fetcher, Reply, Request, WantedCaptures
from timegate.config import is_public
from timegate.extract.fetching import (
    archived_status,
    archived_target,
    beginning,
    copy_of,
    described,
)
from timegate.parts.coherence import Coherence, PartCapture, coherence
from timegate.parts.composite import Part
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import (
    Budget,
    Charge,
    Quota,
    RequestContext,
    counted,
    placed,
)
from timegate.resolution.model import Preferences
from timegate.timemaps import ArchiveLists
from timegate.verdict.members import proven

_MOST_LISTED: Final = 8
"""Captures around the page whose digests are compared."""
_SECOND: Final = 14
_PREFIX: Final = "x-archive-orig-"


class SeenCapture(NamedTuple):
    """What an archive sent for a capture."""

    evidence: Evidence
    status: int | None = None
    last_modified: Moment | None = None
    redirect: str | None = None
    """The URL to which an archived redirect leads."""
    content_type: str = ""
    octets: bytes | None = None
    """The bytes of a document; None if they were not requested, or are not offered."""


_PARTS_PER_CHARGE: Final = 6
"""A page of 60 parts costs a client ten cold queries, as many as it may have at once."""


class PartQuota:
    """The quota of a client for the parts of one page: some of them are charged together."""

    def __init__(self, quota: Quota) -> None:
        self._quota = quota
        self._paid = 0
        self._lock = asyncio.Lock()
        self.is_used_up = False

    async def charge(self, original: str) -> Charge:
        """Charge the client for *original*, or for several parts in advance."""
        async with self._lock:
            if not self._paid:
                charge = await self._quota.charge(original)
                if not charge.granted:
                    self.is_used_up = True
                    return charge
                # Not returned, even if this part needs no archive: the others may.
                charge.use()
                self._paid = _PARTS_PER_CHARGE
            self._paid -= 1
        return _PAID


class _Paid:
    """A charge that was paid with others."""

    granted: Final = True

    def use(self) -> None: ...

    def settle(self) -> None: ...


_PAID: Final = _Paid()


@dataclass(frozen=True, slots=True)
class PartEvidence:
    """Requests captures of parts, and compares their times with that of a page."""

    root: Memento
    lists: ArchiveLists
    fetchers: Mapping[str, Fetcher]
    registry: Registry
    containment: Containment
    context: RequestContext
    budget: Budget
    until: float
    """When the time of the search is over, by the clock of the event loop."""

    async def seen(self, memento: Memento, most: int = 0) -> SeenCapture:
        """Return what the archive sends for *memento*, with up to *most* octets of its body.

        Where an archive offers only its replay, which is rewritten, the capture is promised and
        not looked at. Raises ArchiveError.
        """
        archive = memento.archive
        entry = self.registry.by_id(archive)
        is_held = entry is not None and entry.kind.is_local
        fetch = self.fetchers.get(archive)
        if fetch is None:
            raise ArchiveError(archive, memento.uri, "is not in use with this configuration")
        copy = copy_of(memento, self.registry)
        if copy.raw is None:
            return SeenCapture("promised", memento.status)
        if not is_held:
            fetch = placed(fetch, archive, self.context.places)
        paid = entry is None or is_public(entry)
        fetch = _drawing(fetch, archive, self.budget, asks=not is_held, paid=paid)
        octets = None
        with self.containment.around(archive, memento.uri):
            if most:
                reply, octets = await beginning(copy, fetch, most)
            else:
                reply = await described(copy, fetch)
        status = archived_status(reply.status, reply.headers)
        return SeenCapture(
            "held" if is_held else "delivered",
            status,
            last_modified(reply.headers, memento.captured),
            archived_target(reply, status, memento.original, self.registry),
            reply.headers.get("content-type", ""),
            octets,
        )

    def offset(self, memento: Memento) -> int | None:
        """Return the seconds from the page to *memento*; None if not both are dated so well."""
        if not (self._is_exact(memento) and self._is_exact(self.root)):
            return None
        return _seconds(memento.stamp) - _seconds(self.root.stamp)

    def _is_exact(self, memento: Memento) -> bool:
        return proven(memento.stamp, self.registry.by_id(memento.archive)) >= _SECOND

    async def compared(self, part: Part) -> Part:
        """Return *part* with its class, by the captures around it where that needs them."""
        memento, modified = part.memento, part.last_modified
        if part.outcome != "found" or memento is None or part.offset is None:
            return part
        root, at = _seconds(self.root.stamp), _seconds(memento.stamp)
        since = None if modified is None else _seconds(modified.digits)
        chosen = PartCapture(at, memento.digest, since)
        found = coherence(root, chosen)
        if found in (Coherence.COHERENT, Coherence.VIOLATIVE):
            return replace(part, coherence=found, digest=memento.digest)
        around = await self._around(memento)
        digest = memento.digest or _digest_at(memento.stamp, around)
        others = [
            PartCapture(_seconds(capture.stamp), capture.digest)
            for capture in around
            if capture.stamp[:_SECOND] != memento.stamp[:_SECOND]
        ]
        found = coherence(root, chosen._replace(digest=digest), others)
        return replace(part, coherence=found, digest=digest)

    async def _around(self, memento: Memento) -> Sequence[Memento]:
        """Return the captures of the part around the page, with digests; empty if unknown.

        A list costs a request, so it is read only where a few captures of it can be requested.
        """
        entry = self.registry.by_id(memento.archive)
        near = Moment(self.root.stamp[:_SECOND])
        wanted = WantedCaptures(order="nearest", near=near, most=_MOST_LISTED)
        if entry is None or not is_excerpted(entry, wanted):
            return ()
        if self.budget.requests <= 0 and not entry.kind.is_local:
            return ()
        listed = self.lists.of(
            memento.archive,
            memento.original,
            Preferences(),
            self.context,
            detailed=True,
            wanted=wanted,
        )
        captures: list[Memento] = []
        try:
            async with asyncio.timeout_at(self.until), aclosing(listed) as batches:
                async for batch in batches:
                    captures += batch
        except (ArchiveError, TimeoutError):
            # The part is found; without its neighbours, the class claims less.
            return ()
        return captures


def _digest_at(stamp: str, captures: Sequence[Memento]) -> str | None:
    """Return the digest of the capture of that second; None if it is not the only one."""
    same = {one.digest for one in captures if one.stamp[:_SECOND] == stamp[:_SECOND]}
    return same.pop() if len(same) == 1 else None


def last_modified(headers: Mapping[str, str], captured: Moment) -> Moment | None:
    """Return Last-Modified of the archived response; None if it is not stated.

    Replay sends archived headers with a prefix, or unchanged. A date of the archive itself is
    never before the capture; one that is not before it says nothing (see `PartCapture`).
    """
    stated = headers.get(f"{_PREFIX}last-modified")
    if stated is None and not any(name.startswith(_PREFIX) for name in headers):
        stated = headers.get("last-modified")
    try:
        stamp = stamp_from_http_date((stated or "").strip())
    except Malformed:
        return None
    return Moment(stamp) if stamp < captured.digits[:_SECOND] else None


def _drawing(
    fetch: Fetcher, archive: str, budget: Budget, *, asks: bool, paid: bool
) -> Fetcher:
    """Return *fetch*, which draws octets from *budget*, and requests if it *asks*.

    If *paid*, these count for the quota of the client.
    """

    @asynccontextmanager
    async def drawn(request: Request) -> AsyncGenerator[Reply]:
        if asks and paid:
            await budget.draw_paid(archive, request.url)
        elif asks:
            budget.draw(archive, request.url)
        async with counted(fetch(request), budget, archive) as reply:
            yield reply

    return drawn


def _seconds(stamp: str) -> int:
    return int(second_of(stamp).timestamp())
