"""The difference between two texts."""

from hypothesis import given
from hypothesis import strategies as st

from timegate.content.text_diff import MOST_LINES, TextPiece, lines_of, text_diff

TEXTS = st.lists(st.text("ab c.", max_size=12), max_size=12).map("\n".join)


def test_a_changed_word_is_marked_in_its_line() -> None:
    diff = text_diff("Title\nOpen from 9 to 17.\nBye", "Title\nNew\nOpen from 10 to 17.")
    assert [row.kind for row in diff.rows] == ["same", "added", "changed", "removed"]
    changed = diff.rows[2]
    assert changed.left == (
        TextPiece("Open from ", is_changed=False),
        TextPiece("9 ", is_changed=True),
        TextPiece("to 17.", is_changed=False),
    )
    assert (changed.left_line, changed.right_line) == (2, 3)
    assert not diff.is_same


def test_white_space_makes_no_difference() -> None:
    assert text_diff(" a  b\n\n\nc", "a b\nc ").is_same


def test_text_without_spaces_is_compared_by_characters() -> None:
    row = text_diff("\u535a\u7269\u9928\u306f", "\u535a\u7269\u5e97\u306f").rows[0]
    assert [piece.text for piece in row.left if piece.is_changed] == ["\u9928"]


def test_a_long_text_is_cut_and_said_to_be() -> None:
    long = "\n".join(map(str, range(MOST_LINES + 1)))
    diff = text_diff(long, long)
    assert diff.is_cut
    assert not diff.is_same


def test_a_long_line_is_divided() -> None:
    lines, cut = lines_of("A sentence of words. " * 100 + "x" * 1000)
    assert not cut
    assert max(map(len, lines)) <= 400


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_from_the_rows(left: str, right: str) -> None:
    diff = text_diff(left, right)
    assert [row.left_text for row in diff.rows if row.left_line] == lines_of(left)[0]
    assert [row.right_text for row in diff.rows if row.right_line] == lines_of(right)[0]
    assert 0 <= diff.similarity <= 1
    assert diff.is_same == (lines_of(left) == lines_of(right))


@given(TEXTS)
def test_a_text_is_the_same_as_itself(text: str) -> None:
    assert text_diff(text, text).similarity == 1.0
