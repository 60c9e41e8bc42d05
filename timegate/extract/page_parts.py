"""Finds the parts of an archived page: what it embeds, and the capture of each near its time.

The documents are read as captured: the page, its frames, stylesheets and embedded documents,
two levels deep. Each part is looked for in the archive of the page, and what is not there in
the others, within a budget of requests, octets and time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from msgspec import structs

from archives.errors import ArchiveError, Queued
from archives.model import Memento
from archives.registry import Registry
from archives.source import Fetcher
from timegate.extract.part_evidence import PartEvidence, PartQuota, SeenCapture
from timegate.markup import TooComplex, embedded_in
from timegate.parts.composite import CompositeMemento, Part, PartLimits, PartsSummary
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import Budget, RequestContext
from timegate.resolution.model import Preferences, Query, Resolution, Resolves
from timegate.resolution.preferences import LONGEST_WAIT
from timegate.resolution.query import NotNegotiable, query_for_url
from timegate.timemaps import ArchiveLists
from timegate.verdict.members import uri_member

MOST_DEPTH: Final = 2
"""Documents are read so far below the page: a stylesheet that a stylesheet imports is 2."""
_MOST_REDIRECTS: Final = 4
_DOCUMENTS: Final = frozenset({"stylesheet", "frame", "object"})
"""Kinds of parts that embed others."""
_ERROR: Final = 400
_PAUSE: Final = 0.2
"""Seconds at least until a request that our own rate limit prevented is tried again."""
_SAME_PART: Final = ("same", "normalized", "variant")
_NOBODY_ASKED: Final = "no archive could be queried"


class PageParts:
    """Finds the parts of pages."""

    def __init__(
        self,
        resolver: Resolves,
        lists: ArchiveLists,
        fetchers: Mapping[str, Fetcher],
        registry: Registry,
        containment: Containment,
    ) -> None:
        self._resolver = resolver
        self._lists = lists
        self._fetchers = fetchers
        self._registry = registry
        self._containment = containment

    async def of(
        self,
        memento: Memento,
        context: RequestContext,
        limits: PartLimits | None = None,
        preferences: Preferences | None = None,
    ) -> CompositeMemento:
        """Return the parts of *memento*, from the archives that *preferences* allow.

        Raises ArchiveError if the page cannot be read.
        """
        limits, preferences = limits or PartLimits(), preferences or Preferences()
        budget = Budget(limits.requests, limits.octets)
        quota = None if context.quota is None else PartQuota(context.quota)
        evidence = PartEvidence(
            memento,
            self._lists,
            self._fetchers,
            self._registry,
            self._containment,
            # A part that the blocklist stops does not stop the page.
            structs.replace(context, quota=quota, budget=budget, redis_time=None, blocked=[]),
            budget,
            asyncio.get_running_loop().time() + limits.seconds,
        )
        return await _PartSearch(self._resolver, evidence, limits, preferences).run()

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        """Resolve *query*, and look for the parts of the page that is found."""
        delivered = replace(preferences, verify="head")
        resolution = await self._resolver.resolve(query, delivered, context)
        resolution = replace(resolution, preferences=preferences)
        memento = resolution.memento
        if memento is None or preferences.only_if_cached:
            return resolution
        try:
            summary = (await self.of(memento, context, None, preferences)).summary
        except ArchiveError as error:
            summary = PartsSummary(
                failure=f"{_name(error.archive, self._registry)} {error.why}"
            )
        return replace(resolution, parts=summary)


class _Wanted(NamedTuple):
    """A part to look for."""

    url: str
    kind: str
    source: str
    parent: str
    depth: int
    """How many documents are between it and the page."""
    is_variant: bool = False
    redirects: int = 0

    @property
    def is_document(self) -> bool:
        """Whether it is read for what it embeds itself."""
        return self.kind in _DOCUMENTS and self.depth < MOST_DEPTH


class _Lookup(NamedTuple):
    """The outcome of looking for a part."""

    part: Part
    embedded: Sequence[_Wanted] = ()


T = TypeVar("T")
R = TypeVar("R")


class _PartSearch:
    """The search for the parts of one page."""

    def __init__(
        self,
        resolver: Resolves,
        evidence: PartEvidence,
        limits: PartLimits,
        preferences: Preferences,
    ) -> None:
        here = frozenset({evidence.root.archive})
        allowed = preferences.archives
        self._in_archive = Preferences(
            archives=here, verify="none", no_cache=preferences.no_cache
        )
        self._elsewhere = replace(
            self._in_archive,
            archives=None if allowed is None else allowed - here,
            exclude=preferences.exclude | here,
        )
        self._resolver = resolver
        self._evidence = evidence
        self._root = evidence.root
        self._budget = evidence.budget
        self._limits = limits
        self._found: dict[str, _Lookup] = {}
        """By URL, in the order of the documents."""
        self._named: set[str] = set()
        """URLs in all documents that were read; when they are enough, no other is read."""
        self._unread: list[str] = []

    async def run(self) -> CompositeMemento:
        """Look for everything that the page embeds. Raises ArchiveError."""
        wanted = self._admitted(await self._in_page())
        gaps: list[_Wanted] = []
        while wanted or gaps:
            # First what the archive of the page holds; the rest of the budget is for gaps.
            if wanted:
                lookups = await self._each(self._look_in_archive, wanted)
                gaps += [w for w, each in zip(wanted, lookups, strict=True) if _is_gap(each)]
            else:
                lookups = await self._each(self._look_elsewhere, gaps)
                gaps = []
            self._found.update((each.part.url, each) for each in lookups)
            wanted = self._admitted([new for each in lookups for new in each.embedded])
        found = [each.part for each in self._found.values()]
        parts = await self._each(self._evidence.compared, found)
        used = self._limits.requests - max(0, self._budget.requests)
        return CompositeMemento(self._root, tuple(parts), tuple(self._unread), used)

    async def _in_page(self) -> list[_Wanted]:
        root = self._root
        page = _Wanted(root.original, "frame", "page", root.original, -1)
        try:
            async with asyncio.timeout_at(self._evidence.until):
                seen = await self._seen(page, root)
        except TimeoutError as error:
            raise ArchiveError(
                root.archive, root.uri, "did not send the page in time"
            ) from error
        if seen.octets is None:
            why = "does not offer the bytes as they were captured"
            raise ArchiveError(root.archive, root.uri, why)
        if seen.redirect is not None:
            raise ArchiveError(root.archive, root.uri, "holds a redirect, not a page")
        return await self._embedded(page, seen)

    async def _each(self, work: Callable[[T], Awaitable[R]], items: Sequence[T]) -> list[R]:
        """Return the results of *work* for *items*, a few at a time."""
        slots = asyncio.Semaphore(self._limits.at_once)

        async def one(item: T) -> R:
            async with slots:
                return await work(item)

        async with asyncio.TaskGroup() as tasks:
            started = [tasks.create_task(one(item)) for item in items]
        return [task.result() for task in started]

    def _admitted(self, embedded: Iterable[_Wanted]) -> list[_Wanted]:
        """Return those that are new; of equal URLs the first, a part before a variant."""
        new: dict[str, _Wanted] = {}
        for wanted in embedded:
            known = new.get(wanted.url)
            if wanted.url == self._root.original or self._is_known(wanted):
                continue
            if known is None and len(self._found) + len(new) >= self._limits.parts:
                self._note_full()
            elif known is None or (known.is_variant and not wanted.is_variant):
                new[wanted.url] = wanted
        return [*new.values()]

    def _is_known(self, wanted: _Wanted) -> bool:
        """Whether it was looked for; a variant may be a part of another document."""
        known = self._found.get(wanted.url)
        return known is not None and (known.part.is_counted or wanted.is_variant)

    def _note_full(self) -> None:
        self._note_unread(f"only the first {self._limits.parts} parts are listed")

    def _note_unread(self, why: str) -> None:
        if why not in self._unread:
            self._unread.append(why)

    async def _look_in_archive(self, wanted: _Wanted) -> _Lookup:
        # It has as long as the whole search: nothing else is waited for.
        left = self._evidence.until - asyncio.get_running_loop().time()
        wait = max(_PAUSE, min(left, LONGEST_WAIT))
        return await self._look(wanted, replace(self._in_archive, wait=wait))

    async def _look_elsewhere(self, wanted: _Wanted) -> _Lookup:
        after = await self._look(wanted, self._elsewhere)
        return _combined(self._found[wanted.url].part, after)

    async def _look(self, wanted: _Wanted, preferences: Preferences) -> _Lookup:
        """Look for a part in the archives that *preferences* allow."""
        part = Part(
            *(wanted.url, wanted.kind, wanted.source, wanted.parent, "not-looked"),
            is_variant=wanted.is_variant,
        )
        if wanted.is_variant and not self._limits.variants:
            return _Lookup(replace(part, outcome="variant"))
        used_up = self._used_up()
        if used_up:
            return _Lookup(replace(part, why=used_up))
        try:
            query = query_for_url(wanted.url, self._root.captured)
        except NotNegotiable as error:
            return _Lookup(replace(part, why=str(error)))
        try:
            async with asyncio.timeout_at(self._evidence.until):
                resolution = await self._resolved(query, preferences)
                return await self._found_in(wanted, part, resolution)
        except TimeoutError:
            return _Lookup(replace(part, outcome="unknown", why="no answer in time"))

    async def _found_in(self, wanted: _Wanted, part: Part, resolution: Resolution) -> _Lookup:
        best, memento = resolution.best, resolution.memento
        if best is None or memento is None:
            return _Lookup(self._without_memento(part, resolution))
        if uri_member(resolution.query, best, memento).value not in _SAME_PART:
            name = _name(memento.archive, self._evidence.registry)
            why = f"{name} leads to another URL: {memento.original}"
            return _Lookup(replace(part, outcome="unknown", why=why))
        return await self._requested(wanted, part, memento)

    async def _resolved(self, query: Query, preferences: Preferences) -> Resolution:
        """Resolve *query*; again, if our own rate limits kept it from being sent."""
        context = self._evidence.context
        while True:
            resolution = await self._resolver.resolve(query, preferences, context)
            waits = [a.outcome for a in resolution.attempts if isinstance(a.outcome, Queued)]
            if resolution.memento is not None or not waits:
                return resolution
            await asyncio.sleep(max(_PAUSE, min(queued.retry_after for queued in waits)))

    def _used_up(self) -> str:
        """Return what of the budget is used up; empty if something is left of all."""
        limits = self._limits
        if self._budget.requests <= 0:
            return f"the budget of {limits.requests} requests is used up"
        if self._budget.octets <= 0:
            return f"the budget of {limits.octets} octets is used up"
        late = asyncio.get_running_loop().time() >= self._evidence.until
        return f"the budget of {limits.seconds:g} s is used up" if late else ""

    @property
    def _is_overdrawn(self) -> bool:
        """Whether a request was refused because the budget is used up."""
        return self._budget.requests < 0 or self._budget.octets < 0

    def _without_memento(self, part: Part, resolution: Resolution) -> Part:
        if not resolution.attempts and not resolution.unanswered:
            return replace(part, why=_NOBODY_ASKED)
        if resolution.complete:
            return replace(part, outcome="missing", why="no archive that was asked holds it")
        if self._is_overdrawn:
            return replace(part, why=self._used_up())
        quota = self._evidence.context.quota
        if isinstance(quota, PartQuota) and quota.is_used_up:
            return replace(part, why="the quota of this client is used up")
        registry = self._evidence.registry
        failed = ", ".join(_name(archive, registry) for archive in resolution.failed)
        return replace(part, outcome="unknown", why=f"no answer from {failed}")

    async def _requested(self, wanted: _Wanted, part: Part, memento: Memento) -> _Lookup:
        """Request *memento*, and return it as the capture of *part*."""
        evidence = self._evidence
        part = replace(part, memento=memento)
        try:
            seen = await self._seen(wanted, memento)
        except ArchiveError as error:
            if self._is_overdrawn:
                return _Lookup(replace(part, why=self._used_up()))
            why = f"{_name(error.archive, evidence.registry)} {error.why}"
            return _Lookup(replace(part, outcome="unknown", why=why))
        memento = memento._replace(status=seen.status or memento.status)
        part = replace(
            part,
            outcome="found",
            memento=memento,
            offset=evidence.offset(memento),
            evidence=seen.evidence,
            last_modified=seen.last_modified,
            redirect=seen.redirect,
        )
        if (memento.status or 0) >= _ERROR:
            why = f"it was archived as an error ({memento.status})"
            return _Lookup(replace(part, outcome="missing", why=why))
        return _Lookup(part, await self._embedded(wanted, seen))

    async def _seen(self, wanted: _Wanted, memento: Memento) -> SeenCapture:
        is_full = len(self._named) >= self._limits.parts
        most = self._limits.document if wanted.is_document and not is_full else 0
        while True:
            try:
                return await self._evidence.seen(memento, most)
            except Queued as error:
                await asyncio.sleep(max(_PAUSE, error.retry_after))

    async def _embedded(self, wanted: _Wanted, seen: SeenCapture) -> list[_Wanted]:
        """Return what a document embeds, or where a redirect leads."""
        if seen.redirect is not None:
            return [*_redirected(wanted, seen.redirect)]
        if not wanted.is_document:
            return []
        if seen.octets is None:
            if len(self._named) >= self._limits.parts:
                self._note_full()
            else:
                self._note_unread(f"the bytes of {wanted.url} are not offered as captured")
            return []
        if len(seen.octets) >= self._limits.document:
            self._note_unread(f"only the beginning of {wanted.url} was read")
        try:
            found = await asyncio.to_thread(
                embedded_in, seen.octets, seen.content_type, wanted.url
            )
        except TooComplex as error:
            self._note_unread(f"{wanted.url} was not read: {error}")
            return []
        embedded = [each for each in found if each.role != "link"]
        self._named.update(each.url for each in embedded)
        return [
            _Wanted(
                *(each.url, each.kind, each.source, wanted.url, wanted.depth + 1),
                is_variant=wanted.is_variant or each.role == "variant",
            )
            for each in embedded
        ]


def _is_gap(lookup: _Lookup) -> bool:
    """Whether another archive may fill the gap."""
    return lookup.part.outcome in ("missing", "unknown")


def _combined(before: Part, after: _Lookup) -> _Lookup:
    """Return what is known after the archive of the page (*before*), then others were asked.

    An archived error, and an archive that did not answer, stay what they are.
    """
    part = after.part
    if part.outcome == "found":
        return after
    if before.memento is not None or before.outcome == "unknown" or part.why == _NOBODY_ASKED:
        return _Lookup(before)
    if part.outcome == "not-looked":
        return _Lookup(replace(part, why=f"not in the archive of the page; {part.why}"))
    return after


def _redirected(wanted: _Wanted, target: str) -> Iterable[_Wanted]:
    if wanted.redirects < _MOST_REDIRECTS:
        yield wanted._replace(
            url=target.partition("#")[0],
            source="redirect",
            parent=wanted.url,
            redirects=wanted.redirects + 1,
        )


def _name(archive: str, registry: Registry) -> str:
    entry = registry.by_id(archive)
    return archive if entry is None else entry.name
