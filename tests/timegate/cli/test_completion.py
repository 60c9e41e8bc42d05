"""Completion in a real bash, without importing the web server."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.timegate.cli.running import bash

SCRIPT = """
eval "$(timegate completion bash)"
COMP_WORDS=(%s)
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_timegate_completion timegate
printf '%%s\\n' "${COMPREPLY[@]}"
"""


def completed(line: str, folder: Path) -> list[str]:
    return bash(SCRIPT % line, folder).stdout.decode().split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("timegate re", ["resolve"]),
        ("timegate closest arq", ["arquivo-pt"]),
        ("timegate closest --demo harb", ["harbour"]),
        ("timegate resolve --trust internet-archive,arq", ["internet-archive,arquivo-pt"]),
        ("timegate resolve --archives-only arq", ["arquivo-pt"]),
        ("timegate resolve --exclude veeb", ["veebiarhiiv"]),
        ("timegate resolve --format robust", ["robust-link"]),
        ("timegate resolve --dir", ["--direction"]),
        ("timegate completion z", ["zsh"]),
    ],
)
def test_bash_completes(line: str, words: list[str], tmp_path: Path) -> None:
    assert completed(line, tmp_path) == words


def test_archives_of_a_configuration_are_completed(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        '[[archive]]\nid = "mine"\nkind = "memento"\ntimegate = "http://127.0.0.1:9/"\n'
    )

    assert completed("timegate closest --config mine.toml min", tmp_path) == ["mine"]


def test_an_unreadable_configuration_does_not_break_completion(tmp_path: Path) -> None:
    assert completed("timegate closest --config none.toml arq", tmp_path) == ["arquivo-pt"]


@pytest.mark.parametrize("module", ["resolve", "closest", "timemap", "archives", "cite"])
def test_completing_does_not_import_the_web_server(module: str) -> None:
    script = f"import sys, timegate.cli.{module}; sys.exit('aiohttp' in sys.modules)"

    ended = subprocess.run([sys.executable, "-c", script], check=False)  # noqa: S603 -- our own

    assert ended.returncode == 0
