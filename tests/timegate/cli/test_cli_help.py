"""The help texts: every example in them is run, or at least parsed by its command."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.timegate.cli.running import bash
from timegate.cli import COMMANDS, main

NARROW = 80
OFFLINE = ("parse", "cite", "archives", "misbehave", "completion")


def help_of(name: str) -> str:
    return CliRunner().invoke(main, [name, "--help"], prog_name="timegate").output


def examples(name: str) -> Iterator[str]:
    yield from examples_in(help_of(name))


def examples_in(text: str) -> Iterator[str]:
    _, _, below = text.partition("Example")
    block = below.partition("\n\n")[0].partition("\n")[2]
    yield from (line.strip() for line in re.sub(r"\\\n +", "", block).splitlines())


EXAMPLES = [(name, example) for name in COMMANDS for example in examples(name)]
RUN = [
    example
    for name, example in EXAMPLES
    if name != "serve" and (name in OFFLINE or "--demo" in example)
]


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_keep_their_lines(name: str) -> None:
    shown = list(examples(name))

    assert shown
    assert all(re.search(rf"timegate {name}\b|^curl ", example) for example in shown)


@pytest.mark.parametrize("example", RUN)
def test_an_example_that_needs_no_network_works(example: str, tmp_path: Path) -> None:
    (tmp_path / ".config/fish/completions").mkdir(parents=True)
    (tmp_path / "list.txt").write_text("http://museum.example/ 2009\n")

    ended = bash(example, tmp_path)

    # A reader may go away before the end: head -4.
    assert ended.returncode in (0, 141), ended.stderr.decode()
    assert b"Error" not in ended.stderr


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_an_example_has_only_existing_options(name: str, example: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None

    words = list(shlex.shlex(example, posix=True, punctuation_chars="|&<>()"))
    while "timegate" in words:
        words = words[words.index("timegate") + 2 :]
        end = next((i for i, word in enumerate(words) if word[0] in "|&<>()"), len(words))
        command.make_parser(click.Context(command)).parse_args(words[:end])


def test_the_list_of_commands_fits_into_a_narrow_terminal() -> None:
    shown = CliRunner().invoke(main, ["--help"], terminal_width=NARROW).output

    for name, listed in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(listed.short)}$", shown, re.MULTILINE)


@pytest.mark.parametrize("name", ["resolve", "timemap", "closest", "parse", "cite"])
def test_exit_codes_are_documented(name: str) -> None:
    assert re.search(r"Exit codes.*:\n    0  ", help_of(name))


def test_the_examples_of_the_main_help_work(tmp_path: Path) -> None:
    shown = list(examples_in(CliRunner().invoke(main, ["--help"]).output))

    ended = bash(" && ".join(shown), tmp_path)

    assert len(shown) == 3
    assert ended.returncode == 0, ended.stderr.decode()
