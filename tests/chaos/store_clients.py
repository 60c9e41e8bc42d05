"""A store whose clients break off in a body, and write one page at once."""

import asyncio
import os
from typing import Final
from urllib.parse import urlsplit

import aiohttp

from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.scenario import Rig, Scenario
from tests.chaos.store import store_config, warcio_check, written_revision, wrong_revisions

_PAGE: Final = "http://example.org/one"
_AT_ONCE: Final = 100
_PARTS: Final = 3
"""Bodies of which only a third, two thirds, and all but the last octet arrive."""


async def broken_off(rig: Rig) -> None:
    """CD-10: clients disconnect in the middle of a body, with a length and in chunks."""
    place, folder, count = rig.place("t"), rig.place("broken"), rig.scaled(60, 12)
    with timegate(place, store_config(folder)) as server:
        for number in range(count):
            await _broken_write(server, number)
        async with aiohttp.ClientSession() as session:
            names = [f"http://example.org/cut/{number}" for number in range(count)]
            found = [await _status(session, f"{server.url}/store/notes/{n}") for n in names]
            status, location = await written_revision(session, server, _PAGE, b"whole")
        wrong = await wrong_revisions(server, [(f"/{location.split('/', 3)[3]}", b"whole")])
    checked = warcio_check(folder)
    rig.promise(
        f"{count} clients that disconnect in the middle of a body",
        f"{found.count(404)} absent, the next write {status}, {wrong} wrong; "
        f"warcio check {checked}",
        "all absent, then 201, check passes",
        met=found.count(404) == count and status == 201 and not wrong and checked == "passes",
    )


async def _broken_write(server: TimeGate, number: int) -> None:
    """Send the head of a write and a part of its body, then disconnect."""
    body = os.urandom(30_000)
    sent = (body[:10_000], body[:20_000], body[:-1])[number % _PARTS]
    parts = urlsplit(server.url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    if number % 2:
        length, sent = "Transfer-Encoding: chunked", f"{len(body):x}\r\n".encode() + sent
    else:
        length = f"Content-Length: {len(body)}"
    head = (
        f"PUT /store/notes/http://example.org/cut/{number} HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer chaos\r\n{length}\r\n\r\n"
    )
    writer.write(head.encode() + sent)
    await writer.drain()
    await asyncio.sleep(0.01)
    if number % 4 < 2:
        writer.transport.abort()
    writer.close()
    del reader


async def _status(session: aiohttp.ClientSession, url: str) -> int:
    async with session.get(url) as reply:
        return reply.status


async def one_page(rig: Rig) -> None:
    """CD-11: a hundred writes of one page at once, half of them with the same bytes."""
    place, folder = rig.place("t"), rig.place("page")
    bodies = [
        b"the same" if n % 2 else f"{n} {os.urandom(8).hex()}".encode() for n in range(_AT_ONCE)
    ]
    with timegate(place, store_config(folder)) as server:
        async with aiohttp.ClientSession() as session:
            answers = await asyncio.gather(
                *(written_revision(session, server, _PAGE, body) for body in bodies)
            )
            index = f"{server.url}/collections/notes/index"
            async with session.get(index) as reply:
                listed = (await reply.text()).count('"url"')
        acknowledged = [
            (f"/{location.split('/', 3)[3]}", body)
            for (status, location), body in zip(answers, bodies, strict=True)
            if status == 201
        ]
        wrong = await wrong_revisions(server, acknowledged)
    times = len({path for path, _ in acknowledged})
    checked = warcio_check(folder)
    rig.promise(
        f"{_AT_ONCE} writes of one page at once, half of them of the same bytes",
        f"{len(acknowledged)} acknowledged at {times} times, {listed} listed, {wrong} not "
        f"served as written; warcio check {checked}",
        "each has its own time, and is served as written; check passes",
        met=len(acknowledged) == times == listed == _AT_ONCE
        and not wrong
        and checked == "passes",
    )


SCENARIOS = (
    Scenario("store-broken-off", "CD-10", broken_off, 120),
    Scenario("store-one-page", "CD-11", one_page, 120),
)
