"""`timegate parse` for people and for programs."""

import json

import pytest
from click.testing import CliRunner

from timegate.cli import main

WORKED_EXAMPLE = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"


def test_the_parts_of_an_identifier_are_printed() -> None:
    result = CliRunner().invoke(main, ["parse", WORKED_EXAMPLE])

    assert result.exit_code == 0
    assert "PWID, as a URN" in result.output
    assert "from 2016-01-22T11:20:29Z until 2016-01-22T11:20:30Z (second)" in result.output


def test_an_error_marks_the_character_and_exits_with_2() -> None:
    result = CliRunner().invoke(main, ["parse", "duri:2001-02-29:http://example.com/"])

    assert result.exit_code == 2
    assert result.output.splitlines()[1] == " " * 13 + "^"
    assert "2001-02 has the days 01 to 28 (bad-date, at character 14)" in result.output


def test_a_repair_is_named_with_its_position() -> None:
    result = CliRunner().invoke(main, ["parse", "www.dr.dk#x", "duri::http://x.org/"])

    assert (
        "repaired   scheme-assumed: no scheme: http:// is assumed (at character 1)"
        in result.output
    )
    assert "fragment   #x (not sent to archives)" in result.output
    assert "time       none: the newest copy" in result.output


def test_json_has_one_line_for_each_input_with_every_member() -> None:
    result = CliRunner().invoke(main, ["parse", "--json", WORKED_EXAMPLE, "urn:pwid:x"])

    read, refused = map(json.loads, result.output.splitlines())
    assert read == {
        "input": WORKED_EXAMPLE,
        "valid": True,
        "accepted": True,
        "scheme": "urn:pwid",
        "archive": "archive.org",
        "entry": read["entry"],
        "time": {
            "start": "2016-01-22T11:20:29Z",
            "end": "2016-01-22T11:20:30Z",
            "granularity": "second",
        },
        "precision": "page",
        "item": "http://www.dr.dk",
        "canonical": WORKED_EXAMPLE,
        "diagnostics": [],
        "error": None,
        "position": None,
        "status": None,
    }
    assert list(refused) == list(read)
    assert (refused["accepted"], refused["error"], refused["position"], refused["status"]) == (
        False,
        "bad-structure",
        10,
        400,
    )


def test_lines_come_from_standard_input_as_text_or_as_json_strings() -> None:
    lines = 'http://x.org/\r\n"http://y.org/\\n"\n\n"not closed\n\xff\nhttp://z.org/'

    result = CliRunner().invoke(main, ["parse", "--json", "-"], input=lines.encode("latin-1"))

    reports = [json.loads(line) for line in result.output.splitlines()]
    assert [report["input"] for report in reports] == [
        "http://x.org/",
        "http://y.org/\n",
        "",
        '"not closed',
        "\udcff",
        "http://z.org/",
    ]
    assert [report["accepted"] for report in reports] == [
        True,
        False,
        False,
        False,
        False,
        True,
    ]


def test_an_endless_line_is_rejected_in_bounded_memory() -> None:
    endless = b"http://x.org/" + b"a" * 1_000_000 + b"\nhttp://y.org/\n"

    result = CliRunner().invoke(main, ["parse", "--json", "-"], input=endless)

    too_long, next_one = map(json.loads, result.output.splitlines())
    assert (too_long["error"], too_long["status"]) == ("too-long", 414)
    assert next_one["accepted"]


def test_wrapped_lines_are_joined_only_on_request() -> None:
    wrapped = "urn:pwid:archive.org:2018-07-\n   16Z:page:http://x.org/NAS-\n   research"

    refused = CliRunner().invoke(main, ["parse", "--json", wrapped])
    joined = CliRunner().invoke(main, ["parse", "--json", "--unwrap", wrapped])

    assert json.loads(refused.output)["error"] == "control-or-space"
    assert json.loads(joined.output)["item"] == "http://x.org/NAS-research"


def test_strict_rejects_what_is_otherwise_repaired() -> None:
    result = CliRunner().invoke(main, ["parse", "--json", "--strict", "www.dr.dk"])

    assert json.loads(result.output)["error"] == "scheme-assumed"


def test_json_has_the_parts_of_a_pdi() -> None:
    cited = "pdi://a.us/1997/11/03/4.text.1@103=pdi://a.us/1997/09/01/1.text.1#37,51"

    result = CliRunner().invoke(main, ["parse", "--json", cited])

    assert json.loads(result.output)["pdi"] == {
        "format": "text",
        "version": 1,
        "origin": "103",
        "cites": "pdi://a.us/1997/09/01/1.text.1#37,51",
    }


@pytest.mark.parametrize("hostile", ["\x1b[31mred", "a\u202eb", "\ud800"])
def test_no_control_characters_are_printed(hostile: str) -> None:
    result = CliRunner().invoke(main, ["parse", hostile])

    assert result.exit_code == 2
    assert hostile not in result.output


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("doi:10.1000/182", "https://doi.org/10.1000/182"),
        ("10.1000/182", "https://doi.org/10.1000/182"),
        ("hxxp://museum.example/", "http://museum.example/"),
        ("Smith, Hours, http://museum.example/", "http://museum.example/"),
    ],
)
def test_a_text_that_other_commands_read_is_refused_with_the_line_to_type(
    text: str, read: str
) -> None:
    result = CliRunner().invoke(main, ["parse", text])

    assert result.exit_code == 2
    line = f"other commands read {read} in it: timegate resolve {read}"
    assert line in result.stdout


def test_an_archive_link_without_its_page_has_neither_time_nor_item() -> None:
    result = CliRunner().invoke(main, ["parse", "https://perma.cc/AB12-CD34"])

    assert result.exit_code == 0
    assert "time       unknown: the link has the archive's own id for one copy" in result.stdout
    assert "item       unknown: open the link to see the URL of the page" in result.stdout
    assert "the newest copy" not in result.stdout
