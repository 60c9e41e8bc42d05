"""The DNS cache: how long addresses are used, also while no name server answers."""

import asyncio
import socket

import pytest

from tests.clock import Clock, in_virtual_time
from tests.timegate.upstream.book import Book
from timegate.upstream.dns import BoundedResolver, DnsCache, UnknownName, in_turn

HOST = "a.example"
MINUTE, DAY = 60, 24 * 3600
NEVER = 1_000_000.0


def as_aiohttp_says(code: int, words: str) -> OSError:
    """Return the error of aiohttp's resolver, with that of c-ares as its cause."""
    error = OSError(None, words)
    error.__cause__ = Exception(code, words)
    return error


SERVFAIL = as_aiohttp_says(3, "DNS server returned general failure")
NO_SERVER = as_aiohttp_says(11, "Could not contact DNS servers")
NO_SUCH_NAME = as_aiohttp_says(4, "Domain name not found")
TRY_AGAIN = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
NOT_KNOWN = socket.gaierror(socket.EAI_NONAME, "Name or service not known")


async def test_addresses_are_cached_for_a_minute() -> None:
    clock, book = Clock(), Book("192.0.2.1", "2001:db8::1")
    names = DnsCache(book, clock)

    for _ in range(3):
        assert await names.addresses(HOST) == ["192.0.2.1", "2001:db8::1"]
    clock.advance(MINUTE + 1)
    await names.addresses(HOST)
    await names.addresses("127.0.0.1")
    await names.addresses("::1")

    assert book.asked == [HOST, HOST]


async def test_a_name_without_address_is_unknown() -> None:
    with pytest.raises(UnknownName, match="no address"):
        await DnsCache(Book(), Clock()).addresses(HOST)


@pytest.mark.parametrize("trouble", [SERVFAIL, NO_SERVER, TRY_AGAIN])
async def test_while_no_name_server_answers_the_last_addresses_are_used_for_a_day(
    trouble: OSError,
) -> None:
    clock, book = Clock(), Book("192.0.2.1")
    names = DnsCache(book, clock)
    await names.addresses(HOST)
    book.trouble = trouble

    clock.advance(DAY - 1)
    assert await names.addresses(HOST) == ["192.0.2.1"]

    clock.advance(MINUTE)
    with pytest.raises(UnknownName):
        await names.addresses(HOST)


@pytest.mark.parametrize("error", [NO_SUCH_NAME, NOT_KNOWN])
async def test_the_addresses_of_a_deleted_name_are_not_used(error: OSError) -> None:
    clock, book = Clock(), Book("192.0.2.1")
    names = DnsCache(book, clock)
    await names.addresses(HOST)
    clock.advance(MINUTE + 1)

    book.trouble = error
    with pytest.raises(UnknownName):
        await names.addresses(HOST)
    book.trouble = SERVFAIL
    with pytest.raises(UnknownName):
        await names.addresses(HOST)


async def test_while_lookups_fail_a_name_is_looked_up_every_half_minute() -> None:
    clock, book = Clock(), Book("192.0.2.1")
    names = DnsCache(book, clock)
    await names.addresses(HOST)
    book.trouble = SERVFAIL
    clock.advance(MINUTE + 1)

    for _ in range(90):
        await names.addresses(HOST)
        clock.advance(1)

    assert len(book.asked) == 4


async def test_after_a_successful_lookup_new_addresses_replace_the_old() -> None:
    clock, book = Clock(), Book("192.0.2.1")
    names = DnsCache(book, clock)
    await names.addresses(HOST)
    book.trouble = SERVFAIL
    clock.advance(MINUTE + 1)
    await names.addresses(HOST)

    book.trouble, book.addresses = None, ("192.0.2.2",)
    clock.advance(31)

    assert await names.addresses(HOST) == ["192.0.2.2"]


def test_with_cached_addresses_a_lookup_is_awaited_for_0_3_seconds() -> None:
    async def story() -> None:
        clock = asyncio.get_running_loop().time
        book = Book("192.0.2.1")
        names = DnsCache(BoundedResolver(book, 2), clock)
        await names.addresses(HOST)
        await asyncio.sleep(MINUTE + 1)
        book.seconds, book.addresses = 1.0, ("192.0.2.2",)

        began = clock()
        assert await names.addresses(HOST) == ["192.0.2.1"]
        assert clock() - began == pytest.approx(0.3)

        # What was looked up meanwhile is there for the next.
        await asyncio.sleep(1)
        assert await names.addresses(HOST) == ["192.0.2.2"]
        await names.close()

    in_virtual_time(story())


def test_a_silent_name_server_costs_0_3_seconds_each_half_minute() -> None:
    async def story() -> None:
        clock = asyncio.get_running_loop().time
        book = Book("192.0.2.1")
        names = DnsCache(BoundedResolver(book, 2), clock)
        await names.addresses(HOST)
        await asyncio.sleep(MINUTE + 1)
        book.seconds = NEVER

        waited = []
        for _ in range(25):
            began = clock()
            assert await names.addresses(HOST) == ["192.0.2.1"]
            waited.append(clock() - began)
            await asyncio.sleep(2)
        await names.close()

        assert sum(1 for seconds in waited if seconds) == 2
        assert max(waited) == pytest.approx(0.3)

    in_virtual_time(story())


def test_concurrent_lookups_of_a_name_are_one() -> None:
    async def story() -> None:
        book = Book("192.0.2.1")
        book.seconds = 1.0
        names = DnsCache(book, asyncio.get_running_loop().time)
        async with asyncio.TaskGroup() as group:
            for _ in range(50):
                group.create_task(names.addresses(HOST))
        assert book.asked == [HOST]

    in_virtual_time(story())


def test_a_cancelled_request_does_not_cancel_the_lookup_for_others() -> None:
    async def story() -> None:
        book = Book("192.0.2.1")
        book.seconds = 1.0
        names = DnsCache(book, asyncio.get_running_loop().time)
        async with asyncio.TaskGroup() as group:
            impatient = group.create_task(names.addresses(HOST))
            patient = group.create_task(names.addresses(HOST))
            await asyncio.sleep(0.5)
            impatient.cancel()
        assert patient.result() == ["192.0.2.1"]

    in_virtual_time(story())


def test_closing_cancels_lookups() -> None:
    async def story() -> None:
        book = Book("192.0.2.1")
        names = DnsCache(book, asyncio.get_running_loop().time)
        await names.addresses(HOST)
        await asyncio.sleep(MINUTE + 1)
        book.seconds = NEVER
        await names.addresses(HOST)

        await names.close()

        assert asyncio.all_tasks() == {asyncio.current_task()}

    in_virtual_time(story())


async def test_an_address_that_answered_is_tried_first_as_long_as_the_name_has_it() -> None:
    clock, book = Clock(), Book("192.0.2.1", "192.0.2.2", "192.0.2.3")
    names = DnsCache(book, clock)
    await names.addresses(HOST)

    names.prefer(HOST, "192.0.2.3")
    assert await names.addresses(HOST) == ["192.0.2.3", "192.0.2.1", "192.0.2.2"]
    clock.advance(MINUTE + 1)
    assert await names.addresses(HOST) == ["192.0.2.3", "192.0.2.1", "192.0.2.2"]
    book.addresses = ("192.0.2.1", "192.0.2.2")
    clock.advance(MINUTE + 1)
    assert await names.addresses(HOST) == ["192.0.2.1", "192.0.2.2"]


async def test_an_address_that_was_first_anyway_is_not_preferred() -> None:
    clock, book = Clock(), Book("192.0.2.1", "192.0.2.2")
    names = DnsCache(book, clock)
    await names.addresses(HOST)

    names.prefer(HOST, "192.0.2.1")
    names.prefer(HOST, "198.51.100.1")
    names.prefer("192.0.2.1", "192.0.2.1")
    book.addresses = ("192.0.2.2", "192.0.2.1")
    clock.advance(MINUTE + 1)

    assert await names.addresses(HOST) == ["192.0.2.2", "192.0.2.1"]


@pytest.mark.parametrize(
    ("found", "tried"),
    [
        ([], []),
        (["1", "1", "2"], ["1", "2"]),
        (["a:", "b:", "c:", "1"], ["a:", "1", "b:", "c:"]),
        ([*"123456789", "a:"], ["1", "a:", *"234567"]),
    ],
)
def test_address_families_alternate_and_eight_addresses_are_tried(
    found: list[str], tried: list[str]
) -> None:
    assert in_turn(found) == tried
