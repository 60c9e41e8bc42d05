"""What is counted, with a fixed set of labels: never a URL, never a client (R24)."""

import os

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
        self._answers.labels(route, str(status)).inc()

    def asked(self, attempt: Attempt) -> None:
        """Count an answer of an archive."""
        self._questions.labels(attempt.archive, _outcome(attempt)).inc()
        self._seconds.labels(attempt.archive).observe(attempt.seconds)

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
