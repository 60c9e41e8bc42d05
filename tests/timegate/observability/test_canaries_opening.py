"""Canaries of a server: off unless configured, after users, shown on pages and in metrics."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from archives.model import Canary, Limits, Rate
from archives.registry import Registry, entry_from
from tests.clock import Clock
from tests.scenario import World
from tests.timegate.conformance.archive import an_archive
from tests.timegate.endpoints.served import Site
from tests.whole_server import running_server
from timegate.app import build_core
from timegate.config import Config
from timegate.misbehave import EXAMPLE, Archive
from timegate.misbehave.faults import faults_named
from timegate.misbehave.site import FakeHoldings
from timegate.observability.canaries import quiet_at
from timegate.upstream.stack import UpstreamEnvironment, UpstreamSettings, open_fetchers
from timegate.upstream.worker_rate_limits import create_rate_limits_file

PAGE = EXAMPLE[0].original
CANARY = Canary(PAGE, "20130615083000")
EVERY = 0.2
"""Seconds; then it is looked every 20 ms whether anything is due."""


def config_for(archive: Archive, every: float | None) -> Config:
    entry = entry_from(
        {"id": "a", "kind": "memento", "timegate": f"{archive.url}/timegate/"}, "a test"
    )
    fast = Limits(Rate(1000, 1, 1000), Rate(1000, 1, 1000), 8, "a test")
    entry = replace(entry, canary=CANARY, limits=fast)
    return Config(Registry([entry]), private=frozenset({"a"}), canaries_every=every)


@asynccontextmanager
async def served(config: Config, rate_limits: Path | None = None) -> AsyncIterator[Site]:
    async with running_server(config, rate_limits=rate_limits) as port:
        yield Site(port, World())


async def states(site: Site) -> dict[str, str]:
    """Return the state of each canary page of the archive."""
    state = json.loads((await site.ask("/archives/a")).body)["state"]
    return {side: canary["state"] for side, canary in state.get("canary", {}).items()}


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Wait until *is_so* returns True."""
    async with asyncio.timeout(30):
        while not await is_so():  # noqa: ASYNC110 -- it is seen from outside, as users do
            await asyncio.sleep(EVERY / 10)


async def test_an_archive_that_breaks_and_recovers_is_shown_everywhere() -> None:
    async with an_archive() as archive, served(config_for(archive, EVERY)) as site:

        async def stands(has: str, lacks: str) -> None:
            async def so() -> bool:
                return await states(site) == {"has": has, "lacks": lacks}

            await until(so)

        await stands("kept", "kept")
        archive.faults = faults_named("claims-everything")
        await stands("kept", "claims")
        page = (await site.ask("/archives", ("Accept", "text/html"))).body.decode()
        metrics = (await site.ask("/metrics")).body.decode()
        archive.faults, held = faults_named("none"), archive.holdings
        archive.holdings = FakeHoldings(())
        await stands("lost", "kept")
        archive.holdings = held
        await stands("kept", "kept")
        shown = json.loads((await site.ask("/archives/a")).body)
        one = (await site.ask("/archives/a", ("Accept", "text/html"))).body.decode()

    assert "returns a copy of a page that never existed" in page
    claimed = 'timegate_archive_canary{archive="a",page="lacks",state="flipped"} 1.0'
    assert claimed in metrics.splitlines()
    assert "canary" not in shown
    seen = shown["state"]["canary"]["has"]
    assert (seen["url"], seen["at"]) == (PAGE, "2013-06-15T08:30:00Z")
    history = [span["state"] for span in seen["history"] if span["state"] != "unknown"]
    assert history == ["kept", "lost", "kept"]
    assert "No longer returns a page that it had" not in one
    assert re.search(
        r"no longer returns a page that it had</span></td><td>it says that it holds no copy",
        one,
    )


async def test_without_configuration_no_canaries_are_sent() -> None:
    async with an_archive() as archive, served(config_for(archive, None)) as site:
        await asyncio.sleep(5 * EVERY)

        assert await states(site) == {}
        assert archive.journal.requests == []


async def test_the_command_line_sends_no_canaries() -> None:
    async with an_archive() as archive:
        async with build_core(config_for(archive, EVERY), "http://gate.example"):
            await asyncio.sleep(5 * EVERY)

        assert archive.journal.requests == []


async def test_all_workers_show_the_results(tmp_path: Path) -> None:
    async with an_archive() as archive, AsyncExitStack() as stack:
        config, rate_limits = config_for(archive, 10 * EVERY), tmp_path / "rate_limits"
        create_rate_limits_file(rate_limits, config.registry.entries)
        servers = [served(config, rate_limits) for _ in range(3)]
        workers = [await stack.enter_async_context(server) for server in servers]

        async def known() -> bool:
            every = [await states(worker) for worker in workers]
            return every == [{"has": "kept", "lacks": "kept"}] * 3

        await until(known)


async def test_canary_pages_of_a_restricted_archive_are_not_named() -> None:
    async with an_archive() as archive:
        config = replace(config_for(archive, EVERY), restricted={"a": ("127.0.0.0/8",)})
        async with served(config) as site:

            async def known() -> bool:
                return (await states(site)).get("has") == "kept"

            await until(known)
            program = (await site.ask("/archives")).body.decode()
            page = (await site.ask("/archives/a", ("Accept", "text/html"))).body.decode()

    assert PAGE not in program
    assert PAGE not in page
    assert "returns a page that it is known to have" in page.lower()


async def test_no_canaries_are_sent_while_users_need_the_rate_limit_or_the_archive_fails() -> (
    None
):
    entry = entry_from(
        {"id": "a", "kind": "memento", "timegate": "http://127.0.0.1:9/timegate/"}, "a test"
    )
    entry = replace(entry, limits=Limits(Rate(1, 1, 4), Rate(1, 1, 4), 8, "a test"))
    clock = Clock()
    around = UpstreamEnvironment(clock=clock, chance=lambda: 0.0)
    async with open_fetchers([entry], UpstreamSettings("me"), around) as fetchers:
        quiet, queue = quiet_at([entry], fetchers), fetchers.queues["a"]

        assert await quiet("a")
        await queue.limiter.take("memento")
        assert await quiet("a")
        await queue.limiter.take("memento")
        assert not await quiet("a"), "half of what users may have at once is theirs"
        clock.advance(60)
        assert await quiet("a")
        await queue.limiter.rest(30)
        assert not await quiet("a"), "it asked us to wait"
        clock.advance(60)
        for _ in range(5):
            fetchers.breakers.report("a", "bad")
        assert not await quiet("a"), "it is found again by questions of users"
        clock.advance(3600)
        assert not await quiet("a")
        assert await quiet("a-collection-of-our-own")


async def test_canaries_of_a_hosted_archive_keep_within_the_rate_limit_of_its_host() -> None:
    table = {"kind": "memento", "timegate": "http://127.0.0.1:9/timegate/"}
    host = replace(
        entry_from({**table, "id": "host"}, "a test"),
        limits=Limits(Rate(1, 1, 1), Rate(1, 1, 1), 8, "a test"),
    )
    tenant = entry_from({**table, "id": "tenant", "hosted_by": "host"}, "a test")
    around = UpstreamEnvironment(clock=Clock())
    async with open_fetchers([host, tenant], UpstreamSettings("me"), around) as fetchers:
        quiet = quiet_at([host, tenant], fetchers)

        assert await quiet("tenant")
        await fetchers.queues["host"].limiter.take("memento")
        assert not await quiet("tenant")


async def test_canaries_keep_within_the_rate_limit_of_the_index() -> None:
    table = {
        "id": "a",
        "kind": "cdx",
        "cdx": "http://127.0.0.1:9/cdx",
        "dialect": "pywb-cdxj",
        "replay": "http://127.0.0.1:9/{time14}/{uri}",
    }
    limits = Limits(Rate(1000, 1, 1000), Rate(1, 60, 2), 8, "a test")
    entry = replace(entry_from(table, "a test"), limits=limits)
    around = UpstreamEnvironment(clock=Clock())
    async with open_fetchers([entry], UpstreamSettings("me"), around) as fetchers:
        quiet = quiet_at([entry], fetchers)

        assert await quiet("a")
        await fetchers.queues["a"].limiter.take("index")
        assert not await quiet("a")
