import subprocess
import sys

import pytest
from click.testing import CliRunner

from timegate.cli import main
from timegate.cli.commands import COMMANDS
from timegate.nearness import similar


def test_a_command_that_does_not_exist_names_the_one_that_was_meant() -> None:
    result = CliRunner().invoke(main, ["resolv", "x"])

    assert result.exit_code == 2
    assert "No such command 'resolv'. Did you mean resolve?" in result.output


def test_an_unknown_word_like_nothing_suggests_nothing() -> None:
    assert not similar("qqqq", COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    result = CliRunner().invoke(main, [name, "--help"], prog_name="timegate")

    assert result.exit_code == 0
    assert f"  timegate {name}" in result.output


def test_reading_an_identifier_does_not_import_the_web_server() -> None:
    script = (
        "import sys; from timegate.cli import main; "
        "main(['parse', 'http://a.example/'], standalone_mode=False); "
        "sys.exit('aiohttp' in sys.modules)"
    )
    command = [sys.executable, "-c", script]

    ended = subprocess.run(command, check=False, capture_output=True)  # noqa: S603 -- our own words

    assert ended.returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_completion(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])

    assert result.exit_code == 0
    assert "_TIMEGATE_COMPLETE" in result.output
