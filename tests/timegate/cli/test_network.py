"""Commands without a network say so once, with what to do."""

import io
import logging
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from click.testing import CliRunner

from archives.errors import Resting, Unreachable
from archives.registry import load_known
from timegate.cli import main
from timegate.cli.network import NetworkWatch
from timegate.observability.logs import errors_only, event
from timegate.resolution.model import Attempt

URL = "http://page.example/"
ARCHIVES = """
[archives]
use = []
[[archive]]
id = "one"
name = "One"
kind = "memento"
timegate = "http://one.invalid/timegate/"
timemap = "http://one.invalid/timemap/"
[[archive]]
id = "two"
name = "Two"
kind = "memento"
timegate = "http://two.invalid/timegate/"
timemap = "http://two.invalid/timemap/"
"""
"""Two archives whose names nobody resolves (RFC 6761)."""


@pytest.fixture
def config(tmp_path: Path) -> list[str]:
    file = tmp_path / "timegate.toml"
    file.write_text(ARCHIVES)
    return ["--config", str(file), "--contact", "mailto:a@example.org"]


def lost(archive: str) -> Attempt:
    error = Unreachable(archive, URL, "its name cannot be resolved; x", no_network=True)
    return Attempt(archive, error, 0.1, URL)


def test_a_watch_says_it_if_no_archive_was_reached() -> None:
    watch = NetworkWatch(load_known())
    watch(lost("one"))
    assert watch.lines == []
    watch(lost("two"))
    watch(Attempt("three", Resting("three", URL, "it rests", 1.0), 0.0, URL))

    said, advice = watch.lines
    assert said == (
        "This computer seems to have no network: none of the 3 archives could be reached "
        "(their names cannot be resolved)"
    )
    assert advice.startswith("Check the network connection, the name server and the firewall")
    assert "this computer" in advice


def test_a_watch_says_nothing_if_an_archive_answered() -> None:
    watch = NetworkWatch(load_known())
    for attempt in (lost("one"), lost("two"), Attempt("three", None, 0.1, URL)):
        watch(attempt)

    assert watch.lines == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["resolve", URL],
        ["resolve", "--batch", "list.txt", "--output", "rows.csv"],
        ["quote", "some words", URL],
        ["timemap", URL],
        ["parts", URL],
    ],
)
def test_commands_say_once_what_to_do_and_log_nothing(
    tmp_path: Path,
    config: list[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("list.txt").write_text(f"{URL} 2010\n{URL}a 2011\n")

    result = CliRunner().invoke(main, [*arguments, *config])

    assert result.exit_code == 4
    assert result.output.count("This computer seems to have no network") == 1
    assert result.output.count("Check the network connection") == 1
    assert "archive" not in result.stderr.splitlines()


def test_commands_log_errors_and_no_changes_of_archives() -> None:
    written = io.StringIO()
    with redirect_stderr(written), errors_only():
        event("archive", logging.WARNING, id="one", state="open")
        event("item-internal-error", logging.ERROR, id="x")

    assert written.getvalue() == "error: item-internal-error id=x\n"
