"""Lists with one reference per line."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.references import Item
from timegate.references.lines import read_jsonl, read_plain

URL = "http://www.dr.dk/"


def plain(text: str) -> list[Item]:
    return list(read_plain(io.BytesIO(text.encode())))


def jsonl(text: str) -> list[Item]:
    return list(read_jsonl(io.BytesIO(text.encode())))


def test_a_line_is_an_identifier_with_or_without_a_date() -> None:
    items = plain(f"\ufeff# links\n{URL}\r\n\n {URL}  22 January 2016 \nurn:pwid:x\n")

    assert [(item.position, item.references, item.dates) for item in items] == [
        (0, (URL,), ()),
        (1, (URL,), ("22 January 2016",)),
        (2, ("urn:pwid:x",), ()),
    ]


@pytest.mark.parametrize(
    ("line", "references", "dates"),
    [
        (f'"{URL}"', (URL,), ()),
        (f'{{"id": "{URL}"}}', (URL,), ()),
        (f'{{"url": "{URL}", "date": "2016"}}', (URL,), ("2016",)),
        (f'{{"url": "{URL}", "dates": ["2016-01", 2015, null]}}', (URL,), ("2016-01", "2015")),
        (f'{{"url": "{URL}", "date": 2016}}', (URL,), ("2016",)),
        ("[1]", ("[1]",), ()),
        ("{torn", ("{torn",), ()),
        ('{"title": "x"}', ('{"title": "x"}',), ()),
    ],
)
def test_a_line_of_json_is_read(
    line: str, references: tuple[str, ...], dates: tuple[str, ...]
) -> None:
    (item,) = jsonl(line)

    assert (item.references, item.dates) == (references, dates)


def test_an_endless_line_does_not_fill_memory() -> None:
    (long, short) = plain("x" * 1_000_000 + f"\n{URL}\n")

    assert len(long.text) <= 1 << 17
    assert short.text == URL


@given(st.binary(max_size=300))
def test_any_octets_are_read_as_items_in_order(octets: bytes) -> None:
    for read in (read_plain, read_jsonl):
        items = list(read(io.BytesIO(octets)))

        assert [item.position for item in items] == list(range(len(items)))
        assert all(item.references for item in items)


def test_keys_differ_by_item_and_position() -> None:
    one = Item(0, URL, (URL,))

    keys = {one.key, one._replace(position=1).key, one._replace(dates=("2016",)).key}

    assert len(keys) == 3
    assert Item(0, URL, (URL,)).key == one.key
