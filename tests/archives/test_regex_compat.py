"""Possessive groups match alike in every supported version of Python."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.regex_compat import atomic, compiled


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("(?:ab)*+c", "(?>(?:ab)*)c"),
        ("(?:ab)?+", "(?>(?:ab)?)"),
        ("(a|b){2,4}+", "(?>(a|b){2,4})"),
        ("(?:a(?:b)?+)*+", "(?>(?:a(?>(?:b)?))*)"),
        ("[a-z]++", "[a-z]++"),
        ("(?:ab)*", "(?:ab)*"),
        (r"\(*+", r"\(*+"),
        (r"(?:\))*+", r"(?>(?:\))*)"),
        ("[)]*+", "[)]*+"),
        ("(?:[])(]a)++", "(?>(?:[])(]a)+)"),
        ("(?:[^])(]a)++", "(?>(?:[^])(]a)+)"),
        (r"(?:[\])]a)++", r"(?>(?:[\])]a)+)"),
    ],
)
def test_a_possessive_group_becomes_an_atomic_one_around_a_plain_one(
    written: str, meant: str
) -> None:
    assert atomic(written) == meant
    assert atomic(written.encode()) == meant.encode()


def test_a_group_returns_to_where_its_last_iteration_began() -> None:
    assert compiled("(?:ab)*+a").fullmatch("aba")
    assert compiled(rb"(?:ab)?+a").fullmatch(b"a")


@given(st.text("abc", max_size=12))
def test_the_atomic_form_matches_as_the_possessive_one(text: str) -> None:
    written = "(?:ab|c)*+(a(?:bc)?+)?+"
    possessive, plain = compiled(written).match(text), re.match(atomic(written), text)

    assert possessive is not None
    assert plain is not None
    assert plain[0] == possessive[0]


def test_an_expression_is_compiled_when_it_is_used_first() -> None:
    expression = compiled("(a++)(b)?+", re.IGNORECASE)
    assert "match" not in vars(expression)

    assert expression.fullmatch("AAB")
    assert expression.groups == 2
    assert expression.flags & re.IGNORECASE
    assert expression.sub("c", "xaabx") == "xcx"
    assert "match" in vars(expression)


def test_a_wrong_expression_is_an_error_on_its_first_use() -> None:
    with pytest.raises(re.error):
        compiled("(").match("")


def test_an_expression_has_no_other_attributes_than_compiled_ones() -> None:
    with pytest.raises(AttributeError):
        _ = compiled("a").nothing  # type: ignore[attr-defined]
