"""A run under a virtual clock: two passes, rate limits, waits and failures."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from archives.errors import ArchiveError, Queued, Resting
from archives.model import Closest, Limits, Rate
from archives.moment import Moment
from archives.source import Request
from tests.clock import in_virtual_time
from tests.timegate.resolution.resolutions import REGISTRY, absent, failed, found, memento
from timegate.batch.journal import BadJournal, Journal
from timegate.batch.model import Item, ItemResult, Json
from timegate.batch.run import (
    ArchiveQueue,
    BatchEnvironment,
    BatchRun,
    Resolve,
    Waits,
    queued,
    read_in_thread,
)
from timegate.resolution.model import Attempt, MementoCheck, Preferences, Query, Resolution
from timegate.text.times import read_time
from timegate.upstream.rate_limit import LocalRateLimiter, RequestQueue
from timegate.verdict import Verdict

URL = "http://a.example/"
WAITS = Waits(quick=9.0, slow=30.0)
Answer = Callable[[Query, Preferences], Attempt]


def report(resolution: Resolution, judged: Verdict) -> Json:
    time = judged.time
    copy = resolution.memento
    return {
        "words": "words",
        "memento": copy and {"uri": copy.uri, "archive": copy.archive},
        "time": time and {"value": time.value, **time.params},
    }


class FakeResolver:
    """Resolver with one archive that answers with *answer*; records the queries."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.queries: list[tuple[str, str, float | None]] = []

    async def __call__(self, query: Query, preferences: Preferences) -> Resolution:
        self.queries.append((query.original, str(query.at), preferences.wait))
        attempt = self._answer(query, preferences)
        best = attempt if isinstance(attempt.outcome, Closest) else None
        return Resolution(query, preferences, best, (), (attempt,))


def items(*dates: tuple[str, ...], start: int = 0) -> list[Item]:
    return [
        Item(n, f"http://{n}.example/", (f"http://{n}.example/",), when)
        for n, when in enumerate(dates, start=start)
    ]


async def each(listed: Sequence[Item]) -> AsyncIterator[Item]:
    for item in listed:
        yield item


def run(  # noqa: PLR0913 -- what a test may want to choose
    path: Path,
    resolve: Resolve,
    listed: Sequence[Item],
    preferences: Preferences | None = None,
    *,
    rate: Rate = Rate(1, 1, 1),  # noqa: B008 -- a value
    at_once: int = 16,
) -> list[ItemResult]:
    async def story() -> list[ItemResult]:
        turns = ArchiveQueue({"slow": rate})
        environment = BatchEnvironment(resolve, report, REGISTRY, read_time, turns)
        with Journal(path, "test", resume=True) as journal:
            await BatchRun(
                environment, journal, preferences or Preferences(), at_once
            ).complete(each(listed), WAITS)
            return list(journal.results())

    return in_virtual_time(story())


def holding(*stamps: str) -> Answer:
    """Answer with the nearest of *stamps*."""

    def answer(query: Query, _: Preferences) -> Attempt:
        at = query.at or Moment("2099")
        nearest = min(stamps, key=lambda stamp: abs(at.distance(Moment(stamp).window[0])))
        return found(memento(nearest, original=query.original), query.original)

    return answer


def test_the_first_date_with_a_copy_in_time_is_used(tmp_path: Path) -> None:
    resolver = FakeResolver(holding("20150601000000"))

    (result,) = run(tmp_path / "j", resolver, items(("2016", "2015", "2014")))

    assert (result.code, result.date, result.delta) == (0, "2015", 0)
    assert [when for _, when, _ in resolver.queries] == ["2016", "2015"]


def test_a_tolerance_makes_a_near_copy_good_enough(tmp_path: Path) -> None:
    resolver = FakeResolver(holding("20150601000000"))
    preferences = Preferences(tolerance=timedelta(days=400))

    (result,) = run(tmp_path / "j", resolver, items(("2016", "2015")), preferences)

    assert (result.code, result.date) == (0, "2016")


def test_without_a_copy_in_time_the_best_of_all_dates_is_used(tmp_path: Path) -> None:
    resolver = FakeResolver(holding("20150601000000"))

    (result,) = run(tmp_path / "j", resolver, items(("2019", "2016", "2018")))

    assert (result.code, result.date, result.final) == (1, "2016", True)


def test_an_item_with_missing_answers_is_resolved_again_with_a_longer_wait(
    tmp_path: Path,
) -> None:
    def answer(query: Query, preferences: Preferences) -> Attempt:
        if preferences.wait == WAITS.quick and "1.example" in query.original:
            return failed("internet-archive")
        return absent("internet-archive")

    resolver = FakeResolver(answer)
    results = run(tmp_path / "j", resolver, items((), (), ()))

    assert [result.outcome for result in results] == ["absent"] * 3
    assert [wait for _, _, wait in resolver.queries] == [9.0, 9.0, 9.0, 30.0]


def test_no_answer_in_both_passes_is_unknown_and_final(tmp_path: Path) -> None:
    resolver = FakeResolver(lambda _, __: failed("internet-archive"))

    (result,) = run(tmp_path / "j", resolver, items(()))

    assert (result.outcome, result.code, result.final) == ("unknown", 4, True)
    assert "no answer from internet-archive" in result.why
    assert len(resolver.queries) == 2


def test_an_unexpected_exception_affects_only_its_own_item(tmp_path: Path) -> None:
    holder = holding("20150601000000")

    def answer(query: Query, preferences: Preferences) -> Attempt:
        if "1.example" in query.original:
            raise OverflowError("http://secret.example/")
        return holder(query, preferences)

    resolver = FakeResolver(answer)
    first, broken, last = run(tmp_path / "j", resolver, items((), (), ()))

    assert (first.code, last.code) == (0, 0)
    assert (broken.outcome, broken.code, broken.final) == ("unknown", 4, True)
    assert broken.why == "an internal error occurred (OverflowError)"
    assert len(resolver.queries) == 4


def test_an_unreadable_item_is_refused_without_a_query(tmp_path: Path) -> None:
    resolver = FakeResolver(holding("20150601000000"))

    (result,) = run(tmp_path / "j", resolver, [Item(0, "nonsense", ("nonsense",))])

    assert (result.outcome, result.code) == ("refused", 2)
    assert resolver.queries == []


def test_an_item_that_archives_cannot_be_queried_for_is_unknown(tmp_path: Path) -> None:
    resolver = FakeResolver(holding("20150601000000"))
    pdi = "pdi://oma.eop.gov.us/1997/09/01/1.text.1"

    (result,) = run(tmp_path / "j", resolver, [Item(0, pdi, (pdi,))])

    assert (result.outcome, result.code) == ("unknown", 4)
    assert "resolver of its series" in result.why
    assert resolver.queries == []


def test_finished_items_are_not_resolved_again(tmp_path: Path) -> None:
    resolver = FakeResolver(holding("20150601000000"))
    run(tmp_path / "j", resolver, items((), ()))

    results = run(tmp_path / "j", resolver, items((), (), ()))

    assert len(results) == 3
    assert [url for url, _, _ in resolver.queries] == [f"http://{n}.example/" for n in range(3)]


def test_another_list_is_refused(tmp_path: Path) -> None:
    resolver = FakeResolver(holding("20150601000000"))
    run(tmp_path / "j", resolver, items((), ()))

    with pytest.raises(ExceptionGroup) as raised:
        run(tmp_path / "j", resolver, items((), ("2015",)))

    assert raised.group_contains(BadJournal, match="differs at item 2")


class Polite:
    """Resolves with one archive behind a real door."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._door: RequestQueue | None = None
        self.sent: list[float] = []

    async def __call__(self, query: Query, preferences: Preferences) -> Resolution:
        clock = asyncio.get_running_loop().time
        if self._door is None:
            limits = Limits(self._rate, self._rate, 2, "test")
            self._door = RequestQueue(LocalRateLimiter(limits, clock), 2)
        outcome: ArchiveError | None = None
        try:
            await self._door.enter("slow", Request("HEAD", query.original, "memento"), 2.0)
        except ArchiveError as error:
            outcome = error
        else:
            self.sent.append(clock())
            await asyncio.sleep(0.2)
            self._door.leave()
        attempt = Attempt("slow", outcome, 0.0, query.original)
        return Resolution(query, preferences, None, (), (attempt,))


@pytest.mark.parametrize("rate", [Rate(1, 1, 1), Rate(2, 60, 1), Rate(24, 60, 5)])
def test_a_slow_archive_is_queried_for_every_item_within_its_rate_limit(
    tmp_path: Path, rate: Rate
) -> None:
    resolver = Polite(rate)

    results = run(tmp_path / "j", resolver, items(*[()] * 30), rate=rate)

    assert {result.outcome for result in results} == {"absent"}
    assert len(resolver.sent) == 30
    allowed = rate.burst + (resolver.sent[-1] - resolver.sent[0]) * rate.requests / rate.seconds
    assert len(resolver.sent) <= allowed + 1e-6


def test_an_archive_whose_queue_stays_full_ends_as_unknown(tmp_path: Path) -> None:
    resolver = Polite(Rate(1, 100_000, 1))

    results = run(tmp_path / "j", resolver, items((), ()))

    assert sorted(result.outcome for result in results) == ["absent", "unknown"]


def test_the_second_pass_waits_for_an_archive_that_asked_to_wait(
    tmp_path: Path,
) -> None:
    until: list[float] = []

    def answer(query: Query, _: Preferences) -> Attempt:
        now = asyncio.get_running_loop().time()
        until[:] = until or [now + 60]
        if now < until[0]:
            return failed("slow", Resting("slow", URL, "it asked us to wait", until[0] - now))
        return Attempt("slow", None, 0.0, query.original)

    results = run(tmp_path / "j", FakeResolver(answer), items((), ()))

    assert [result.outcome for result in results] == ["absent", "absent"]


def test_a_dead_archive_is_waited_for_once_per_list_not_per_item(
    tmp_path: Path,
) -> None:
    times: list[float] = []

    def answer(_: Query, __: Preferences) -> Attempt:
        times.append(asyncio.get_running_loop().time())
        return failed("slow", Resting("slow", URL, "5 failures in a row", 120.0))

    results = run(tmp_path / "j", FakeResolver(answer), items(*[()] * 15), at_once=1)

    assert {result.outcome for result in results} == {"unknown"}
    assert times[-1] - times[0] <= 300


async def test_items_are_read_in_a_thread_in_order() -> None:
    listed = items((), (), ())

    assert [item async for item in read_in_thread(iter(listed))] == listed


def test_archives_can_be_excluded_for_an_item(tmp_path: Path) -> None:
    spared: list[frozenset[str]] = []

    def answer(_: Query, preferences: Preferences) -> Attempt:
        spared.append(preferences.exclude)
        return absent("a")

    async def story() -> None:
        environment = BatchEnvironment(
            FakeResolver(answer), report, REGISTRY, read_time, ArchiveQueue({})
        )
        preferences = Preferences(exclude=frozenset({"x"}))
        with Journal(tmp_path / "j", "test", resume=False) as journal:
            work = BatchRun(
                environment,
                journal,
                preferences,
                1,
                lambda item: frozenset({"y"} if item.position else ()),
            )
            await work.complete(each(items((), ())), WAITS)

    in_virtual_time(story())

    assert spared == [{"x"}, {"x", "y"}]


def test_a_copy_of_the_first_pass_is_kept_if_the_second_finds_nothing(
    tmp_path: Path,
) -> None:
    def answer(query: Query, preferences: Preferences) -> Attempt:
        if preferences.wait == WAITS.quick:
            return found(memento("20100101000000", original=query.original))
        return failed("slow")

    class Unsure(FakeResolver):
        async def __call__(self, query: Query, preferences: Preferences) -> Resolution:
            return replace(await super().__call__(query, preferences), unanswered=("other",))

    (result,) = run(tmp_path / "j", Unsure(answer), items(("2016",)))

    assert (result.code, result.final) == (1, True)
    assert result.memento is not None


def test_a_memento_that_our_rate_limit_kept_from_being_checked_is_waited_for() -> None:
    best = found(memento("20160122112029"), evidence="promised")
    full = Queued("internet-archive", "http://x.org/", "the queue is full", 2.0)
    check = MementoCheck("internet-archive", "http://x.org/", full)
    query = Query("http://x.org/", None)

    resolution = Resolution(query, Preferences(), best, (), (best,), checks=(check,))

    assert queued(resolution) == {"internet-archive": 2.0}
