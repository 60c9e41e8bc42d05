"""Ten thousand archives and random addresses: the labels of metrics are bounded."""

import asyncio
import random
import re
from typing import Final

from tests.chaos.rig.archives import Archives, archives
from tests.chaos.rig.asking import Answer, Client, statuses
from tests.chaos.rig.timegates import timegate
from tests.chaos.scenario import Rig, Scenario

_LARGEST: Final = 1_000_000
_SEED: Final = 12_08
_LABELS: Final = re.compile(r'([a-z_]+)="')
_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz0123456789-_~"
_RANDOM_COUNT: Final = 300


async def many_labels(rig: Rig) -> None:
    """RB-09: /metrics after a question to each of 10,000 archives, and random addresses."""
    count = rig.scaled(10_000, 1_000)
    chance = random.Random(_SEED)  # noqa: S311 -- the same each time
    with archives(1, rig.folder) as farm:
        entries = "".join(_entry(farm, number) for number in range(count))
        with timegate(rig.place("t"), entries) as server:
            empty = await Client(server.port, date=None).ask("/metrics")
            answers = await _query_each(server.port, chance, count)
            first = await _after_random(server.port, chance)
            second = await _after_random(server.port, chance)
    size = len(second.body)
    rig.promise(
        f"/metrics after {count:,} archives and {2 * _RANDOM_COUNT:,} random addresses: size",
        f"{size:,} octets ({len(empty.body):,} at the start); {statuses(answers)}",
        f"{_LARGEST:,}",
        met=second.status == 200 and 0 < size <= _LARGEST,
    )
    names = sorted(_names(second))
    rig.promise(
        "names of labels",
        ", ".join(names),
        "the same before and after; no URL",
        met=_names(first) == _names(second) and "example" not in second.body.decode(),
    )
    more = _series(second) - _series(first)
    rig.promise(
        "lines added by random addresses",
        more,
        "at most 40 (a status, a route)",
        met=more <= 40,
    )


def _entry(farm: Archives, number: int) -> str:
    base = f"http://127.0.0.1:{farm.ports[0]}/a0"
    return (
        f'[[archive]]\nid = "x{number}"\nkind = "memento"\n'
        f'timegate = "{base}/timegate/"\nreplay = "{base}/{{time14}}/{{uri}}"\n'
    )


async def _after_random(port: int, chance: random.Random) -> Answer:
    """Send requests with random addresses, and return the metrics."""
    client = Client(port, headers={"Prefer": "archives=x1"}, patience=60)
    places = ("timegate/", "timemap/link/", "memento/", "api/json/", "list/", "")
    targets = [
        f"/{chance.choice(places)}{_random(chance)}.example/?{_random(chance)}"
        for _ in range(_RANDOM_COUNT)
    ]
    await client.at_once(targets, 4)
    return await Client(port, date=None, patience=60).ask("/metrics")


async def _query_each(port: int, chance: random.Random, count: int) -> list[Answer]:
    """Query each archive once, four at a time."""
    waiting = iter([(f"x{number}", _random(chance)) for number in range(count)])

    async def some() -> list[Answer]:
        return [
            await Client(port, headers={"Prefer": f"archives={name}"}, patience=60).ask(
                f"/timegate/http://{name}.example/{path}"
            )
            for name, path in waiting
        ]

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(some()) for _ in range(4)]
    return [answer for task in tasks for answer in task.result()]


def _random(chance: random.Random) -> str:
    return "".join(chance.choices(_ALPHABET, k=chance.randrange(1, 60)))


def _names(page: Answer) -> set[str]:
    return set(_LABELS.findall(page.body.decode()))


def _series(page: Answer) -> int:
    return sum(1 for line in page.body.splitlines() if not line.startswith(b"#"))


SCENARIOS: Final = (Scenario("many-labels", "RB-09", many_labels, 400),)
