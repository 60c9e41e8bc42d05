"""Errors of the command line end with the words to type."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.timegate.cli.running import at_a_terminal
from timegate.cli import main

MUSEUM = "http://museum.example/"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_the_name_of_a_file_is_not_looked_up_as_a_host(tmp_path: Path) -> None:
    refs = tmp_path / "refs.bib"
    refs.write_text("@misc{a, url={http://museum.example/}}")
    with pytest.MonkeyPatch.context() as here:
        here.chdir(tmp_path)
        result = run("resolve", "--demo", "refs.bib")
        other = run("resolve", "--demo", "other.bib")

    assert result.exit_code == 2
    assert "refs.bib is a file" in result.stderr
    assert "timegate resolve --demo --batch refs.bib\n" in result.stderr
    assert "http://refs.bib/" in result.stderr
    assert other.exit_code == 3


def test_a_missing_contact_is_shown_in_the_line_that_was_typed() -> None:
    result = run("resolve", "http://example.com/a b", "--json")

    line = "timegate resolve 'http://example.com/a b' --json --contact mailto:you@example.org"
    assert result.exit_code == 2
    assert f"Try: {line}\n" in result.stderr


def test_an_option_to_type_stands_before_the_ids_after_two_hyphens() -> None:
    result = run("resolve", "--json", "--", "perma.cc/x")

    line = "timegate resolve --json --contact mailto:you@example.org -- perma.cc/x"
    assert f"Try: {line}\n" in result.stderr


@pytest.mark.parametrize("contact", ["foo", "mailto:", "@", "https://", "ftp://example.org/"])
def test_a_contact_is_a_url_or_an_address(contact: str) -> None:
    result = run("resolve", "--contact", contact, MUSEUM)

    assert result.exit_code == 2
    assert "mailto:you@example.org" in result.stderr


@pytest.mark.parametrize(
    "contact", ["a@example.org", "mailto:a@example.org", "https://example.org/bots"]
)
def test_urls_and_addresses_are_contacts(contact: str) -> None:
    assert run("resolve", "--demo", "--contact", contact, MUSEUM).exit_code == 0


def test_a_missing_store_comes_with_what_it_may_be() -> None:
    result = run("keep", "--demo", MUSEUM)

    assert result.exit_code == 2
    assert "a folder such as ./notes" in result.stderr


def test_verbose_leads_to_the_options_that_tell_more() -> None:
    result = run("resolve", "--demo", "--verbose", MUSEUM)

    assert result.exit_code == 2
    assert "--json" in result.stderr
    assert "timegate closest" in result.stderr


def test_resuming_without_a_journal_says_that_it_begins_anew(tmp_path: Path) -> None:
    given, out = tmp_path / "list.txt", tmp_path / "rows.csv"
    given.write_text(MUSEUM)
    words = ("resolve", "--demo", "--batch", str(given), "--output", str(out), "--resume")

    first, again = run(*words), run(*words)

    assert f"there is no {out}.journal to continue: this run begins anew" in first.stderr
    assert "begins anew" not in again.stderr
    assert "1 already done" in again.stderr


@pytest.mark.parametrize(
    ("name", "output", "line"),
    [
        ("a.txt", "new.txt", "--batch a.txt --output new.txt --to text"),
        ("a.txt", "new.docx", "--batch a.txt --output new.csv"),
        ("a.txt", "new.wiki", "--batch a.txt --output new.wiki --to text"),
        ("a.txt", "-", ""),
        ("list.csv", "new.txt", "--batch list.csv --output new.csv"),
        ("a.txt", "new.txt --to wikitext", "--batch a.txt --output new.txt --to text"),
        ("list.csv", "new.txt --to=document", "--batch list.csv --output new.csv --to=csv"),
        ("list.csv", "new.docx --to text", "--batch list.csv --output new.csv --to csv"),
        ("list.csv", "new.md", "--batch list.csv --output new.csv"),
    ],
)
def test_an_output_that_cannot_be_written_comes_with_the_line_to_type(
    tmp_path: Path, name: str, output: str, line: str
) -> None:
    text = {"a.txt": f"We saw {MUSEUM} in May.\n", "list.csv": f"url,x\n{MUSEUM},y\n"}
    (tmp_path / name).write_text(text[name])
    with pytest.MonkeyPatch.context() as here:
        here.chdir(tmp_path)
        result = run("resolve", "--demo", "--batch", name, "--output", *output.split())

    assert (f"\nTry: timegate resolve --demo {line}\n" in result.stderr) == bool(line)


def test_links_that_the_demo_writes_into_a_document_come_with_when_they_work(
    tmp_path: Path,
) -> None:
    given, out = tmp_path / "a.md", tmp_path / "b.md"
    given.write_text(f"[Museum]({MUSEUM}) (accessed 5 November 2010)\n")

    result = run("resolve", "--demo", "--batch", str(given), "--output", str(out))

    assert "http://127.0.0.1:1208/" in out.read_text()
    assert (
        "Links of the demo work while it runs, at port 1208: timegate serve --demo"
        in result.stderr
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("http://museum.example/\nnonsense words\n", "1 line has no reference"),
        (
            "http://museum.example/ 2010\n\n# x\nhttp://museum.example/\na b\nc d\n",
            "2 lines have",
        ),
        ("http://museum.example/\nhttp://museum.example/visit 2010 and more\n", ""),
        ("We saw http://museum.example/ once.\nIt was cold.\n", ""),
    ],
)
def test_a_line_of_a_list_without_a_reference_does_not_vanish(
    tmp_path: Path, text: str, said: str
) -> None:
    given = tmp_path / "list.txt"
    given.write_text(text)

    result = run("resolve", "--demo", "--batch", str(given))

    assert said in result.stderr
    assert ("--input-format lines" in result.stderr) == bool(said)


@pytest.mark.parametrize(
    ("options", "how"),
    [
        ((), "timegate resolve --demo --batch - < a.wiki\n"),
        (("--input-format", "wikitext"), "read standard input without --input-format\n"),
    ],
)
def test_citations_of_an_article_that_are_passed_over_are_counted(
    tmp_path: Path, options: tuple[str, ...], how: str
) -> None:
    dead = f"{{{{cite web|url={MUSEUM}|access-date=2010-11-05}}}} {{{{dead link}}}}\n"
    living = f"{{{{cite web|url={MUSEUM}|title=A}}}}\n"
    (tmp_path / "a.wiki").write_text(f"{dead}{living}{living}")
    with pytest.MonkeyPatch.context() as here:
        here.chdir(tmp_path)
        result = run("resolve", "--demo", "--batch", "a.wiki", *options)

    assert "1 reference: 1 within" in result.stderr
    assert "2 citations were passed over, neither marked as dead nor" in result.stderr
    assert result.stderr.endswith(f"to resolve them too: {how}")


@pytest.mark.parametrize(
    "arguments",
    [["resolve", MUSEUM], ["quote", "Open all year", MUSEUM], ["resolve", "--batch", "a.txt"]],
)
def test_the_demo_says_at_a_terminal_when_its_links_work(
    tmp_path: Path, arguments: list[str]
) -> None:
    (tmp_path / "a.txt").write_text(MUSEUM)

    shown = at_a_terminal([*arguments, "--demo"], tmp_path)

    assert (
        shown.count("Links of the demo work while it runs, at port 1208: timegate serve --demo")
        == 1
    )


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--output", "hello.csv"), "--output"),
        (("--to", "csv"), "--to"),
        (("--report", "hello.html"), "--report"),
        (("--exit-zero",), "--exit-zero"),
        (("--at-once", "16"), "--at-once"),
        (("--published",), "--published"),
        (("--queue", "redis://127.0.0.1:1"), "--queue"),
    ],
)
def test_an_option_of_lists_without_a_list_comes_with_the_line_to_type(
    options: tuple[str, ...], named: str
) -> None:
    result = run("resolve", "--demo", *options, MUSEUM)
    piped = run("resolve", "--demo", *options, "-")

    line = f"timegate resolve --demo {' '.join(options)} --batch -"
    assert (result.exit_code, piped.exit_code) == (2, 2)
    assert f"{named} needs a list, with --batch\n" in result.stderr
    assert f"Try: printf '%s\\n' {MUSEUM} | {line}\n" in result.stderr
    assert f"Try: {line}\n" in piped.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--json", "--format", "cs1", MUSEUM), "use either --json or --format, not both"),
        (("--url-status", "dead", MUSEUM), "--url-status requires --format cs1"),
        (
            ("--queue", "redis://127.0.0.1:1", "--work", "--output", "x.csv"),
            "--output does not apply to --work",
        ),
        (
            ("--queue", "redis://127.0.0.1:1", "--progress", "--precision", "exact"),
            "--precision does not apply to --progress",
        ),
    ],
)
def test_no_option_is_silently_ignored(words: tuple[str, ...], why: str) -> None:
    result = run("resolve", "--demo", *words)

    assert result.exit_code == 2
    assert why in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("resolve", "--demo", "--at", "{}", MUSEUM),
        ("parts", "--demo", "--at", "{}", MUSEUM),
        ("quote", "--demo", "--at", "{}", "open all year", MUSEUM),
        ("closest", "--demo", "harbour", MUSEUM, "{}"),
    ],
)
def test_a_time_may_be_typed_in_any_language_but_not_be_ambiguous(
    words: tuple[str, ...],
) -> None:
    read = run(*(word.format("5 novembre 2010") for word in words))
    unclear = run(*(word.format("03/04/2010") for word in words))

    assert read.exit_code == 0
    assert "20101105" in read.stdout or "2010-11-05" in read.stdout
    assert unclear.exit_code == 2
    assert "'03/04/2010' is ambiguous: write 2010-04-03 or 2010-03-04" in unclear.stderr


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("resolve", "--demo", "--batch", MUSEUM), "timegate resolve --demo --batch -"),
        (("extract", "--demo", MUSEUM, "-o", "y.warc.gz"), "timegate extract --demo - -o y.w"),
    ],
)
def test_an_id_in_the_place_of_a_list_comes_with_the_line_to_type(
    words: tuple[str, ...], line: str
) -> None:
    result = run(*words)

    assert result.exit_code == 2
    assert f"printf '%s\\n' {MUSEUM} | {line}" in result.stderr


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("out2.md", "--output out2.bib"),
        ("out2.ris", "--output out2.bib"),
        ("out2.xyz", "--output out2.xyz --to bibtex"),
    ],
)
def test_a_document_is_not_led_into_a_file_of_another_format(
    tmp_path: Path, output: str, line: str
) -> None:
    (tmp_path / "refs.bib").write_text(f"@misc{{a, url={{{MUSEUM}}}}}\n")
    with pytest.MonkeyPatch.context() as here:
        here.chdir(tmp_path)
        result = run("resolve", "--demo", "--batch", "refs.bib", "--output", output)

    assert f"Try: timegate resolve --demo --batch refs.bib {line}\n" in result.stderr


@pytest.mark.parametrize("name", ["nofile.bib", "./nofile.txt", "lists/nofile.csv"])
def test_of_a_name_of_a_file_it_is_only_said_that_there_is_none(name: str) -> None:
    result = run("resolve", "--demo", "--batch", name)

    assert result.exit_code == 2
    assert result.stderr.endswith(f"Error: {name}: cannot be read: No such file or directory\n")


def test_entries_without_a_link_are_counted(tmp_path: Path) -> None:
    entry = f"@misc{{a, url={{{MUSEUM}}}, urldate={{2010-11-05}}}}\n@book{{b, title={{B}}}}\n"
    (tmp_path / "refs.bib").write_text(entry)
    record = f"TY  - ELEC\nUR  - {MUSEUM}\nER  - \nTY  - BOOK\nTI  - B\nER  - \n"
    (tmp_path / "refs.ris").write_text(record)

    for name in ("refs.bib", "refs.ris"):
        result = run("resolve", "--demo", "--batch", str(tmp_path / name), "--to", "csv")
        assert result.stderr.endswith("1 entry was passed over, without a link\n")


def test_an_empty_list_says_nothing_of_links_of_the_demo(tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text("")

    result = run("resolve", "--demo", "--batch", str(tmp_path / "refs.bib"))

    assert result.exit_code == 0
    assert result.stderr == "no references: the list is empty\n"


def test_the_advice_for_citations_of_a_document_leads_to_their_copies(tmp_path: Path) -> None:
    (tmp_path / "a.wiki").write_text(f"{{{{cite web|url={MUSEUM}|access-date=2010-11-05}}}}\n")
    with pytest.MonkeyPatch.context() as here:
        here.chdir(tmp_path)
        result = run("resolve", "--demo", "--batch", "a.wiki", "--output", "new.wiki")

    line = "timegate resolve --demo --batch - --output new.csv < a.wiki"
    assert result.stderr.endswith(f"for a table with their copies: {line}\n")


def test_the_help_says_what_the_exit_code_0_means() -> None:
    words = " ".join(run("resolve", "--help").stdout.split())

    assert "a copy in another archive than the named one counts too, unless" in words


CLOSED = "http://collections.europarchive.org/tna/20120501000000/http://museum.example/"
OF_CLOSED = (
    f"{{{{cite web|url={MUSEUM}|title=T|archive-url={CLOSED}|archive-date=1 May 2012"
    "|url-status=dead}}"
)
OF_ID = (
    "{{cite web |url=http://museum.example/opening-hours |archive-url=https://archive.ph/AbCdE"
    " |archive-date=15 June 2009 |url-status=dead}}"
)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((), 1, "the archive link of your citation was replaced; the copy: 8 days later,"),
        (("--tolerance", "30d"), 0, "was replaced; the copy: 8 days later, in another archive"),
    ],
)
def test_a_link_into_an_archive_that_is_closed_is_replaced_in_a_citation(
    options: tuple[str, ...], code: int, said: str
) -> None:
    result = run("resolve", "--demo", "--format", "cs1", *options, OF_CLOSED)

    assert result.exit_code == code
    assert "|archive-date=9 May 2012|url-status=dead}}" in result.stdout
    assert "europarchive" not in result.stdout
    assert said in result.stderr


def test_a_citation_that_stays_comes_with_the_way_to_replace_its_link() -> None:
    result = run("resolve", "--demo", "--format", "cs1", OF_ID)
    again = run("resolve", "--demo", "--format", "cs1", "--distrust", "archive-today", OF_ID)

    assert result.stdout == f"{OF_ID}\n"
    assert "your citation is unchanged: its archive link was not checked" in result.stderr
    assert "; --distrust archive-today replaces the link" in result.stderr
    assert "20090615183020/http://museum.example/opening-hours" in again.stdout
    assert "archive.ph" not in again.stdout


def test_a_batch_names_the_tolerance_that_replaces_a_link(tmp_path: Path) -> None:
    (tmp_path / "a.wiki").write_text(f"{OF_CLOSED}\n")
    batch = ("resolve", "--demo", "--batch", str(tmp_path / "a.wiki"), "--output")

    result = run(*batch, str(tmp_path / "new.wiki"))
    again = run(*batch, str(tmp_path / "again.wiki"), "--tolerance", "9d")

    assert "was not queried; --tolerance 9d replaces the link)" in result.stderr
    assert "1 link replaced" in again.stderr


def test_what_a_style_takes_over_from_a_citation_is_said() -> None:
    text = f"Smith, A. (2009). The museum. City. Retrieved November 5, 2010, from {MUSEUM}"
    result = run("resolve", "--demo", "--format", "apa", text)

    assert result.stdout.startswith("Smith, A. (2009). The museum. museum.example. Retrieved")
    assert (
        "APA takes over from your citation: author, year, title and day of access; not"
        in result.stderr
    )


def test_a_url_with_a_time_has_a_duri_in_every_report(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(f"{MUSEUM} 2010-11-05\n")
    single = run("resolve", "--demo", "--json", "--at", "2010-11-05", MUSEUM)
    batch = run("resolve", "--demo", "--batch", str(tmp_path / "list.txt"))

    assert json.loads(single.stdout)["identifier"] == f"duri:2010-11-05:{MUSEUM}"
    assert json.loads(batch.stdout)["report"]["identifier"] == f"duri:2010-11-05:{MUSEUM}"
