"""The journal on disk: order, resuming, damage."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.timegate.batch.results import a_result
from timegate.batch.journal import BadJournal, Journal
from timegate.batch.model import Code, Item, ItemResult


def test_results_come_back_in_the_order_of_the_list(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal(path, "options", resume=False) as journal:
        for position in (2, 0, 5):
            journal.append(a_result(position))
            journal.sync()

    with Journal(path, "options", resume=True) as journal:
        assert [result.item.position for result in journal.results()] == [0, 2, 5]
        assert journal.finished == 3
        assert journal.knows(a_result(2).item)
        assert not journal.knows(a_result(1).item)
        assert not journal.knows(a_result(9).item)
        assert journal.result(5) == a_result(5)
        assert journal.result(1) is journal.result(77) is None


def test_a_later_result_replaces_one_that_is_not_final(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", "options", resume=False) as journal:
        journal.append(a_result(1, 4, uri=None, final=False))
        journal.append(a_result(3))

        (unsettled,) = journal.unsettled()
        journal.append(a_result(1, final=True))

        assert unsettled.item.position == 1
        assert [*journal.unsettled()] == []
        assert journal.finished == 2
        assert journal.result(1) == a_result(1)


@pytest.mark.parametrize("torn", [b'{"position": 7', b"\x00\x00", b'{"position": 7}'])
def test_an_incomplete_last_line_is_cut_off(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "journal"
    with Journal(path, "options", resume=False) as journal:
        journal.append(a_result(0))
    whole = path.read_bytes()
    path.write_bytes(whole + torn)

    with Journal(path, "options", resume=True) as journal:
        journal.append(a_result(1))

        assert [result.item.position for result in journal.results()] == [0, 1]
    assert path.read_bytes().startswith(whole)


def test_a_journal_with_an_incomplete_head_starts_again(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b'{"jour')

    with Journal(path, "options", resume=True) as journal:
        assert journal.finished == 0
    assert path.read_bytes().endswith(b"\n")


def test_another_list_other_options_and_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal(path, "options", resume=False) as journal:
        journal.append(a_result(0))
        with pytest.raises(BadJournal, match="another list: it differs at item 1"):
            journal.knows(Item(0, "http://other/", ("http://other/",)))
        with pytest.raises(BadJournal, match="in use"):
            Journal(path, "options", resume=True)

        journal.check_length(1)
        with pytest.raises(BadJournal, match="longer list: it has item 1"):
            journal.check_length(0)

    with pytest.raises(BadJournal, match="other options"):
        Journal(path, "others", resume=True)
    with pytest.raises(BadJournal, match="--resume"):
        Journal(path, "options", resume=False)
    (tmp_path / "thesis").write_text("A thesis.\n")
    with pytest.raises(BadJournal, match="not a journal of timegate"):
        Journal(tmp_path / "thesis", "options", resume=True)
    with pytest.raises(BadJournal, match="cannot be written"):
        Journal(tmp_path / "no" / "folder", "options", resume=True)
    assert (tmp_path / "thesis").read_text() == "A thesis.\n"


def test_damage_in_the_middle_is_reported_and_not_repaired(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal(path, "options", resume=False) as journal:
        journal.append(a_result(0))
        journal.append(a_result(1))
    damaged = path.read_bytes().replace(b'"position": 0', b'"position": 1', 1)
    path.write_bytes(damaged)

    with pytest.raises(BadJournal, match="damaged at octet"):
        Journal(path, "options", resume=True)
    assert path.read_bytes() == damaged


def test_a_sync_is_due_after_some_lines(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", "options", resume=False) as journal:
        for position in range(32):
            assert not journal.due
            journal.append(a_result(position))

        assert journal.due
        journal.sync()
        assert not journal.due


def test_results_with_missing_answers_can_be_reopened(tmp_path: Path) -> None:
    def result_with(position: int, code: Code, sources: str) -> ItemResult:
        result = a_result(position, code)
        return replace(result, report={**(result.report or {}), "sources": {"value": sources}})

    with Journal(tmp_path / "journal", "options", resume=False) as journal:
        journal.append(result_with(0, 4, "partial"))
        journal.append(result_with(1, 3, "complete"))
        journal.append(result_with(2, 1, "partial"))
        journal.append(result_with(3, 0, "partial"))
        journal.append(a_result(4, 2))

        assert journal.reopen() == 2
        assert [result.item.position for result in journal.unsettled()] == [0, 2]
        assert [journal.is_final(at) for at in range(6)] == [
            *(False, True, False, True, True),
            False,
        ]


@pytest.mark.parametrize("existing", [False, True])
def test_only_its_owner_can_read_a_journal(tmp_path: Path, *, existing: bool) -> None:
    path = tmp_path / "journal"
    if existing:
        path.touch(0o644)

    with Journal(path, "options", resume=existing):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_complete_journal_is_replaced_and_an_incomplete_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal(path, "options", resume=False) as journal:
        journal.append(a_result(0))
    with pytest.raises(BadJournal, match="not complete; continue with --resume"):
        Journal(path, "options", resume=False)
    with Journal(path, "options", resume=True) as journal:
        journal.complete()

    with Journal(path, "options", resume=True) as journal:
        assert journal.finished == 1
    with Journal(path, "other options", resume=False) as journal:
        assert journal.finished == 0


def test_a_complete_journal_that_is_continued_is_no_longer_complete(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal(path, "options", resume=False) as journal:
        journal.complete()
    with Journal(path, "options", resume=True) as journal:
        journal.append(a_result(0))

    with pytest.raises(BadJournal, match="not complete"):
        Journal(path, "options", resume=False)


def test_a_file_that_is_no_journal_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_text('a letter\n{"complete": true}\n')

    with pytest.raises(BadJournal, match="exists"):
        Journal(path, "options", resume=False)
    assert path.read_text().startswith("a letter")
