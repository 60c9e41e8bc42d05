"""Fake archives for tests of resolution: what each holds, its delay, and how it fails."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field

from archives.errors import ArchiveError, Unreachable
from archives.kinds import KINDS
from archives.model import ArchiveEntry, Closest, Hop, Limits, Memento, Rate, Relation
from archives.moment import Moment
from archives.nearest import nearest
from archives.source import WantedCaptures
from timegate.resolution.coalescing import Coalescer, Containment, fixed
from timegate.resolution.context import UNLIMITED, RequestContext, TimeBudget
from timegate.resolution.model import (
    Attempt,
    CachedAnswer,
    Deadlines,
    Plan,
    Preferences,
    Query,
    Resolution,
    Skip,
)
from timegate.resolution.resolver import Resolver
from timegate.resolution.selection import Selections
from timegate.resolution.verification import Verifier
from timegate.routing.planner import unplanned

LIMITS = Limits(Rate(1, 1, 5), Rate(1, 1, 5), 8, "a test")
NEVER = 1_000.0


def entry(archive: str) -> ArchiveEntry:
    return ArchiveEntry(
        id=archive,
        name=archive,
        kind=KINDS["memento"],
        use=True,
        because="a test",
        access="open",
        limits=LIMITS,
    )


@dataclass
class FakeArchive:
    """A `Source` that answers after *delay* seconds with the nearest of *stamps*, or fails.

    *holds* is the only URL of which it has captures.
    """

    name: str
    delay: float = 0.1
    stamps: tuple[str, ...] = ()
    error: bool = False
    doubts: tuple[str, ...] = ()
    holds: str = "http://example.org/"
    status: int | None = 200
    lost: bool = False
    """Whether its mementos cannot be fetched, although it lists them."""
    bug: Exception | None = None
    """An unforeseen exception that is raised instead of an answer."""
    delivers: Mapping[str, "Memento | ArchiveError | bool"] = field(default_factory=dict)
    """What is served instead of the memento with a stamp; True for nothing."""
    hangs: bool = False
    """Whether requests for its mementos are never answered."""
    links: Mapping[Relation, str] = field(default_factory=dict)
    """Stamps of mementos that its answers link."""
    digest: str | None = None
    """The digest that its index states for all of its captures."""
    asked: list[tuple[str, Moment | None]] = field(default_factory=list)
    probed: list[str] = field(default_factory=list)
    """Addresses of mementos that were requested."""

    @property
    def entry(self) -> ArchiveEntry:
        return entry(self.name)

    def captures(self, original: str) -> list[Memento]:
        if original != self.holds:
            return []
        return [
            Memento(
                stamp,
                f"http://{self.name}/{stamp}/{original}",
                original,
                self.name,
                self.status,
                None,
                self.digest,
            )
            for stamp in self.stamps
        ]

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        self.asked.append((original, at))
        await asyncio.sleep(self.delay)
        if self.error:
            raise Unreachable(self.name, original, "it is down")
        if self.bug is not None:
            raise self.bug
        best = nearest(self.captures(original), at)
        if best is None:
            return None
        linked = {relation: self.memento(stamp) for relation, stamp in self.links.items()}
        return Closest(best, "timegate", self.doubts, linked)

    def memento(self, stamp: str) -> Memento:
        """Return a memento of the page, whether the archive holds it or not."""
        uri = f"http://{self.name}/{stamp}/{self.holds}"
        return Memento(stamp, uri, self.holds, self.name)

    async def probe(
        self, memento: Memento, address: str, context: RequestContext
    ) -> Closest | None:
        """Deliver a memento, unless the archive has lost it."""
        del context
        self.probed.append(address)
        await asyncio.sleep(NEVER if self.hangs else 0.0)
        delivered = self.delivers.get(memento.stamp, self.lost)
        if delivered is True:
            return None
        if isinstance(delivered, ArchiveError):
            raise delivered
        served = delivered or memento._replace(status=self.status)
        hops = (Hop(address, served.status or 200, served.stamp[:14]),)
        return Closest(served, "template", evidence="delivered", hops=hops)

    async def mementos(
        self, original: str, *, detailed: bool = False, wanted: WantedCaptures | None = None
    ) -> AsyncGenerator[Sequence[Memento], None]:
        del detailed, wanted
        await asyncio.sleep(self.delay)
        if self.bug is not None:
            raise self.bug
        yield sorted(self.captures(original))


class FakeMemory:
    """An answer cache whose entries never expire."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str, Moment | None], CachedAnswer] = {}
        self.checked: dict[str, CachedAnswer] = {}

    async def recall(
        self,
        archive: str,
        original: str,
        at: Moment | None,
        budget: TimeBudget | None = None,
    ) -> CachedAnswer | None:
        del budget
        return self.kept.get((archive, original, at))

    async def recall_all(
        self,
        archives: Sequence[str],
        original: str,
        at: Moment | None,
        budget: TimeBudget | None = None,
    ) -> dict[str, CachedAnswer]:
        del budget
        known = {archive: await self.recall(archive, original, at) for archive in archives}
        return {archive: answer for archive, answer in known.items() if answer is not None}

    async def recall_memento(
        self, memento: Memento, address: str, budget: TimeBudget | None = None
    ) -> CachedAnswer | None:
        del memento, budget
        return self.checked.get(address)

    async def remember_memento(
        self,
        memento: Memento,
        address: str,
        outcome: Closest | None,
        budget: TimeBudget | None = None,
    ) -> None:
        del memento, budget
        self.checked[address] = CachedAnswer(outcome, fresh=True, age=0.0)

    async def remember(
        self,
        archive: str,
        original: str,
        at: Moment | None,
        outcome: Closest | None,
        budget: TimeBudget | None = None,
    ) -> None:
        del budget
        self.kept[archive, original, at] = CachedAnswer(outcome, fresh=True, age=0.0)


class World:
    """A resolver over fake archives; to be used inside ``async with world.coalescer``."""

    def __init__(self, *archives: FakeArchive, deadlines: Deadlines | None = None) -> None:
        self.archives = {archive.name: archive for archive in archives}
        self.memory = FakeMemory()
        self.observed: list[Attempt] = []
        self.coalescer = Coalescer(fixed(self.archives), self.memory, self.observed.append)
        probes = {name: archive.probe for name, archive in self.archives.items()}
        self.selections = Selections(Verifier(probes, self.memory, Containment()))
        self.resolver = Resolver(
            self.coalescer, self.memory, self.route, deadlines, selections=self.selections
        )
        self.others: dict[str, ArchiveEntry] = {}
        """Archives that are known and never queried."""

    async def resolve(
        self,
        query: Query,
        preferences: Preferences | None = None,
        context: RequestContext = UNLIMITED,
    ) -> Resolution:
        return await self.resolver.resolve(query, preferences or Preferences(), context)

    def route(self, query: Query, preferences: Preferences, context: RequestContext) -> Plan:
        del context
        names = [
            name
            for name in self.archives
            if name not in preferences.exclude
            and (preferences.archives is None or name in preferences.archives)
        ]
        first = tuple(name for name in names if name == query.archive)
        rest = tuple(name for name in names if name not in first)
        groups = tuple(group for group in (first, rest) if group)
        return Plan(groups, named_skip=None if first else self._skip(query, preferences))

    def _skip(self, query: Query, preferences: Preferences) -> Skip | None:
        known = {**self.others, **{name: entry(name) for name in self.archives}}
        named = known.get(query.archive or "")
        return None if named is None else unplanned(named, preferences)

    def requests(self) -> int:
        return sum(len(archive.asked) for archive in self.archives.values())


def unknown(attempt: Attempt) -> bool:
    return isinstance(attempt.outcome, ArchiveError)
