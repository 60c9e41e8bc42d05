"""CDX fields of captures in our own files."""

import pytest

from timegate.cdx.formats import FIELDS, FiledCapture


@pytest.mark.parametrize(("length", "written"), [(531, "531"), (0, "-")])
def test_a_missing_length_is_unknown_and_not_zero(length: int, written: str) -> None:
    record = (length, 0, "a.warc")
    url = "http://a.example/"
    filed = FiledCapture(
        "20200101000000", url, url, "x", 200, None, None, "example,a)/", *record
    )

    assert FIELDS["length"](filed) == written
