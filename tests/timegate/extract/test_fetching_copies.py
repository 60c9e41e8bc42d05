from archives.moment import Moment
from tests.timegate.extract.copies import COPY, a_result
from timegate.batch.model import Item, refused_result
from timegate.extract.fetching import copy_found


def test_a_copy_is_read_from_the_report() -> None:
    assert copy_found(a_result()) == COPY


def test_the_original_of_a_variant_is_that_of_the_archive() -> None:
    held = copy_found(a_result(got="https://www.a.example/"))

    assert held is not None
    assert held.original == "https://www.a.example/"


def test_every_digit_of_the_time_is_kept() -> None:
    result = a_result()
    assert result.report is not None
    memento = result.report["memento"]
    assert isinstance(memento, dict)
    memento["datetime"] = "2010-11-05T10:15:09.250Z"

    held = copy_found(result)

    assert held is not None
    assert held.captured == Moment("20101105101509250")


def test_a_result_without_memento_has_no_copy() -> None:
    assert copy_found(a_result(uri=None)) is None
    assert copy_found(refused_result(Item(0, "x", ("x",)), ValueError("no"))) is None
