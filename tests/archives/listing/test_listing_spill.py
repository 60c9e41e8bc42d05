from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as some

from archives.errors import Misbehaved, Unreachable
from archives.listing import RUN, sorted_on_disk
from archives.model import Memento
from archives.nearest import MOST_UNSORTED, oldest_first

ORIGINAL = "http://example.org/"


def capture(number: int) -> Memento:
    stamp = f"2013{number:010}"
    return Memento(stamp, f"http://a/{stamp}", ORIGINAL, "a", 200, "text/html", "sha1:x")


def complaint(why: str) -> Misbehaved:
    return Misbehaved("a", ORIGINAL, why)


async def sent(
    batches: list[list[Memento]], trouble: Exception | None = None
) -> AsyncGenerator[list[Memento], None]:
    for batch in batches:
        yield batch
    if trouble is not None:
        raise trouble


async def collected(
    captures: list[Memento], batches: AsyncIterator[list[Memento]]
) -> tuple[list[Memento], Unreachable | None]:
    received: list[Memento] = []
    try:
        async with aclosing(sorted_on_disk(captures, batches, complaint)) as ordered:
            async for batch in ordered:
                received += batch
    except Unreachable as error:
        return received, error
    return received, None


@given(
    some.lists(some.integers(0, 50)), some.lists(some.lists(some.integers(0, 50), max_size=9))
)
async def test_whatever_comes_leaves_in_order(held: list[int], more: list[list[int]]) -> None:
    batches = [[capture(number) for number in batch] for batch in more]

    received, _ = await collected([capture(number) for number in held], sent(batches))

    assert received == sorted(capture(n) for n in [*held, *(n for b in more for n in b)])


async def test_many_runs_are_merged() -> None:
    everything = [capture(number) for number in range(3 * RUN)]
    shuffled = [everything[n * 7919 % len(everything)] for n in range(len(everything))]
    batches = [shuffled[i : i + 10_000] for i in range(0, len(shuffled), 10_000)]

    received, _ = await collected([], sent(batches))

    assert received == everything


async def test_what_came_before_a_break_is_yielded_before_it_is_told() -> None:
    trouble = Unreachable("a", "", "fell silent")

    received, told = await collected([capture(2)], sent([[capture(1)]], trouble))

    assert received == [capture(1), capture(2)]
    assert told is trouble


async def test_the_file_has_a_limit() -> None:
    many = [capture(number) for number in range(1_000)]

    with pytest.raises(Misbehaved, match="more than 10000 octets of captures out of order"):
        await anext(sorted_on_disk(many, sent([]), complaint, 10_000))


async def test_a_list_newest_first_may_be_longer_than_memory() -> None:
    numbers = range(MOST_UNSORTED + 10_000, 0, -1)
    batches = [
        [capture(n) for n in numbers[i : i + 5_000]] for i in range(0, len(numbers), 5_000)
    ]

    ordered = oldest_first(sent(batches), lambda _: False, complaint, sorted_on_disk)

    received = [memento async for batch in ordered for memento in batch]
    assert [memento.stamp for memento in received] == [capture(n).stamp for n in numbers[::-1]]
