"""What archives have shown: how fast they answer, when they last did, which sites they hold.

Learned from real answers alone, never from the cache. Everything fades: latency with the
number of answers, holdings with time. Everything is bounded: what was not seen for longest is
forgotten first. The clock is that of the wall, because a record outlives its process.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, log2
from typing import Annotated, Final, Literal, NamedTuple, Protocol

import msgspec

from archives.surt import surt
from timegate.routing.mementomap import UNKNOWN, MementoMap, Presence

Outcome = Literal["found", "absent", "failed"]

UNKNOWN_LATENCY: Final = 0.376
"""Seconds. Unbound's UNKNOWN_SERVER_NICENESS: who was never asked counts as rather fast, so
that it is asked."""
BAND: Final = 0.4
"""Seconds. Unbound's RTT_BAND: differences below it are no reason to prefer anybody."""

MOST_ARCHIVES: Final = 1_000
MOST_TALLIES: Final = 20_000
"""About 250 octets each."""
HALF_LIFE: Final = 30 * 86_400.0
"""Broad crawls come a few times a year; after a month a no is half as sure."""
_HARDLY: Final = 60.0
"""Seconds in which nothing fades that anybody could see."""
BUCKETS: Final = 64
"""Four to each doubling from 1 ms to 55 s: a percentile is at most 9 % off."""
_REMEMBERED: Final = 256.0
"""Answers after which the weight of all earlier ones is halved."""
_LONGEST_HOST: Final = 255
MOST_RECENT: Final = 40
"""Answers of an archive that are remembered one by one, for a picture of them."""


class Latency(NamedTuple):
    """How long an archive usually takes, in seconds."""

    median: float
    p95: float
    known: bool = True

    @property
    def band(self) -> int:
        """0 for those that answer within 400 ms, 1 within 800 ms, and so on."""
        return int(self.median / BAND)


class RecentRequest(NamedTuple):
    """How asking an archive went, once."""

    seconds: float
    answered: bool


UNOBSERVED: Final = Latency(UNKNOWN_LATENCY, UNKNOWN_LATENCY + BAND, known=False)


class HoldingCount(NamedTuple):
    """How often an archive had something and how often it had not, faded up to *at*."""

    hits: float = 0.0
    misses: float = 0.0
    at: float = 0.0

    @property
    def total(self) -> float:
        return self.hits + self.misses

    def faded(self, now: float) -> "HoldingCount":
        """Return what is left of it by *now*."""
        weight: float = 0.5 ** (max(now - self.at, 0.0) / HALF_LIFE)
        return HoldingCount(self.hits * weight, self.misses * weight, now)

    def with_one(self, *, hit: bool, now: float) -> "HoldingCount":
        """Return the tally after one more answer."""
        if now - self.at < _HARDLY:
            return HoldingCount(self.hits + hit, self.misses + (not hit), self.at)
        hits, misses, _ = self.faded(now)
        return HoldingCount(hits + hit, misses + (not hit), now)


_NEW: Final = HoldingCount()


class Experience(NamedTuple):
    """What one archive answered before: in all, under a top-level domain, about a site."""

    overall: HoldingCount = HoldingCount()
    domain: HoldingCount = HoldingCount()
    site: HoldingCount = HoldingCount()


@dataclass(slots=True)
class _Record:
    buckets: list[float] = field(default_factory=lambda: [0.0] * BUCKETS)
    last_success: float | None = None
    last_failure: float | None = None
    seen: float = 0.0
    """How many answers there are in all buckets."""
    recent: deque[RecentRequest] = field(default_factory=lambda: deque(maxlen=MOST_RECENT))
    measured: Latency | None = None
    """Kept until the next answer: it is looked at far more often than it changes."""

    @property
    def latency(self) -> Latency:
        if self.measured is None:
            known = any(self.buckets)
            quantiles = Latency(self.quantile(0.5), self.quantile(0.95))
            self.measured = quantiles if known else UNOBSERVED
        return self.measured

    def add(self, seconds: float) -> None:
        if self.seen >= _REMEMBERED:
            self.buckets = [count / 2 for count in self.buckets]
            self.seen /= 2
        self.buckets[_bucket(seconds)] += 1.0
        self.seen += 1.0
        self.measured = None

    def quantile(self, share: float) -> float:
        """Return the middle of the bucket below which *share* of all answers lie."""
        reached, wanted = 0.0, share * sum(self.buckets)
        for index, count in enumerate(self.buckets):
            reached += count
            if count and reached >= wanted:
                return float(2 ** ((index - 0.5) / 4) / 1000)
        return UNKNOWN_LATENCY


class Observations:
    """The memory of all archives."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """*clock* tells the seconds since 1970."""
        self.restored = False
        """Whether the observations of earlier processes were read."""
        self._clock = clock
        self._records: OrderedDict[str, _Record] = OrderedDict()
        self._tallies: OrderedDict[tuple[str, str], HoldingCount] = OrderedDict()

    def note(self, archive: str, host: str, outcome: Outcome, seconds: float) -> None:
        """Remember how asking *archive* about a page of *host* went."""
        now, record = self._clock(), self._records.get(archive)
        if record is None:
            record = self._records[archive] = _Record()
        record.recent.append(RecentRequest(seconds, outcome != "failed"))
        if outcome == "failed":
            record.last_failure = now
            # A fast refusal says nothing of how fast it answers; a slow failure does.
            if seconds > record.latency.median:
                record.add(seconds)
        else:
            record.last_success = now
            record.add(seconds)
            hit = outcome == "found"
            for scope in _scopes(host):
                key = (archive, scope)
                self._tallies[key] = self._tallies.get(key, _NEW).with_one(hit=hit, now=now)
                self._tallies.move_to_end(key)
        self._forget()

    def latency(self, archive: str) -> Latency:
        """Return median and 95th percentile; `UNOBSERVED` for an archive that was never asked."""
        record = self._records.get(archive)
        return UNOBSERVED if record is None else record.latency

    def recent(self, archive: str) -> tuple[RecentRequest, ...]:
        """Return how the last questions to *archive* went, since the start, oldest first."""
        record = self._records.get(archive)
        return () if record is None else tuple(record.recent)

    def last_success(self, archive: str) -> float | None:
        """When it last answered, in seconds since 1970; None if never."""
        record = self._records.get(archive)
        return None if record is None else record.last_success

    def last_failure(self, archive: str) -> float | None:
        """When it last failed, in seconds since 1970; None if never."""
        record = self._records.get(archive)
        return None if record is None else record.last_failure

    def experience(self, archive: str, host: str) -> Experience:
        """Return what *archive* answered before about pages like those of *host*."""
        now = self._clock()
        tallies = (
            self._tallies.get((archive, scope), HoldingCount()) for scope in _scopes(host)
        )
        return Experience(*(tally.faded(now) for tally in tallies))

    def export(self) -> dict[str, object]:
        """Return all of it in types that JSON has."""
        records = {
            name: _SavedRecord(record.buckets, record.last_success, record.last_failure)
            for name, record in self._records.items()
        }
        tallies = [(*key, *tally) for key, tally in self._tallies.items()]
        exported: dict[str, object] = msgspec.to_builtins(_Saved(records, tallies))
        return exported

    def restore(self, exported: object) -> None:
        """Take over what `export` returned, in place of everything. Raises ValueError."""
        try:
            saved = msgspec.convert(exported, _Saved)
        except msgspec.ValidationError as error:
            raise ValueError(f"no record of archives: {error}") from error
        self._records = OrderedDict(
            (name, _restored(one)) for name, one in saved.archives.items()
        )
        self._tallies = OrderedDict(
            ((archive, scope), HoldingCount(hits, misses, at))
            for archive, scope, hits, misses, at in saved.tallies
        )
        self._forget()

    def _forget(self) -> None:
        while len(self._records) > MOST_ARCHIVES:
            self._records.popitem(last=False)
        while len(self._tallies) > MOST_TALLIES:
            self._tallies.popitem(last=False)


_Amount = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
_Buckets = Annotated[list[_Amount], msgspec.Meta(min_length=BUCKETS, max_length=BUCKETS)]


class _SavedRecord(msgspec.Struct):
    latency: _Buckets
    last_success: _Amount | None
    last_failure: _Amount | None


class _Saved(msgspec.Struct):
    archives: dict[str, _SavedRecord]
    tallies: list[tuple[str, str, _Amount, _Amount, _Amount]]


def site_of(host: str) -> str:
    """Return about the domain that was registered: ``bbc.co.uk`` for ``news.bbc.co.uk``.

    Guessed without the Public Suffix List: three labels where the last two are as short as
    those of ``co.uk``, else two. A wrong guess only makes the key finer or coarser.
    """
    labels = host.lower().rstrip(".").split(".")
    if labels[-1].isdecimal():
        return host
    short = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3
    return ".".join(labels[-3:] if short else labels[-2:])


def _restored(one: _SavedRecord) -> _Record:
    buckets = list(one.latency)
    return _Record(buckets, one.last_success, one.last_failure, sum(buckets))


@lru_cache(maxsize=1024)
def _scopes(host: str) -> tuple[str, ...]:
    """Everything, the top-level domain, the site: the keys under which answers are counted."""
    if not host or len(host) > _LONGEST_HOST:
        return ("",)
    site = site_of(host)
    return ("", "." + site.rpartition(".")[2], site)


def _bucket(seconds: float) -> int:
    milliseconds = max(seconds * 1000, 1.0)
    return min(ceil(4 * log2(milliseconds)), BUCKETS - 1)


Standing = Literal["closed", "open", "half-open"]
"""That of the breaker: requests pass, none passes, a single one may."""


class Knowledge(Protocol):
    """The seam: routing asks these questions and no others."""

    @property
    def local(self) -> frozenset[str]:
        """Ids of collections on this machine."""
        ...

    @property
    def private(self) -> frozenset[str]:
        """Ids of the operator's own archives."""
        ...

    def presence(self, archive: str, url: str) -> Presence:
        """Return what the archive declares to hold."""
        ...

    def experience(self, archive: str, host: str) -> Experience:
        """Return what it answered before."""
        ...

    def latency(self, archive: str) -> Latency: ...

    def standing(self, archive: str) -> Standing: ...


@dataclass(frozen=True, slots=True)
class CombinedKnowledge:
    """Knowledge put together from maps, observations and breakers."""

    observations: Observations
    health: Callable[[str], Standing]
    maps: Mapping[str, MementoMap] = field(default_factory=dict)
    local: frozenset[str] = frozenset()
    private: frozenset[str] = frozenset()

    def presence(self, archive: str, url: str) -> Presence:
        """Unknown where there is no map."""
        found = self.maps.get(archive)
        return UNKNOWN if found is None else found.holds(surt(url))

    def experience(self, archive: str, host: str) -> Experience:
        return self.observations.experience(archive, host)

    def latency(self, archive: str) -> Latency:
        return self.observations.latency(archive)

    def standing(self, archive: str) -> Standing:
        return "closed" if archive in self.local else self.health(archive)
