"""`timegate cite`: names for a copy at hand."""

import json

import pytest
from click.testing import CliRunner

from timegate.cite import FORMS
from timegate.cli import main


def test_a_raw_view_is_a_part_and_a_query_is_kept() -> None:
    link = "https://web.archive.org/web/20160122112029id_/http://www.dr.dk/a?b=c"

    result = CliRunner().invoke(main, ["cite", "--json", link])

    assert json.loads(result.output) == {
        "input": link,
        "pwid": "urn:pwid:archive.org:2016-01-22T11:20:29Z:part:http://www.dr.dk/a%3Fb=c",
        "duri": "duri:2016-01-22T11:20:29Z:http://www.dr.dk/a?b=c",
        "error": None,
    }


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("https://web.archive.org/web/2016/http://www.dr.dk", "does not name the second"),
        ("https://archive.ph/abcde", "does not say of what"),
        ("http://www.dr.dk", "not a link to a copy"),
        ("https://web.archive.org/web/*/http://www.dr.dk", "lists captures"),
    ],
)
def test_what_cannot_be_cited_says_why_and_exits_with_2(link: str, why: str) -> None:
    plain = CliRunner().invoke(main, ["cite", link])
    machine = CliRunner().invoke(main, ["cite", "--json", link])

    assert plain.exit_code == machine.exit_code == 2
    assert why in plain.stderr
    assert why in json.loads(machine.output)["error"]


LINK = "https://web.archive.org/web/20160122112029/http://www.dr.dk"


@pytest.mark.parametrize("form", FORMS)
def test_a_reference_is_written_in_the_notation_that_is_wanted(form: str) -> None:
    plain = CliRunner().invoke(main, ["cite", "--format", form, LINK])
    machine = CliRunner().invoke(main, ["cite", "--json", "--format", form, LINK])

    assert plain.exit_code == machine.exit_code == 0
    assert json.loads(machine.output)["reference"] == plain.output.removesuffix("\n")


def test_a_notation_that_does_not_exist_names_the_one_that_was_meant() -> None:
    result = CliRunner().invoke(main, ["cite", "--format", "cls", LINK])

    assert result.exit_code == 2
    assert "Did you mean csl or cs1?" in " ".join(result.stderr.split())
