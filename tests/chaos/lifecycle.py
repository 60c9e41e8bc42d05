"""A stop under load, a collection that disappears and returns, few file descriptors."""

import asyncio
import shutil
import time
from typing import Final

from archives.warc_index.building import index_collection
from tests import warcs
from tests.chaos.rig.archives import archives
from tests.chaos.rig.asking import Answer, Client, statuses, timegates
from tests.chaos.rig.liveness import pinged
from tests.chaos.rig.timegates import TimeGate, ended, timegate
from tests.chaos.scenario import Rig, Scenario, part_of

_PAGE: Final = "http://example.com/"


async def stopped_under_load(rig: Rig) -> None:
    """FA-18, S21: SIGTERM with 200 requests in flight."""
    with archives(4, rig.folder) as farm:
        farm.behave(range(4), seconds=0.5)
        began = time.monotonic()
        with timegate(rig.place("t"), farm.entries()) as server:
            start = time.monotonic() - began
            client = Client(server.port)
            async with asyncio.TaskGroup() as group:
                load = group.create_task(client.at_once(timegates("t", 200), 200))
                await asyncio.sleep(0.4)
                end = group.create_task(asyncio.to_thread(ended, server))
                await asyncio.sleep(0.1)
                late = await client.ask("/healthz")
            answers, (code, took) = load.result(), end.result()
    wrong = [answer for answer in answers if answer.status != 302]
    rig.promise(
        "SIGTERM with 200 requests in flight",
        f"{statuses(answers)}; exit {code} after {took:.1f} s",
        "all answered, exit 0 within 10 s",
        met=not wrong and code == 0 and took <= 10,
    )
    rig.promise(
        "a new connection meanwhile",
        late.trouble or late.status,
        "refused",
        met=not late.status,
    )
    rig.speed("start", f"{start:.1f} s", "2 s", met=start <= 2)


async def collection_gone(rig: Rig) -> None:
    """FA-16: the folder of a collection disappears while it is served, and returns."""
    folder = rig.place("warcs")
    (folder / "one.warc").write_bytes(warcs.record(warcs.answer()))
    index_collection(folder)
    with archives(3, rig.folder) as farm:
        own = f'[[archive]]\nid = "mine"\nkind = "warc"\npath = "{folder}"\n'
        with timegate(rig.place("t"), farm.entries() + own) as server:
            # The indexing at the start is finished by then.
            await asyncio.sleep(4)
            before = await _memento(server)
            away = folder.rename(rig.folder / "away")
            during = await _memento(server)
            others = await Client(server.port).at_once(timegates("others", 100), 8)
            await asyncio.sleep(rig.scaled(8, 3))
            created_again = folder.exists()
            shutil.rmtree(folder, ignore_errors=True)
            away.rename(folder)
            healed = await _until_back(server)
    rig.promise(
        "a missing folder is created again", created_again, "False", met=not created_again
    )
    rig.promise(
        "a collection's folder moved away while serving",
        f"before: {before.status}, missing: {during.status} {_problem(during)}, "
        f"back {healed}; other archives: {statuses(others)}",
        "200, like a dead archive, 200 without restart; others unaffected",
        met=before.status == 200
        and during.status in (502, 503, 504)
        and healed.startswith("after")
        and all(answer.status == 302 for answer in others),
    )


async def _memento(server: TimeGate) -> Answer:
    """Request the bytes of the only memento."""
    target = f"/memento/proxy/20200220202020/{_PAGE}"
    client = Client(server.port, date=None, headers={"Prefer": "archives=mine"})
    return await client.ask(target)


def _problem(answer: Answer) -> str:
    return (
        answer.body[:200].decode(errors="replace").partition('"title": "')[2].partition('"')[0]
    )


async def _until_back(server: TimeGate) -> str:
    began = time.monotonic()
    answer = await _memento(server)
    while answer.status != 200 and time.monotonic() < began + 35:
        await asyncio.sleep(0.25)
        answer = await _memento(server)
    if answer.status == 200:
        return f"after {time.monotonic() - began:.1f} s"
    return f"not within 35 s ({answer.status} {_problem(answer)})"


async def few_descriptors(rig: Rig) -> None:
    """RB-04: 64 file descriptors, 500 clients, 12 archives."""
    with archives(12, rig.folder) as farm:
        farm.behave(range(12), seconds=0.1)
        limited = ("prlimit", "--nofile=64", "--")
        with timegate(rig.place("t"), farm.entries(), before=limited) as server:
            client = Client(server.port, patience=15)
            spent = server.running.cpu
            began = time.monotonic()
            answers = await client.at_once(timegates("fd", 500), 500)
            took = time.monotonic() - began
            busy = (server.running.cpu - spent) / took
            await asyncio.sleep(5)
            idle = server.running.cpu
            await asyncio.sleep(2)
            idle = (server.running.cpu - idle) / 2
            after = await client.at_once(timegates("after", 20), 1)
            alive = server.running.alive
    rig.promise(
        "64 file descriptors, 500 clients at once",
        f"{statuses(answers)} in {took:.1f} s, CPU {busy:.0%}, then {idle:.0%}",
        "no crash, no busy loop afterwards, failures reported",
        met=alive and idle < 0.2 and all(a.status in (0, 302, 502, 503, 504) for a in answers),
    )
    good = [answer for answer in after if answer.status == 302]
    rig.promise("requests afterwards", f"{len(good)} of 20 right", "all", met=len(good) == 20)


async def idle(rig: Rig) -> None:
    """PP-13: without client requests, no archive is queried."""
    with (
        archives(12, rig.folder) as farm,
        timegate(rig.place("t"), farm.entries()) as server,
    ):
        async with pinged(server.port, rig.folder) as liveness:
            seconds = rig.scaled(20, 5, 600)
            await asyncio.sleep(seconds)
        requests = sum(farm.request_counts)
    rig.promise(
        f"requests to archives at start and in {part_of(seconds, 600)} s without clients",
        requests,
        "0",
        met=requests == 0,
    )
    rig.speed("liveness of an idle server", liveness, "max 100 ms", met=liveness.worst <= 100)


SCENARIOS: Final = (
    Scenario("stopped-under-load", "FA-18, S21", stopped_under_load),
    Scenario("collection-gone", "FA-16, S2", collection_gone, 90),
    Scenario("few-descriptors", "RB-04", few_descriptors, 90),
    Scenario("idle", "PP-13", idle, full_seconds=660),
)
