"""Many requests on one connection, and many connections of one request."""

import asyncio
import time
from typing import Final

from tests.chaos.rig.archives import archives
from tests.chaos.rig.asking import Answer, Client, original, read_answer, statuses, timegates
from tests.chaos.rig.timegates import timegate
from tests.chaos.scenario import Rig, Scenario


async def pipelined(rig: Rig) -> None:
    """LO-09: 100 requests on each of 20 connections, all sent before an answer is read."""
    with archives(3, rig.folder) as farm, timegate(rig.place("t"), farm.entries()) as server:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(_pipeline(Client(server.port), timegates(f"p{n}", 100)))
                for n in range(rig.scaled(20, 5))
            ]
        answers = [answer for task in tasks for answer in task.result()]
    crossed = [a for a in answers if not _is_for(a, original(a.target))]
    rig.promise(
        f"{len(tasks)} connections of 100 pipelined requests: answers to another request",
        f"{len(crossed)} of {len(answers):,} ({statuses(answers)})",
        "0, in order",
        met=not crossed and len(answers) == 100 * len(tasks),
    )


def _is_for(answer: Answer, url: str) -> bool:
    return answer.status == 302 and (answer.header("Location") or "").endswith("/" + url)


async def _pipeline(client: Client, targets: list[str]) -> list[Answer]:
    reader, writer = await client.connect()
    writer.write(b"".join(client.request(target, last=False) for target in targets))
    began = time.monotonic()
    try:
        return [await read_answer(reader, target, began) for target in targets]
    finally:
        writer.transport.abort()


async def short_connections(rig: Rig) -> None:
    """LO-09: 10,000 connections of one request each."""
    many = rig.scaled(10_000, 1_000)
    with archives(3, rig.folder) as farm, timegate(rig.place("t"), farm.entries()) as server:
        targets = timegates("short", 50)
        answers = await Client(server.port).at_once((targets[n % 50] for n in range(many)), 16)
        await asyncio.sleep(1)
        left = server.running.descriptors
    crossed = [a for a in answers if not _is_for(a, original(a.target))]
    rig.promise(
        f"{many:,} connections of one request each",
        f"{len(crossed)} wrong ({statuses(answers)}), then {left} descriptors",
        "0 wrong, no descriptors left over",
        met=not crossed and left < 100,
    )


SCENARIOS: Final = (
    Scenario("pipelined", "LO-09", pipelined),
    Scenario("short-connections", "LO-09", short_connections, 90),
)
