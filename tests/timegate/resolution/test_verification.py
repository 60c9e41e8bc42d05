"""Verification: a memento is requested at its own address, and its own headers count."""

import asyncio

import pytest

from archives.errors import ArchiveError, Misbehaved, Queued, Refused
from archives.formats.httpdate import http_date
from archives.model import Closest, Memento
from archives.moment import Moment
from tests.clock import in_virtual_time
from tests.fakes import Answers, Canned, FakeFetcher, an_entry, clock
from tests.scenario import FakeMemory
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import MementoCheck
from timegate.resolution.verification import Verifier, memento_probes

PAGE = "http://example.org/"
STAMP = "20160122112029"
LATER = "20170101000000"
REPLAY = "http://archive.example/{time14}/{uri}"
RAW = "http://archive.example/{time14}id_/{uri}"


def at(stamp: str, view: str = "") -> str:
    return f"http://archive.example/{stamp}{view}/{PAGE}"


def memento(stamp: str, status: int = 200, original: str = PAGE, **headers: str) -> Canned:
    fields = {
        "memento-datetime": http_date(stamp),
        "link": f'<{original}>; rel="original"',
        **headers,
    }
    return Canned(status, fields)


def verifier(answers: Answers, **fields: object) -> tuple[Verifier, FakeFetcher]:
    entry = an_entry("memento", timegate="http://archive.example/gate/", **fields)
    fetch = FakeFetcher(answers)
    probes = memento_probes([entry], lambda _archive, _context: fetch, clock)
    return Verifier(probes, FakeMemory(), Containment(), [entry]), fetch


def checked(answers: Answers, stamp: str = STAMP, address: str | None = None) -> MementoCheck:
    promised = Memento(stamp, at(stamp), PAGE, "test")

    async def run() -> MementoCheck:
        subject, _ = verifier(answers)
        return await subject.check(promised, address or promised.uri, UNLIMITED)

    return in_virtual_time(run())


def delivered(check: MementoCheck) -> Closest:
    assert isinstance(check.outcome, Closest)
    return check.outcome


def test_a_memento_is_delivered_with_its_own_time_status_and_url() -> None:
    found = delivered(checked({at(STAMP): memento(LATER, 404, "http://other.example/")}))

    assert found.evidence == "delivered"
    assert found.memento.stamp == LATER
    assert found.memento.status == 404
    assert found.memento.original == "http://other.example/"


def test_a_redirect_to_another_capture_is_followed_and_each_hop_is_kept() -> None:
    answers = {at(STAMP): Canned(302, {"location": at(LATER)}), at(LATER): memento(LATER)}

    found = delivered(checked(answers))

    assert (found.memento.stamp, found.memento.uri) == (LATER, at(LATER))
    assert [(hop.url, hop.status, hop.stamp) for hop in found.hops] == [
        (at(STAMP), 302, None),
        (at(LATER), 200, LATER),
    ]


def test_a_memento_that_is_not_there_is_gone() -> None:
    assert checked({}).outcome is None


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Canned(200, {}), Misbehaved),
        (Canned(500, {}), Misbehaved),
        (Canned(503, {}), Refused),
        (Canned(302, {"location": "http://elsewhere.example/"}), Misbehaved),
    ],
    ids=["a gate", "an error", "a refusal", "the live web"],
)
def test_what_is_no_memento_is_a_failure(answer: Canned, error: type[Exception]) -> None:
    assert isinstance(checked({at(STAMP): answer}).outcome, error)


def test_the_raw_view_is_requested_for_a_part_and_keeps_the_replay_address() -> None:
    answers = {at(STAMP, "id_"): memento(STAMP)}

    found = delivered(checked(answers, address=at(STAMP, "id_")))

    assert found.memento.uri == at(STAMP)


def test_concurrent_checks_of_one_memento_send_one_request() -> None:
    promised = Memento(STAMP, at(STAMP), PAGE, "test")

    async def run() -> int:
        subject, fetch = verifier({at(STAMP): memento(STAMP)})
        tasks = [subject.check(promised, promised.uri, UNLIMITED) for _ in range(5)]
        await asyncio.wait(tasks)
        await subject.check(promised, promised.uri, UNLIMITED)
        return len(fetch.journal)

    assert in_virtual_time(run()) == 1


def test_a_memento_behind_a_bot_gate_is_never_requested() -> None:
    subject, _ = verifier({}, gate="a challenge, seen 2026-09")

    assert not subject.can_check("test")


# At the replay address


def directly(answers: Answers, when: str = STAMP, **fields: object) -> tuple[object, list[str]]:
    async def run() -> tuple[object, list[str]]:
        subject, fetch = verifier(answers, **fields)
        found = await subject.at_replay_address("test", PAGE, Moment(when), UNLIMITED)
        return found, fetch.lines

    return in_virtual_time(run())


def test_one_request_at_the_replay_address_finds_and_verifies() -> None:
    found, lines = directly({at(STAMP): memento(STAMP)}, replay=REPLAY)

    assert isinstance(found, Closest)
    assert (found.memento.uri, found.evidence) == (at(STAMP), "delivered")
    assert lines == [f"HEAD {at(STAMP)}"]


def test_the_raw_view_is_requested_first_where_there_is_one() -> None:
    found, lines = directly({at(STAMP, "id_"): memento(STAMP)}, replay=REPLAY, raw=RAW)

    assert isinstance(found, Closest)
    assert found.memento.uri == at(STAMP)
    assert lines == [f"HEAD {at(STAMP, 'id_')}"]


@pytest.mark.parametrize("when", ["2016", "20160122", "20161231235960"])
def test_a_time_that_no_address_can_have_is_not_requested(when: str) -> None:
    assert directly({}, when, replay=REPLAY) == (None, [])


def test_another_second_at_the_replay_address_has_its_own_time() -> None:
    found, _ = directly({at(STAMP): memento(LATER)}, replay=REPLAY)

    assert isinstance(found, Closest)
    assert found.memento.stamp == LATER


def test_an_archive_without_a_template_is_not_asked_there() -> None:
    assert directly({}) == (None, [])


def test_after_three_unusable_answers_replay_addresses_are_not_requested_any_more() -> None:
    async def run() -> int:
        subject, fetch = verifier(lambda _: Canned(200, {}), replay=REPLAY)
        for day in range(10, 20):
            moment = Moment(f"201601{day}112029")
            assert await subject.at_replay_address("test", PAGE, moment, UNLIMITED) is None
        return len({request.url for request in fetch.journal})

    assert in_virtual_time(run()) == 3


def test_a_refusal_at_the_replay_address_is_the_answer_of_the_archive() -> None:
    with pytest.raises(Refused):
        directly({at(STAMP): Canned(429, {})}, replay=REPLAY)


def test_a_request_that_our_rate_limit_prevented_is_sent_the_next_time() -> None:
    promised = Memento(STAMP, at(STAMP), PAGE, "test")
    answers: list[Canned | ArchiveError] = [Queued("test", PAGE, "full", 1.0), memento(STAMP)]

    async def run() -> list[object]:
        subject, _ = verifier(lambda _: answers.pop(0))
        checks = [await subject.check(promised, promised.uri, UNLIMITED) for _ in range(2)]
        return [type(check.outcome) for check in checks]

    assert in_virtual_time(run()) == [Queued, Closest]
