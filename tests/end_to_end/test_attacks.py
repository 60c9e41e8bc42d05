"""The quick rows of ``make attack``: real processes, a few rounds each."""

from typing import Final

import pytest

from tests.attack.__main__ import SCENARIOS
from tests.chaos.running import run_one

QUICK: Final = (
    *("retry-after", "hung-up", "injected-headers", "nested-references", "told-to-archives"),
    *("restricted", "batch-cells", "private-files"),
    *("malformed-framings", "malformed-headers", "malformed-lists"),
)
BY_NAME: Final = {scenario.name: scenario for scenario in SCENARIOS}


@pytest.mark.parametrize("name", QUICK)
def test_an_attack_is_held_off(name: str) -> None:
    rows = run_one(BY_NAME[name], "quick")

    assert rows
    assert [row.text for row in rows if row.broken] == []
