"""Forecast: when a run will end, from the requests that every archive still has to answer.

Lanes share archives: references without an archive ask all of them, and so do references that
the named archive does not hold. As long as any reference needs an archive, its allowance is
used. So the run ends when the archive that has the most to do, for what it allows, is done;
unless a lane is slow for another reason, and then it goes on as it was measured.
"""

import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from archives.model import Rate

_SAMPLE: Final = 5.0
"""Seconds between two samples."""
_SAMPLES: Final = 24
_SETTLED: Final = 15.0
"""Seconds at the beginning that do not count: the burst of each archive is used up there."""
_ENOUGH: Final = 20.0
"""Seconds after which a lane is measured well enough."""
_BUSY: Final = 0.85
"""The part of its allowance from which an archive counts as busy: it determines how fast those
lanes are that need it."""


@dataclass(frozen=True, slots=True)
class LaneLoad:
    """What is known of one lane."""

    left: int
    """Items that are not done."""
    rate: float | None
    """Items done in a second; None while that is not known."""
    asks: Mapping[str, float] = field(default_factory=dict)
    """Requests that an item cost that is done, by host."""
    so_far: float | None = None
    """Items done in a second since the start, which an unmeasured lane will hardly exceed."""
    needs: Mapping[str, float] | None = None
    """Requests that will still be sent for this lane, by host; None for as many as `asks`."""

    def need(self, host: str) -> float:
        """Return the requests to *host* that will still be sent."""
        if self.needs is None:
            return self.left * self.asks.get(host, 0.0)
        return self.needs.get(host, 0.0)


def forecast(
    lanes: Mapping[str, LaneLoad],
    allowances: Mapping[str, float],
    flows: Mapping[str, float] = MappingProxyType({}),
) -> float | None:
    """Return the seconds until every lane is empty; None if nothing is known of a lane.

    *allowances* are requests in a second, by archive, which is also the name of its lane;
    *flows* are the most requests in a second that fit what was measured.
    """
    busy = {host for host, most in allowances.items() if flows.get(host, 0) >= _BUSY * most}
    # An archive that is busy keeps its speed; that of the others is not known.
    speeds = {
        host: min(flows[host], allowed) if host in busy else allowed
        for host, allowed in allowances.items()
    }
    seconds = [
        sum(load.need(host) for load in lanes.values()) / speed
        for host, speed in speeds.items()
    ]
    for lane, load in lanes.items():
        if load.left <= 0:
            continue
        rate = load.rate or allowances.get(lane)
        if not rate:
            return None
        if load.rate is None or not any(load.need(host) > 0 for host in busy):
            seconds.append(load.left / rate)
        if load.rate is None and load.so_far:
            seconds.append(load.left / load.so_far)
    longest = max(seconds, default=0.0)
    # What archives allow says little where they allow almost anything.
    is_known = longest >= 1 or all(load.rate or not load.left for load in lanes.values())
    return longest if is_known else None


def per_second(rate: Rate) -> float:
    """Return the requests that *rate* allows in a second."""
    return rate.requests / rate.seconds


class _Speed:
    """The speed of a count, from samples of the last two minutes."""

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque(maxlen=_SAMPLES)

    def note(self, now: float, count: int) -> None:
        if not self._samples or now - self._samples[-1][0] >= _SAMPLE:
            self._samples.append((now, count))

    def measured(self) -> float | None:
        """Return the counts in a second; None while that is not known."""
        if not self._samples:
            return None
        (first, before), (last, after) = self._samples[0], self._samples[-1]
        return (after - before) / (last - first) if last - first >= _ENOUGH else None

    def at_most(self) -> float | None:
        """Return the most that fits the samples: of few counts, some are always missing."""
        measured = self.measured()
        if measured is None:
            return None
        seconds = self._samples[-1][0] - self._samples[0][0]
        return measured + (2 * math.sqrt(measured * seconds) + 2) / seconds


class LaneMeter:
    """Measures how fast lanes move, and what their items cost."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began = clock()
        self._done: Counter[str] = Counter()
        self._requests: Counter[str] = Counter()
        self._speeds: dict[str, _Speed] = defaultdict(_Speed)
        """How fast the items of each lane are done."""
        self._flows: dict[str, _Speed] = defaultdict(_Speed)
        """How fast each host answers."""
        self._asked: dict[str, Counter[str]] = defaultdict(Counter)
        self._done_elsewhere: Counter[str] = Counter()
        """Items that needed other archives than that of their lane."""
        self._asked_elsewhere: dict[str, Counter[str]] = defaultdict(Counter)

    def done(self, lane: str, asks: Mapping[str, int]) -> None:
        """Note that an item of *lane* is done, and the requests that it cost, by archive."""
        self._done[lane] += 1
        self._asked[lane].update(asks)
        if any(host.partition(" ")[0] != lane for host in asks):
            self._done_elsewhere[lane] += 1
            self._asked_elsewhere[lane].update(asks)
        self._requests.update(asks)
        now = self._clock()
        if now - self._began >= _SETTLED:
            self._speeds[lane].note(now, self._done[lane])
            for host in asks:
                self._flows[host].note(now, self._requests[host])

    def flows(self) -> dict[str, float]:
        """Return the most requests in a second to each host that fit what was measured."""
        measured = {host: speed.at_most() for host, speed in self._flows.items()}
        return {host: flow for host, flow in measured.items() if flow is not None}

    def load(self, lane: str, left: int, elsewhere: int = 0) -> LaneLoad:
        """Return the load of *lane*, in which *left* items are not done.

        *elsewhere* of these wait for other archives than their own.
        """
        done = self._done[lane]
        if not done:
            return LaneLoad(left, None, needs=self._needs_like_others(lane, left))
        asked = self._asked[lane]
        asks = {host: number / done for host, number in asked.items()}
        seconds = self._clock() - self._began
        so_far = done / seconds if seconds >= _SAMPLE else None
        needs = self._needs(lane, left, elsewhere)
        return LaneLoad(left, self._speeds[lane].measured(), asks, so_far, needs)

    def _needs_like_others(self, lane: str, left: int) -> dict[str, float]:
        """Return the requests that *left* items will cost their archive, as others cost theirs.

        None of *lane* is done: of a slow archive, the first copy is checked late.
        """
        if not lane:
            return {}
        others = [each for each in self._done if each]
        items = sum(self._done[each] for each in others)
        own = sum(self._asked[each][each] for each in others)
        return {lane: left * max(own / items, 1.0) if items else float(left)}

    def _needs(self, lane: str, left: int, elsewhere: int) -> dict[str, float]:
        """Return the requests that *left* items will cost, by host.

        An item that only its own archive was asked for is done sooner than others. So those
        that are not done, and wait elsewhere, count like those that are done and did.
        """
        done, asked = self._done[lane], self._asked[lane]
        costs = self._costs_elsewhere(lane)
        hosts = asked.keys() | costs.keys()
        items, known = done + left, done + elsewhere
        return {
            host: max((asked[host] + elsewhere * costs[host]) / known * items - asked[host], 0)
            for host in hosts
        }

    def _costs_elsewhere(self, lane: str) -> Counter[str]:
        """Return the requests of an item that its own archive does not hold, by host.

        While no such item of *lane* is done, those of other lanes are taken for the like.
        """
        like = [lane] if self._done_elsewhere[lane] else [*self._done_elsewhere]
        items = sum(self._done_elsewhere[each] for each in like)
        asked: Counter[str] = Counter()
        for each in like:
            asked.update(self._asked_elsewhere[each])
        costs: Counter[str] = Counter()
        for host, number in asked.items():
            costs[host] = number / items  # type: ignore[assignment]
        return costs
