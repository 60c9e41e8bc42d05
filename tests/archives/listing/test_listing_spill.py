from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as some

from archives.columns import CaptureColumns
from archives.errors import Misbehaved, Unreachable
from archives.listing import RUN, sorted_on_disk
from archives.model import Memento
from archives.nearest import MOST_UNSORTED, oldest_first

ORIGINAL = "http://example.org/"


def capture(number: int) -> Memento:
    stamp = f"2013{number:010}"
    return Memento(stamp, f"http://a/{stamp}", ORIGINAL, "a", 200, "text/html", "sha1:x")


def misbehaved(why: str) -> Misbehaved:
    return Misbehaved("a", ORIGINAL, why)


async def sent(
    batches: list[list[Memento]], error: Exception | None = None
) -> AsyncGenerator[list[Memento], None]:
    for batch in batches:
        yield batch
    if error is not None:
        raise error


async def collected(
    captures: list[Memento], batches: AsyncIterator[list[Memento]]
) -> tuple[list[Memento], Unreachable | None]:
    received: list[Memento] = []
    try:
        async with aclosing(
            sorted_on_disk(CaptureColumns.of(captures), batches, misbehaved)
        ) as ordered:
            async for batch in ordered:
                received += batch
    except Unreachable as error:
        return received, error
    return received, None


@given(
    some.lists(some.integers(0, 50)), some.lists(some.lists(some.integers(0, 50), max_size=9))
)
async def test_captures_are_yielded_in_order(held: list[int], more: list[list[int]]) -> None:
    batches = [[capture(number) for number in batch] for batch in more]

    received, _ = await collected([capture(number) for number in held], sent(batches))

    assert received == sorted(capture(n) for n in [*held, *(n for b in more for n in b)])


async def test_many_runs_are_merged() -> None:
    everything = [capture(number) for number in range(3 * RUN)]
    shuffled = [everything[n * 7919 % len(everything)] for n in range(len(everything))]
    batches = [shuffled[i : i + 10_000] for i in range(0, len(shuffled), 10_000)]

    received, _ = await collected([], sent(batches))

    assert received == everything


async def test_captures_before_an_error_are_yielded_before_it_is_raised() -> None:
    error = Unreachable("a", "", "fell silent")

    received, raised = await collected([capture(2)], sent([[capture(1)]], error))

    assert received == [capture(1), capture(2)]
    assert raised is error


async def test_the_size_of_the_file_is_limited() -> None:
    many = [capture(number) for number in range(1_000)]

    with pytest.raises(Misbehaved, match="more than 10000 octets of captures out of order"):
        await anext(sorted_on_disk(CaptureColumns.of(many), sent([]), misbehaved, 10_000))


async def test_a_list_newest_first_may_exceed_the_memory_limit() -> None:
    numbers = range(MOST_UNSORTED + 10_000, 0, -1)
    batches = [
        [capture(n) for n in numbers[i : i + 5_000]] for i in range(0, len(numbers), 5_000)
    ]

    ordered = oldest_first(sent(batches), lambda _: False, misbehaved, sorted_on_disk)

    received = [memento async for batch in ordered for memento in batch]
    assert [memento.stamp for memento in received] == [capture(n).stamp for n in numbers[::-1]]
