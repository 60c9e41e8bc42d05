"""`timegate keep` over the demo: what it prints, and which usage it rejects."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from timegate.cli import main

LIST = "duri:2010:http://museum.example/\nhttp://museum.example/logo.png 2010\n"


def keep(folder: Path, *arguments: str, given: str = "") -> Result:
    words = ["keep", "--demo", "--trust", "harbour", "--store", f"{folder}/notes", *arguments]
    return CliRunner().invoke(main, words, input=given)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "notes").glob("*.warc.gz")}


def test_references_and_lists_are_kept_in_their_order(tmp_path: Path) -> None:
    result = keep(tmp_path, "http://museum.example/visit", "-", given=LIST)

    assert [line.partition(" ")[0] for line in result.stdout.splitlines()] == [
        "http://museum.example/visit:",
        "duri:2010:http://museum.example/:",
        "http://museum.example/logo.png",
    ]
    # One copy is an archived redirect.
    assert result.exit_code == 1
    assert result.stderr == (
        "3 references: 3 kept (3 now, 0 before), 0 not; 0 with two or more independent copies\n"
    )


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    keep(tmp_path, "-", given=LIST)
    before = contents(tmp_path)

    result = keep(tmp_path, "-", given=LIST)

    assert "2 kept (0 now, 2 before)" in result.stderr
    assert (result.exit_code, contents(tmp_path)) == (0, before)


def test_a_bibtex_file_is_a_list(tmp_path: Path) -> None:
    path = tmp_path / "cited.bib"
    path.write_text(
        "@misc{m, url = {http://museum.example/}, urldate = {2010-11-05}, title = {M}}\n"
    )

    result = keep(tmp_path, str(path))

    assert "1 kept (1 now" in result.stderr


def test_archives_on_this_machine_are_no_independent_copies(tmp_path: Path) -> None:
    result = keep(tmp_path, "--ensure", "2", "--json", "duri:2010:http://museum.example/")

    report = json.loads(result.stdout)
    assert (report["independent"], report["ensured"], result.exit_code) == (1, False, 1)
    assert [copy["custodian"] for copy in report["copies"]] == ["this server"] * 2


def test_a_page_is_kept_with_its_parts(tmp_path: Path) -> None:
    words = ("--pages", "--json", "http://museum.example/gallery")

    first = json.loads(keep(tmp_path, *words).stdout)
    before = contents(tmp_path)
    second = json.loads(keep(tmp_path, *words).stdout)

    assert first["parts"]["parts"] > 0
    assert second["parts"] == first["parts"]
    assert (second["outcome"], contents(tmp_path)) == ("already", before)


def test_what_cannot_be_read_and_what_is_not_there_is_said(tmp_path: Path) -> None:
    result = keep(tmp_path, "nonsense:", "http://nowhere.example/")

    assert result.exit_code == 3
    assert "nonsense:: refused; " in result.stdout
    assert "http://nowhere.example/: not kept; no copy found\n" in result.stdout


def test_a_store_that_does_not_exist_is_a_usage_error(tmp_path: Path) -> None:
    words = ["keep", "--demo", "--store", "nots", "http://museum.example/"]

    result = CliRunner().invoke(main, words)

    assert result.exit_code == 2
    assert "there is no store 'nots'. Give the id of a [[store]]" in result.stderr
    assert not (tmp_path / "nots").exists()


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("a file")

    result = keep(tmp_path, "duri:2010:http://museum.example/")

    assert result.exit_code == 1
    assert "Error: store notes: cannot be written: " in result.stderr


def test_an_empty_list_is_said(tmp_path: Path) -> None:
    result = keep(tmp_path, "-")

    assert result.exit_code == 0
    assert "no references: the list is empty" in result.stderr
