"""``timegate man``: a page that has every command and every option."""

from click.testing import CliRunner

from timegate.cli import COMMANDS, main


def page() -> list[str]:
    result = CliRunner().invoke(main, ["man"])
    assert result.exit_code == 0
    return result.stdout.splitlines()


def test_every_command_has_a_section() -> None:
    lines = page()

    assert lines[0].startswith(".TH TIMEGATE 1")
    for name in COMMANDS:
        assert any(line.startswith(f".SS timegate {name}") for line in lines), name


def test_options_are_listed_with_their_help() -> None:
    lines = page()

    at = lines.index(r".B \-\-tolerance 24h")
    assert lines[at + 1] == "Largest distance from the requested time."


def test_no_line_of_text_is_taken_for_a_macro() -> None:
    macros = {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".nf", ".fi"}

    assert {line.split(" ")[0] for line in page() if line.startswith((".", "'"))} <= macros
