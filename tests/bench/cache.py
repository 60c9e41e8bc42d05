"""Cost of the cache: a known page at a new time, and cold requests, over each kind of store.

    python -m tests.bench cache [--sqlite PAGES]

Everything runs on 127.0.0.1 in processes of its own; CPU seconds are those of our server alone,
on a core of its own.
Ten archives link the captures before and after the one they chose. Known: pages whose records
are in the store, each at times that nobody asked for before. Cold: every URL is new.
``--sqlite`` fills a file with so many pages with ten archives, and looks some of them up.
"""

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from email.utils import format_datetime
from functools import lru_cache
from pathlib import Path

from archives.model import Closest, Memento, Relation
from archives.moment import Moment
from tests.bench.archives import EPOCH
from tests.bench.timegate import (
    _SERVER_CORE,
    Server,
    bare,
    pin,
    pinned,
    process,
    request_counts,
)
from tests.bench.timegate import _entry as entry
from tests.bench.timegate import _length as length_of
from tests.end_to_end.redis_servers import RedisServer, redis_server
from timegate.cache import AnswerCache, MemoryStore, SqliteStore
from timegate.cache.answer_cache import _page as page_of
from timegate.cache.page_encoding import encode_record, merge_values, sealed_page
from timegate.cache.page_record import ArchiveRecord, KnownAnswer
from timegate.cache.store import LONGEST

ARCHIVES = 10
PAGES = 400
KNOWN = 2_000
COLD = 300
ROUNDS = 5
MOST_WARMING = 5
"""Passes over all pages; on a busy machine, some archives answer too late in the first."""
STORES = ("memory", "sqlite", "redis")

Request = tuple[str, str]
"""Target and Accept-Datetime."""


def main(arguments: Sequence[str] = ()) -> None:
    """Print every figure."""
    options = argparse.ArgumentParser()
    options.add_argument("--sqlite", type=int, help="pages in a file")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    given = options.parse_known_args(arguments)[0]
    capacity()
    if given.sqlite:
        asyncio.run(large_file(given.sqlite))
    costs(given.rounds)
    writes()


def costs(rounds: int) -> None:
    """Compare the stores, in interleaved rounds."""
    chance = random.Random(1)
    known: dict[str, list[float]] = {name: [] for name in ("bare", *STORES)}
    cold: dict[str, list[float]] = {name: [] for name in STORES}
    asked = dict.fromkeys(STORES, 0)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(pinned())
        upstream = stack.enter_context(archives(ARCHIVES))
        floor = stack.enter_context(bare())
        servers = stack.enter_context(all_stores(upstream, folder))
        for name, server in servers.items():
            _warm(name, server, upstream)
        # Redis shares a core with the load: waiting for it costs the server no CPU.
        for server in (floor, *servers.values()):
            pin(server.pid, _SERVER_CORE)
        for _ in range(rounds):
            known["bare"].append(asyncio.run(load(floor, known_pages(chance, KNOWN), 16)))
            for name, server in servers.items():
                before = sum(request_counts(upstream))
                requests = known_pages(chance, KNOWN)
                known[name].append(asyncio.run(load(server, requests, 16)))
                asked[name] += sum(request_counts(upstream)) - before
        for number in range(rounds):
            for name, server in servers.items():
                cold[name].append(asyncio.run(load(server, new_pages(number, COLD), 64)))
    print_costs(known, cold, asked)


@contextmanager
def all_stores(upstream: int, folder: Path) -> Iterator[dict[str, Server]]:
    """Run one server over each kind of store."""
    with ExitStack() as stack:
        redis = stack.enter_context(redis_server(folder / "r"))
        urls = ("memory:", f"sqlite:{folder / 'cache.db'}", redis.url)
        yield {
            name: stack.enter_context(timegate(upstream, folder, url))
            for name, url in zip(STORES, urls, strict=True)
        }


def print_costs(
    known: dict[str, list[float]], cold: dict[str, list[float]], asked: dict[str, int]
) -> None:
    header("a known page at a new time, 16 at once", "of bare")
    for name, spent in known.items():
        row(name, spent, known["bare"], inverse=True)
    counts = ", ".join(f"{name} {count}" for name, count in asked.items())
    print(f"requests to archives for {len(known['bare']) * KNOWN:,} of these: {counts}")
    print("goals: at least 0.35 of bare from memory, and no requests to archives")
    header("the same, beside memory (goal 2)", "of memory")
    for name in STORES:
        row(name, known[name], known["memory"])
    header("cold, 10 archives, 64 at once (goal 1.5)", "of memory")
    for name in STORES:
        row(name, cold[name], cold["memory"])


def _warm(name: str, server: Server, upstream: int) -> None:
    """Ask for every page until all archives have answered about all of them."""
    for number in range(MOST_WARMING):
        before = sum(request_counts(upstream))
        asyncio.run(load(server, known_pages(random.Random(number), PAGES), 16))
        time.sleep(1)
        if sum(request_counts(upstream)) == before:
            return
    print(f"{name}: some page is not known after {MOST_WARMING} passes", file=sys.stderr)


def header(title: str, ratio: str) -> None:
    print(f"\n{title:<42}{'us CPU':>9}{'least':>9}{'most':>9}{ratio:>11}")


def row(name: str, spent: list[float], other: list[float], *, inverse: bool = False) -> None:
    middle = statistics.median(spent)
    ratios = [one / two for one, two in zip(spent, other, strict=True)]
    ratio = statistics.median(1 / each if inverse else each for each in ratios)
    print(f"{name:<42}{middle:>9.0f}{min(spent):>9.0f}{max(spent):>9.0f}{ratio:>11.2f}")


def writes() -> None:
    """Count the entries that are in Redis after 6,000 cold requests, 64 at once."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        redis: RedisServer = stack.enter_context(redis_server(folder / "r"))
        upstream = stack.enter_context(archives(1))
        server = stack.enter_context(timegate(upstream, folder, redis.url))
        asyncio.run(load(server, new_pages(0, 6_000), 64))
        time.sleep(3)
        stored = int(redis.say("EVAL", _COUNT, "0").strip().removeprefix(":"))
        dropped = asyncio.run(dropped_writes(server))
    print(f"\nof 6,000 pages, 64 at once, {stored} are in Redis; dropped: {dropped}")


_COUNT = "return #redis.call('KEYS', 'timegate:1:cache:*/page')"


async def dropped_writes(server: Server) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    text = (await reader.read()).decode()
    writer.close()
    name = "timegate_cache_writes_dropped_total "
    lines = [line for line in text.splitlines() if line.startswith(name)]
    return int(float(lines[0].removeprefix(name)))


def capacity() -> None:
    """Print how many pages fit into 64 MB of memory."""
    for count in (10, 83):
        pages = asyncio.run(_fitting(count))
        print(f"64 MB of memory hold {pages:,} pages with {count} archives")


async def _fitting(count: int) -> int:
    """Store pages until the first is evicted; estimate from a hundredth of the memory."""
    store = MemoryStore(limit=(64 << 20) // 16)
    cache = AnswerCache(store, time.time, "1")
    number = 0
    while True:
        before = len(store)
        await _remember(cache, number, count)
        await cache.written(_page(number))
        if len(store) == before:
            return len(store) * 16
        number += 1


async def _remember(cache: AnswerCache, number: int, count: int) -> None:
    for archive in range(count):
        await cache.remember(f"a{archive}", _page(number), AT, answer(archive, _page(number)))


AT = Moment("20160122112029")


def _page(number: int) -> str:
    return f"http://www.example.org/known/{number}"


def answer(archive: int, url: str) -> Closest:
    """Return an answer with all four neighbours."""

    def memento(days: int) -> Memento:
        at = EPOCH + timedelta(days=days, seconds=7_919 * archive)
        stamp = f"{at:%Y%m%d%H%M%S}"
        return Memento(
            stamp, f"http://archive{archive}.example/{stamp}/{url}", url, f"a{archive}"
        )

    around: dict[Relation, Memento] = {
        "first": memento(0),
        "prev": memento(3600),
        "next": memento(4400),
        "last": memento(6000),
    }
    return Closest(memento(4000), "timegate", (), around)


def _size(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.iterdir())


def _large(number: int) -> str:
    return f"http://www.example.org/known/{number:07}"


@lru_cache(1)
def _parts() -> dict[str, bytes]:
    """Return the encoded answers of all archives about page 0."""
    given = time.time()
    answers = [KnownAnswer(given, AT.digits, answer(n, _large(0))) for n in range(ARCHIVES)]
    return {
        f"public/a{n}": encode_record(ArchiveRecord((each,))) for n, each in enumerate(answers)
    }


def packed_page(number: int) -> tuple[str, bytes]:
    """Return the key and the record of a page, which differ from page 0 in its number alone.

    Encoding every answer took 20 minutes of CPU for 10^6 pages.
    """
    key = f"{page_of(_large(number))[1]}/1/page"
    zero, here = _large(0).encode(), _large(number).encode()
    return key, sealed_page(key, {f: part.replace(zero, here) for f, part in _parts().items()})


async def large_file(pages: int) -> None:
    """Fill a file, print its size, and look up pages at times that are new."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cache.db"
        store = SqliteStore(path, limit=1 << 40)
        cache = AnswerCache(store, time.time, "1")
        began = time.perf_counter()
        dropped = 0
        for first in range(0, pages, 1_000):
            kept = await asyncio.gather(
                *(
                    store.merge(*packed_page(number), merge_values, LONGEST)
                    for number in range(first, min(first + 1_000, pages))
                )
            )
            dropped += kept.count(False)
        filled = time.perf_counter() - began
        size = _size(path.parent)
        chance = random.Random(3)
        names = [f"a{archive}" for archive in range(ARCHIVES)]
        spans, found = [], 0
        cpu = time.process_time()
        for _ in range(2_000):
            at = Moment.of(EPOCH + timedelta(days=3700, seconds=chance.randrange(10**7)))
            began = time.perf_counter()
            known = await cache.recall_all(names, _large(chance.randrange(pages)), at)
            spans.append(time.perf_counter() - began)
            found += len(known)
        cpu = time.process_time() - cpu
        await store.close()
    spans.sort()
    print(
        f"SQLite: {pages:,} pages with 10 archives are {size / 1e6:,.0f} MB,"
        f" filled in {filled:,.0f} s ({dropped} dropped); a lookup takes"
        f" {statistics.median(spans) * 1e3:.2f} ms (p99 {spans[1980] * 1e3:.2f}),"
        f" {cpu / 2_000 * 1e6:.0f} us CPU; {found / 2_000:.1f} answers each"
    )


def known_pages(chance: random.Random, count: int) -> list[Request]:
    """Return requests for pages at random times between two captures of each archive."""
    times = (
        EPOCH + timedelta(days=400 * 4, seconds=chance.randrange(100_000, 400 * 86_400))
        for _ in range(count)
    )
    return [
        (f"/timegate/{_page(number % PAGES)}", format_datetime(at, usegmt=True))
        for number, at in enumerate(times)
    ]


def new_pages(label: int, count: int) -> list[Request]:
    at = format_datetime(EPOCH + timedelta(days=1700), usegmt=True)
    return [(f"/timegate/http://www.example.org/{label}/{n}", at) for n in range(count)]


async def load(server: Server, requests: list[Request], at_once: int) -> float:
    """Send *requests* over so many connections; return microseconds of CPU for each."""
    waiting = iter(requests)
    codes: set[bytes] = set()

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 20)
        for target, at in waiting:
            head = f"GET {target} HTTP/1.1\r\nHost: x\r\nAccept-Datetime: {at}\r\n\r\n"
            writer.write(head.encode())
            reply = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(length_of(reply))
            codes.add(reply.split(b" ", 2)[1])
        writer.close()

    before = server.cpu
    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(client())
    if codes != {b"302"}:
        print(f"unexpected answers: {codes}", file=sys.stderr)
    return (server.cpu - before) * 1e6 / len(requests)


@contextmanager
def archives(count: int) -> Iterator[int]:
    command = [sys.executable, "-m", "tests.bench.archives", str(count), "--neighbours"]
    with process(command, "") as (_, line):
        yield int(line)


@contextmanager
def timegate(upstream: int, folder: Path, cache: str) -> Iterator[Server]:
    """Start our server with all archives of *upstream* over a cache."""
    config = folder / f"{cache.partition(':')[0]}.toml"
    count = len(request_counts(upstream))
    config.write_text(
        f'[archives]\nuse = []\n[cache]\nurl = "{cache}"\n'
        + "".join(entry(number, upstream, replay=False) for number in range(count))
    )
    command = [sys.executable, "-m", "timegate", "serve", "--port", "0", "--config"]
    with process([*command, str(config)], "listening at") as (child, line):
        yield Server(int(line.rstrip("/\n").rpartition(":")[2]), child.pid)


if __name__ == "__main__":
    main(sys.argv[1:])
