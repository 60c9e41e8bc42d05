"""What a line of CDX says of a capture in a file of our own."""

import pytest

from timegate.cdx.formats import FIELDS, Filed


@pytest.mark.parametrize(("length", "told"), [(531, "531"), (0, "-")])
def test_a_length_that_nobody_stated_is_unknown_and_not_nothing(length: int, told: str) -> None:
    record = (length, 0, "a.warc")
    url = "http://a.example/"
    filed = Filed("20200101000000", url, url, "x", 200, None, None, "example,a)/", *record)

    assert FIELDS["length"](filed) == told
