"""`timegate timemap`: its options, its output and its errors."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from timegate.cli import main

URL = "http://example.org/"
# Nobody listens at the discard port: every archive fails, and nothing leaves this machine.
NOBODY = "http://127.0.0.1:9/"


@pytest.fixture
def archives(tmp_path: Path) -> Path:
    """A list as MemGator has it."""
    file = tmp_path / "archives.json"
    entry = {"id": "dead", "name": "Dead", "timegate": NOBODY, "timemap": f"{NOBODY}timemap/"}
    file.write_text(json.dumps([{**entry, "probability": 1.0, "ignore": False}]))
    return file


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["timemap", *arguments])


@pytest.mark.parametrize("option", ["-a", "--arcs", "--archives"])
@pytest.mark.parametrize("form", [(), ("-f", "Link"), ("--format", "JSON"), ("-f", "cdxj")])
def test_the_options_of_memgator_are_accepted_and_errors_go_to_standard_error(
    archives: Path, option: str, form: tuple[str, ...]
) -> None:
    result = run(*form, option, str(archives), URL)

    assert result.exit_code == 4
    assert result.stdout == ""
    assert "Dead" in result.stderr


def test_an_unknown_format_is_rejected(archives: Path) -> None:
    result = run("-f", "xml", "-a", str(archives), URL)

    assert result.exit_code == 2
    assert "link" in result.stderr


def test_public_archives_need_a_contact(tmp_path: Path) -> None:
    config = tmp_path / "timegate.toml"
    config.write_text('[archives]\nuse = ["internet-archive"]\n')

    result = run("--config", str(config), "http://[")

    assert result.exit_code == 2
    assert "contact" in result.stderr


def test_the_contact_can_be_given_as_an_option(tmp_path: Path) -> None:
    config = tmp_path / "timegate.toml"
    config.write_text('[archives]\nuse = ["internet-archive"]\n')

    # What is no identifier is refused before anybody is asked.
    result = run("--config", str(config), "-c", "mailto:a@example.org", "http://[")

    assert result.exit_code == 2
    assert "contact" not in result.stderr


@pytest.mark.parametrize("contact", ["a\r\nCookie: b", "m\u00fcller"])
def test_a_contact_with_a_line_break_is_rejected(archives: Path, contact: str) -> None:
    result = run("-a", str(archives), "-c", contact, URL)

    assert result.exit_code == 2
    assert "printable" in result.stderr
