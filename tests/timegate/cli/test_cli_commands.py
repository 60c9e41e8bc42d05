import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from timegate.cli import COMMANDS, main
from timegate.text import similar


def test_an_unknown_command_suggests_a_similar_one() -> None:
    result = CliRunner().invoke(main, ["resolv", "x"])

    assert result.exit_code == 2
    assert "No such command 'resolv'. Did you mean resolve?" in result.output


def test_a_word_like_no_command_suggests_nothing() -> None:
    assert not similar("qqqq", COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    result = CliRunner().invoke(main, [name, "--help"], prog_name="timegate")

    assert result.exit_code == 0
    assert f"  timegate {name}" in result.output


@pytest.mark.parametrize(
    "words",
    [
        ["parse", "http://a.example/"],
        ["cite", "https://web.archive.org/web/20160122112029/http://www.dr.dk"],
        ["completion", "bash"],
        ["archives"],
        ["resolve", "--help"],
        ["--version"],
    ],
)
def test_commands_without_network_do_not_import_aiohttp(words: list[str]) -> None:
    script = (
        "import sys; from timegate.cli import main\n"
        f"try: main({words!r})\n"
        "except SystemExit: sys.exit('aiohttp' in sys.modules)"
    )
    command = [sys.executable, "-c", script]

    ended = subprocess.run(command, check=False, capture_output=True)  # noqa: S603 -- our own words

    assert ended.returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_completion_script(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])

    assert result.exit_code == 0
    assert "_TIMEGATE_COMPLETE" in result.output


@pytest.mark.parametrize("words", [["serve"], ["resolve", "http://a.example/"]])
@pytest.mark.parametrize("url", ["mongo://x:y@z/", "sqlite:", "redis://"])
def test_an_invalid_cache_url_is_bad_usage(words: list[str], url: str, tmp_path: Path) -> None:
    file = tmp_path / "timegate.toml"
    file.write_text(f'archives.use = []\ncache.url = "{url}"\nlisten.port = 0\n')

    result = CliRunner().invoke(main, [*words, "--config", str(file)])

    assert result.exit_code == 2
    assert "Error: cache.url: " in result.output
    assert "y@z" not in result.output


def test_an_invalid_environment_variable_is_bad_usage_in_the_demo_too() -> None:
    variables = {"TIMEGATE_LISTEN_PORT": "abc"}

    result = CliRunner(env=variables).invoke(main, ["resolve", "--demo", "http://a.example/"])

    assert result.exit_code == 2
    assert "Error: TIMEGATE_LISTEN_PORT in the environment: " in result.output
