"""The published results of other software are those of their recordings."""

import json

import pytest
from click.testing import CliRunner

from tests.timegate.conformance import results_page
from tests.timegate.conformance.results_page import RECORDINGS, SOFTWARE
from timegate.cli.check import check_command

COMMAND = "python -m tests.timegate.conformance.results_page"


def test_every_recording_is_in_the_results() -> None:
    assert {folder.name for folder in RECORDINGS.iterdir()} == {s.recording for s in SOFTWARE}


def test_the_results_are_those_of_the_recordings() -> None:
    assert json.loads(results_page.DATA.read_text()) == results_page.data(), COMMAND
    assert results_page.PAGE.read_text() == results_page.page(), COMMAND


@pytest.mark.parametrize("recording", [software.recording for software in SOFTWARE])
def test_anybody_can_replay_a_recording(recording: str) -> None:
    words = ["--replay", str(RECORDINGS / recording), "--json"]
    result = CliRunner().invoke(check_command, words)

    document = json.loads(result.stdout)
    assert document["exit_code"] == result.exit_code
    [report] = document["archives"]
    assert report["counts"]["pass"] > 50
    assert report["requests"] <= 40
