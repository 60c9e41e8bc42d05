"""The time in our own queue for an archive is not the slowness of the archive."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from aiohttp.abc import AbstractResolver, ResolveResult

from archives.adapters import adapter_for
from archives.model import ArchiveEntry, Closest, Limits, Rate
from archives.moment import Moment
from archives.source import Fetcher, Reply, Request
from tests.clock import in_virtual_time
from tests.fakes import an_entry
from tests.fakes import clock as wall_clock
from tests.scenario import FakeMemory
from tests.timegate.upstream.replies import FakeReply
from timegate.resolution.coalescing import Coalescer, Containment
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Attempt, Deadlines, Plan, Preferences, Query, Resolution
from timegate.resolution.resolver import Resolver
from timegate.resolution.selection import Selections
from timegate.resolution.verification import Verifier, memento_probes
from timegate.upstream.stack import (
    ArchiveSources,
    UpstreamEnvironment,
    UpstreamSettings,
    open_fetchers,
)

STAMP = "20200101000000"
DATE = "Wed, 01 Jan 2020 00:00:00 GMT"
LONG = 300.0
ONE_A_SECOND = Limits(Rate(1, 1), Rate(1, 1), 8, "a test")
MANY_A_SECOND = Limits(Rate(99, 1, 99), Rate(99, 1, 99), 99, "a test")
Verify = Literal["none", "head"]
NAMES = ("limited", "b", "c", "d")


class NoNames(AbstractResolver):
    """The network of these tests needs no names."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        raise OSError(host, port, family)

    async def close(self) -> None: ...


@dataclass
class Archives:
    """Four archives that hold every page; the reference names the first, which is limited."""

    delay: float = 0.2
    """Seconds that the limited archive takes for an answer."""
    requests: Counter[str] = field(default_factory=Counter)
    observed: list[Attempt] = field(default_factory=list)

    def network(self, entry: ArchiveEntry) -> Fetcher:
        @asynccontextmanager
        async def answer(request: Request) -> AsyncGenerator[Reply]:
            self.requests[entry.id] += 1
            await asyncio.sleep(self.delay if entry.id == "limited" else 0.1)
            memento = f"http://{entry.id}.example/{STAMP}/"
            page = request.url.partition(".example/")[2].partition("/")[2]
            links = (
                f'<{page}>; rel="original", <{memento}{page}>; rel="memento"; datetime="{DATE}"'
            )
            if request.url.startswith(memento):
                yield FakeReply(200, {"memento-datetime": DATE, "link": links}, request.url)
            else:
                yield FakeReply(302, {"location": memento + page, "link": links}, request.url)

        return answer

    async def resolve(self, count: int, verify: Verify = "none") -> list[Resolution]:
        """Resolve *count* references at the same time."""
        entries = [
            an_entry(
                "memento",
                id=name,
                timegate=f"http://{name}.example/timegate/",
                limits=ONE_A_SECOND if name == "limited" else MANY_A_SECOND,
            )
            for name in NAMES
        ]
        clock = asyncio.get_running_loop().time
        environment = UpstreamEnvironment(clock, resolver=NoNames, network=self.network)
        settings = UpstreamSettings("a test", patience=LONG)
        memory = FakeMemory()
        async with open_fetchers(entries, settings, environment) as fetchers:
            adapters = {entry.id: adapter_for(entry, wall_clock) for entry in entries}
            sources = ArchiveSources(adapters, fetchers, {}, {})
            coalescer = Coalescer(sources, memory, self.observed.append)
            probes = memento_probes(entries, fetchers.within, wall_clock)
            resolver = Resolver(
                coalescer,
                memory,
                lambda *_: Plan((NAMES[:1], NAMES[1:])),
                Deadlines(LONG, LONG),
                selections=Selections(Verifier(probes, memory, Containment())),
            )
            queries = [
                Query(f"http://example.org/{n}", Moment(STAMP), archive="limited")
                for n in range(count)
            ]
            preferences = Preferences(verify=verify)
            async with coalescer:
                return await asyncio.gather(
                    *(
                        resolver.resolve(query, preferences, RequestContext())
                        for query in queries
                    )
                )


def resolved(archives: Archives, count: int, verify: Verify = "none") -> list[Resolution]:
    return in_virtual_time(archives.resolve(count, verify))


def test_references_that_wait_for_our_rate_limit_are_asked_once_and_of_no_other_archive() -> (
    None
):
    archives = Archives()

    resolutions = resolved(archives, 20)

    assert archives.requests == {"limited": 20}
    assert {each.memento and each.memento.archive for each in resolutions} == {"limited"}


def test_a_memento_is_verified_after_any_wait_in_our_queue() -> None:
    archives = Archives()

    resolutions = resolved(archives, 20, "head")

    assert archives.requests == {"limited": 40}
    outcomes = [each.best and each.best.outcome for each in resolutions]
    assert {isinstance(o, Closest) and o.evidence for o in outcomes} == {"delivered"}


def test_the_latency_of_an_archive_does_not_include_our_queue() -> None:
    archives = Archives()

    resolved(archives, 20)

    assert {round(attempt.seconds, 3) for attempt in archives.observed} == {0.2}


def test_an_archive_that_is_slow_after_our_queue_is_helped_by_the_others() -> None:
    archives = Archives(delay=5.0)

    resolved(archives, 2)

    # Each reference waits for its turn, then 1.3 s; then the others are asked one by one.
    assert archives.requests == {"limited": 2, "b": 2, "c": 2, "d": 2}
