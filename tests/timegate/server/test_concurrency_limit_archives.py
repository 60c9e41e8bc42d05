"""A whole server with an archive that hangs: who is answered, and what ends with a client."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.timegate.endpoints.served import Seen, Site
from tests.timegate.server.limited_server import configured, until
from timegate.config import load_config
from timegate.server.process_state import ProcessState

DATE = ("Accept-Datetime", "Fri, 22 Jan 2010 11:20:29 GMT")
IN_FLIGHT = 4


class Archive:
    """An archive on loopback that holds every page, or never answers."""

    def __init__(self, *, hangs: bool) -> None:
        self.hangs = hangs
        self.connections = 0
        self.requests = 0
        self.port = 0

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()

    async def _connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.connections += 1
        try:
            while (head := await reader.readuntil(b"\r\n\r\n")).strip():
                self.requests += 1
                if not self.hangs:
                    writer.write(self._redirect(head.split(b" ")[1].decode()))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.connections -= 1
            writer.close()

    def _redirect(self, target: str) -> bytes:
        url = target.removeprefix("/timegate/")
        base = f"http://127.0.0.1:{self.port}"
        return (
            f"HTTP/1.1 302 Found\r\nVary: accept-datetime\r\nContent-Length: 0\r\n"
            f"Location: {base}/20100122112029/{url}\r\n"
            f'Link: <{url}>; rel="original", <{base}/20100122112029/{url}>; rel="memento"; '
            f'datetime="{DATE[1]}"\r\n\r\n'
        ).encode()

    def entry(self, name: str) -> str:
        base = f"http://127.0.0.1:{self.port}"
        return (
            f'[[archive]]\nid = "{name}"\nkind = "memento"\npwid = ["{name}.example"]\n'
            f'timegate = "{base}/timegate/"\nreplay = "{base}/{{time14}}/{{uri}}"\n'
        )


class Served:
    """A server over an archive that hangs and one that answers."""

    def __init__(self, site: Site, process: ProcessState, dead: Archive, alive: Archive):
        self.site = site
        self.process = process
        self.dead = dead
        self.alive = alive

    async def cold(self, archive: str, number: int) -> Seen:
        """Ask for a new page of one archive."""
        pwid = f"urn:pwid:{archive}.example:2010-01-22T11:20:29Z:page:http://x.org/{number}"
        return await self.site.ask(f"/resolve/{pwid}?precision=archive")

    async def any(self, number: int) -> Seen:
        """Ask for a new page of any archive."""
        return await self.site.ask(f"/timegate/http://y.org/{number}", DATE)


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Served]:
    dead, alive = Archive(hangs=True), Archive(hangs=False)
    async with dead.listening(), alive.listening():
        path = folder / "timegate.toml"
        path.write_text(
            f"[archives]\nuse = []\n[limits]\nin_flight = {IN_FLIGHT}\nqueue = 0\n"
            f'exempt = ["127.0.0.0/8"]\n[deadline]\nsoft = "1s"\nhard = "2s"\n'
            + dead.entry("dead")
            + alive.entry("alive")
        )
        async with configured(load_config(path), "http://gate.example") as (site, process):
            yield Served(site, process, dead, alive)


async def test_an_archive_that_hangs_does_not_take_the_places_of_others(tmp_path: Path) -> None:
    async with served(tmp_path) as server, asyncio.TaskGroup() as group:
        cached = await server.cold("alive", 1)
        stuck = [group.create_task(server.cold("dead", n)) for n in range(5 * IN_FLIGHT)]
        await until(lambda: server.process.gauges()["waiting"] == IN_FLIGHT)
        healthy = [await server.cold("alive", n) for n in range(10)]
        together = [(await server.any(n)).status for n in range(10)]
        meanwhile = server.process.gauges()
        ready = json.loads((await server.site.ask("/readyz")).body)

    assert cached.status == 302
    assert [answer.status for answer in healthy] == [302] * 10
    assert meanwhile["waiting"] == IN_FLIGHT
    assert ready["overloaded"] is False
    statuses = [task.result().status for task in stuck]
    # Those for which there was no place, and those that waited.
    assert sorted(set(statuses)) == [503, 504]
    assert sorted(set(together)) == [302]


async def test_when_all_places_are_taken_cached_answers_are_given_and_readyz_says_so(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as server:
        await server.cold("alive", 1)
        limits = server.process.limits(load_config(tmp_path / "timegate.toml"))
        assert limits.upstream is not None
        for number in range(2 * IN_FLIGHT):
            await limits.upstream.requests.enter(f"client {number}")
        cached = await server.cold("alive", 1)
        cold = await server.cold("alive", 2)
        ready = await server.site.ask("/readyz")
        metrics = (await server.site.ask("/metrics")).body.decode()

    assert cached.status == 302
    assert (cold.status, cold.headers["Retry-After"]) == (503, "1")
    assert ready.status == 503
    assert "timegate_overloaded 1.0" in metrics


async def test_requests_to_archives_end_when_the_last_client_disconnects(
    tmp_path: Path,
) -> None:
    head = b"GET /timegate/http://x.org/ HTTP/1.1\r\nHost: x\r\n\r\n"
    async with served(tmp_path) as server:
        server.alive.hangs = True
        clients = []
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.site.port)
            writer.write(head)
            clients.append((reader, writer))
        await until(lambda: server.process.gauges()["waiting"] == 2)
        await until(lambda: server.dead.connections + server.alive.connections == 2)
        clients[0][1].close()
        await until(lambda: server.process.gauges()["waiting"] == 1)
        shared = server.dead.connections + server.alive.connections
        clients[1][1].close()
        async with asyncio.timeout(1):
            await until(lambda: server.dead.connections + server.alive.connections == 0)
        waiting = server.process.gauges()["waiting"]

    assert shared == 2
    assert waiting == 0
    assert (server.dead.requests, server.alive.requests) == (1, 1)
