"""A cache of a million entries, and a flooded one: speed, size, and eviction."""

import asyncio
import json
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final, NamedTuple

from archives.model import Closest, Memento
from archives.moment import Moment
from tests.bench.archives import captures
from tests.chaos.rig.archives import Archives, archives, memento
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
from tests.chaos.rig.processes import python
from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.scenario import Rig, Scenario, part_of
from timegate.cache import AnswerCache, SqliteStore

_COUNT: Final = 4
_MILLION: Final = 1_000_000
_PIECE: Final = 1000
"""Pages between two flushes."""
_LIMIT: Final = 64
_LONG: Final = "x" * 1800
_OTHER_MEMORY: Final = 40
"""Megabytes for other memory: 16 for the response cache of a minute, the parsed forms of the
last thousand addresses, and the queue of entries to be written."""
_ONLY_CACHED: Final = {"Cache-Control": "only-if-cached"}


def _config(farm: Archives, url: str, megabytes: int) -> str:
    return f'[cache]\nurl = "{url}"\nmegabytes = {megabytes}\n' + farm.entries()


async def large_cache(rig: Rig) -> None:
    """LO-07: hits among a million entries, the start with them, and the size limit."""
    pages = rig.scaled(_MILLION, 40_000) // _COUNT
    with archives(_COUNT, rig.folder) as farm:
        place = rig.place("t")
        file = place / "cache.db"
        config = _config(farm, f"sqlite:{file}", 2048)
        with timegate(place, config) as server:
            await Client(server.port).ask(timegates("known", 1)[0])
        await _fill(file, farm, pages)
        entries, megabytes = _counted(file)
        began = time.monotonic()
        with timegate(place, config) as server:
            started = time.monotonic() - began
            client = Client(server.port, headers=_ONLY_CACHED)
            bare = await client.at_once(["/healthz"] * rig.scaled(5_000, 1_000), 4)
            farm.forget()
            hits = await _hits(server, pages, rig.scaled(5_000, 1_000))
            questions = sum(farm.request_counts)
        wrong = [a for a in hits if a.header("Location") != _right(farm, a)]
        lower = int(megabytes * 0.95)
        with timegate(place, _config(farm, f"sqlite:{file}", lower)) as server:
            async with pinged(server.port, rig.folder) as liveness:
                new = await Client(server.port).at_rate(
                    timegates("new", rig.scaled(400, 60)), 20
                )
        _, afterwards = _counted(file)
    rig.promise(
        f"{part_of(entries, _MILLION)} entries in {megabytes:.0f} MB: hits",
        f"{len(hits) - len(wrong):,} of {len(hits):,} right, {questions} questions to archives",
        "all answers right, 0 questions",
        met=not wrong and not questions,
    )
    p99 = percentile(hits, 0.99) * 1000
    median = percentile(hits, 0.5) * 1000
    other = percentile(bare, 0.99) * 1000
    rig.speed(
        "their p99",
        f"{p99:.0f} ms (median {median:.1f} ms; p99 of /healthz {other:.0f} ms)",
        "20 ms",
        met=p99 <= 20,
    )
    rig.speed("start with this cache", f"{started:.1f} s", "2 s", met=started <= 2)
    rig.promise(
        f"size after the limit was set to {lower} MB ({statuses(new)})",
        f"{afterwards:.0f} MB ({afterwards / lower:.1%})",
        "within 5 %",
        met=0.95 <= afterwards / lower <= 1.05,
    )
    rig.speed("liveness meanwhile", liveness, "max 100 ms", met=liveness.worst <= 100)


async def _fill(file: Path, farm: Archives, pages: int) -> None:
    """Write the answers of the archives in the format of the server."""
    store = SqliteStore(file, limit=2 << 30)
    memory = AnswerCache(store, time.time, _version(file))
    at = Moment.of(parsedate_to_datetime(DATE))
    for first in range(0, pages, _PIECE):
        for url in _pages(first, min(first + _PIECE, pages)):
            for number in range(_COUNT):
                answer = _answer(farm, number, url)
                await memory.remember(f"a{number}", url, at, answer)
            await memory.written(url)
        await store.flush()
    await store.close()


def _pages(first: int, end: int) -> Iterator[str]:
    yield from map(original, timegates("page", end - first, first))


def _answer(farm: Archives, number: int, url: str) -> Closest:
    at = parsedate_to_datetime(DATE)
    times = captures(number)

    def captured(index: int) -> Memento:
        stamp = f"{times[index]:%Y%m%d%H%M%S}"
        where = memento(farm.ports[number], number, times[index], url)
        return Memento(stamp, where, url, f"a{number}")

    chosen = min(range(len(times)), key=lambda n: abs(times[n] - at))
    return Closest(
        captured(chosen), "timegate", (), {"first": captured(0), "last": captured(-1)}
    )


def _version(file: Path) -> str:
    """Return the server's version of the set of archives, which is part of the keys."""
    with closing(sqlite3.connect(file)) as connection:
        keys = connection.execute("SELECT key FROM entry WHERE key LIKE '%/page'")
        key: str = keys.fetchone()[0]
    return key.split("/")[1]


def _counted(file: Path) -> tuple[int, float]:
    """Return the number of entries, and the megabytes in use."""
    with closing(sqlite3.connect(file)) as connection:
        (entries,) = connection.execute("SELECT count(*) FROM entry").fetchone()
        total, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
    return entries, (total - free) * size / (1 << 20)


async def _hits(server: TimeGate, pages: int, count: int) -> list[Answer]:
    chance = random.Random(29)  # noqa: S311 -- the same in every run
    targets = [timegates("page", 1, chance.randrange(pages))[0] for _ in range(count)]
    return await Client(server.port, headers=_ONLY_CACHED).at_once(targets, 4)


def _right(farm: Archives, answer: Answer) -> str:
    return farm.closest(DATE, range(_COUNT), original(answer.target))


class _Flooded(NamedTuple):
    """The state of a store after a flood."""

    hot: int
    of_hot: int
    grown: float
    files: float
    dropped: int


async def flooded_stores(rig: Rig) -> None:
    """RB-07 for the stores: a million entries, each used once, and some hot ones."""
    count = rig.scaled(_MILLION, 60_000)
    most = _LIMIT * 1.1
    for url in ("memory:", f"sqlite:{rig.place('t') / 'cache.db'}"):
        kind = url.partition(":")[0]
        result = await _flood(url, count)
        rig.promise(
            f"{part_of(count, _MILLION)} entries through a {kind} store of {_LIMIT} MB: "
            "memory and files",
            f"+{result.grown:.0f} MB and {result.files:.0f} MB",
            f"{most:.0f} MB",
            met=result.grown <= most and result.files <= most,
        )
        rig.promise(
            f"{kind}: hot entries that are still there",
            f"{result.hot} of {result.of_hot} ({result.dropped} others not written)",
            "all",
            met=result.hot == result.of_hot,
        )


async def _flood(url: str, count: int) -> _Flooded:
    command = python("tests.chaos.rig.flood", url, str(_LIMIT), str(count))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return _Flooded(**json.loads(output))


async def flooded(rig: Rig) -> None:
    """RB-07 over HTTP: new questions with very long URLs, and some hot ones."""
    for url in ("memory:", f"sqlite:{rig.place('sqlite') / 'cache.db'}"):
        await _flooded(rig, url)


async def _flooded(rig: Rig, url: str) -> None:
    kind = url.partition(":")[0]
    count = rig.scaled(6_000, 600, 30_000)
    hot = timegates("hot", 50)
    with archives(6, rig.folder) as farm:
        with timegate(rig.place(kind), _config(farm, url, _LIMIT)) as server:
            client = Client(server.port)
            await client.at_once(hot * 2, 8)
            before = server.running.megabytes
            answers = []
            for first in range(0, count, 300):
                targets = [f"{t}/{_LONG}" for t in timegates("once", 300, first)]
                answers += [_short(a) for a in await client.at_once(targets, 8)]
                # Another Accept header each time, so that the response cache is not used.
                headers = {"Accept": f"*/*;q=0.{first // 300 + 1:03}"}
                await Client(server.port, headers=headers).at_once(hot, 8)
            grown = server.running.peak - before
            farm.forget()
            cached = Client(server.port, headers=_ONLY_CACHED)
            still = await cached.at_once(hot, 8)
            files = sum(file.stat().st_size for file in rig.place(kind).glob("cache.db*"))
        wrong = [a for a in answers if a.status != 302]
    megabytes = files / (1 << 20)
    most = _LIMIT * 1.1
    allowed = (most if kind == "memory" else 0) + _OTHER_MEMORY
    rig.promise(
        f"{part_of(count, _MILLION)} questions with URLs of 1.8 kB, {_LIMIT} MB in "
        f"{kind}: memory and files",
        f"+{grown:.0f} MB and {megabytes:.0f} MB ({len(wrong)} wrong)",
        f"+{allowed:.0f} MB ({_OTHER_MEMORY} for other memory) and {most:.0f} MB",
        met=not wrong and grown <= allowed and megabytes <= most,
    )
    cached_hot = [answer for answer in still if answer.status == 302]
    rig.promise(
        f"{kind}: hot questions that are still answered from the cache",
        f"{len(cached_hot)} of {len(still)}",
        "all",
        met=len(cached_hot) == len(still),
    )


def _short(answer: Answer) -> Answer:
    return Answer(answer.target[:80], answer.status, answer.began, answer.seconds)


SCENARIOS: Final = (
    Scenario("large-cache", "LO-07", large_cache, 600, quick=False),
    Scenario("cache-flooded-stores", "RB-07", flooded_stores, 600),
    Scenario("cache-flooded", "RB-07", flooded, 600, full_seconds=2400),
)
