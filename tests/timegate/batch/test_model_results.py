"""The code of a result, and its line in the journal."""

from dataclasses import replace
from datetime import timedelta

import pytest

from archives.model import Closest
from tests.timegate.batch.results import a_result
from tests.timegate.resolution.resolutions import (
    PAGE,
    REGISTRY,
    absent,
    asking,
    failed,
    found,
    memento,
)
from timegate.batch.model import Item, better, code_of, from_line, result_of, to_line
from timegate.resolution.model import Attempt, Preferences, Resolution, Skip
from timegate.responses.report import report
from timegate.verdict import Verdict, verdict

THEN = "20160122112029"
ELSEWHERE = found(memento(THEN, "arquivo-pt"))
LATER = found(memento("20160125000000", "arquivo-pt"))
DOUBTFUL = Attempt(
    "arquivo-pt", Closest(memento(THEN, "arquivo-pt"), "cdx", ("no",)), 0.1, PAGE
)


@pytest.mark.parametrize(
    ("attempt", "preferences", "code"),
    [
        (found(memento(THEN)), Preferences(precision="exact"), 0),
        (ELSEWHERE, Preferences(), 0),
        (ELSEWHERE, Preferences(precision="archive"), 1),
        (LATER, Preferences(), 1),
        (LATER, Preferences(tolerance=timedelta(days=7)), 0),
        (LATER, Preferences(tolerance=timedelta(days=1)), 1),
        (DOUBTFUL, Preferences(tolerance=timedelta(days=7)), 1),
        (absent("arquivo-pt"), Preferences(), 3),
        (failed("arquivo-pt"), Preferences(), 4),
    ],
)
def test_a_copy_elsewhere_is_as_good_unless_the_named_archive_is_demanded(
    attempt: Attempt, preferences: Preferences, code: int
) -> None:
    best = attempt if isinstance(attempt.outcome, Closest) else None
    resolution = Resolution(asking(THEN, precision="page"), preferences, best, (), (attempt,))

    assert code_of(resolution, verdict(resolution, REGISTRY)) == code


def test_the_result_is_unknown_if_no_archive_could_be_queried() -> None:
    resolution = Resolution(asking(THEN), Preferences(), None, (), ())
    judged = verdict(resolution, REGISTRY)

    result = result_of(Item(0, "x", ("x",)), resolution, judged, None, lambda *_: {"words": ""})

    assert (result.code, result.outcome, result.final) == (4, "unknown", True)
    assert result.why == "nothing found: no archive could be queried"


def test_the_result_is_unknown_and_final_if_the_named_archive_was_not_queried() -> None:
    skip = Skip("internet-archive", "not-in-use", "off")
    attempts = (absent("arquivo-pt"),)
    resolution = Resolution(asking(THEN), Preferences(), None, (), attempts, named_skip=skip)
    judged = verdict(resolution, REGISTRY)

    def reported(resolution: Resolution, judged: Verdict) -> dict[str, object]:
        return report(resolution, judged, REGISTRY, "https://x")

    result = result_of(Item(0, "x", ("x",)), resolution, judged, None, reported)

    assert (result.code, result.outcome, result.final) == (4, "unknown", True)
    assert not result.unsure
    assert result.why == "no copy found; the requested archive was not queried"


def test_a_nearer_copy_is_better_and_unknown_is_better_than_absent() -> None:
    near, far = a_result(code=1, delta=-5), a_result(code=1, delta=50)
    unknown, nothing = a_result(code=4, uri=None), a_result(code=3, uri=None)

    assert better(None, far) is far
    assert better(far, near) is near
    assert better(near, far) is near
    assert better(nothing, unknown) is unknown
    assert better(unknown, far) is far


def test_a_result_survives_the_journal_even_with_lone_surrogates() -> None:
    result = a_result(7, text="http://\udcff.example/\n\u2028")

    line = to_line(result)

    assert from_line(line) == result
    assert line.count(b"\n") == 1


@pytest.mark.parametrize("line", [b"", b"[]", b"{}", b"1", b"\xff", b'{"position": 1}'])
def test_other_lines_are_rejected(line: bytes) -> None:
    with pytest.raises(ValueError, match="not a line of a journal"):
        from_line(line)


def test_an_altered_line_is_rejected() -> None:
    line = to_line(replace(a_result(), why="x")).replace(b"www.dr.dk", b"www.dr.uk")

    with pytest.raises(ValueError, match="altered"):
        from_line(line)


def test_equivalent_urls_are_kept_in_the_journal() -> None:
    plain = a_result()
    item = plain.item._replace(also=("http://moved.example/",))
    result = replace(plain, item=item)

    assert from_line(to_line(result)) == result
    assert item.key != plain.item.key


def test_a_journal_without_equivalent_urls_is_as_before() -> None:
    assert b'"also"' not in to_line(a_result())
