"""Dates in many languages, scripts and calendars."""

import re
import tomllib
from pathlib import Path
from typing import Final

import pytest

from timegate.text.written_dates import (
    DATE_WORDS,
    MONTHS,
    ONLY_BESIDE_DAYS,
    find_dates,
    mistyped_month,
)


def read(text: str) -> str:
    """Return the dates in *text*; of one that is not certain, all readings."""
    return " ".join(
        str(date.moment) if date.moment else "/".join(map(str, date.readings))
        for date in find_dates(text)
    )


CASES: Final = tomllib.loads(
    (Path(__file__).parent / "written_dates.toml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize(("text", "dates"), CASES["dates"])
def test_dates_are_read_in_their_language(text: str, dates: str) -> None:
    assert read(text) == dates


def test_the_date_of_an_ethiopian_calendar_is_found_but_not_read() -> None:
    (found,) = find_dates(CASES["ethiopian"])

    assert (found.moment, found.readings) == (None, ())


def test_each_language_has_twelve_months() -> None:
    rows = [*DATE_WORDS["months"].values(), DATE_WORDS["cldr"]["months"]]

    assert {len(row) for row in rows} == {12}


def test_a_name_of_several_months_is_listed_as_such() -> None:
    named: dict[str, set[int]] = {}
    for row in [*DATE_WORDS["months"].values(), DATE_WORDS["cldr"]["months"]]:
        for number, names in enumerate(row, start=1):
            for name in names.split():
                named.setdefault(name, set()).add(number)
    several = {name for name, months in named.items() if len(months) > 1}

    assert several <= DATE_WORDS["two"].keys()


def test_names_of_months_are_found_as_words() -> None:
    unread = [name for name in MONTHS if read(f"13 {name} 2010").count("-") < 2]

    assert unread == []


@pytest.mark.parametrize("name", ["julie", "marec"])
def test_a_short_name_that_is_a_word_elsewhere_needs_a_day(name: str) -> None:
    assert name in ONLY_BESIDE_DAYS
    assert read(f"{name.title()} 2010") == "2010"
    assert re.fullmatch(r"2010-\d\d-05", read(f"5 {name.title()} 2010"))


def test_a_mistyped_name_is_that_of_a_common_language() -> None:
    assert mistyped_month("novembber") == 11
    assert mistyped_month("nëntorx") is None
