"""The one place that knows the client library: how a server, a Sentinel, a Cluster is reached.

The library is an extra. Nothing is tried twice in there: whoever asks has 35 ms, and a second
attempt is a second wait.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol, TypedDict

from redis._parsers import _AsyncHiredisParser
from redis.asyncio import Connection as LibraryConnection
from redis.asyncio import Redis, RedisCluster, Sentinel
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    NoScriptError,
    RedisClusterException,
    RedisError,
    ResponseError,
)
from redis.utils import HIREDIS_AVAILABLE

from timegate.redis.address import RedisAddress

MOST_OCTETS: Final = 8 << 20
"""Of one reply, and so of one value; ours have 1 MB, a portion of a purge has less."""
MOST_PARTS: Final = 100_000
"""Of one reply, those of lists in lists too."""
_LONGEST_LINE: Final = 1 << 16
_VALUES: Final = (b"$", b"=", b"!")
_LISTS: Final = {b"*": 1, b"~": 1, b">": 1, b"%": 2, b"|": 2}
"""Parts for each that is announced. None of ours is of RESP3, which we do not ask for."""


class TooLarge(ValueError):
    """It would be more than anything we ask for."""


class Frames:
    """Where one reply ends and the next begins, in what a connection has received."""

    __slots__ = ("_line", "_octets", "_parts", "_value")

    def __init__(self) -> None:
        self._line = b""
        """The beginning of a line whose end is to come."""
        self._value = 0
        """Octets of a value that are to come."""
        self._parts = 0
        """Parts of a reply that are to come."""
        self._octets = 0
        """Of this reply so far."""

    def follow(self, received: bytes) -> None:
        """Take note of what came. Raises ValueError."""
        text = self._line + received
        self._octets += len(received)
        place = self._skipped(text, 0)
        while (end := text.find(b"\r\n", place)) >= 0:
            self._announced(text[place:end])
            place = self._skipped(text, end + 2)
        self._line = text[place:]
        if len(self._line) > _LONGEST_LINE or self._octets > MOST_OCTETS:
            raise TooLarge("it does not stop talking")

    def _skipped(self, text: bytes, place: int) -> int:
        """Return where the value ends that begins at *place*, or what is there of it."""
        here = min(self._value, len(text) - place)
        self._value -= here
        place += here
        if not self._parts and not self._value:
            self._octets = len(text) - place
        return place

    def _announced(self, line: bytes) -> None:
        self._parts = max(self._parts - 1, 0)
        kind = line[:1]
        if kind in _VALUES:
            length = int(line[1:])
            if length > MOST_OCTETS:
                raise TooLarge(f"it announces a value of {length:,} octets")
            self._value = length + 2 if length >= 0 else 0
        elif kind in _LISTS:
            self._parts += _LISTS[kind] * max(int(line[1:]), 0)
            if self._parts > MOST_PARTS:
                raise TooLarge(f"it announces a list of {int(line[1:]):,}")


CONNECTIONS: Final = 64
"""To one server: as many operations as may be under way."""
_CONNECT: Final = 1.0
_SCAN_COUNT: Final = 1000
_DENIED: Final = ("READONLY", "OOM", "MISCONF", "NOREPLICAS", "NOPERM")
"""How replies begin that say: this may not be written. What is there can still be read."""
_SPOILED: Final = "WRONGTYPE"
# A Cluster of which no node answers raises what is no RedisError in redis-py (8.1).
_COMPLAINTS: Final = (RedisError, RedisClusterException, OSError)
# What is no Redis at all makes the library stumble, not complain.
_STUMBLES: Final = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    MemoryError,
    RecursionError,
)
_KINDS: Final = (*_COMPLAINTS, *_STUMBLES)


Word = str | bytes | float


class Down(Exception):
    """It does not work; says why."""


class Denied(Down):
    """It works, but what is there may not be changed."""


class Spoiled(Exception):
    """What lies under the key is none of ours."""


class Missing(Exception):
    """The script is not known there (yet, or no longer)."""


class RedisConnection(Protocol):
    """What is needed of a server, whatever it is made of. Everything raises as above."""

    def place(self, key: str) -> str:
        """Return which of the servers is in charge of *key*: they fail one by one."""
        ...

    async def run(self, *command: Word) -> object: ...

    async def run_all(self, commands: Sequence[Sequence[Word]]) -> list[object]:
        """Run several in one go; where one fails, its result is what it would have raised."""
        ...

    def scan(self, pattern: str) -> AsyncGenerator[list[bytes], None]:
        """Return the keys that match, in portions that lie on one server."""
        ...

    async def close(self) -> None: ...


def connection_to(address: RedisAddress) -> RedisConnection:
    """Return a way to reach *address*; connects when it is used."""
    return _Clustered(address) if address.kind == "cluster" else _Single(address)


@contextmanager
def _translated() -> Iterator[None]:
    """Raise what happened in our own words; cancellation passes."""
    try:
        yield
    except _KINDS as error:
        raise _in_our_words(error) from error


def _in_our_words(error: Exception) -> Exception:
    text = str(error) or type(error).__name__
    if isinstance(error, NoScriptError):
        return Missing()
    if isinstance(error, ResponseError):
        if text.startswith(_SPOILED):
            return Spoiled(text)
        # From a script it comes as "OOM ... script: 6e0c9...", or so in older versions:
        if text.startswith(_DENIED) or " -OOM " in text or " -READONLY " in text:
            return Denied(text)
    return Down(text)


def _results(replies: Sequence[object]) -> list[object]:
    return [_in_our_words(r) if isinstance(r, Exception) else r for r in replies]


async def _alone(
    run: Callable[..., Awaitable[object]], command: Sequence[Word]
) -> list[object]:
    """Run what is no batch, which is quicker than a batch of one."""
    try:
        return [await run(*command)]
    except (Spoiled, Missing, Denied) as error:
        return [error]


class _Single:
    """One server, at its address or where Sentinels say."""

    def __init__(self, address: RedisAddress) -> None:
        self._name = str(address)
        if address.kind == "sentinel":
            sentinel = _sentinel(address)
            self._redis: Redis = sentinel.master_for(address.master)
            self._all = [self._redis, *sentinel.sentinels]
        else:
            self._redis = _server(address)
            self._all = [self._redis]
        _let_be_careful(*(redis.connection_pool.connection_kwargs for redis in self._all))

    def place(self, key: str) -> str:
        del key
        return self._name

    async def run(self, *command: Word) -> object:
        with _translated():
            return await self._redis.execute_command(*command)  # type: ignore[no-untyped-call]

    async def run_all(self, commands: Sequence[Sequence[Word]]) -> list[object]:
        if len(commands) == 1:
            return await _alone(self.run, commands[0])
        pipeline = self._redis.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        with _translated():
            return _results(await pipeline.execute(raise_on_error=False))

    async def scan(self, pattern: str) -> AsyncGenerator[list[bytes], None]:
        cursor = 0
        while True:
            with _translated():
                cursor, keys = await self._redis.scan(cursor, pattern, _SCAN_COUNT)
            yield [key for key in keys if isinstance(key, bytes)]
            if not cursor:
                return

    async def close(self) -> None:
        with _translated():
            for redis in self._all:
                await redis.aclose()


class _Clustered:
    """Several servers, each in charge of some keys."""

    def __init__(self, address: RedisAddress) -> None:
        self._name = str(address)
        self._cluster = RedisCluster(
            startup_nodes=[ClusterNode(host, port) for host, port in address.nodes],
            # A part of the memory is better than none.
            require_full_coverage=False,
            **_options(address),
        )
        nodes = self._cluster.nodes_manager
        known = (node.connection_kwargs for node in nodes.startup_nodes.values())
        _let_be_careful(nodes.connection_kwargs, *known)

    def place(self, key: str) -> str:
        try:
            node = self._cluster.get_node_from_key(key)
        except (*_COMPLAINTS, KeyError):
            node = None
        return self._name if node is None else str(node.name)

    async def run(self, *command: Word) -> object:
        with _translated():
            return await self._cluster.execute_command(*command)

    async def run_all(self, commands: Sequence[Sequence[Word]]) -> list[object]:
        if len(commands) == 1:
            return await _alone(self.run, commands[0])
        pipeline = self._cluster.pipeline()
        for command in commands:
            _ = pipeline.execute_command(*command)
        with _translated():
            return _results(await pipeline.execute(raise_on_error=False))

    async def scan(self, pattern: str) -> AsyncGenerator[list[bytes], None]:
        with _translated():
            _ = await self._cluster.initialize()
        for node in self._cluster.get_primaries():
            cursor = 0
            while True:
                with _translated():
                    cursor, keys = await node.execute_command(
                        "SCAN", cursor, "MATCH", pattern, "COUNT", _SCAN_COUNT
                    )
                yield [key for key in keys if isinstance(key, bytes)]
                if not cursor:
                    break

    async def close(self) -> None:
        with _translated():
            await self._cluster.aclose()


class _Watched(asyncio.StreamReader):
    """What a connection receives, as far as it is no more than we ask for."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        super().__init__()
        self._stream = stream
        self._frames = Frames()
        # The library looks in there for what came unasked, before it uses a connection again.
        self._buffer: bytearray = stream._buffer  # type: ignore[attr-defined] # noqa: SLF001

    async def read(self, n: int = -1) -> bytes:
        received = await self._stream.read(n)
        self._frames.follow(received)
        return received

    def at_eof(self) -> bool:
        return self._stream.at_eof()


class _Careful(_AsyncHiredisParser):
    """The library's parser, fed from what is watched."""

    def on_connect(self, connection: LibraryConnection) -> None:
        super().on_connect(connection)  # type: ignore[no-untyped-call]
        if self._stream is not None:
            self._stream = _Watched(self._stream)


def _let_be_careful(*options: dict[str, object]) -> None:
    """Let connections that will be made with these *options* look at what they receive."""
    for one in options:
        if HIREDIS_AVAILABLE:
            one["parser_class"] = _Careful


class _Options(TypedDict):
    """How a connection is made, to whatever kind of server."""

    username: str | None
    password: str | None
    ssl: bool
    max_connections: int
    socket_timeout: None
    socket_connect_timeout: float
    retry: Retry
    protocol: int


def _options(address: RedisAddress) -> _Options:
    return {
        "username": address.username,
        "password": address.password.reveal() or None,
        "ssl": address.tls,
        "max_connections": CONNECTIONS,
        "socket_timeout": None,
        "socket_connect_timeout": _CONNECT,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,  # HELLO is one more round trip for each connection, for nothing we use
    }


def _server(address: RedisAddress) -> "Redis":
    ((host, port),) = address.nodes
    return Redis(host=host, port=port, db=address.database, **_options(address))


def _sentinel(address: RedisAddress) -> "Sentinel":
    return Sentinel(  # type: ignore[no-untyped-call]
        list(address.nodes),
        sentinel_kwargs={"socket_timeout": _CONNECT, "retry": Retry(NoBackoff(), 0)},
        db=address.database,
        **_options(address),
    )
