"""Two replicas over real Redis servers, which are stopped, killed, filled and locked."""

import asyncio
import logging
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import trustme

from archives.errors import ArchiveError
from archives.model import Limits, Rate
from archives.moment import Moment
from archives.source import Reply, Request
from tests.end_to_end.redis_servers import (
    RedisServer,
    cluster_url,
    free_port,
    needs_redis,
    redis_cluster,
    redis_pair,
    redis_server,
)
from tests.scenario import FakeArchive, entry
from tests.timegate.upstream.guarded import rate_limited
from tests.timegate.upstream.replies import FakeReply
from tests.timegate.upstream.windows import most_in_any_span
from timegate.cache import AnswerCache
from timegate.redis import open_shared
from timegate.redis.opening import SharedState, opened
from timegate.resolution.coalescing import Coalescer, fixed
from timegate.resolution.context import REDIS_TIME, RequestContext, TimeBudget
from timegate.resolution.model import Plan, Preferences, Query, Resolution
from timegate.resolution.resolver import Resolver
from timegate.upstream.breaker import FAILURES, Breakers
from timegate.upstream.rate_limit import RequestQueue

pytestmark = needs_redis

PAGE = "http://example.org/"
AT = Moment("20200101000000")
SECRET = "secret"  # noqa: S105 -- of a server that lives for a second
NAMES = ("a", "b", "c")


@dataclass
class Archives:
    """Archives that both replicas query; each holds the page."""

    delay: float = 0.2
    sources: dict[str, FakeArchive] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # None of them has the very second, so that all are asked.
        for name in NAMES:
            self.sources[name] = FakeArchive(name, self.delay, ("20190101000000",))

    @property
    def asked(self) -> list[int]:
        return [len(source.asked) for source in self.sources.values()]

    def hold(self, page: str) -> None:
        for source in self.sources.values():
            source.holds = page


@dataclass
class Replica:
    """One replica: its shared state and its resolver."""

    shared: SharedState
    memory: AnswerCache
    resolver: Resolver

    async def resolve(self, page: str = PAGE, patience: float = REDIS_TIME) -> Resolution:
        context = RequestContext(redis_time=TimeBudget(patience))
        return await self.resolver.resolve(Query(page, AT), Preferences(), context)

    @property
    def trouble(self) -> str | None:
        return self.shared.store.trouble

    async def healed(self) -> None:
        async with asyncio.timeout(30):
            while self.trouble:  # noqa: ASYNC110 -- a server in another process
                await asyncio.sleep(0.02)


@asynccontextmanager
async def replica(
    url: str, archives: Archives, bound: float = REDIS_TIME
) -> AsyncGenerator[Replica]:
    async with opened(url, bound=bound) as shared:
        memory = AnswerCache(shared.store, time.time, "1")
        locks = shared.locks("1")
        locks.written = memory.written
        async with (
            aclosing(memory),
            Coalescer(fixed(archives.sources), memory, locks=locks) as coalescer,
        ):
            yield Replica(
                shared, memory, Resolver(coalescer, memory, lambda *_: Plan((NAMES,)))
            )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path / "redis") as running:
        yield running


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RedisServer]]:
    with redis_cluster(
        tmp_path_factory.mktemp("cluster"), "--cluster-require-full-coverage", "no"
    ) as nodes:
        yield nodes


@pytest.fixture(params=["single", "cluster"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "single":
        server: RedisServer = request.getfixturevalue("server")
        return server.url
    nodes: list[RedisServer] = request.getfixturevalue("cluster")
    for node in nodes:
        node.say("FLUSHALL")
    return cluster_url(nodes)


async def test_a_thousand_identical_cold_questions_are_asked_once(url: str) -> None:
    archives = Archives()
    # Long bounds: on a busy machine no question may be asked twice for lack of time.
    async with replica(url, archives, 10.0) as one, replica(url, archives, 10.0) as other:
        answers = await asyncio.gather(
            *(replica.resolve(patience=10.0) for _ in range(500) for replica in (one, other))
        )

    assert archives.asked == [1, 1, 1]
    assert all(answer.best is not None for answer in answers)


async def test_an_answer_that_one_replica_got_is_known_to_the_other(url: str) -> None:
    archives = Archives(0.0)
    async with replica(url, archives) as one, replica(url, archives) as other:
        await one.resolve()
        answer = await other.resolve()
        removed = await other.shared.store.purge("")

    assert archives.asked == [1, 1, 1]
    assert answer.best is not None
    assert removed == 1


async def test_a_replica_that_waits_for_a_dead_one_asks_for_itself(server: RedisServer) -> None:
    archives = Archives(5.0)
    async with replica(server.url, archives) as other:
        async with AsyncExitStack() as stack:
            one = await stack.enter_async_context(replica(server.url, archives))
            led = asyncio.get_running_loop().create_task(one.resolve())
            while archives.asked != [1, 1, 1]:  # noqa: ASYNC110 -- a server in between
                await asyncio.sleep(0.01)
            for source in archives.sources.values():
                source.delay = 0.0
            following = asyncio.get_running_loop().create_task(other.resolve())
        answer = await following
        led.cancel()

    assert answer.best is not None
    assert archives.asked == [2, 2, 2]


RATE = Rate(24, 1.5, 5)


class Upstream:
    """An archive that records the times of requests."""

    def __init__(self) -> None:
        self.sent: list[float] = []

    def __call__(self, request: Request) -> "Upstream":
        del request
        return self

    async def __aenter__(self) -> Reply:
        self.sent.append(time.monotonic())
        return FakeReply(200)

    async def __aexit__(self, *_: object) -> None:
        return None


async def hurry(shared: SharedState, upstream: Upstream, until: float) -> None:
    """Send requests as fast as the rate limit allows, with more waiting than can be served."""
    host = replace(entry("a"), limits=Limits(RATE, RATE, 50, "a test"))
    fetch = rate_limited(upstream, "a", RequestQueue(shared.rate_limiter(host), 50), 2.0)

    async def ask() -> None:
        while time.monotonic() < until:
            try:
                async with fetch(Request("GET", "https://a.example/", "index")):
                    pass
            except ArchiveError:
                await asyncio.sleep(0.05)

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(ask())


async def test_an_archive_sees_no_more_than_it_allows_from_both_replicas(url: str) -> None:
    upstream = Upstream()
    async with open_shared(url) as one, open_shared(url) as other:
        until = time.monotonic() + 4
        await asyncio.gather(hurry(one, upstream, until), hurry(other, upstream, until))

    assert most_in_any_span(upstream.sent, RATE.seconds) <= RATE.requests
    assert len(upstream.sent) > RATE.requests


async def test_the_limit_holds_while_redis_goes_away_and_comes_back(
    server: RedisServer,
) -> None:
    """Both replicas have sent before, so that each knows what it has used of its share."""
    upstream = Upstream()
    async with open_shared(server.url, 2) as one, open_shared(server.url, 2) as other:
        until = time.monotonic() + 5
        async with asyncio.TaskGroup() as group:
            for shared in (one, other):
                group.create_task(hurry(shared, upstream, until))
            await asyncio.sleep(2)
            server.kill()
            await asyncio.sleep(1)
            server.start()

    # One replica may be back before the other has reported what it sent alone.
    assert most_in_any_span(upstream.sent, RATE.seconds) <= 1.5 * RATE.requests
    assert len(upstream.sent) > RATE.requests


def full(server: RedisServer) -> None:
    server.say("CONFIG", "SET", "maxmemory", "1")


def read_only(server: RedisServer) -> None:
    server.say("REPLICAOF", "127.0.0.1", "1")


def locked(server: RedisServer) -> None:
    server.say("CONFIG", "SET", "requirepass", "secret")
    server.say("CLIENT", "KILL", "TYPE", "normal", password=SECRET)


def unlocked(server: RedisServer) -> None:
    server.say("CONFIG", "SET", "requirepass", "", password=SECRET)


def nothing(server: RedisServer) -> None:
    del server


Deed = Callable[[RedisServer], object]
FAULTS: list[tuple[str, Deed, Deed]] = [
    ("stopped", RedisServer.pause, RedisServer.go_on),
    ("killed", RedisServer.kill, RedisServer.start),
    ("full", full, lambda s: s.say("CONFIG", "SET", "maxmemory", "0")),
    ("read-only", read_only, lambda s: s.say("REPLICAOF", "NO", "ONE")),
    ("locked", locked, unlocked),
    ("slow", lambda s: s.say("CLIENT", "PAUSE", "1500", "ALL"), nothing),
    ("flushed", lambda s: s.say("FLUSHALL"), nothing),
]


@pytest.mark.parametrize(
    ("harm", "heal"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS]
)
async def test_whatever_becomes_of_redis_every_question_is_answered(
    server: RedisServer, harm: Deed, heal: Deed, caplog: pytest.LogCaptureFixture
) -> None:
    archives = Archives(0.0)
    async with replica(server.url, archives) as one:
        await one.resolve()
        with caplog.at_level(logging.WARNING):
            harm(server)
            answers = []
            for number in range(20):
                page = f"http://example.org/{number}"
                archives.hold(page)
                answers.append(await one.resolve(page))
            heal(server)
            await one.healed()
        messages = [record.getMessage() for record in caplog.records]
        archives.hold("http://example.org/last")
        await one.resolve("http://example.org/last")
        await one.memory.written("http://example.org/last")

        kept = server.say("KEYS", "timegate:1:cache:*/page")

    assert [answer.best is not None for answer in answers] == [True] * 20
    unused = [message for message in messages if message.startswith("Redis is not used")]
    assert len(unused) <= 1
    assert len(messages) - len(unused) <= 1  # how many values were not written
    assert "secret" not in "".join(messages)
    assert "timegate:1:cache:" in kept


async def test_a_stopped_redis_is_tried_once_and_not_by_every_lookup(
    server: RedisServer,
) -> None:
    archives = Archives(0.0)
    async with replica(server.url, archives) as one:
        await one.resolve()
        before = server.connections()
        server.pause()

        for number in range(30):
            await one.resolve(f"http://example.org/{number}")
        server.go_on()
        await one.healed()

        tried = server.connections() - before

    # 30 questions have some 500 operations, and what is given up costs a connection.
    assert tried < 15


async def test_an_archive_that_one_replica_finds_dead_rests_for_the_other(url: str) -> None:
    one, other = (Breakers(NAMES, time.monotonic, lambda: 0.0) for _ in range(2))
    async with open_shared(url) as here, open_shared(url) as there:
        here.watch(one)
        there.watch(other)
        for _ in range(FAILURES):
            one.report("a", "bad")

        async with asyncio.timeout(30):
            while other.standing("a") == "closed":  # noqa: ASYNC110 -- a server in between
                await asyncio.sleep(0.02)

    assert [other.standing(name) for name in NAMES] == ["open", "closed", "closed"]


@asynccontextmanager
async def delayed(server: RedisServer, seconds: float) -> AsyncGenerator[str]:
    """Yield a URL at which each reply of *server* is delayed."""

    async def pump(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pause: float
    ) -> None:
        try:
            while octets := await reader.read(65536):
                await asyncio.sleep(pause)
                writer.write(octets)
                await writer.drain()
        except OSError:
            return
        finally:
            writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection("127.0.0.1", server.port)
        async with asyncio.TaskGroup() as group:
            group.create_task(pump(reader, outer, 0.0))
            group.create_task(pump(inner, writer, seconds))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        yield f"redis://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


async def test_the_waits_for_many_slow_commands_do_not_add_up(server: RedisServer) -> None:
    async with delayed(server, 0.015) as url, open_shared(url) as shared:
        before = server.commands()
        budget = TimeBudget()
        for number in range(70):
            await shared.store.get(f"{number}", budget)

        asked = server.commands() - before

    # Each look-up is quick enough for itself; a request has patience for two or three.
    assert asked < 10


async def test_a_redis_that_is_missing_at_the_start_is_used_later(tmp_path: Path) -> None:
    server = RedisServer(tmp_path / "redis", free_port())
    archives = Archives(0.0)
    async with replica(server.url, archives) as one:
        early = await one.resolve()
        trouble = one.trouble
        server.start()
        try:
            await one.healed()
            archives.hold("http://example.org/last")
            await one.resolve("http://example.org/last")
            await one.memory.written("http://example.org/last")
            kept = server.say("KEYS", "timegate:1:cache:*/page")
        finally:
            server.kill()

    assert early.best is not None
    assert trouble is not None
    assert "timegate:1:cache:" in kept


async def test_a_wrong_password_is_reported_without_the_password(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    locked(server)
    url = server.url.replace("redis://", "redis://:hunter2@")
    async with replica(url, Archives(0.0)) as one:
        answer = await one.resolve()
        trouble = one.trouble or ""

    assert answer.best is not None
    assert "WRONGPASS" in trouble or "invalid" in trouble
    assert "hunter2" not in trouble + caplog.text


async def test_the_right_password_is_accepted(server: RedisServer) -> None:
    locked(server)
    url = server.url.replace("redis://", "redis://:secret@")
    async with replica(url, Archives(0.0)) as one:
        await one.resolve()

        assert one.trouble is None


async def test_tls_is_used_and_the_certificate_is_verified(
    server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    own = authority.issue_cert("127.0.0.1")
    own.private_key_and_cert_chain_pem.write_to_path(tmp_path / "own.pem")
    port = free_port()
    for name, value in (
        ("tls-cert-file", str(tmp_path / "own.pem")),
        ("tls-key-file", str(tmp_path / "own.pem")),
        ("tls-ca-cert-file", str(tmp_path / "authority.pem")),
        ("tls-auth-clients", "no"),
        ("tls-port", str(port)),
    ):
        server.say("CONFIG", "SET", name, value)

    async def trouble() -> str | None:
        async with open_shared(f"rediss://127.0.0.1:{port}") as shared:
            return shared.store.trouble

    strange = await trouble()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    trusted = await trouble()

    assert strange is not None
    assert "certificate" in strange
    assert trusted is None


@pytest.mark.parametrize(
    "said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"$-7\r\n", b"*3\r\n", b"\x00" * 999]
)
async def test_a_server_that_is_not_redis_is_reported(said: bytes) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with listening, replica(f"redis://127.0.0.1:{port}", Archives(0.0)) as one:
        found = await one.resolve()
        trouble = one.trouble

    assert found.best is not None
    assert trouble is not None


async def test_the_loss_of_a_cluster_master_under_load_fails_no_request(tmp_path: Path) -> None:
    archives = Archives(0.0)
    with redis_cluster(tmp_path, "--cluster-require-full-coverage", "no") as nodes:
        async with replica(cluster_url(nodes), archives) as one:
            answers = []
            for number in range(300):
                if number == 50:
                    nodes[1].kill()
                page = f"http://example.org/{number}"
                archives.hold(page)
                answers.append(await one.resolve(page))
            nodes[1].start()
            await one.healed()
            await asyncio.gather(
                *(one.memory.written(f"http://example.org/{number}") for number in range(300))
            )
            kept = sum(nodes[place].number("DBSIZE") for place in (0, 2))

    assert [answer.best is not None for answer in answers] == [True] * 300
    assert kept > 100


async def test_after_a_failover_the_new_master_is_used(tmp_path: Path) -> None:
    archives = Archives(0.0)
    with redis_pair(tmp_path) as pair:
        async with replica(pair.url, archives) as one:
            await one.resolve()
            pair.first.kill()
            answers = [await one.resolve(f"http://example.org/{n}") for n in range(20)]
            await one.healed()
            archives.hold("http://example.org/last")
            await one.resolve("http://example.org/last")
            await one.memory.written("http://example.org/last")
            kept = pair.second.say("KEYS", "timegate:1:cache:*/page")

    assert len(answers) == 20
    assert "timegate:1:cache:" in kept


def test_without_the_extra_the_error_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['redis'] = None\n"
        "import timegate.app\n"
        "from timegate.redis import open_shared\n"
        "try: open_shared('redis://127.0.0.1')\n"
        "except ValueError as error: print(error)"
    )

    result = subprocess.run(  # noqa: S603 -- ourselves
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "timegate-proxy[redis]" in result.stdout
