"""Connections to Redis: the only module that uses the client library, which is an extra.

It connects to a server, to a master found by Sentinels or to a Cluster, translates errors, and
limits the size of replies. The library retries nothing: a caller has 35 ms, and a second
attempt would be a second wait.

Replies are measured before they are parsed. A list of 100 million elements, announced in 12
bytes and never sent, lets hiredis (3.5) allocate it, and freeing it took the event loop 350 ms.
No reply that we ask for is large.
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
"""Bytes of one reply, and so of one value; ours have up to 1 MB, a page of a scan has less."""
MOST_PARTS: Final = 100_000
"""Elements of one reply, those of nested lists included."""
_LONGEST_LINE: Final = 1 << 16
_VALUES: Final = (b"$", b"=", b"!")
_LISTS: Final = {b"*": 1, b"~": 1, b">": 1, b"%": 2, b"|": 2}
"""Elements for each one that is announced. The types of RESP3 are never requested."""


class TooLarge(ValueError):
    """A reply exceeds `MOST_OCTETS` or `MOST_PARTS`."""


class Frames:
    """Follows the replies on a connection, without parsing values, and measures them."""

    __slots__ = ("_line", "_octets", "_parts", "_value")

    def __init__(self) -> None:
        self._line = b""
        """The beginning of a line whose end has not arrived."""
        self._value = 0
        """Bytes of a value that have not arrived."""
        self._parts = 0
        """Elements of a reply that have not arrived."""
        self._octets = 0
        """Bytes of this reply so far."""

    def follow(self, received: bytes) -> None:
        """Note the bytes *received*. Raises ValueError."""
        text = self._line + received
        self._octets += len(received)
        place = self._skipped(text, 0)
        while (end := text.find(b"\r\n", place)) >= 0:
            self._announced(text[place:end])
            place = self._skipped(text, end + 2)
        self._line = text[place:]
        if len(self._line) > _LONGEST_LINE or self._octets > MOST_OCTETS:
            raise TooLarge("its reply does not end")

    def _skipped(self, text: bytes, place: int) -> int:
        """Return the end of the value that begins at *place*, or of its part in *text*."""
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
                raise TooLarge(f"it announces a value of {length:,} bytes")
            self._value = length + 2 if length >= 0 else 0
        elif kind in _LISTS:
            self._parts += _LISTS[kind] * max(int(line[1:]), 0)
            if self._parts > MOST_PARTS:
                raise TooLarge(f"it announces a list of {int(line[1:]):,}")


CONNECTIONS: Final = 64
"""Connections to one server: the most commands that may be under way."""
_CONNECT: Final = 1.0
_SCAN_COUNT: Final = 1000
_DENIED: Final = ("READONLY", "OOM", "MISCONF", "NOREPLICAS", "NOPERM")
"""Beginnings of errors that deny writing; reading still works."""
_SPOILED: Final = "WRONGTYPE"
# A Cluster without a reachable node raises an exception that is no RedisError (redis-py 8.1).
_REDIS_ERRORS: Final = (RedisError, RedisClusterException, OSError)
# Exceptions of the library itself when the server is not a Redis at all.
_LIBRARY_FAULTS: Final = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    MemoryError,
    RecursionError,
)
_ERRORS: Final = (*_REDIS_ERRORS, *_LIBRARY_FAULTS)


Word = str | bytes | float


class Down(Exception):
    """The server does not work; the message is the reason."""


class Denied(Down):
    """The server works, but denies writing."""


class Spoiled(Exception):
    """The value under the key has another type than the one this program writes."""


class Missing(Exception):
    """The server does not know the script (yet, or no longer)."""


class RedisConnection(Protocol):
    """A server, a master behind Sentinels, or a Cluster. All methods raise the errors above."""

    def place(self, key: str) -> str:
        """Return the server that holds *key*: in a Cluster each may fail by itself."""
        ...

    async def run(self, *command: Word) -> object: ...

    async def run_all(self, commands: Sequence[Sequence[Word]]) -> list[object]:
        """Run several commands together; the result of one that fails is its exception."""
        ...

    def scan(self, pattern: str) -> AsyncGenerator[list[bytes], None]:
        """Yield the keys that match *pattern*, in batches from one server each."""
        ...

    async def close(self) -> None: ...


def connection_to(address: RedisAddress) -> RedisConnection:
    """Return the connection to *address*; it is opened on first use."""
    return _Clustered(address) if address.kind == "cluster" else _Single(address)


@contextmanager
def _translated() -> Iterator[None]:
    """Raise the errors above in place of those of the library; cancellation passes."""
    try:
        yield
    except _ERRORS as error:
        raise _translation(error) from error


def _translation(error: Exception) -> Exception:
    text = str(error) or type(error).__name__
    if isinstance(error, NoScriptError):
        return Missing()
    if isinstance(error, ResponseError):
        if text.startswith(_SPOILED):
            return Spoiled(text)
        # In a script the error is "OOM ... script: 6e0c9..."; in older versions " -OOM ":
        if text.startswith(_DENIED) or " -OOM " in text or " -READONLY " in text:
            return Denied(text)
    return Down(text)


def _results(replies: Sequence[object]) -> list[object]:
    return [_translation(r) if isinstance(r, Exception) else r for r in replies]


async def _run_one(
    run: Callable[..., Awaitable[object]], command: Sequence[Word]
) -> list[object]:
    """Run a single command, which is quicker than a batch of one."""
    try:
        return [await run(*command)]
    except (Spoiled, Missing, Denied) as error:
        return [error]


class _Single:
    """One server, at its address or found by Sentinels."""

    def __init__(self, address: RedisAddress) -> None:
        self._name = str(address)
        if address.kind == "sentinel":
            sentinel = _sentinel(address)
            self._redis: Redis = sentinel.master_for(address.master)
            self._all = [self._redis, *sentinel.sentinels]
        else:
            self._redis = _server(address)
            self._all = [self._redis]
        _limit_replies(*(redis.connection_pool.connection_kwargs for redis in self._all))

    def place(self, key: str) -> str:
        del key
        return self._name

    async def run(self, *command: Word) -> object:
        with _translated():
            return await self._redis.execute_command(*command)  # type: ignore[no-untyped-call]

    async def run_all(self, commands: Sequence[Sequence[Word]]) -> list[object]:
        if len(commands) == 1:
            return await _run_one(self.run, commands[0])
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
    """A Cluster: several servers, each of which holds a part of the keys."""

    def __init__(self, address: RedisAddress) -> None:
        self._name = str(address)
        self._cluster = RedisCluster(
            startup_nodes=[ClusterNode(host, port) for host, port in address.nodes],
            # A part of the Cluster is better than none.
            require_full_coverage=False,
            **_options(address),
        )
        nodes = self._cluster.nodes_manager
        known = (node.connection_kwargs for node in nodes.startup_nodes.values())
        _limit_replies(nodes.connection_kwargs, *known)

    def place(self, key: str) -> str:
        try:
            node = self._cluster.get_node_from_key(key)
        except (*_REDIS_ERRORS, KeyError):
            node = None
        return self._name if node is None else str(node.name)

    async def run(self, *command: Word) -> object:
        with _translated():
            return await self._cluster.execute_command(*command)

    async def run_all(self, commands: Sequence[Sequence[Word]]) -> list[object]:
        if len(commands) == 1:
            return await _run_one(self.run, commands[0])
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


class _LimitedReader(asyncio.StreamReader):
    """A stream of replies that raises `TooLarge` for one that exceeds a limit."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        super().__init__()
        self._stream = stream
        self._frames = Frames()
        # The library checks the buffer for unsolicited data before it reuses a connection.
        self._buffer: bytearray = stream._buffer  # type: ignore[attr-defined] # noqa: SLF001

    async def read(self, n: int = -1) -> bytes:
        received = await self._stream.read(n)
        self._frames.follow(received)
        return received

    def at_eof(self) -> bool:
        return self._stream.at_eof()


class _LimitedParser(_AsyncHiredisParser):
    """The parser of the library, reading from a `_LimitedReader`."""

    def on_connect(self, connection: LibraryConnection) -> None:
        super().on_connect(connection)  # type: ignore[no-untyped-call]
        if self._stream is not None:
            self._stream = _LimitedReader(self._stream)


def _limit_replies(*options: dict[str, object]) -> None:
    """Limit the replies of connections that will be made with *options*."""
    for settings in options:
        if HIREDIS_AVAILABLE:
            settings["parser_class"] = _LimitedParser


class _Options(TypedDict):
    """Options of a connection, the same for every kind of server."""

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
        "protocol": 2,  # HELLO would be one more round trip, for features that we do not use
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
