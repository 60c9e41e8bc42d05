"""Redis client that fails open: every command is bounded in time, and pipelined.

Every command ends within `REDIS_TIME`. After the first failure the server is not used: a probe
in the background, not a request, finds out when it is back, after a pause that grows to 4 s. So
a failure costs the requests that are under way 35 ms, and the others nothing.

Commands of one turn of the event loop are sent together. A question is looked up for many
archives, and many questions come at once: alone, a command takes some 200 microseconds of our
own time; among a hundred, 25.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Sequence
from hashlib import sha1
from types import TracebackType
from typing import Final, NamedTuple, Self, TypeVar

from timegate.event_loop import end
from timegate.redis.address import RedisAddress
from timegate.redis.connections import (
    Denied,
    Down,
    Missing,
    RedisConnection,
    Spoiled,
    Word,
    connection_to,
)
from timegate.redis.time_budget import REDIS_TIME, BoundedWait, OutOfTime, ResponsiveClock
from timegate.resolution.context import TimeBudget

_MOST_BATCHES: Final = 8
"""Batches under way to one server; commands that come meanwhile form the next batch."""
_LARGEST_BATCH: Final = 256
BACKGROUND_TIME: Final = 2.0
"""Seconds for a command for which no client waits."""

T = TypeVar("T")
Run = Callable[[Sequence[Sequence[Word]]], Awaitable[list[object]]]


class _Pending(NamedTuple):
    command: Sequence[Word]
    reply: "asyncio.Future[object]"


class _ServerQueue:
    """The commands for one server."""

    __slots__ = ("scheduled", "under_way", "waiting")

    def __init__(self) -> None:
        self.waiting: list[_Pending] = []
        self.under_way = 0
        self.scheduled = False


class Pipeline:
    """Sends the commands of one turn of the event loop in batches, one for each server."""

    def __init__(self, run: Run, clock: ResponsiveClock, bound: float) -> None:
        self._run = run
        self._clock = clock
        self._bound = bound
        self._queues: dict[str, _ServerQueue] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, place: str, command: Sequence[Word]) -> "asyncio.Future[object]":
        """Queue *command* for the server *place*; return the future of its reply."""
        loop = asyncio.get_running_loop()
        pending = _Pending(command, loop.create_future())
        queue = self._queues.get(place)
        if queue is None:
            queue = self._queues[place] = _ServerQueue()
        queue.waiting.append(pending)
        if not queue.scheduled and queue.under_way < _MOST_BATCHES:
            queue.scheduled = True
            loop.call_soon(self._start, queue)
        return pending.reply

    def close(self) -> None:
        """Cancel the batches under way."""
        for task in self._tasks:
            task.cancel()

    def _start(self, queue: _ServerQueue) -> None:
        queue.scheduled = False
        batch, queue.waiting = queue.waiting[:_LARGEST_BATCH], queue.waiting[_LARGEST_BATCH:]
        # Commands whose caller has given up meanwhile are not sent.
        batch = [pending for pending in batch if not pending.reply.done()]
        if not batch:
            return
        queue.under_way += 1
        task = asyncio.get_running_loop().create_task(self._send(batch))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._batch_ended(done, queue))
        if queue.waiting and queue.under_way < _MOST_BATCHES:
            self._start(queue)

    def _batch_ended(self, task: "asyncio.Task[None]", queue: _ServerQueue) -> None:
        self._tasks.discard(task)
        queue.under_way -= 1
        if queue.waiting and not queue.scheduled:
            self._start(queue)

    async def _send(self, batch: list[_Pending]) -> None:
        try:
            async with BoundedWait(self._clock, self._bound):
                replies = await self._run([pending.command for pending in batch])
        except (Down, TimeoutError) as error:
            replies = [error] * len(batch)
        except asyncio.CancelledError:
            for pending in batch:
                pending.reply.cancel()
            raise
        for pending, reply in zip(batch, replies, strict=True):
            _settle(pending.reply, reply)


def _settle(future: "asyncio.Future[object]", reply: object) -> None:
    if future.done():
        return
    if isinstance(reply, Exception):
        future.set_exception(reply)
    else:
        future.set_result(reply)


__all__ = ["RedisClient", "RedisUnavailable", "Script", "Spoiled"]

_LOG: Final = logging.getLogger(__name__)
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 4.0
"""Seconds. With the probe itself less than 10 s, after which Redis must be used again
(FA-13)."""
_PROBE: Final = 1.0
_BETWEEN_WARNINGS: Final = 60.0


class RedisUnavailable(Exception):
    """Redis gave no reply in time, or is not used because of an earlier failure."""


class Script:
    """A Lua script that the server runs atomically."""

    __slots__ = ("digest", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.digest = sha1(text.encode(), usedforsecurity=False).hexdigest()


class RedisClient:
    """Runs commands in Redis. Use as a context manager, in a running loop."""

    def __init__(
        self,
        address: RedisAddress,
        *,
        bound: float = REDIS_TIME,
        monotonic: Callable[[], float] = time.monotonic,
        connect: Callable[[RedisAddress], RedisConnection] = connection_to,
    ) -> None:
        self._address = address
        self._connection = connect(address)
        self._bound = bound
        self._monotonic = monotonic
        self._quiet_until = float("-inf")
        self._clock = ResponsiveClock()
        self._pipeline = Pipeline(self._connection.run_all, self._clock, bound)
        self._background_bound = max(bound, BACKGROUND_TIME)
        self._background = Pipeline(
            self._connection.run_all, self._clock, self._background_bound
        )
        self._faults: dict[tuple[str, bool], str] = {}
        """Why a server is not used, by server; with True it is only not written to."""
        self._slow: set[str] = set()
        """Servers that are not used because they were slower than a client waits."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Connect; after a failure, further attempts are made in the background."""
        try:
            async with asyncio.timeout(_PROBE):
                await self._probe("timegate", writing=True)
        except (Down, TimeoutError) as error:
            place = self._connection.place("timegate")
            self._failed(place, "timegate", error, writing=isinstance(error, Denied))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pipeline.close()
        self._background.close()
        await end(list(self._tasks))
        try:
            async with asyncio.timeout(_PROBE):
                await self._connection.close()
        except (Down, TimeoutError):
            return

    @property
    def trouble(self) -> str | None:
        """Why Redis or one of its servers is not used; None if all is well."""
        return next(iter(self._faults.values()), None)

    def now(self) -> float:
        """Return the time by which a `TimeBudget` is charged."""
        return self._clock.now()

    def is_unavailable(self, key: str) -> bool:
        """Whether the server of *key* is known to be unavailable."""
        faults = self._faults
        return bool(faults) and (self._connection.place(key), False) in faults

    async def read(self, key: str, *command: Word, budget: TimeBudget | None = None) -> object:
        """Run a reading command on the server of *key*. Raises RedisUnavailable, Spoiled.

        The wait draws on *budget*, if there is one.
        """
        return await self._run(key, command, writing=False, budget=budget)

    async def write(
        self,
        key: str,
        *command: Word,
        budget: TimeBudget | None = None,
        patient: bool = False,
    ) -> object:
        """Run a writing command. Raises RedisUnavailable, Spoiled.

        With *patient*, no client waits for it: it may take up to `BACKGROUND_TIME`.
        """
        return await self._run(key, command, writing=True, budget=budget, patient=patient)

    async def script(
        self,
        script: Script,
        keys: list[str],
        *words: Word,
        budget: TimeBudget | None = None,
        patient: bool = False,
    ) -> object:
        """Run *script* on *keys*, all in one slot. Raises RedisUnavailable, Spoiled."""
        rest = (len(keys), *keys, *words)
        try:
            return await self.write(
                keys[0], "EVALSHA", script.digest, *rest, budget=budget, patient=patient
            )
        except Missing:
            return await self.write(
                keys[0], "EVAL", script.text, *rest, budget=budget, patient=patient
            )

    async def within(self, budget: TimeBudget | None, reply: "asyncio.Future[T]") -> T:
        """Wait for *reply*, which others may share, as for a command.

        The wait draws on *budget*, at whose end it raises RedisUnavailable and *reply* is
        cancelled.
        """
        try:
            async with BoundedWait(self._clock, self._bound, budget):
                return await reply
        except TimeoutError as error:
            reply.cancel()
            raise RedisUnavailable from error

    def scan(self, pattern: str) -> AsyncGenerator[list[bytes], None]:
        """Return all keys that match *pattern*, without a time limit. Raises Down."""
        return self._connection.scan(pattern)

    def in_background(self, coroutine: Coroutine[object, object, None]) -> None:
        """Run *coroutine* in the background until it ends or this client is closed."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(
        self,
        key: str,
        command: tuple[Word, ...],
        *,
        writing: bool,
        budget: TimeBudget | None,
        patient: bool = False,
    ) -> object:
        place = self._connection.place(key)
        if self._faults and self._is_paused(place, writing=writing, patient=patient):
            raise RedisUnavailable
        pipeline = self._background if patient else self._pipeline
        bound = self._background_bound if patient else self._bound
        try:
            async with BoundedWait(self._clock, bound, budget):
                return await pipeline.put(place, command)
        except OutOfTime as error:
            raise RedisUnavailable from error
        except Missing as error:
            if command[0] != "EVALSHA":
                raise RedisUnavailable from error
            raise
        except (Down, TimeoutError) as error:
            if isinstance(error, TimeoutError) and not patient:
                self._slow.add(place)
            else:
                self._slow.discard(place)
            self._failed(place, key, error, writing=isinstance(error, Denied))
            raise RedisUnavailable from error

    def _is_paused(self, place: str, *, writing: bool, patient: bool) -> bool:
        faults = self._faults
        if writing and (place, True) in faults:
            return True
        # A slow server is still written to where no client waits.
        return (place, False) in faults and not (patient and place in self._slow)

    def _failed(self, place: str, key: str, error: Exception, *, writing: bool) -> None:
        """Stop using the server, log a warning, and start probing it."""
        why = self._address.password.hidden_in(str(error)) or f"slower than {self._bound:g} s"
        known = (place, writing) in self._faults
        self._faults[place, writing] = f"{place}: {why}"
        now = self._monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + _BETWEEN_WARNINGS
            _LOG.warning("Redis is not used: %s: %s", place, why)
        if not known:
            self.in_background(self._recover(place, key, writing=writing))

    async def _recover(self, place: str, key: str, *, writing: bool) -> None:
        pause = _FIRST_PAUSE
        while True:
            await asyncio.sleep(pause * random.uniform(0.8, 1.0))  # noqa: S311 -- a spread
            try:
                async with asyncio.timeout(_PROBE):
                    await self._probe(key, writing=writing)
            except (Down, TimeoutError):
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                del self._faults[place, writing]
                self._slow.discard(place)
                return

    async def _probe(self, key: str, *, writing: bool) -> None:
        """Read from the server of *key*, and if *writing* write to it. Raises Down."""
        await self._expect((0, 1), "EXISTS", key)
        if writing:
            tag = key.partition("{")[2].partition("}")[0] or key
            name = f"timegate:1:probe:{{{tag}}}"
            await self._expect((True, b"OK"), "SET", name, "1", "PX", 1000)

    async def _expect(self, replies: Collection[object], *command: Word) -> None:
        """Run a command that has no other valid replies than *replies*. Raises Down."""
        try:
            reply = await self._connection.run(*command)
        except (Spoiled, Missing) as error:
            raise Down(str(error) or "it reports a missing script for a command") from error
        if reply not in replies:
            raise Down(f"it replies {repr(reply)[:40]} to {command[0]!r}")
