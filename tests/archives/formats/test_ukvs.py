"""UKVS as in its draft (oduwsdl/ORS, ukvs.md) and as the tool `mementomap` writes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.diagnostics import Malformed
from archives.formats.ukvs import (
    LONGEST_LINE,
    MOST_HEADERS,
    Count,
    Frequency,
    UkvsFile,
    UkvsRecord,
    read_frequency,
)

DRAFT = b"""\
!context ["http://oduwsdl.github.io/contexts/ukvs"]
!id {uri: "http://archive.example.org/"}
!fields {keys: ["surt"], values: ["frequency"]}
!meta {type: "MementoMap", name: "A {test}, web: archive", year: 1996}
!meta {updated_at: "2018-09-03T13:27:52Z"}
*                   54321
com,*               10000
com,twitter)/       100

com,twitter)/*\t250\r
uk,co,bbc)/images/* 300 {datetime: {"2014": "20~/10"}}
"""


def records(octets: bytes) -> list[UkvsRecord]:
    return list(UkvsFile(octets).records())


def test_headers_may_have_unquoted_names() -> None:
    header = UkvsFile(DRAFT).header

    assert header.keys == ("surt",)
    assert header.values == ("frequency",)
    assert header.archive == "http://archive.example.org/"
    assert header.updated == "2018-09-03T13:27:52Z"


def test_headers_may_be_plain_json() -> None:
    file = UkvsFile(b'!fields {"keys": ["surt", "datetime"], "values": ["frequency"]}\n')

    assert file.header.keys == ("surt", "datetime")


def test_every_record_of_the_draft_is_read() -> None:
    assert [(record.key, record.frequency) for record in records(DRAFT)] == [
        (b"*", b"54321"),
        (b"com,*", b"10000"),
        (b"com,twitter)/", b"100"),
        (b"com,twitter)/*", b"250"),
        (b"uk,co,bbc)/images/*", b"300"),
    ]


def test_a_file_without_headers_has_keys_and_frequencies() -> None:
    assert records(b"com,cnn)/ 200\nedu,odu)/compsci 250") == [
        UkvsRecord(b"com,cnn)/", b"200", whole=True),
        UkvsRecord(b"edu,odu)/compsci", b"250", whole=True),
    ]


def test_a_record_for_some_years_does_not_apply_to_all() -> None:
    octets = b"""!fields {keys: ["surt", "datetime"], values: ["frequency"]}
com,apple)/* :         300
com,apple)/* 2010:2012 100
"""

    assert [record.whole for record in records(octets)] == [True, False]


def test_the_frequency_is_found_among_other_values() -> None:
    octets = b"""!fields {keys: ["surt"], values: ["note", "frequency", "mime"]}
com,apple)/ "two words" 3/1 text/html {seen: true}
"""

    assert records(octets) == [UkvsRecord(b"com,apple)/", b"3/1", whole=True)]


@pytest.mark.parametrize(
    ("text", "frequency"),
    [
        ("300", Frequency(Count(300), None)),
        ("400/100", Frequency(Count(400), Count(100))),
        ("200/", Frequency(Count(200), None)),
        ("/50", Frequency(None, Count(50))),
        ("/", Frequency(None, None)),
        ("0", Frequency(Count(0), None)),
        ("0/20", Frequency(Count(0), Count(20))),
        ("400+/100", Frequency(Count(400, "+"), Count(100))),
        ("200-/150~", Frequency(Count(200, "-"), Count(150, "~"))),
        ("/50+", Frequency(None, Count(50, "+"))),
    ],
)
def test_frequencies_of_the_draft_are_read(text: str, frequency: Frequency) -> None:
    assert read_frequency(text) == frequency


@pytest.mark.parametrize(
    "text", ["", "x", "+", "1//2", "1 2", "-1", "1.5", "1/+", "9" * 19, "1++"]
)
def test_text_that_is_no_frequency_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        read_frequency(text)


@pytest.mark.parametrize(
    ("text", "nothing", "something"),
    [
        ("0", True, False),
        ("0-", True, False),
        ("0/20", True, False),
        ("/0", True, False),
        ("0+", False, False),
        ("0~", False, False),
        ("1", False, True),
        ("/", False, True),
        ("/7", False, True),
    ],
)
def test_zero_unclear_and_positive_counts_are_distinguished(
    text: str, *, nothing: bool, something: bool
) -> None:
    frequency = read_frequency(text)

    assert (frequency.nothing, frequency.something) == (nothing, something)


@pytest.mark.parametrize(
    ("octets", "code", "line"),
    [
        (b"com,example)/\n", "bad-record", 1),
        (b"com,a)/ 1\n\ncom,example)/ many\n", "bad-record", 3),
        (b"com,example)/ 1 2\n", "bad-record", 1),
        (b"com,example)/ 1 {\n", "bad-record", 1),
        (b"com,ex\xc3\xa4mple)/ 1\n", "bad-record", 1),
        (b"com,example)/ 1\n!meta {}\n", "late-header", 2),
        (b"!meta\n", "bad-header", 1),
        (b"!meta [1]\n", "bad-header", 1),
        (b"!meta {a:}\n", "bad-header", 1),
        (b"!meta {a: \xff}\n", "bad-header", 1),
        (b"!meta " + b'{"a":' * 20_000 + b"\n", "too-long", 1),
        (b"!meta " + b"[" * 50_000 + b"\n", "bad-header", 1),
        (b'!fields {keys: "surt"}\n', "bad-header", 1),
        (b'!fields {keys: ["surt", 1], values: ["frequency"]}\n', "bad-header", 1),
        (b"!a b\n" * (MOST_HEADERS + 1), "too-many-headers", MOST_HEADERS + 1),
        (b"com,a)/ 1\n" + b"x" * (LONGEST_LINE + 1), "too-long", 2),
    ],
)
def test_an_error_has_its_line_number(octets: bytes, code: str, line: int) -> None:
    with pytest.raises(Malformed, match=f"line {line}[ :]") as error:
        records(octets)

    assert error.value.code == code


@pytest.mark.parametrize(
    "fields",
    [b'{keys: ["url"], values: ["frequency"]}', b'{keys: ["surt"], values: ["count"]}'],
)
def test_a_file_that_is_no_mementomap_is_malformed(fields: bytes) -> None:
    with pytest.raises(Malformed, match="must be surt"):
        records(b"!fields " + fields + b"\ncom,a)/ 1\n")


@given(st.binary())
def test_any_octets_are_read_or_malformed(octets: bytes) -> None:
    try:
        found = records(octets)
    except Malformed:
        return

    assert all(read_frequency(record.frequency.decode()) for record in found)
