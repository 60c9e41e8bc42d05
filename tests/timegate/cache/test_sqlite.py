"""The SQLite cache: shared, bounded, damaged, locked, deleted, and written by others."""

import asyncio
import logging
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from tests.clock import Clock
from tests.timegate.cache.samples import NOW
from timegate.cache import SqliteStore, Unavailable
from timegate.cache.sqlite import LIMIT
from timegate.cache.store import REST, SILENCE

ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def opened(path: Path, limit: int = LIMIT) -> AsyncIterator[SqliteStore]:
    # A busy machine may take long for a look-up.
    store = SqliteStore(path, limit=limit, lookup_timeout=30.0)
    try:
        yield store
    finally:
        await store.close()


async def filled(path: Path) -> None:
    async with opened(path) as store:
        for number in range(200):
            await store.put(f"key {number}", b"value %d" % number * 50, 3600, 3600)


def changed(path: Path, *statements: str) -> None:
    """Change the file as another program would."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def files(directory: Path) -> list[Path]:
    return list(directory.iterdir())


async def works(store: SqliteStore) -> bool:
    await store.put("new", b"new", 60, 60)
    await store.flush()
    stored = await store.get("new")
    return stored is not None and stored.value == b"new"


async def test_values_survive_a_restart(tmp_path: Path) -> None:
    await filled(tmp_path / "cache.db")

    async with opened(tmp_path / "cache.db") as store:
        stored = await store.get("key 7")

    assert stored is not None
    assert stored.value == b"value 7" * 50
    assert stored.fresh


async def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    async with opened(path) as store:
        await store.put("key", b"value", 60, 60)
        await store.flush()

        modes = {stat.S_IMODE(part.stat().st_mode) for part in files(tmp_path)}

    assert modes == {0o600}


async def test_a_purged_value_is_in_no_file(tmp_path: Path) -> None:
    async with opened(tmp_path / "cache.db") as store:
        for number in range(50):
            await store.put(f"page/{number}", b"some secret %d" % number, 60, 60)
            await store.put("page/0", b"some secret again", 60, 60)
        await store.flush()

        await store.purge("page/")

        left = b"".join(part.read_bytes() for part in files(tmp_path))
    assert b"some secret" not in left


DAMAGES: dict[str, Callable[[Path], object]] = {
    "emptied": lambda path: path.write_bytes(b""),
    "truncated to 100 octets": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "truncated to a page": lambda path: path.write_bytes(path.read_bytes()[:4096]),
    "truncated to the half": lambda path: path.write_bytes(
        path.read_bytes()[: path.stat().st_size // 2]
    ),
    "garbage": lambda path: path.write_bytes(b"\x93garbage" * 4000),
    "text": lambda path: path.write_text("not a database\n"),
    "garbage behind the header": lambda path: path.write_bytes(
        path.read_bytes()[:4096] + os.urandom(path.stat().st_size - 4096)
    ),
    "other tables": lambda path: changed(path, "DROP TABLE entry", "CREATE TABLE other (x)"),
    "another column": lambda path: changed(path, "ALTER TABLE entry ADD COLUMN more"),
    "a trigger": lambda path: changed(
        path, "CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry; END"
    ),
    "another application": lambda path: changed(path, "PRAGMA application_id = 7"),
    "an older layout": lambda path: changed(path, "PRAGMA user_version = 0"),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_file_is_renamed_and_never_used(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "cache.db"
    await filled(path)
    DAMAGES[damage](path)

    clock = Clock()
    store = SqliteStore(path, monotonic=clock)
    answers = [await store.get(f"key {number}") for number in range(200)]
    # Some damage shows only when its page is written: that entry is lost, the next is not.
    await works(store)
    clock.advance(REST)
    working = await works(store)

    assert working
    assert store.trouble is None
    await store.close()
    for number, answer in enumerate(answers):
        assert answer is None or answer.value == b"value %d" % number * 50


async def test_a_renamed_file_can_still_be_inspected(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    for round_ in ("first", "second", "third"):
        path.write_text(f"{round_} not a database" * 100)
        async with opened(path) as store:
            assert await works(store)

    names = {part.name for part in files(tmp_path)}

    assert names == {"cache.db", "cache.db.lock", "cache.db.set-aside", "cache.db.set-aside-2"}
    assert (tmp_path / "cache.db.set-aside").read_text().startswith("first")
    assert (tmp_path / "cache.db.set-aside-2").read_text().startswith("third")


async def test_a_file_of_a_later_release_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    await filled(path)
    changed(path, "PRAGMA user_version = 2")

    async with opened(path) as store:
        answer = await store.get("key 7")

        assert answer is None
        assert store.trouble is not None
        assert "later release" in store.trouble
    assert not (tmp_path / "cache.db.set-aside").exists()


async def test_damage_that_happens_while_running_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    await filled(path)
    clock = Clock()
    store = SqliteStore(path, monotonic=clock)
    await store.get("key 7")
    # In place, so that it stays the same file under the open connection.
    with path.open("r+b") as file:
        file.write(os.urandom(path.stat().st_size))

    for number in range(200):
        await store.get(f"key {number}")
        clock.advance(REST)

    assert await works(store)
    assert (tmp_path / "cache.db.set-aside").exists()
    await store.close()


async def test_a_file_that_is_deleted_while_running_is_created_anew(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    async with opened(path) as store:
        await store.put("key", b"value", 60, 60)
        await store.flush()
        path.unlink()

        assert await store.get("key") is None
        assert await works(store)
        assert path.exists()


UNUSABLE: dict[str, Callable[[Path], Path]] = {
    "no such directory": lambda path: path / "missing" / "cache.db",
    "a directory": lambda path: path,
    "below a device": lambda path: path / "/dev/null/cache.db",
}


@pytest.mark.parametrize("place", UNUSABLE)
async def test_a_folder_that_cannot_be_written_means_misses_and_is_reported(
    tmp_path: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    store = SqliteStore(UNUSABLE[place](tmp_path), monotonic=clock)
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            clock.advance(REST)
            await store.put("key", b"value", 60, 60)
            await store.flush()
            assert await store.get("key") is None

    assert store.trouble is not None
    assert store.dropped == 5
    with pytest.raises(Unavailable):
        await store.delete("key")
    assert len(caplog.records) == 2  # one for reading, one for writing
    clock.advance(SILENCE)
    await store.get("key")
    assert len(caplog.records) == 3
    await store.close()


async def test_a_lock_of_another_process_is_a_miss_until_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    await filled(path)
    clock = Clock()
    store = SqliteStore(path, monotonic=clock)
    assert await store.get("key 7") is not None

    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        await store.put("new", b"new", 60, 60)
        await store.flush()
        assert store.trouble is not None
        assert "locked" in store.trouble
        assert await store.get("key 7") is not None  # readers need no lock
        assert await store.get("new") is None
        with pytest.raises(Unavailable):
            await store.purge("key")
        other.execute("ROLLBACK")
    clock.advance(REST)

    assert await works(store)
    assert store.trouble is None
    await store.close()


async def test_after_a_failure_the_file_is_not_waited_for(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "missing" / "cache.db", monotonic=Clock())
    await store.get("key")
    await store.put("key", b"value", 60, 60)

    await store.flush()

    # Without its thread it could not but raise.
    await store.close()
    assert await store.get("key") is None
    await store.put("key", b"value", 60, 60)


@pytest.mark.parametrize(
    "change",
    [
        "value = 'text'",
        "value = 7",
        "value = zeroblob(40000000)",
        "said = 'yesterday'",
        "said = 9e999",
        "until = until + 864000",
        "fresh = said - 1",
        "used = 'now'",
    ],
)
async def test_a_row_of_another_shape_is_a_miss_and_counted(
    tmp_path: Path, change: str
) -> None:
    path = tmp_path / "cache.db"
    await filled(path)
    changed(path, f"UPDATE entry SET {change} WHERE key = 'key 7'")  # noqa: S608

    async with opened(path) as store:
        answer = await store.get("key 7")

        assert answer is None or change == "value = 'text'"  # octets: its reader finds out
        assert store.rejected == (0 if answer else 1)
        assert store.trouble is None


async def test_the_file_stays_within_its_limit(tmp_path: Path) -> None:
    limit = 2 << 20
    async with opened(tmp_path / "cache.db", limit=limit) as store:
        for number in range(300):
            await store.put(f"key {number}", os.urandom(20_000), 3600, 3600)
            await store.flush()
        newest = await store.get("key 299")
        oldest = await store.get("key 0")
    size = sum(part.stat().st_size for part in files(tmp_path))

    assert size <= 1.1 * limit
    assert newest is not None
    assert oldest is None


async def test_used_values_are_evicted_last(tmp_path: Path) -> None:
    clock = Clock(NOW)
    store = SqliteStore(tmp_path / "cache.db", limit=2 << 20, clock=clock)
    await store.put("hot", b"value", 86_400, 86_400)
    for number in range(200):
        clock.advance(120)
        await store.put(f"key {number}", os.urandom(20_000), 3600, 3600)
        await store.flush()
        await store.get("hot")
    await store.flush()

    assert await store.get("hot") is not None
    await store.close()


async def test_writes_beyond_the_queue_are_dropped(tmp_path: Path) -> None:
    async with opened(tmp_path / "cache.db", limit=3_200_000) as store:
        for number in range(100):
            await store.put(f"key {number}", bytes(10_000), 60, 60)

        assert store.dropped > 50
        await store.flush()
        assert await works(store)


async def test_several_processes_share_one_file(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    script = """
import asyncio, sys
from pathlib import Path
from timegate.cache import SqliteStore

async def main(path, name):
    store = SqliteStore(Path(path))
    for number in range(200):
        await store.put(f"{name} {number}", f"{name} {number}".encode() * 20, 3600, 3600)
        await store.put("shared", f"{number:03}".encode() * 100, 3600, 3600)
        await store.flush()
        stored = await store.get("shared")
        assert stored is None or stored.value == stored.value[:3] * 100
    print(store.dropped)
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""
    processes = [started(script, path, name) for name in ("a", "b", "c")]
    dropped = [await asyncio.to_thread(finished, process) for process in processes]

    # Not through a store: on a busy machine a look-up may be given up as too slow.
    with closing(sqlite3.connect(path)) as connection:
        kept = connection.execute(
            "SELECT key, value FROM entry WHERE key != 'shared'"
        ).fetchall()
    assert all(value == key.encode() * 20 for key, value in kept)
    assert len(kept) >= 600 - sum(dropped)


@pytest.mark.parametrize("round_", range(5))
async def test_a_kill_while_writing_leaves_whole_entries(tmp_path: Path, round_: int) -> None:
    path = tmp_path / "cache.db"
    script = """
import asyncio, sys
from pathlib import Path
from timegate.cache import SqliteStore

async def main(path):
    store = SqliteStore(Path(path), limit=2 << 20)
    number = 0
    while True:
        await store.put(f"key {number % 500}", f"{number % 500:03}".encode() * 3000, 3600, 3600)
        number += 1
        if number % 7 == 0:
            await store.flush()
        if number == 50:
            print("writing", flush=True)

asyncio.run(main(*sys.argv[1:]))
"""
    process = started(script, path)
    assert process.stdout is not None
    await asyncio.to_thread(process.stdout.readline)
    for _ in range(round_ * 200):
        await asyncio.sleep(0)
    process.send_signal(signal.SIGKILL)
    await asyncio.to_thread(process.wait)
    process.stdout.close()

    async with opened(path, limit=2 << 20) as store:
        stored = [await store.get(f"key {number}") for number in range(500)]
        assert await works(store)
        assert store.trouble is None
    whole = [found and found.value == b"%03d" % n * 3000 for n, found in enumerate(stored)]
    assert all(right or right is None for right in whole)
    assert any(whole)


async def test_a_full_disk_means_misses_and_is_reported(tmp_path: Path) -> None:
    script = """
import asyncio, resource, sys
from pathlib import Path
from timegate.cache import SqliteStore

async def main(path):
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    store = SqliteStore(Path(path))
    for number in range(30):
        await store.put(f"key {number}", bytes(20_000), 3600, 3600)
        await store.flush()
    assert store.trouble is not None, "no trouble"
    assert await store.get("key 29") is None
    print(store.dropped)
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""
    dropped = await asyncio.to_thread(finished, started(script, tmp_path / "cache.db"))

    async with opened(tmp_path / "cache.db") as store:
        assert await works(store)
    assert dropped > 0


def started(script: str, *arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)  # noqa: S603


def finished(process: "subprocess.Popen[str]") -> int:
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return int(said)
