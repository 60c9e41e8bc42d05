"""What is counted, with a fixed set of labels: never a URL, never a client (R24)."""

import os
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

from archives.errors import ArchiveError
from archives.model import Closest
from timegate.resolution import Attempt

_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)


class Metrics:
    """Counters of one process; those of several workers are added up when read."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        # Finding a counter by its labels costs more than counting.
        self._bound: dict[tuple[str, str | int], Callable[[], None]] = {}
        self._observing: dict[str, Callable[[float], None]] = {}
        self._answers = Counter(
            "timegate_answers_total",
            "Answers by route and status",
            ("route", "status"),
            registry=self._registry,
        )
        self._questions = Counter(
            "timegate_archive_questions_total",
            "Questions to archives by outcome",
            ("archive", "outcome"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "timegate_archive_seconds",
            "How long archives took to answer",
            ("archive",),
            registry=self._registry,
            buckets=_BUCKETS,
        )

    def answered(self, route: str, status: int) -> None:
        """Count an answer of ours."""
        key = (route, status)
        counter = self._bound.get(key)
        if counter is None:
            counter = self._bound[key] = self._answers.labels(route, str(status)).inc
        counter()

    def asked(self, attempt: Attempt) -> None:
        """Count an answer of an archive."""
        outcome = _outcome(attempt)
        key = (attempt.archive, outcome)
        count = self._bound.get(key)
        if count is None:
            count = self._bound[key] = self._questions.labels(*key).inc
        count()
        observe = self._observing.get(attempt.archive)
        if observe is None:
            observe = self._seconds.labels(attempt.archive).observe
            self._observing[attempt.archive] = observe
        observe(attempt.seconds)

    def registry(self) -> CollectorRegistry:
        """Return what to publish: this process, or all workers together."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return self._registry
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return together


def _outcome(attempt: Attempt) -> str:
    if isinstance(attempt.outcome, ArchiveError):
        return type(attempt.outcome).__name__.lower()
    return "found" if isinstance(attempt.outcome, Closest) else "absent"
