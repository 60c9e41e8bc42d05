"""The progress of a run."""

from datetime import UTC, datetime

import pytest

from archives.errors import Refused, Resting
from tests.clock import Clock
from timegate.batch.output import ProgressLines, RestNotes, in_words, show_progress


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


def test_an_archive_that_is_waited_for_is_named_at_most_once_in_half_a_minute() -> None:
    said: list[str] = []
    clock, now = Clock(), datetime(2026, 11, 19, 14, 1, 20, tzinfo=UTC)
    notes = RestNotes(said.append, clock, lambda: now)

    for _ in range(16):
        notes(Refused("attic", "http://a/", 429, 120.0), 120.0)
    notes(Resting("shelf", "http://a/", "it asked us to wait", 3.0), 3.0)
    notes(Resting("cellar", "http://a/", "it asked us to wait", 60.0), 60.0)
    clock.advance(31.0)
    notes(Resting("attic", "http://a/", "it asked us to wait", 89.0), 89.0)

    assert said == [
        "waiting for attic until 14:03:20 UTC: refused with 429, retry after 120 s",
        "waiting for cellar until 14:02:20 UTC: it asked us to wait, next try in 60 s",
        "waiting for attic until 14:02:49 UTC: it asked us to wait, next try in 89 s",
    ]


@pytest.mark.parametrize("terminal", [1, 0])
def test_a_line_is_printed_beside_the_progress(
    terminal: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with show_progress(2, 0, terminal=bool(terminal)) as progress:
        progress.say("waiting for [attic]\x1b[2J")
        progress()

    written = capsys.readouterr().err
    assert "waiting for [attic]" in written
    assert "\x1b[2J" not in written
