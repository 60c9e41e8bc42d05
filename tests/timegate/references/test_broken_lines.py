"""PWIDs that print has broken into lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.references.broken_lines import PrintedText, has_broken_pwid

FIRST = "urn:pwid:netarkivet.dk:2008-11-"
SECOND = "29T00:41:42Z:part:http://a.example/images/ddcss/"
THIRD = "SK113_Master_NF.css"
WHOLE = "urn:pwid:netarkivet.dk:2008-11-29T00:41:42Z:part:http://a.example/"


def joined(text: str) -> str | None:
    found = PrintedText(text).pwid_at(text.index("urn:pwid:"))
    return None if found is None else found.joined


def test_a_pwid_is_joined_from_its_lines() -> None:
    assert joined(f"   {FIRST}\n   {SECOND}\n   {THIRD}\n") == FIRST + SECOND + THIRD


def test_a_whole_pwid_is_not_joined_with_the_line_after_it() -> None:
    assert joined(f"{WHOLE}\nnonsense\n") is None


def test_what_would_have_fitted_on_the_line_is_not_joined() -> None:
    short = "29T00:41:42Z:part:http://a.example/"

    assert joined(f"{FIRST}\n{short}\nNext\n\n{FIRST}\n{SECOND}\n{THIRD}\n") == FIRST + short


def test_the_next_pwid_and_the_words_after_a_pwid_are_not_joined() -> None:
    assert joined(f"{FIRST}\n{SECOND}\n{FIRST}\n{SECOND}\n") == FIRST + SECOND
    assert joined(f"{FIRST}\n{SECOND}\nin this collection\n") == FIRST + SECOND


def test_a_url_follows_a_colon() -> None:
    head = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:"

    assert joined(f"{head}\nhttp://www.dr.dk\n") == f"{head}http://www.dr.dk"


def test_a_pwid_broken_within_a_word_is_joined_where_others_are_broken() -> None:
    text = "\n\n".join(
        [f"{FIRST}\n{SECOND}", "urn:pwid:a.example:2017-05-29Z:site:http://resa"]
    )
    site = PrintedText(text + "wwwwwww\nw.eu/\n").pwid_at(text.rindex("urn:"))

    assert site is not None
    assert site.joined.endswith("http://resawwwwwwww.eu/")


@pytest.mark.parametrize(
    ("text", "broken"),
    [(f"{FIRST}\n{SECOND}", True), (f"{WHOLE}\n{WHOLE}\n", False), ("a pwid: no\n", False)],
)
def test_only_an_incomplete_line_proves_that_print_broke_it(text: str, *, broken: bool) -> None:
    assert has_broken_pwid(text) is broken


@given(st.lists(st.sampled_from([FIRST, SECOND, THIRD, WHOLE, "", "  ", "a word", "<"])))
def test_what_is_joined_is_in_the_text_in_this_order(lines: list[str]) -> None:
    text = "\n".join(lines)
    printed = PrintedText(text)

    for start in range(len(text)):
        found = printed.pwid_at(start)
        if found is not None:
            assert "".join(text[start : found.end].split()) == found.joined


def test_a_word_of_a_million_letters_is_looked_at_once() -> None:
    assert not has_broken_pwid("urn:pwid:" * 120_000)
    assert has_broken_pwid("urn:pwid:" * 120_000 + " urn:pwid:a\n")
