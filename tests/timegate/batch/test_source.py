"""Opening a list from a file or from standard input."""

import io
import os
import sys
from pathlib import Path

import pytest

from archives.registry import load_known
from timegate.batch.model import BadInput
from timegate.batch.source import ListSource, read_document
from timegate.references import InputFormat
from timegate.references.lines import Columns

LINK = "https://archive.today/20130203040506/http://www.dr.dk/"


def source(name: str | Path, form: InputFormat | None = None) -> ListSource:
    return ListSource(str(name), form, Columns(), load_known())


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("list.txt", f"{LINK}\n", "lines"),
        ("list", f'{{"url": "{LINK}"}}\n', "jsonl"),
        ("list", f"title,link\nNode.js,{LINK}\n", "csv"),
        ("list", f"@misc{{a, url={{{LINK}}}}}", "bibtex"),
        ("list.json", f'{{"count": 1, "links": [{{"URL": "{LINK}"}}]}}', "json"),
        ("list.html", f"<p><a href='{LINK}'>there</a>, <a href=/>home</a>", "html"),
        ("list.wiki", f"<ref>[{LINK} there]</ref> https://web.archive.org/web/*/x", "wikitext"),
    ],
)
def test_both_references_are_found_in_every_format(
    tmp_path: Path, name: str, text: str, form: str
) -> None:
    (tmp_path / name).write_text(text)

    listed = source(tmp_path / name)

    assert listed.form == form
    assert listed.repeatable
    assert [item.text for item in listed.items()] == [LINK]
    assert [item.text for item in listed.items()] == [LINK]


def test_a_given_format_overrides_the_detected_one(tmp_path: Path) -> None:
    path = tmp_path / "list.bib"
    path.write_text(f"{LINK}\n")

    assert [item.text for item in source(path, "lines").items()] == [LINK]


class Piped(io.TextIOWrapper):
    """Standard input that cannot be rewound."""

    def __init__(self, octets: bytes) -> None:
        super().__init__(io.BufferedReader(io.BytesIO(octets)))


def test_standard_input_is_read_once_and_documents_can_be_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", Piped(f"{LINK}\n".encode()))
    lines = source("-")
    monkeypatch.setattr(sys, "stdin", Piped(f"[{LINK} there] [[x]]".encode()))
    document = source("-")

    assert not lines.repeatable
    assert document.repeatable
    assert [place.item.text for place in document.places()] == [LINK]
    assert list(lines.places()) == []


def test_a_missing_and_a_too_large_file_are_rejected(
    tmp_path: Path,
) -> None:
    with pytest.raises(BadInput, match="No such file"):
        source(tmp_path / "none")
    with pytest.raises(BadInput, match="split the file"):
        read_document(io.BytesIO(b"12345"), 4)
    assert read_document(io.BytesIO(b"1234"), 4) == "1234"


def test_a_named_pipe_is_rejected_before_it_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "list")

    with pytest.raises(BadInput, match="send it to standard input"):
        source(tmp_path / "list")


def test_an_unsupported_file_is_rejected_unless_a_format_is_given(tmp_path: Path) -> None:
    path = tmp_path / "list.pdf"
    path.write_bytes(b"%PDF-1.7\n")

    with pytest.raises(BadInput, match="the PDF file cannot be read"):
        source(path)
    assert source(path, "lines").form == "lines"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("page.wiki", "{{x}} http://a/", "read as wikitext"),
        ("list.json", "[]", "read as json"),
        ("list.txt", "# none yet", "is every line that"),
        ("list", " ", "the list is empty"),
    ],
)
def test_an_empty_result_says_how_the_list_was_read(
    tmp_path: Path, name: str, text: str, why: str
) -> None:
    (tmp_path / name).write_text(text)

    assert why in source(tmp_path / name).none_found()


def test_a_guessed_format_without_references_is_an_error(
    tmp_path: Path,
) -> None:
    (tmp_path / "list").write_text('[["http://a/"]]')

    with pytest.raises(BadInput, match=r"read as wikitext.*\.json"):
        source(tmp_path / "list").none_found()


@pytest.mark.parametrize("written", ["40487", "n.d.", "2010-13-45", "31.02.2010", "3/4/10"])
def test_a_date_in_a_table_that_cannot_be_read_leaves_a_doubt(
    written: str, tmp_path: Path
) -> None:
    table = tmp_path / "list.csv"
    table.write_text(f"title,url,accessed\nOpening hours,http://museum.example/,{written}\n")

    [item] = ListSource(str(table), None, Columns(), load_known()).items()

    assert (item.references, item.dates, item.doubt) == (("http://museum.example/",), (), True)
    assert "Not used" in item.said


@pytest.mark.parametrize(
    "columns", [Columns("9"), Columns("3"), Columns("0"), Columns(None, ("cited", "9"))]
)
def test_a_number_that_no_column_has_is_refused_with_the_columns(
    tmp_path: Path, columns: Columns
) -> None:
    path = tmp_path / "list.csv"
    path.write_text(f"link,cited\n{LINK},2010-11\n")

    with pytest.raises(BadInput, match=r"no column '?[0-9]'?; the columns are link, cited"):
        [*ListSource(str(path), None, columns, load_known()).items()]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (f"link,cited\n{LINK},2010-11\n", Columns("1", ("2",))),
        (f"link,2010\n{LINK},2010-11\n", Columns("1", ("2010",))),
        (f"link\n{LINK},2010-11\n", Columns("1", ("2",))),
        (f"# a comment, and another\nlink;cited\n{LINK};2010-11\n", Columns("1", ("2",))),
    ],
)
def test_a_column_may_be_named_by_its_number(
    tmp_path: Path, text: str, columns: Columns
) -> None:
    path = tmp_path / "list.csv"
    path.write_text(text)

    items = [*ListSource(str(path), None, columns, load_known()).items()]

    assert [(item.text, item.dates) for item in items] == [(LINK, ("2010-11",))]


@pytest.mark.parametrize("name", ["list.jsonl", "list.json"])
def test_an_object_without_a_reference_is_said_to_have_none(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    values = ['"http://a.example/"', '{"foo": 1}']
    path.write_text("\n".join(values) if name == "list.jsonl" else f"[{', '.join(values)}]")

    fine, faulty = source(path).items()

    assert fine.trouble == ""
    assert faulty.trouble.startswith("the object has no member url, uri")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.jsonl", '"{}"\n'),
        ("list.json", '[{{"url": "{}"}}]'),
        ("list.csv", "link,date\n{},2010\n"),
    ],
)
@pytest.mark.parametrize("end", [".", "?", "!", ":"])
def test_a_value_that_is_one_address_is_read_to_its_last_character(
    tmp_path: Path, name: str, text: str, end: str
) -> None:
    path = tmp_path / name
    path.write_text(text.format(f"http://a.example/wiki/Who{end}"))

    (item,) = source(path).items()

    assert item.references == (f"http://a.example/wiki/Who{end}",)


def test_the_result_of_a_line_has_the_line(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("http://a.example/who.\nhttp://a.example/b, accessed 5 November 2010\n")

    found = [*source(path, "lines").items()]

    assert [(item.text, item.references) for item in found] == [
        ("http://a.example/who.", ("http://a.example/who",)),
        ("http://a.example/b, accessed 5 November 2010", ("http://a.example/b",)),
    ]
