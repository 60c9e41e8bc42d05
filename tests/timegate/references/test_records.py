"""Records in the output of programs."""

import pytest

from timegate.references import TextSpan
from timegate.references.records import (
    ProgramRecord,
    entries_in_yaml,
    program_records,
    with_dates_of_yaml,
)


def only(text: str) -> ProgramRecord:
    (record,) = program_records(text)
    return record


def said(record: ProgramRecord) -> list[tuple[str, str]]:
    return [(str(date.moment), date.basis) for date in record.dates]


SQUID = "1288952100.512  211 192.0.2.44 {} 18233 {} http://a.example/ - DIRECT/- text/html"


@pytest.mark.parametrize(
    ("status", "method", "basis"),
    [
        ("TCP_MISS/200", "GET", "accessed"),
        ("TCP_HIT/304", "GET", "accessed"),
        ("TCP_MISS/200", "POST", "unmarked"),
        ("TCP_MISS/200", "HEAD", "unmarked"),
        ("TCP_MISS/404", "GET", "dead"),
        ("TCP_DENIED/403", "GET", "dead"),
    ],
)
def test_the_status_of_a_request_says_whether_the_page_was_seen(
    status: str, method: str, basis: str
) -> None:
    record = only(SQUID.format(status, method))

    assert said(record) == [("2010-11-05T10:15:00Z", basis)]


def test_a_request_without_a_status_says_nothing_of_the_page() -> None:
    record = only("[05/Nov/2010:10:15:00 +0000] GET http://a.example/")

    assert said(record) == [("2010-11-05T10:15:00Z", "unmarked")]


def test_a_request_without_one_time_is_no_record() -> None:
    assert [*program_records("GET http://a.example/ HTTP/1.1\nHost: a.example")] == []
    assert [*program_records("2010-11-05 2011-11-05 GET http://a.example/")] == []


def test_the_referrer_is_in_the_record() -> None:
    line = (
        '192.0.2.1 - - [05/Nov/2010:10:15:00 +0000] "GET http://a.example/ HTTP/1.1" 200 12'
        ' "http://b.example/" "Bot (+http://c.example/)"'
    )

    assert only(f"{line}\n").span == TextSpan(0, len(line))
    assert only(f"{line}\n").references == ("http://a.example/",)


@pytest.mark.parametrize("digits", ["1288952100", "1288952100123", "1288952100123456"])
def test_a_line_may_begin_with_a_count_of_seconds(digits: str) -> None:
    record = only(f"{digits}\thttp://a.example/\tTitle")

    assert said(record) == [("2010-11-05T10:15:00Z", "unmarked")]


def test_a_count_before_two_links_is_no_record() -> None:
    assert [*program_records("1288952100 http://a.example/ http://b.example/")] == []


HEAD = "webpage capture\nSaved from\thttp://a.example/\n5 Nov 2010 10:15:00 UTC\n"


def test_the_address_of_a_capture_belongs_to_its_page() -> None:
    record = only(f"archive.today\n{HEAD}https://archive.ph/kR7Yd\n")

    assert record.references == ("http://a.example/", "https://archive.ph/kR7Yd")
    assert said(record) == [("2010-11-05T10:15:00Z", "archived")]


@pytest.mark.parametrize(
    "rest", ["", "http://b.example/\nhttps://archive.ph/kR7Yd", "\nhttps://archive.ph/kR7Yd"]
)
def test_a_head_with_other_addresses_is_prose(rest: str) -> None:
    assert [*program_records(f"{HEAD}{rest}")] == []


REPORT = "URL        `{}'\nParent URL http://b.example/, line 4\nReal URL   http://a.example/\n"


@pytest.mark.parametrize("url", ["http://a.example/", "/"])
def test_a_report_of_a_link_checker_names_the_link(url: str) -> None:
    text = f"Start checking at 2010-11-05 10:15:00+000\n\n{REPORT.format(url)}"

    assert only(f"{text}Result     Valid: 200 OK").references == ("http://a.example/",)
    assert said(only(f"{text}Result     Valid: 200 OK")) == [("2010-11-05", "accessed")]
    assert said(only(f"{text}Result     Error: 404")) == [("2010-11-05", "dead")]


def test_a_report_without_a_date_has_none() -> None:
    record = only(f"{REPORT.format('http://a.example/')}Result     Error: 404")

    assert record.dates == ()


YAML = "- id: a\n  URL: http://a.example/\n  accessed:\n    {}\n- URL: http://b.example/\n"


def test_entries_of_a_list_in_yaml_are_apart() -> None:
    text = YAML.format("- year: 2010")

    entries = [text[slice(*entry)] for entry in entries_in_yaml(text)]

    assert [entry for entry in entries if "http" in entry] == [
        text[: text.index("- URL")],
        text[text.index("- URL") :],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "- a: http://a.example/\n- b: http://b.example/",
        "It says:\n- a: http://a.example/\n- b: http://b.example/\nand no more",
        "id: a\nurl: http://a.example/\ntitle: b",
    ],
)
def test_other_texts_have_no_entries(text: str) -> None:
    assert entries_in_yaml(text) == []


@pytest.mark.parametrize(
    ("parts", "date"),
    [
        ("- year: 2010\n      month: 11\n      day: 5", "2010-11-05"),
        ("- year: 2010\n      month: 11", "2010-11"),
        ("date-parts:\n    - - 2010\n      - 11\n      - 5", "2010-11-05"),
        ("date-parts: [[2010, 11, 5]]", "2010-11-05"),
    ],
)
def test_the_parts_of_a_date_in_yaml_are_written_on_one_line(parts: str, date: str) -> None:
    text = YAML.format(parts)

    joined = with_dates_of_yaml(text)

    assert len(joined) == len(text)
    assert f"accessed: {date}" in joined
    assert joined.endswith("- URL: http://b.example/\n")


@pytest.mark.parametrize(
    ("port", "status", "url", "basis"),
    [
        ("80", "200", "http://a.example/b", "accessed"),
        ("443", "404", "https://a.example/b", "dead"),
    ],
)
def test_a_log_with_names_of_hosts_names_the_page(
    port: str, status: str, url: str, basis: str
) -> None:
    record = only(
        f"a.example:{port} 192.0.2.1 - - [05/Nov/2010:10:15:00 +0000]"
        f' "GET /b HTTP/1.1" {status} 12 "http://b.example/" "-"'
    )

    assert record.references == (url,)
    assert said(record) == [("2010-11-05T10:15:00Z", basis)]


@pytest.mark.parametrize(
    ("rest", "basis"),
    [(" 200 12", "accessed"), (" 404", "dead"), (" 412", "unmarked"), (" 2000", "unmarked")],
)
def test_a_status_may_follow_the_address(rest: str, basis: str) -> None:
    record = only(f"2010-11-05T10:15:00Z GET http://a.example/{rest}")

    assert said(record) == [("2010-11-05T10:15:00Z", basis)]


def test_a_time_of_squid_may_follow_that_of_another_program() -> None:
    line = SQUID.format("TCP_MISS/200", "GET")

    assert said(only(f"Nov  5 10:15:01 proxy squid[1]: {line}")) == [
        ("2010-11-05T10:15:00Z", "accessed")
    ]
