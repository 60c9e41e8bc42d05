"""Shared breakers: a circuit that one replica has opened is opened in all of them.

Each replica still has its own circuits, and a good answer closes them. A replica in which more
than half of the circuits are open has probably lost its network, and publishes none.
"""

from collections.abc import Mapping
from typing import Final

from timegate.redis.client import RedisClient, RedisUnavailable, Script, Spoiled
from timegate.upstream.breaker import Breakers, OpenCircuit

_KEY: Final = "timegate:1:{breakers}"
_MOST: Final = 1000
_FIELDS: Final = 3

# ARGV: the number of archives to remove, their names, then name, failures, openings and
# milliseconds of each open circuit. Entries that have ended, or that last longer than any
# circuit is open, are removed.
_EXCHANGE: Final = Script("""
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local removed = tonumber(ARGV[1])
for i = 2, removed + 1 do redis.call('HDEL', KEYS[1], ARGV[i]) end
for i = removed + 2, #ARGV, 4 do
  local until_ = string.format('%.0f', now + ARGV[i + 3])
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1] .. ' ' .. ARGV[i + 2] .. ' ' .. until_)
end
if redis.call('HLEN', KEYS[1]) > 1000 then redis.call('DEL', KEYS[1]) end
local open = {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local failures, openings, until_ = string.match(all[i + 1], '^(%d+) (%d+) (%d+)$')
  local left = (tonumber(until_ or '') or 0) - now
  if left <= 0 or left > 400000 then
    redis.call('HDEL', KEYS[1], all[i])
  else
    open[#open + 1] = all[i]
    open[#open + 1] = failures .. ' ' .. openings .. ' ' .. string.format('%.0f', left)
  end
end
redis.call('PEXPIRE', KEYS[1], 400000)
return open
""")


class SharedBreakers:
    """Publishes open circuits to the other replicas, and applies theirs."""

    def __init__(self, client: RedisClient, breakers: Breakers) -> None:
        self._client = client
        self._breakers = breakers
        self._published: dict[str, float] = {}
        """Until when circuits are open, as this replica published it."""
        self._received: dict[str, float] = {}
        """Until when circuits are open that other replicas had published at the last
        exchange."""

    async def exchange(self) -> None:
        """Publish and apply once."""
        circuits = self._breakers.open_circuits()
        doubtful = 2 * len(circuits) > self._breakers.number
        new = {} if doubtful else {a: c for a, c in circuits.items() if self._is_new(a, c)}
        closed = [a for a in (*self._published, *self._received) if self._is_closed(a)]
        removed = [*self._published] if doubtful else closed
        try:
            reply = await self._client.script(_EXCHANGE, [_KEY], *_arguments(removed, new))
        except RedisUnavailable:
            return
        except Spoiled:
            await self._forget_all()
            return
        until = {archive: circuit.until for archive, circuit in circuits.items()}
        unchanged = {a for a, end in self._published.items() if until.get(a) == end}
        published = () if doubtful else unchanged | new.keys()
        self._published = {archive: until[archive] for archive in published}
        self._apply(_read(reply))

    def _is_closed(self, archive: str) -> bool:
        return self._breakers.standing(archive) == "closed"

    def _is_new(self, archive: str, circuit: OpenCircuit) -> bool:
        return archive not in self._received and self._published.get(archive) != circuit.until

    def _apply(self, shared: Mapping[str, tuple[int, int, float]]) -> None:
        known = {name: shared[name] for name in shared if self._breakers.knows(name)}
        for archive, (failures, openings, seconds) in known.items():
            self._breakers.advise(archive, failures, openings, seconds)
        until = {a: circuit.until for a, circuit in self._breakers.open_circuits().items()}
        for archive, end in self._received.items():
            if archive not in known and until.get(archive) == end:
                # Another replica had a good answer: send a probe.
                self._breakers.wake(archive)
        self._received = {name: until[name] for name in known if name in until}

    async def _forget_all(self) -> None:
        try:
            await self._client.write(_KEY, "UNLINK", _KEY)
        except (RedisUnavailable, Spoiled):
            return


def _arguments(removed: list[str], new: Mapping[str, OpenCircuit]) -> list[str | float]:
    added = [
        word
        for archive, circuit in new.items()
        for word in (archive, circuit.failures, circuit.openings, int(circuit.left * 1000))
    ]
    return [len(removed), *removed, *added]


def _read(reply: object) -> dict[str, tuple[int, int, float]]:
    """Return failures, openings and seconds by archive; invalid entries are left out."""
    if not isinstance(reply, list):
        return {}
    found = {}
    for name, value in zip(reply[: 2 * _MOST : 2], reply[1 : 2 * _MOST : 2], strict=False):
        numbers = value.split() if isinstance(value, bytes) else []
        if isinstance(name, bytes) and len(numbers) == _FIELDS and all(map(_is_small, numbers)):
            failures, openings, left = map(int, numbers)
            found[name.decode(errors="replace")] = failures, openings, left / 1000
    return found


def _is_small(number: bytes) -> bool:
    return number.isdigit() and len(number) < 8
