"""Matching of untrusted regular expressions."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.diagnostics import Malformed
from timegate.cdx.pattern import Pattern

PIECES = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "[a-c]", r"\d", r"\W", r"\.", "", "ab"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?"])).map(
            lambda p: f"({p[0]}){p[1]}"
        ),
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda p: f"(?:{p[0]}|{p[1]})"),
    ),
    max_leaves=6,
)


@given(PIECES, st.text("abc1. ", max_size=6))
def test_matches_are_those_of_python(expression: str, text: str) -> None:
    expected = re.fullmatch(expression, text, re.ASCII | re.DOTALL) is not None

    assert Pattern(expression).matches(text) == expected


@given(PIECES, st.text("abc1. ", max_size=6))
def test_with_a_prefix_anything_may_follow(expression: str, text: str) -> None:
    expected = re.match(expression, text, re.ASCII | re.DOTALL) is not None

    assert Pattern(expression, prefix=True).matches(text) == expected


@pytest.mark.parametrize(
    ("expression", "text", "expected"),
    [
        ("^200$", "200", True),
        ("^200", "2001", False),
        (r"cost\$", "cost$", True),
        (r"a\\$", "a\\", True),
        ("^(a|b)$", "b", True),
        ("[a-]", "-", True),
        (r"[\d.]+", "1.5", True),
        (r"[\]]", "]", True),
        ("", "", True),
        ("", "x", False),
        ("\u00e9.", "\u00e9\u00e9", True),
    ],
)
def test_anchors_and_classes(expression: str, text: str, *, expected: bool) -> None:
    assert Pattern(expression).matches(text) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "(", ")", "[", "[]", "[z-a]", "[a-\u00ff]", "[[:alpha:]]", "*", "a**", "a{2}", "a*+",
        r"\1", r"\b", "\\", "(?=a)", "(?P<x>a)", "(?i)a", "a^b", "a$b", "^a|b", "a|b$",
        r"[\D]", "(" * 11 + ")" * 11, "a" * 101,
    ],
)  # fmt: skip
def test_other_syntax_is_rejected(expression: str) -> None:
    with pytest.raises(Malformed):
        Pattern(expression)


def test_expressions_that_make_other_engines_backtrack_are_linear() -> None:
    text = "a" * 20_000

    assert not Pattern("((a|a)*a*)*b").matches(text)
    assert not Pattern(".*a.*a.*a.*a.*a.*a.*b").matches(text)
    assert Pattern("((a*)*)*").matches(text)


def test_matching_works_beyond_the_limit_of_cached_state_sets() -> None:
    pattern = Pattern(".*1" + "." * 12)
    texts = [f"{number:016b}" for number in range(0, 65_536, 7)]

    for text in texts:
        assert pattern.matches(text) == (text[3] == "1")
