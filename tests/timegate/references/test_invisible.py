"""Characters that cannot be seen: they are taken out, and positions are those of the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.references import TextSpan
from timegate.references.invisible import VisibleText

HIDDEN = st.sampled_from("\u00ad\u200b\u200e\u200f\u2060\ufeff")
PIECES = st.lists(st.one_of(st.text("ab c/.", min_size=1, max_size=5), HIDDEN), max_size=12)


@given(PIECES, st.data())
def test_a_place_in_the_visible_text_is_the_same_words_in_the_text(
    pieces: list[str], data: st.DataObject
) -> None:
    text = "".join(pieces)
    visible = VisibleText.of(text)
    start = data.draw(st.integers(0, len(visible.text)))
    end = data.draw(st.integers(start, len(visible.text)))

    place = visible.in_text(TextSpan(start, end))

    if start < end:
        assert VisibleText.of(text[slice(*place)]).text == visible.text[start:end]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("soft\u00adhyphen", "softhyphen"),
        ("http://a.example/\u200bb", "http://a.example/b"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", None),
        ("a\u200cb", "ab"),
    ],
)
def test_a_joiner_between_letters_that_need_it_stays(text: str, shown: str | None) -> None:
    assert VisibleText.of(text).text == (text if shown is None else shown)
