"""`timegate resolve --batch` with an archive that cannot be reached."""

import json
from contextlib import chdir
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from timegate.cli import main

DEAD = """
[archives]
use = []
[[archive]]
id = "dead"
kind = "memento"
timegate = "http://127.0.0.1:9/"
pwid = ["dead.example"]
"""


def batch(folder: Path, *arguments: str, given: str | None = None) -> Result:
    config = folder / "timegate.toml"
    config.write_text(DEAD)
    words = ["resolve", "--config", str(config), *arguments]
    return CliRunner().invoke(main, words, input=given)


def listed(folder: Path, text: str, name: str = "list.txt") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_a_list_from_standard_input_is_written_to_standard_output(tmp_path: Path) -> None:
    result = batch(tmp_path, "--batch", "-", given="nonsense\nhttp://a.example/ 2016\n")

    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(one["input"], one["outcome"]) for one in rows] == [
        ("nonsense", "refused"),
        ("http://a.example/ 2016", "unknown"),
    ]
    assert result.exit_code == 4
    assert "2 references: 1 refused, 1 unknown" in result.stderr


def test_the_exit_code_is_zero_if_the_whole_list_was_processed(tmp_path: Path) -> None:
    path = listed(tmp_path, "nonsense\n")

    assert batch(tmp_path, "--batch", path).exit_code == 2
    assert batch(tmp_path, "--batch", path, "--exit-zero").exit_code == 0


def test_an_empty_list_gives_an_empty_result(tmp_path: Path) -> None:
    result = batch(tmp_path, "--batch", listed(tmp_path, ""), "--to", "csv")

    assert result.exit_code == 0
    assert result.stdout.startswith("input,outcome,memento,")
    assert result.stderr == "no references: the list is empty\n"


def test_a_page_without_archive_links_is_reported_and_written_unchanged(tmp_path: Path) -> None:
    path, out = listed(tmp_path, "{{x}} http://a/", "page.wiki"), tmp_path / "new.wiki"

    result = batch(tmp_path, "--batch", path, "--output", str(out))

    assert result.exit_code == 0
    assert "no references in it: it was read as wikitext" in result.stderr
    assert out.read_text() == "{{x}} http://a/"


def test_a_list_of_another_format_is_rejected_before_anything_is_written(
    tmp_path: Path,
) -> None:
    path, out = listed(tmp_path, '[["a"]]', "list"), tmp_path / "out.jsonl"

    result = batch(tmp_path, "--batch", path, "--output", str(out))

    assert result.exit_code == 2
    assert "no references in it" in result.stderr
    assert [*tmp_path.glob("out*")] == []


def test_a_table_without_references_leaves_no_journal(tmp_path: Path) -> None:
    path, out = listed(tmp_path, "name,size\na,1\nb,2\n", "list.csv"), tmp_path / "out.jsonl"

    result = batch(tmp_path, "--batch", path, "--output", str(out))

    assert result.exit_code == 2
    assert "name it with --column" in result.stderr
    assert [*tmp_path.glob("out*")] == []


def test_a_list_in_json_is_read(tmp_path: Path) -> None:
    path = listed(tmp_path, '[{"url": "http://a.example/", "date": 2016}]', "list.json")

    result = batch(tmp_path, "--batch", path, "--to", "csv")

    assert "http://a.example/,unknown," in result.stdout
    assert "1 reference: 1 unknown" in result.stderr


def test_output_report_and_journal_are_written_to_files(tmp_path: Path) -> None:
    path = listed(tmp_path, "link,when\nhttp://a.example/,2016\n", "list.csv")
    out, report = tmp_path / "out.csv", tmp_path / "report.html"

    result = batch(tmp_path, "--batch", path, "--output", str(out), "--report", str(report))

    assert result.stdout == ""
    assert "http://a.example/,unknown," in out.read_text()
    assert "no answer from dead" in report.read_text()
    assert (tmp_path / "out.csv.journal").exists()


def test_the_output_of_a_finished_run_can_be_written_again(tmp_path: Path) -> None:
    path = listed(tmp_path, "nonsense\n")
    out = tmp_path / "out.jsonl"
    batch(tmp_path, "--batch", path, "--output", str(out))
    first = out.read_bytes()
    out.unlink()

    resumed = batch(tmp_path, "--batch", path, "--output", str(out), "--resume")

    assert "1 reference, 1 already done" in resumed.stderr
    assert out.read_bytes() == first


def test_references_may_be_appended_to_a_list_that_is_continued(tmp_path: Path) -> None:
    path, out = listed(tmp_path, "nonsense\n"), tmp_path / "out.jsonl"
    batch(tmp_path, "--batch", path, "--output", str(out))
    listed(tmp_path, "nonsense\nnewer\n")

    longer = batch(tmp_path, "--batch", path, "--output", str(out), "--resume")
    listed(tmp_path, "nonsense\n")
    shorter = batch(tmp_path, "--batch", path, "--output", str(out), "--resume")

    assert "2 references, 1 already done" in longer.stderr
    assert len(out.read_text().splitlines()) == 2
    assert "the journal of a longer list: it has item 2" in shorter.stderr


def test_the_journal_of_a_finished_run_is_not_in_the_way_of_another_list(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out.jsonl"
    batch(tmp_path, "--batch", listed(tmp_path, "nonsense\n"), "--output", str(out))

    other = listed(tmp_path, "different\nwords\n")
    again = batch(tmp_path, "--batch", other, "--output", str(out), "--tolerance", "1d")

    assert "2 references: 2 refused" in again.stderr
    assert len(out.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--work"], "require --queue"),
        (["--progress"], "require --queue"),
        (["--queue", "redis://127.0.0.1", "--work", "--progress"], "only one of"),
        (["--queue", "redis://127.0.0.1", "--work", "http://a.example/"], "only one of"),
        (["--queue", "http://127.0.0.1", "--progress"], "--queue: the queue is at none of"),
        (["--queue", "redis://127.0.0.1#a b", "--progress"], "a name consists of"),
        (["--queue", "http://a", "--batch", "-"], "--queue: the queue is at none of"),
    ],
)
def test_bad_usage_of_a_queue_is_explained(
    tmp_path: Path, arguments: list[str], why: str
) -> None:
    result = batch(tmp_path, *arguments, given="http://a.example/\n")

    assert result.exit_code == 2
    assert why in result.stderr


def test_a_journal_of_another_list_is_rejected_before_any_query(tmp_path: Path) -> None:
    out = str(tmp_path / "out.jsonl")
    batch(tmp_path, "--batch", listed(tmp_path, "nonsense\n"), "--output", out)

    other = listed(tmp_path, "different\n")
    result = batch(tmp_path, "--batch", other, "--output", out, "--resume")
    options = batch(
        tmp_path, "--batch", other, "--output", out, "--resume", "--tolerance", "1d"
    )

    assert "another list: it differs at item 1" in result.stderr
    assert "other options" in options.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "either IDs or a list"),
        (["http://a.example/", "--batch", "-"], "either IDs or a list"),
        (["--batch", "/no/such/list"], "cannot be read"),
        (["--batch", "-", "--resume"], "requires --output"),
        (["--batch", "-", "--distrust", "archive-todai"], "Did you mean archive-today"),
        (["--batch", "-", "--trust", "internet-arcive"], "Did you mean internet-archive"),
        (["--batch", "-", "--tolerance", "soon"], "tolerance must be"),
        (["--batch", "-", "--to", "wikitext"], "cannot be written as wikitext"),
        (["--batch", "-", "--input-format", "csv", "--column", "x"], "no column 'x'"),
        (["--batch", "-", "--output", "/no/such/folder/out"], "cannot be written"),
    ],
)
def test_bad_usage_is_explained(tmp_path: Path, arguments: list[str], why: str) -> None:
    result = batch(tmp_path, *arguments, given="a,b\n1,2\n")

    assert result.exit_code == 2
    assert why in result.stderr


def test_an_archive_that_is_not_trusted_is_not_queried_even_if_named(
    tmp_path: Path,
) -> None:
    pwid = "urn:pwid:dead.example:2016-01-22T11:20:29Z:page:http://a.example/"

    trusting = batch(tmp_path, "--batch", "-", given=pwid)
    cautious = batch(tmp_path, "--batch", "-", "--distrust", "dead.example", given=pwid)
    choosy = batch(tmp_path, "--batch", "-", "--trust", "internet-archive", given=pwid)

    assert trusting.exit_code == 4
    assert json.loads(cautious.stdout)["report"]["attempts"] == []
    assert json.loads(choosy.stdout)["report"]["attempts"] == []


def test_a_link_to_an_own_collection_is_found_in_that_collection() -> None:
    link = "http://127.0.0.1:1208/collections/harbour/20101105101500/http://museum.example/"

    result = CliRunner().invoke(
        main, ["resolve", "--demo", "--batch", "-", "--to", "jsonl"], input=f"{link}\n"
    )

    assert result.exit_code == 0
    assert json.loads(result.stdout)["outcome"] == "exact"


@pytest.mark.parametrize("option", ["--column", "--date-column"])
def test_a_column_of_a_list_without_columns_is_refused(tmp_path: Path, option: str) -> None:
    path = listed(tmp_path, '["http://a.example/"]', "list.json")

    result = batch(tmp_path, "--batch", path, option, "url")

    assert result.exit_code == 2
    assert f"{option} is for CSV, but the list was read as json" in result.stderr


def test_progress_of_a_queue_that_cannot_be_reached_is_an_error(tmp_path: Path) -> None:
    result = batch(tmp_path, "--queue", "redis://127.0.0.1:1", "--progress")

    assert result.exit_code == 2
    assert "--queue: the queue cannot be reached (127.0.0.1:1: " in result.stderr
    assert "is not used" not in result.stderr


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("--output", "no journal says that it is of an earlier run"),
        ("--report", "is not a report of timegate"),
    ],
)
def test_a_file_of_something_else_is_not_overwritten(
    tmp_path: Path, option: str, why: str
) -> None:
    path, out = listed(tmp_path, "nonsense\n"), tmp_path / "thesis.html"
    out.write_text("years of work")

    result = batch(tmp_path, "--batch", path, option, str(out))

    assert result.exit_code == 2
    assert f"{out} exists, and {why}" in result.stderr
    assert out.read_text() == "years of work"
    assert not Path(f"{out}.journal").exists()


def test_the_output_of_an_earlier_run_and_an_empty_file_are_overwritten(
    tmp_path: Path,
) -> None:
    path, out, report = listed(tmp_path, "nonsense\n"), tmp_path / "o.csv", tmp_path / "r.html"
    out.touch()
    words = ("--batch", path, "--output", str(out), "--report", str(report), "--exit-zero")

    assert batch(tmp_path, *words).exit_code == 0
    assert batch(tmp_path, *words).exit_code == 0
    assert "nonsense" in out.read_text()


def test_an_output_in_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    out = tmp_path / "nodir" / "o.csv"

    result = batch(tmp_path, "--batch", listed(tmp_path, "nonsense\n"), "--output", str(out))

    assert result.exit_code == 2
    assert f"{out} cannot be written: there is no {out.parent}\n" in result.stderr


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("list", "", 0),
        ("list.txt", "", 0),
        ("list.csv", "", 0),
        ("list", "# nothing\n", 0),
        ("list", '[["a"]]', 2),
        ("list.jsonl", "\n", 0),
    ],
)
def test_a_list_without_references_is_an_error_if_its_format_was_guessed(
    tmp_path: Path, name: str, text: str, code: int
) -> None:
    """An empty list is never: there is nothing that could be misread."""
    out = tmp_path / "out.jsonl"

    result = batch(tmp_path, "--batch", listed(tmp_path, text, name), "--output", str(out))

    assert result.exit_code == code
    assert "no references" in result.stderr
    assert out.exists() == Path(f"{out}.journal").exists() == (code == 0)


@pytest.mark.parametrize(("text", "code"), [("", 0), ("# nothing\n", 0), ('[["a"]]', 2)])
def test_standard_input_without_references_is_treated_alike(
    tmp_path: Path, text: str, code: int
) -> None:
    out = tmp_path / "out.jsonl"

    result = batch(tmp_path, "--batch", "-", "--output", str(out), given=text)

    assert result.exit_code == code
    assert ("state its format with --input-format" in result.stderr) == bool(code)
    assert len([*tmp_path.glob("out*")]) == (0 if code else 2)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--resume http://a.example/", "--resume --batch - --output results.jsonl"),
        (
            "--retry-unknown http://a.example/",
            "--retry-unknown --batch - --output results.jsonl --resume",
        ),
        (
            "--resume --output a.csv http://a.example/",
            "--resume --output a.csv --batch -",
        ),
        ("--column url http://a.example/", "--column url --batch FILE"),
        ("--to wikitext http://a.example/", "--to wikitext --batch FILE"),
        ("--batch - --resume", "--batch - --resume --output results.jsonl"),
        ("--batch - --retry-unknown", "--retry-unknown --resume --output results.jsonl"),
    ],
)
def test_the_line_that_is_suggested_for_an_option_of_lists_works(
    tmp_path: Path, words: str, line: str
) -> None:
    given = "http://museum.example/ 2010\n"
    result = CliRunner().invoke(main, ["resolve", "--demo", *words.split()], input=given)

    assert result.exit_code == 2
    assert result.stderr.endswith(f"{line}\n")
    if "FILE" not in line:
        with chdir(tmp_path):
            typed = result.stderr.splitlines()[-1].partition("timegate ")[2].split()
            again = CliRunner().invoke(main, [*typed, "--exit-zero"], input=given)
        assert again.exit_code == 0, again.stderr


def test_a_bare_status_without_a_queue_names_progress(tmp_path: Path) -> None:
    alone = batch(tmp_path, "--status")
    queued = batch(tmp_path, "--queue", "redis://127.0.0.1:1", "--status")
    progress = batch(tmp_path, "--queue", "redis://127.0.0.1:1", "--progress")
    listed = batch(tmp_path, "--queue", "redis://a", "--batch", "-", "--status", given="x")

    assert (
        "--status requires a value, 2xx or any; without one, it is --progress" in alone.stderr
    )
    assert "cannot be reached" in queued.stderr
    assert queued.stderr == progress.stderr
    assert "only one of" in listed.stderr
    assert {each.exit_code for each in (alone, queued, listed)} == {2}
