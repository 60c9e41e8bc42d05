"""Places of requests that wait for archives: what an archive that hangs leaves to others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.clock import in_virtual_time
from timegate.server.concurrency_limit import (
    Capacity,
    ConcurrencyLimit,
    RequestPlaces,
    UpstreamLimit,
)

REMOTE = frozenset({"dead", "dead-too", "alive"})


class House:
    """A limit, and the requests that have places."""

    def __init__(self, in_flight: int = 8) -> None:
        self.work = ConcurrencyLimit(Capacity(in_flight, queue=0))
        self.limit = UpstreamLimit(Capacity(in_flight, queue=0))

    async def request(self, client: str = "c", *, patient: bool = False) -> RequestPlaces:
        await self.work.enter(client)
        leave = lambda: self.work.leave(client)  # noqa: E731 -- a callback
        return RequestPlaces(self.limit, client, REMOTE, leave, patient=patient)

    async def waits(self, archive: str, client: str = "c") -> bool:
        """Let a request wait for *archive* for ever; False if it must not."""
        places = await self.request(client)
        waits = await places.enter() and places.begin(archive)
        if not waits:
            places.answered()
        return waits

    async def flood(self, archive: str) -> int:
        """Let many requests wait for *archive*; return how many may."""
        outcomes = [await self.waits(archive, f"client {n}") for n in range(100)]
        return sum(outcomes)


async def test_an_archive_that_hangs_takes_half_of_the_places_at_most() -> None:
    house = House()

    assert await house.flood("dead") == 8
    assert house.limit.requests.free == 8
    assert await house.waits("alive")


async def test_two_archives_that_hang_leave_places_as_well() -> None:
    house = House()

    await house.flood("dead")
    await house.flood("dead-too")

    assert house.limit.requests.free >= 4
    assert await house.waits("alive")


async def test_requests_that_wait_for_archives_hold_no_working_place() -> None:
    house = House(in_flight=2)

    for n in range(2):
        await house.waits("dead", f"client {n}")

    assert house.work.in_flight == 0
    assert house.limit.requests.in_flight == 2


async def test_places_are_free_again_when_the_request_is_answered() -> None:
    house = House()
    places = await house.request()
    assert await places.enter()
    assert places.begin("dead")

    places.answered()

    assert house.limit.requests.in_flight == 0
    assert await house.flood("dead") == 8


async def test_what_is_read_while_the_response_is_sent_takes_no_place() -> None:
    house = House()
    places = await house.request()
    places.answered()

    assert await places.enter()
    assert places.begin("dead")
    assert house.limit.requests.in_flight == 0
    places.end("dead")
    places.leave()


async def test_a_request_without_a_place_is_rejected_once() -> None:
    house = House(in_flight=1)
    for n in range(2):
        await house.limit.requests.enter(f"client {n}")
    places = await house.request("another")

    assert not await places.enter()
    assert places.rejection is not None
    house.limit.requests.leave("client 0")
    assert not await places.enter()


def test_a_batch_waits_for_a_place_and_holds_it_only_while_archives_are_queried() -> None:
    async def story() -> list[int]:
        house = House(in_flight=1)
        for n in range(2):
            await house.limit.requests.enter(f"client {n}")
        places = await house.request("batch", patient=True)
        places.answered()
        async with asyncio.TaskGroup() as lines:
            for _ in range(3):
                lines.create_task(_line(places))
            await asyncio.sleep(10)
            held = house.limit.requests.in_flight
            house.limit.requests.leave("client 0")
        return [held, house.limit.requests.in_flight]

    assert in_virtual_time(story()) == [2, 1]


async def _line(places: RequestPlaces) -> None:
    async with waiting(places):
        await asyncio.sleep(1)


@asynccontextmanager
async def waiting(places: RequestPlaces) -> AsyncIterator[None]:
    assert await places.enter()
    yield
    places.leave()
