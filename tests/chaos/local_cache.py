"""The SQLite cache: locked, deleted, truncated, damaged, read-only, full, writer killed."""

import asyncio
import random
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tests.chaos.rig.archives import Archives, archives
from tests.chaos.rig.asking import (
    DATE,
    Answer,
    Client,
    original,
    percentile,
    statuses,
    timegates,
)
from tests.chaos.rig.liveness import pinged
from tests.chaos.rig.mounts import small_disk
from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.scenario import CannotRun, Rig, Scenario, part_of

_COUNT: Final = 4


class Fault(NamedTuple):
    """A fault of the cache file."""

    name: str
    harm: Callable[[Path], None]


def _deleted(file: Path) -> None:
    for each in file.parent.glob(file.name + "*"):
        each.unlink()


def _truncated(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.truncate(100)


def _overwritten(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.write(random.Random(3).randbytes(max(file.stat().st_size, 8192)))  # noqa: S311 -- the same in every run


FAULTS: Final = (
    Fault("deleted", _deleted),
    Fault("truncated to 100 bytes", _truncated),
    Fault("overwritten with garbage", _overwritten),
)


def _config(farm: Archives, file: Path) -> str:
    return f'[cache]\nurl = "sqlite:{file}"\n' + farm.entries()


def _wrong(farm: Archives, answers: list[Answer]) -> list[Answer]:
    among = range(_COUNT)
    return [
        a
        for a in answers
        if a.header("Location") != farm.closest(DATE, among, original(a.target))
    ]


async def cache_damaged(rig: Rig) -> None:
    """FA-15: the file is damaged while it is in use, and before a start."""
    with archives(_COUNT, rig.folder) as farm:
        for number, fault in enumerate(FAULTS):
            place = rig.place(f"{number}")
            file = place / "cache.db"
            with timegate(place, _config(farm, file)) as server:
                await _ask(server, "before", 50)
                fault.harm(file)
                during = await _ask(server, "during", 50) + await _ask(server, "before", 50)
            fault.harm(file) if file.exists() else None
            with timegate(place, _config(farm, file)) as server:
                after = await _ask(server, "after", 50) + await _ask(server, "before", 50)
                state = server.json_at("/readyz").get("cache")
            wrong = _wrong(farm, during + after)
            rig.promise(
                f"SQLite cache {fault.name}, in use and before a start",
                f"{len(during + after) - len(wrong)} of {len(during + after)} right; "
                f"/readyz then reports {state}",
                "all answers right",
                met=not wrong,
            )


async def _ask(server: TimeGate, label: str, count: int) -> list[Answer]:
    return await Client(server.port).at_once(timegates(label, count), 8)


async def cache_locked(rig: Rig) -> None:
    """FA-15: another process locks the file."""
    seconds = rig.scaled(10, 5, 30)
    with archives(_COUNT, rig.folder) as farm:
        place = rig.place("t")
        file = place / "cache.db"
        with timegate(place, _config(farm, file)) as server:
            await _ask(server, "before", 50)
            client = Client(server.port)
            usual = await client.at_rate(timegates("usual", 100), 25)
            with _locked(file):
                async with pinged(server.port, rig.folder) as liveness:
                    answers = await client.at_rate(timegates("held", seconds * 25), 25)
                state = server.json_at("/readyz").get("cache")
            await asyncio.sleep(2)
            await _ask(server, "again", 20)
            await asyncio.sleep(1)
            state_after = server.json_at("/readyz").get("cache")
    wrong = _wrong(farm, answers)
    rig.promise(
        f"SQLite cache locked by another process for {part_of(seconds, 30)} s",
        f"{statuses(answers)}, {len(wrong)} wrong; /readyz reports {state}, then {state_after}",
        "all answers right, reported, recovers",
        met=not wrong and state != "ok" and state_after == "ok",
    )
    added = (percentile(answers, 0.99) - percentile(usual, 0.99)) * 1000
    rig.speed(
        "locked: p99 compared with before", f"{added:+.0f} ms", "+250 ms", met=added <= 250
    )
    rig.speed("locked: liveness", liveness, "max 100 ms", met=liveness.worst <= 100)


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with closing(sqlite3.connect(file, 30, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


async def disk_full(rig: Rig) -> None:
    """FA-15: a disk of 256 kB that becomes full; then the same disk, read-only."""
    with archives(_COUNT, rig.folder) as farm, small_disk(rig.folder / "disk", "256k") as disk:
        file = disk.path / "cache.db"
        with timegate(rig.place("t"), _config(farm, file)) as server:
            full = await _ask(server, "full", rig.scaled(600, 200))
            state = server.json_at("/readyz").get("cache")
        disk.make_read_only()
        with timegate(rig.place("t"), _config(farm, file)) as server:
            started = await _ask(server, "started", 50)
            at_start = server.json_at("/readyz").get("cache")
    answers = full + started
    wrong = _wrong(farm, answers)
    rig.promise(
        "SQLite cache on a full disk of 256 kB, then started on a read-only one",
        f"{len(wrong)} of {len(answers)} wrong; /readyz reports {state}, then {at_start}",
        "no wrong answer, reported",
        met=not wrong and state != "ok" and at_start != "ok",
    )


async def writer_killed(rig: Rig) -> None:
    """CD-13: kill -9 while the cache is written; then its entries are requested."""
    rounds = rig.scaled(20, 4, 200)
    chance = random.Random(5)  # noqa: S311 -- the same in every run
    found = wrong = 0
    with archives(_COUNT, rig.folder) as farm:
        place = rig.place("t")
        file = place / "cache.db"
        for number in range(rounds):
            with timegate(place, _config(farm, file)) as server:
                if number:
                    cached = await _only_cached(server, f"r{number - 1}")
                    found += len(cached)
                    wrong += len(_wrong(farm, cached))
                async with asyncio.TaskGroup() as group:
                    load = group.create_task(_ask(server, f"r{number}", 400))
                    await asyncio.sleep(0.2 + chance.random())
                    server.running.send(signal.SIGKILL)
                    await load
    rig.promise(
        f"{part_of(rounds, 200)} rounds of kill -9 while the cache writes",
        f"{wrong} wrong of {found:,} answers found in the cache afterwards",
        "0 wrong, the file opens",
        met=wrong == 0 and found > 0,
    )


async def _only_cached(server: TimeGate, label: str) -> list[Answer]:
    client = Client(server.port, headers={"Cache-Control": "only-if-cached"})
    answers = await client.at_once(timegates(label, 400), 8)
    return [answer for answer in answers if answer.status == 302]


async def file_limit(rig: Rig) -> None:
    """FA-15 without a mount: RLIMIT_FSIZE, which makes a write raise SIGXFSZ."""
    limit = ("prlimit", "--fsize=262144", "--")
    with archives(_COUNT, rig.folder) as farm:
        place = rig.place("t")
        config = _config(farm, place / "cache.db")
        try:
            with timegate(place, config, before=limit) as server:
                answers = await _ask(server, "limit", rig.scaled(600, 200))
        except FileNotFoundError as error:
            raise CannotRun("no prlimit (apt: util-linux)") from error
    wrong = _wrong(farm, answers)
    rig.promise(
        "files of 256 kB at most (RLIMIT_FSIZE)",
        statuses(answers),
        "all answers right",
        met=not wrong,
    )


SCENARIOS: Final = (
    Scenario("cache-damaged", "FA-15, S2", cache_damaged, 90),
    Scenario("cache-locked", "FA-15, S2", cache_locked, 90),
    Scenario("disk-full", "FA-15, S2", disk_full, 90),
    Scenario("file-limit", "FA-15", file_limit, 90),
    Scenario("cache-writer-killed", "CD-13", writer_killed, 180, full_seconds=2400),
)
