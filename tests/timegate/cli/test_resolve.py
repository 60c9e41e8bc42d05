"""`timegate resolve` over the archives of the demo: output and exit code."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from timegate.citations.forms import FORMS_OF_COPIES
from timegate.cli import main

HOME = "http://museum.example/"
NAMED = f"urn:pwid:harbour.example:2009-06-15T18:30:12Z:page:{HOME}"
BY_ID = "https://archive.ph/AbCdE"
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


@pytest.mark.parametrize("form", FORMS_OF_COPIES)
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
        (("--at", " ", HOME), "--at: the time is empty"),
        (("--tolerance", "soon", HOME), "--tolerance must be a duration"),
        (("--wait", "60", HOME), "--wait must be seconds"),
        (("--trust", "harbor", HOME), "Did you mean harbour?"),
        (("--exclude", "lanterne", HOME), "Did you mean lantern?"),
        (("--format", "bibtext", HOME), "Did you mean bibtex"),
        (("--precision", "exakt", HOME), "Did you mean exact?"),
        (("--config", "timegate.toml", HOME), "--demo cannot be combined"),
        (("--batch", "-", "--at", "someday"), "--at: 'someday' is not a time"),
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


PASTED = (
    "{{cite web|url=http://museum.example/|title=The Museum|url-status=dead"
    "|access-date=5 November 2010}}"
)


def test_a_citation_keeps_what_was_pasted() -> None:
    written = resolve("--format", "cs1", PASTED).stdout

    assert "|title=The Museum|url-status=dead|access-date=5 November 2010}}" in written


def test_the_pasted_date_of_access_is_that_of_the_original() -> None:
    written = resolve("--format", "apa", PASTED).stdout

    # The copy may not have been there on the day on which the original was read.
    assert f"Retrieved November 5, 2010, from {HOME}; archived" in written


def test_a_bibliography_without_publication_dates_has_no_years() -> None:
    assert "year" not in resolve("--format", "bibtex", PASTED).stdout


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{HOME} and {HOME}visit", f"  timegate resolve --demo {HOME}visit"),
        (f"{HOME} and {HOME}visit", "run: timegate resolve --demo --batch FILE"),
        (f"{HOME} (accessed 03/04/2010)", f"timegate resolve --demo --at 2010-04-03 {HOME}"),
        (f"https://web.archive.org/web/*/{HOME}", f"timegate timemap --demo {HOME}"),
    ],
)
def test_commands_that_are_suggested_in_the_demo_use_the_demo(text: str, line: str) -> None:
    assert line in resolve(text).output


def test_words_without_a_link_are_explained() -> None:
    assert "there is no link in this text: write a URL" in resolve("asdf qwer").stdout


def test_entries_without_an_archive_link_get_one(tmp_path: Path) -> None:
    bibliography = tmp_path / "refs.bib"
    bibliography.write_text(
        f"@misc{{a, url = {{{HOME}}}, urldate = {{2010-11-05}}}}\n"
        f"@misc{{b, url = {{{HOME}}}}}\n"
        "@misc{c, url = {http://nowhere.example/}, urldate = {2010}}\n"
    )
    new = tmp_path / "new.bib"

    result = resolve("--batch", str(bibliography), "--output", str(new))

    first, *_ = new.read_text().split("@misc{b")
    assert "archiveurl = {http://127.0.0.1:1208/collections/harbour/20101105101500/" in first
    assert "archivedate = {2010-11-05}, urldate = {2010-11-05}}" in first
    assert new.read_text().count("archiveurl") == 1
    assert (
        "1 archive link added; 2 references stay as they are:\n"
        f"  within: {HOME} (no date of access, which --at or --published gives)\n"
        "  absent: http://nowhere.example/\n"
    ) in result.stderr


def test_a_new_archive_link_is_read_again_and_stays(tmp_path: Path) -> None:
    bibliography, new, again = (tmp_path / name for name in ("a.bib", "b.bib", "c.bib"))
    bibliography.write_text(f"@misc{{a, url = {{{HOME}}}, urldate = {{2010-11-05}}}}\n")

    resolve("--batch", str(bibliography), "--output", str(new))
    result = resolve("--batch", str(new), "--output", str(again))

    assert again.read_bytes() == new.read_bytes()
    assert "no link changed; 1 already leads to its copy\n" in result.stderr


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("list.txt", "is the list itself: choose another name"),
        ("out.xyz", "the format of .xyz is not known; use .jsonl, .json"),
    ],
)
def test_an_output_that_cannot_be_meant_is_refused(
    output: str, why: str, tmp_path: Path
) -> None:
    written = tmp_path / "list.txt"
    written.write_text(f"{HOME}\n")

    result = resolve("--batch", str(written), "--output", str(tmp_path / output))

    assert result.exit_code == 2
    assert why in result.stderr
    assert written.read_text() == f"{HOME}\n"


def test_a_copy_of_a_redirect_is_called_so_in_a_list() -> None:
    result = resolve("--batch", "-", "--to", "csv", given=f"{HOME}visit\n")

    assert f"{HOME}visit,redirect," in result.stdout
    assert "1 reference: 1 redirect" in result.stderr


def test_a_doubt_about_the_link_is_not_called_one_about_the_date() -> None:
    mistyped = HOME.replace("http:", "htp:")
    for options in ((), ("--at", "2010")):
        alone = resolve("--json", *options, mistyped)

        assert json.loads(alone.stdout)["headline"] == "Found, but another link may be meant"
        assert alone.exit_code == 1
    assert "another link may be meant" in resolve("--format", "apa", mistyped).stderr


def test_a_doubt_about_the_date_is_in_every_output() -> None:
    text = f"Smith (2009). Hours. {HOME}"
    alone = resolve("--json", text)
    listed = resolve("--batch", "-", given=f"{text}\n")

    answers = [json.loads(alone.stdout), json.loads(listed.stdout)["report"]]
    assert {answer["headline"] for answer in answers} == {
        "Found, but another date may be meant"
    }
    assert answers[0]["read"]["doubt"] is True
    assert "another date may be meant" in resolve("--format", "apa", text).stderr
    assert "in 1 another date may be meant" in listed.stderr
    assert (alone.exit_code, listed.exit_code) == (1, 1)


def test_a_link_that_is_cut_off_stays_doubtful_with_a_given_date() -> None:
    result = resolve("--at", "2010-11-05", f"See {HOME}... for more")

    assert result.exit_code == 1
    assert "The link may be incomplete or altered" in result.stdout


def test_dates_of_publication_are_used_on_request(tmp_path: Path) -> None:
    bibliography = tmp_path / "refs.bib"
    bibliography.write_text(f"@misc{{a, url = {{{HOME}}}, date = {{2010-11-05}}}}\n")

    unasked = resolve("--batch", str(bibliography), "--to", "jsonl")
    asked = resolve("--batch", str(bibliography), "--to", "jsonl", "--published")

    assert (unasked.exit_code, asked.exit_code) == (1, 0)
    assert "Not used: 2010-11-05 (the date of publication)" in unasked.stdout
    assert json.loads(asked.stdout)["date"] == "2010-11-05"


def test_a_suggested_command_has_the_options_of_this_one(tmp_path: Path) -> None:
    config = tmp_path / "my gate.toml"
    config.write_text("[archives]\nuse = []\n")

    ran = CliRunner().invoke(
        main, ["resolve", "--config", str(config), f"{HOME} and {HOME}visit"]
    )

    assert f"  timegate resolve --config '{config}' {HOME}\n" in ran.output


@pytest.mark.parametrize(
    "citation",
    [
        f"{{{{cite web |url={HOME} |archive-url={BY_ID} |archive-date=15 June 2009}}}}",
        f"@misc{{a, url={{{HOME}}}, archiveurl={{{BY_ID}}}, archivedate={{2009-06-15}}}}",
        f"See [it]({HOME}) ([archived]({BY_ID}), 15 June 2009).",
    ],
)
def test_a_citation_with_an_own_id_of_an_archive_is_of_the_copy_there(
    citation: str, tmp_path: Path
) -> None:
    form = {"{": "wikitext", "@": "bibtex", "S": "markdown"}[citation[0]]
    document = tmp_path / "document"
    document.write_text(citation)

    found = json.loads(resolve("--json", citation).stdout)
    listed = resolve("--batch", str(document), "--input-format", form, "--to", "document")
    given_up = resolve(
        *("--batch", str(document), "--input-format", form, "--to", "document"),
        *("--distrust", "archive-today"),
    )

    assert (found["match"]["value"], found["archive"]["value"]) == ("substitute", "other")
    assert found["referral"]["uri"] == BY_ID
    assert listed.stdout == citation
    assert "--distrust archive-today replaces the link" in listed.stderr
    assert COPY in given_up.stdout


def test_a_citation_comes_back_with_the_copy_and_keeps_an_unchecked_archive_link() -> None:
    template = "{{cite web |last=Smith |title=T |url=%s%s |access-date=15 June 2009}}"
    added = f" |archive-url={COPY} |archive-date=15 June 2009 |url-status=bot: unknown"
    own = f" |archive-url={BY_ID} |archive-date=15 June 2009"

    plain = resolve("--format", "cs1", template % (HOME, ""))
    archived = resolve("--format", "cs1", template % (HOME, own))

    assert plain.stdout == f"{template % (HOME, added)}\n"
    assert archived.stdout == f"{template % (HOME, own)}\n"


def test_without_a_pasted_citation_there_is_none_to_complete() -> None:
    result = resolve("--format", "pasted", NAMED)

    assert "cannot be cited as pasted" in result.stderr


@pytest.mark.parametrize("command", [("resolve",), ("parts",), ("quote", "open"), ("timemap",)])
def test_all_commands_have_one_code_for_an_archive_link_without_its_page(
    command: tuple[str, ...],
) -> None:
    words = [command[0], "--demo", *command[1:], "https://perma.cc/AB12-CD34"]

    assert CliRunner().invoke(main, words).exit_code == 4


def test_a_link_to_a_list_of_captures_is_refused() -> None:
    link = "https://web.archive.org/web/*/http://museum.example/"

    alone = CliRunner().invoke(main, ["resolve", "--demo", link])
    listed = CliRunner().invoke(main, ["resolve", "--demo", "--batch", "-"], input=link)

    assert (alone.exit_code, listed.exit_code) == (2, 2)
    assert "timegate timemap --demo http://museum.example/" in alone.stdout
    assert "1 refused" in listed.stderr


@pytest.mark.parametrize(
    ("option", "value", "reference", "said"),
    [
        ("--precision", "exact", "duri:2010-11-05:{}", "not as precise as --precision exact"),
        ("--tolerance", "1d", "duri:2010-11-01:{}", "than --tolerance (24 hours)"),
        ("--quote", "not there", "{}", "not known to have the text of --quote"),
        ("--verify", "page", "duri:2010-11:{}gallery", "not known to have all its parts"),
    ],
)
def test_an_option_that_the_copy_does_not_meet_is_named(
    option: str, value: str, reference: str, said: str
) -> None:
    text = reference.format("http://museum.example/")

    plain = resolve(option, value, text)
    cited = resolve(option, value, "--format", "pwid", text)
    members = json.loads(resolve(option, value, "--json", text).stdout)

    assert (plain.exit_code, cited.exit_code, members["code"]) == (1, 1, 1)
    assert "less than requested: " in plain.stdout
    assert said in plain.stdout
    assert said in cited.stderr
    assert members["unmet"] == [option]


def test_options_that_the_copy_meets_are_not_named() -> None:
    met = ("--tolerance", "7d", "--quote", "open all year", "--precision", "day")

    result = resolve(*met, "duri:2010-11:http://museum.example/")

    assert result.exit_code == 0
    assert "less than requested" not in result.stdout


def test_an_empty_standard_input_is_said() -> None:
    result = CliRunner().invoke(main, ["resolve", "--demo", "-"], input="")

    assert result.exit_code == 0
    assert result.stderr == "no references: standard input is empty\n"
