import asyncio
import socket

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from archives.errors import ArchiveError, Misbehaved, Refused, Resting, Unreachable
from archives.model import Limits, Rate
from archives.source import Fetcher, Request
from tests.clock import Clock
from tests.timegate.upstream.raw_server import (
    GENEROUS,
    OK,
    entry,
    fetching,
    serving,
    silence,
)
from timegate.upstream.dns import AddressBook, BoundedResolver, SystemResolver
from timegate.upstream.exchange_log import UpstreamExchange
from timegate.upstream.http_client import Timeouts
from timegate.upstream.stack import (
    UpstreamEnvironment,
    UpstreamSettings,
    open_fetchers,
)

SETTINGS = UpstreamSettings("mailto:test@example.org")
BUSY = b"HTTP/1.1 429 No\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n"
BROKEN = b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"


class Names(AbstractResolver):
    """Resolves every name to the same addresses; without any it never answers."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.asked: list[str] = []
        self.closed = False

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked.append(host)
        if not self.addresses:
            await asyncio.get_running_loop().create_future()
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=family, proto=0, flags=0
            )
            for address in self.addresses
        ]

    async def close(self) -> None:
        self.closed = True


async def ask(fetch: Fetcher, url: str) -> int | ArchiveError:
    try:
        async with fetch(Request("GET", url, "index")) as reply:
            return reply.status
    except ArchiveError as error:
        return error


@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:127.0.0.1", "169.254.169.254"])
async def test_a_public_name_that_leads_to_a_private_address_is_not_connected_to(
    address: str,
) -> None:
    around = UpstreamEnvironment(resolver=lambda: Names(address))
    async with serving(OK) as server:
        url = f"http://archive.example:{server.port}/"
        async with fetching(entry(server, timegate=url), surroundings=around) as fetch:
            outcome = await ask(fetch, url)

    assert isinstance(outcome, Misbehaved)
    assert "resolves to a forbidden address" in outcome.why
    assert server.connections == 0


async def test_an_operators_name_may_lead_to_a_private_address() -> None:
    settings = UpstreamSettings("mailto:test@example.org", allow_private=frozenset({"test"}))
    around = UpstreamEnvironment(resolver=lambda: Names("127.0.0.1"))
    async with serving(OK) as server:
        url = f"http://archive.example:{server.port}/"
        own = entry(server, timegate=url)
        async with open_fetchers([own], settings, around) as fetchers:
            assert await ask(fetchers["test"], url) == 200

    assert b"Host: archive.example:" in server.heads[0]


async def test_a_name_that_dns_does_not_answer_is_given_up() -> None:
    names = Names()
    around = UpstreamEnvironment(resolver=lambda: names)
    brief = Timeouts(connect=0.05)
    async with serving(OK) as server:
        url = f"http://archive.example:{server.port}/"
        own = entry(server, timegate=url)
        async with fetching(own, timeouts=brief, surroundings=around) as fetch:
            outcome = await ask(fetch, url)

    assert isinstance(outcome, Unreachable)
    assert "its name cannot be resolved: no answer from DNS" in outcome.why
    assert names.closed


async def test_addresses_survive_a_reload() -> None:
    book: AddressBook = {}
    names = Names("127.0.0.1")
    around = UpstreamEnvironment(resolver=lambda: names, addresses=book)
    settings = UpstreamSettings("mailto:test@example.org", allow_private=frozenset({"test"}))
    async with serving(OK) as server:
        url = f"http://archive.example:{server.port}/"
        for _ in range(2):
            async with open_fetchers([entry(server, timegate=url)], settings, around) as by_id:
                assert await ask(by_id["test"], url) == 200

    assert names.asked == ["archive.example"]
    assert server.connections == 2


async def test_the_system_resolver_knows_localhost() -> None:
    resolver = BoundedResolver(SystemResolver(threads=1), seconds=5)

    found = await resolver.resolve("localhost", 80, socket.AF_INET)

    await resolver.close()
    assert {(each["host"], each["port"]) for each in found} == {("127.0.0.1", 80)}


async def test_one_archive_that_hangs_does_not_hold_up_another() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(hung.heads) == 4:
            full.set()
        await silence(reader, writer)

    full = asyncio.Event()
    async with serving(hang) as hung, serving(OK) as healthy:
        entries = [entry(hung, id="hung"), entry(healthy, id="healthy")]
        async with open_fetchers(entries, SETTINGS) as fetchers, asyncio.TaskGroup() as group:
            waiting = [group.create_task(ask(fetchers["hung"], hung.url())) for _ in range(20)]
            await full.wait()

            assert await ask(fetchers["healthy"], healthy.url()) == 200
            for task in waiting:
                task.cancel()

    assert hung.connections == 4


async def test_archives_at_the_same_host_share_its_rate_limit() -> None:
    async with serving(BUSY, OK) as server:
        entries = [
            entry(server, id="host"),
            entry(server, id="guest", hosted_by="host"),
            entry(server, id="stranger"),
        ]
        async with open_fetchers(entries, SETTINGS) as fetchers:
            outcomes = [await ask(fetchers[id_], server.url()) for id_ in fetchers]

    assert [type(outcome) for outcome in outcomes] == [Refused, Resting, int]
    assert len(server.heads) == 2


async def test_archives_at_the_same_host_share_its_connections() -> None:
    async with serving(OK) as server:
        entries = [entry(server, id="host"), entry(server, id="guest", hosted_by="host")]
        async with open_fetchers(entries, SETTINGS) as fetchers:
            for fetch in fetchers.values():
                await ask(fetch, server.url())

    assert (len(server.heads), server.connections) == (2, 1)


async def test_archives_at_a_host_that_is_not_queried_itself_share_its_rate_limit() -> None:
    async with serving(BUSY) as server:
        entries = [entry(server, id=id_, hosted_by="elsewhere") for id_ in ("a", "b")]
        async with open_fetchers(entries, SETTINGS) as fetchers:
            outcomes = [await ask(fetch, server.url()) for fetch in fetchers.values()]

    assert [type(outcome) for outcome in outcomes] == [Refused, Resting]


async def test_a_dead_archive_costs_five_requests_and_then_none() -> None:
    clock = Clock()
    around = UpstreamEnvironment(clock=clock, chance=lambda: 0.0)
    async with serving(BROKEN) as dead, serving(OK) as alive:
        entries = [entry(dead, id="dead"), entry(alive, id="alive")]
        async with open_fetchers(entries, SETTINGS, around) as fetchers:
            for _ in range(20):
                await ask(fetchers["dead"], dead.url())
            assert len(dead.heads) == 5
            assert fetchers.breakers.standing("dead") == "open"

            clock.advance(30)
            for _ in range(20):
                await ask(fetchers["dead"], dead.url())

    assert len(dead.heads) == 6


async def test_a_resting_archive_costs_no_tokens() -> None:
    clock = Clock()
    around = UpstreamEnvironment(clock=clock, chance=lambda: 0.0)
    rationed = Limits(GENEROUS, Rate(6, 3600, burst=6), 4, "test")
    async with serving(*[BROKEN] * 5, OK) as server, serving(OK) as other:
        entries = [entry(server, id="a", limits=rationed), entry(other, id="b")]
        async with open_fetchers(entries, SETTINGS, around) as fetchers:
            for _ in range(50):
                await ask(fetchers["a"], server.url())
            clock.advance(30)

            assert await ask(fetchers["a"], server.url()) == 200


async def test_every_exchange_is_recorded() -> None:
    seen: list[UpstreamExchange] = []
    around = UpstreamEnvironment(record=seen.append, clock=Clock())
    moved = b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"
    async with (
        serving(moved, BUSY) as server,
        fetching(entry(server), surroundings=around) as fetch,
    ):
        for _ in range(3):
            await ask(fetch, server.url())

    assert [exchange.status for exchange in seen] == [302, 429, None]
    assert seen[0].headers["location"] == "/there"
    assert [type(exchange.error) for exchange in seen] == [type(None), Refused, Resting]
    assert {exchange.archive for exchange in seen} == {"test"}


async def test_a_body_that_breaks_off_is_recorded_with_its_status() -> None:
    seen: list[UpstreamExchange] = []
    around = UpstreamEnvironment(record=seen.append)
    async with (
        serving(OK) as server,
        fetching(entry(server), surroundings=around) as fetch,
    ):
        with pytest.raises(Misbehaved):
            async with fetch(Request("GET", server.url(), "index")):
                raise Misbehaved("test", server.url(), "is no TimeMap")

    assert seen[0].status == 200
    assert isinstance(seen[0].error, Misbehaved)


@pytest.mark.parametrize("contact", ["", "a\r\nX: y", "grüße@example.org"])
def test_a_contact_that_fits_no_header_is_rejected(contact: str) -> None:
    with pytest.raises(ValueError, match="contact"):
        UpstreamSettings(contact)


def test_a_senseless_patience_is_rejected() -> None:
    with pytest.raises(ValueError, match="patience"):
        UpstreamSettings("mailto:a@example.org", patience=-1)


async def test_no_connection_is_left_open() -> None:
    before = asyncio.all_tasks()
    async with serving(OK) as server, fetching(entry(server)) as fetch:
        await ask(fetch, server.url())

    assert asyncio.all_tasks() == before
