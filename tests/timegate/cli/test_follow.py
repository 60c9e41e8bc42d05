"""`timegate follow`: over a folder of WARC files, whose captures grow."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from archives.warc_index.building import index_collection
from tests import warcs
from timegate.cli import main

URL = "http://example.org/"
CONFIG = """
archives.use = []
[[archive]]
id = "own"
name = "Own"
kind = "warc"
path = "own"
"""


class Pages:
    """A folder of captures, and the command over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "own").mkdir()
        (folder / "timegate.toml").write_text(CONFIG)
        self.number = 0

    def capture(self, body: str, date: str) -> None:
        self.number += 1
        path = self.folder / "own" / f"{self.number}.warc.gz"
        record = warcs.response(URL, date, body.encode())
        path.write_bytes(warcs.gzipped(record))
        index_collection(self.folder / "own")

    def arguments(self, *more: str) -> list[str]:
        config, state = self.folder / "timegate.toml", self.folder / "state"
        return ["follow", "--config", str(config), "--state", str(state), *more]

    def run(self, *more: str) -> Result:
        return CliRunner().invoke(main, self.arguments("--once", *more))


@pytest.fixture
def pages(tmp_path: Path) -> Pages:
    pages = Pages(tmp_path)
    pages.capture("one", "2020-01-01T00:00:00Z")
    return pages


def test_the_first_run_notes_and_later_runs_report_each_capture_once(pages: Pages) -> None:
    first = pages.run(URL)
    second = pages.run(URL)
    pages.capture("two", "2021-01-01T00:00:00Z")
    third = pages.run(URL)
    fourth = pages.run(URL)

    assert [r.exit_code for r in (first, second, third, fourth)] == [0] * 4
    assert (first.stdout, second.stdout, fourth.stdout) == ("", "", "")
    assert third.stdout.startswith("2021-01-01T00:00:00Z own changed http://")
    assert "1 page followed, 1 capture known, 0 new" in first.stderr
    assert stat.S_IMODE((pages.folder / "state").stat().st_mode) == 0o600


def test_a_list_is_followed_and_a_page_in_it_twice_once(pages: Pages) -> None:
    file = pages.folder / "pages.txt"
    file.write_text(f"{URL}\nduri:2020:{URL}\nhttp://example.org/other\n")

    result = pages.run(str(file), URL)

    assert "2 pages followed" in result.stderr


def test_changes_are_json_on_request(pages: Pages) -> None:
    pages.run(URL)
    pages.capture("one", "2021-01-01T00:00:00.125Z")
    result = pages.run("--json", URL)

    change = json.loads(result.stdout)
    assert (change["datetime"], change["changed"]) == ("2021-01-01T00:00:00.125Z", False)


def test_what_a_program_did_not_take_is_reported_the_next_time(pages: Pages) -> None:
    pages.run(URL)
    pages.capture("two", "2021-01-01T00:00:00Z")
    failed = pages.run("--exec", "false", URL)
    taken = pages.run(URL)

    assert failed.exit_code == 1
    assert "not reported, tried again next time" in failed.stderr
    assert taken.stdout.startswith("2021-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--exec", "true", "--webhook", "http://hook.example/"), "either --exec or --webhook"),
        (("--exec", "'"), "--exec"),
        (("--exec", " "), "name a program"),
        (("--webhook", "ftp://hook.example/"), "--webhook"),
        (("--every", "5s"), "10m to 7d"),
        (("mailto:x@example.org",), "mailto"),
    ],
)
def test_bad_usage_is_explained(pages: Pages, options: tuple[str, ...], words: str) -> None:
    arguments = pages.arguments(*options, URL)
    if "--every" not in options:
        arguments.append("--once")

    result = CliRunner().invoke(main, arguments)

    assert result.exit_code == 2
    assert words in result.stderr


def test_a_state_that_is_no_state_is_left_alone(pages: Pages) -> None:
    (pages.folder / "state").write_text("notes " * 500)

    result = pages.run(URL)

    assert result.exit_code == 2
    assert "choose another file" in result.stderr


def test_a_killed_run_loses_nothing_and_the_next_repeats_only_what_was_under_way(
    pages: Pages,
) -> None:
    pages.run(URL)
    for year in range(2021, 2026):
        pages.capture(str(year), f"{year}-01-01T00:00:00Z")
    notes = pages.folder / "notes"
    # The third report kills its parent before that can mark it.
    script = pages.folder / "report.py"
    script.write_text(
        "import os, signal, sys\n"
        f"with open({str(notes)!r}, 'a') as file:\n"
        "    said = [os.environ[f'TIMEGATE_CHANGE_{n}'] for n in ('DATETIME', 'REPEATED')]\n"
        "    file.write(' '.join(said) + '\\n')\n"
        f"if len(open({str(notes)!r}).readlines()) == 3:\n"
        f"    os.kill(os.getppid(), {int(signal.SIGKILL)})\n"
    )
    program = f"{sys.executable} {script}"
    killed = subprocess.run(  # noqa: S603 -- our own command
        [sys.executable, "-m", "timegate", *pages.arguments("--once", "--exec", program, URL)],
        check=False,
        capture_output=True,
        env={**os.environ},
    )
    again = pages.run("--exec", program, URL)
    last = pages.run("--exec", program, URL)

    lines = notes.read_text().splitlines()
    years = [line[:4] for line in lines]
    assert [line.split()[1] for line in lines] == ["no", "no", "no", "yes", "no", "no"]
    assert "perhaps reported before" in again.stderr
    assert killed.returncode == -signal.SIGKILL
    assert years == ["2021", "2022", "2023", "2023", "2024", "2025"]
    assert "3 new" in again.stderr
    assert "0 new" in last.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_stopped_ends_its_report_and_repeats_nothing(
    pages: Pages, number: signal.Signals
) -> None:
    pages.run(URL)
    for year in range(2021, 2024):
        pages.capture(str(year), f"{year}-01-01T00:00:00Z")
    notes = pages.folder / "notes"
    # The second report stops its parent, and goes on for a while.
    script = pages.folder / "report.py"
    script.write_text(
        "import os, signal, sys, time\n"
        f"with open({str(notes)!r}, 'a') as file:\n"
        "    file.write(os.environ['TIMEGATE_CHANGE_DATETIME'] + '\\n')\n"
        f"if len(open({str(notes)!r}).readlines()) == 2:\n"
        f"    os.kill(os.getppid(), {int(number)})\n"
        "    time.sleep(1)\n"
    )
    program = f"{sys.executable} {script}"
    stopped = subprocess.run(  # noqa: S603 -- our own command
        [sys.executable, "-m", "timegate", *pages.arguments("--once", "--exec", program, URL)],
        check=False,
        capture_output=True,
        text=True,
    )
    again = pages.run("--exec", program, URL)

    assert stopped.returncode == 128 + number
    assert "the same command continues" in stopped.stderr
    assert "perhaps reported before" not in again.stderr
    years = [line[:4] for line in notes.read_text().splitlines()]
    assert years == ["2021", "2022", "2023"]
