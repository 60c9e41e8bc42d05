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
        ("1288952100", "What may be a part of a date"),
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


@pytest.mark.parametrize("text", ["PMID: 040506", "990099", "$121156", "121156 visitors"])
def test_numbers_of_other_things_are_nothing(text: str) -> None:
    assert unexplained(text, dated=False) == ""
