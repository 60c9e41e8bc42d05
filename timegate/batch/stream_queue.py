"""A list in Redis Streams, on which any number of processes work.

    timegate:1:{list:NAME}:job              what is asked for, and who feeds the queue
    timegate:1:{list:NAME}:items:LANE       a stream for each lane; an entry is one page
    timegate:1:{list:NAME}:results          a stream of results, until they are collected
    timegate:1:{list:NAME}:status           progress and forecast
    timegate:1:{list:NAME}:over             the jobs that were ended or replaced, for a day

The entries of a lane are handed out by a consumer group. A worker keeps those that it works on
in its possession; what a killed worker had is handed to another after `IDLE`. An entry and its
results change places in one script, so that neither is lost. One process feeds the queue, some
hundred pages ahead, and removes the results that it has written: memory in Redis is bounded.

Every command is repeated until Redis answers. Everything that is read here is checked: another
program may have written it.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex
from types import TracebackType
from typing import Final, NamedTuple, Self

import msgspec

from timegate.batch.backlog import decoded, encoded
from timegate.batch.model import Item, ItemResult, from_line, to_line
from timegate.batch.run import BadQueue, QueueStatus
from timegate.redis.address import RedisAddress, parse_address
from timegate.redis.client import RedisClient, RedisUnavailable, Script, Spoiled
from timegate.redis.connections import Word
from timegate.resolution.model import Preferences

IDLE: Final = 20.0
"""Seconds after which an entry that its worker no longer keeps is handed to another."""
KEEP: Final = 5.0
"""Seconds between two times that a worker keeps its entries."""
_BOUND: Final = 5.0
_PAUSE: Final = 0.5
_OWNED: Final = 15_000
"""Milliseconds for which a process that feeds a queue is its only one."""
_BETWEEN_NOTES: Final = 60.0
_MOST_LANES: Final = 1000
_MOST_RESULTS: Final = 100
_LONGEST_NAME: Final = 100
_DAY: Final = 86_400

# KEYS: the streams of lanes. ARGV: consumer, milliseconds, then entries wanted of each lane.
_TAKE: Final = Script("""
local taken = {}
for place, key in ipairs(KEYS) do
  local wanted = tonumber(ARGV[place + 2])
  if redis.call('EXISTS', key) == 1 then
    redis.pcall('XGROUP', 'CREATE', key, 'timegate', '0')
    local old = redis.pcall(
      'XAUTOCLAIM', key, 'timegate', ARGV[1], ARGV[2], '0', 'COUNT', wanted)
    local found = not old.err and old[2] or {}
    if #found < wanted then
      local new = redis.call('XREADGROUP', 'GROUP', 'timegate', ARGV[1],
        'COUNT', wanted - #found, 'STREAMS', key, '>')
      for _, entry in ipairs(new and new[1] and new[1][2] or {}) do
        found[#found + 1] = entry
      end
    end
    for _, entry in ipairs(found) do
      if entry and entry[2] then taken[#taken + 1] = {place, entry[1], entry[2][2]} end
    end
  end
end
return taken
""")

# KEYS: the stream of a lane. ARGV: consumer, ids.
_KEEP: Final = Script("""
for place = 2, #ARGV do
  redis.pcall('XCLAIM', KEYS[1], 'timegate', ARGV[1], 0, ARGV[place], 'JUSTID')
end
return 1
""")

# A script, because the client library would read the reply in its own way.
_RESULTS: Final = Script("return redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[1])")

# KEYS: the stream of the lane, that of results. ARGV: id, results.
_FINISH: Final = Script("""
redis.pcall('XACK', KEYS[1], 'timegate', ARGV[1])
redis.pcall('XDEL', KEYS[1], ARGV[1])
redis.call('XADD', KEYS[2], '*', 'results', ARGV[2])
return 1
""")

# KEYS: the job, those that are over. ARGV: the job, its owner, milliseconds, seconds.
# Returns 0 if another process owns it.
_PUT_JOB: Final = Script("""
local owner = redis.call('HGET', KEYS[1], 'owner')
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local until_ = tonumber(redis.call('HGET', KEYS[1], 'until') or '') or 0
if owner and owner ~= ARGV[2] and now < until_ then return 0 end
if owner ~= ARGV[2] then redis.call('HSET', KEYS[1], 'lost', '1') end
if owner and owner ~= ARGV[2] then
  redis.call('SADD', KEYS[2], owner)
  redis.call('EXPIRE', KEYS[2], ARGV[4])
end
redis.call('HSET', KEYS[1], 'job', ARGV[1], 'owner', ARGV[2], 'until', now + ARGV[3])
local lost = redis.call('HDEL', KEYS[1], 'lost')
return lost == 1 and 2 or 1
""")

# KEYS: the job. Returns the milliseconds since its owner no longer is its only one: negative
# while it is. Nothing if there is no job.
_SINCE: Final = Script("""
local until_ = tonumber(redis.call('HGET', KEYS[1], 'until') or '')
if not until_ then return false end
local clock = redis.call('TIME')
return clock[1] * 1000 + math.floor(clock[2] / 1000) - until_
""")


@dataclass(frozen=True, slots=True)
class Job:
    """What workers have to know of a list."""

    id: str
    preferences: Preferences
    archives: str
    """A digest of the archives that are queried: they must be the same everywhere."""
    lanes: tuple[str, ...] = ()


class Entry(NamedTuple):
    """One page of a list, handed to this process."""

    lane: str
    id: str
    job: str
    last: bool
    """Whether it is the last pass."""
    items: Sequence[Item]


class PageResults(NamedTuple):
    """The results of one page."""

    id: str
    """Of the entry in the stream of results."""
    job: str
    lane: str
    results: Sequence[tuple[ItemResult, Mapping[str, int]]]
    """With the requests that each one cost, by archive."""


def read_queue_url(url: str) -> tuple[RedisAddress, str]:
    """Return the address, and the name of the queue, which follows after ``#``.

    Raises BadQueue.
    """
    address, _, name = url.partition("#")
    try:
        parsed = parse_address(address)
    except ValueError as error:
        raise BadQueue(f"--queue: {str(error).replace('cache', 'queue')}") from None
    if not all(c.isalnum() or c in "-_." for c in name) or len(name) > _LONGEST_NAME:
        raise BadQueue("--queue: a name consists of letters, digits and -_.")
    return parsed, name or "default"


class StreamQueue:
    """A queue in Redis. Use as a context manager."""

    def __init__(self, url: str, note: Callable[[str], None] = lambda _: None) -> None:
        """Use the queue at *url*; *note* is told if it cannot be reached, once a minute.

        Raises BadQueue.
        """
        address, name = read_queue_url(url)
        self._client = RedisClient(address, bound=_BOUND)
        self._place = f"timegate:1:{{list:{name}}}"
        self._consumer = token_hex(8)
        self._results = f"{self._place}:results"
        self._note = note
        self._quiet_until = 0.0

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    async def put_job(self, job: Job) -> bool:
        """Make *job* that of the queue, or keep it so; return whether its state was lost.

        Raises BadQueue if another process feeds the queue.
        """
        text = msgspec.json.encode(job)
        keys = [f"{self._place}:job", f"{self._place}:over"]
        reply = await self._script(_PUT_JOB, keys, text, job.id, _OWNED, _DAY)
        if reply == 0:
            why = (
                "another process feeds this queue: wait for it, or name another one (URL#NAME)"
            )
            raise BadQueue(f"--queue: {why}")
        return reply == 2

    async def job(self) -> Job | None:
        """Return the current job; None if there is none."""
        text = await self._read("HGET", f"{self._place}:job", "job")
        return None if text is None else read_job(text)

    async def silence(self) -> float:
        """Return for how many seconds nothing has read the results of a list; 0 if it is read.

        It is also 0 without a list. The process that reads the results owns the job, and says
        so again every few seconds.
        """
        since = await self._script(_SINCE, [f"{self._place}:job"])
        is_silent = isinstance(since, int) and since > 0
        return (since + _OWNED) / 1000 if is_silent and isinstance(since, int) else 0.0

    async def is_over(self, job: Job) -> bool:
        """Whether *job* was ended or replaced.

        A job that is merely missing is not over: a replica that was promoted may lack it, and
        the process that feeds the queue puts it there again.
        """
        current = await self.job()
        if current is not None:
            return current.id != job.id
        return await self._read("SISMEMBER", f"{self._place}:over", job.id) == 1

    async def clear(self, lanes: Sequence[str]) -> None:
        """Remove the pages of *lanes*."""
        for lane in lanes:
            await self._write("UNLINK", self._stream(lane))

    async def end(self, job: Job) -> None:
        """Remove *job* and everything that belongs to it."""
        await self._write("SADD", f"{self._place}:over", job.id)
        await self._write("EXPIRE", f"{self._place}:over", _DAY)
        await self._write("UNLINK", f"{self._place}:job")
        await self.clear(job.lanes)
        await self._write("UNLINK", self._results)

    async def feed(self, job: Job, lane: str, items: Sequence[Item], *, last: bool) -> None:
        """Add the page of *items* to *lane*."""
        text = json.dumps([job.id, last, [encoded(item) for item in items]])
        await self._write("XADD", self._stream(lane), "*", "page", text)

    async def length(self, lane: str) -> int:
        """Return how many pages of *lane* are not done."""
        reply = await self._read("XLEN", self._stream(lane))
        return reply if isinstance(reply, int) else 0

    async def take(self, wanted: Mapping[str, int]) -> list[Entry]:
        """Take as many entries as are *wanted* of each lane."""
        lanes = list(wanted)[:_MOST_LANES]
        numbers = [wanted[lane] for lane in lanes]
        streams = [self._stream(lane) for lane in lanes]
        idle = int(IDLE * 1000)
        reply = await self._script(_TAKE, streams, self._consumer, idle, *numbers)
        rows = reply if isinstance(reply, list) else []
        return [entry for row in rows if (entry := _entry(row, lanes)) is not None]

    async def keep(self, entries: Sequence[Entry]) -> None:
        """Keep *entries*, so that no other worker gets them."""
        by_lane: dict[str, list[str]] = {}
        for entry in entries:
            by_lane.setdefault(entry.lane, []).append(entry.id)
        for lane, ids in by_lane.items():
            await self._script(_KEEP, [self._stream(lane)], self._consumer, *ids)

    async def finish(
        self, entry: Entry, results: Sequence[tuple[ItemResult, Mapping[str, int]]]
    ) -> None:
        """Replace *entry* by its *results*."""
        pairs = [[to_line(result).decode(), dict(asks)] for result, asks in results]
        text = json.dumps([entry.job, entry.lane, pairs])
        await self._script(_FINISH, [self._stream(entry.lane), self._results], entry.id, text)

    async def results(self) -> list[PageResults]:
        """Return the next results, without removing them."""
        reply = await self._script(_RESULTS, [self._results], _MOST_RESULTS)
        rows = reply if isinstance(reply, list) else []
        return [read_results(row) for row in rows]

    async def remove_results(self, ids: Sequence[str]) -> None:
        """Remove results that were written."""
        if ids:
            await self._write("XDEL", self._results, *ids)

    async def report(self, status: QueueStatus) -> None:
        """Publish *status*."""
        await self._write("SET", f"{self._place}:status", msgspec.json.encode(status))

    async def status(self) -> QueueStatus | None:
        """Return the status; None if there never was a list."""
        text = await self._read("GET", f"{self._place}:status")
        try:
            return (
                None if text is None else msgspec.json.decode(_octets(text), type=QueueStatus)
            )
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
            raise _foreign() from error

    def _stream(self, lane: str) -> str:
        return f"{self._place}:items:{lane}"

    async def _read(self, *command: Word) -> object:
        return await self._repeated(lambda: self._client.read(str(command[1]), *command))

    async def _write(self, *command: Word) -> object:
        return await self._repeated(lambda: self._client.write(str(command[1]), *command))

    async def _script(self, script: Script, keys: list[str], *words: Word) -> object:
        return await self._repeated(lambda: self._client.script(script, keys, *words))

    async def _repeated(self, send: Callable[[], Awaitable[object]]) -> object:
        """Return the reply to the command that *send* sends, however often it takes."""
        while True:
            try:
                return await send()
            except RedisUnavailable:
                self._note_outage(asyncio.get_running_loop().time())
                await asyncio.sleep(_PAUSE)
            except Spoiled as error:
                raise _foreign() from error

    def _note_outage(self, now: float) -> None:
        if now >= self._quiet_until:
            self._quiet_until = now + _BETWEEN_NOTES
            trouble = (self._client.trouble or "").rstrip(".")
            why = f" ({trouble})" if trouble else ""
            self._note(f"the queue cannot be reached{why}")


def _foreign() -> BadQueue:
    return BadQueue("--queue: another program has written there; name another queue (URL#NAME)")


def _octets(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""


def read_job(text: object) -> Job:
    """Read a job. Raises BadQueue."""
    try:
        return msgspec.json.decode(_octets(text), type=Job)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise _foreign() from error


def _entry(row: object, lanes: Sequence[str]) -> Entry | None:
    """Return an entry as the script returns it; None for one that is not ours."""
    match row:
        case [int(place), bytes(name), bytes(text)] if 0 < place <= len(lanes):
            try:
                return read_entry(lanes[place - 1], name.decode(), text)
            except ValueError:
                return None
    return None


def read_entry(lane: str, name: str, text: bytes) -> Entry:
    """Read the page of one entry. Raises ValueError."""
    match _read_json(text):
        case [str(job), bool(last), [*items]] if items:
            return Entry(lane, name, job, last, [decoded(_text(item)) for item in items])
    raise ValueError("not a page of a list")


def _read_json(text: bytes) -> object:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def read_results(row: object) -> PageResults:
    """Read an entry of the stream of results; foreign ones have no results."""
    match row:
        case (bytes(name), [bytes(), bytes(text), *_]) | [
            bytes(name),
            [bytes(), bytes(text), *_],
        ]:
            pass
        case _:
            return PageResults("0-0", "", "", ())
    try:
        match _read_json(text):
            case [str(job), str(lane), [*pairs]]:
                results = [_result(pair) for pair in pairs]
                return PageResults(name.decode(), job, lane, results)
    except ValueError:
        pass
    return PageResults(name.decode("latin-1"), "", "", ())


def _result(pair: object) -> tuple[ItemResult, Mapping[str, int]]:
    match pair:
        case [str(line), dict(asks)] if all(isinstance(n, int) for n in asks.values()):
            return from_line(line.encode()), asks
    raise ValueError("not a result")
