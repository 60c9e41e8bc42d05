"""No answer claims more than is known, over archives that lie in every way.

2,000 rounds of fixed seeds. ``python -m tests.truth --seed N`` tries others, and ``--round K``
shows one round again.
"""

from itertools import count
from typing import Final

import pytest

from tests.truth.drawing import counterparts, drawn_round, marring
from tests.truth.over_http import is_judged, over_http, playable
from tests.truth.rounds import Tally, judge, run
from timegate.misbehave import FAULTS

SEEDS: Final = tuple(range(1, 9))
ROUNDS: Final = 250
HTTP_ROUNDS: Final = 12
MOST_MISSED: Final = 0.02
"""Of the references for which a good copy exists. The goal is 0.01: where several archives are
slow and lie, the time ends before all of their mementos are requested."""


def test_every_fault_of_misbehave_is_drawn() -> None:
    assert counterparts().keys() == FAULTS.keys() - {"none"}
    assert all(counterparts().values())


def test_faults_of_single_mementos_change_mementos() -> None:
    assert marring() == set()


@pytest.fixture(scope="module")
def tallies() -> dict[int, Tally]:
    return {}


@pytest.mark.parametrize("seed", SEEDS)
def test_no_answer_claims_more_than_the_oracle_knows(
    seed: int, tallies: dict[int, Tally]
) -> None:
    tally = tallies[seed] = run(seed, range(ROUNDS))

    print(tally.summary())
    if tally.claims:
        pytest.fail(f"{tally.summary()}\n\n{tally.claims[0]}", pytrace=False)


@pytest.mark.parametrize("number", range(HTTP_ROUNDS))
async def test_no_answer_over_http_claims_more_than_the_oracle_knows(number: int) -> None:
    tally = Tally()
    drawn = next(each for n in count() if playable(each := drawn_round(100 + number, n)))
    async with over_http(drawn) as (moved, product):
        await judge(moved, product, tally)

    claims = [claim for claim in tally.claims if is_judged(claim.violation.kind)]
    if claims:
        pytest.fail(f"{tally.summary()}\n\n{claims[0]}", pytrace=False)


def test_hardly_any_good_copy_is_missed(tallies: dict[int, Tally]) -> None:
    missed = sum(len(tally.misses) for tally in tallies.values())
    exist = sum(tally.referenced for tally in tallies.values())

    print(f"good copies missed: {missed} of {exist} ({100 * missed / max(exist, 1):.2f} %)")
    assert missed <= MOST_MISSED * exist
