"""The journal of an extraction: what is described in it is in the WARC, and nothing else."""

from pathlib import Path

import pytest

from timegate.batch.journal import BadJournal
from timegate.extract.journal import (
    ExtractionJournal,
    ExtractionState,
    FailedAttempt,
    ItemOutcome,
    WrittenCopy,
)

COPY = WrittenCopy(
    *("test", "http://archive.example/1", "<urn:uuid:1>", "response", "http://a.example/"),
    *("2016-01-22T11:20:29Z", "sha1:AAAA", True, "A page"),
)
OUTCOME = ItemOutcome(0, 0, COPY.record, "words", 0, "urn:pwid:x", {"parts": 2, "saved": 1})
FAILED = FailedAttempt(1, "test", "no answer")


def opened(folder: Path, binding: str = "b") -> ExtractionJournal:
    return ExtractionJournal(folder / "written", binding, folder / "a.warc")


def test_entries_are_read_again(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(b"x" * 300)
    with opened(tmp_path) as journal:
        journal.note(COPY, 100)
        journal.note(OUTCOME, 200)
        journal.note(FAILED, 200)

    with opened(tmp_path) as again:
        assert again.copies == {("test", COPY.uri): COPY}
        assert again.payloads == {"sha1:AAAA": COPY}
        assert again.outcomes == {0: OUTCOME}
        assert again.failures == [FAILED]
        assert again.end == 200


def test_an_entry_whose_records_are_lost_does_not_count(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        journal.note(COPY, 100)
        journal.note(OUTCOME, 200)
    (tmp_path / "a.warc").write_bytes(b"x" * 150)

    with opened(tmp_path) as again:
        assert (again.end, again.outcomes) == (100, {})
        again.note(OUTCOME, 140)

    with opened(tmp_path) as third:
        assert (third.end, third.outcomes) == (140, {0: OUTCOME})


def test_an_incomplete_last_line_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(b"x" * 300)
    with opened(tmp_path) as journal:
        journal.note(COPY, 100)
    with (tmp_path / "written").open("ab") as file:
        file.write(b'{"outcome": {"pos')

    with opened(tmp_path) as again:
        assert again.end == 100
        again.note(OUTCOME, 200)
    with opened(tmp_path) as third:
        assert third.outcomes == {0: OUTCOME}


def test_the_journal_of_another_run_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(BadJournal, match="in use by another run"):
        opened(tmp_path)

    with pytest.raises(BadJournal, match="other options"):
        opened(tmp_path, "c")


def test_a_damaged_journal_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        journal.note(COPY, 0)
    with (tmp_path / "written").open("ab") as file:
        file.write(b"nonsense\n")

    with pytest.raises(BadJournal, match="damaged at octet"):
        opened(tmp_path)


def test_records_are_synced_before_their_entries(tmp_path: Path) -> None:
    synced: list[int] = []
    with opened(tmp_path) as journal:
        journal.sync_warc = lambda: synced.append(journal.end)
        for end in range(1, 65):
            journal.note(FAILED, end)

    assert synced == [32, 64]


def test_pages_are_listed_once_with_what_is_known_of_their_parts() -> None:
    state = ExtractionState()
    style = COPY._replace(uri="u", record="<2>", is_page=False)
    file = ItemOutcome(0, 0, COPY.record, "a file", 0)
    for entry in (COPY, style, OUTCOME._replace(position=2), file):
        state.note(entry, 0)
    state.note(ItemOutcome(1, 0, style.record, "a stylesheet", 0), 0)
    state.note(ItemOutcome(3, 0, None, "nothing", 3), 0)

    assert [*state.pages] == [(COPY, OUTCOME._replace(position=2))]
