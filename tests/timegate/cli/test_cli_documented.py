"""docs/commands.md has every command and option, and with docs/http.md every JSON member."""

import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from timegate.cli import COMMANDS, main

DOCS = Path(__file__).parents[3] / "docs"
DOCUMENT = (DOCS / "commands.md").read_text()
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", DOCUMENT, re.MULTILINE | re.DOTALL))
VERDICT = (
    (DOCS / "http.md")
    .read_text()
    .partition("\n## Memento-Precision\n")[2]
    .partition("\n## ")[0]
)
FIRST_CELLS = set(re.findall(r"^\| `(\w+)` \|", SECTIONS["resolve"] + VERDICT, re.MULTILINE))

LINK = "https://web.archive.org/web/20160122112029/http://www.dr.dk"


def printed(*words: str) -> dict[str, object]:
    printed_object = json.loads(CliRunner().invoke(main, words).stdout.splitlines()[0])
    assert isinstance(printed_object, dict)
    return printed_object


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_section(name: str) -> None:
    assert f"timegate {name}" in SECTIONS[name]
    assert f"[`{name}`](#{name})" in DOCUMENT


def test_every_member_of_the_report_is_explained() -> None:
    museum = "duri:2010-11:http://museum.example/"
    found = printed("resolve", "--demo", "--json", "--quote", "open all year", museum)
    text = printed("resolve", "--demo", "--json", "http://museum.example/ accessed 2010-11")
    refused = printed("resolve", "--demo", "--json", "nonsense:")
    page = "duri:2010-11:http://museum.example/gallery"
    whole = printed("resolve", "--demo", "--json", "--verify", "page", page)
    compared = printed("resolve", "--demo", "--json", "--verify", "content", museum)

    read = found.keys() | text.keys() | refused.keys() | whole.keys() | compared.keys()
    assert read == FIRST_CELLS


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("parse", ["parse", "--json", "duri:2012:http://example.com/"]),
        ("cite", ["cite", "--json", "--format", "link", LINK]),
        ("closest", ["closest", "--demo", "--json", "harbour", "http://museum.example/"]),
    ],
)
def test_every_member_of_other_json_is_named(section: str, words: list[str]) -> None:
    named = set(re.findall(r"`(\w+)`", SECTIONS[section]))

    assert printed(*words).keys() <= named


def test_every_option_of_resolve_is_in_the_table() -> None:
    command = main.get_command(click.Context(main), "resolve")
    assert command is not None
    options = [option for option in command.params if isinstance(option, click.Option)]
    first = [option.name for option in options].index("at")
    last = [option.name for option in options].index("verify")

    for option in options[first : last + 1]:
        for name in option.opts:
            assert f"`{name}" in SECTIONS["resolve"]
