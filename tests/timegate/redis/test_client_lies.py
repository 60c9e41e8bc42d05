"""False replies of Redis are not believed, and do no lasting harm."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from archives.kinds import KINDS
from archives.model import ArchiveEntry, Limits, Rate
from archives.moment import Moment
from tests.timegate.redis.lying_server import Command, LyingServer, bulk, lying_server
from timegate.redis.address import parse_address
from timegate.redis.client import RedisClient
from timegate.redis.locks import Locks, Question
from timegate.redis.opening import SharedState
from timegate.resolution.context import RequestContext, TimeBudget

LIMITS = Limits(Rate(1000, 1, 1000), Rate(1000, 1, 1000), 8, "")
ENTRY = ArchiveEntry(
    "a", "a", KINDS["memento"], use=True, because="", access="open", limits=LIMITS
)
REQUESTS = 20
COMMANDS_OF_A_REQUEST = 8

PASSING = {
    "loading": b"-LOADING Redis is loading the dataset in memory\r\n",
    "busy": b"-BUSY Redis is busy running a script.\r\n",
    "misconf": b"-MISCONF Redis is configured to save RDB snapshots\r\n",
    "noauth": b"-NOAUTH Authentication required.\r\n",
    "wrongpass": b"-WRONGPASS invalid username-password pair\r\n",
    "noperm": b"-NOPERM this user has no permissions\r\n",
    "moved": b"-MOVED 3999 127.0.0.1:1\r\n",
    "moved to nowhere": b"-MOVED\r\n",
    "ask": b"-ASK 3999 127.0.0.1:1\r\n",
    "ask of nonsense": b"-ASK x y z\r\n",
    "tryagain": b"-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
    "clusterdown": b"-CLUSTERDOWN Hash slot not served\r\n",
    "masterdown": b"-MASTERDOWN Link with MASTER is down\r\n",
    "noreplicas": b"-NOREPLICAS Not enough good replicas to write.\r\n",
    "unknown command": b"-ERR unknown command\r\n",
    "noscript": b"-NOSCRIPT No matching script.\r\n",
    "wrong type": b"-WRONGTYPE Operation against a key\r\n",
    "empty error": b"-\r\n",
    "error of no letters": b"-\xff\xfe\r\n",
    "ok": b"+OK\r\n",
    "queued": b"+QUEUED\r\n",
    "one": b":1\r\n",
    "a large number": b":9223372036854775807\r\n",
    "no number": b":one\r\n",
    "nothing": b"$-1\r\n",
    "an empty value": b"$0\r\n\r\n",
    "an empty list": b"*0\r\n",
    "no list": b"*-1\r\n",
    "a list of nothing": b"*4\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n",
    "a list of errors": b"*2\r\n-LOADING x\r\n-ERR y\r\n",
    "a ledger of nonsense": b"*4\r\n$1\r\na\r\n$3\r\nnan\r\n$3\r\ninf\r\n$2\r\n-9\r\n",
    "a ledger that says wait": b"*4\r\n:1\r\n:9999999999999\r\n:9999999999999\r\n:0\r\n",
    "lists in lists": b"*1\r\n" * 100,
    "half a value": b"$100\r\nhalf",
    "half a list": b"*4\r\n$1\r\na\r\n",
    "half a line": b"+O",
    "a value of 512 MB": b"$536870912\r\nx",
    "a value longer than is possible": b"$99999999999999999999\r\nx",
    "a value of a negative length": b"$-7\r\n",
    "a value of no length": b"$x\r\n",
    "a list of 100,000,000": b"*100000000\r\n",
    "a list of 4,000,000,000": b"*4000000000\r\n",
    "HTTP": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "zeros": bytes(1000),
    "noise": bytes(range(256)) * 4,
    "silence": b"",
    "two answers": b"+OK\r\n+OK\r\n",
    "a push": b">2\r\n$7\r\nmessage\r\n$1\r\nx\r\n",
    "a push of invalidation": b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nx\r\n",
    "a push of moving": b">4\r\n$6\r\nMOVING\r\n:1\r\n:2\r\n$11\r\n127.0.0.1:1\r\n",
    "an empty push": b">0\r\n",
    "5,000 pushes": b">2\r\n$7\r\nmessage\r\n$1\r\nx\r\n" * 5000,
    "a map": b"%1\r\n$1\r\na\r\n$1\r\nb\r\n",
    "a set": b"~1\r\n$1\r\na\r\n",
    "a map of lists": b"%1\r\n*1\r\n:1\r\n:1\r\n",
    "a number with a point": b",nan\r\n",
    "a truth": b"#t\r\n",
    "null": b"_\r\n",
    "attributes": b"|1\r\n$1\r\na\r\n$1\r\nb\r\n+OK\r\n",
}
AT_THE_START = (
    "loading",
    "wrong type",
    "noscript",
    "moved to nowhere",
    "ok",
    "nothing",
    "a list of nothing",
    "a list of errors",
    "a value of 512 MB",
    "a list of 100,000,000",
    "HTTP",
    "noise",
    "a push of moving",
    "a map of lists",
)
MOST_TURNS = 2 * 16
"""The library follows 16 times; a probe may be made again meanwhile."""
ENDLESS = {
    "answers": b"+OK\r\n" * 1000,
    "one answer": b"a" * 65536,
    "garbage": bytes(range(256)) * 256,
    "pushes": PASSING["a push"] * 1000,
    "lists": b"*1\r\n" * 1000,
}


@dataclass(frozen=True)
class World:
    """A replica whose Redis gives false replies from now on; "key" was stored before."""

    server: LyingServer
    client: RedisClient
    shared: SharedState
    locks: Locks

    async def ask(self, number: int) -> tuple[object, float]:
        """Do what a request does; return the cached value and the wait of the rate limiter."""
        question: Question = ("a", f"http://example.org/{number}", Moment("2020"), "closest")
        budget = TimeBudget()
        found = await self.shared.canary_store.get("key", budget)
        await self.locks.wait(question, RequestContext(redis_time=budget))
        wait = await self.shared.rate_limiter(ENTRY).take("memento", budget)
        await self.shared.canary_store.put(f"other{number}", b"value", 60, 60, budget)
        self.locks.done(question)
        return found and found.value, wait

    async def ask_often(self) -> list[tuple[object, float]]:
        return [await self.ask(number) for number in range(REQUESTS)]

    async def ask_until_believed(self) -> object:
        async with asyncio.timeout(20):
            while True:
                found, _ = await self.ask(0)
                if found is not None and self.client.trouble is None:
                    return found
                await asyncio.sleep(0.02)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with lying_server() as server, RedisClient(parse_address(server.url)) as client:
        shared = SharedState(client, 1)
        await shared.canary_store.put("key", b"value", 60, 60)
        yield World(server, client, shared, Locks(client, "1"))


@pytest.mark.parametrize("lie", PASSING.values(), ids=PASSING)
async def test_a_false_reply_is_not_believed_and_afterwards_all_works(
    world: World, lie: bytes
) -> None:
    world.server.lie = lambda _: lie

    answers = await world.ask_often()
    commands = len(world.server.commands)
    world.server.lie = None

    assert answers == [(None, 0.0)] * REQUESTS
    assert commands <= COMMANDS_OF_A_REQUEST * REQUESTS
    assert await world.ask_until_believed() == b"value"


@pytest.mark.parametrize("lie", ENDLESS.values(), ids=ENDLESS)
async def test_an_endless_reply_is_not_read_for_long(world: World, lie: bytes) -> None:
    world.server.lie, world.server.endless = lambda _: lie, True

    answers = await world.ask_often()
    world.server.lie, world.server.endless = None, False

    assert answers == [(None, 0.0)] * REQUESTS
    assert await world.ask_until_believed() == b"value"


async def test_answers_to_other_questions_are_not_believed(world: World) -> None:
    for number in range(REQUESTS):
        await world.shared.canary_store.put(f"other{number}", b"another value", 60, 60)
    values = [value for key, value in world.server.kept.items() if b"other" in key]

    def of_another(command: Command) -> bytes:
        return bulk(values[len(command[-1]) % len(values)])

    world.server.lie = of_another

    assert await world.ask_often() == [(None, 0.0)] * REQUESTS


@pytest.mark.parametrize("kind", ["redis+cluster://{}", "redis+sentinel://{}/main"])
@pytest.mark.parametrize("lie", AT_THE_START)
async def test_false_replies_of_a_cluster_or_sentinel_do_not_prevent_the_start(
    kind: str, lie: str
) -> None:
    async with lying_server() as server:
        server.lie = lambda _: PASSING[lie]
        address = parse_address(kind.format(f"127.0.0.1:{server.port}"))
        async with RedisClient(address) as client:
            shared = SharedState(client, 1)

            assert client.trouble is not None
            assert await shared.store.get("key") is None


@pytest.mark.parametrize("word", [b"ASK", b"MOVED"])
async def test_a_cluster_that_redirects_in_circles_is_left_alone(word: bytes) -> None:
    async with lying_server() as server:

        def elsewhere(command: Command) -> bytes:
            port = server.port
            if command[0] == b"CLUSTER":
                node = b"*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n" % port
                return b"*1\r\n*3\r\n:0\r\n:16383\r\n" + node
            return b"-%s 3999 127.0.0.1:%d\r\n" % (word, port)

        server.lie = elsewhere
        address = parse_address(f"redis+cluster://127.0.0.1:{server.port}")
        async with RedisClient(address) as client:
            store = SharedState(client, 1).store
            found = [await store.get(str(number)) for number in range(REQUESTS)]

            assert found == [None] * REQUESTS
            assert client.trouble is not None
            assert server.commands.count(b"GETRANGE") == 0
            assert server.commands.count(b"EXISTS") <= MOST_TURNS
