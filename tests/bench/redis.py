"""Cost of Redis: CPU of our process for one operation, and the delay caused by failures.

``python -m tests.bench.redis`` starts a Redis server of its own on loopback.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from redis.asyncio import Redis

from archives.model import Limits, Rate
from tests.end_to_end.redis_servers import RedisServer, redis_server
from tests.scenario import entry
from timegate.redis.address import parse_address
from timegate.redis.client import RedisClient
from timegate.redis.locks import Locks, Question
from timegate.redis.rate_limits import RedisRateLimiters
from timegate.redis.store import RedisStore
from timegate.resolution.context import UNLIMITED, TimeBudget

ROUNDS = 2000
FAST = Limits(Rate(1e6, 1, 1_000_000), Rate(24, 60, 5), 8, "a bench")


async def measured(
    name: str, once: Callable[[int], Awaitable[object]], at_once: int = 1
) -> None:
    began, cpu = time.perf_counter(), time.process_time()
    for first in range(0, ROUNDS, at_once):
        await asyncio.gather(*(once(first + number) for number in range(at_once)))
    took = (time.perf_counter() - began) / ROUNDS * 1e6
    spent = (time.process_time() - cpu) / ROUNDS * 1e6
    print(f"{name:<58} {spent:7.1f} us CPU {took:7.1f} us in all")


async def costs(server: RedisServer) -> None:
    bare = Redis(port=server.port)
    await bare.set("key", bytes(500))
    async with RedisClient(parse_address(server.url)) as client:
        hot, cold = RedisStore(client), RedisStore(client, recent=0)
        await hot.put("key", bytes(500), 60, 60)
        for number in range(ROUNDS):
            await cold.put(f"{number}", bytes(500), 60, 60)
        limiter = RedisRateLimiters(client, lambda: 2).of(replace(entry("a"), limits=FAST))
        locks = Locks(client, "1")

        async def lock(number: int) -> None:
            question: Question = ("a", f"http://example.org/{number}", None, "closest")
            await locks.wait(question, UNLIMITED)
            locks.done(question)

        await measured("the library's own GET", lambda _: bare.get("key"))
        await measured("the same, 100 at once", lambda _: bare.get("key"), 100)
        await measured("an entry read within the last 2 s", lambda _: hot.get("key"))
        await measured("an entry", lambda n: cold.get(f"{n}"))
        await measured("the same, 100 different ones at once", lambda n: cold.get(f"{n}"), 100)
        await measured("an entry put", lambda n: cold.put(f"{n}", bytes(500), 60, 60))
        await measured("the permission to send one request", lambda _: limiter.take("memento"))
        await measured("a lock and its release", lock)
    await bare.aclose()


async def trouble(server: RedisServer) -> None:
    async with RedisClient(parse_address(server.url)) as client:
        store = RedisStore(client)
        server.pause()
        added = []
        for request in range(50):
            began = time.perf_counter()
            budget = TimeBudget()
            for number in range(70):
                await store.get(f"{request}/{number}", budget)
            added.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(0.05)
        server.go_on()
        began = time.perf_counter()
        while client.trouble:  # noqa: ASYNC110 -- a server in another process
            await asyncio.sleep(0.01)
        back = time.perf_counter() - began
    added.sort()
    print(
        f"70 lookups of a request while the server is stopped: most {added[-1]:.1f} ms,"
        f" median {added[25]:.2f} ms; in use again after {back:.2f} s"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, redis_server(Path(folder) / "r") as server:
        asyncio.run(costs(server))
        asyncio.run(trouble(server))


if __name__ == "__main__":
    main()
