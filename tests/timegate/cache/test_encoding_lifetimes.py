import pytest

from archives.moment import Moment
from tests.timegate.cache.samples import NOW, found
from timegate.cache.encoding import NEGATIVE, RECENT, SETTLED, lifetime


@pytest.mark.parametrize(
    ("at", "captured", "expected"),
    [
        ("20140101", "20140105000000", SETTLED),
        ("20140101", None, NEGATIVE),
        (None, None, NEGATIVE),
        (None, "20140105000000", RECENT),
        ("20261001", "20261014000000", SETTLED),
        ("20261001", "20261018000000", RECENT),
        ("20261101", "20140105000000", RECENT),
        ("2026", "20260105000000", RECENT),
        ("2099", "20260105000000", RECENT),
        ("9999", "20260105000000", RECENT),
    ],
)
def test_an_answer_about_the_past_lasts_a_day_and_one_about_now_an_hour(
    at: str | None, captured: str | None, expected: float
) -> None:
    moment = None if at is None else Moment(at)
    outcome = None if captured is None else found(captured)

    assert lifetime(moment, outcome, NOW) == expected
