"""``timegate quote``: exit codes and the copies that were read."""

import json

import pytest
from click.testing import CliRunner, Result

from timegate.cli import main

PAGE = "duri:2010-11:http://museum.example/"


def ran(*words: str) -> Result:
    return CliRunner().invoke(main, ["quote", "--demo", *words])


@pytest.mark.parametrize(
    ("quote", "code", "status"),
    [
        ("open ALL year.", 0, "found"),
        ("New: the fog horn, on Sunday at noon", 1, "near"),
        ("The lamp room is open again", 1, "elsewhere"),
        ("The harbour froze in the winter of 1963", 3, "absent"),
    ],
)
def test_the_exit_code_says_what_was_found(quote: str, code: int, status: str) -> None:
    seen = ran(quote, PAGE)
    assert (seen.exit_code, seen.output.partition(":")[0]) == (code, status)


def test_a_page_that_no_archive_has_has_no_quotation() -> None:
    seen = ran("anything", "duri:2010-11:http://nowhere.example/")
    assert seen.exit_code == 3
    assert seen.output == "not-looked: no archive has a copy of the page\n"


def test_a_reference_in_a_text_is_read_with_its_date() -> None:
    seen = ran(
        "open all year", "Smith. Retrieved November 5, 2010, from http://museum.example/"
    )
    assert seen.exit_code == 0
    assert "Date used: November 5, 2010" in seen.output


def test_arguments_in_the_wrong_order_come_with_the_line_to_type() -> None:
    seen = ran("http://museum.example/", "open all year")
    assert seen.exit_code == 2
    line = "timegate quote --demo 'open all year' http://museum.example/"
    assert f"The quotation comes before the ID: {line}\n" in seen.stderr


def test_bisecting_lists_the_copies_that_were_read() -> None:
    seen = ran("--bisect", "--json", "The lamp room is open again", PAGE)
    document = json.loads(seen.output)
    statuses = {copy["datetime"][:4]: copy["status"] for copy in document["copies"]}
    assert statuses["2010"] == statuses["2008"] == "absent"
    assert statuses["2009"] == "found"
    assert document["status"] == "elsewhere"


@pytest.mark.parametrize("words", [("x", "nonsense:"), ("", PAGE), ("x" * 3000, PAGE)])
def test_what_cannot_be_read_is_said(words: tuple[str, str]) -> None:
    seen = ran(*words)
    assert seen.exit_code == 2
