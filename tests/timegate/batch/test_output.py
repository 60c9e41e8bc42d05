"""Results as JSON lines, as a table and as an HTML report."""

import csv
import io
import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from tests.timegate.batch.results import FOUND, a_result
from timegate.batch.html_report import Statistics, as_html
from timegate.batch.model import ItemResult, Requirement
from timegate.batch.output import COLUMNS, FORMS, meets

CSV, JSONL = FORMS["csv"], FORMS["jsonl"]
EVIL = "http://a/<script>alert(1)</script>\x1b[0m\"'&"


def test_json_lines_contain_the_whole_report() -> None:
    line = JSONL.row(a_result())

    members = json.loads(line)
    assert (JSONL.head, line[-1:]) == (b"", b"\n")
    assert (members["input"], members["outcome"], members["code"]) == (
        "http://www.dr.dk/",
        "substitute",
        0,
    )
    assert members["report"]["memento"]["uri"] == FOUND


def test_every_row_of_the_table_has_the_same_columns() -> None:
    results = [a_result(delta=-5), a_result(1, 3, uri=None, outcome="absent", delta=None)]

    written = CSV.head + b"".join(map(CSV.row, results))
    rows = list(csv.reader(io.StringIO(written.decode())))

    assert rows[0] == list(COLUMNS)
    assert rows[1] == [
        *("http://www.dr.dk/", "substitute", FOUND, "internet-archive"),
        *("2013-02-04T00:00:00Z", "-5", "urn:pwid:x", "why", "", "", ""),
    ]
    assert rows[2] == ["http://www.dr.dk/", "absent", "", "", "", "", "", "why", "", "", ""]


def test_the_unchecked_link_is_a_column_and_a_link_of_the_report() -> None:
    uri = "https://web.archive.org/web/20130204000000/http://www.dr.dk/"
    unknown = a_result(code=4, uri=None, outcome="unknown", delta=None)
    assert unknown.report is not None
    result = replace(unknown, report={**unknown.report, "referral": {"uri": uri}})

    assert CSV.row(result).endswith(f",why,{uri},,\r\n".encode())
    page = "".join(as_html("x", Statistics(), [result]))
    assert f'<a rel="noreferrer" href="{uri}">unchecked link</a>' in page


def test_no_cell_is_a_formula() -> None:
    assert CSV.row(a_result(text="=HYPERLINK(1)")).startswith(b"'=HYPERLINK(1),")


def page_of() -> str:
    statistics = Statistics()
    results = [a_result(text=EVIL, delta=delta) for delta in (0, -70, 90_000, 10**9, None)]
    results.append(a_result(code=4, outcome="unknown", uri=None, delta=None, text=EVIL))
    for result in results:
        statistics.add(result)
    return "".join(as_html(EVIL, statistics, results))


def test_the_page_has_no_scripts_and_loads_nothing() -> None:
    page = page_of()

    assert "<script" not in page
    assert "\x1b" not in page
    assert 'src="' not in page
    assert "default-src 'none'" in page


def test_every_chart_has_a_title_a_description_and_a_table() -> None:
    page = page_of()

    pictures = [part.partition("</svg>")[0] for part in page.split("<svg")[1:]]
    # Each for wide windows and for narrow ones.
    assert len(pictures) == 6
    for picture in pictures:
        tree = ET.fromstring(f"<svg{picture}</svg>")  # noqa: S314 -- our own
        assert [child.tag for child in tree][:2] == ["title", "desc"]
    assert page.count("<table") == 4
    assert "in time: 1" in page
    assert "up to an hour before: 1" in page
    assert "up to a week after: 1" in page
    assert "more than ten years after: 1" in page


def test_a_report_without_results_is_valid() -> None:
    assert "0 references" in "".join(as_html("none", Statistics(), []))


def test_a_report_without_gaps_has_no_heading_for_them() -> None:
    statistics = Statistics()
    statistics.add(a_result())

    assert "Less than asked" not in "".join(as_html("x", statistics, []))
    assert "Less than asked" in page_of()


def test_the_worst_code_and_the_drift_are_counted() -> None:
    statistics = Statistics()
    for delta in (-1, 1, 60, 61, -3600, 3601, 10**9, -(10**9), 0):
        statistics.add(a_result(delta=delta))
    statistics.add(a_result(code=3, uri=None))

    assert statistics.worst == 3
    assert statistics.total == 10
    assert {bar.label: bar.number for bar in statistics.drift if bar.number} == {
        "more than ten years before": 1,
        "up to an hour before": 1,
        "up to a minute before": 1,
        "in time": 1,
        "up to a minute after": 2,
        "up to an hour after": 1,
        "up to a day after": 1,
        "more than ten years after": 1,
    }


def test_a_cell_has_no_control_characters() -> None:
    row = CSV.row(a_result(text="\x1b]0;title\x07\n\x9b\u202e"))

    assert row.startswith(b"\\u001b]0;title\\u0007\\u000a\\u009b\\u202e,")
    assert row.removesuffix(b"\r\n").decode().isprintable()


def test_a_formula_behind_a_tab_is_quoted() -> None:
    assert CSV.row(a_result(text="\t=1")).startswith(b"'\\u0009=1,")


def content_of(value: str, quote: str = "", page_class: str | None = None) -> ItemResult:
    """Return a result whose copy was compared, and looked at for a quotation."""
    result = a_result()
    compared = {"value": value, **({"class": page_class} if page_class else {})}
    members = {"comparison": compared, **({"quote": {"status": quote}} if quote else {})}
    item = result.item._replace(quote="words" if quote else "")
    return replace(result, item=item, report={**(result.report or {}), **members})


def test_content_and_quotation_are_columns_and_in_the_report() -> None:
    result = content_of("changed", "absent", "parked")

    assert CSV.row(result).endswith(b",changed parked,absent\r\n")
    statistics = Statistics()
    statistics.add(result)
    page = "".join(as_html("x", statistics, [result]))
    assert "content: changed parked; quotation: absent" in page
    assert "References by quotation" in page


@pytest.mark.parametrize(
    ("result", "content", "quote"),
    [
        (content_of("same-around", "found"), True, True),
        (content_of("similar-around", "near"), True, False),
        (content_of("changed", "not-looked"), False, False),
        (content_of("same-around", "", "parked"), False, True),
        (content_of("alone"), False, True),
        (content_of("not-looked"), False, True),
        (a_result(), False, True),
    ],
)
def test_what_is_not_known_does_not_meet_a_requirement(
    result: ItemResult, *, content: bool, quote: bool
) -> None:
    assert meets(result, ())
    required: tuple[Requirement, ...] = ("content",)
    assert meets(result, required) is content
    required = ("quote",)
    assert meets(result, required) is quote
