"""The order of day and month in a list is decided by its other dates.

Batches read the lines of such lists one by one, and leave the doubt.
"""

from datetime import UTC, datetime

import pytest

from archives.registry import load_known
from timegate.references.pasted import read_pasted

REGISTRY = load_known()
NOW = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("first", "second", "day"),
    [
        ("(accessed 04/13/2010)", "(accessed 03/04/2010)", "2010-03-04"),
        ("(accessed 25/11/2010)", "(accessed 3/4/2010)", "2010-04-03"),
        (", 13/10/2015", ", 5/10/2015", "2015-10-05"),
        (",25/03/2010", ",03/04/2010", "2010-04-03"),
        ("(retrieved 3-25-2010)", "(retrieved 3-4-2010)", "2010-03-04"),
    ],
)
def test_one_date_decides_for_the_other(first: str, second: str, day: str) -> None:
    for lines in ((first, second), (second, first)):
        text = "\n".join(f"http://a.example/{n}{line}" for n, line in enumerate(lines))
        found = read_pasted(text.replace("(", " ("), REGISTRY, NOW).found

        assert not any(each.dates.doubt for each in found)
        assert day in [str(each.at) for each in found]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("25-03-2010", "03/04/2010"),
        ("25/3/2010", "03/04/2010"),
        ("12/12/2010", "3/4/2010"),
        ("32/03/2010", "03/04/2010"),
    ],
)
def test_another_notation_decides_nothing(first: str, second: str) -> None:
    text = f"http://a.example/1 (accessed {first})\nhttp://a.example/2 (accessed {second})"

    assert read_pasted(text, REGISTRY, NOW).found[1].dates.doubt
