import pytest
from msgspec import structs

from archives.model import Memento
from timegate.content.comparison import Comparison, PageClass, Value
from timegate.verdict.comparison import (
    comparison_member,
    explain_comparison,
    remarks_on_comparison,
)
from timegate.verdict.header import Member, Verdict, header
from timegate.verdict.words import explained, grade, in_words

BEFORE = Memento("20160501000000", "http://one.example/1", "http://e.org/", "one")
AFTER = Memento("20160601000000", "http://two.example/2", "http://e.org/", "two")
AROUND = Comparison("same-around", "digest", BEFORE, AFTER)


def verdict_with(found: Comparison, match: str = "approximate") -> Verdict:
    time = Member("before", {"req": "2016-05-15", "got": "2016-05-01", "delta": -1_000_000})
    return Verdict(
        match=Member(match),
        evidence=Member("delivered"),
        archive=Member("any"),
        time=time,
        coverage=Member("as-requested"),
        uri=Member("same"),
        comparison=comparison_member(found),
    )


def test_identical_sides_are_written_with_their_times() -> None:
    assert header(verdict_with(AROUND)).endswith(
        "comparison=same-around;basis=digest;"
        'from="2016-05-01T00:00:00Z";to="2016-06-01T00:00:00Z"'
    )


def test_identical_sides_read_nearly_as_exact_and_claim_nothing_between() -> None:
    verdict = verdict_with(AROUND)
    graded = grade(verdict)
    assert (graded.tone, graded.redirects, graded.meets) == ("good", True, False)
    assert "identical on both sides of the time asked for" in [*remarks_on_comparison(verdict)]
    explained = explain_comparison(comparison_member(AROUND))
    assert explained is not None
    assert "Nothing is known of the time between." in explained[1]


def test_a_substitute_stays_a_substitute() -> None:
    graded = grade(verdict_with(AROUND, "substitute"))
    assert graded.headline.startswith("A substitute from another archive: identical")
    assert not graded.redirects


def test_a_copy_whose_text_changed_around_the_time_is_not_plainly_as_requested() -> None:
    graded = grade(verdict_with(Comparison("changed", similarity=17), "within"))
    assert graded.tone == "fair"
    assert graded.headline == "As requested, but the text changed between two copies"
    assert graded.redirects


def undated(found: Comparison) -> Verdict:
    return structs.replace(verdict_with(found), time=Member("latest", {"got": "2016-06-01"}))


def test_a_change_is_between_two_copies_and_not_at_a_time() -> None:
    changed = Comparison("changed", "text", BEFORE, AFTER, 17)
    for verdict in (verdict_with(changed), undated(changed)):
        assert [*remarks_on_comparison(verdict)] == [
            "the text changed between the copies of 2016-05-01 and 2016-06-01 (17 % the same)"
        ]


@pytest.mark.parametrize("value", ["same-around", "similar-around", "changed", "alone"])
def test_no_comparison_is_of_a_time_that_was_not_asked_for(value: Value) -> None:
    verdict = undated(Comparison(value, "text", BEFORE, AFTER, 99))
    [point] = [point for point in explained(verdict) if point.topic == "Same page"]
    assert "asked for" not in f"{point.sentence} {in_words(verdict)}"


def test_a_copy_that_was_not_compared_may_have_others_on_one_side() -> None:
    [remark] = remarks_on_comparison(verdict_with(Comparison("alone")))
    assert remark.startswith("not compared: that takes copies from before and after")


def test_a_parked_domain_is_never_good() -> None:
    found = Comparison("alone", page_class=PageClass.PARKED, evidence=("it says so",))
    graded = grade(verdict_with(found))
    assert graded.tone == "poor"
    assert "domain without a site" in graded.headline


def test_every_value_has_its_words() -> None:
    others = {"similarity": 12, "corroborated": ("two",), "dissent": ("three",)}
    for value in ("same-around", "similar-around", "changed", "alone", "not-looked"):
        found = Comparison(value, instead=AFTER, instead_of=PageClass.SOFT_404, **others)  # type: ignore[arg-type]
        explained = explain_comparison(comparison_member(found))
        assert explained is not None
        assert "three has another text" in explained[1]
        assert "error page" in explained[1]
        assert [*remarks_on_comparison(verdict_with(found))]
