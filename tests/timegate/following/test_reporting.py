import json
import sys
from pathlib import Path

import pytest

from tests.timegate.following.pages import PAGE, capture
from timegate.following import Change
from timegate.following.feeds import entry_id, members
from timegate.following.reporting import LineReport, ProgramReport, ReportFailed

CHANGE = Change(3, PAGE, capture("20260131120000250", "sha1:A"), None, 1.8e9)
NOTES = """
import json, os, sys
with open(sys.argv[1], "a") as file:
    names = ("ID", "URI", "PAGE", "DATETIME", "ARCHIVE", "CONTENT")
    values = {name: os.environ[f"TIMEGATE_CHANGE_{name}"] for name in names}
    print(json.dumps([sys.argv[2:], values, json.load(sys.stdin)]), file=file)
"""


async def test_a_line_has_the_time_the_archive_the_content_and_the_addresses() -> None:
    lines: list[str] = []

    await LineReport(lines.append)(CHANGE)
    await LineReport(lines.append, as_json=True)(CHANGE)

    assert lines[0] == (
        f"2026-01-31T12:00:00.250Z a unknown http://a/20260131120000250/{PAGE} {PAGE}"
    )
    assert json.loads(lines[1]) == members(CHANGE)


async def test_a_program_gets_arguments_environment_and_input(tmp_path: Path) -> None:
    notes = tmp_path / "notes; echo $HOME"
    await ProgramReport([sys.executable, "-c", NOTES, str(notes)])(CHANGE)

    arguments, environment, given = json.loads(notes.read_text())
    assert given == members(CHANGE)
    assert environment["ID"] == entry_id(CHANGE) == given["id"]
    assert arguments == [
        environment[n] for n in ("URI", "PAGE", "DATETIME", "ARCHIVE", "CONTENT")
    ]


async def test_a_program_that_reads_nothing_is_no_failure() -> None:
    await ProgramReport([sys.executable, "-c", "pass"])(CHANGE)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (["/no/such/program"], "cannot be run"),
        ([sys.executable, "-c", "import sys; sys.exit(7)"], "ended with 7"),
    ],
)
async def test_a_program_that_fails_has_not_reported(program: list[str], why: str) -> None:
    with pytest.raises(ReportFailed, match=why):
        await ProgramReport(program)(CHANGE)


async def test_a_program_without_end_is_ended() -> None:
    endless = [sys.executable, "-c", "import time; time.sleep(1000)"]

    with pytest.raises(ReportFailed, match="did not end"):
        await ProgramReport(endless, longest=0.01)(CHANGE)
