"""The snippets for CI do what they promise, the shell script on a real pywb."""

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree as ET

import pytest

from tests.end_to_end import pywb as held
from tests.end_to_end.pywb import Pywb
from tests.timegate.conformance.archive import PAGE, running
from timegate.conformance.history import History

SNIPPETS = Path(__file__).parents[2] / "docs/ci"


def run(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run the snippet as a build server does."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(  # noqa: S603 -- our own words
        ["/bin/sh", str(SNIPPETS / "check.sh"), *arguments],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", **settings},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


def test_pywb_is_checked_and_every_report_kept(plain_pywb: Pywb, tmp_path: Path) -> None:
    done = run(tmp_path, plain_pywb.url, held.OFTEN, PROFILE="rfc-strict")

    assert done.returncode == 1
    assert "warn    M-12 should   dates-of-another-form-are-a-400" in done.stdout
    reports = tmp_path / "reports"
    failures = ET.parse(reports / "conformance.xml").findall(".//failure")  # noqa: S314 -- ours
    assert "should" in {failure.get("type") for failure in failures}
    assert "dates-of-another-form-are-a-400" in (reports / "conformance.html").read_text()
    [pasts] = History(reports / "history.jsonl").read().values()
    assert pasts[0].counts["warn"] > 1
    assert json.loads((reports / "conformance.sarif").read_text())["version"] == "2.1.0"
    assert (reports / "conformance.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("fault", "settings", "code"),
    [
        ("none", {}, 0),
        ("redirect-307", {}, 0),
        ("redirect-307", {"PROFILE": "rfc-strict"}, 1),
        ("no-cors", {"PROFILE": "practice"}, 1),
        ("vary-missing", {}, 1),
        ("forbidden", {"ALLOW_UNKNOWN": "1"}, 1),
        ("server-error", {"ALLOW_UNKNOWN": "1"}, 1),
        ("redirect-file", {"ALLOW_UNKNOWN": "1"}, 1),
        ("memento-403", {}, 4),
        ("memento-403", {"ALLOW_UNKNOWN": "1"}, 0),
    ],
)
def test_what_fails_a_build_can_be_chosen(
    fault: str, settings: dict[str, str], code: int, tmp_path: Path
) -> None:
    with running(fault) as archive:
        done = run(tmp_path, f"{archive.url}/timegate/", PAGE, **settings)

    assert done.returncode == code


def test_a_server_that_does_not_listen_is_waited_for_and_reported(tmp_path: Path) -> None:
    done = run(tmp_path, "http://127.0.0.1:9/", PAGE, WAIT="1")

    assert done.returncode == 1
    assert "does not answer" in done.stderr


def test_a_server_that_accepts_and_does_not_respond_is_waited_for_no_longer_than_stated(
    tmp_path: Path,
) -> None:
    # A connection that is never answered costs 5 seconds: 30 of them exceed the limit of run.
    with running("hang") as archive:
        done = run(tmp_path, f"{archive.url}/timegate/", PAGE, WAIT="30")

    assert done.returncode == 1
    assert "does not answer" in done.stderr


def step_of_the_action() -> str:
    """Return what the action runs in bash, as it stands in its file."""
    action = (SNIPPETS / "github-action/action.yml").read_text()
    block = action.partition("      run: |\n")[2].partition("\n    - uses:")[0]
    return dedent(block)


@pytest.mark.parametrize(
    ("fault", "profile", "code"),
    [
        ("none", "rfc-strict", 0),
        ("redirect-307", "rfc-must", 0),
        ("redirect-307", "rfc-strict", 1),
        ("forbidden", "rfc-must", 1),
        ("memento-403", "rfc-must", 4),
    ],
)
def test_the_action_has_the_documented_exit_code_and_output(
    fault: str, profile: str, code: int, tmp_path: Path
) -> None:
    output, summary = tmp_path / "output", tmp_path / "summary"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with running(fault) as archive:
        done = subprocess.run(  # noqa: S603 -- our own words
            [
                "/bin/bash",
                "--noprofile",
                "--norc",
                "-eo",
                "pipefail",
                "-c",
                step_of_the_action(),
            ],
            cwd=tmp_path,
            env={
                "PATH": path,
                "LANG": "C.UTF-8",
                "URL": f"{archive.url}/timegate/",
                "SAMPLE": PAGE,
                "PROFILE": profile,
                "BASELINE": "",
                "CONTACT": "",
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(summary),
            },
            capture_output=True,
            check=False,
            timeout=60,
        )

    assert done.returncode == code
    assert output.read_text() == f"code={code}\n"
    assert "requests)" in summary.read_text()
    assert (tmp_path / "conformance.xml").exists()


@pytest.mark.parametrize(
    "name", ["github-action/action.yml", "github-workflow.yml", "gitlab-ci.yml"]
)
def test_the_snippets_are_yaml(name: str) -> None:
    yaml = pytest.importorskip("yaml")

    assert isinstance(yaml.safe_load((SNIPPETS / name).read_text()), dict)
