"""Lists in a table."""

import io

import pytest

from timegate.references import BadInput, Item
from timegate.references.lines import Columns, read_table


def read(text: str, columns: Columns | None = None) -> list[Item]:
    stream = io.BytesIO(text.encode())
    return list(read_table(stream, columns or Columns(), lambda cell: cell.startswith("http")))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_first_column_of_references_is_found(delimiter: str) -> None:
    rows = [["Title", "Link", "Date"], ["Node.js", "http://a/", "2016"], ["", "http://b/", ""]]

    items = read("\r\n".join(delimiter.join(row) for row in rows))

    assert items == [
        Item(0, "http://a/", ("http://a/",), ("2016",)),
        Item(1, "http://b/", ("http://b/",)),
    ]


def test_the_first_row_counts_in_a_table_without_headings() -> None:
    assert [item.text for item in read("1,http://a/\n2,http://b/\n")] == [
        "http://a/",
        "http://b/",
    ]


@pytest.mark.parametrize("first", ["[Hours](http://a.example/)", "museum.example/hours"])
def test_a_first_row_with_a_link_among_words_is_no_heading(first: str) -> None:
    assert [item.text for item in read(f"1,{first}\n2,http://b/\n")] == [first, "http://b/"]


def test_a_column_of_links_without_schemes_is_found() -> None:
    items = read("title,page\nHours,museum.example/hours\nNews,museum.example/news\n")

    assert [item.text for item in items] == ["museum.example/hours", "museum.example/news"]


def test_columns_are_named_and_dates_keep_the_order_of_preference() -> None:
    text = "published,cited,was,is\n2015,2016,http://old/,http://new/\n,2017,http://x/,\n"

    items = read(text, Columns("WAS", ("cited", "published")))

    assert [(item.text, item.dates) for item in items] == [
        ("http://old/", ("2016", "2015")),
        ("http://x/", ("2017",)),
    ]


def test_columns_can_be_numbered_and_a_short_row_has_no_reference() -> None:
    items = read("a,b\nhttp://a/,http://b/\nhttp://c/\n", Columns("2"))

    assert [item.text for item in items] == ["http://b/", "http://c/"]
    assert [bool(item.trouble) for item in items] == [False, True]


def test_a_row_with_an_empty_cell_is_reported_in_its_place() -> None:
    items = read("name,url\nA,http://a.example/\nB,\n,\nC,http://c.example/\n")

    assert [(item.position, item.text, item.trouble) for item in items] == [
        (0, "http://a.example/", ""),
        (1, "B,", "the row has no reference: its cell is empty"),
        (2, "http://c.example/", ""),
    ]


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ("where\nhttp://a/\nbroken\nhttp://b/\n", ["http://a/", "broken", "http://b/"]),
        ("Title;Where\na;http://a/\ny;not a url;\n", ["http://a/", "not a url"]),
        ("Title;Link\na;one\nb;two;\nc;http://a/\n", ["one", "two", "http://a/"]),
        ("title,url\na,www.dr.dk\n", ["www.dr.dk"]),
    ],
)
def test_faulty_cells_do_not_hide_the_column_and_are_not_lost(
    table: str, found: list[str]
) -> None:
    assert [item.text for item in read(table)] == found


def test_quoted_cells_may_hold_delimiters_and_line_breaks() -> None:
    items = read('note,link\n"a,\nb","http://a/?x=1,2"\n')

    assert [item.text for item in items] == ["http://a/?x=1,2"]


@pytest.mark.parametrize(
    ("text", "columns", "why"),
    [
        ("a,b\n1,2\n", Columns(), "--column"),
        ("a,b\nhttp://a/,2\n", Columns("c"), "the columns are a, b"),
        ("a,b\nhttp://a/,2\n", Columns("a", ("when",)), "no column 'when'"),
        ('a\n"' + "x\n" * 100_000, Columns("a"), "quotation mark"),
    ],
)
def test_an_unreadable_table_is_rejected_with_the_reason(
    text: str, columns: Columns, why: str
) -> None:
    with pytest.raises(BadInput, match=why):
        read(text, columns)


def test_an_empty_table_has_no_items() -> None:
    assert read("") == read("link,date\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "url,also\nhttp://a/,http://b/ http://c/\nhttp://d/,\n",
        "Also;URL\nhttp://b/ http://c/;http://a/\n;http://d/\n",
    ],
    ids=["after the reference", "before it"],
)
def test_a_column_holds_equivalent_urls(text: str) -> None:
    assert read(text) == [
        Item(0, "http://a/", ("http://a/",), also=("http://b/", "http://c/")),
        Item(1, "http://d/", ("http://d/",)),
    ]


def test_columns_of_access_that_differ_leave_a_doubt() -> None:
    (item,) = read("url,first_seen,last_seen\nhttp://a/,2011-04-03,2012-05-06\n")
    (same,) = read("url,first_seen,last_seen\nhttp://a/,2011-04-03,2011-04-03 10:20\n")

    assert item.doubt
    assert item.said == "Several columns say when the page was seen, and their dates differ"
    assert not same.doubt


@pytest.mark.parametrize(
    ("heading", "cells", "dates"),
    [
        ("seen (dd/mm/yyyy)", ["03/04/2011"], ["2011-04-03"]),
        ("seen (mm/dd/yyyy)", ["03/04/2011"], ["2011-03-04"]),
        ("vu le (JJ/MM/AAAA)", ["03/04/2011"], ["2011-04-03"]),
        ("seen (yyyy/mm/dd)", ["03/04/2011"], ["03/04/2011"]),
        ("seen", ["03/04/2011", "25/04/2011"], ["2011-04-03", "25/04/2011"]),
        ("seen", ["03/04/2011 9:05", "04/25/2011"], ["2011-03-04", "04/25/2011"]),
        ("seen", ["03/04/2011", "25/04/2011", "04/25/2011"], ["03/04/2011"]),
        ("seen (mm/dd/yyyy)", ["03/04/2011", "25/04/2011"], ["03/04/2011"]),
    ],
)
def test_a_heading_or_another_cell_states_the_order_of_a_column(
    heading: str, cells: list[str], dates: list[str]
) -> None:
    rows = "".join(f"http://a/{number},{cell}\n" for number, cell in enumerate(cells))

    items = read(f"url,{heading}\n{rows}")

    assert [item.dates[0] for item in items][: len(dates)] == dates


@pytest.mark.parametrize(
    "count", ["13233425700000000", "1588952100", "1588952100000", "1588952100000000"]
)
def test_counts_of_browsers_are_times(count: str) -> None:
    (item,) = read(f"url,visit_time\nhttp://a/,{count}\n")

    assert item.dates == ("2020-05-08T15:35:00Z",)


def test_a_count_in_a_column_without_a_known_name_leaves_a_doubt() -> None:
    (item,) = read("url,ts\nhttp://a/,13233425700000000\n")

    assert (item.dates, item.doubt) == ((), True)
