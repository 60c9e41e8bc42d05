"""The quota of a client: how many questions to public archives it may cause."""

import asyncio

from archives.moment import Moment
from tests.clock import Clock, in_virtual_time
from tests.scenario import FakeArchive, FakeMemory, World
from timegate.cache import AnswerCache, MemoryStore
from timegate.resolution.coalescing import Coalescer, fixed
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Preferences, Query, Resolution
from timegate.resolution.resolver import Resolver
from timegate.server.client_quota import ClientQuota, ClientQuotas
from timegate.timemaps import ArchiveLists, MergeDeadlines

AT = Moment("20160122112029")
STAMP = "20160122112029"
PAGE = "http://example.org/"
PUBLIC = frozenset({"public"})
CLIENT = "192.0.2.1"


class Place:
    """A public archive, one of the operator's own, and a resolver that charges clients."""

    def __init__(
        self, *, own: tuple[str, ...] = (), stamps: tuple[str, ...] = (STAMP,)
    ) -> None:
        self.public = FakeArchive("public", 0.0, stamps)
        self.own = FakeArchive("own", 0.0, own)
        world = World(self.public, self.own)
        memory = FakeMemory()
        coalescer = Coalescer(fixed(world.archives), memory, public=PUBLIC)
        self.resolver = Resolver(coalescer, memory, world.route, public=PUBLIC)

    async def ask(
        self, quota: ClientQuota | None, url: str = PAGE, *, no_cache: bool = False
    ) -> Resolution:
        preferences = Preferences(no_cache=no_cache)
        context = RequestContext(quota=quota)
        return await self.resolver.resolve(Query(url, AT), preferences, context)


def a_quota(quotas: ClientQuotas, *, patient: bool = False) -> ClientQuota:
    return ClientQuota(CLIENT, quotas, patient=patient)


def test_tokens_are_refilled_up_to_the_burst() -> None:
    clock = Clock()
    quotas = ClientQuotas(30, 2, clock)

    taken = [quotas.take("a"), quotas.take("a"), quotas.take("a")]
    clock.advance(2)
    later = [quotas.take("a"), quotas.take("a")]
    clock.advance(3600)
    much_later = [quotas.take("a"), quotas.take("a"), quotas.take("a")]

    assert taken == [0, 0, 2.0]
    assert later == [0, 2.0]
    assert much_later == [0, 0, 2.0]


def test_each_client_has_its_own_quota() -> None:
    quotas = ClientQuotas(30, 1, Clock())

    assert [quotas.take("a"), quotas.take("b"), quotas.take("a")] == [0, 0, 2.0]


async def test_a_query_of_public_archives_costs_one_token() -> None:
    quotas, place = ClientQuotas(30, 1, Clock()), Place()

    found = await place.ask(a_quota(quotas))

    assert found.memento is not None
    assert quotas.take(CLIENT) > 0


async def test_cached_answers_are_free() -> None:
    quotas, place = ClientQuotas(30, 1, Clock()), Place()
    await place.ask(None)

    found = [await place.ask(a_quota(quotas)) for _ in range(3)]

    assert all(one.memento is not None for one in found)
    assert quotas.take(CLIENT) == 0


async def test_without_quota_cached_answers_are_still_given() -> None:
    quotas, place = ClientQuotas(30, 1, Clock()), Place()
    await place.ask(None)
    quotas.take(CLIENT)
    quota = a_quota(quotas)

    found = await place.ask(quota)

    assert found.memento is not None
    assert quota.retry_after == 2.0
    assert found.complete
    assert len(place.public.asked) == 1


async def test_without_quota_own_archives_answer_and_the_missing_ones_are_named() -> None:
    quotas, place = ClientQuotas(30, 1, Clock()), Place(own=("20150101000000",))
    quotas.take(CLIENT)

    found = await place.ask(a_quota(quotas))

    assert found.memento is not None
    assert found.memento.archive == "own"
    assert found.unanswered == ("public",)
    assert not found.complete
    assert place.public.asked == []


async def test_a_hundred_concurrent_queries_cost_a_hundred_tokens() -> None:
    quotas, place = ClientQuotas(30, 10, Clock()), Place()
    place.public.delay = 0.01
    urls = [f"{PAGE}{number}" for number in range(100)]

    requests = [a_quota(quotas) for _ in urls]
    await asyncio.gather(
        *(place.ask(quota, url) for quota, url in zip(requests, urls, strict=True))
    )

    assert sum(quota.retry_after is None for quota in requests) == 10
    assert len({url for url, _ in place.public.asked if url in urls}) == 10


async def test_a_request_is_charged_once_for_a_url() -> None:
    quotas, place = ClientQuotas(30, 2, Clock()), Place(stamps=())
    quota = a_quota(quotas)

    await place.ask(quota)
    await place.ask(quota, no_cache=True)

    assert quota.retry_after is None
    assert quotas.take(CLIENT) == 0


def test_a_patient_quota_waits_for_tokens() -> None:
    async def story() -> tuple[float, int]:
        now = asyncio.get_running_loop().time
        quotas, place = ClientQuotas(60, 1, now), Place()
        quota, began = a_quota(quotas, patient=True), now()
        for number in range(5):
            await place.ask(quota, f"{PAGE}{number}")
        return now() - began, len(place.public.asked)

    seconds, _ = in_virtual_time(story())

    assert round(seconds) == 4


async def listed(
    quotas: ClientQuotas, memory: AnswerCache, *, no_cache: bool = False
) -> list[str]:
    """Return the archives that failed to list their captures."""
    archives = {name: FakeArchive(name, 0.0, (STAMP,)) for name in ("public", "own")}
    lists = ArchiveLists(fixed(archives), memory, public=PUBLIC)
    context = RequestContext(quota=a_quota(quotas))
    preferences = Preferences(no_cache=no_cache)
    async with lists.merged(archives, PAGE, preferences, context) as merge:
        await merge.begin(MergeDeadlines())
        async for _ in merge.blocks():
            pass
        return sorted(merge.failures)


async def test_a_list_costs_one_token_and_a_cached_list_none() -> None:
    quotas = ClientQuotas(30, 1, Clock())
    memory = AnswerCache(MemoryStore(), Clock(), "v")

    first = await listed(quotas, memory)
    second = await listed(quotas, memory)
    fresh = await listed(quotas, AnswerCache(MemoryStore(), Clock(), "v"))

    assert (first, second) == ([], [])
    assert fresh == ["public"]
