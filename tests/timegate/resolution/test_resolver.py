"""The resolver under a virtual clock: scenario tables, and a brute-force oracle."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archives.errors import Internal
from archives.model import Closest, Memento
from archives.moment import Moment, second_of
from tests.clock import in_virtual_time
from tests.scenario import NEVER, FakeArchive, World
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import (
    CachedAnswer,
    Deadlines,
    Plan,
    Preferences,
    Query,
    Resolution,
)
from timegate.resolution.resolver import Resolver

T = TypeVar("T")
URL = "http://example.org/"
AT = Moment("20160122112029")
EXACT = "20160122112029"
DAY_LATER = "20160123112029"
WEEK_LATER = "20160129112029"
NAMED = Query(URL, AT, archive="named", archive_id="named.example")
ANY = Query(URL, AT)


def story(world: World, tell: Callable[[World], Awaitable[T]]) -> T:
    async def run() -> T:
        async with world.coalescer:
            return await tell(world)

    return in_virtual_time(run())


def resolved(world: World, query: Query, preferences: Preferences | None = None) -> Resolution:
    return story(world, lambda w: w.resolve(query, preferences))


def resolving(
    world: World, plan: Callable[[], Plan]
) -> Callable[[Query], Awaitable[Resolution]]:
    """Return a function that resolves over *world* with the plans that *plan* returns."""
    resolver = Resolver(world.coalescer, world.memory, lambda *_: plan())
    return lambda query: resolver.resolve(query, Preferences(), UNLIMITED)


def timed(world: World, query: Query) -> tuple[Resolution, float]:
    async def tell(w: World) -> tuple[Resolution, float]:
        clock = asyncio.get_running_loop().time
        began = clock()
        return await w.resolve(query), clock() - began

    return story(world, tell)


@pytest.mark.parametrize("query", [ANY, NAMED])
def test_an_internal_error_at_one_archive_does_not_affect_the_others(
    query: Query,
) -> None:
    broken = FakeArchive("named", 0.0, bug=OverflowError("http://secret.example/"))
    world = World(broken, FakeArchive("other", 0.1, (EXACT,)))

    resolution = resolved(world, query)

    assert resolution.memento is not None
    assert resolution.memento.archive == "other"
    (failure,) = [a.outcome for a in resolution.attempts if isinstance(a.outcome, Internal)]
    assert failure.why == "internal error of this server (OverflowError)"
    assert [type(a.outcome) for a in world.observed].count(Internal) == 1


def test_an_exact_memento_in_the_named_archive_takes_one_request() -> None:
    world = World(FakeArchive("named", 0.3, (EXACT,)), FakeArchive("other", 0.0, (EXACT,)))

    resolution = resolved(world, NAMED)

    assert resolution.memento is not None
    assert resolution.memento.archive == "named"
    assert world.requests() == 1
    assert resolution.complete
    assert resolution.skipped == ("other",)


def test_without_an_exact_memento_there_all_other_archives_are_asked_at_once() -> None:
    world = World(
        FakeArchive("named", 0.3, (WEEK_LATER,)),
        FakeArchive("one", 0.4, (DAY_LATER,)),
        FakeArchive("two", 0.4, (EXACT,)),
    )

    resolution, seconds = timed(world, NAMED)

    assert resolution.memento is not None
    assert (resolution.memento.archive, resolution.memento.stamp) == ("two", EXACT)
    assert [a.archive for a in resolution.alternatives] == ["one", "named"]
    assert abs(seconds - 0.7) < 1e-6


def test_while_the_named_archive_is_slow_the_others_are_asked_one_by_one() -> None:
    others = [FakeArchive(f"other{n}", 0.2, (DAY_LATER,)) for n in range(5)]
    world = World(FakeArchive("named", 1.45, (EXACT,)), *others)

    resolution, seconds = timed(world, NAMED)

    assert resolution.memento is not None
    assert resolution.memento.archive == "named"
    assert abs(seconds - 1.45) < 1e-6
    assert sum(len(other.asked) for other in others) == 2


def test_at_the_soft_deadline_the_best_so_far_is_the_answer() -> None:
    world = World(FakeArchive("named", NEVER), FakeArchive("other", 0.2, (DAY_LATER,)))

    resolution, seconds = timed(world, NAMED)

    assert resolution.memento is not None
    assert resolution.memento.archive == "other"
    assert resolution.failed == ("named",)
    assert abs(seconds - 2.0) < 1e-6


def test_with_nothing_yet_the_answer_waits_for_the_hard_deadline() -> None:
    world = World(FakeArchive("named", NEVER), FakeArchive("other", 4.0 - 1.3, (DAY_LATER,)))

    resolution, seconds = timed(world, NAMED)

    assert resolution.memento is not None
    assert abs(seconds - 4.0) < 1e-6


def test_when_all_hang_the_answer_is_unknown_not_absent() -> None:
    world = World(FakeArchive("a", NEVER), FakeArchive("b", NEVER))

    resolution, seconds = timed(world, ANY)

    assert resolution.memento is None
    assert resolution.failed == ("a", "b")
    assert abs(seconds - 5.0) < 1e-6


def test_an_error_is_kept_with_its_cause() -> None:
    world = World(FakeArchive("a", error=True), FakeArchive("b"))

    resolution = resolved(world, ANY)

    assert resolution.memento is None
    assert resolution.failed == ("a",)
    assert "it is down" in str(next(a.outcome for a in resolution.attempts if a.archive == "a"))


def test_without_a_named_archive_any_exact_memento_ends_the_search() -> None:
    world = World(FakeArchive("slow", 1.0, (EXACT,)), FakeArchive("fast", 0.1, (EXACT,)))

    resolution, seconds = timed(world, ANY)

    assert resolution.memento is not None
    assert resolution.memento.archive == "fast"
    assert abs(seconds - 0.1) < 1e-6


def test_a_doubtful_memento_does_not_end_the_search() -> None:
    liar = FakeArchive("liar", 0.1, (EXACT,), doubts=("it echoes",))
    world = World(liar, FakeArchive("honest", 0.5, (EXACT,)))

    resolution = resolved(world, ANY)

    assert resolution.memento is not None
    assert resolution.memento.archive == "honest"


def test_without_a_time_the_newest_memento_of_all_archives_is_chosen() -> None:
    world = World(FakeArchive("a", 0.1, ("20100101000000",)), FakeArchive("b", 0.5, (EXACT,)))

    resolution = resolved(world, Query(URL, None))

    assert resolution.memento is not None
    assert resolution.memento.stamp == EXACT


def test_late_answers_are_cached() -> None:
    late = FakeArchive("late", 3.0, (EXACT,))
    world = World(FakeArchive("named", 2.5, ()), late, FakeArchive("other", 0.1, (DAY_LATER,)))

    async def tell(w: World) -> bool:
        first = await w.resolve(ANY)
        assert first.memento is not None
        assert first.memento.archive == "other"
        await asyncio.sleep(2.0)
        second = await w.resolve(ANY)
        assert second.memento is not None
        return second.memento.archive == "late"

    assert story(world, tell)
    assert len(late.asked) == 1


def test_identical_concurrent_questions_are_asked_once() -> None:
    archives = [FakeArchive(f"a{n}", 0.5, (DAY_LATER,)) for n in range(3)]
    world = World(*archives)

    async def tell(w: World) -> list[Resolution]:
        return await asyncio.gather(*(w.resolve(ANY) for _ in range(1_000)))

    resolutions = story(world, tell)

    assert [len(archive.asked) for archive in archives] == [1, 1, 1]
    assert {r.memento for r in resolutions if r.memento} == {resolutions[0].memento}


def test_joined_requests_survive_the_cancellation_of_the_first() -> None:
    world = World(FakeArchive("a", 0.5, (EXACT,)))

    async def tell(w: World) -> Resolution:
        async with asyncio.TaskGroup() as group:
            leader = group.create_task(w.resolve(ANY))
            await asyncio.sleep(0.1)
            follower = group.create_task(w.resolve(ANY))
            await asyncio.sleep(0.1)
            leader.cancel()
        return follower.result()

    assert story(world, tell).memento is not None
    assert world.requests() == 1


def test_a_repeated_question_is_answered_from_the_cache() -> None:
    world = World(FakeArchive("a", 0.1, (DAY_LATER,)), FakeArchive("b", 0.1))

    async def tell(w: World) -> Resolution:
        await w.resolve(ANY)
        return await w.resolve(ANY)

    resolution = story(world, tell)

    assert world.requests() == 2
    assert {a.age for a in resolution.attempts} == {0.0}


def test_no_cache_asks_again_and_only_if_cached_never_asks() -> None:
    world = World(FakeArchive("a", 0.1, (EXACT,)))

    async def tell(w: World) -> tuple[Resolution, Resolution]:
        nothing = await w.resolve(ANY, Preferences(only_if_cached=True))
        await w.resolve(ANY)
        return nothing, await w.resolve(ANY, Preferences(no_cache=True))

    nothing, again = story(world, tell)

    assert nothing.memento is None
    assert nothing.skipped == ("a",)
    assert again.memento is not None
    assert again.skipped == ()
    assert world.requests() == 2


def test_a_stale_answer_is_better_than_none() -> None:
    world = World(FakeArchive("a", error=True))
    old = Closest(Memento(DAY_LATER, "http://a/m", URL, "a"), "timegate")
    world.memory.kept["a", URL, AT] = CachedAnswer(old, fresh=False, age=90_000.0)

    resolution = resolved(world, ANY)

    assert resolution.memento == old.memento
    assert resolution.best is not None
    assert resolution.best.age == 90_000.0
    assert resolution.failed == ("a",)


def test_a_stale_answer_does_not_wait_for_the_hard_deadline() -> None:
    world = World(FakeArchive("a", NEVER))
    old = Closest(Memento(DAY_LATER, "http://a/m", URL, "a"), "timegate")
    world.memory.kept["a", URL, AT] = CachedAnswer(old, fresh=False, age=90_000.0)

    async def tell(w: World) -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        resolution = await w.resolve(ANY)
        usual = loop.time() - began
        assert resolution.stale
        await w.resolve(ANY, Preferences(wait=4.0))
        return usual, loop.time() - began - usual

    usual, patient = story(world, tell)

    # In the loop's own time, which no machine makes longer.
    assert usual == pytest.approx(1.8)
    assert patient == pytest.approx(4.0)


def test_other_spellings_are_tried_after_the_url_itself_and_reported() -> None:
    world = World(
        FakeArchive("named", 0.1, (EXACT,), holds="https://example.org/"),
        FakeArchive("other", 0.1, (DAY_LATER,), holds="http://www.example.org/"),
    )

    in_named = resolved(world, NAMED)
    elsewhere = resolved(World(world.archives["other"]), ANY)

    assert in_named.best is not None
    assert (in_named.best.archive, in_named.best.variant) == ("named", "scheme")
    assert elsewhere.best is not None
    assert (elsewhere.best.archive, elsewhere.best.variant) == ("other", "www")


@pytest.mark.parametrize("archive", [None, "a0", "a34"])
@pytest.mark.parametrize("url", [URL, "http://www.example.org/page"])
def test_a_url_that_no_archive_holds_costs_one_request_per_archive_and_two_more(
    url: str, archive: str | None
) -> None:
    world = World(*(FakeArchive(f"a{n}", 0.1) for n in range(35)))

    resolution = resolved(world, Query(url, AT, archive=archive))

    assert world.requests() == 35 + 2
    assert resolution.complete


def test_spellings_that_were_not_tried_are_reported() -> None:
    world = World(FakeArchive("a", 0.1), FakeArchive("b", 0.1), FakeArchive("c", 0.1))

    resolution = resolved(world, ANY)

    untried = [(one.variant, one.archives) for one in resolution.unasked]
    assert untried == [
        ("scheme", ("c",)),
        ("www", ("a", "b", "c")),
        ("slash", ("a", "b", "c")),
    ]
    assert resolution.unasked[0].url == "https://example.org/"


def test_where_a_memento_was_found_no_spelling_is_reported_as_untried() -> None:
    world = World(FakeArchive("a", 0.1), FakeArchive("b", 0.1, (DAY_LATER,)))

    assert resolved(world, ANY).unasked == ()


def test_only_the_named_archive_is_asked_for_two_other_spellings() -> None:
    world = World(FakeArchive("named", 0.1), FakeArchive("other", 0.1))

    resolved(world, NAMED)

    spellings = ["http://example.org/", "https://example.org/", "http://www.example.org/"]
    assert [url for url, _ in world.archives["named"].asked] == spellings
    assert [url for url, _ in world.archives["other"].asked] == spellings[:1]


def test_the_named_archive_is_asked_for_other_spellings_although_another_has_a_memento() -> (
    None
):
    world = World(
        FakeArchive("own", 0.1, (WEEK_LATER,)),
        FakeArchive("named", 0.1, (EXACT,), holds="https://example.org/"),
    )
    plan = Plan((("own",), ("named",)))
    resolve = resolving(world, lambda: plan)

    resolution = story(world, lambda _: resolve(NAMED))

    assert resolution.best is not None
    assert (resolution.best.archive, resolution.best.variant) == ("named", "scheme")


def test_a_repeated_question_for_an_absent_page_is_answered_from_the_cache() -> None:
    world = World(*(FakeArchive(f"a{n}", 0.1) for n in range(12)))
    order = list(world.archives)
    resolve = resolving(world, lambda: Plan((tuple(order),)))

    async def tell(_: World) -> Resolution:
        await resolve(ANY)
        # What is learned from the first answers changes the order of the archives.
        order.reverse()
        return await resolve(ANY)

    resolution = story(world, tell)

    assert world.requests() == 12 + 2
    assert sum(attempt.variant is not None for attempt in resolution.attempts) == 2


def test_a_memento_under_another_spelling_is_found_again_in_the_cache() -> None:
    world = World(FakeArchive("a", 0.1, (EXACT,), holds="https://example.org/"))

    async def tell(w: World) -> Resolution:
        await w.resolve(ANY)
        asked = w.requests()
        again = await w.resolve(ANY)
        assert w.requests() == asked
        return again

    resolution = story(world, tell)

    assert resolution.best is not None
    assert (resolution.best.variant, resolution.best.age) == ("scheme", 0.0)


def test_cached_answers_for_another_spelling_are_used_from_every_archive() -> None:
    world = World(*(FakeArchive(f"a{n}", 0.1) for n in range(5)))
    copy = Memento(DAY_LATER, "http://a4/m", "https://example.org/", "a4")
    kept = CachedAnswer(Closest(copy, "timegate"), fresh=True, age=9.0)
    world.memory.kept["a4", "https://example.org/", AT] = kept

    resolution = resolved(world, ANY)

    assert resolution.memento == copy
    assert world.requests() == 5


def test_no_cache_requests_other_spellings_again() -> None:
    world = World(FakeArchive("a", 0.1))

    async def tell(w: World) -> Resolution:
        await w.resolve(ANY)
        return await w.resolve(ANY, Preferences(no_cache=True))

    story(world, tell)

    assert world.requests() == 2 * (1 + 2)


def test_an_archive_that_does_not_answer_for_another_spelling_is_unknown() -> None:
    class Halting(FakeArchive):
        async def closest(self, original: str, at: Moment | None) -> Closest | None:
            self.delay = 0.1 if original == URL else NEVER
            return await super().closest(original, at)

    resolution = resolved(World(Halting("a")), ANY)

    assert resolution.memento is None
    assert resolution.failed == ("a",)
    assert not resolution.complete
    # The wait that it was, in virtual time: five seconds in all, of which one answer took 0.1.
    assert {round(attempt.seconds, 3) for attempt in resolution.attempts} == {0.1, 4.9}


def test_the_literal_reading_is_also_tried_at_archives_that_fold_spellings() -> None:
    world = World(FakeArchive("named", 0.1))
    query = replace(NAMED, literal="http://example.org/%23")
    plan = Plan((("named",),), frozenset({"named"}))
    resolve = resolving(world, lambda: plan)

    resolution = story(world, lambda _: resolve(query))

    assert [url for url, _ in world.archives["named"].asked] == [URL, "http://example.org/%23"]
    assert resolution.unasked == ()


def test_the_decoded_readings_of_an_item_are_tried_in_the_named_archive() -> None:
    spellings = ("http://example.org/?a=1%26b=2", "http://example.org/?a=1&b=2")
    world = World(FakeArchive("named", 0.1, ("20160122112029",), holds=spellings[1]))
    resolve = resolving(world, lambda: Plan((("named",),)))

    resolution = story(world, lambda _: resolve(replace(NAMED, decoded=spellings)))

    assert [url for url, _ in world.archives["named"].asked] == [URL, *spellings]
    assert resolution.best is not None
    assert resolution.best.variant == "percent"


def test_a_memento_of_the_requested_day_is_better_than_a_nearer_one_of_the_next() -> None:
    at = replace(ANY, at=Moment("20160122235000"))
    world = World(
        FakeArchive("next", 0.1, ("20160123000000",)),
        FakeArchive("same", 0.1, ("20160122200000",)),
    )

    async def tell(w: World) -> tuple[Resolution, Resolution]:
        return await w.resolve(at), await w.resolve(at, Preferences(precision="day"))

    nearest, of_day = story(world, tell)

    assert nearest.memento is not None
    assert nearest.memento.archive == "next"
    assert of_day.memento is not None
    assert of_day.memento.archive == "same"


def test_a_cached_memento_in_the_other_direction_is_no_clear_no() -> None:
    stamps = ("20160101000000", "20160122112030")
    world = World(FakeArchive("a", 0.1, stamps))

    async def tell(w: World) -> Resolution:
        await w.resolve(ANY)
        return await w.resolve(ANY, Preferences(direction="before"))

    resolution = story(world, tell)

    assert resolution.memento is not None
    assert resolution.memento.stamp == stamps[0]


def test_an_archive_that_failed_is_not_asked_for_other_spellings() -> None:
    world = World(FakeArchive("down", error=True))

    resolved(world, ANY)

    assert world.requests() == 1


def test_only_the_named_archive_is_asked_if_no_other_is_acceptable() -> None:
    world = World(FakeArchive("named", 0.1, (WEEK_LATER,)), FakeArchive("other", 0.1, (EXACT,)))

    resolution = resolved(world, NAMED, Preferences(precision="archive"))

    assert resolution.memento is not None
    assert resolution.memento.archive == "named"
    assert world.archives["other"].asked == []


def test_the_direction_holds_even_if_the_closest_memento_is_on_the_other_side() -> None:
    stamps = ("20160101000000", "20160122112030")
    world = World(FakeArchive("a", 0.1, stamps))

    before = resolved(world, ANY, Preferences(direction="before"))
    after = resolved(world, ANY, Preferences(direction="after"))

    assert before.memento is not None
    assert before.memento.stamp == stamps[0]
    assert after.memento is not None
    assert after.memento.stamp == stamps[1]


def test_a_client_may_set_a_shorter_deadline() -> None:
    world = World(FakeArchive("a", 1.0, (EXACT,)))

    resolution = resolved(world, ANY, Preferences(wait=0.5))

    assert resolution.memento is None
    assert resolution.failed == ("a",)


def test_an_archive_that_folds_spellings_is_asked_for_one() -> None:
    world = World(FakeArchive("a", 0.1), FakeArchive("b", 0.1))
    plan = Plan((("a", "b"),), frozenset({"a"}))
    resolve = resolving(world, lambda: plan)

    resolution = story(world, lambda _: resolve(ANY))

    asked = [(attempt.archive, attempt.variant) for attempt in resolution.attempts]
    assert [variant for archive, variant in asked if archive == "a"] == [None]
    assert ("b", "scheme") in asked


def test_a_client_may_set_a_longer_deadline_for_a_better_memento() -> None:
    world = World(FakeArchive("a", 0.1, (WEEK_LATER,)), FakeArchive("b", 4.0, (EXACT,)))

    resolution = resolved(world, ANY, Preferences(wait=5.0))

    assert resolution.memento is not None
    assert resolution.memento.archive == "b"
    assert resolution.complete


def test_a_page_is_preferred_to_an_archived_error_of_the_same_second() -> None:
    gone = FakeArchive("gone", 0.1, (DAY_LATER,), status=404)
    world = World(gone, FakeArchive("good", 0.5, (DAY_LATER,)))

    page = resolved(world, ANY)
    part = resolved(world, Query(URL, AT, precision="part"))

    assert page.memento is not None
    assert page.memento.archive == "good"
    assert part.memento is not None
    assert part.memento.archive == "gone"


stamps = st.integers(0, 400).map(
    lambda hours: Moment.of(second_of(EXACT) + timedelta(hours=hours - 200)).digits
)
archives = st.builds(
    FakeArchive,
    name=st.just(""),
    delay=st.sampled_from([0.05, 0.3, 0.9, 1.7, 2.4, 4.0, NEVER]),
    stamps=st.lists(stamps, max_size=4).map(tuple),
    error=st.sampled_from([False, False, False, True]),
    doubts=st.sampled_from([(), (), (), ("it lies",)]),
)
moments = st.sampled_from([EXACT, EXACT[:8], EXACT[:6], EXACT[:4]]).map(Moment)


@settings(max_examples=300)
@given(st.lists(archives, min_size=2, max_size=35), moments, st.sampled_from(["a0", None]))
def test_the_choice_is_that_of_an_oracle_over_what_answered_in_time(
    world_of: list[FakeArchive], at: Moment, archive: str | None
) -> None:
    named = [
        FakeArchive(f"a{n}", a.delay, a.stamps, a.error, a.doubts)
        for n, a in enumerate(world_of)
    ]
    query = Query(URL, at, archive=archive)
    world = World(*named)

    resolution, seconds = timed(world, query)

    assert seconds <= 5.0 + 1e-6
    in_time = [a for a in resolution.attempts if isinstance(a.outcome, Closest)]
    if not in_time:
        assert resolution.memento is None
    else:
        assert resolution.memento == min(
            (a.outcome.memento for a in in_time if isinstance(a.outcome, Closest)),
            key=lambda m: oracle(m, at, query.archive, world),
        )
    # Only archives that answered count as a clear no.
    silent = {a.name for a in named if a.error or a.delay > seconds + 1e-6}
    said_no = {a.archive for a in resolution.attempts if a.outcome is None}
    assert not said_no & silent
    exact_ended = any(
        isinstance(a.outcome, Closest)
        and at.distance(second_of(a.outcome.memento.stamp)) == timedelta(0)
        for a in in_time
    )
    answered = {a.archive for a in resolution.attempts}
    if resolution.memento is None or not exact_ended:
        assert answered | set(resolution.unanswered) == set(world.archives)
    assert {*answered, *resolution.unanswered, *resolution.skipped} == set(world.archives)
    # No 404 while an archive is unknown.
    if resolution.memento is None and resolution.complete:
        assert all(not a.error and a.delay <= 5.0 for a in named)


def oracle(memento: Memento, at: Moment, name: str | None, world: World) -> tuple[object, ...]:
    """Return the rank of *memento*: the order of S-2, implemented a second time."""
    captured = second_of(memento.stamp)
    first, last = at.window
    away = max(first - captured, captured - last, timedelta(0))
    return (
        0 if not away and memento.archive == name else 1 if not away else 2,
        away or abs(captured - at.negotiated),
        bool(world.archives[memento.archive].doubts),
        memento.archive != name,
        memento.stamp,
        int(memento.archive[1:]),
    )


def test_senseless_deadlines_are_rejected() -> None:
    for soft, hard in [(0.0, 1.0), (2.0, 1.0)]:
        try:
            Deadlines(soft, hard)
        except ValueError as error:
            assert "0 < soft <= hard" in str(error)
        else:
            raise AssertionError
