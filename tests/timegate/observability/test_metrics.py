"""Metrics: what is counted, in a page of bounded size."""

import asyncio
import logging

import pytest
from prometheus_client import generate_latest

from archives.errors import Unreachable
from archives.moment import Moment
from tests.clock import in_virtual_time
from timegate.observability.metrics import AttemptObserver, Metrics
from timegate.resolution.model import Attempt, Preferences, Query, Resolution

PAGE = "http://example.org/"


def test_ten_thousand_archives_make_no_more_than_a_megabyte() -> None:
    metrics = Metrics()
    names = [f"an-archive-with-a-long-name-{number}" for number in range(10_000)]
    metrics.watch_archives(lambda: dict.fromkeys(names, "closed"))
    for name in names:
        for outcome in (None, Unreachable(name, PAGE, "down")):
            metrics.asked(Attempt(name, outcome, 0.1, PAGE))

    written = generate_latest(metrics.registry())

    assert len(written) < 1024 * 1024
    assert (
        b'timegate_archive_questions_total{archive="other",outcome="absent"} 9700.0' in written
    )


def test_answers_refusals_and_recalls_are_counted() -> None:
    metrics = Metrics()
    attempts = (Attempt("a", None, 0.0, PAGE, None, 3.0), Attempt("b", None, 0.1, PAGE))
    query = Query(PAGE, Moment("2016"))

    metrics.answered("/timegate/", 302, 0.02)
    metrics.refused("share")
    metrics.resolved(Resolution(query, Preferences(), None, (), attempts))

    written = generate_latest(metrics.registry()).decode()
    for line in (
        'timegate_answers_total{route="/timegate/",status="302"} 1.0',
        'timegate_answer_seconds_count{route="/timegate/"} 1.0',
        'timegate_refused_total{reason="share"} 1.0',
        'timegate_cache_answers_total{outcome="hit"} 1.0',
        'timegate_cache_answers_total{outcome="miss"} 1.0',
    ):
        assert line in written.splitlines()


def test_gauges_are_read_when_the_metrics_are_requested() -> None:
    metrics = Metrics()
    metrics.watch(lambda: {"in_flight": 3, "queued": 1, "connections": 7, "tasks": 4})
    metrics.watch_archives(lambda: {"a": "open"})

    written = generate_latest(metrics.registry()).decode().splitlines()

    assert "timegate_in_flight 3.0" in written
    assert "timegate_tasks 4.0" in written
    assert 'timegate_archive_breaker{archive="a",state="open"} 1.0' in written
    assert 'timegate_archive_breaker{archive="a",state="closed"} 0.0' in written
    memory = next(line for line in written if line.startswith("timegate_resident_memory"))
    assert float(memory.split()[1]) > 1e6


def test_canaries_that_are_no_longer_sent_are_in_no_state() -> None:
    metrics = Metrics()
    line = 'timegate_archive_canary{archive="a",page="has",state="flipped"}'

    metrics.watch_canaries(lambda: {("a", "has"): "flipped"})
    before = generate_latest(metrics.registry()).decode().splitlines()
    metrics.watch_canaries(dict)
    after = generate_latest(metrics.registry()).decode().splitlines()

    assert f"{line} 1.0" in before
    assert f"{line} 0.0" in after


def test_the_gauges_of_a_worker_are_refreshed_without_a_request() -> None:
    metrics = Metrics()
    states = iter(["open", "half-open", "closed"])
    seen: list[str] = []

    def standings() -> dict[str, str]:
        seen.append(next(states))
        return {"a": seen[-1]}

    async def refreshed() -> None:
        metrics.watch_archives(standings)
        async with metrics.refreshed(every=5.0):
            await asyncio.sleep(12.0)

    in_virtual_time(refreshed())

    assert seen == ["open", "half-open", "closed"]


def test_only_changes_of_state_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    states = iter(("closed", "open", "open", "half-open", "closed", "closed"))
    observe = AttemptObserver(Metrics(), (), lambda _: next(states))

    with caplog.at_level(logging.INFO, "timegate"):
        for _ in range(6):
            observe(Attempt("internet-archive", None, 0.1, PAGE))

    logged = [record.timegate_fields["state"] for record in caplog.records]  # type: ignore[attr-defined]
    assert logged == ["open", "half-open", "closed"]


def test_attempts_at_restricted_archives_are_not_shown_to_public_watchers() -> None:
    learned: list[Attempt] = []
    every: list[Attempt] = []
    public: list[Attempt] = []
    observe = AttemptObserver(Metrics(), [learned.append], lambda _: "closed", ("vault",))
    observe.watchers.add(every.append)
    observe.public_watchers.add(public.append)
    attempts = [Attempt(archive, None, 0.1, PAGE) for archive in ("open", "vault")]

    for attempt in attempts:
        observe(attempt)

    assert learned == every == attempts
    assert public == attempts[:1]
