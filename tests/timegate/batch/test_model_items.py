"""The queries that an item may stand for."""

import pytest

from archives.registry import load_known
from timegate.batch.model import Item, candidates, refused_result
from timegate.references.formats import is_reference
from timegate.resolution.query import NotNegotiable
from timegate.text.times import read_time

REGISTRY = load_known()
URL = "http://www.dr.dk/"


def queries(*references: str, dates: tuple[str, ...] = ()) -> list[tuple[str | None, str]]:
    item = Item(0, references[0], references, dates)
    found = candidates(item, REGISTRY, read_time)
    return [(str(c.query.at) if c.query.at else None, c.query.original) for c in found]


def test_dates_are_tried_in_the_order_of_the_list() -> None:
    assert queries(URL, dates=("22 March 2016", "2015", "2015")) == [
        ("2016-03-22", URL),
        ("2015", URL),
    ]


def test_a_reference_with_a_time_of_its_own_needs_no_date() -> None:
    assert queries(f"duri:2014-05:{URL}", dates=("2016",)) == [("2014-05", URL)]


def test_without_a_date_the_newest_copy_is_meant() -> None:
    assert queries(URL) == [(None, URL)]


def test_the_next_reference_is_used_if_an_archive_link_has_no_original() -> None:
    assert queries("https://archive.ph/AbCdE", URL, dates=("2013-02-03",)) == [
        ("2013-02-03", URL)
    ]


def test_a_date_that_cannot_be_read_is_left_out() -> None:
    assert queries(URL, dates=("n.d.", "2016")) == [("2016", URL)]


@pytest.mark.parametrize(
    ("references", "dates", "why"),
    [
        (("nonsense",), (), "not an identifier"),
        (("https://archive.ph/AbCdE",), ("2013",), "of which URL"),
        ((URL,), ("01/02/2016",), "ambiguous"),
    ],
)
def test_an_item_without_query_is_rejected_with_the_reason(
    references: tuple[str, ...], dates: tuple[str, ...], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        queries(*references, dates=dates)


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        (URL, True),
        (f"duri:2016:{URL}", True),
        ("https://archive.ph/AbCdE", True),
        ("Node.js", False),
        ("Tue, 30 Jun 2015 23:59:58 GMT", False),
        ("A title", False),
        ("", False),
    ],
)
def test_references_are_distinguished_from_other_text(text: str, yes: bool) -> None:  # noqa: FBT001
    assert is_reference(text, REGISTRY) is yes


def test_a_known_problem_of_an_item_is_the_reason_of_its_refusal() -> None:
    item = Item(0, URL, (URL,), (), "a template in the link")

    with pytest.raises(ValueError, match="a template in the link"):
        candidates(item, REGISTRY, read_time)


def test_the_date_beside_an_id_of_an_archive_is_in_its_result() -> None:
    link = "https://archive.ph/AbCdE"
    item = Item(0, link, (link,), ("2016",), said="Only the year 2016 is used")
    with pytest.raises(NotNegotiable) as refused:
        candidates(item, REGISTRY, read_time)

    result = refused_result(item, refused.value)

    assert (result.outcome, result.date) == ("unknown", "2016")
    assert result.why.endswith("(Only the year 2016 is used)")


def test_a_citation_with_an_own_id_of_an_archive_is_of_the_copy_there() -> None:
    references = ("https://archive.ph/AbCdE", URL)
    item = Item(0, references[0], references, ("2013-02-03", "2014"))

    found = [each.query for each in candidates(item, REGISTRY, read_time)]

    assert [query.archive for query in found] == ["archive-today"] * 2
    assert all(query.link == references[0] for query in found)
