"""The table of captures: counts and selections agree with a plain list."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from archives.model import Memento
from archives.moment import Moment
from timegate.pages.capture_table import STATUSES, CaptureFilter, CaptureTable

ARCHIVES = ("a", "b", "c")
stamps = st.datetimes().map(lambda time: f"{time:%Y%m%d%H%M%S}".rjust(14, "0"))
statuses = st.sampled_from([None, 200, 204, 301, 404, 503, 7, 999])
rows = st.lists(st.tuples(stamps, st.sampled_from(ARCHIVES), statuses), max_size=30)
moments = st.none() | st.sampled_from(
    [Moment(text) for text in ("0500", "1999", "200502", "20100630", "20150630235959")]
)
filters = st.builds(
    CaptureFilter,
    st.sampled_from(["", *ARCHIVES, "unknown-archive"]),
    st.sampled_from(["", *STATUSES]),
    moments,
    moments,
)


def captures_of(given_rows: list[tuple[str, str, int | None]]) -> list[Memento]:
    return [
        Memento(stamp, f"http://{archive}/{stamp}/é", "http://example.org/", archive, status)
        for stamp, archive, status in sorted(given_rows, key=lambda row: row[0])
    ]


def table_of(captures: list[Memento]) -> CaptureTable:
    table = CaptureTable(ARCHIVES)
    table.add(captures[:7])
    table.add(captures[7:])
    return table


def is_of(status: int | None, wanted: str) -> bool:
    stated = status is not None and 100 <= status <= 599
    if not stated:
        return wanted in ("", "unknown")
    return not wanted or wanted == f"{str(status)[0]}xx"


def is_wanted(capture: Memento, wanted: CaptureFilter) -> bool:
    time = capture.stamp
    return (
        wanted.archive in ("", capture.archive)
        and is_of(capture.status, wanted.status)
        and (wanted.since is None or time[: len(wanted.since.digits)] >= wanted.since.digits)
        and (wanted.until is None or time[: len(wanted.until.digits)] <= wanted.until.digits)
    )


@given(rows, filters)
def test_a_selection_has_every_capture_that_is_meant_and_no_other(
    given_rows: list[tuple[str, str, int | None]], wanted: CaptureFilter
) -> None:
    captures = captures_of(given_rows)
    table = table_of(captures)

    selected = [table.at(index) for index in table.select(wanted)]

    expected = [c for c in captures if is_wanted(c, wanted)]
    assert [(row.stamp, row.uri, row.archive) for row in selected] == [
        (c.stamp, c.uri, c.archive) for c in expected
    ]


@given(rows, filters)
def test_the_counts_add_up(
    given_rows: list[tuple[str, str, int | None]], wanted: CaptureFilter
) -> None:
    captures = captures_of(given_rows)
    table = table_of(captures)
    selected = table.select(wanted)

    by_archive = {held.archive: held.number for held in table.by_archive(selected)}
    months = Counter(
        (int(c.stamp[:4]), int(c.stamp[4:6])) for c in captures if is_wanted(c, wanted)
    )

    assert len(table) == len(captures)
    assert by_archive == Counter(c.archive for c in captures if is_wanted(c, wanted))
    assert table.months(wanted) == months
    assert table.holders == len({c.archive for c in captures})
    assert table.without_status() == sum(is_of(c.status, "unknown") for c in captures)


def test_days_are_counted_by_month_and_day() -> None:
    table = table_of(captures_of([("20150630235959", "a", 200), ("20150630000000", "b", None)]))

    assert table.days(range(2)) == {(6, 30): 2}


def test_the_first_and_the_last_capture_of_an_archive_are_named() -> None:
    table = table_of(captures_of([(f"2015010100000{n}", "a", 200) for n in (1, 2, 3)]))

    (held,) = table.by_archive(range(3))

    assert (held.first.stamp, held.last.stamp) == ("20150101000001", "20150101000003")


def test_a_filter_within_one_year_has_that_year() -> None:
    june, july, other = Moment("201506"), Moment("20150704"), Moment("2016")

    assert CaptureFilter(since=june, until=july).year == 2015
    assert CaptureFilter(since=june, until=other).year is None
    assert CaptureFilter(since=june).year is None
