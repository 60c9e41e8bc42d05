"""Quotations in texts."""

from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timegate.content.findings import WordEdit
from timegate.content.fragments import TextQuote
from timegate.content.quotes import ABSENT, FoldedText, QuoteMatch, fold, match_quote

TEXT = """The Lighthouse Museum
The \u201ccommittee\u201d \u2013 it\u2019s said \u2014 re\u2011elected its chairman,
Mr. Smith, on 3 May 2010.[12] He did
not resign. The \ufb01nal vote was 12\u201315; 10\u00a0000 people watched \u2026 and left.

Opening hours
The tower is open from 9 to 17, the gar\u00adden all day. Na\u00efve visitors pay \u20ac5.50.
"""
FOLDED = FoldedText(TEXT)


def looked_for(words: str, text: FoldedText = FOLDED) -> QuoteMatch:
    return match_quote(TextQuote(words), text)


@pytest.mark.parametrize(
    "words",
    [
        "The final vote was 12-15",
        "the FINAL vote was 12\u201415",
        'The "committee" - it\'s said - re-elected its chairman',
        "The 'committee' \u2014 it's said\u2014reelected its chair-\nman",
        "on 3 May 2010. He did not resign.",
        "He did\u00a0not\n\n   resign",
        "[H]e did not resign",
        "10 000 people watched... and left",
        "10\u202f000 people watched \u2026 and left,",
        "the garden all day",
        "the gar\u00adden all day",
        normalize("NFD", "Na\u00efve visitors pay \u20ac5.50"),
        "Lighthouse Museum The committee",
        "The committee [...] re-elected its chairman ... He did not resign",
        "\u201cThe final vote\u201d",
    ],
)
def test_typography_white_space_and_omissions_do_not_matter(words: str) -> None:
    found = looked_for(words)
    assert (found.presence, found.score, found.edits) == ("found", 1.0, ())


@pytest.mark.parametrize(
    ("words", "edit"),
    [
        ("The final vote was 1215", WordEdit("1215", "12\u201315")),
        ("The final vote was 12-16; 10 000 people", WordEdit("12-16", "12\u201315")),
        ("He did resign. The final vote was", WordEdit("", "not")),
        ("He really did not resign. The final vote", WordEdit("really", "")),
        ("Naive visitors pay \u20ac5.50", WordEdit("Naive", "Na\u00efve")),
        ("The tower is open from 9 to 18, the garden", WordEdit("18", "17")),
        ("its chairman Mr. Smith, on 3 May 2010", WordEdit("", ",")),
        ("-9 to 17, the garden all day", WordEdit("-9", "9")),
    ],
)
def test_a_change_of_meaning_is_near_and_shown(words: str, edit: WordEdit) -> None:
    found = looked_for(words)
    assert found.presence == "near"
    assert found.edits == (edit,)
    assert 0.8 <= found.score < 1


@pytest.mark.parametrize(
    "words",
    [
        "The harbour was closed for the whole winter",
        "ouse Museu",
        "vote",
        "final",
        "9 to 1",
        "12",
        "",
        "\u2026",
        "people ... Lighthouse",
        "x" * 5000,
    ],
)
def test_what_is_not_there_is_never_near(words: str) -> None:
    expected = "found" if words in ("vote", "final", "12") else "absent"
    assert looked_for(words).presence == expected


def test_the_passage_is_as_the_text_has_it() -> None:
    found = looked_for('the "committee" - it\'s said')
    assert found.passage == "The \u201ccommittee\u201d \u2013 it\u2019s said"


def test_words_before_a_repeated_passage_tell_it_apart() -> None:
    text = FoldedText("Open all year. The tower was open all year.")
    found = match_quote(TextQuote("open all year", prefix="tower was"), text)
    assert found.passage == "open all year"
    assert looked_for("open all year", text).before == ""
    twice = FoldedText("a b c open all year\nthe tower was open all year.")
    assert (
        match_quote(TextQuote("open all year", prefix="was"), twice).before == "the tower was"
    )


@pytest.mark.parametrize(
    ("wanted", "presence"),
    [
        (TextQuote("the final", "watched"), "found"),
        (TextQuote("watched", "the final"), "absent"),
        (TextQuote("final vote", prefix="The"), "found"),
        (TextQuote("final vote", prefix="A"), "found"),
        (TextQuote("final vote", suffix="was 12"), "found"),
    ],
)
def test_ranges_are_in_order(wanted: TextQuote, presence: str) -> None:
    assert match_quote(wanted, FOLDED).presence == presence


def test_text_without_spaces_is_found_anywhere_in_a_line() -> None:
    text = FoldedText(
        "\u535a\u7269\u9928\u306f\u4e00\u5e74\u4e2d\u958b\u3044\u3066\u3044\u307e\u3059\u3002"
    )
    assert looked_for("\u4e00\u5e74\u4e2d\u958b\u3044\u3066", text).presence == "found"


def test_parts_of_an_omission_must_be_in_order_and_not_far_apart() -> None:
    far = FoldedText(f"The committee met. {'Other words. ' * 500}It was dissolved.")
    assert looked_for("The committee met ... It was dissolved", far).presence == "absent"
    assert looked_for("re-elected its chairman ... The committee").presence == "absent"


def test_an_empty_text_has_no_quotation() -> None:
    assert match_quote(TextQuote("anything at all, really"), FoldedText("")) == ABSENT


WORDS = st.text("abcdefgh", min_size=1, max_size=8)
SENTENCES = st.lists(WORDS, min_size=1, max_size=40)
BLANKS = st.sampled_from([" ", "\n", "\u00a0", "  ", "\t", "\u200b ", "\u00ad \n"])


@given(st.data(), SENTENCES, SENTENCES, SENTENCES)
def test_every_passage_of_a_text_is_found_in_it(
    data: st.DataObject, before: list[str], words: list[str], after: list[str]
) -> None:
    blanks = [data.draw(BLANKS) for _ in words]
    passage = "".join(word + blank for word, blank in zip(words, blanks, strict=True))
    text = " ".join([*before, passage, *after])
    found = looked_for(" ".join(words), FoldedText(text))
    assert found.presence == "found"
    assert fold(found.passage) == fold(" ".join(words))


@given(st.text(max_size=300), st.text(max_size=80))
@settings(max_examples=300)
def test_nothing_is_found_that_does_not_fold_to_the_same(text: str, words: str) -> None:
    folded = FoldedText(text)
    found = match_quote(TextQuote(words), folded)
    if found.presence == "found" and "." not in words and "\u2026" not in words:
        assert fold(words) in folded.folded
        assert found.passage in folded.text
    assert (found.presence == "absent") == (found.score == 0)


@given(st.text(min_size=1, max_size=500), st.data())
def test_a_span_is_where_its_folded_characters_come_from(
    text: str, data: st.DataObject
) -> None:
    folded = FoldedText(text)
    if not folded.folded:
        return
    start = data.draw(st.integers(0, len(folded.folded) - 1))
    end = data.draw(st.integers(start + 1, len(folded.folded)))
    begin, finish = folded.span(start, end)
    assert 0 <= begin < finish <= len(folded.text)
    assert folded.folded_from(begin) <= start


@pytest.mark.parametrize(
    "text",
    [
        "a" * 500_000,
        "a\u0301\u0316" * 150_000,
        "ab " * 200_000,
        "1 " * 250_000,
        "\u0301" * 400_000,
    ],
)
def test_hostile_texts_are_bounded(text: str) -> None:
    folded = FoldedText(text)
    for words in ("a" * 1999, "ab " * 600 + "x", "abcdefghijklmnop ... " * 90):
        assert looked_for(words, folded).presence in ("found", "near", "absent")
