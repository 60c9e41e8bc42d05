"""A store whose process is killed, whose disk fails, whose clock jumps, or that is shared."""

import asyncio
import errno
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

import aiohttp

from tests.chaos.rig.mounts import small_disk
from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.scenario import Rig, Scenario
from tests.end_to_end.pywb import running_pywb
from tests.end_to_end.test_syncing import cutting
from tests.timegate.store.killing import (
    PLACES,
    Acknowledged,
    KillingDisk,
    killed_while_writing,
    reopened,
)
from tests.timegate.store.stores import (
    NOON,
    Clock,
    FaultyDisk,
    a_revision,
    open_store,
    put,
)
from timegate.store import Revision, StoreFull, StoreUnwritable

_TOKEN: Final = "chaos"  # noqa: S105 -- of a test
_WRITERS: Final = 4
_MOST_WRITES: Final = 500
"""Of one writer before a kill."""
_PATIENCE: Final = aiohttp.ClientTimeout(total=60)
_SEED: Final = 20
_PAGES: Final = 24
_LONGEST_ROUND: Final = 30.0
"""Seconds before a kill."""
_Report = dict[str, Any]
"""What `timegate sync --json` prints."""
_Listing = list[tuple[str, str, str]]
"""URL, stamp and digest of each capture of a store."""


def _revisions(start: int, count: int) -> list[Revision]:
    return [
        a_revision(
            os.urandom(number % 11 * 700) if number % 5 else b"the same",
            f"http://example.org/{number % _PAGES}",
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
        # Once in a second for each page: pywb knows no fractions.
        some = _revisions(started, _PAGES)
        found, was_killed = killed_while_writing(folder, some, disk, clock)
        acknowledged += found
        started += len(some)
        kills += was_killed
        seen = reopened(folder, acknowledged[-40:])
        lost, damaged = lost + seen.lost, damaged + seen.damaged
    seen = reopened(folder, acknowledged)
    checked = warcio_check(folder)
    unread = _not_replayed_by_pywb(rig.place("pywb"), folder, acknowledged)
    rig.promise(
        f"{kills} kills before, in and after write, fsync, rename and index, {started} writes",
        f"{len(acknowledged)} acknowledged, {lost + seen.lost} lost, "
        f"{damaged + seen.damaged} damaged of {seen.captures}; warcio check {checked}; "
        f"{unread} not replayed by pywb",
        "0 lost, 0 damaged, check passes, all replayed by pywb",
        met=not (lost + damaged + seen.lost + seen.damaged + unread)
        and checked == "passes"
        and len(acknowledged) > 0,
    )


def _not_replayed_by_pywb(
    root: Path, folder: Path, acknowledged: Sequence[Acknowledged]
) -> int:
    """Return how many revisions pywb does not replay as they were written."""

    def copy(archive: Path) -> None:
        for file in folder.glob("*.warc.gz"):
            shutil.copy(file, archive / file.name)

    with running_pywb("exact", root, copy) as pywb:
        return sum(
            _replayed(f"{pywb.url}{each.stamp[:14]}id_/{each.url}") != each.body
            for each in acknowledged
        )


def _replayed(address: str) -> bytes | None:
    try:
        with urlopen(address, timeout=30) as reply:  # noqa: S310 -- pywb at loopback
            octets: bytes = reply.read()
    except OSError:
        return None
    return octets


def warcio_check(folder: Path) -> str:
    files = sorted(map(str, folder.glob("*.warc.gz")))
    command = [sys.executable, "-m", "warcio.cli", "check", *files]
    ended = subprocess.run(command, check=False, capture_output=True)  # noqa: S603 -- ours
    return "passes" if ended.returncode == 0 else "FAILS"


def store_config(path: Path, more: str = "") -> str:
    digest = hashlib.sha256(_TOKEN.encode()).hexdigest()
    return (
        f'[[store]]\nid = "notes"\npath = "{path}"\ntokens = ["sha256:{digest}"]\n'
        f"writes_per_minute = 1000000\nfree_megabytes = 0\n{more}"
    )


async def written_revision(
    session: aiohttp.ClientSession, server: TimeGate, name: str, body: bytes
) -> tuple[int, str]:
    url = f"{server.url}/store/notes/{name}"
    headers = {"Authorization": f"Bearer {_TOKEN}"}
    async with session.put(url, data=body, headers=headers) as reply:
        return reply.status, reply.headers.get("Location", "")


async def wrong_revisions(server: TimeGate, acknowledged: Sequence[tuple[str, bytes]]) -> int:
    """Return how many acknowledged revisions are not served as they were written."""
    wrong = 0
    async with aiohttp.ClientSession(timeout=_PATIENCE) as session:
        for path, body in acknowledged:
            async with session.get(f"{server.url}{path}") as reply:
                wrong += reply.status != 200 or await reply.read() != body
    return wrong


async def killed_server(rig: Rig) -> None:
    """CD-01: kill -9 of the server at random moments while four clients write.

    On a slow machine there are fewer rounds, and the figure has their number.
    """
    most, rounds = rig.scaled(20, 3, 100), 0
    until = time.monotonic() + rig.scaled(400, 400, 2400)
    folder, place = rig.place("served"), rig.place("t")
    dice = random.Random(_SEED)  # noqa: S311 -- a test
    acknowledged: list[tuple[str, bytes]] = []
    while rounds < most and time.monotonic() < until:
        with timegate(place, store_config(folder), name=f"t{rounds}") as server:
            acknowledged += await _until_killed(server, rounds, dice)
        rounds += 1
    with timegate(place, store_config(folder), name="last") as server:
        wrong = await wrong_revisions(server, acknowledged)
    checked = warcio_check(folder)
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
    # By writes, not by time: as many of them on a slow machine.
    most, enough = dice.randrange(20, 81), asyncio.Event()

    async def write(session: aiohttp.ClientSession, writer: int) -> None:
        for turn in range(_MOST_WRITES):
            body = os.urandom(dice.choice((0, 10, 5000, 300_000)))
            try:
                name = f"{number}-{writer}-{turn % 5}"
                status, location = await written_revision(session, server, name, body)
            except (aiohttp.ClientError, OSError):
                # Also a TimeoutError, of a server that stopped between two packets.
                return
            if status == 201:
                acknowledged.append((f"/{location.split('/', 3)[3]}", body))
                if len(acknowledged) >= most:
                    enough.set()

    async with (
        aiohttp.ClientSession(timeout=_PATIENCE) as session,
        asyncio.TaskGroup() as tasks,
    ):
        for writer in range(_WRITERS):
            tasks.create_task(write(session, writer))
        with suppress(TimeoutError):
            await asyncio.wait_for(enough.wait(), _LONGEST_ROUND)
        await asyncio.sleep(dice.random() / 20)
        server.running.process.send_signal(signal.SIGKILL)
    return acknowledged


async def full_disk(rig: Rig) -> None:
    """CD-05: the disk fills up, then becomes read-only."""
    place = rig.place("t")
    with small_disk(rig.folder / "disk", "8m") as disk:
        folder = disk.path / "notes"
        (disk.path / "ballast").write_bytes(b"\0" * 2_000_000)
        with timegate(place, store_config(folder, "revision_megabytes = 32\n")) as server:
            async with aiohttp.ClientSession(timeout=_PATIENCE) as session:
                statuses, acknowledged = [], []
                for number in range(12):
                    body = os.urandom(1_000_000)
                    status, location = await written_revision(
                        session, server, f"{number}", body
                    )
                    statuses.append(status)
                    if status == 201:
                        acknowledged.append((f"/{location.split('/', 3)[3]}", body))
                wrong = await wrong_revisions(server, acknowledged)
                again = await _after_space_returned(session, server, disk.path)
        disk.make_read_only()
        with timegate(place, store_config(folder), name="read-only") as server:
            async with aiohttp.ClientSession() as session:
                read_only, _ = await written_revision(session, server, "more", b"x")
            wrong += await wrong_revisions(server, acknowledged)
        checked = warcio_check(folder)
    rig.promise(
        "a body of 20 MB, and a small one after 2 MB became free, without a restart",
        f"{again[0]}, then {again[1]}",
        "507, then 201",
        met=again == (507, 201),
    )
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


async def _after_space_returned(
    session: aiohttp.ClientSession, server: TimeGate, disk: Path
) -> tuple[int, int]:
    """Return the status of a body that is larger than the disk, and of one that fits."""
    large, _ = await written_revision(session, server, "large", os.urandom(20_000_000))
    (disk / "ballast").unlink()
    small, _ = await written_revision(session, server, "small", b"fits again")
    return large, small


async def faulty_disk(rig: Rig) -> None:
    """CD-05, CD-07, CD-12: calls of the disk that fail, each at every place in turn."""
    rounds = rig.scaled(12, 4)
    faults: dict[str, tuple[tuple[str, int], ...]] = {
        "an fsync that fails once": (("sync", errno.EIO),),
        "a disk that is full": (("short", 1), ("write", errno.ENOSPC)),
        "a disk that is read-only": (("write", errno.EROFS),),
        "a write that is short": (("short", 1),),
    }
    for number, (what, faulty) in enumerate(faults.items()):
        folder = rig.place(f"faults{number}")
        found = [_with_faults(folder, faulty, at) for at in range(rounds)]
        acknowledged = [each for some, _ in found for each in some]
        refused = sum(count for _, count in found)
        seen, checked = reopened(folder, acknowledged), warcio_check(folder)
        expected = 0 if what.endswith("short") else rounds
        rig.promise(
            f"{what}, in each of {rounds} rounds of 6 writes",
            f"{len(acknowledged)} acknowledged, {refused} refused; {seen.lost} lost, "
            f"{seen.damaged} damaged, {seen.captures} held; warcio check {checked}",
            "what is refused is absent, all else is there, check passes",
            met=not (seen.lost or seen.damaged)
            and seen.captures == len(acknowledged) == 6 * rounds - refused
            and refused == expected
            and checked == "passes",
        )


def _with_faults(
    folder: Path, faulty: Sequence[tuple[str, int]], at: int
) -> tuple[list[Acknowledged], int]:
    """Write six revisions; the disk fails in one of them. Return how many were refused."""
    disk, acknowledged, refused = FaultyDisk(), [], 0
    with open_store(folder, disk, Clock(NOON + at * 10**9)) as store:
        for number in range(6):
            if number == at % 6:
                for operation, error in faulty:
                    disk.fail(operation, error)
            revision = a_revision(os.urandom(50 + 300 * at), f"http://example.org/{number}")
            try:
                written = put(store, revision)
            except (StoreFull, StoreUnwritable):
                refused += 1
            else:
                acknowledged.append(Acknowledged(revision.url, written.stamp, revision.body))
    return acknowledged, refused


async def clock_set_back(rig: Rig) -> None:
    """CD-12: the clock is set back by an hour between revisions."""
    folder, clock = rig.place("clock"), Clock()
    acknowledged: list[Acknowledged] = []
    for number in range(20):
        clock.now += -3600 * 10**9 if number % 5 == 4 else 10**9
        with open_store(folder, clock=clock, file_size=1000) as store:
            revision = a_revision(f"{number}")
            stamp = put(store, revision).stamp
            acknowledged.append(Acknowledged(revision.url, stamp, revision.body))
    seen, checked = reopened(folder, acknowledged), warcio_check(folder)
    stamps = [each.stamp for each in acknowledged]
    back = sum(after < before for before, after in pairwise(stamps))
    rig.promise(
        "the clock set back by an hour, 4 times in 20 revisions",
        f"{len(set(stamps))} different times, {back} before the last; {seen.lost} lost, "
        f"{seen.damaged} damaged; warcio check {checked}",
        "times of the clock, each once, nothing lost",
        met=len(set(stamps)) == 20
        and back == 4
        and not (seen.lost or seen.damaged)
        and checked == "passes",
    )


async def two_servers(rig: Rig) -> None:
    """CD-09: two servers write to the folder of one store, also the same pages at once."""
    place, folder, count = rig.place("t"), rig.place("shared"), rig.scaled(100, 20)
    acknowledged: list[tuple[str, bytes]] = []
    won: list[str] = []
    with (
        timegate(place, store_config(folder), name="one") as one,
        timegate(place, store_config(folder), name="two") as two,
    ):

        async def write(session: aiohttp.ClientSession, server: TimeGate) -> None:
            for number in range(count):
                body = os.urandom(3000)
                page = f"http://example.org/{number}"
                status, location = await written_revision(session, server, page, body)
                if status == 201:
                    acknowledged.append((f"/{location.split('/', 3)[3]}", body))
                headers = {"Authorization": f"Bearer {_TOKEN}", "If-None-Match": "*"}
                url = f"{server.url}/store/notes/http://example.org/race/{number}"
                async with session.put(url, data=body, headers=headers) as reply:
                    won.extend([url] * (reply.status == 201))

        async with (
            aiohttp.ClientSession(timeout=_PATIENCE) as session,
            asyncio.TaskGroup() as tasks,
        ):
            for server in (one, two):
                tasks.create_task(write(session, server))
        wrong = [await wrong_revisions(server, acknowledged) for server in (one, two)]
    checked = warcio_check(folder)
    rig.promise(
        f"two servers write to one store, {2 * count} revisions, and race for {count} pages",
        f"{len(acknowledged)} acknowledged, {wrong[0]} and {wrong[1]} not served by the two; "
        f"{len(won)} races won; warcio check {checked}",
        "all served by both, each race won once, no bytes between others",
        met=not any(wrong)
        and len(acknowledged) == 2 * count
        and len(won) == count
        and checked == "passes",
    )


async def synchronized(rig: Rig) -> None:
    """Two stores copy from each other, through kills of both sides and cut connections.

    Then writers assert other bytes for the same instants of a page at both.
    """
    rounds = rig.scaled(6, 2, 60)
    dice = random.Random(_SEED)  # noqa: S311 -- a test
    place = rig.place("t")
    folders = [rig.place(name) for name in ("one", "two")]
    written = kills = 0
    for number in range(rounds):
        with (
            timegate(place, store_config(folders[0]), name=f"one{number}") as one,
            timegate(place, store_config(folders[1]), name=f"two{number}") as two,
        ):
            written += await _write_both((one, two), number)
            with cutting(one.url) as first, cutting(two.url) as second:
                for source, folder, server in ((first, 1, one), (second, 0, two)):
                    kills += await _killed_sync(source, folders[folder], server, dice)
    with (
        timegate(place, store_config(folders[0]), name="one") as one,
        timegate(place, store_config(folders[1]), name="two") as two,
    ):
        reports = await _sync_both((one, two), folders)
        lists = [_listed(one), _listed(two)]
        _promise_equal(rig, lists, reports, folders, (written, kills, rounds))
        clashes = await _write_other_bytes((one, two), rounds)
        reports = await _sync_both((one, two), folders)
        _promise_reported(rig, lists, [_listed(one), _listed(two)], reports, clashes)


async def _sync_both(servers: Sequence[TimeGate], folders: Sequence[Path]) -> list[_Report]:
    """Sync each from the other, twice; return the reports of the second time."""
    one, two = servers
    return [
        await _sync(source.url, folders[target])
        for source, target in ((one, 1), (two, 0), (one, 1), (two, 0))
    ][2:]


def _promise_equal(
    rig: Rig,
    lists: Sequence[_Listing],
    reports: Sequence[_Report],
    folders: Sequence[Path],
    counts: tuple[int, int, int],
) -> None:
    written, kills, rounds = counts
    twice = sum(len(each) - len({row[:2] for row in each}) for each in lists)
    unlike = set(lists[0]) ^ set(lists[1])
    checked = " and ".join({warcio_check(folder) for folder in folders})
    copied, conflicts = (
        [report["written"] for report in reports],
        sum(len(report["conflicts"]) for report in reports),
    )
    rig.promise(
        f"two stores that sync each other, {kills} kills in {rounds} rounds, every third "
        "connection cut",
        f"{written} written, {len(lists[0])} and {len(lists[1])} held, {twice} twice, "
        f"{len(unlike)} unlike, {conflicts} conflicts; the last run copies {copied[0]} and "
        f"{copied[1]}; warcio check {checked}",
        "all that was written in both, equal, none twice, check passes",
        met=not (twice or unlike or conflicts or any(copied))
        # One revision of each round was written to both.
        and len(lists[0]) == written - rounds
        and checked == "passes"
        and kills > 0,
    )


def _promise_reported(
    rig: Rig,
    before: Sequence[_Listing],
    after: Sequence[_Listing],
    reports: Sequence[_Report],
    clashes: int,
) -> None:
    named = [len(report["conflicts"]) for report in reports]
    kept = [len(set(new) - set(old)) for old, new in zip(before, after, strict=True)]
    lost = [len(set(old) - set(new)) for old, new in zip(before, after, strict=True)]
    rig.promise(
        f"then {clashes} instants of a page for which writers assert other bytes at both",
        f"{kept[0]} and {kept[1]} held as written, {sum(lost)} lost, {named[0]} and {named[1]} "
        "named by each run",
        "each store keeps its own, and each run names all",
        met=kept == named == [clashes, clashes] and not any(lost),
    )


async def _write_both(servers: Sequence[TimeGate], number: int) -> int:
    """Write to both: revisions of its own, with and without a stated time, and the same one."""
    written = 0
    async with aiohttp.ClientSession() as session:
        for which, server in enumerate(servers):
            for turn in range(15):
                stated = f"2020-01-01T{number:02}:{turn:02}:00.{which}Z"
                body = os.urandom(turn * 400)
                written += await _put_at(session, server, f"own/{turn % 4}", stated, body)
                written += await _put_at(session, server, f"own/{turn % 4}", None, body)
            same = f"2021-01-01T00:{number:02}:00Z"
            written += await _put_at(session, server, "same", same, b"the same")
    return written


async def _write_other_bytes(servers: Sequence[TimeGate], count: int) -> int:
    """Write other bytes to each, with the same times; return how many times."""
    async with aiohttp.ClientSession() as session:
        for which, server in enumerate(servers):
            for number in range(count):
                stated = f"2022-01-01T00:{number:02}:00Z"
                await _put_at(session, server, "clash", stated, f"{which}".encode())
    return count


async def _put_at(
    session: aiohttp.ClientSession,
    server: TimeGate,
    name: str,
    stated: str | None,
    body: bytes,
) -> bool:
    url = f"{server.url}/store/notes/http://example.org/{name}"
    headers = {"Authorization": f"Bearer {_TOKEN}"}
    if stated is not None:
        headers["Timegate-Datetime"] = stated
    async with session.put(url, data=body, headers=headers) as reply:
        return reply.status == 201


def _sync_words(source: str, folder: Path) -> list[str]:
    words = ("sync", f"{source}/collections/notes", "--store", str(folder), "--json")
    return [sys.executable, "-m", "timegate", *words]


async def _sync(source: str, folder: Path) -> _Report:
    process = await asyncio.create_subprocess_exec(
        *_sync_words(source, folder),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    output, _ = await process.communicate()
    found: _Report = json.loads(output)
    return found


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.warc.gz"))


async def _killed_sync(source: str, folder: Path, server: TimeGate, dice: random.Random) -> int:
    """Sync, and kill it at a random moment while it copies; sometimes its source as well."""
    before = _size(folder)
    process = await asyncio.create_subprocess_exec(
        *_sync_words(source, folder),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    waiting = asyncio.create_task(process.wait())
    while not waiting.done():
        if _size(folder) > before:
            break
        await asyncio.sleep(0.02)
    await asyncio.sleep(dice.random() * 0.3)
    killed = 0
    if dice.random() < 0.3:
        server.running.process.send_signal(signal.SIGKILL)
        killed += 1
    if not waiting.done():
        process.kill()
        killed += 1
    await waiting
    return killed


def _listed(server: TimeGate) -> _Listing:
    with urlopen(f"{server.url}/collections/notes/index", timeout=30) as reply:  # noqa: S310
        rows = [json.loads(line) for line in reply]
    return [(row["url"], row["stamp"], row["digest"]) for row in rows if "url" in row]


SCENARIOS = (
    Scenario("store-operations", "CD-01, CD-07, CD-08", killed_at_operations, 900),
    Scenario("store-killed", "CD-01", killed_server, 600, full_seconds=3000),
    Scenario("store-full", "CD-05", full_disk),
    Scenario("store-faults", "CD-05, CD-07", faulty_disk, 300),
    Scenario("store-clock", "CD-12", clock_set_back, 120),
    Scenario("store-two-servers", "CD-09", two_servers, 300),
    Scenario("store-sync", "CD-01, CD-09", synchronized, 900, full_seconds=3000),
)
