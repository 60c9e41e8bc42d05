"""Asks the shared memory, which is never a reason to fail and never waited for.

Every operation ends within `REDIS_TIME`. After the first trouble the server is left alone: it is not
requests that find out whether it is back, but a probe in the background, after a pause that
grows to 4 s. So trouble costs the requests that are under way 35 ms, and the others nothing.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Sequence
from hashlib import sha1
from types import TracebackType
from typing import Final, NamedTuple, Self

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

_AT_ONCE: Final = 8
"""Batches under way to one server; what comes meanwhile waits, and goes together."""
_LARGEST: Final = 256

Run = Callable[[Sequence[Sequence[Word]]], Awaitable[list[object]]]


class _Asked(NamedTuple):
    command: Sequence[Word]
    answer: "asyncio.Future[object]"


class _Lane:
    """The way to one server."""

    __slots__ = ("scheduled", "under_way", "waiting")

    def __init__(self) -> None:
        self.waiting: list[_Asked] = []
        self.under_way = 0
        self.scheduled = False


class Pipeline:
    """Gathers commands."""

    def __init__(self, run: Run, attention: ResponsiveClock, bound: float) -> None:
        self._run = run
        self._attention = attention
        self._bound = bound
        self._lanes: dict[str, _Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, place: str, command: Sequence[Word]) -> "asyncio.Future[object]":
        """Return the answer to come."""
        loop = asyncio.get_running_loop()
        asked = _Asked(command, loop.create_future())
        lane = self._lanes.get(place)
        if lane is None:
            lane = self._lanes[place] = _Lane()
        lane.waiting.append(asked)
        if not lane.scheduled and lane.under_way < _AT_ONCE:
            lane.scheduled = True
            loop.call_soon(self._start, lane)
        return asked.answer

    def close(self) -> None:
        """End what is under way."""
        for task in self._tasks:
            task.cancel()

    def _start(self, lane: _Lane) -> None:
        lane.scheduled = False
        batch, lane.waiting = lane.waiting[:_LARGEST], lane.waiting[_LARGEST:]
        # Who gave up while it waited needs no answer.
        batch = [asked for asked in batch if not asked.answer.done()]
        if not batch:
            return
        lane.under_way += 1
        task = asyncio.get_running_loop().create_task(self._send(batch))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._over(done, lane))
        if lane.waiting and lane.under_way < _AT_ONCE:
            self._start(lane)

    def _over(self, task: "asyncio.Task[None]", lane: _Lane) -> None:
        self._tasks.discard(task)
        lane.under_way -= 1
        if lane.waiting and not lane.scheduled:
            self._start(lane)

    async def _send(self, batch: list[_Asked]) -> None:
        try:
            async with BoundedWait(self._attention, self._bound):
                answers = await self._run([asked.command for asked in batch])
        except (Down, TimeoutError) as error:
            answers = [error] * len(batch)
        except asyncio.CancelledError:
            for asked in batch:
                asked.answer.cancel()
            raise
        for asked, answer in zip(batch, answers, strict=True):
            _tell(asked.answer, answer)


def _tell(future: "asyncio.Future[object]", answer: object) -> None:
    if future.done():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)


__all__ = ["RedisClient", "RedisUnavailable", "Script", "Spoiled"]

_LOG: Final = logging.getLogger(__name__)
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 4.0
"""Seconds; with the probe itself less than the 10 s after which it is in use again (FA-13)."""
_PROBE: Final = 1.0
_SILENCE: Final = 60.0


class RedisUnavailable(Exception):
    """The shared memory cannot say."""


class Script:
    """A program that the server runs as a whole."""

    __slots__ = ("digest", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.digest = sha1(text.encode(), usedforsecurity=False).hexdigest()


class RedisClient:
    """The only way to the shared memory. Use as a context manager, in a running loop."""

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
        self._attention = ResponsiveClock()
        self._batches = Pipeline(self._connection.run_all, self._attention, bound)
        self._troubles: dict[tuple[str, bool], str] = {}
        """Why a server is left alone; those with True only where it would be changed."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Connect; without success, trying goes on in the background."""
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
        self._batches.close()
        await end(list(self._tasks))
        try:
            async with asyncio.timeout(_PROBE):
                await self._connection.close()
        except (Down, TimeoutError):
            return

    @property
    def trouble(self) -> str | None:
        """Why it is not used, or a part of it; None if all is well."""
        return next(iter(self._troubles.values()), None)

    def is_away(self, key: str) -> bool:
        """Whether nothing can be read there, as far as is known without asking."""
        troubles = self._troubles
        return bool(troubles) and (self._connection.place(key), False) in troubles

    async def read(self, key: str, *command: Word, budget: TimeBudget | None = None) -> object:
        """Run a command that changes nothing; *key* says where. Raises Away, Spoiled.

        The wait draws on *budget*, if there is one.
        """
        return await self._run(key, command, writing=False, budget=budget)

    async def write(self, key: str, *command: Word, budget: TimeBudget | None = None) -> object:
        """Run a command that changes something. Raises Away, Spoiled."""
        return await self._run(key, command, writing=True, budget=budget)

    async def script(
        self,
        script: Script,
        keys: list[str],
        *words: Word,
        budget: TimeBudget | None = None,
    ) -> object:
        """Run *script* on *keys*, which lie in one slot. Raises Away, Spoiled."""
        rest = (len(keys), *keys, *words)
        try:
            return await self.write(keys[0], "EVALSHA", script.digest, *rest, budget=budget)
        except Missing:
            return await self.write(keys[0], "EVAL", script.text, *rest, budget=budget)

    def scan(self, pattern: str) -> AsyncGenerator[list[bytes], None]:
        """Return all keys like *pattern*, unbounded: raises Down."""
        return self._connection.scan(pattern)

    def keep(self, doing: Coroutine[object, object, None]) -> None:
        """Run something in the background until it ends or this client is closed."""
        task = asyncio.get_running_loop().create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(
        self,
        key: str,
        command: tuple[Word, ...],
        *,
        writing: bool,
        budget: TimeBudget | None,
    ) -> object:
        place = self._connection.place(key)
        if self._troubles and self._is_left_alone(place, writing=writing):
            raise RedisUnavailable
        try:
            async with BoundedWait(self._attention, self._bound, budget):
                return await self._batches.put(place, command)
        except OutOfTime as error:
            raise RedisUnavailable from error
        except Missing as error:
            if command[0] != "EVALSHA":
                raise RedisUnavailable from error
            raise
        except (Down, TimeoutError) as error:
            self._failed(place, key, error, writing=isinstance(error, Denied))
            raise RedisUnavailable from error

    def _is_left_alone(self, place: str, *, writing: bool) -> bool:
        troubles = self._troubles
        return (place, False) in troubles or (writing and (place, True) in troubles)

    def _failed(self, place: str, key: str, error: Exception, *, writing: bool) -> None:
        """Leave the server alone, tell people, and find out when it is back."""
        why = self._address.password.hidden_in(str(error)) or f"slower than {self._bound:g} s"
        known = (place, writing) in self._troubles
        self._troubles[place, writing] = f"{place}: {why}"
        now = self._monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + _SILENCE
            _LOG.warning("the shared memory is not used: %s: %s", place, why)
        if not known:
            self.keep(self._heal(place, key, writing=writing))

    async def _heal(self, place: str, key: str, *, writing: bool) -> None:
        pause = _FIRST_PAUSE
        while True:
            await asyncio.sleep(pause * random.uniform(0.8, 1.0))  # noqa: S311 -- a spread
            try:
                async with asyncio.timeout(_PROBE):
                    await self._probe(key, writing=writing)
            except (Down, TimeoutError):
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                del self._troubles[place, writing]
                return

    async def _probe(self, key: str, *, writing: bool) -> None:
        """Ask the server that is in charge of *key*, and if need be change it. Raises Down."""
        await self._expect((0, 1), "EXISTS", key)
        if writing:
            tag = key.partition("{")[2].partition("}")[0] or key
            name = f"timegate:1:probe:{{{tag}}}"
            await self._expect((True, b"OK"), "SET", name, "1", "PX", 1000)

    async def _expect(self, answers: Collection[object], *command: Word) -> None:
        """Run a command that no server has more than these *answers* to. Raises Down."""
        try:
            told = await self._connection.run(*command)
        except (Spoiled, Missing) as error:
            raise Down(str(error) or "it misses a script that it was not asked for") from error
        if told not in answers:
            raise Down(f"it says {repr(told)[:40]} to {command[0]!r}")
