"""Lists in Redis Streams: several processes, one of them killed, Redis restarted."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from archives.model import Rate
from tests.end_to_end.redis_servers import (
    RedisServer,
    needs_redis,
    redis_pair,
    redis_server,
)
from tests.end_to_end.test_batch import asked_pages, configured, ended, page, started
from timegate.batch.queue_roles import begin_job
from timegate.batch.run import QueueStatus
from timegate.batch.stream_queue import Job, StreamQueue
from timegate.cli.queue import archives_digest
from timegate.config import load_config
from timegate.misbehave import Archive, captures_of, misbehaving_archive
from timegate.resolution.model import Preferences

pytestmark = needs_redis
RATE = Rate(requests=40, seconds=1, burst=5)
ITEMS = 600


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    """Run Redis, which keeps what it has acknowledged."""
    durable = ("--appendonly", "yes", "--appendfsync", "always")
    with redis_server(tmp_path / "redis", *durable) as server:
        yield server


@asynccontextmanager
async def an_archive() -> AsyncIterator[Archive]:
    captures = [c for n in range(ITEMS) for c in captures_of(page(n), "20120101120000")]
    async with misbehaving_archive(captures) as archive:
        yield archive


def a_list(folder: Path, items: int = ITEMS) -> Path:
    given = folder / "list.txt"
    time = "2012-01-01T12:00:00Z"
    lines = (f"urn:pwid:attic.example:{time}:page:{page(n)}\n" for n in range(items))
    given.write_text("".join(lines))
    return given


async def progress(url: str, option: str = "--progress") -> str:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "timegate", "resolve", "--queue", url, option),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == ("nothing has read" in out.decode())
    return out.decode()


async def said(process: asyncio.subprocess.Process) -> str:
    """Return the next line of standard error."""
    assert process.stderr is not None
    return (await process.stderr.readline()).decode()


def outcomes(out: Path) -> list[tuple[str, str]]:
    rows = map(json.loads, out.read_text().splitlines())
    return [(row["input"], row["outcome"]) for row in rows]


async def test_processes_share_a_list_though_one_is_killed_and_redis_restarts(
    tmp_path: Path, redis: RedisServer
) -> None:
    given, out = a_list(tmp_path), tmp_path / "out.jsonl"
    words = ("--batch", str(given), "--output", str(out), "--verify", "none", "--exit-zero")
    async with an_archive() as attic:
        config = configured(tmp_path, {"attic": (attic, RATE)})
        queue = ("--queue", redis.url)
        workers = [await started(config, *queue, "--work") for _ in range(2)]
        first = await started(config, *words, *queue)
        await attic.journal.until_requested(150)
        workers[0].kill()
        during = await progress(redis.url)
        await attic.journal.until_requested(300)
        await asyncio.to_thread(redis.kill)
        await asyncio.to_thread(redis.start)
        _, stderr = await first.communicate()
        ended_well = await workers[1].wait()
        asked = asked_pages(attic)
        after = await progress(redis.url)

    assert first.returncode == 0, stderr.decode()
    assert ended_well == 0
    expected = [(line, "promised") for line in given.read_text().splitlines()]
    assert outcomes(out) == expected
    assert asked.keys() >= {page(n) for n in range(ITEMS)}
    # Only what was under way at a failure is asked again.
    assert sum(asked.values()) <= ITEMS * 1.2
    assert f" of {ITEMS}, " in during
    assert after == f"{ITEMS} references, complete\n"
    assert redis.number("XLEN", "timegate:1:{list:default}:results") == 0


async def test_a_list_survives_a_failover(tmp_path: Path) -> None:
    """The replica that is promoted may lack the last writes: they are made again."""
    given, out = a_list(tmp_path, 300), tmp_path / "out.jsonl"
    words = ("--batch", str(given), "--output", str(out), "--verify", "none", "--exit-zero")
    with redis_pair(tmp_path / "redis") as pair:
        queue = ("--queue", f"{pair.url}#failover")
        async with an_archive() as attic:
            config = configured(tmp_path, {"attic": (attic, RATE)})
            worker = await started(config, *queue, "--work")
            first = await started(config, *words, *queue)
            await attic.journal.until_requested(100)
            await asyncio.to_thread(pair.first.kill)
            _, stderr = await first.communicate()
            ended_well = await worker.wait()
            asked = asked_pages(attic)
        promoted = "role:master" in pair.second.say("INFO", "replication")

    assert first.returncode == 0, stderr.decode()
    assert (ended_well, promoted) == (0, True)
    assert outcomes(out) == [(line, "promised") for line in given.read_text().splitlines()]
    assert sum(asked.values()) <= 300 * 1.5


async def test_a_list_survives_the_loss_of_all_that_was_in_redis(
    tmp_path: Path, redis: RedisServer
) -> None:
    """As after a failover to a replica that had not been filled yet."""
    given, out = a_list(tmp_path, 200), tmp_path / "out.jsonl"
    words = ("--batch", str(given), "--output", str(out), "--verify", "none", "--exit-zero")
    async with an_archive() as attic:
        config = configured(tmp_path, {"attic": (attic, RATE)})
        queue = ("--queue", redis.url)
        worker = await started(config, *queue, "--work")
        first = await started(config, *words, *queue)
        await attic.journal.until_requested(60)
        redis.say("FLUSHALL")
        _, stderr = await first.communicate()
        ended_well = await worker.wait()

    assert first.returncode == 0, stderr.decode()
    assert ended_well == 0
    assert outcomes(out) == [(line, "promised") for line in given.read_text().splitlines()]


async def test_a_killed_list_is_continued_with_resume(
    tmp_path: Path, redis: RedisServer
) -> None:
    given, out = a_list(tmp_path, 200), tmp_path / "out.jsonl"
    queue = ("--queue", f"{redis.url}#second")
    words = ("--batch", str(given), "--output", str(out), "--verify", "none", *queue)
    async with an_archive() as attic:
        config = configured(tmp_path, {"attic": (attic, RATE)})
        first = await started(config, *words)
        worker = await started(config, *queue, "--work")
        await attic.journal.until_requested(80)
        first.kill()
        await first.wait()
        code, stderr = await ended(config, *words, "--resume")
        ended_well = await worker.wait()

    # What is only promised is less than asked.
    assert (code, ended_well) == (1, 0), stderr
    assert "already done" in stderr
    assert Counter(outcomes(out)) == Counter(
        (line, "promised") for line in given.read_text().splitlines()
    )


async def test_a_worker_that_finds_a_complete_list_works_on_the_next_one(
    tmp_path: Path, redis: RedisServer
) -> None:
    given, queue = a_list(tmp_path, 200), ("--queue", redis.url)
    words = ("--batch", str(given), "--verify", "none", "--exit-zero", *queue)
    async with an_archive() as attic:
        config = configured(tmp_path, {"attic": (attic, RATE)})
        first = await ended(config, *words, "--output", str(tmp_path / "a.csv"))
        worker = await started(config, *queue, "--work")
        waits = await said(worker)
        second = await ended(config, *words, "--output", str(tmp_path / "b.csv"))
        works, is_done = await said(worker), await said(worker)
        code = await worker.wait()

    assert (first[0], second[0], code) == (0, 0, 0)
    assert waits.endswith("was started: waiting 5 min for the next one\n")
    assert works == "working on the list in the queue\n"
    assert is_done.startswith("the list is complete: ")


async def test_results_that_nothing_reads_any_more_are_said_to_be_unread(
    tmp_path: Path, redis: RedisServer
) -> None:
    """As after `kill -9` of the process that read the list, or of what it was piped into."""
    place = "timegate:1:{list:default}:job"
    async with an_archive() as attic, StreamQueue(redis.url) as queue:
        config = configured(tmp_path, {"attic": (attic, RATE)})
        entries = [e for e in load_config(config, None).askable if e.id == "attic"]
        job = Job("reader", Preferences(), archives_digest(entries), ("attic",))
        await queue.put_job(job)
        await queue.report(QueueStatus(167, 600, 7.0, 25.0, complete=False))
        read = await progress(redis.url), await progress(redis.url, "--status")
        worker = await started(config, "--queue", redis.url, "--work")
        works = await said(worker)
        # A quarter of an hour ago, by the clock of Redis.
        redis.say("HINCRBY", place, "until", "-900000")
        unread = await progress(redis.url)
        why, how = await said(worker), await said(worker)
        await queue.put_job(job)
        again = await said(worker)
        worker.kill()
        await worker.wait()

    assert read == ("167 of 600, 7.0/s, 25 s left\n",) * 2
    assert works == "working on the list in the queue\n"
    assert unread.startswith("167 of 600, but nothing has read the results since 20")
    assert "(15 min ago)" in unread
    assert "run its line again, with --resume if it has --output" in unread
    assert why.startswith("nothing has read the results since 20")
    assert "--resume" in how
    assert again == "the results are read again\n"


async def test_the_progress_of_a_list_that_begins_is_not_that_of_an_earlier_one(
    redis: RedisServer,
) -> None:
    async with StreamQueue(redis.url) as queue:
        await queue.report(QueueStatus(9, 9, 1.0, 0.0, complete=True))
        await begin_job(queue, Job("next", Preferences(), "", ()))
        status = await queue.status()

    assert status is not None
    assert not status.complete


async def test_a_job_that_redis_lost_is_not_over_and_a_replaced_one_is(
    redis: RedisServer,
) -> None:
    """Also if the one that replaced it has ended: a slow worker may never have seen it."""
    old, new = (Job(name, Preferences(), "", ("attic",)) for name in ("old", "new"))
    async with StreamQueue(redis.url) as queue:
        await queue.put_job(old)
        redis.say("DEL", "timegate:1:{list:default}:job")
        lost = await queue.is_over(old)
        await queue.put_job(old)
        redis.say("HSET", "timegate:1:{list:default}:job", "until", "0")
        await queue.put_job(new)
        await queue.end(new)

        assert not lost
        assert await queue.is_over(old)
        assert await queue.is_over(new)


async def test_a_second_list_does_not_use_the_same_queue(
    tmp_path: Path, redis: RedisServer
) -> None:
    given = a_list(tmp_path)
    async with an_archive() as attic:
        config = configured(tmp_path, {"attic": (attic, Rate(1, 1, 1))})
        words = ("--batch", str(given), "--queue", redis.url)
        first = await started(config, *words, "--output", str(tmp_path / "a.jsonl"))
        await attic.journal.until_requested(1)
        code, stderr = await ended(config, *words, "--output", str(tmp_path / "b.jsonl"))
        first.kill()
        await first.wait()

    assert code == 2
    assert "another process feeds this queue" in stderr


async def test_a_worker_with_other_archives_is_refused(
    tmp_path: Path, redis: RedisServer
) -> None:
    given = a_list(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    async with an_archive() as attic:
        config = configured(tmp_path, {"attic": (attic, Rate(1, 1, 1))})
        different = configured(other, {"cellar": (attic, RATE)})
        first = await started(config, "--batch", str(given), "--queue", redis.url)
        await attic.journal.until_requested(1)
        code, stderr = await ended(different, "--queue", redis.url, "--work")
        first.kill()
        await first.wait()

    assert code == 2
    assert "use the same configuration" in stderr
