"""What one client may have public archives asked."""

import asyncio

from archives.moment import Moment
from archives.source import Source
from tests.clock import Clock, in_virtual_time
from tests.scenario import FakeArchive, FakeMemory, World
from timegate.cache import AnswerCache, MemoryStore
from timegate.resolution.coalescing import Coalescer
from timegate.resolution.model import Preferences, Query, Resolution
from timegate.server.client_quota import (
    ClientQuota,
    ClientQuotas,
    FrugalLists,
    FrugalResolver,
    Public,
    visiting,
)
from timegate.timemaps import MergeDeadlines

AT = Moment("20160122112029")
STAMP = "20160122112029"
PAGE = "http://example.org/"


class Place:
    """A public archive, one of our own, and a resolver that lets clients pay."""

    def __init__(
        self, *, own: tuple[str, ...] = (), stamps: tuple[str, ...] = (STAMP,)
    ) -> None:
        self.public = FakeArchive("public", 0.0, stamps)
        self.own = FakeArchive("own", 0.0, own)
        world = World(self.public, self.own)
        sources: dict[str, Source] = {"public": Public(self.public), "own": self.own}
        memory = FakeMemory()
        desk = Coalescer(sources, memory)
        self.resolver = FrugalResolver(desk, memory, world.route, public=frozenset({"public"}))

    async def ask(
        self, visit: ClientQuota | None, url: str = PAGE, *, no_cache: bool = False
    ) -> Resolution:
        with visiting(visit):
            return await self.resolver.resolve(Query(url, AT), Preferences(no_cache=no_cache))


def a_visit(budgets: ClientQuotas, *, patient: bool = False) -> ClientQuota:
    return ClientQuota("192.0.2.1", budgets, patient=patient)


def test_tokens_drip_in_up_to_the_burst() -> None:
    clock = Clock()
    budgets = ClientQuotas(30, 2, clock)

    taken = [budgets.take("a"), budgets.take("a"), budgets.take("a")]
    clock.advance(2)
    later = [budgets.take("a"), budgets.take("a")]
    clock.advance(3600)
    much_later = [budgets.take("a"), budgets.take("a"), budgets.take("a")]

    assert taken == [0, 0, 2.0]
    assert later == [0, 2.0]
    assert much_later == [0, 0, 2.0]


def test_each_client_has_its_own() -> None:
    budgets = ClientQuotas(30, 1, Clock())

    assert [budgets.take("a"), budgets.take("b"), budgets.take("a")] == [0, 0, 2.0]


async def test_a_question_that_archives_are_asked_for_costs_one() -> None:
    budgets, place = ClientQuotas(30, 1, Clock()), Place()

    found = await place.ask(a_visit(budgets))

    assert found.memento is not None
    assert budgets.take("192.0.2.1") > 0


async def test_what_is_remembered_is_free() -> None:
    budgets, place = ClientQuotas(30, 1, Clock()), Place()
    await place.ask(None)

    found = [await place.ask(a_visit(budgets)) for _ in range(3)]

    assert all(one.memento is not None for one in found)
    assert budgets.take("192.0.2.1") == 0


async def test_who_cannot_pay_still_gets_what_is_remembered() -> None:
    budgets, place = ClientQuotas(30, 1, Clock()), Place()
    await place.ask(None)
    budgets.take("192.0.2.1")
    visit = a_visit(budgets)

    found = await place.ask(visit)

    assert found.memento is not None
    assert visit.retry_after == 2.0
    assert found.complete
    assert len(place.public.asked) == 1


async def test_who_cannot_pay_gets_what_our_own_archives_have_and_is_told_who_is_missing() -> (
    None
):
    budgets, place = ClientQuotas(30, 1, Clock()), Place(own=("20150101000000",))
    budgets.take("192.0.2.1")

    found = await place.ask(a_visit(budgets))

    assert found.memento is not None
    assert found.memento.archive == "own"
    assert found.unanswered == ("public",)
    assert not found.complete
    assert place.public.asked == []


async def test_a_hundred_questions_at_once_cost_a_hundred() -> None:
    budgets, place = ClientQuotas(30, 10, Clock()), Place()
    place.public.delay = 0.01
    urls = [f"{PAGE}{number}" for number in range(100)]

    visits = [a_visit(budgets) for _ in urls]
    await asyncio.gather(
        *(place.ask(visit, url) for visit, url in zip(visits, urls, strict=True))
    )

    assert sum(visit.retry_after is None for visit in visits) == 10
    assert len({url for url, _ in place.public.asked if url in urls}) == 10


async def test_a_visit_pays_for_a_page_once() -> None:
    budgets, place = ClientQuotas(30, 2, Clock()), Place(stamps=())
    visit = a_visit(budgets)

    await place.ask(visit)
    await place.ask(visit, no_cache=True)

    assert visit.retry_after is None
    assert budgets.take("192.0.2.1") == 0


def test_who_has_many_questions_waits_for_its_turn() -> None:
    async def story() -> tuple[float, int]:
        now = asyncio.get_running_loop().time
        budgets, place = ClientQuotas(60, 1, now), Place()
        visit, began = a_visit(budgets, patient=True), now()
        for number in range(5):
            await place.ask(visit, f"{PAGE}{number}")
        return now() - began, len(place.public.asked)

    seconds, _ = in_virtual_time(story())

    assert round(seconds) == 4


async def listed(
    budgets: ClientQuotas, memory: AnswerCache, *, no_cache: bool = False
) -> list[str]:
    """Return who failed to list its captures."""
    archive = FakeArchive("public", 0.0, (STAMP,))
    own = FakeArchive("own", 0.0, (STAMP,))
    sources: dict[str, Source] = {"public": Public(archive), "own": own}
    lists = FrugalLists(sources, memory, frozenset({"public"}))
    with visiting(a_visit(budgets)):
        async with lists.merged(sources, PAGE, Preferences(no_cache=no_cache)) as merge:
            await merge.begin(MergeDeadlines())
            async for _ in merge.blocks():
                pass
            return sorted(merge.failures)


async def test_a_list_costs_one_and_a_remembered_one_nothing() -> None:
    budgets = ClientQuotas(30, 1, Clock())
    memory = AnswerCache(MemoryStore(), Clock(), "v")

    first = await listed(budgets, memory)
    second = await listed(budgets, memory)
    fresh = await listed(budgets, AnswerCache(MemoryStore(), Clock(), "v"))

    assert (first, second) == ([], [])
    assert fresh == ["public"]
