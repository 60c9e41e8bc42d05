"""A fault at any octet of an archive's response costs that archive's answer and nothing else.

Some 500 cases of a fixed seed; ``python -m tests.faults`` walks all of them.
"""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.faults.kinds import KINDS, Case, cases, drawn_cases, length_of
from tests.faults.octets import FAULTS, PAUSE
from tests.faults.walk import run
from tests.faults.world import reading

SEED: Final = 16
CASES: Final = 480
PARTS: Final = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_a_corrupted_response_makes_no_answer_wrong_late_or_lost(part: int) -> None:
    tally = run(drawn_cases(SEED, CASES)[part::PARTS])

    if tally.troubles:
        first = tally.troubles[0]
        where = f"python -m tests.faults --case '{'|'.join(map(str, first.case))}'"
        pytest.fail(f"{first.kind}: {first.detail}\n{where}\n{first.shown}", pytrace=False)
    assert tally.struck == tally.exchanges


def _one_of_each() -> Iterator[Case]:
    for kind, each in KINDS.items():
        for way in each.ways:
            yield Case(kind, each.framings[0], way, "reset", 9)


@pytest.mark.parametrize("case", [*_one_of_each()], ids=str)
def test_every_way_of_asking_meets_the_broken_response(case: Case) -> None:
    tally = run([case])

    assert tally.struck
    assert not tally.troubles


def test_the_walk_has_every_fault_at_every_position() -> None:
    walked = {(case.fault, case.position) for case in cases(["memento HEAD"])}

    last = length_of("memento HEAD", "length")
    assert walked == {(fault, at) for fault in FAULTS for at in range(last + 1)}


RESPONSE: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"


@pytest.mark.parametrize("fault", ["cut", "reset", "delayed"])
def test_what_does_not_arrive_in_time_cannot_be_read(fault: str) -> None:
    assert reading(FAULTS[fault](RESPONSE, 20), "GET") == "no head"
    cut = reading(FAULTS[fault](RESPONSE, len(RESPONSE) - 1), "GET")
    whole = reading(FAULTS[fault](RESPONSE, len(RESPONSE)), "GET")

    assert not isinstance(cut, str)
    assert cut.body is None
    assert not isinstance(whole, str)
    assert whole.body == b"body"


def test_a_delay_is_longer_than_any_timeout() -> None:
    assert [piece.after for piece in FAULTS["delayed"](RESPONSE, 5).pieces] == [0.0, PAUSE]


def test_repeated_octets_are_sent_twice() -> None:
    assert FAULTS["octet twice"](b"abc", 1).in_time == b"abbc"
    assert FAULTS["rest twice"](b"abc", 1).in_time == b"abcbc"
    assert FAULTS["digit"](b"a9c", 1).in_time == b"a0c"
