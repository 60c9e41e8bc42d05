"""pywb's and our indexer find the same captures in sample WARCs, but for known differences."""

import os
from pathlib import Path
from typing import Final

import pytest

from tests import warcs
from tests.end_to_end.pywb import ENVIRONMENT, NOT_INSTALLED
from tests.end_to_end.sample_counts import PYWB_SAMPLES, Counts, counted

OTHERS: Final = os.environ.get("TIMEGATE_SAMPLE_WARCS", "")
"""Another folder of samples, such as samples/warcs of ipwb's repository."""
DIFFERENT: Final = {
    "bad.arc": Counts(3, 1, 2),
    "missing-status-text.warc": Counts(1, 0, 1),
    "HTTP204.warc": Counts(2, 1, 2),
    "broken.warc": Counts(2, 1, 1),
    "redirect.warc": Counts(1, 0, 1),
    "variableSizedDates.warc": Counts(0, 4, 0),
}
"""Explained in docs/collections.md."""


def samples() -> list[Path]:
    if not (ENVIRONMENT / "ready").exists():
        raise RuntimeError(NOT_INSTALLED)
    folders = [PYWB_SAMPLES, *([Path(OTHERS)] if OTHERS else [])]
    return sorted(file for folder in folders for file in folder.iterdir() if file.is_file())


@pytest.mark.parametrize("file", samples(), ids=lambda file: file.name)
def test_both_count_the_same_captures_in_a_sample(file: Path) -> None:
    counts = counted(file)

    if file.name in DIFFERENT:
        assert counts == DIFFERENT[file.name]
    else:
        assert counts.ours == counts.pywb


BLOCK: Final = warcs.answer(b"moved", "302 Found", location="http://example.com/other")
FABRICATED: Final = {
    # The stated length ends in the middle of the block: the rest would be a record.
    "short.warc": (
        warcs.plain(warcs.record(BLOCK, length=str(len(BLOCK) - 4))),
        Counts(1, 0, 1),
    ),
    # The stated length is beyond the end of the file.
    "long.warc": (
        warcs.plain(warcs.record(BLOCK, length=str(len(BLOCK) + 9))),
        Counts(1, 0, 1),
    ),
    # The length of an ARC record is no number.
    "length.arc": (
        warcs.plain(
            warcs.arc_header(),
            warcs.arc_line("http://example.com/", "abc") + b"\n",
            warcs.arc_record(),
        ),
        Counts(2, 1, 1),
    ),
    # WARC 1.1 allows dates as coarse as a year.
    "dates.warc": (
        warcs.plain(
            warcs.record(BLOCK, date="2014", version="1.1"),
            warcs.record(BLOCK, date="2014-02-10", version="1.1"),
        ),
        Counts(0, 2, 0),
    ),
}


@pytest.mark.parametrize("name", FABRICATED)
def test_each_explained_difference_has_a_small_file(tmp_path: Path, name: str) -> None:
    octets, expected = FABRICATED[name]
    (tmp_path / name).write_bytes(octets)

    assert counted(tmp_path / name) == expected
