"""Dates with the name of a month in other languages."""

import pytest

from timegate.references.wikitext import iso_date


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("3. Februar 2013", "2013-02-03"),
        ("13. März 2013", "2013-03-13"),
        ("1er juin 2013", "2013-06-01"),
        ("2 juillet 2013", "2013-07-02"),
        ("15 août 2013", "2013-08-15"),
        ("4. marts 2013", "2013-03-04"),
        ("30. desember 2013", "2013-12-30"),
        ("3 de octubre de 2013", "2013-10-03"),
        ("5 maggio 2013", "2013-05-05"),
        ("6 mrt. 2013", "2013-03-06"),
    ],
)
def test_a_month_in_words_becomes_a_number(written: str, meant: str) -> None:
    assert iso_date(written) == meant


@pytest.mark.parametrize("written", ["", "3 February 2013", "Februar 2013", "3. Xyz 2013"])
def test_other_dates_stay_as_written(written: str) -> None:
    assert iso_date(written) == written
