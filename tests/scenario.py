"""Fake archives for tests of resolution: what each holds, its delay, and how it fails."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from archives.adapters import KINDS
from archives.errors import ArchiveError, Unreachable
from archives.model import ArchiveEntry, Closest, Limits, Memento, Rate
from archives.moment import Moment
from archives.nearest import nearest
from timegate.resolution.coalescing import Coalescer, fixed
from timegate.resolution.context import UNLIMITED, RequestContext, TimeBudget
from timegate.resolution.model import (
    Attempt,
    CachedAnswer,
    Deadlines,
    Plan,
    Preferences,
    Query,
    Resolution,
)
from timegate.resolution.resolver import Resolver

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
    asked: list[tuple[str, Moment | None]] = field(default_factory=list)

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
        return None if best is None else Closest(best, "timegate", self.doubts)

    async def mementos(
        self, original: str, *, detailed: bool = False
    ) -> AsyncGenerator[Sequence[Memento], None]:
        del detailed
        await asyncio.sleep(self.delay)
        if self.bug is not None:
            raise self.bug
        yield sorted(self.captures(original))


class FakeMemory:
    """An answer cache whose entries never expire."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str, Moment | None], CachedAnswer] = {}

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
        self.resolver = Resolver(self.coalescer, self.memory, self.route, deadlines)

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
        return Plan(tuple(group for group in (first, rest) if group))

    def requests(self) -> int:
        return sum(len(archive.asked) for archive in self.archives.values())


def unknown(attempt: Attempt) -> bool:
    return isinstance(attempt.outcome, ArchiveError)
