"""Archives that were found dead: what one replica has learned, all of them heed.

Advice, not law: each replica has its own circuits, and a good answer closes them. Who finds
more than half of the archives dead doubts its own network and tells nobody.
"""

from collections.abc import Mapping
from typing import Final

from timegate.redis.client import RedisClient, RedisUnavailable, Script, Spoiled
from timegate.upstream.breaker import Breakers, OpenCircuit

_KEY: Final = "timegate:1:{breakers}"
_MOST: Final = 1000
_FIELDS: Final = 3

# ARGV: how many archives to forget, those, then name, failures, openings and milliseconds of
# those that are dead. What has ended, or will end later than any rest, is thrown away.
_EXCHANGE: Final = Script("""
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local forgotten = tonumber(ARGV[1])
for i = 2, forgotten + 1 do redis.call('HDEL', KEYS[1], ARGV[i]) end
for i = forgotten + 2, #ARGV, 4 do
  local until_ = string.format('%.0f', now + ARGV[i + 3])
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1] .. ' ' .. ARGV[i + 2] .. ' ' .. until_)
end
if redis.call('HLEN', KEYS[1]) > 1000 then redis.call('DEL', KEYS[1]) end
local told = {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local failures, openings, until_ = string.match(all[i + 1], '^(%d+) (%d+) (%d+)$')
  local left = (tonumber(until_ or '') or 0) - now
  if left <= 0 or left > 400000 then
    redis.call('HDEL', KEYS[1], all[i])
  else
    told[#told + 1] = all[i]
    told[#told + 1] = failures .. ' ' .. openings .. ' ' .. string.format('%.0f', left)
  end
end
redis.call('PEXPIRE', KEYS[1], 400000)
return told
""")


class SharedBreakers:
    """Tells the others what changed here, and heeds what they tell."""

    def __init__(self, client: RedisClient, breakers: Breakers) -> None:
        self._client = client
        self._breakers = breakers
        self._told: dict[str, float] = {}
        """Until when archives are dead, as the others know it from us."""
        self._heard: dict[str, float] = {}
        """Until when we leave those alone that were named when we last asked."""

    async def exchange(self) -> None:
        """Do both, once."""
        circuits = self._breakers.open_circuits()
        doubting = 2 * len(circuits) > self._breakers.number
        news = {} if doubting else {a: d for a, d in circuits.items() if self._is_news(a, d)}
        alive = [a for a in (*self._told, *self._heard) if self._is_alive(a)]
        forgotten = [*self._told] if doubting else alive
        try:
            reply = await self._client.script(_EXCHANGE, [_KEY], *_words(forgotten, news))
        except RedisUnavailable:
            return
        except Spoiled:
            await self._forget_all()
            return
        still = {a for a, until in self._told.items() if a in circuits and circuits[a].until == until}
        told = () if doubting else still | news.keys()
        self._told = {archive: circuits[archive].until for archive in told}
        self._heed(_read(reply))

    def _is_alive(self, archive: str) -> bool:
        return self._breakers.standing(archive) == "closed"

    def _is_news(self, archive: str, circuits: OpenCircuit) -> bool:
        return archive not in self._heard and self._told.get(archive) != circuits.until

    def _heed(self, told: Mapping[str, tuple[int, int, float]]) -> None:
        known = {name: told[name] for name in told if self._breakers.knows(name)}
        for archive, (failures, openings, seconds) in known.items():
            self._breakers.advise(archive, failures, openings, seconds)
        circuits = self._breakers.open_circuits()
        for archive, until in self._heard.items():
            if archive not in known and archive in circuits and circuits[archive].until == until:
                # Somebody had a good answer: see for ourselves.
                self._breakers.wake(archive)
        self._heard = {name: circuits[name].until for name in known if name in circuits}

    async def _forget_all(self) -> None:
        try:
            await self._client.write(_KEY, "UNLINK", _KEY)
        except (RedisUnavailable, Spoiled):
            return


def _words(forgotten: list[str], news: Mapping[str, OpenCircuit]) -> list[str | float]:
    told = [
        word
        for archive, circuits in news.items()
        for word in (archive, circuits.failures, circuits.openings, int(circuits.left * 1000))
    ]
    return [len(forgotten), *forgotten, *told]


def _read(reply: object) -> dict[str, tuple[int, int, float]]:
    """Return failures, openings and seconds by archive; what is anything else is left out."""
    if not isinstance(reply, list):
        return {}
    found = {}
    for name, said in zip(reply[: 2 * _MOST : 2], reply[1 : 2 * _MOST : 2], strict=False):
        numbers = said.split() if isinstance(said, bytes) else []
        if isinstance(name, bytes) and len(numbers) == _FIELDS and all(map(_is_small, numbers)):
            failures, openings, left = map(int, numbers)
            found[name.decode(errors="replace")] = failures, openings, left / 1000
    return found


def _is_small(number: bytes) -> bool:
    return number.isdigit() and len(number) < 8
