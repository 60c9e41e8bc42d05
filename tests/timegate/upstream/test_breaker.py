import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.errors import (
    ArchiveError,
    Gated,
    Misbehaved,
    Queued,
    Refused,
    Resting,
    Unreachable,
)
from archives.source import Reply, Request
from tests.clock import Clock, in_virtual_time
from tests.timegate.upstream.guarded import breaking
from tests.timegate.upstream.replies import FakeReply
from timegate.resolution.model import Attempt
from timegate.upstream.breaker import Breakers, Circuit, Outcome

REQUEST = Request("GET", "https://a.example/", "memento")


BAD: Outcome = "bad"
FIVE = (BAD,) * 5
FOUR = (BAD,) * 4


def after(*outcomes: Outcome, now: float = 0.0, chance: float = 0.0) -> Circuit:
    circuit = Circuit()
    for outcome in outcomes:
        circuit = circuit.sent().learned(outcome, now, chance)
    return circuit


def opened(times: int) -> Circuit:
    """Return a circuit that was opened *times* in a row, each time as soon as it could be."""
    circuit = after(*FIVE)
    for _ in range(times - 1):
        assert circuit.opens_until is not None
        circuit = circuit.sent().learned("bad", circuit.opens_until, 0.0)
    return circuit


def test_four_failures_do_not_open_it() -> None:
    assert after("bad", "bad", "bad", "bad").standing(0) == "closed"


def test_the_fifth_failure_in_a_row_opens_it_for_thirty_seconds() -> None:
    circuit = after("bad", "bad", "bad", "bad", "bad")

    assert circuit.standing(0) == "open"
    assert circuit.standing(29.9) == "open"
    assert circuit.standing(30) == "half-open"


def test_a_good_answer_starts_the_count_anew() -> None:
    assert after(*FOUR, "good", *FOUR).standing(0) == "closed"


def test_a_neutral_answer_does_not_reset_the_count() -> None:
    assert after(*FOUR, "neither", "bad").standing(0) == "open"


@pytest.mark.parametrize(("times", "rest"), [(1, 30), (2, 60), (3, 90), (10, 300), (20, 300)])
def test_each_rest_is_longer_up_to_five_minutes(times: int, rest: float) -> None:
    before, last = opened(times - 1) if times > 1 else Circuit(), opened(times)

    assert (last.opens_until or 0) - (before.opens_until or 0) == rest


def test_chance_adds_up_to_a_fifth() -> None:
    assert after(*FIVE, chance=1.0).opens_until == 36


def test_half_open_lets_a_single_probe_through() -> None:
    circuit = opened(1)

    assert circuit.admits(30)
    assert not circuit.sent().admits(30)
    assert circuit.sent().learned("neither", 30, 0).admits(30)
    assert circuit.sent().learned("good", 30, 0) == Circuit()
    assert circuit.sent().learned("bad", 30, 0).standing(89) == "open"


def test_failures_of_requests_that_were_under_way_do_not_prolong_the_rest() -> None:
    assert opened(1).learned("bad", 10, 0).opens_until == 30


steps = st.lists(
    st.tuples(st.sampled_from(["good", "bad", "neither"]), st.floats(0, 100)), max_size=80
)


@given(steps)
def test_no_more_than_five_requests_in_a_row_fail_before_a_rest_of_30_seconds(
    story: list[tuple[Outcome, float]],
) -> None:
    circuit, now, row, opened_at = Circuit(), 0.0, 0, float("-inf")

    for outcome, passed in story:
        now += passed
        if not circuit.admits(now):
            continue
        assert now - opened_at >= 30 or circuit.standing(now) == "closed"
        circuit = circuit.sent().learned(outcome, now, 0.5)
        row = 0 if outcome == "good" else row + (outcome == "bad")
        opened_at = now if outcome == "bad" and row >= 5 else opened_at
        assert (circuit.standing(now) == "open") == (row >= 5 and outcome == "bad") or (
            outcome == "neither"
        )


@given(steps)
def test_whatever_happened_it_is_tried_again_within_six_minutes(
    story: list[tuple[Outcome, float]],
) -> None:
    circuit, now = Circuit(), 0.0

    for outcome, passed in story:
        now += passed
        circuit = circuit.sent().learned(outcome, now, 1.0)

    assert circuit.admits(now + 360)


def broken(breakers: Breakers, *archives: str) -> None:
    for archive in archives:
        for _ in range(5):
            breakers.report(archive, "bad")


def test_an_archive_that_rests_is_not_admitted_while_others_live() -> None:
    breakers = Breakers(["a", "b"], Clock(), lambda: 0.0)

    broken(breakers, "a")

    assert breakers.admit("a") == (False, 30.0, "5 failures in a row")
    assert breakers.admit("b").admitted
    assert (breakers.standing("a"), breakers.standing("b")) == ("open", "closed")


def test_if_all_archives_look_dead_one_is_tried_anyway() -> None:
    breakers = Breakers(["a", "b", "c"], Clock(), lambda: 0.0)

    broken(breakers, "a", "b", "c")

    assert [breakers.admit(archive).admitted for archive in "bac"] == [True, False, False]


def test_if_the_probed_archive_is_dead_the_next_is_tried() -> None:
    breakers = Breakers(["a", "b"], Clock(), lambda: 0.0)
    broken(breakers, "a", "b")
    breakers.admit("a")

    breakers.report("a", "bad")

    assert breakers.admit("b").admitted


def test_if_the_probed_archive_answers_all_others_may_be_tried() -> None:
    breakers = Breakers(["a", "b", "c"], Clock(), lambda: 0.0)
    broken(breakers, "a", "b", "c")
    breakers.admit("a")

    breakers.report("a", "good")

    assert [breakers.standing(archive) for archive in "abc"] == [
        "closed",
        "half-open",
        "half-open",
    ]


def test_a_second_question_during_the_probe_is_rejected_with_a_retry_time() -> None:
    clock = Clock()
    breakers = Breakers(["a", "b"], clock, lambda: 0.0)
    broken(breakers, "a")
    clock.advance(30)

    assert breakers.admit("a").admitted
    assert breakers.admit("a") == (False, 1.0, "it is being probed")


class Archive:
    """A fetcher that answers with *says*, and counts requests."""

    def __init__(self, says: Reply | ArchiveError) -> None:
        self.says = says
        self.asked = 0

    def __call__(self, request: Request) -> AbstractAsyncContextManager[Reply]:
        del request
        return self._answer()

    @asynccontextmanager
    async def _answer(self) -> AsyncGenerator[Reply]:
        self.asked += 1
        if isinstance(self.says, ArchiveError):
            raise self.says
        yield self.says


@pytest.mark.parametrize(
    ("says", "asked"),
    [
        (Unreachable("a", "", "timeout"), 5),
        (Misbehaved("a", "", "gibberish"), 5),
        (Refused("a", "", 503, None), 5),
        (FakeReply(500), 5),
        (Refused("a", "", 429, None), 9),
        (Refused("a", "", 403, None), 9),
        (FakeReply(200), 9),
        (FakeReply(404), 9),
        (FakeReply(503, {"memento-datetime": "then"}), 9),
    ],
)
async def test_only_failures_count(says: Reply | ArchiveError, asked: int) -> None:
    archive = Archive(says)
    clock = Clock()
    fetch = breaking(archive, "a", Breakers(["a", "b"], clock, lambda: 0.0), clock)

    for _ in range(9):
        with suppress(ArchiveError):
            async with fetch(REQUEST):
                pass

    assert archive.asked == asked


async def test_a_request_to_a_resting_archive_is_not_sent() -> None:
    clock = Clock()
    breakers = Breakers(["a", "b"], clock, lambda: 0.0)
    broken(breakers, "a")
    fetch = breaking(Archive(FakeReply(200)), "a", breakers, clock)

    with pytest.raises(Resting, match="5 failures in a row, next try in 30 s") as caught:
        async with fetch(REQUEST):
            pass

    assert caught.value.retry_after == 30


async def test_an_answer_that_turns_out_bad_while_it_is_read_is_a_failure() -> None:
    archive, clock = Archive(FakeReply(200)), Clock()
    fetch = breaking(archive, "a", Breakers(["a", "b"], clock, lambda: 0.0), clock)

    for _ in range(9):
        with suppress(ArchiveError):
            async with fetch(REQUEST):
                raise Misbehaved("a", "", "body breaks off")

    assert archive.asked == 5


async def test_an_internal_error_is_a_failure_and_frees_the_probe() -> None:
    clock = Clock()
    breakers = Breakers(["a", "b"], clock, lambda: 0.0)
    broken(breakers, "a")
    clock.advance(30)
    fetch = breaking(Archive(FakeReply(200)), "a", breakers, clock)

    with pytest.raises(KeyError):
        async with fetch(REQUEST):
            raise KeyError

    assert breakers.admit("a").retry_after == 60
    clock.advance(60)
    assert breakers.admit("a").admitted


async def test_internal_errors_after_good_replies_open_the_circuit() -> None:
    archive, clock = Archive(FakeReply(200)), Clock()
    breakers = Breakers(["a", "b"], clock, lambda: 0.0)
    fetch = breaking(archive, "a", breakers, clock)

    for _ in range(9):
        with suppress(ArchiveError):
            async with fetch(REQUEST):
                pass
            breakers.broke("a")

    assert archive.asked == 5
    clock.advance(30)
    async with fetch(REQUEST):
        pass
    breakers.broke("a")
    assert breakers.admit("a").retry_after == 60


def test_a_question_that_works_ends_the_row_of_internal_errors() -> None:
    breakers = Breakers(["a", "b"], Clock(), lambda: 0.0)

    for _ in range(4):
        breakers.broke("a")
    breakers.worked("a")
    for _ in range(4):
        breakers.broke("a")
    breakers.broke("a local collection, which has no breaker")

    assert breakers.standing("a") == "closed"


FORBIDDEN = Refused("a", "https://a.example/", 403, None)
GATED = Gated("a", "https://a.example/", "a bot gate")


def question(outcome: ArchiveError | None, host: str) -> Attempt:
    return Attempt("a", outcome, 0.1, f"http://{host}/")


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (FORBIDDEN, "refuses programs, for pages of 5 hosts in a row"),
        (Refused("a", "https://a.example/", 401, None), "refuses programs, for pages of"),
        (GATED, "bot gate, for pages of 5 hosts in a row"),
    ],
    ids=["403", "401", "bot gate"],
)
def test_refusals_for_five_hosts_in_a_row_open_the_circuit_with_their_reason(
    refusal: ArchiveError, reason: str
) -> None:
    breakers = Breakers(["a", "b"], Clock(), lambda: 0.0)

    for number in range(4):
        breakers.observe(question(refusal, f"{number}.example"))
    assert breakers.standing("a") == "closed"
    assert breakers.reason("a") == ""
    breakers.observe(question(refusal, "4.example"))

    assert breakers.standing("a") == "open"
    assert breakers.reason("a").startswith(reason)
    assert breakers.admit("a").why.startswith(reason)


def test_refusals_for_pages_of_one_host_concern_that_host() -> None:
    breakers = Breakers(["a", "b"], Clock(), lambda: 0.0)

    for _ in range(20):
        breakers.observe(question(FORBIDDEN, "one.example"))

    assert breakers.standing("a") == "closed"


@pytest.mark.parametrize(
    "other",
    [
        Refused("a", "https://a.example/", 451, None),
        Refused("a", "https://a.example/", 429, 60.0),
        Queued("a", "https://a.example/", "too many requests", 1.0),
        Misbehaved("a", "https://a.example/", "answers 418"),
    ],
    ids=["451", "429", "queue", "misbehaved"],
)
def test_other_trouble_is_no_refusal(other: ArchiveError) -> None:
    breakers = Breakers(["a", "b"], Clock(), lambda: 0.0)

    for number in range(20):
        breakers.observe(question(other, f"{number}.example"))

    assert breakers.standing("a") == "closed"


def test_an_answer_ends_the_row_of_refusals() -> None:
    breakers = Breakers(["a", "b"], Clock(), lambda: 0.0)

    for number in range(4):
        breakers.observe(question(FORBIDDEN, f"{number}.example"))
    breakers.observe(question(None, "held.example"))
    for number in range(4, 8):
        breakers.observe(question(FORBIDDEN, f"{number}.example"))
    breakers.observe(Attempt("local", FORBIDDEN, 0.1, "http://no-breaker.example/"))

    assert breakers.standing("a") == "closed"


def test_a_refused_probe_opens_the_circuit_for_longer() -> None:
    clock = Clock()
    breakers = Breakers(["a", "b"], clock, lambda: 0.0)
    for number in range(5):
        breakers.observe(question(GATED, f"{number}.example"))

    clock.advance(30)
    assert breakers.admit("a").admitted
    breakers.report("a", "good")
    breakers.observe(question(GATED, "0.example"))

    assert breakers.admit("a").retry_after == 60


def test_refusals_of_requests_already_sent_do_not_prolong_the_rest() -> None:
    breakers = Breakers(["a", "b"], Clock(), lambda: 0.0)

    for number in range(9):
        breakers.report("a", "good")
        breakers.observe(question(GATED, f"{number}.example"))

    assert breakers.admit("a").retry_after == 30


@pytest.mark.parametrize(("given_up_after", "standing"), [(1.0, "closed"), (4.0, "open")])
def test_a_cancelled_request_is_a_failure_if_the_archive_had_enough_time(
    given_up_after: float, standing: str
) -> None:
    @asynccontextmanager
    async def hang(request: Request) -> AsyncGenerator[Reply]:
        del request
        await asyncio.sleep(60)
        yield FakeReply(200)

    async def story() -> str:
        clock = asyncio.get_running_loop().time
        breakers = Breakers(["a", "b"], clock, lambda: 0.0)
        fetch = breaking(hang, "a", breakers, clock)
        for _ in range(5):
            with suppress(TimeoutError):
                async with asyncio.timeout(given_up_after), fetch(REQUEST):
                    pass
        return breakers.standing("a")

    assert in_virtual_time(story()) == standing


def test_why_there_is_no_way_to_an_archive_is_known_while_it_rests() -> None:
    breakers = Breakers(["a"], Clock(), lambda: 0.0)
    url = "http://a.example/"
    lost = Unreachable("a", url, "its name cannot be resolved", no_network=True)
    outcomes: tuple[tuple[ArchiveError | None, str], ...] = (
        (lost, lost.why),
        (Resting("a", url, "5 failures in a row", 30), lost.why),
        (Unreachable("a", url, "it closed the connection"), ""),
        (lost, lost.why),
        (None, ""),
    )
    for outcome, why in outcomes:
        breakers.observe(Attempt("a", outcome, 0.1, "http://page.example/"))

        assert breakers.no_network("a") == why
