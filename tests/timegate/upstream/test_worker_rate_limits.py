"""Rate limits that worker processes share through a file."""

import asyncio
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from archives.model import Limits, Rate
from tests.scenario import entry
from timegate.upstream.worker_rate_limits import WorkerRateLimiters, create_rate_limits_file

SLOW = Limits(Rate(1, 1000, 5), Rate(1, 1000, 2), 8, "a test")
ENTRIES = [replace(entry(name), limits=SLOW) for name in ("a", "b")]


def opened(path: Path) -> WorkerRateLimiters:
    return WorkerRateLimiters(path, ENTRIES)


async def taken(ledgers: WorkerRateLimiters, name: str, times: int) -> int:
    ledger = ledgers.of(next(e for e in ENTRIES if e.id == name))
    return sum([await ledger.take("memento") == 0.0 for _ in range(times)])


def test_two_workers_together_send_no_more_than_one_may(tmp_path: Path) -> None:
    create_rate_limits_file(tmp_path / "ledgers", ENTRIES)
    one, other = opened(tmp_path / "ledgers"), opened(tmp_path / "ledgers")

    sent = asyncio.run(taken(one, "a", 3)) + asyncio.run(taken(other, "a", 10))

    assert sent == 5
    assert asyncio.run(taken(other, "b", 10)) == 5
    one.close()
    other.close()


def test_each_purpose_has_a_bucket_of_its_own(tmp_path: Path) -> None:
    create_rate_limits_file(tmp_path / "ledgers", ENTRIES)
    ledgers = opened(tmp_path / "ledgers")
    ledger = ledgers.of(ENTRIES[0])

    async def story() -> tuple[int, int, float]:
        lookups = sum([await ledger.take("index") == 0.0 for _ in range(4)])
        mementos = sum([await ledger.take("memento") == 0.0 for _ in range(4)])
        return lookups, mementos, await ledger.outlook("index", 0)

    lookups, mementos, wait = asyncio.run(story())

    assert (lookups, mementos) == (2, 4)
    assert 0 < wait <= 1000
    ledgers.close()


def test_a_rest_that_one_process_learned_of_holds_for_the_others(tmp_path: Path) -> None:
    create_rate_limits_file(tmp_path / "ledgers", ENTRIES)
    one, other = opened(tmp_path / "ledgers"), opened(tmp_path / "ledgers")

    asyncio.run(one.of(ENTRIES[0]).rest(60))

    assert 50 < asyncio.run(other.of(ENTRIES[0]).resting()) <= 60
    assert asyncio.run(other.of(ENTRIES[1]).resting()) == 0.0
    one.close()
    other.close()


def test_tokens_come_back_with_time(tmp_path: Path) -> None:
    fast = [replace(entry("a"), limits=Limits(Rate(1000, 1, 1), Rate(1, 1, 1), 8, "a test"))]
    create_rate_limits_file(tmp_path / "ledgers", fast)
    ledgers = WorkerRateLimiters(tmp_path / "ledgers", fast)
    ledger = ledgers.of(fast[0])

    assert asyncio.run(ledger.take("memento")) == 0.0
    while asyncio.run(ledger.take("memento")) > 0.0:
        time.sleep(0.001)
    ledgers.close()


def test_concurrent_processes_take_each_token_once(tmp_path: Path) -> None:
    path = tmp_path / "ledgers"
    create_rate_limits_file(path, ENTRIES)
    program = (
        "import asyncio, pathlib, sys\n"
        "from tests.timegate.upstream.test_worker_rate_limits import opened, taken\n"
        "print(asyncio.run(taken(opened(pathlib.Path(sys.argv[1])), 'a', 200)))"
    )
    command = [sys.executable, "-c", program, str(path)]

    children = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 -- ourselves
        for _ in range(3)
    ]

    assert sum(int(child.communicate(timeout=60)[0]) for child in children) == 5


def test_there_may_be_no_remote_archive(tmp_path: Path) -> None:
    create_rate_limits_file(tmp_path / "ledgers", [])

    WorkerRateLimiters(tmp_path / "ledgers", []).close()


def test_a_file_of_fewer_archives_is_rejected(tmp_path: Path) -> None:
    create_rate_limits_file(tmp_path / "ledgers", ENTRIES[:1])

    with pytest.raises(ValueError, match="not rewritten"):
        opened(tmp_path / "ledgers")
