"""Text directives in fragments of URLs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.content.fragments import LONGEST_QUOTE, TextQuote, quote_in, quoted, with_quote

PAGE = "http://example.org/page"
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("fragment", "quote"),
    [
        ("#:~:text=a%20word", TextQuote("a word")),
        ("#part:~:text=start,end", TextQuote("start", "end")),
        ("#:~:text=before-,start,end,-after", TextQuote("start", "end", "before", "after")),
        ("#:~:text=before-,start", TextQuote("start", "", "before")),
        ("#:~:text=start,-after", TextQuote("start", suffix="after")),
        ("#:~:other=1&text=one&text=two", TextQuote("one")),
        ("#:~:text=a%2Cb%26c%2Dd", TextQuote("a,b&c-d")),
        ("#:~:text=caf%C3%A9", TextQuote("caf\u00e9")),
        ("#text=no-directive", None),
        ("#:~:text=", None),
        ("#:~:text=a,b,c", None),
        (f"#:~:text={'a' * (LONGEST_QUOTE + 1)}", None),
        ("", None),
    ],
)
def test_a_directive_is_read(fragment: str, quote: TextQuote | None) -> None:
    assert quote_in(PAGE + fragment) == quote


@given(TEXTS, st.text(max_size=0) | TEXTS, st.text(max_size=0) | TEXTS)
def test_what_is_written_is_read_again(start: str, end: str, prefix: str) -> None:
    wanted = TextQuote(start, end, prefix, "")
    assert quote_in(with_quote(PAGE, wanted)) == wanted


def test_a_directive_joins_a_fragment_and_replaces_another_directive() -> None:
    assert with_quote(f"{PAGE}#part", TextQuote("a")) == f"{PAGE}#part:~:text=a"
    assert with_quote(f"{PAGE}#:~:text=b", TextQuote("a-b, c")) == (
        f"{PAGE}#:~:text=a%2Db%2C%20c"
    )


def test_a_short_passage_is_one_term() -> None:
    assert quoted("  a short\u00a0passage ") == TextQuote("a short passage")


def test_a_passage_of_several_blocks_is_written_by_its_ends() -> None:
    passage = "One two three four five six seven\nmiddle\nlast words of the passage are these"
    assert quoted(passage) == TextQuote(
        "One two three four five six", "words of the passage are these"
    )


def test_a_long_passage_is_written_by_its_ends() -> None:
    words = [f"word{n}" for n in range(60)]
    found = quoted(" ".join(words))
    assert found == TextQuote(" ".join(words[:6]), " ".join(words[-6:]))


def test_a_long_passage_without_spaces_is_written_by_its_ends() -> None:
    assert quoted("\u6f22" * 300) == TextQuote("\u6f22" * 100, "\u6f22" * 100)


def test_nothing_is_quoted_of_white_space() -> None:
    assert quoted(" \n ") is None


@given(st.text(max_size=3000))
def test_any_passage_gives_terms_that_are_not_empty(passage: str) -> None:
    found = quoted(passage)
    assert (found is None) == (not passage.split())
    assert found is None or found.start
