"""`timegate check` on pywb and on our own server: known violations are found."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.end_to_end import pywb as held
from tests.end_to_end.pywb import Pywb
from tests.end_to_end.server import running_timegate
from tests.end_to_end.test_store import a_store, persist
from tests.timegate.conformance.archive import PAGE, ArchiveOptions, running
from timegate.cli.check import check_command

KNOWN_OF_PYWB = {
    "dates-of-another-form-are-a-400",
    "refusals-are-a-timegates",
    "scripts-of-other-sites-may-ask-for-a-time",
    "scripts-of-other-sites-may-read",
    "timemap-does-not-negotiate",
    "timemap-is-no-timegate",
}
"""Of pywb 2.10 in all its modes."""


def found(url: str, *samples: str) -> tuple[int, set[str]]:
    """Check *url*; return the exit code, and the checks that found something."""
    chosen = [word for sample in samples for word in ("--sample", sample)]
    result = CliRunner().invoke(check_command, [url, *chosen, "--json"])
    report = json.loads(result.stdout)
    results = report["archives"][0]["results"]
    wrong = {each["check"] for each in results if each["verdict"] in ("fail", "warn")}
    return result.exit_code, wrong


@pytest.mark.parametrize(
    ("mode", "besides", "code"),
    [
        ("plain_pywb", set(), 0),
        ("exact_pywb", {"redirect-is-a-302"}, 0),
        ("framed_pywb", {"timegate-leads-to-a-memento", "a-made-up-time-is-not-confirmed"}, 1),
    ],
)
def test_known_violations_of_pywb_are_found(
    mode: str, besides: set[str], code: int, request: pytest.FixtureRequest
) -> None:
    pywb: Pywb = request.getfixturevalue(mode)

    ended, wrong = found(pywb.url, held.OFTEN)

    assert wrong == KNOWN_OF_PYWB | besides
    assert ended == code


def test_checking_pywb_takes_at_most_forty_requests(plain_pywb: Pywb) -> None:
    words = [plain_pywb.url, "--sample", held.OFTEN, "--json", "--profile", "rfc-strict"]
    result = CliRunner().invoke(check_command, words)

    assert json.loads(result.stdout)["archives"][0]["requests"] <= 40
    assert result.exit_code == 1


def test_pywb_keeps_archived_errors_apart(plain_pywb: Pywb) -> None:
    _, wrong = found(plain_pywb.url, held.MOVED, held.GONE, held.REFUSED)

    assert wrong <= KNOWN_OF_PYWB


def test_our_own_server_has_no_violations(plain_pywb: Pywb, tmp_path: Path) -> None:
    with running_timegate(tmp_path, {"mine": plain_pywb.url}) as server:
        code, wrong = found(f"{server.url}/timegate/", held.OFTEN, held.ONCE)

    assert wrong == set()
    assert code == 0


def test_our_own_store_is_a_resource_that_is_its_own_timegate(tmp_path: Path) -> None:
    with a_store(tmp_path) as server:
        own = f"{server.url}/store/notes/resource"
        for year in (2018, 2019, 2020):
            persist(own, f"state of {year}", f"Timegate-Datetime: {year}-01-01T00:00:00Z")
        result = CliRunner().invoke(check_command, [own, "--json", "--profile", "practice"])

    [report] = json.loads(result.stdout)["archives"]
    assert (report["kind"], report["patterns"]) == ("original", ["1.1"])
    assert {r["check"]: r["why"] for r in report["results"] if r["verdict"] == "fail"} == {}
    assert result.exit_code == 0, result.stderr


def test_a_killed_run_loses_no_recorded_exchange(tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    program = "from timegate.cli.check import check_command; check_command()"
    slow = ArchiveOptions(delay=0.2)
    with running("slow", slow) as archive:
        command = [sys.executable, "-c", program, f"{archive.url}/timegate/", "--sample", PAGE]
        with subprocess.Popen(  # noqa: S603 -- ourselves
            [*command, "--kind", "timegate", "--record", str(folder)], stderr=subprocess.PIPE
        ) as process:
            assert process.stderr is not None
            process.stderr.readline()
            wait = asyncio.run_coroutine_threadsafe(
                archive.journal.until_requested(8), archive.loop
            )
            wait.result(60)
            process.send_signal(signal.SIGKILL)
        asked = archive.journal.request_count
    [tape] = folder.glob("*.jsonl")

    again = CliRunner().invoke(check_command, ["--replay", str(folder), "--json"])

    assert len(tape.read_bytes().splitlines()) >= asked - 1
    # Most requirements may be unknown, which is a failure.
    assert again.exit_code in (0, 1, 4)
    assert json.loads(again.stdout)["archives"][0]["counts"]["pass"] > 0
