"""Lists of every mix, simulated: the forecast is right, and no allowance is lost.

The clock is virtual; the lanes, the dispatcher, the rate limits and the forecast are the real
ones. Every archive answers in 0.4 s.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest

from archives.kinds import KINDS
from archives.model import ArchiveEntry, Limits, Rate
from tests.bench.batch_simulation import MINUTE, simulated
from tests.scenario import entry
from timegate.batch.dispatch import EVERY

FAST, SLOW, SLOWER = Rate(8, 1, 8), Rate(1, 1, 5), Rate(24, 60, 5)


class Mix(NamedTuple):
    """A list: the archives, how often each is named, the part it holds, the references."""

    name: str
    rates: Sequence[Rate]
    named: Mapping[str, int]
    held: float
    references: int

    @property
    def entries(self) -> list[ArchiveEntry]:
        return [
            replace(entry(f"a{number}"), limits=Limits(rate, rate, 8, "a test"))
            for number, rate in enumerate(self.rates)
        ]

    def lanes(self) -> Iterator[str]:
        chance = random.Random(3)  # noqa: S311 -- the same list every time
        while True:
            yield chance.choices(list(self.named), list(self.named.values()))[0]


def each(number: int, weight: int = 1) -> dict[str, int]:
    return {f"a{n}": weight for n in range(number)}


ALIKE, UNLIKE = [FAST] * 5, [FAST, FAST, FAST, SLOW, SLOW, SLOWER]
MIXES = [
    Mix("PWIDs of all archives", ALIKE, each(5), 1.0, 3600),
    Mix("80 % of one archive", ALIKE, {**each(5, 2), "a0": 32}, 0.99, 3000),
    Mix("plain URLs", ALIKE, {EVERY: 1}, 0.99, 1500),
    Mix("half plain URLs", ALIKE, {EVERY: 5, **each(5)}, 0.99, 2500),
    Mix("a tenth plain URLs", ALIKE, {EVERY: 5, **each(5, 9)}, 0.99, 5000),
    Mix("one archive", ALIKE[:1], {"a0": 1}, 1.0, 1500),
    Mix("archives unlike", UNLIKE, each(6), 0.99, 1500),
    Mix("archives unlike, 10 % not held", UNLIKE, each(6), 0.9, 1500),
    Mix("fast archives, 10 % not held", UNLIKE, {"a0": 5, "a1": 3, "a2": 2}, 0.9, 4500),
    Mix("all of this", UNLIKE, {EVERY: 10, **each(6, 6), "a0": 60}, 0.95, 3000),
    Mix("fast archives, few plain URLs", UNLIKE, {EVERY: 1, **each(3, 33)}, 0.99, 5000),
]


THREE = Rate(3, 1, 3)
CHECKED = [
    *MIXES,
    Mix("one archive, 40 % held, plain URLs", [THREE], {EVERY: 1}, 0.4, 600),
    Mix("one archive, 40 % held", [THREE], {"a0": 1}, 0.4, 600),
    Mix("one slow archive", [THREE], {"a0": 1}, 1.0, 600),
]
CASES = [(mix, False) for mix in MIXES] + [(mix, True) for mix in CHECKED]


@pytest.mark.parametrize(
    ("mix", "checked"),
    CASES,
    ids=[f"{mix.name}{', checked' if checked else ''}" for mix, checked in CASES],
)
def test_after_a_minute_the_forecast_is_within_ten_percent(mix: Mix, *, checked: bool) -> None:
    """*checked*: each copy is requested as well, as with the default ``--verify head``."""
    result = simulated(mix.entries, mix.lanes(), mix.references, held=mix.held, checked=checked)

    forecast = result.forecasts[MINUTE]
    assert forecast is not None
    assert forecast == pytest.approx(result.seconds, rel=0.1)
    # The allowance is used while references wait that name the archive.
    assert all(used >= 0.9 for used in result.used.values()), result.used


@pytest.mark.parametrize("mix", MIXES[:7], ids=[mix.name for mix in MIXES[:7]])
def test_an_index_has_another_rate_limit_for_copies_than_for_questions(mix: Mix) -> None:
    entries = [replace(each, kind=KINDS["cdx"]) for each in mix.entries]

    result = simulated(entries, mix.lanes(), mix.references, held=mix.held, checked=True)

    assert result.forecasts[MINUTE] == pytest.approx(result.seconds, rel=0.1)


@pytest.mark.parametrize("at_once", [16, 64, 256])
def test_no_allowance_is_lost_however_many_are_under_way(at_once: int) -> None:
    for mix in MIXES[:3]:
        few = mix.references // 2
        result = simulated(mix.entries, mix.lanes(), few, held=mix.held, at_once=at_once)
        asked = result.requests / len(mix.entries) / result.seconds
        assert all(used >= 0.9 for used in result.used.values())
        if mix.named.keys() == {EVERY}:
            assert asked >= 0.9 * 8
