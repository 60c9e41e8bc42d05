"""`timegate cite`: references to a known memento."""

import json

import pytest
from click.testing import CliRunner, Result

from timegate.citations.forms import FORMS_OF_COPIES
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
        ("https://web.archive.org/web/20160122112029/", "does not say which page"),
        ("https://web.archive.org/web/*/http://www.dr.dk", "a list of captures"),
    ],
)
def test_a_link_that_cannot_be_cited_is_explained_and_exits_with_2(link: str, why: str) -> None:
    plain = CliRunner().invoke(main, ["cite", link])
    machine = CliRunner().invoke(main, ["cite", "--json", link])

    assert plain.exit_code == machine.exit_code == 2
    assert why in plain.stderr
    assert why in json.loads(machine.output)["error"]


LINK = "https://web.archive.org/web/20160122112029/http://www.dr.dk"


@pytest.mark.parametrize("form", FORMS_OF_COPIES)
def test_a_reference_is_written_in_the_requested_format(form: str) -> None:
    plain = CliRunner().invoke(main, ["cite", "--format", form, LINK])
    machine = CliRunner().invoke(main, ["cite", "--json", "--format", form, LINK])

    assert plain.exit_code == machine.exit_code == 0
    assert json.loads(machine.output)["reference"] == plain.output.removesuffix("\n")


def test_an_unknown_format_suggests_a_similar_one() -> None:
    result = CliRunner().invoke(main, ["cite", "--format", "cls", LINK])

    assert result.exit_code == 2
    assert "Did you mean csl or cs1?" in " ".join(result.stderr.split())


def test_a_given_title_is_written_unchanged() -> None:
    result = CliRunner().invoke(
        main, ["cite", "--format", "cs1", "--title", "DR | forside", LINK]
    )

    assert result.output.startswith("{{cite web |title=DR &#124; forside |url=http://www.dr.dk")


HARBOUR = "http://127.0.0.1:1208/collections/harbour"
COPY = f"{HARBOUR}/20101105101500/http://museum.example/"
PICTURE = f"{HARBOUR}/20101105101511/http://museum.example/logo.png"


def cited(*words: str) -> Result:
    return CliRunner().invoke(main, ["cite", "--demo", "--format", "wikitext", *words])


def test_a_title_is_read_from_the_memento() -> None:
    plain, fetched = cited(COPY), cited("--fetch-title", COPY)

    assert plain.output.startswith(f"[{COPY} museum.example], archived 2010")
    assert (fetched.exit_code, fetched.stderr) == (0, "")
    assert fetched.output.startswith(f"[{COPY} The Lighthouse Museum], archived 2010")


def test_a_title_is_read_from_the_memento_that_was_found() -> None:
    words = ["resolve", "--demo", "--trust", "harbour", "--format", "wikitext", "--fetch-title"]

    result = CliRunner().invoke(main, [*words, "duri:2010:http://museum.example/"])

    assert result.exit_code == 0
    assert " The Lighthouse Museum], archived 2010" in result.output


@pytest.mark.parametrize(
    ("link", "why"),
    [
        (PICTURE, "the copy has no title"),
        (f"{HARBOUR}/20101105101501/http://museum.example/", "harbour "),
        (LINK, "internet-archive is not in use with this configuration"),
    ],
)
def test_a_missing_title_is_reported_and_the_memento_is_cited(link: str, why: str) -> None:
    result = cited("--fetch-title", link)

    assert result.exit_code == 0
    assert result.stdout.startswith(f"[{link} ")
    assert f"{link}: no title: {why}" in result.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["cite", "--title", "x", LINK], "require --format"),
        (["cite", "--fetch-title", LINK], "require --format"),
        (["cite", "--format", "csl", "--title", "x", "--fetch-title", LINK], "use either"),
        (["cite", "--format", "csl", "--title", "x", LINK, LINK], "for a single copy"),
        (["cite", "--format", "csl", "--title", "x", "-"], "for a single copy"),
        (["resolve", "--demo", "--title", "x", "http://museum.example/"], "require --format"),
        (["cite", "--format", "csl", "--fetch-title", LINK], "which requires a contact"),
    ],
)
def test_contradictory_title_options_are_rejected(words: list[str], why: str) -> None:
    result = CliRunner().invoke(main, words)

    assert result.exit_code == 2
    assert why in result.stderr


@pytest.mark.parametrize(
    ("link", "advice"),
    [
        ("https://perma.cc/AB12-CD34", "then timegate resolve --demo --at DATE URL"),
        ("https://web.archive.org/web/*/http://a.example/", "timemap --demo http://a.example/"),
        ("http://a.example/", "timegate resolve --demo --format pwid http://a.example/"),
        ("blah", ""),
    ],
)
def test_a_link_that_cannot_be_cited_comes_with_what_helps(link: str, advice: str) -> None:
    result = CliRunner().invoke(main, ["cite", "--demo", link])

    assert result.exit_code == 2
    assert advice in result.stderr
    assert ("timegate" in result.stderr) == bool(advice)
