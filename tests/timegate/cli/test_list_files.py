"""Which files ``timegate resolve --batch`` writes, and which it never replaces."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from timegate.cli import main

MUSEUM = "http://museum.example/ 2010-11\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "l.txt").write_text(MUSEUM)
    (tmp_path / "d").mkdir()
    with chdir(tmp_path):
        yield tmp_path


def resolve(words: str) -> Result:
    line = ["resolve", "--demo", "--batch", "l.txt", "--exit-zero", *words.split()]
    return CliRunner().invoke(main, line)


def test_a_journal_of_the_output_permits_no_other_file_to_be_replaced(folder: Path) -> None:
    thesis = folder / "index.html"
    thesis.write_text("mine")
    resolve("--output a.csv")

    result = resolve("--output a.csv --report index.html")

    assert result.exit_code == 2
    assert "index.html exists, and is not a report of timegate" in result.stderr
    assert result.stderr.endswith("--output a.csv --report index-2.html\n")
    assert thesis.read_text() == "mine"


@pytest.mark.parametrize("output", ["", "--output a.csv "])
def test_a_report_of_an_earlier_run_is_replaced(folder: Path, output: str) -> None:
    first = resolve(f"{output}--report r.html")
    (folder / "l.txt").write_text("nonsense\n")
    second = resolve(f"{output}--report r.html")

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "nonsense" in (folder / "r.html").read_text()


def test_a_report_of_an_earlier_release_is_replaced(folder: Path) -> None:
    resolve("--report r.html")
    report = folder / "r.html"
    head = '<meta name="generator" content="timegate resolve --batch">'
    report.write_text(report.read_text().replace(head, ""))

    assert head not in report.read_text()
    assert resolve("--report r.html").exit_code == 0


def test_a_file_that_only_is_named_like_a_journal_permits_nothing(folder: Path) -> None:
    (folder / "a.csv").write_text("mine")
    (folder / "a.csv.journal").touch()

    assert resolve("--output a.csv").exit_code == 2
    assert (folder / "a.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "why", "line"),
    [
        ("--output d", "--output d: this is a folder", "--output d/results.csv"),
        ("--output d/ --to jsonl", "is a folder", "--output d/results.jsonl --to jsonl"),
        ("--output d/ --to text", "is a folder", "--output d/results.txt --to text"),
        ("--output new/", "--output new/: there is no such folder", "--output results.csv"),
        ("--report d", "--report d: this is a folder", "--report d/report.html"),
        ("--report x/r.html", "there is no x", "--report r.html"),
        ("--report l.txt/r.html", "l.txt is no folder", "--report r.html"),
        ("--output y.csv --report ./y.csv", "to the same file", "y.csv --report y.html"),
        ("--report -", "would be written to the same file", "--report report.html"),
        ("--output y --report y.journal", "to the same file", "--report y.html"),
        ("--output /dev/null", "/dev/null is no regular file", "--output null"),
        # Even the superuser creates no file there.
        ("--output /proc/a.csv", "no file can be created in /proc", "--output a.csv"),
        ("--output a.csv --report /proc/r.html", "can be created in /proc", "--report r.html"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_first_request(
    folder: Path, words: str, why: str, line: str
) -> None:
    before = sorted(folder.rglob("*"))

    result = resolve(words)

    assert result.exit_code == 2
    assert why in result.stderr
    assert result.stderr.splitlines()[-1].startswith("Try: timegate resolve --demo")
    assert result.stderr.endswith(f"{line}\n")
    assert sorted(folder.rglob("*")) == before


def test_a_list_that_would_be_overwritten_on_the_way_is_refused(folder: Path) -> None:
    (folder / "z.csv.part").write_text(MUSEUM)
    words = ["resolve", "--demo", "--batch", "z.csv.part", "--output", "z.csv"]

    result = CliRunner().invoke(main, words)

    assert result.exit_code == 2
    assert "z.csv.part is the list" in result.stderr
    assert (folder / "z.csv.part").read_text() == MUSEUM


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--batch b.txt", "--batch l.txt and --batch b.txt: resolve one list after the other"),
        ("--output a --output b", "--output a and --output b: give only one"),
        ("--report a --report b", "--report a and --report b: give only one"),
    ],
)
def test_a_name_that_is_given_twice_is_refused(words: str, why: str) -> None:
    result = resolve(words)

    assert result.exit_code == 2
    assert why in result.stderr


@pytest.mark.parametrize(
    ("output", "line", "file"),
    [
        ("--output a.csv", "nonsense " * 100, "a.csv.journal"),
        # In HTML, an apostrophe takes six octets.
        ("--output a.csv --report r.html", "'" * 200, "r.html.part"),
    ],
)
def test_a_full_disk_is_named_with_the_line_that_continues(
    folder: Path, output: str, line: str, file: str
) -> None:
    """A limit for the length of a file fails like a disk without space."""
    (folder / "l.txt").write_text(f"{line}\n" * 90)
    words = ["resolve", "--demo", "--batch", "l.txt", "--input-format", "lines"]
    words += output.split()

    result = subprocess.run(  # noqa: S603 -- our own program
        [
            *("/bin/sh", "-c", 'ulimit -f 200; exec "$@"', "sh"),
            *(sys.executable, "-m", "timegate", *words),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={"PYTHONPATH": str(Path(__file__).parents[3]), "PYTHONDONTWRITEBYTECODE": "1"},
    )

    assert result.returncode == 1
    assert f"Error: {file}: File too large\n" in result.stderr
    assert result.stderr.endswith(
        "The results so far are in a.csv.journal; continue with: "
        f"timegate {' '.join(words)} --resume\n"
    )
    # What could be written is in its place.
    assert (folder / "a.csv").exists() == ("--report" in output)
    again = CliRunner().invoke(main, [*words, "--resume", "--exit-zero"])
    assert again.exit_code == 0
    assert (folder / "a.csv").exists()
