"""Prometheus metrics, with a fixed set of labels: never a URL, never a client (R-24)."""

import asyncio
import logging
import os
from bisect import bisect_left
from collections import Counter as Counts
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

from archives.errors import ArchiveError
from archives.model import Closest
from timegate.observability.logs import event
from timegate.resolution.model import Attempt, Resolution

_BUCKETS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
_MOST_ARCHIVES: Final = 300
"""Archives with a label of their own; the others share one. Each takes 1.5 kB of 1 MB."""
_OTHER: Final = "other"
_BATCH: Final = 100
"""Answers of an archive that are published at once; after `_REFRESH_INTERVAL` in any case."""
_STATES: Final = ("closed", "half-open", "open")
_CANARIES: Final = ("kept", "flipped", "unknown")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_REFRESH_INTERVAL: Final = 5.0
"""Seconds. Prometheus scrapes every 15 or more, and only one of several workers."""
Reading = Callable[[], Mapping[str, float]]


class _BatchedHistogram(Histogram):
    """A histogram that takes many numbers at once: `observe` takes ten function calls each."""

    def observe_all(self, numbers: Sequence[float]) -> None:
        """Count *numbers*."""
        self._sum.inc(sum(numbers))
        places = Counts(bisect_left(self._upper_bounds, number) for number in numbers)
        for place, times in places.items():
            self._buckets[place].inc(times)


class _Answers:
    """Answers of one archive with one outcome that are not in the metrics yet."""

    __slots__ = ("_count", "_observe", "seconds")

    def __init__(self, count: Counter, histogram: _BatchedHistogram) -> None:
        self.seconds: list[float] = []
        self._count = count
        self._observe = histogram

    def publish(self) -> None:
        seconds, self.seconds = self.seconds, []
        if seconds:
            self._count.inc(len(seconds))
            self._observe.observe_all(seconds)


class Metrics:
    """The metrics of one process; those of several workers are added up when read."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        # Looking up a counter by its labels costs more than counting.
        self._bound: dict[tuple[str, str | int], Callable[..., None]] = {}
        self._asked: dict[tuple[str, type[object]], _Answers] = {}
        """What counts an answer and its time, by archive and type of outcome."""
        self._observing: dict[tuple[str, str], Callable[[float], None]] = {}
        self._archives: set[str] = set()
        self._answers = self._counter(
            "timegate_answers_total", "Answers by route and status", "route", "status"
        )
        self._questions = self._counter(
            "timegate_archive_questions_total",
            "Questions to archives by outcome",
            "archive",
            "outcome",
        )
        self._internal = self._counter(
            "timegate_archive_internal_errors_total",
            "Unforeseen exceptions while an archive was queried or its reply was read",
            "archive",
        )
        self._foreign = self._counter(
            "timegate_archive_refused_addresses_total",
            "Addresses that an archive stated and that are not its own, by reason",
            "archive",
            "reason",
        )
        self._repeats = self._counter(
            "timegate_archive_repeated_questions_total",
            "Empty answers that were requested once more, because the archive held the page",
            "archive",
        )
        self._refusals = self._counter(
            "timegate_refused_total", "Requests and connections refused by reason", "reason"
        )
        self._recalls = self._counter(
            "timegate_cache_answers_total",
            "Answers of archives from the cache, or not",
            "outcome",
        )
        self._dropped_writes = self._counter(
            "timegate_cache_writes_dropped_total",
            "Values that could not be written to the cache",
        )
        self._seconds = {
            "archive": self._histogram(
                "timegate_archive_seconds", "Seconds until an archive answered", "archive"
            ),
            "route": self._histogram(
                "timegate_answer_seconds", "Seconds until a response began", "route"
            ),
        }
        self._gauges = {
            "in_flight": self._gauge("timegate_in_flight", "Requests under way"),
            "queued": self._gauge("timegate_queued", "Requests that wait to be processed"),
            "waiting": self._gauge(
                "timegate_waiting_for_archives", "Requests that wait for remote archives"
            ),
            "streams": self._gauge("timegate_streams", "Long responses that are being sent"),
            "stream_octets": self._gauge(
                "timegate_stream_octets", "Octets of whole bodies that are being sent"
            ),
            "receiving": self._gauge(
                "timegate_receiving", "Bodies of requests that are being received"
            ),
            "stalled": self._gauge(
                "timegate_unread", "Connections whose clients have not taken all of a response"
            ),
            "lists_full": self._gauge(
                "timegate_lists_full", "Workers that would refuse long responses"
            ),
            "overloaded": self._gauge(
                "timegate_overloaded", "Workers that would refuse new requests"
            ),
            "connections": self._gauge("timegate_connections", "Open connections of clients"),
            "memory": self._gauge(
                "timegate_resident_memory_bytes", "Memory in use by this server"
            ),
            "tasks": self._gauge("timegate_tasks", "Running asyncio tasks"),
        }
        self._breakers = self._gauge(
            "timegate_archive_breaker",
            "1 for the state of an archive's breaker",
            "archive",
            "state",
        )
        self._canaries = Gauge(
            "timegate_archive_canary",
            "1 for the state of an archive's canary",
            ("archive", "page", "state"),
            registry=self._registry,
            # All workers have the same states within a minute; the last one published counts.
            multiprocess_mode="livemostrecent",
        )
        self._published_canaries: set[tuple[str, str]] = set()
        """Canaries whose state may have been published."""
        self._read: Reading = dict
        self._standings: Callable[[], Mapping[str, str]] = dict
        self._read_canaries: Callable[[], Mapping[tuple[str, str], str]] = dict
        self._read_dropped: Callable[[], int] = int
        self._counted_dropped = 0

    def watch(self, read: Reading) -> None:
        """Take gauges from *read*."""
        self._read = read

    def watch_archives(self, standings: Callable[[], Mapping[str, str]]) -> None:
        """Take the states of breakers from *standings*."""
        self._standings = standings

    def watch_canaries(self, standings: Callable[[], Mapping[tuple[str, str], str]]) -> None:
        """Take the states of canaries from *standings*."""
        self._published_canaries |= self._read_canaries().keys()
        self._read_canaries = standings

    def watch_cache(self, dropped: Callable[[], int]) -> None:
        """Take the number of values that were not written to the cache from *dropped*."""
        self._count_dropped()
        self._read_dropped = dropped
        self._counted_dropped = dropped()

    def _count_dropped(self) -> None:
        dropped = self._read_dropped()
        self._dropped_writes.inc(max(dropped - self._counted_dropped, 0))
        self._counted_dropped = dropped

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a response of this server."""
        key = (route, status)
        counter = self._bound.get(key)
        if counter is None:
            counter = self._bound[key] = self._answers.labels(route, str(status)).inc
        counter()
        self._timed("route", route, seconds)

    def asked(self, attempt: Attempt) -> None:
        """Count an answer of an archive."""
        key = (attempt.archive, type(attempt.outcome))
        answers = self._asked.get(key)
        if answers is None:
            archive = self._named(attempt.archive)
            answers = _Answers(
                self._questions.labels(archive, _outcome(attempt)),
                self._seconds["archive"].labels(archive),
            )
            if archive == _OTHER:
                key = (_OTHER, type(attempt.outcome))
            answers = self._asked.setdefault(key, answers)
        answers.seconds.append(attempt.seconds)
        if len(answers.seconds) >= _BATCH:
            answers.publish()

    def broke(self, archive: str) -> None:
        """Count an unforeseen exception while *archive* was asked."""
        self._internal.labels(self._named(archive)).inc()

    def refused_addresses(self, archive: str, reason: str, times: int) -> None:
        """Count addresses that *archive* stated and that are not its own."""
        self._foreign.labels(self._named(archive), reason).inc(times)

    def repeated(self, archive: str) -> None:
        """Count an empty answer of *archive* that was asked for once more."""
        self._repeats.labels(self._named(archive)).inc()

    def refused(self, reason: str) -> None:
        """Count a request that was refused."""
        self._refusals.labels(reason).inc()

    def resolved(self, resolution: Resolution) -> None:
        """Count which answers came from the cache."""
        misses = len([each for each in resolution.attempts if each.age is None])
        hits = len(resolution.attempts) - misses
        for outcome, number in (("miss", misses), ("hit", hits)):
            if number:
                self._recalled(outcome)(number)

    def _recalled(self, outcome: str) -> Callable[[float], None]:
        count = self._bound.get(("cache", outcome))
        if count is None:
            count = self._bound["cache", outcome] = self._recalls.labels(outcome).inc
        return count

    def refresh(self) -> None:
        """Publish what was counted, and update the gauges: states of breakers and canaries."""
        for answers in self._asked.values():
            answers.publish()
        for name, value in {"memory": _resident(), **self._read()}.items():
            self._gauges[name].set(value)
        for archive, standing in self._standings().items():
            if self._named(archive) != _OTHER:
                for state in _STATES:
                    self._breakers.labels(archive, state).set(float(state == standing))
        self._refresh_canaries(self._read_canaries())
        self._count_dropped()

    @asynccontextmanager
    async def refreshed(self, every: float = _REFRESH_INTERVAL) -> AsyncIterator[None]:
        """Update the gauges regularly in the block: Prometheus may read another worker."""
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self._keep_refreshing(every))
            try:
                yield
            finally:
                task.cancel()

    async def _keep_refreshing(self, every: float) -> None:
        while True:
            self.refresh()
            await asyncio.sleep(every)

    def _refresh_canaries(self, standings: Mapping[tuple[str, str], str]) -> None:
        # Canaries that are no longer asked are in no state, which ends an alarm about them.
        self._published_canaries |= standings.keys()
        for archive, page in self._published_canaries:
            if self._named(archive) == _OTHER:
                continue
            for state in _CANARIES:
                value = float(standings.get((archive, page)) == state)
                self._canaries.labels(archive, page, state).set(value)

    def registry(self) -> CollectorRegistry:
        """Return what to publish: this process, or all workers together."""
        self.refresh()
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return self._registry
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return together

    def _named(self, archive: str) -> str:
        if archive in self._archives:
            return archive
        if len(self._archives) >= _MOST_ARCHIVES:
            return _OTHER
        self._archives.add(archive)
        return archive

    def _timed(self, kind: str, name: str, seconds: float) -> None:
        observe = self._observing.get((kind, name))
        if observe is None:
            observe = self._seconds[kind].labels(name).observe
            self._observing[kind, name] = observe
        observe(seconds)

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(name, meaning, labels, registry=self._registry)

    def _histogram(self, name: str, meaning: str, label: str) -> _BatchedHistogram:
        return _BatchedHistogram(
            name, meaning, (label,), registry=self._registry, buckets=_BUCKETS
        )

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        # Requests under way add up over workers; a state that two workers see is not two.
        mode: Literal["livemax", "livesum"] = "livemax" if labels else "livesum"
        return Gauge(name, meaning, labels, registry=self._registry, multiprocess_mode=mode)


def _resident() -> float:
    """Return the resident memory of this process in bytes; 0 where it is not known."""
    try:
        return float(Path("/proc/self/statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0.0


def _outcome(attempt: Attempt) -> str:
    if isinstance(attempt.outcome, ArchiveError):
        return type(attempt.outcome).__name__.lower()
    return "found" if isinstance(attempt.outcome, Closest) else "absent"


Watcher = Callable[[Attempt], None]


class AttemptObserver:
    """Counts every attempt, logs changes of an archive's state, and informs watchers."""

    def __init__(
        self,
        metrics: Metrics,
        learners: Sequence[Callable[[Attempt], None]],
        state_of: Callable[[str], str],
        restricted: Collection[str] = (),
    ) -> None:
        """Each of *learners* takes every attempt.

        *state_of* returns the state of an archive's breaker.
        """
        self._metrics = metrics
        self._learners = learners
        self._state_of = state_of
        self._restricted = frozenset(restricted)
        self._states: dict[str, str] = {}
        self.watchers: set[Watcher] = set()
        """Called with every attempt."""
        self.public_watchers: set[Watcher] = set()
        """Called with the attempts at archives that are not restricted."""

    def __call__(self, attempt: Attempt) -> None:
        """Observe *attempt*."""
        archive = attempt.archive
        self._metrics.asked(attempt)
        for learn in self._learners:
            learn(attempt)
        for watcher in self.watchers:
            watcher(attempt)
        if self.public_watchers and archive not in self._restricted:
            for watcher in self.public_watchers:
                watcher(attempt)
        state, before = self._state_of(archive), self._states.get(archive, "closed")
        if state != before:
            self._log_change(archive, state, before)

    def _log_change(self, archive: str, state: str, before: str) -> None:
        self._states[archive] = state
        level = logging.INFO if state == "closed" else logging.WARNING
        event("archive", level, id=archive, state=state, before=before)
