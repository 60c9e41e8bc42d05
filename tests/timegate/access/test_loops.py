"""``CDN-Loop``: names that are passed on, and requests that have come back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.access.loops import (
    LONGEST,
    MOST_NAMES,
    BadLoopField,
    Loop,
    checked,
    name_of,
    with_own,
)

OWN = name_of("https://gate.example")


@pytest.mark.parametrize(
    ("value", "passed"),
    [
        ("", ""),
        ("cdn.example", "cdn.example"),
        ("cdn.example:8080, [2001:db8::1]:80", "cdn.example:8080, [2001:db8::1]:80"),
        ('a; v="1, not a name", b', "a, b"),
        (r'a; v="1 \", c", b', "a, b"),
        ('a;v="1.2" , b ;x=y', "a, b"),
        (" , a,,", "a"),
    ],
)
def test_names_are_passed_on_without_parameters(value: str, passed: str) -> None:
    assert checked(value, OWN) == passed


@pytest.mark.parametrize("value", [OWN, f"a, {OWN}, b", f"{OWN};v=2"])
def test_a_request_that_names_this_server_is_a_loop(value: str) -> None:
    with pytest.raises(Loop, match="asked this server again"):
        checked(value, OWN)


def test_a_request_that_has_passed_too_many_servers_is_a_loop() -> None:
    many = ", ".join(f"a{number}" for number in range(MOST_NAMES + 1))

    with pytest.raises(Loop, match="more than 20 servers"):
        checked(many, OWN)


@pytest.mark.parametrize(
    "value", ["a b", "a\r\nb", "a\n", "ä", "a;", 'a;v="', 'a;v="b"c', "a" * (LONGEST + 1)]
)
def test_other_values_are_refused(value: str) -> None:
    with pytest.raises(BadLoopField):
        checked(value, OWN)


@given(st.text())
def test_what_is_passed_on_is_one_line_of_ascii(value: str) -> None:
    try:
        passed = with_own(checked(value, OWN), OWN)
    except (BadLoopField, Loop):
        return

    assert passed.isascii()
    assert passed.isprintable()
    with pytest.raises(Loop):
        checked(passed, OWN)


def test_all_replicas_of_a_server_have_one_name() -> None:
    assert name_of("https://gate.example/") == OWN
    assert name_of("https://other.example") != OWN
