import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from archives.errors import Misbehaved, Unreachable
from archives.model import Memento
from tests.clock import in_virtual_time
from tests.timegate.timemaps.capture_lists import ORIGINAL, Listing, at, capture, captures, why
from timegate.timemaps import Merge, MergeDeadlines, merged
from timegate.timemaps.lane import FULL, MOST_IN_A_SECOND

GONE = Unreachable("a", ORIGINAL, "it went away")


async def all_of(merge: Merge, pace: MergeDeadlines | None = None) -> list[Memento]:
    await merge.begin(pace or MergeDeadlines())
    async with aclosing(merge.blocks()) as blocks:
        return [memento async for block in blocks for memento in block]


async def merge_of(**lists: Listing) -> tuple[list[Memento], Merge]:
    async with merged({name: each() for name, each in lists.items()}, ORIGINAL) as merge:
        return await all_of(merge), merge


def split(mementos: Sequence[Memento], cuts: list[int]) -> list[Sequence[Memento]]:
    places = [0, *sorted(cut % (len(mementos) + 1) for cut in cuts), len(mementos)]
    return [mementos[a:b] for a, b in pairwise(places)]


# What comes out

holdings = some.lists(
    some.tuples(
        some.lists(some.integers(0, 40), max_size=60),
        some.lists(some.integers(0, 60), max_size=6),
    ),
    max_size=5,
)


@given(holdings)
async def test_a_merge_is_the_sorted_union_however_it_is_split(
    lists: list[tuple[list[int], list[int]]],
) -> None:
    held = {
        f"a{number}": captures(f"a{number}", sorted(seconds))
        for number, (seconds, _) in enumerate(lists)
    }
    split_up = {
        archive: Listing(*split(held[archive], cuts))
        for archive, (_, cuts) in zip(held, lists, strict=True)
    }

    received, merge = await merge_of(**split_up)

    everything = {memento for mementos in held.values() for memento in mementos}
    assert received == sorted(everything)
    assert merge.sent == len(everything)
    assert not merge.failures


@given(some.lists(some.lists(some.integers(0, 5), max_size=20), min_size=2, max_size=4))
async def test_a_capture_that_several_archives_list_at_one_address_comes_once(
    lists: list[list[int]],
) -> None:
    shared = {
        f"a{n}": Listing([capture(f"a{n}", s, f"http://x/{s}") for s in sorted(seconds)])
        for n, seconds in enumerate(lists)
    }

    received, _ = await merge_of(**shared)

    everything = sorted({second for seconds in lists for second in seconds})
    assert [memento.uri for memento in received] == [f"http://x/{s}" for s in everything]


async def test_captures_of_one_second_are_ordered_by_address_across_batches() -> None:
    a = [capture("a", 1, f"http://x/{letter}") for letter in "dbc"]
    b = [capture("b", 1, "http://x/a")]

    received, _ = await merge_of(a=Listing(a[:1], a[1:], [capture("a", 2)]), b=Listing(b))

    assert [memento.uri[-1] for memento in received[:4]] == ["a", "b", "c", "d"]


async def test_a_fraction_of_a_second_belongs_to_its_second() -> None:
    whole = capture("a", 1, "http://x/1")
    fine = Memento(at(1) + "500", "http://x/1", ORIGINAL, "b")

    received, _ = await merge_of(a=Listing([whole]), b=Listing([fine, capture("b", 2)]))

    assert received == [whole, capture("b", 2)]


async def test_a_long_list_in_one_batch_comes_in_pieces() -> None:
    async with merged({"a": Listing(captures("a", range(5_000)))()}, ORIGINAL) as merge:
        await merge.begin(MergeDeadlines())
        async with aclosing(merge.blocks()) as blocks:
            sizes = [len(block) async for block in blocks]

    assert max(sizes) <= 4_000
    assert sum(sizes) == 5_000


async def test_a_second_longer_than_a_buffer_is_read_to_its_end() -> None:
    crowd = [capture("a", 1, f"http://x/{number:05}") for number in range(3 * FULL)]
    batches = [crowd[i : i + 100] for i in range(0, len(crowd), 100)]

    received, _ = await merge_of(a=Listing(*batches, [capture("a", 2)]), b=Listing())

    assert received == [*crowd, capture("a", 2)]


async def test_a_second_with_endless_captures_is_rejected() -> None:
    crowd = [capture("a", 1, f"http://x/{n:06}") for n in range(MOST_IN_A_SECOND + 1)]

    received, merge = await merge_of(a=Listing(crowd), b=Listing([capture("b", 0)]))

    assert received[0] == capture("b", 0)
    assert "in the second 20130101000001" in why(merge.failures)["a"]


def test_captures_without_end_in_one_second_are_a_failure_before_the_first_block() -> None:
    crowd = [capture("a", 1, f"http://x/{n:06}") for n in range(MOST_IN_A_SECOND + 1000)]
    batches = [step for n in range(0, len(crowd), 1000) for step in (crowd[n : n + 1000], 0.1)]

    async def story() -> None:
        lists = {"a": Listing(*batches)(), "b": Listing([capture("b", 0)])()}
        async with merged(lists, ORIGINAL) as merge:
            await merge.begin(MergeDeadlines())

            assert "in the second 20130101000001" in why(merge.failures)["a"]
            received = [memento async for block in merge.blocks() for memento in block]
            assert received == [capture("b", 0), *crowd]

    in_virtual_time(story())


async def test_batches_that_go_back_in_time_end_their_list() -> None:
    received, merge = await merge_of(a=Listing([capture("a", 5)], [capture("a", 4)]))

    assert received == [capture("a", 5)]
    assert isinstance(merge.failures["a"], Misbehaved)


async def test_no_list_at_all_is_an_empty_merge() -> None:
    received, merge = await merge_of()

    assert received == []
    assert merge.first is None


async def test_internal_errors_are_not_taken_for_archive_errors() -> None:
    mistake = Listing([capture("a", 1)], KeyError("ours"))

    with pytest.raises(KeyError, match="ours"):
        await merge_of(a=mistake)


# What is known before the first block


async def test_short_lists_are_counted_ahead_each_address_once() -> None:
    lists = {
        "a": Listing(captures("a", [1, 2]), [capture("a", 7, "http://x/7")]),
        "b": Listing([capture("b", 7, "http://x/7")]),
    }

    async with merged({name: each() for name, each in lists.items()}, ORIGINAL) as merge:
        await merge.begin(MergeDeadlines())

        assert merge.count() == 3
        assert (merge.first, merge.last) == (capture("a", 1), capture("a", 7, "http://x/7"))


async def test_a_long_list_that_is_complete_in_memory_is_counted_ahead() -> None:
    async with merged({"a": Listing(captures("a", range(5_000)))()}, ORIGINAL) as merge:
        await merge.begin(MergeDeadlines())

        assert merge.count() == 5_000


async def test_long_lists_are_not_counted_ahead() -> None:
    long = Listing(captures("a", range(FULL)), captures("a", [FULL]), captures("a", [FULL + 1]))

    async with merged({"a": long()}, ORIGINAL) as merge:
        await merge.begin(MergeDeadlines())

        assert merge.count() is None
        assert merge.last is None
        assert merge.first == capture("a", 0)


# Back-pressure


async def test_nothing_is_read_ahead_of_a_client_that_does_not_read() -> None:
    lists = {
        n: Listing(*(captures(n, range(i, i + 100)) for i in range(0, 10**5, 100)))
        for n in "ab"
    }

    async with merged({name: each() for name, each in lists.items()}, ORIGINAL) as merge:
        await merge.begin(MergeDeadlines())
        async with aclosing(merge.blocks()) as blocks:
            at_first = [each.pulled for each in lists.values()]
            await anext(blocks)
            for _ in range(100):
                await asyncio.sleep(0)
            after_one = [each.pulled for each in lists.values()]

    assert at_first == [FULL // 100 + 1] * 2
    assert all(pulled <= 2 * FULL // 100 + 2 for pulled in after_one)
    assert all(each.closed for each in lists.values())


async def test_a_reader_that_stops_closes_the_lists() -> None:
    hanging = Listing([capture("a", 1)], 1_000.0)

    async with merged({"a": hanging()}, ORIGINAL) as merge:
        await merge.begin(MergeDeadlines(soft=0.01, grace=0.01))

    assert hanging.closed


# Time


def test_the_soft_deadline_ends_the_wait_for_the_slowest() -> None:
    async def story() -> tuple[float, dict[str, str]]:
        lists = {"a": Listing(captures("a", [1]))(), "b": Listing(60.0)()}
        clock = asyncio.get_running_loop().time
        began = clock()
        async with merged(lists, ORIGINAL) as merge:
            assert await all_of(merge, MergeDeadlines(soft=2.0)) == captures("a", [1])
            return clock() - began, why(merge.failures)

    seconds, missing = in_virtual_time(story())

    assert 2.0 <= seconds < 2.1
    assert missing == {"b": "no answer in time"}


def test_without_any_capture_the_hard_deadline_counts() -> None:
    async def story() -> tuple[float, list[Memento]]:
        lists = {"a": Listing()(), "b": Listing(4.0, captures("b", [1]))()}
        clock = asyncio.get_running_loop().time
        began = clock()
        async with merged(lists, ORIGINAL) as merge:
            return clock() - began, await all_of(merge, MergeDeadlines(soft=2.0, hard=5.0))

    assert in_virtual_time(story())[1] == captures("b", [1])


def test_all_silent_archives_are_missing_at_the_hard_deadline() -> None:
    async def story() -> tuple[list[Memento], set[str]]:
        async with merged({n: Listing(60.0)() for n in "ab"}, ORIGINAL) as merge:
            return await all_of(merge), set(merge.failures)

    assert in_virtual_time(story()) == ([], {"a", "b"})


@pytest.mark.parametrize(
    ("late", "joins"), [(5_000, True), (100_000, True), (3, False), (0, False)]
)
def test_a_late_list_joins_if_it_has_nothing_older_than_what_was_sent(
    late: int, *, joins: bool
) -> None:
    async def story() -> tuple[list[Memento], dict[str, str]]:
        in_time = Listing(captures("a", range(2_000)), 5.0, captures("a", range(2_000, 9_000)))
        comes_late = Listing(4.0, captures("b", [late]))
        async with merged({"a": in_time(), "b": comes_late()}, ORIGINAL) as merge:
            return await all_of(merge, MergeDeadlines(soft=2.0)), why(merge.failures)

    received, missing = in_virtual_time(story())

    expected = captures("a", range(9_000)) + (captures("b", [late]) if joins else [])
    assert received == sorted(expected)
    assert missing == ({} if joins else {"b": "no answer in time"})


def test_the_captures_of_an_archive_that_falls_silent_are_kept_and_the_rest_is_dropped() -> (
    None
):
    async def story() -> tuple[list[Memento], dict[str, str]]:
        lists = {
            "a": Listing(captures("a", [1, 3]), 1_000.0)(),
            "b": Listing(captures("b", [2]))(),
        }
        async with merged(lists, ORIGINAL) as merge:
            return await all_of(merge), why(merge.failures)

    received, missing = in_virtual_time(story())

    assert received == [capture("a", 1), capture("b", 2), capture("a", 3)]
    assert missing == {"a": "stopped sending before the end of its list"}


def test_an_archive_that_trickles_is_dropped_at_the_end_of_the_total_time() -> None:
    async def story() -> tuple[int, float]:
        drips = [step for n in range(100) for step in (captures("a", [n]), 10.0)]
        clock = asyncio.get_running_loop().time
        began = clock()
        async with merged({"a": Listing(*drips)()}, ORIGINAL) as merge:
            received = await all_of(merge, MergeDeadlines(total=60.0))
            assert "a" in merge.failures
            return len(received), clock() - began

    count, seconds = in_virtual_time(story())

    assert seconds <= 61
    assert count == 7


def test_the_reading_time_of_the_client_does_not_count() -> None:
    async def story() -> int:
        batches = [captures("a", range(i, i + 500)) for i in range(0, 5_000, 500)]
        received = 0
        async with merged({"a": Listing(*batches)()}, ORIGINAL) as merge:
            await merge.begin(MergeDeadlines(total=1.0))
            async with aclosing(merge.blocks()) as blocks:
                async for block in blocks:
                    received += len(block)
                    await asyncio.sleep(30.0)
        assert not merge.failures
        return received

    assert in_virtual_time(story()) == 5_000


# Trouble


async def test_a_list_that_breaks_off_is_named_and_the_others_go_on() -> None:
    received, merge = await merge_of(
        a=Listing(captures("a", [1]), GONE), b=Listing(captures("b", [0, 2]))
    )

    assert received == [capture("b", 0), capture("a", 1), capture("b", 2)]
    assert why(merge.failures) == {"a": "it went away"}


async def test_an_archive_that_fails_at_once_is_known_before_the_first_block() -> None:
    lists = {"a": Listing(GONE)(), "b": Listing(captures("b", range(5_000)))()}

    async with merged(lists, ORIGINAL) as merge:
        await merge.begin(MergeDeadlines())

        assert why(merge.failures) == {"a": "it went away"}
