"""Looks at the content of copies, to say whether the one that was found is the cited page.

The octets of the copy and of those around it are read as captured, within a budget of requests,
octets and time. What could not be read is reported as such, and decides nothing.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from hashlib import sha1
from typing import Final

from cachetools import TTLCache
from msgspec import structs

from archives.errors import ArchiveError
from archives.evidence import same_key
from archives.listing import is_excerpted
from archives.model import Closest, Evidence, Hop, Memento
from archives.moment import Moment, second_of
from archives.nearest import remoteness
from archives.registry import Registry
from archives.source import Fetcher, WantedCaptures
from archives.warc.captures import Digest
from timegate.content.bracketing import is_same_time
from timegate.content.classes import classify
from timegate.content.comparison import Comparison
from timegate.content.digests import payload_digest
from timegate.content.judging import LookedCopy, better_copy, compared_copies
from timegate.content.main_text import NotRead, PageText
from timegate.extract.copy_texts import ReadsText
from timegate.extract.part_evidence import PartEvidence
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import Budget, Charge, RequestContext
from timegate.resolution.model import Preferences, Query, Resolution, Resolves
from timegate.timemaps import ArchiveLists
from timegate.verdict.members import known_comparison

_MOST_LISTED: Final = 8
"""Captures around the time that one archive is asked for."""
_MOST_LISTS: Final = 2
"""Archives whose lists are requested."""
_SEARCH_SHARE: Final = 0.6
"""Of the time that a client waits, for finding the copy; the rest is for looking at it."""
_AT_ONCE: Final = 3
_KEPT_COPIES: Final = 64
_KEPT_SECONDS: Final = 3600.0
_KEPT_TEXT: Final = 200_000
"""Characters of a copy that is kept: 64 of them are 13 MB."""


@dataclass(frozen=True, slots=True)
class ContentLimits:
    """Limits of looking at the copies of one reference."""

    requests: int = 8
    octets: int = 2_000_000
    copies: int = 5
    document: int = 500_000
    """Octets of one copy; only the beginning of a longer one is read."""
    seconds: float = 10.0


class ContentLooks:
    """Resolves queries, and compares the contents of the copies that are found."""

    def __init__(  # noqa: PLR0913, PLR0917 -- its parts
        self,
        resolver: Resolves,
        lists: ArchiveLists,
        fetchers: Mapping[str, Fetcher],
        registry: Registry,
        containment: Containment,
        texts: ReadsText,
        limits: ContentLimits | None = None,
    ) -> None:
        self._resolver = resolver
        self._lists = lists
        self._fetchers = fetchers
        self._registry = registry
        self._containment = containment
        self._texts = texts
        self._limits = limits or ContentLimits()
        self._kept: TTLCache[tuple[str, str], LookedCopy] = TTLCache(
            _KEPT_COPIES, _KEPT_SECONDS
        )

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        """Resolve *query*, look at the copy and at those around it, and recommend the best."""
        began = asyncio.get_running_loop().time()
        wait = preferences.wait
        delivered = replace(preferences, verify="head", wait=wait and wait * _SEARCH_SHARE)
        resolution = await self._resolver.resolve(query, delivered, context)
        resolution = replace(resolution, preferences=preferences)
        return await self._looked(resolution, context, None if wait is None else began + wait)

    async def of(self, resolution: Resolution, context: RequestContext) -> Resolution:
        """Return *resolution*, whose memento was found already, with the comparison."""
        return await self._looked(resolution, context)

    async def _looked(
        self, resolution: Resolution, context: RequestContext, until: float | None = None
    ) -> Resolution:
        """Look at the copies *until* then; the default is the time limit of its own."""
        if resolution.memento is None:
            return resolution
        if resolution.preferences.only_if_cached:
            return self._not_looked(resolution, "only cached answers were requested")
        original = resolution.query.original
        charge = None if context.quota is None else await context.quota.charge(original)
        try:
            if charge is not None and not charge.granted:
                return self._not_looked(resolution, "the quota of this client is used up")
            ends = until or asyncio.get_running_loop().time() + self._limits.seconds
            return await self._looked_at(resolution, context, charge, ends)
        finally:
            if charge is not None:
                charge.settle()

    def _not_looked(self, resolution: Resolution, why: str) -> Resolution:
        known = known_comparison(resolution, self._registry)
        found = replace(known or Comparison("not-looked"), failure=why)
        return replace(resolution, comparison=found)

    async def _looked_at(
        self,
        resolution: Resolution,
        context: RequestContext,
        charge: Charge | None,
        until: float,
    ) -> Resolution:
        budget = Budget(self._limits.requests, self._limits.octets, context.quota)
        context = structs.replace(
            context, quota=None, charge=charge, budget=budget, redis_time=None, blocked=[]
        )
        look = _Look(resolution, self, context, budget, until)
        found = await look.run()
        if charge is not None and budget.requests < self._limits.requests:
            charge.use()
        return found

    def evidence(
        self, memento: Memento, context: RequestContext, budget: Budget, until: float
    ) -> PartEvidence:
        """Return what requests the octets of captures."""
        return PartEvidence(
            memento,
            self._lists,
            self._fetchers,
            self._registry,
            self._containment,
            context,
            budget,
            until,
        )

    @property
    def limits(self) -> ContentLimits:
        """The limits of looking at one reference."""
        return self._limits

    @property
    def registry(self) -> Registry:
        """The known archives."""
        return self._registry

    async def text(self, octets: bytes, content_type: str) -> PageText | NotRead:
        """Return what a page says."""
        return await self._texts.read(octets, content_type)

    def recall(self, memento: Memento) -> LookedCopy | None:
        """Return the copy as it was read before; None if it was not."""
        return self._kept.get((memento.archive, memento.uri))

    def keep(self, copy: LookedCopy) -> None:
        """Keep a copy that was read, if it is not too long."""
        page = copy.page
        if page is not None and len(page.main) + len(page.text) <= _KEPT_TEXT:
            self._kept[copy.memento.archive, copy.memento.uri] = copy

    async def listed(
        self, archive: str, original: str, at: Moment, context: RequestContext
    ) -> Sequence[Memento]:
        """Return the captures of *archive* nearest to *at*. Raises ArchiveError."""
        wanted = WantedCaptures(order="nearest", near=at, most=_MOST_LISTED)
        entry = self._registry.by_id(archive)
        if entry is None or not is_excerpted(entry, wanted):
            return ()
        listed = self._lists.of(
            archive, original, Preferences(), context, detailed=True, wanted=wanted
        )
        captures: list[Memento] = []
        async with aclosing(listed) as batches:
            async for batch in batches:
                captures += batch
        nearest = sorted(captures, key=remoteness(at))
        return nearest[:_MOST_LISTED]


_ERRORS: Final = 400
"""The lowest status of an error."""


class _Look:
    """Looking at the copies of one resolution."""

    def __init__(
        self,
        resolution: Resolution,
        looks: ContentLooks,
        context: RequestContext,
        budget: Budget,
        until: float,
    ) -> None:
        self._resolution = resolution
        self._looks = looks
        self._context = context
        self._budget = budget
        self._until = until
        self._copies: dict[Memento, LookedCopy] = {}

    async def run(self) -> Resolution:
        """Look at the copies; return the resolution with the comparison."""
        memento = self._resolution.memento
        if memento is None:
            return self._resolution
        async with asyncio.TaskGroup() as tasks:
            looking = tasks.create_task(self._look(memento))
            listing = tasks.create_task(self._captures(memento))
        chosen, captures = looking.result(), listing.result()
        known = known_comparison(self._resolution, self._looks.registry, captures)
        await self._look_at_all(self._around(memento, captures))
        if chosen.judgement.page_class is not None and self._may_choose():
            await self._look_at_all(self._farther(captures))
        await self._look_at_all(self._beyond(memento, captures))
        others = [copy for copy in self._copies.values() if copy.memento != memento]
        # Between two copies, captures that were not read forbid the claim that nothing else
        # was there, unless their index states the same octets.
        seen = {(each.archive, each.stamp) for each in self._copies}
        unread = [
            LookedCopy(
                each, digest=payload_digest(each.digest) if _is_page_status(each) else None
            )
            for each in captures
            if (each.archive, each.stamp) not in seen
        ]
        best = better_copy(chosen, others, self._at) if self._may_choose() else None
        if best is None:
            found = compared_copies(chosen, [*others, *unread], self._at, known)
            return replace(self._resolution, comparison=found)
        rest = [copy for copy in self._copies.values() if copy is not best]
        found = replace(
            compared_copies(best, [*rest, *unread], self._at, known),
            instead=memento,
            instead_of=chosen.judgement.page_class,
        )
        return _with_best(self._resolution, best, found)

    @property
    def _at(self) -> Moment | None:
        return self._resolution.query.at

    def _may_choose(self) -> bool:
        """Whether another copy than the nearest may be recommended.

        Not if the nearest one is of the requested time: then it is what was cited, whatever it
        shows. Not if the client wants a certain archive or day.
        """
        memento, at = self._resolution.memento, self._at
        if memento is None or self._resolution.preferences.precision != "any":
            return False
        return at is None or at.side_of(memento.stamp) != 0

    def _is_wanted(self, memento: Memento) -> bool:
        """Whether the preferences of the client allow *memento*."""
        preferences, at = self._resolution.preferences, self._at
        if at is None:
            return True
        side = at.side_of(memento.stamp)
        is_free = preferences.direction == "closest" or not side
        if not is_free and (side < 0) != (preferences.direction == "before"):
            return False
        away = at.distance(second_of(memento.stamp))
        return preferences.tolerance is None or abs(away) <= preferences.tolerance

    async def _captures(self, memento: Memento) -> list[Memento]:
        """Return the known captures of the page, with those that lists have nearby."""
        named = [
            each
            for attempt in filter(None, (self._resolution.best, *self._resolution.alternatives))
            if isinstance(attempt.outcome, Closest) and not attempt.unchecked
            for each in (attempt.outcome.memento, *attempt.outcome.neighbours.values())
        ]
        archives = dict.fromkeys((memento.archive, *(each.archive for each in named)))
        at = self._at or memento.captured
        async with asyncio.TaskGroup() as tasks:
            lists = [
                tasks.create_task(self._listed(archive, memento.original, at))
                for archive in [*archives][:_MOST_LISTS]
            ]
        for task in lists:
            named += task.result()
        return self._usable(named, memento)

    async def _listed(self, archive: str, original: str, at: Moment) -> Sequence[Memento]:
        """Return the captures around *at*, within half of the time that is left."""
        now = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(now + (self._until - now) / 2):
                return await self._looks.listed(archive, original, at, self._context)
        except (ArchiveError, TimeoutError):
            # Without the list, fewer copies are known: less is claimed.
            return ()

    def _usable(self, named: Iterable[Memento], memento: Memento) -> list[Memento]:
        """Return one memento of each capture: the chosen one as it is, others with details."""
        own = (memento.archive, memento.stamp)
        found: dict[tuple[str, str], Memento] = {own: memento}
        for each in named:
            key = (each.archive, each.stamp)
            if not same_key(each.original, memento.original):
                continue
            if key == own:
                found[own] = memento._replace(digest=memento.digest or each.digest)
            elif key not in found or found[key].digest is None:
                found[key] = each
        return [*found.values()]

    def _around(self, memento: Memento, captures: Sequence[Memento]) -> list[Memento]:
        """Return the captures to look at beside *memento*: both sides, and the same time."""
        at = self._at or memento.captured
        ranked = sorted(self._others(memento, captures), key=remoteness(at))
        own = at.side_of(memento.stamp)
        sides = [
            next((each for each in ranked if at.side_of(each.stamp) == side), None)
            for side in (-1, 1)
            if side != own
        ]
        same = [
            each
            for each in ranked
            if each.archive != memento.archive and is_same_time(each, memento)
        ]
        wanted = dict.fromkeys(filter(None, (*sides, *same)))
        return [*wanted][: self._looks.limits.copies - 1]

    def _others(self, memento: Memento, captures: Iterable[Memento]) -> list[Memento]:
        return [
            each
            for each in captures
            if (each.archive, each.stamp) != (memento.archive, memento.stamp)
            and _is_page_status(each)
        ]

    def _farther(self, captures: Sequence[Memento]) -> list[Memento]:
        """Return captures to look at where those next to the time are no pages."""
        if any(
            copy.is_page and self._is_wanted(copy.memento) for copy in self._copies.values()
        ):
            return []
        memento = self._resolution.memento
        seen = {(each.archive, each.stamp) for each in self._copies}
        left = [
            each
            for each in ([] if memento is None else self._others(memento, captures))
            if (each.archive, each.stamp) not in seen and self._is_wanted(each)
        ]
        at = self._at or (left[0].captured if left else None)
        ranked = left if at is None else sorted(left, key=remoteness(at))
        return ranked[: self._looks.limits.copies - len(self._copies)]

    def _beyond(self, memento: Memento, captures: Sequence[Memento]) -> list[Memento]:
        """Return the next capture of each side whose copies are no pages.

        An error page in the middle of a history does not tell what the page said after it.
        """
        at = self._at or memento.captured
        seen = {(each.archive, each.stamp) for each in self._copies}
        classed = [copy for copy in self._copies.values() if copy.judgement.page_class]
        known = {copy.digest for copy in classed} - {None}
        ranked = [
            each
            for each in sorted(self._others(memento, captures), key=remoteness(at))
            if (each.archive, each.stamp) not in seen
            and payload_digest(each.digest) not in known
        ]
        found = []
        for side in (-1, 1):
            read = [c for c in self._copies.values() if at.side_of(c.memento.stamp) == side]
            if any(copy in classed for copy in read) and not any(copy.is_page for copy in read):
                found += [each for each in ranked if at.side_of(each.stamp) == side][:1]
        return found[: max(0, self._looks.limits.copies - len(self._copies))]

    async def _look_at_all(self, mementos: Sequence[Memento]) -> None:
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(memento: Memento) -> None:
            async with slots:
                await self._look(memento)

        async with asyncio.TaskGroup() as tasks:
            for memento in mementos:
                tasks.create_task(one(memento))

    async def _look(self, memento: Memento) -> LookedCopy:
        """Return *memento* as it was read; a failure is a copy that says why."""
        copy = self._recalled(memento)
        if copy is None:
            try:
                async with asyncio.timeout_at(self._until):
                    copy = await self._read(memento)
            except ArchiveError as error:
                copy = LookedCopy(memento, failure=self._failure(error))
            except TimeoutError:
                copy = LookedCopy(memento, failure="no time was left to read all copies")
        self._copies[memento] = copy
        return copy

    def _recalled(self, memento: Memento) -> LookedCopy | None:
        if self._resolution.preferences.no_cache:
            return None
        kept = self._looks.recall(memento)
        if kept is None:
            kept = self._with_digest(memento)
        return None if kept is None else kept._replace(memento=memento)

    def _with_digest(self, memento: Memento) -> LookedCopy | None:
        """Return a copy that was read and has the octets of *memento*; it need not be read."""
        digest = payload_digest(memento.digest)
        if digest is None:
            return None
        for copy in self._copies.values():
            stated = payload_digest(copy.memento.digest)
            if copy.page is not None and digest in (stated, copy.digest):
                return copy
        return None

    async def _read(self, memento: Memento) -> LookedCopy:
        looks, most = self._looks, self._looks.limits.document
        if self._budget.octets <= 0:
            return LookedCopy(memento, failure="the budget of octets is used up")
        evidence = looks.evidence(memento, self._context, self._budget, self._until)
        seen = await evidence.seen(memento, min(most, self._budget.octets))
        if seen.octets is None:
            name = self._name(memento.archive)
            return LookedCopy(memento, failure=f"{name} does not offer the bytes as captured")
        if seen.status is not None and seen.status >= _ERRORS:
            name = self._name(memento.archive)
            why = f"the copy of {name} is an archived error ({seen.status})"
            return LookedCopy(memento, failure=why)
        text = await looks.text(seen.octets, seen.content_type)
        is_whole = len(seen.octets) < most
        digest = _sha1(seen.octets) if is_whole and seen.octets else None
        if isinstance(text, NotRead):
            why = f"the copy of {self._name(memento.archive)} was not read: {text.detail}"
            return LookedCopy(memento, None, digest, failure=why)
        judgement = classify(text, memento.original, seen.redirect)
        failure = "" if is_whole else f"only the first {most} octets of {memento.uri} were read"
        copy = LookedCopy(memento, text, digest, judgement, failure, memento.uri)
        looks.keep(copy)
        return copy

    def _failure(self, error: ArchiveError) -> str:
        if self._budget.requests < 0 or self._budget.octets < 0:
            return "the budget for looking at copies is used up"
        return f"{self._name(error.archive)} {error.why}"

    def _name(self, archive: str) -> str:
        entry = self._looks.registry.by_id(archive)
        return archive if entry is None else entry.name


def _is_page_status(memento: Memento) -> bool:
    """Whether the capture is none of an error or a redirect, as far as it is known."""
    return memento.status is None or 200 <= memento.status <= 299


def _sha1(octets: bytes) -> Digest:
    return Digest("sha1", sha1(octets, usedforsecurity=False).digest())


def _with_best(resolution: Resolution, best: LookedCopy, found: Comparison) -> Resolution:
    """Return *resolution* with another copy as the best, which was read just now."""
    attempts = [
        each for each in (resolution.best, *resolution.alternatives) if each is not None
    ]
    memento = best.memento
    source = next((each for each in attempts if each.archive == memento.archive), attempts[0])
    closest = source.outcome
    if not isinstance(closest, Closest):  # pragma: no cover -- all of them found a memento
        return replace(resolution, comparison=found)
    hop = Hop(memento.uri, memento.status or 200, memento.stamp[:14])
    held: Evidence = "held" if closest.evidence == "held" else "delivered"
    outcome = Closest(memento, closest.via, (), {}, held, (hop,))
    chosen = structs.replace(source, outcome=outcome, unchecked="")
    rest = tuple(each for each in attempts if each is not source)
    if source is not resolution.best and resolution.best is not None:
        rest = (resolution.best, *(each for each in rest if each is not resolution.best))
    return replace(resolution, best=chosen, alternatives=rest, comparison=found)
