from archives.moment import Moment
from tests.timegate.extract.copies import COPY, a_result
from timegate.batch.model import Item, refused_result
from timegate.extract.fetching import held_by


def test_a_copy_is_what_the_report_says() -> None:
    assert held_by(a_result()) == COPY


def test_a_variant_is_named_as_the_archive_names_it() -> None:
    held = held_by(a_result(got="https://www.a.example/"))

    assert held is not None
    assert held.original == "https://www.a.example/"


def test_every_digit_of_the_time_is_kept() -> None:
    result = a_result()
    assert result.report is not None
    memento = result.report["memento"]
    assert isinstance(memento, dict)
    memento["datetime"] = "2010-11-05T10:15:09.250Z"

    held = held_by(result)

    assert held is not None
    assert held.captured == Moment("20101105101509250")


def test_nothing_found_is_no_copy() -> None:
    assert held_by(a_result(uri=None)) is None
    assert held_by(refused_result(Item(0, "x", ("x",)), ValueError("no"))) is None
