"""A run under a virtual clock: two passes, rate limits, waits and failures."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from archives.errors import ArchiveError, Resting
from archives.model import Closest
from archives.moment import Moment
from tests.clock import in_virtual_time
from tests.timegate.resolution.resolutions import REGISTRY, absent, failed, found, memento
from timegate.batch.dispatch import Answered, LaneLimits
from timegate.batch.host_queries import HostQueries
from timegate.batch.journal import BadJournal, Journal
from timegate.batch.model import Item, ItemResult, Json
from timegate.batch.run import (
    BatchEnvironment,
    BatchRun,
    ItemResolver,
    LocalEngines,
    Resolve,
    Waits,
    Without,
    read_in_thread,
)
from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.text.times import read_time
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

    async def __call__(
        self, query: Query, preferences: Preferences, answered: Answered
    ) -> Resolution:
        answered("a")
        self.queries.append((query.original, str(query.at), preferences.wait))
        attempt = self._answer(query, preferences)
        best = attempt if isinstance(attempt.outcome, Closest) else None
        return Resolution(query, preferences, best, (), (attempt,))


def items(*dates: tuple[str, ...], start: int = 0) -> list[Item]:
    return [
        Item(n, f"http://{n}.example/", (f"http://{n}.example/",), when)
        for n, when in enumerate(dates, start=start)
    ]


async def each(listed: Sequence[Item]) -> AsyncIterator[Sequence[Item]]:
    for item in listed:
        yield [item]


def run(  # noqa: PLR0913 -- what a test may want to choose
    path: Path,
    resolve: Resolve,
    listed: Sequence[Item],
    preferences: Preferences | None = None,
    *,
    at_once: int = 16,
    without: Without = lambda _: frozenset(),
    resting: Callable[[ArchiveError, float], None] = lambda _, __: None,
) -> list[ItemResult]:
    async def story() -> list[ItemResult]:
        environment = BatchEnvironment(resolve, report, REGISTRY, read_time, resting=resting)
        resolver = ItemResolver(environment, preferences or Preferences(), WAITS, without)
        with Journal(path, "test", resume=True) as journal:
            engines = LocalEngines(resolver, LaneLimits((), at_once))
            await BatchRun(journal, engines, {}).complete(each(listed))
            return list(journal.results())

    return in_virtual_time(story())


def holding(*stamps: str) -> Answer:
    """Answer with the nearest of *stamps*."""

    def answer(query: Query, _: Preferences) -> Attempt:
        at = query.at or Moment("2099")
        nearest = min(stamps, key=lambda stamp: abs(at.distance(Moment(stamp).window[0])))
        return found(memento(nearest, original=query.original), query.original)

    return answer


class PlannedHosts(HostQueries):
    """Notes for how many queries each host was planned."""

    def __init__(self) -> None:
        super().__init__((), {}, _forget, lambda: datetime.now(UTC))
        self.planned: list[tuple[str, int]] = []

    async def ask(
        self, named: str | None, host: str, queries: Callable[[], Sequence[Query]]
    ) -> dict[str, int]:
        del named
        self.planned.append((host, len(queries())))
        return {}


async def _forget(*_: object) -> None: ...


def test_hosts_are_planned_when_the_whole_list_was_read(tmp_path: Path) -> None:
    listed = [Item(n, "", (f"http://h.example/{n}",), ("2015",)) for n in range(20)]
    hosts = PlannedHosts()

    async def resolve(query: Query, preferences: Preferences, _: Answered) -> Resolution:
        await asyncio.sleep(1)
        attempt = holding("20150601000000")(query, preferences)
        return Resolution(query, preferences, attempt, (), (attempt,))

    async def story() -> None:
        environment = BatchEnvironment(resolve, report, REGISTRY, read_time, host_queries=hosts)
        resolver = ItemResolver(environment, Preferences(), WAITS)
        with Journal(tmp_path / "j", "test", resume=True) as journal:
            engines = LocalEngines(resolver, LaneLimits((), 2))
            await BatchRun(journal, engines, {}).complete(each(listed))

    in_virtual_time(story())

    # Two were begun while the list was read; they are not done when the next one is planned.
    assert hosts.planned[0] in {("example,h", 19), ("example,h", 18)}
    assert len(hosts.planned) == 18


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


def test_the_second_pass_waits_for_an_archive_that_asked_to_wait(
    tmp_path: Path,
) -> None:
    until: list[float] = []
    waits: list[tuple[str, float]] = []

    def answer(query: Query, _: Preferences) -> Attempt:
        now = asyncio.get_running_loop().time()
        until[:] = until or [now + 60]
        if now < until[0]:
            return failed("slow", Resting("slow", URL, "it asked us to wait", until[0] - now))
        return Attempt("slow", None, 0.0, query.original)

    results = run(
        tmp_path / "j",
        FakeResolver(answer),
        items((), ()),
        resting=lambda error, seconds: waits.append((error.archive, seconds)),
    )

    assert [result.outcome for result in results] == ["absent", "absent"]
    assert waits == [("slow", 60.0)] * 2


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
    listed = items(*[()] * 450)

    blocks = [block async for block in read_in_thread(iter(listed))]
    singly = [block async for block in read_in_thread(iter(listed[:3]), at_once=False)]

    assert [len(block) for block in blocks] == [200, 200, 50]
    assert [item for block in blocks for item in block] == listed
    assert singly == [[item] for item in listed[:3]]


def test_archives_can_be_excluded_for_an_item(tmp_path: Path) -> None:
    spared: list[frozenset[str]] = []

    def answer(_: Query, preferences: Preferences) -> Attempt:
        spared.append(preferences.exclude)
        return absent("a")

    def without(item: Item) -> frozenset[str]:
        return frozenset({"y"} if item.position else ())

    preferences = Preferences(exclude=frozenset({"x"}))
    run(tmp_path / "j", FakeResolver(answer), items((), ()), preferences, without=without)

    assert spared == [{"x"}, {"x", "y"}]


def test_a_copy_of_the_first_pass_is_kept_if_the_second_finds_nothing(
    tmp_path: Path,
) -> None:
    def answer(query: Query, preferences: Preferences) -> Attempt:
        if preferences.wait == WAITS.quick:
            return found(memento("20100101000000", original=query.original))
        return failed("slow")

    class Unsure(FakeResolver):
        async def __call__(
            self, query: Query, preferences: Preferences, answered: Answered
        ) -> Resolution:
            resolution = await super().__call__(query, preferences, answered)
            return replace(resolution, unanswered=("other",))

    (result,) = run(tmp_path / "j", Unsure(answer), items(("2016",)))

    assert (result.code, result.final) == (1, True)
    assert result.memento is not None
