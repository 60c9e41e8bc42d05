"""Closed pipes, invalid text and Ctrl-C: no traceback, and the right exit code."""

import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.timegate.cli.running import BIN, at_a_terminal, bash, environment

LINE = "http://museum.example/\n"
BROKEN = b"a\x00b\nhttp://a.example/\xff\xfe\r\n\xc0\xaf\n\n\xed\xa0\x80"


@pytest.mark.parametrize(
    "command",
    [
        *("parse -", "parse --json -", "resolve --demo -", "resolve --demo --json -"),
        "resolve --demo --trust harbour --batch -",
    ],
)
def test_a_closed_output_pipe_is_no_error(command: str, tmp_path: Path) -> None:
    given = (LINE * 3000).encode()

    ended = bash(f"timegate {command} | head -1", tmp_path, given)

    assert ended.stdout.startswith((b"http://museum.example/", b'{"input": "http://museum'))
    assert ended.stderr == b""
    assert ended.returncode == 141


@pytest.mark.parametrize("command", ["parse", "resolve --demo", "cite", "parse --json"])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_input_that_is_no_text_is_rejected(command: str, encoding: str, tmp_path: Path) -> None:
    ended = bash(f"timegate {command} -", tmp_path, BROKEN, PYTHONIOENCODING=encoding)

    assert ended.returncode == 2
    assert b"Traceback" not in ended.stderr
    assert b"\x00" not in ended.stdout + ended.stderr


@pytest.mark.parametrize("command", ["timemap --demo", "closest --demo harbour"])
def test_an_argument_that_is_no_text_is_rejected(command: str, tmp_path: Path) -> None:
    ended = bash(f"timegate {command} $'http://a.example/\\xff'", tmp_path)

    assert ended.returncode == 2
    assert b"Traceback" not in ended.stderr


def test_an_endless_line_is_cut(tmp_path: Path) -> None:
    script = "head -c 50000000 /dev/zero | tr '\\0' a | (ulimit -v 600000; timegate parse -)"

    ended = bash(script, tmp_path)

    assert ended.returncode == 2
    assert b"Traceback" not in ended.stderr
    assert len(ended.stdout) < 1000


def test_ctrl_c_while_waiting_for_a_line_ends_at_once(tmp_path: Path) -> None:
    with subprocess.Popen(  # noqa: S603 -- our own words
        [BIN / "timegate", "resolve", "--demo", "-"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"http://museum.example/visit\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)

        _, complaint = process.communicate()

    assert process.returncode == 130
    assert b"Traceback" not in complaint


@pytest.mark.parametrize(
    "command", ["parse -", "resolve --demo -", "resolve --demo --batch -", "cite -"]
)
def test_a_closed_standard_input_counts_as_empty(command: str, tmp_path: Path) -> None:
    ended = bash(f"timegate {command} <&-", tmp_path)

    assert ended.returncode == 0
    assert b"Traceback" not in ended.stderr


@pytest.mark.parametrize("command", ["parse", "resolve --demo --trust harbour"])
def test_a_closed_standard_output_is_no_error(command: str, tmp_path: Path) -> None:
    ended = bash(f"timegate {command} duri:2009:http://museum.example/ >&-", tmp_path)

    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize("command", ["parse", "resolve --demo --trust harbour"])
def test_a_full_disk_is_reported_in_one_line(command: str, tmp_path: Path) -> None:
    ended = bash(f"timegate {command} duri:2009:http://museum.example/ >/dev/full", tmp_path)

    assert ended.returncode == 1
    assert ended.stderr == b"Error: cannot write: No space left on device\n"


def test_long_urls_are_not_broken_when_piped(tmp_path: Path) -> None:
    url = "http://museum.example/" + "very-long/" * 40

    ended = bash(f"timegate parse {url}; timegate resolve --demo {url}", tmp_path, COLUMNS="40")

    assert ended.stdout.decode().splitlines().count(url) == 2


def test_nothing_is_coloured_when_piped(tmp_path: Path) -> None:
    script = (
        "timegate archives --demo; timegate resolve --demo http://museum.example/ --at 2010"
    )

    ended = bash(script, tmp_path, FORCE_COLOR="1", TERM="xterm-256color")

    assert b"\x1b" not in ended.stdout


RED = "\x1b[31m\x1b[1mcannot be resolved"
GREEN = "\x1b[1;32m✔ Exactly as requested"
NAMED = "urn:pwid:harbour.example:2009-06-15T18:30:12Z:page:http://museum.example/"


def test_a_terminal_has_colours(tmp_path: Path) -> None:
    shown = at_a_terminal(["resolve", "--demo", NAMED, "nonsense:"], tmp_path)

    assert GREEN in shown
    assert RED in shown


def test_no_color_turns_colours_off(tmp_path: Path) -> None:
    shown = at_a_terminal(["resolve", "--demo", NAMED, "nonsense:"], tmp_path, NO_COLOR="1")

    assert "✔ Exactly as requested" in shown
    assert "cannot be resolved: " in shown
    assert not re.search(r"\x1b\[[0-9;]*\b3[0-7]\b", shown)
