"""What stands around a link and was not understood."""

import pytest

from timegate.references.unexplained import unexplained


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("and http: //more", "A part of an address"),
        ("accessed in 2OO3", "A year with letters in it"),
        ("at 10:20 XYZ", "A time of day and what may be its time zone"),
    ],
)
def test_it_is_said_even_if_a_date_is_used(text: str, why: str) -> None:
    assert unexplained(text, dated=True).startswith(why)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("anna 2:14 PM", "A time of day without a date"),
        ("on 5 Nov", "What may be a part of a date"),
        ("2010-13-45", "What may be a part of a date"),
        ("seen 040506", "What may be a part of a date"),
        ("05112010", "What may be a part of a date"),
        ("1288952100", "A number that may be a time"),
        ("2010.5", "What may be a month"),
        ("5.x.2010", "A date in Roman numerals"),
        ("seen in spring", "A word of access and a part of a date"),
    ],
)
def test_a_part_of_a_date_counts_only_without_a_date(text: str, why: str) -> None:
    assert unexplained(text, dated=False).startswith(why)
    assert unexplained(text, dated=True) == ""


@pytest.mark.parametrize("text", ["you may 5 times", "chapter 3, page 7", "at 10:20 PM"])
def test_other_words_are_nothing(text: str) -> None:
    assert unexplained(text, dated=True) == ""
    assert unexplained("chapter 3, page 7", dated=False) == ""


@pytest.mark.parametrize(
    ("text", "is_time"),
    [
        ("\ufffc 1288952100", True),
        ('"added": "1288952100123"', True),
        ("\ufffc\t13233425700000000", True),
        ("ISBN 1288952100", False),
        ("tel. 1288952100", False),
        ("12889521001", False),
        ("1988952100", False),
        ("a/1288952100", False),
    ],
)
def test_a_number_may_be_a_time(text: str, *, is_time: bool) -> None:
    why = "A number that may be a time stands beside the link" if is_time else ""

    assert unexplained(text, dated=False) == why
    assert unexplained(text, dated=True) == ""


@pytest.mark.parametrize("text", ["PMID: 040506", "990099", "$121156", "121156 visitors"])
def test_numbers_of_other_things_are_nothing(text: str) -> None:
    assert unexplained(text, dated=False) == ""
