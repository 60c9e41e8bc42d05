import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.errors import ArchiveError, Queued, Refused, Resting
from archives.model import Limits, Rate
from archives.source import Fetcher, Purpose, Reply, Request
from tests.clock import in_virtual_time
from tests.timegate.upstream.guarded import rate_limited
from tests.timegate.upstream.replies import FakeReply
from tests.timegate.upstream.windows import most_beyond_the_bucket, most_in_any_span
from timegate.upstream.rate_limit import LocalRateLimiter, RequestQueue

NEVER_MIND = Rate(requests=1e6, seconds=1, burst=1_000_000)


class Archive:
    """Answers after a delay, and records the times and the concurrency of requests."""

    def __init__(self, clock: Callable[[], float], seconds: float = 0.0) -> None:
        self.sent: list[float] = []
        self.most_at_once = 0
        self.refusal: Refused | None = None
        self._now = 0
        self._clock = clock
        self._seconds = seconds

    def __call__(self, request: Request) -> AbstractAsyncContextManager[Reply]:
        del request
        return self._answer()

    @asynccontextmanager
    async def _answer(self) -> AsyncGenerator[Reply]:
        self.sent.append(self._clock() - 1_000)
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            await asyncio.sleep(self._seconds)
            if self.refusal is not None:
                raise self.refusal
            yield FakeReply(200)
        finally:
            self._now -= 1


def at_the_door(
    memento: Rate = NEVER_MIND,
    index: Rate = NEVER_MIND,
    *,
    at_once: int = 100,
    seconds: float = 0.0,
    patience: float = 100.0,
) -> tuple[Archive, Fetcher]:
    clock = asyncio.get_running_loop().time
    archive = Archive(clock, seconds)
    door = RequestQueue(
        LocalRateLimiter(Limits(memento, index, at_once, "test"), clock), at_once
    )
    return archive, rate_limited(archive, "a", door, patience)


async def ask(fetch: Fetcher, purpose: Purpose = "memento") -> ArchiveError | None:
    try:
        async with fetch(Request("GET", "https://a.example/", purpose)):
            return None
    except ArchiveError as error:
        return error


async def together(*questions: AbstractAsyncContextManager[Reply]) -> None:
    async def one(question: AbstractAsyncContextManager[Reply]) -> None:
        async with question:
            pass

    async with asyncio.TaskGroup() as group:
        for question in questions:
            group.create_task(one(question))


def memento(number: int = 0) -> Request:
    return Request("GET", f"https://a.example/{number}", "memento")


def test_requests_leave_at_the_rate_the_archive_allows() -> None:
    async def story() -> list[float]:
        archive, fetch = at_the_door(Rate(2, 1, burst=3))
        await together(*(fetch(memento()) for _ in range(6)))
        return archive.sent

    assert in_virtual_time(story()) == pytest.approx([0, 0, 0, 0.5, 1, 1.5])


def test_each_purpose_has_its_own_rate() -> None:
    async def story() -> list[float]:
        archive, fetch = at_the_door(memento=Rate(1, 1), index=Rate(1, 60))
        for purpose in ("memento", "index", "memento", "index"):
            await ask(fetch, purpose)
        return archive.sent

    assert in_virtual_time(story()) == pytest.approx([0, 0, 1.02, 61])


def test_no_more_requests_run_at_once_than_allowed() -> None:
    async def story() -> Archive:
        archive, fetch = at_the_door(at_once=3, seconds=1)
        await together(*(fetch(memento()) for _ in range(10)))
        return archive

    archive = in_virtual_time(story())
    assert (archive.most_at_once, len(archive.sent)) == (3, 10)


def test_requests_that_wait_for_the_index_do_not_delay_those_for_mementos() -> None:
    async def story() -> list[float]:
        archive, fetch = at_the_door(index=Rate(1, 60), at_once=1)
        await ask(fetch, "index")
        async with asyncio.TaskGroup() as group:
            group.create_task(ask(fetch, "index"))
            await asyncio.sleep(1)
            group.create_task(ask(fetch, "memento"))
        return archive.sent

    assert in_virtual_time(story()) == pytest.approx([0, 1, 61])


def test_a_wait_beyond_the_patience_is_rejected_at_once() -> None:
    async def story() -> tuple[list[ArchiveError | None], float, list[float]]:
        archive, fetch = at_the_door(Rate(1, 10), patience=11)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(ask(fetch)) for _ in range(4)]
            await asyncio.sleep(0)
            refused_at = asyncio.get_running_loop().time()
        return [task.result() for task in asked], refused_at - 1_000, archive.sent

    errors, _, sent = in_virtual_time(story())
    assert sent == pytest.approx([0, 10.2])
    assert [type(error) for error in errors] == [type(None), type(None), Queued, Queued]
    assert isinstance(errors[2], Resting)
    assert errors[2].retry_after == pytest.approx(20.4)


def test_waiting_for_a_free_slot_is_bounded() -> None:
    async def story() -> tuple[ArchiveError | None, list[float]]:
        archive, fetch = at_the_door(at_once=1, seconds=60, patience=2)
        async with asyncio.TaskGroup() as group:
            group.create_task(ask(fetch))
            await asyncio.sleep(1)
            second = group.create_task(ask(fetch))
        return second.result(), archive.sent

    error, sent = in_virtual_time(story())
    assert isinstance(error, Resting)
    assert "under way" in str(error)
    assert sent == [0]


@pytest.mark.parametrize(("status", "asked"), [(429, 1), (503, 1), (403, 2)])
def test_nothing_is_sent_until_retry_after_has_passed(status: int, asked: int) -> None:
    async def story() -> tuple[ArchiveError | None, int, ArchiveError | None]:
        archive, fetch = at_the_door()
        archive.refusal = Refused("a", "", status, 120)
        await ask(fetch)
        archive.refusal = None
        await asyncio.sleep(119)
        during = await ask(fetch, "index")
        asked = len(archive.sent)
        await asyncio.sleep(1)
        return during, asked, await ask(fetch)

    during, sent, afterwards = in_virtual_time(story())
    assert sent == asked
    assert afterwards is None
    if status != 403:
        assert isinstance(during, Resting)
        assert during.retry_after == pytest.approx(1)


def test_waiting_requests_are_not_sent_after_a_429() -> None:
    async def story() -> tuple[ArchiveError | None, list[float]]:
        archive, fetch = at_the_door(Rate(1, 10), seconds=5)
        archive.refusal = Refused("a", "", 429, 60)
        async with asyncio.TaskGroup() as group:
            group.create_task(ask(fetch))
            second = group.create_task(ask(fetch))
        return second.result(), archive.sent

    error, sent = in_virtual_time(story())
    assert isinstance(error, Resting)
    assert sent == [0]


def test_a_shorter_rest_does_not_end_a_longer_one() -> None:
    async def story() -> float:
        clock = asyncio.get_running_loop().time
        ledger = LocalRateLimiter(Limits(NEVER_MIND, NEVER_MIND, 1, "test"), clock)
        await ledger.rest(100)
        await ledger.rest(1)
        return await ledger.resting()

    assert in_virtual_time(story()) == 100


asking = st.lists(
    st.tuples(st.floats(0, 5), st.one_of(st.none(), st.floats(0, 5))), min_size=1, max_size=25
)


@given(st.builds(Rate, st.integers(1, 5), st.integers(1, 5), st.integers(1, 4)), asking)
def test_under_any_load_the_archive_sees_no_more_than_it_allows(
    rate: Rate, arrivals: list[tuple[float, float | None]]
) -> None:
    async def story() -> Archive:
        archive, fetch = at_the_door(rate, at_once=3, seconds=0.7, patience=4)

        async def one(leaves_after: float | None) -> None:
            with suppress(TimeoutError):
                async with asyncio.timeout(leaves_after):
                    await ask(fetch)

        async with asyncio.TaskGroup() as group:
            for pause, leaves_after in arrivals:
                await asyncio.sleep(pause)
                group.create_task(one(leaves_after))
        # Whatever happened before, no slot and no turn is left taken.
        await asyncio.sleep(100)
        assert await ask(fetch) is None
        return archive

    archive = in_virtual_time(story())
    assert most_beyond_the_bucket(archive.sent, rate) <= 1e-6
    if rate.burst <= rate.requests:
        assert most_in_any_span(archive.sent, rate.seconds) <= rate.requests
    assert archive.most_at_once <= 3
