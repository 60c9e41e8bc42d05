"""Observations of archives: latency, last success and failure, and which sites they hold.

They are learned from real answers, never from the cache. Old observations lose weight: latency
with the number of answers, holdings with time. All are bounded in number: those not updated for
longest are dropped first. Times are wall-clock times, because a record outlives its process.
"""

from bisect import bisect_left
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Final, Literal, NamedTuple, Protocol

import msgspec

from archives.surt import surt
from timegate.routing.mementomap import UNKNOWN, MementoMap, Presence

Outcome = Literal["found", "absent", "failed"]

UNKNOWN_LATENCY: Final = 0.376
"""Seconds. Unbound's UNKNOWN_SERVER_NICENESS: an archive that was never queried counts as
rather fast, so that it is queried."""
BAND: Final = 0.4
"""Seconds. Unbound's RTT_BAND: a smaller difference is no reason to prefer an archive."""

MOST_ARCHIVES: Final = 1_000
MOST_TALLIES: Final = 20_000
"""About 250 bytes each."""
HALF_LIFE: Final = 30 * 86_400.0
"""Seconds. Broad crawls happen a few times a year; after a month a count weighs half."""
_NEGLIGIBLE: Final = 60.0
"""Seconds in which the loss of weight is negligible."""
BUCKETS: Final = 64
"""Four to each doubling from 1 ms to 55 s: a percentile is at most 9 % off."""
_MOST_WEIGHT: Final = 256.0
"""Answers after which the weight of all earlier ones is halved."""
_LONGEST_HOST: Final = 255
_MOST_NOTED: Final = 256
_Note = tuple[str, str, Outcome, float, float]
"""Archive, host, outcome, seconds, and when it was noted."""
_AT: Final = 4
MOST_RECENT: Final = 40
"""Answers of an archive that are remembered one by one, for the chart on its page."""


class Latency(NamedTuple):
    """How long an archive usually takes, in seconds."""

    median: float
    p95: float
    known: bool = True

    @property
    def band(self) -> int:
        """0 for a median below 400 ms, 1 below 800 ms, and so on."""
        return int(self.median / BAND)


class RecentRequest(NamedTuple):
    """One request to an archive."""

    seconds: float
    answered: bool


UNOBSERVED: Final = Latency(UNKNOWN_LATENCY, UNKNOWN_LATENCY + BAND, known=False)


class HoldingCount(NamedTuple):
    """How often an archive had a page and how often it had not, weighted as of *at*."""

    hits: float = 0.0
    misses: float = 0.0
    at: float = 0.0

    @property
    def total(self) -> float:
        return self.hits + self.misses

    def faded(self, now: float) -> "HoldingCount":
        """Return the counts with their weight at *now*."""
        weight: float = 0.5 ** (max(now - self.at, 0.0) / HALF_LIFE)
        return HoldingCount(self.hits * weight, self.misses * weight, now)


class _Tally:
    """A `HoldingCount` that is counted on: every answer changes three of them."""

    __slots__ = ("at", "hits", "misses")

    def __init__(self, hits: float, misses: float, at: float) -> None:
        self.hits = hits
        self.misses = misses
        self.at = at

    @property
    def count(self) -> HoldingCount:
        return HoldingCount(self.hits, self.misses, self.at)

    def fade(self, now: float) -> None:
        self.hits, self.misses, self.at = self.count.faded(now)


class Experience(NamedTuple):
    """Earlier answers of one archive: in all, under a top-level domain, about a site."""

    overall: HoldingCount = HoldingCount()
    domain: HoldingCount = HoldingCount()
    site: HoldingCount = HoldingCount()


@dataclass(slots=True)
class _ArchiveRecord:
    buckets: list[float] = field(default_factory=lambda: [0.0] * BUCKETS)
    last_success: float | None = None
    last_failure: float | None = None
    seen: float = 0.0
    """Weight of the answers in all buckets."""
    recent: deque[tuple[float, bool]] = field(default_factory=lambda: deque(maxlen=MOST_RECENT))
    measured: Latency | None = None
    """Cached until the next answer: it is read far more often than it changes."""

    @property
    def latency(self) -> Latency:
        if self.measured is None:
            known = any(self.buckets)
            quantiles = Latency(self.quantile(0.5), self.quantile(0.95))
            self.measured = quantiles if known else UNOBSERVED
        return self.measured

    def add(self, seconds: float) -> None:
        if self.seen >= _MOST_WEIGHT:
            self.buckets = [count / 2 for count in self.buckets]
            self.seen /= 2
        self.buckets[_bucket(seconds)] += 1.0
        self.seen += 1.0
        self.measured = None

    def quantile(self, share: float) -> float:
        """Return the middle of the bucket that holds the quantile *share*."""
        reached, wanted = 0.0, share * sum(self.buckets)
        for index, count in enumerate(self.buckets):
            reached += count
            if count and reached >= wanted:
                return float(2 ** ((index - 0.5) / 4) / 1000)
        return UNKNOWN_LATENCY


class Observations:
    """The observations of all archives."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """*clock* returns the seconds since 1970."""
        self.restored = False
        """Whether the observations of earlier processes were read."""
        self._clock = clock
        self._records: OrderedDict[str, _ArchiveRecord] = OrderedDict()
        self._tallies: OrderedDict[tuple[str, str], _Tally] = OrderedDict()
        self._is_crowded = False
        self._noted: list[_Note] = []
        """What is not in the records yet: it is read far less often than noted."""

    def note(self, archive: str, host: str, outcome: Outcome, seconds: float) -> None:
        """Note the outcome of a question to *archive* about a page of *host*."""
        noted, now = self._noted, self._clock()
        noted.append((archive, host, outcome, seconds, now))
        if len(noted) >= _MOST_NOTED or now - noted[0][_AT] >= _NEGLIGIBLE:
            self._learn()

    def _learn(self) -> None:
        """Take what was noted into the records; counts for one archive and host together."""
        noted, self._noted = self._noted, []
        for archive, _, outcome, seconds, at in noted:
            self._time(archive, outcome, seconds, at)
        for (archive, host, outcome), number in Counter([note[:3] for note in noted]).items():
            if outcome != "failed":
                self._count(archive, host, noted[-1][_AT], number, hit=outcome == "found")

    def _time(self, archive: str, outcome: Outcome, seconds: float, now: float) -> None:
        record = self._records.get(archive)
        if record is None:
            record = self._records[archive] = _ArchiveRecord()
            self._forget()
        record.recent.append((seconds, outcome != "failed"))
        if outcome == "failed":
            record.last_failure = now
            # A fast refusal is no measure of latency; a slow failure is.
            if seconds > record.latency.median:
                record.add(seconds)
        else:
            record.last_success = now
            record.add(seconds)

    def _count(self, archive: str, host: str, now: float, number: int, *, hit: bool) -> None:
        tallies = self._tallies
        for scope in _scopes(host):
            key = (archive, scope)
            tally = tallies.get(key)
            if tally is None:
                tally = tallies[key] = _Tally(0.0, 0.0, now)
                self._forget()
            elif now - tally.at >= _NEGLIGIBLE:
                tally.fade(now)
            if hit:
                tally.hits += number
            else:
                tally.misses += number
            if self._is_crowded:
                tallies.move_to_end(key)

    def _record(self, archive: str) -> _ArchiveRecord | None:
        self._learn()
        return self._records.get(archive)

    def latency(self, archive: str) -> Latency:
        """Return median and 95th percentile; `UNOBSERVED` for an archive never queried."""
        record = self._record(archive)
        return UNOBSERVED if record is None else record.latency

    def recent(self, archive: str) -> tuple[RecentRequest, ...]:
        """Return the last requests to *archive* since the start, oldest first."""
        record = self._record(archive)
        return () if record is None else tuple(RecentRequest(*each) for each in record.recent)

    def last_success(self, archive: str) -> float | None:
        """Return the time of the last answer, in seconds since 1970; None if never."""
        record = self._record(archive)
        return None if record is None else record.last_success

    def last_failure(self, archive: str) -> float | None:
        """Return the time of the last failure, in seconds since 1970; None if never."""
        record = self._record(archive)
        return None if record is None else record.last_failure

    def experience(self, archive: str, host: str) -> Experience:
        """Return the earlier answers of *archive* about pages like those of *host*."""
        self._learn()
        now = self._clock()
        tallies = (self._tallies.get((archive, scope)) for scope in _scopes(host))
        return Experience(
            *((HoldingCount() if t is None else t.count).faded(now) for t in tallies)
        )

    def export(self) -> dict[str, object]:
        """Return all observations in types that JSON has."""
        self._learn()
        records = {
            name: _SavedRecord(record.buckets, record.last_success, record.last_failure)
            for name, record in self._records.items()
        }
        tallies = [(*key, *tally.count) for key, tally in self._tallies.items()]
        exported: dict[str, object] = msgspec.to_builtins(_Saved(records, tallies))
        return exported

    def restore(self, exported: object) -> None:
        """Replace all observations by what `export` returned. Raises ValueError."""
        try:
            saved = msgspec.convert(exported, _Saved)
        except msgspec.ValidationError as error:
            raise ValueError(f"not observations of archives: {error}") from error
        self._noted.clear()
        self._records = OrderedDict(
            (name, _restored(saved_record)) for name, saved_record in saved.archives.items()
        )
        self._tallies = OrderedDict(
            ((archive, scope), _Tally(hits, misses, at))
            for archive, scope, hits, misses, at in saved.tallies
        )
        self._forget()

    def _forget(self) -> None:
        """Drop the oldest records and tallies; those in use move to the end near the limit."""
        self._is_crowded = len(self._tallies) > MOST_TALLIES // 2
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
    """Return roughly the registered domain: ``bbc.co.uk`` for ``news.bbc.co.uk``.

    Guessed without the Public Suffix List: three labels where the last two are as short as
    those of ``co.uk``, else two. A wrong guess only makes the counts finer or coarser.
    """
    labels = host.lower().rstrip(".").split(".")
    if labels[-1].isdecimal():
        return host
    short = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3
    return ".".join(labels[-3:] if short else labels[-2:])


def _restored(saved_record: _SavedRecord) -> _ArchiveRecord:
    buckets = list(saved_record.latency)
    return _ArchiveRecord(
        buckets, saved_record.last_success, saved_record.last_failure, sum(buckets)
    )


@lru_cache(maxsize=1024)
def _scopes(host: str) -> tuple[str, ...]:
    """Return the keys under which answers are counted: all, top-level domain, site."""
    if not host or len(host) > _LONGEST_HOST:
        return ("",)
    site = site_of(host)
    return ("", "." + site.rpartition(".")[2], site)


_BOUNDS: Final = tuple(2 ** (index / 4) / 1000 for index in range(BUCKETS - 1))
"""Seconds: the upper ends of all buckets but the last."""


def _bucket(seconds: float) -> int:
    return bisect_left(_BOUNDS, seconds)


Standing = Literal["closed", "open", "half-open"]
"""The state of a breaker: all requests pass, none passes, a single one may."""


class Knowledge(Protocol):
    """What routing needs to know about archives."""

    @property
    def local(self) -> frozenset[str]:
        """Ids of the local collections."""
        ...

    @property
    def private(self) -> frozenset[str]:
        """Ids of the operator's own archives."""
        ...

    def presence(self, archive: str, url: str) -> Presence:
        """Return whether the archive declares that it holds *url*."""
        ...

    def experience(self, archive: str, host: str) -> Experience:
        """Return its earlier answers about pages like those of *host*."""
        ...

    def latency(self, archive: str) -> Latency: ...

    def standing(self, archive: str) -> Standing: ...


@dataclass(frozen=True, slots=True)
class CombinedKnowledge:
    """Knowledge from MementoMaps, observations and breakers."""

    observations: Observations
    health: Callable[[str], Standing]
    maps: Mapping[str, MementoMap] = field(default_factory=dict)
    local: frozenset[str] = frozenset()
    private: frozenset[str] = frozenset()
    reason: Callable[[str], str] = lambda _: ""
    """Returns why the breaker of an archive is not closed."""

    def presence(self, archive: str, url: str) -> Presence:
        """Return what its MementoMap states; unknown where there is none."""
        found = self.maps.get(archive)
        return UNKNOWN if found is None else found.holds(surt(url))

    def experience(self, archive: str, host: str) -> Experience:
        return self.observations.experience(archive, host)

    def latency(self, archive: str) -> Latency:
        return self.observations.latency(archive)

    def standing(self, archive: str) -> Standing:
        return "closed" if archive in self.local else self.health(archive)
