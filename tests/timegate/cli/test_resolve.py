"""`timegate resolve` over the archives of the demo: output and exit code."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from timegate.citations import FORMS
from timegate.cli import main

HOME = "http://museum.example/"
NAMED = f"urn:pwid:harbour.example:2009-06-15T18:30:12Z:page:{HOME}"
COPY = f"http://127.0.0.1:1208/collections/harbour/20090615183012/{HOME}"


def resolve(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["resolve", "--demo", *arguments], input=given)


def test_piped_output_is_plain() -> None:
    result = resolve(NAMED)

    assert result.stdout.splitlines() == [
        NAMED,
        f"  {COPY}",
        "  captured 2009-06-15T18:30:12Z, in harbour",
        "  at exactly the requested time, in the requested archive, same URL",
    ]
    assert result.exit_code == 0


def test_every_identifier_is_a_line_of_json_and_the_worst_exit_code_counts() -> None:
    result = resolve("--json", NAMED, "nonsense:", "http://museum.example/visit")

    one, refused, other = map(json.loads, result.stdout.splitlines())
    assert (one["input"], one["code"], one["match"]["value"]) == (NAMED, 0, "exact")
    assert one["cite"]["pwid"] == NAMED
    assert (refused["input"], refused["code"]) == ("nonsense:", 2)
    assert refused["error"]
    assert other["memento"]["status"] == 301
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("pdi://oma.eop.gov.us/1997/09/01/1.text.1", "resolver of its series"),
        ("urn:pwid:harbour.example:2016-01-22Z:page:~item-7", "item id"),
    ],
)
def test_a_valid_identifier_that_cannot_be_queried_is_unknown(text: str, why: str) -> None:
    plain, as_json = resolve(text), resolve("--json", text)

    assert plain.exit_code == as_json.exit_code == 4
    assert why in plain.stdout
    assert json.loads(as_json.stdout)["code"] == 4


def test_an_archive_link_without_a_page_is_refused_with_its_reason() -> None:
    result = resolve("https://web.archive.org/web/20160122112029/")

    assert result.exit_code == 2
    assert "does not say which page it is a copy of" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((NAMED,), 0),
        (("--at", "2009-06", HOME), 0),
        (("--at", "2011", "--wait", "0.5", HOME), 1),
        (("--at", "2011", "--wait", "0.5", "--tolerance", "10000d", HOME), 0),
        (("--precision", "exact", "duri:2010:http://museum.example/"), 1),
        (("nonsense:",), 2),
        (("http://nowhere.example/", "--archives-only", "harbour"), 3),
        (("http://nowhere.example/", "--wait", "0.5"), 4),
        (("--exclude", "harbour", "--wait", "0.5", HOME), 4),
        (("--exclude", "harbour.example,lantern", HOME), 4),
    ],
)
def test_the_exit_code_states_the_outcome(arguments: tuple[str, ...], code: int) -> None:
    assert resolve(*arguments).exit_code == code


@pytest.mark.parametrize(
    ("direction", "captured"), [("before", "2010-11-05"), ("after", "2019-08-20")]
)
def test_the_direction_can_be_chosen(direction: str, captured: str) -> None:
    wanted = ("--at", "2011", "--trust", "harbour", "--direction", direction)

    assert f"captured {captured}" in resolve(*wanted, HOME).stdout


def test_equivalent_urls_are_tried_in_order() -> None:
    also = ("--also", "http://nowhere.example/", "--also", HOME)
    result = resolve("--trust", "harbour", "--at", "2009-06", *also, "http://gone.example/")

    assert COPY in result.stdout
    assert "an equivalent URL that was given with it" in result.stdout
    assert result.exit_code == 1


def test_a_memento_is_verified_on_request() -> None:
    assert resolve("--verify", "head", NAMED).exit_code == 0


def test_the_time_of_an_identifier_overrides_the_option() -> None:
    assert COPY in resolve("--at", "2019", NAMED).stdout


@pytest.mark.parametrize("form", FORMS)
def test_a_reference_format_prints_only_the_reference(form: str) -> None:
    result = resolve("--format", form, NAMED)

    assert result.exit_code == 0
    assert result.stderr == ""
    assert "museum.example" in result.stdout


def test_the_printed_pwid_is_that_of_the_memento_found() -> None:
    asked = "urn:pwid:archive.org:2009-06-15T18:30:12Z:page:http://museum.example/"

    assert resolve("--format", "pwid", asked).stdout == f"{NAMED}\n"


def test_without_a_memento_no_reference_is_printed() -> None:
    result = resolve("--format", "cs1", "--trust", "harbour", "http://nowhere.example/")

    assert result.stdout == ""
    assert "http://nowhere.example/: nothing found" in result.stderr
    assert result.exit_code == 3


def test_references_are_read_from_standard_input() -> None:
    result = resolve("-", given=f"{NAMED}\r\nduri:2010-11:{HOME}\n")

    assert result.exit_code == 0
    assert result.stdout.count("\n  captured ") == 2


def test_a_list_is_resolved_in_the_demo_too() -> None:
    result = resolve("--batch", "-", "--to", "csv", given=f"{HOME} 2009-06\n")

    assert f"{HOME} 2009-06,within,{COPY},harbour" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--at", "someday", HOME), "--at: 'someday' is not a time"),
        (("--tolerance", "soon", HOME), "--tolerance must be a duration"),
        (("--wait", "60", HOME), "--wait must be seconds"),
        (("--trust", "harbor", HOME), "Did you mean harbour?"),
        (("--exclude", "lanterne", HOME), "Did you mean lantern?"),
        (("--format", "bibtext", HOME), "Did you mean bibtex"),
        (("--precision", "exakt", HOME), "Did you mean exact?"),
        (("--config", "timegate.toml", HOME), "--demo cannot be combined"),
        (("--batch", "-", "--at", "2016"), "--at does not apply to a list"),
        (("--batch", "-", "--wait", "3"), "--wait does not apply to a list"),
        (("--batch", "-", "--json"), "to a list; use --to"),
        (("--batch", "-", "--also", HOME), "put a column also into it"),
        (("--also", HOME, NAMED, HOME), "--also is for a single ID"),
        (("--also", "ftp://a.example/", HOME), "--also must be http or https URLs"),
    ],
)
def test_bad_usage_is_explained(arguments: tuple[str, ...], why: str) -> None:
    result = resolve(*arguments, given="")

    assert result.exit_code == 2
    assert why in " ".join(result.stderr.split())


@pytest.mark.parametrize("text", ["contact = ", "contact = 3", "\x00", "[archive]\n", "a" * 9])
def test_an_invalid_configuration_is_named(text: str, tmp_path: Path) -> None:
    config = tmp_path / "timegate.toml"
    config.write_text(text)

    result = CliRunner().invoke(main, ["resolve", "--config", str(config), HOME])

    assert result.exit_code == 2
    assert str(config) in result.stderr
