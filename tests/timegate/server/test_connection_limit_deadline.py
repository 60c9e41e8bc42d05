"""The deadline for clients that read a response slowly."""

import asyncio

import pytest

from tests.clock import in_virtual_time
from timegate.server.connection_limit import ClientDeadline


async def _reads(octets: int, seconds: float, times: int) -> None:
    patience = ClientDeadline()
    for _ in range(times):
        async with patience.of(octets):
            await asyncio.sleep(seconds)


@pytest.mark.parametrize(
    ("octets", "seconds", "times"),
    [(64 * 1024, 60.0, 100), (10, 0.0, 10_000), (1024, 19.0, 1), (1024, 1.0, 10_000)],
)
def test_a_kilobyte_a_second_is_enough(octets: int, seconds: float, times: int) -> None:
    in_virtual_time(_reads(octets, seconds, times))


@pytest.mark.parametrize(
    ("octets", "seconds", "times"),
    [(64 * 1024, 90.0, 1), (1024, 22.0, 1), (1024, 2.0, 25), (1, 1.0, 25)],
)
def test_a_slower_client_is_disconnected(octets: int, seconds: float, times: int) -> None:
    with pytest.raises(TimeoutError):
        in_virtual_time(_reads(octets, seconds, times))


def test_the_time_that_a_fast_client_saves_up_can_be_bounded() -> None:
    async def story(most: float) -> None:
        patience = ClientDeadline(most=most)
        async with patience.of(1024 * 1024):
            pass
        async with patience.of(1024):
            await asyncio.sleep(22.0)

    in_virtual_time(story(1000.0))
    with pytest.raises(TimeoutError):
        in_virtual_time(story(20.0))
