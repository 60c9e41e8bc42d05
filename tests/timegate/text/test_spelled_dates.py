"""Days and years in words are written in digits, in a text of the same length."""

import pytest

from timegate.text.spelled_dates import in_digits
from timegate.text.written_dates import find_dates


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("the eleventh day of June, 2007", "2007-06-11"),
        ("the second of December two thousand and one", "2001-12-02"),
        ("twenty-first of March, 2004", "2004-03-21"),
        ("May first, twenty ten", "2010-05-01"),
        ("June the thirtieth, nineteen ninety-nine", "1999-06-30"),
        ("this 3rd day of May, 2010", "2010-05-03"),
        ("December 2, two thousand", "2000-12-02"),
        ("July two thousand and ten", "2010"),
    ],
)
def test_a_day_in_words_is_read(words: str, day: str) -> None:
    assert [str(date.moment) for date in find_dates(words)] == [day]


@pytest.mark.parametrize(
    "words",
    [
        "the second May is near, twenty people came",
        "May twenty people come?",
        "the first of two thousand pages",
        "in the twenty-first century",
        "the second march of two hundred",
    ],
)
def test_words_without_a_year_are_no_date(words: str) -> None:
    assert [*find_dates(words)] == []


@pytest.mark.parametrize("words", ["on the thirty-first of May, twenty ten, it was there", "x"])
def test_the_text_keeps_its_length(words: str) -> None:
    assert len(in_digits(words)) == len(words)
