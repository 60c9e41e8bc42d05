"""The progress of a run."""

import pytest

from tests.clock import Clock
from timegate.batch.output import ProgressLines, in_words, show_progress


def test_lines_show_rate_and_time_left_at_intervals(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    advance = ProgressLines(1000, 100, clock)

    for _ in range(25):
        clock.advance(1.0)
        advance()

    assert capsys.readouterr().err.splitlines() == [
        "110 of 1000, 1.0/s, 15 min left",
        "120 of 1000, 1.0/s, 15 min left",
    ]


def test_without_a_total_no_time_left_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    advance = ProgressLines(None, 0, clock)
    clock.advance(10.0)

    advance()

    assert capsys.readouterr().err == "1, 0.1/s\n"


@pytest.mark.parametrize("total", [2, None])
def test_a_terminal_shows_a_bar(total: int | None, capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(total, 0, terminal=True) as advance:
        advance()
        advance()

    assert "2/" in capsys.readouterr().err


def test_without_a_terminal_a_short_run_prints_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with show_progress(1, 0, terminal=False) as advance:
        advance()

    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0 s"),
        (59.6, "60 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7200, "2 h"),
        (2e5, "2 days"),
    ],
)
def test_durations_are_rounded(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
