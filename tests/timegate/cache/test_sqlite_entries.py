"""Eviction from a full SQLite cache."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.clock import Clock
from tests.timegate.cache.samples import NOW
from timegate.cache.sqlite_entries import Entries
from timegate.cache.store import CacheEntry, StoreTrouble

LIMIT = 2 << 20


class File:
    """A file of entries that are stored and looked up one after the other."""

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        self.path = path
        self.clock = Clock(NOW)
        troubles = (StoreTrouble(doing, time.monotonic) for doing in ("reading", "writing"))
        self.entries = Entries(path, limit, self.clock, *troubles)

    def put(self, *keys: str, value: bytes = bytes(4000)) -> None:
        kept = CacheEntry.of(value, self.clock(), 3600, 3600)
        self.entries.write(dict.fromkeys(keys, kept), ())

    def asked_for(self, key: str) -> bytes | None:
        found = self.entries.read([key]).get(key)
        if found is None:
            return None
        self.entries.write({}, [key] if found.untouched else [])
        return found.entry.value

    def flooded(self, name: str, count: int = 1000) -> None:
        for number in range(count):
            self.put(f"{name} {number}")

    def in_use(self) -> int:
        with closing(sqlite3.connect(self.path)) as connection:
            total, free, size = (
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
        return int((total - free) * size)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[File]:
    made = File(tmp_path / "cache.db")
    yield made
    made.entries.close()


def test_repeatedly_used_keys_survive_many_keys_that_are_used_once(file: File) -> None:
    hot = [f"hot {number}" for number in range(20)]
    file.put(*hot)
    for key in hot:
        file.asked_for(key)

    file.flooded("once")

    assert file.in_use() <= LIMIT
    assert [key for key in hot if file.asked_for(key) is None] == []
    assert file.asked_for("once 999") is not None
    assert file.asked_for("once 0") is None


def test_a_refreshed_key_keeps_its_rank(file: File) -> None:
    file.put("hot", value=b"old")
    file.asked_for("hot")
    file.put("hot", value=b"new")

    file.flooded("once")

    assert file.asked_for("hot") == b"new"


def test_a_key_that_returns_after_its_eviction_stays(file: File) -> None:
    """Seen once a minute, since answers are ready elsewhere for so long."""
    file.put("hot")
    file.flooded("first")
    gone = file.asked_for("hot")
    file.put("hot")
    file.flooded("second")

    assert gone is None
    assert file.asked_for("hot") is not None


def test_new_keys_have_room_although_all_keys_were_used_repeatedly(file: File) -> None:
    for number in range(1000):
        file.put(f"used {number}")
        file.asked_for(f"used {number}")

    file.flooded("new", 20)

    assert [n for n in range(20) if file.asked_for(f"new {n}") is None] == []


def test_a_lower_limit_is_reached_write_by_write(tmp_path: Path) -> None:
    path, limit = tmp_path / "cache.db", 8 << 20
    large = File(path, 1 << 30)
    for number in range(10):
        large.put(*(f"{number} {other}" for other in range(1000)), value=bytes(2000))
    large.entries.close()
    small = File(path, limit)

    small.put("first")
    after_one = small.in_use()
    small.flooded("later", 10)

    assert after_one > limit
    assert small.in_use() <= limit
    assert small.asked_for("later 9") is not None
    small.entries.close()


def test_expired_entries_are_removed_although_there_is_room(file: File) -> None:
    file.put("used", "new")
    file.asked_for("used")
    file.clock.advance(9 * 86_400)

    file.put("later")

    with closing(sqlite3.connect(file.path)) as connection:
        assert connection.execute("SELECT key FROM entry").fetchall() == [("later",)]
