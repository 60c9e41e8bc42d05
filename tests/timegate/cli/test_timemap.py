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


@pytest.mark.parametrize(
    "text",
    [
        "https://web.archive.org/web/*/http://museum.example/",
        "https://web.archive.org/web/2016*/http://museum.example/",
        "Smith, Hours, http://museum.example/ (accessed 5 November 2010)",
    ],
)
def test_whatever_names_one_page_gives_its_list(text: str) -> None:
    result = run("--demo", text)

    assert result.exit_code == 0
    assert 'rel="first memento"' in result.stdout
    assert "<http://museum.example/>" in result.stdout


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("https://perma.cc/AB12-CD34", 4, "does not contain the URL of the page"),
        ("http://museum.example/ and http://b.example/", 2, "2 references in it: choose one"),
        ("Smith, Hours", 2, "no link in this text"),
    ],
)
def test_a_text_that_names_no_page_is_refused_with_the_reason(
    text: str, code: int, said: str
) -> None:
    result = run("--demo", text)

    assert result.exit_code == code
    assert said in result.stderr
