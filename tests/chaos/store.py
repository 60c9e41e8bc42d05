"""A store whose process is killed at any moment, and whose disk is full or read-only."""

import asyncio
import hashlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import aiohttp

from tests.chaos.rig.mounts import small_disk
from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.scenario import Rig, Scenario
from tests.timegate.store.killing import (
    PLACES,
    Acknowledged,
    KillingDisk,
    killed_while_writing,
    reopened,
)
from tests.timegate.store.stores import Clock, a_revision
from timegate.store import Revision

_TOKEN: Final = "chaos"  # noqa: S105 -- of a test
_WRITERS: Final = 4
_SEED: Final = 20


def _revisions(start: int, count: int) -> list[Revision]:
    return [
        a_revision(
            os.urandom(number % 11 * 700) if number % 5 else b"the same",
            f"http://example.org/{number % 23}",
        )
        for number in range(start, start + count)
    ]


async def killed_at_operations(rig: Rig) -> None:
    """CD-01, CD-08: the process is killed before, in and after each operation on the disk."""
    target = rig.scaled(1000, 100)
    folder = rig.place("operations")
    clock = Clock()
    acknowledged: list[Acknowledged] = []
    kills = started = number = lost = damaged = 0
    while started < target:
        number += 1
        clock.now += 10**9
        disk = KillingDisk(number * 17 % 60 + 1, PLACES[number % 3])
        some = _revisions(started, 24)
        found, was_killed = killed_while_writing(folder, some, disk, clock)
        acknowledged += found
        started += len(some)
        kills += was_killed
        seen = reopened(folder, acknowledged[-40:])
        lost, damaged = lost + seen.lost, damaged + seen.damaged
    seen = reopened(folder, acknowledged)
    checked = _warcio_check(folder)
    rig.promise(
        f"{kills} kills before, in and after write, fsync, rename and index, {started} writes",
        f"{len(acknowledged)} acknowledged, {lost + seen.lost} lost, "
        f"{damaged + seen.damaged} damaged of {seen.captures}; warcio check {checked}",
        "0 lost, 0 damaged, check passes",
        met=not (lost + damaged + seen.lost + seen.damaged)
        and checked == "passes"
        and len(acknowledged) > 0,
    )


def _warcio_check(folder: Path) -> str:
    files = sorted(map(str, folder.glob("*.warc.gz")))
    command = [sys.executable, "-m", "warcio.cli", "check", *files]
    ended = subprocess.run(command, check=False, capture_output=True)  # noqa: S603 -- ours
    return "passes" if ended.returncode == 0 else "FAILS"


def _config(path: Path, more: str = "") -> str:
    digest = hashlib.sha256(_TOKEN.encode()).hexdigest()
    return (
        f'[[store]]\nid = "notes"\npath = "{path}"\ntokens = ["sha256:{digest}"]\n'
        f"writes_per_minute = 1000000\nfree_megabytes = 0\n{more}"
    )


async def _put(
    session: aiohttp.ClientSession, server: TimeGate, name: str, body: bytes
) -> tuple[int, str]:
    url = f"{server.url}/store/notes/{name}"
    headers = {"Authorization": f"Bearer {_TOKEN}"}
    async with session.put(url, data=body, headers=headers) as reply:
        return reply.status, reply.headers.get("Location", "")


async def _wrong(server: TimeGate, acknowledged: Sequence[tuple[str, bytes]]) -> int:
    """Return how many acknowledged revisions are not served as they were written."""
    wrong = 0
    async with aiohttp.ClientSession() as session:
        for path, body in acknowledged:
            async with session.get(f"{server.url}{path}") as reply:
                wrong += reply.status != 200 or await reply.read() != body
    return wrong


async def killed_server(rig: Rig) -> None:
    """CD-01: kill -9 of the server at random moments while four clients write."""
    rounds = rig.scaled(20, 3, 100)
    folder, place = rig.place("served"), rig.place("t")
    dice = random.Random(_SEED)  # noqa: S311 -- a test
    acknowledged: list[tuple[str, bytes]] = []
    for number in range(rounds):
        with timegate(place, _config(folder), name=f"t{number}") as server:
            acknowledged += await _until_killed(server, number, dice)
    with timegate(place, _config(folder), name="last") as server:
        wrong = await _wrong(server, acknowledged)
    checked = _warcio_check(folder)
    rig.promise(
        f"kill -9 of the server at {rounds} random moments, {_WRITERS} writers",
        f"{len(acknowledged)} acknowledged, {wrong} not served as written; "
        f"warcio check {checked}",
        "0 lost, check passes",
        met=not wrong and checked == "passes" and len(acknowledged) > 0,
    )


async def _until_killed(
    server: TimeGate, number: int, dice: random.Random
) -> list[tuple[str, bytes]]:
    acknowledged: list[tuple[str, bytes]] = []

    async def write(session: aiohttp.ClientSession, writer: int) -> None:
        for turn in range(100_000):
            body = os.urandom(dice.choice((0, 10, 5000, 300_000)))
            try:
                name = f"{number}-{writer}-{turn % 5}"
                status, location = await _put(session, server, name, body)
            except (aiohttp.ClientError, OSError):
                return
            if status == 201:
                acknowledged.append((f"/{location.split('/', 3)[3]}", body))

    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as tasks:
        for writer in range(_WRITERS):
            tasks.create_task(write(session, writer))
        await asyncio.sleep(0.3 + dice.random())
        server.running.process.send_signal(signal.SIGKILL)
    return acknowledged


async def full_disk(rig: Rig) -> None:
    """CD-05: the disk fills up, then becomes read-only."""
    place = rig.place("t")
    with small_disk(rig.folder / "disk", "8m") as disk:
        folder = disk.path / "notes"
        with timegate(place, _config(folder)) as server:
            async with aiohttp.ClientSession() as session:
                statuses, acknowledged = [], []
                for number in range(12):
                    body = os.urandom(1_000_000)
                    status, location = await _put(session, server, f"{number}", body)
                    statuses.append(status)
                    if status == 201:
                        acknowledged.append((f"/{location.split('/', 3)[3]}", body))
                wrong = await _wrong(server, acknowledged)
        disk.make_read_only()
        with timegate(place, _config(folder), name="read-only") as server:
            async with aiohttp.ClientSession() as session:
                read_only, _ = await _put(session, server, "more", b"x")
            wrong += await _wrong(server, acknowledged)
        checked = _warcio_check(folder)
    rig.promise(
        "then a start on the same disk, read-only",
        f"a write gets {read_only}; {wrong} of {len(acknowledged)} not served",
        "503; all served",
        met=read_only == 503 and not wrong,
    )
    rig.promise(
        "12 writes of 1 MB to a disk of 8 MB",
        f"{statuses.count(201)} times 201, {statuses.count(507)} times 507, "
        f"{len(statuses) - statuses.count(201) - statuses.count(507)} others; {wrong} wrong; "
        f"warcio check {checked}",
        "201 or 507; all acknowledged served; no half record",
        met=not wrong and set(statuses) == {201, 507} and checked == "passes",
    )


SCENARIOS = (
    Scenario("store-operations", "CD-01, CD-07, CD-08", killed_at_operations, 900),
    Scenario("store-killed", "CD-01", killed_server, 600, full_seconds=3000),
    Scenario("store-full", "CD-05", full_disk),
)
