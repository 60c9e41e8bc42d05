"""Documents in every format: what is found, where, and what stays as it is."""

import json
from datetime import UTC, datetime
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.registry import load_known
from timegate.citations.archive_links import Edit, edited
from timegate.references import InputFormat
from timegate.references.detection import format_of
from timegate.references.formats import REWRITTEN, extract, places_in
from timegate.references.lines import Columns, read_json, read_jsonl, read_table

REGISTRY = load_known()
NOW = datetime(2026, 11, 1, tzinfo=UTC)
HOST = st.from_regex(r"[a-z]{1,10}\.example", fullmatch=True)
PATH = st.from_regex(r"(?:/[A-Za-z0-9_%~=&+-]{1,8}|/\([a-z]{1,4}\)){0,4}/?", fullmatch=True)
URL = st.builds("http://{}{}".format, HOST, PATH).filter(lambda url: url[-1] not in "_~")
WORDS = st.lists(
    st.sampled_from(
        ["see", "the", "page", "at", "our", "museum", "with,", "its.", "hours;", "(all)"]
    )
)
FORMS: list[InputFormat] = sorted(REWRITTEN)


@given(WORDS, URL, WORDS)
def test_a_link_among_words_is_found_exactly(
    before: list[str], url: str, after: list[str]
) -> None:
    text = " ".join([*before, f"({url}).", *after])

    (found,) = extract(text, REGISTRY, NOW)

    assert found.identifier == url
    assert text[found.span.start : found.span.end] == url


@given(st.lists(URL, min_size=1, max_size=8, unique=True), st.sampled_from(["\n", " ", ", "]))
def test_the_order_of_links_is_kept(urls: list[str], separator: str) -> None:
    assert [found.identifier for found in extract(separator.join(urls), REGISTRY, NOW)] == urls


@given(
    st.sampled_from(FORMS),
    st.text() | st.lists(URL | st.text(max_size=20)).map(" ".join),
)
def test_positions_are_in_order_and_rewriting_nothing_changes_nothing(
    form: InputFormat, text: str
) -> None:
    links = [place.link for place in places_in(text, form, REGISTRY, NOW) if place.link]

    assert all(0 <= link.start <= link.end <= len(text) for link in links)
    same = [Edit(link, text[link.start : link.end]) for link in sorted(set(links))]
    if form in ("markdown", "rst", "latex", "text"):
        octets = b"".join(edited(text, same))
        assert octets == text.encode(errors="surrogateescape")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.md", "markdown"),
        ("a.rst", "rst"),
        ("a.tex", "latex"),
        ("a.ris", "ris"),
        ("a.docx", "docx"),
        ("a.pdf", "pdf"),
    ],
)
def test_documents_are_known_by_their_names(name: str, form: str) -> None:
    assert format_of(name, b"") == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (b"TY  - ELEC\nUR  - http://a.example/\nER  - \n", "ris"),
        (b"Smith (2009). A page. http://a.example/\n", "text"),
        (b"http://a.example/\n(accessed 5 May 2010)\n", "text"),
        (b"http://a.example/ 5 May 2010\nnonsense\n", "lines"),
    ],
)
def test_the_format_of_an_unnamed_document_is_detected(text: bytes, form: str) -> None:
    assert format_of("-", text) == form


def test_the_broken_links_of_a_report_of_lychee_are_read() -> None:
    report = {
        "total": 3,
        "success_map": {"a.md": [{"url": "http://ok.example/"}]},
        "error_map": {
            "a.md": [{"url": "http://a.example/", "status": {"code": 404}}],
            "b.md": [{"url": "http://a.example/"}, {"url": "mailto:a@b.example"}],
        },
        "timeout_map": {"a.md": [{"url": "http://b.example/"}]},
    }

    items = read_json(json.dumps(report))

    assert [item.text for item in items] == ["http://a.example/", "http://b.example/"]


def test_the_broken_links_of_linkinator_and_sphinx_are_read() -> None:
    linkinator = {
        "passed": False,
        "links": [
            {"url": "http://start.example/", "status": 200, "state": "OK"},
            {"url": "http://ok.example/", "status": 200, "state": "OK", "parent": "p"},
            {"url": "http://a.example/", "status": 404, "state": "BROKEN", "parent": "p"},
        ],
    }
    sphinx = (
        b'{"filename": "a.rst", "lineno": 1, "status": "working", "uri": "http://ok.example/"}\n'
        b'{"filename": "a.rst", "lineno": 2, "status": "broken", "uri": "http://a.example/"}\n'
    )

    assert [item.text for item in read_json(json.dumps(linkinator))] == ["http://a.example/"]
    assert [item.text for item in read_jsonl(BytesIO(sphinx))] == ["http://a.example/"]


def test_the_page_of_a_broken_link_is_not_meant() -> None:
    link = {"url": "http://a.example/", "status": 404, "state": "BROKEN"}
    page = "http://page.example/"

    broken, other = read_json(json.dumps([{**link, "parent": page}, {**link, "page": page}]))

    assert (broken.doubt, other.doubt) == (False, True)


def test_the_invalid_links_in_json_of_linkchecker_are_read() -> None:
    links = [
        {"url": "http://ok.example/", "valid": True, "parentname": "index.html"},
        {"url": "http://a.example/", "valid": False, "parentname": "index.html"},
    ]

    assert [item.text for item in read_json(json.dumps(links))] == ["http://a.example/"]


def test_the_invalid_links_of_linkchecker_are_read() -> None:
    table = (
        b"# created by LinkChecker\n# Get the newest version\n"
        b"urlname;parentname;valid;url\n"
        b"http://ok.example/;index.html;True;http://ok.example/\n"
        b"http://a.example/;index.html;False;http://a.example/\n"
    )

    items = read_table(BytesIO(table), Columns(), lambda cell: cell.startswith("http"))

    assert [item.text for item in items] == ["http://a.example/"]
