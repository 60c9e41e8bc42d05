"""Documents with rewritten archive links."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.timegate.batch.results import FOUND, a_result
from timegate.batch.model import ItemResult
from timegate.batch.output import edited, edits
from timegate.references.bibtex import read_bibtex
from timegate.references.wikitext import read_wikitext

LINK = "https://archive.today/20130203040506/http://www.dr.dk/"


def is_archive_link(link: str) -> bool:
    return link.startswith("https://archive.")


def rewritten(text: str, result: ItemResult | None) -> str:
    places = read_wikitext(text, is_archive_link)
    return b"".join(edited(text, edits(text, places, lambda _: result))).decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2013-02-03", "2013-02-04"),
        ("3 February 2013", "4 February 2013"),
        ("February 3, 2013", "February 4, 2013"),
        ("3 Feb 2013", "4 Feb 2013"),
        ("", "2013-02-04"),
    ],
)
def test_the_link_and_its_date_change_and_nothing_else(before: str, after: str) -> None:
    page = "é {{{{cite web|url=x|archive-url= {} |archive-date={}|title=\u00a0T}}}}\r\n"

    assert rewritten(page.format(LINK, before), a_result()) == page.format(FOUND, after)


def test_a_missing_archive_link_is_added() -> None:
    page = "{{cite web|url=http://a/ |url-status=dead}}"

    assert rewritten(page, a_result()) == (
        f"{{{{cite web|url=http://a/ |archive-url={FOUND} |archive-date=2013-02-04"
        " |url-status=dead}}"
    )


@pytest.mark.parametrize(
    "result",
    [
        None,
        a_result(code=1),
        a_result(code=3, uri=None),
        a_result(uri="javascript:alert(1)"),
        a_result(status=404),
    ],
)
def test_a_result_that_is_less_than_asked_changes_nothing(result: ItemResult | None) -> None:
    page = f"{{{{cite|archive-url={LINK}|archive-date=2013-02-03}}}} [{LINK} x]"

    assert rewritten(page, result) == page


def test_a_link_to_the_copy_that_it_names_stays() -> None:
    result = a_result(outcome="exact")
    report = {**(result.report or {}), "archive": {"value": "same"}}
    same = ItemResult(result.item, "exact", 0, final=True, date=None, why="", report=report)

    assert rewritten(f"[{LINK}]", same) == f"[{LINK}]"


def test_an_archive_cannot_inject_wikitext() -> None:
    evil = "https://a/}}|[[x]] <script>\n|é"

    page = rewritten(f"{{{{cite|archive-url={LINK}}}}}", a_result(uri=evil))

    assert page == (
        "{{cite|archive-url=https://a/%7D%7D%7C%5B%5Bx%5D%5D%20%3Cscript%3E%0A%7C%C3%A9}}"
    )


def test_bibtex_is_rewritten_in_place() -> None:
    text = (
        f"@misc{{a,\n\tnote = {{ \\url{{{LINK}}} }},\n  archivedate={{2013-02-03}}\n}}\n% end"
    )
    places = read_bibtex(text, is_archive_link)

    new = b"".join(edited(text, edits(text, places, lambda _: a_result()))).decode()

    assert new == text.replace(LINK, FOUND).replace("2013-02-03", "2013-02-04")


@given(st.binary(max_size=200))
def test_a_document_without_edits_is_unchanged_octet_for_octet(octets: bytes) -> None:
    text = octets.decode(errors="surrogateescape")

    assert b"".join(edited(text, [])) == octets
