"""Every example list of the PWID drafts, in each format in which such lists are passed on."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from archives.registry import load_known
from timegate.batch.source import ListSource
from timegate.references import BadInput
from timegate.references.lines import Columns
from timegate.references.pasted import are_lines, read_list, read_pasted

NOW = datetime(2026, 11, 1, tzinfo=UTC)
FORM = "application/x-www-form-urlencoded"
LISTS = Path(__file__).parents[2] / "data" / "pwid_lists"
FILES = sorted(path.name for path in LISTS.iterdir() if ".lines." not in path.name)
TYPES = {".csv": "text/csv", ".json": "application/json", ".xml": "application/xml"}


def expected(name: str) -> list[str]:
    return (LISTS / f"{name.partition('.')[0]}.lines.txt").read_text().splitlines()


@pytest.mark.parametrize("name", [*FILES, "shop.lines.txt", "references.lines.txt"])
def test_the_list_is_read_for_batches_and_for_extraction(name: str) -> None:
    source = ListSource(str(LISTS / name), None, Columns(), load_known())

    assert [item.references[0] for item in source.items()] == expected(name)


@pytest.mark.parametrize("name", FILES)
def test_the_list_is_read_as_the_body_of_a_request(name: str) -> None:
    body, media_type = (LISTS / name).read_bytes(), TYPES.get(Path(name).suffix, "")

    items = read_list(body, media_type, load_known(), NOW, 1000)

    if name.endswith(".jsonl"):
        assert items is None  # each line is read by itself
    else:
        assert items is not None
        assert [item.references[0] for item in items] == expected(name)


@pytest.mark.parametrize("name", [name for name in FILES if not name.endswith(".jsonl")])
def test_the_list_is_read_when_it_is_pasted(name: str) -> None:
    pasted = read_pasted((LISTS / name).read_text(), load_known(), NOW)

    assert [each.identifier for each in pasted.found] == expected(name)


def test_lines_are_left_to_the_batch() -> None:
    body = b"http://a.example/?b=1,2\nhttp://b.example/?c=3,4\n"

    assert read_list(body, "", load_known(), NOW, 1000) is None
    assert read_list(body, FORM, load_known(), NOW, 1000) is None


@pytest.mark.parametrize("name", FILES)
def test_only_lists_of_lines_are_read_at_once(name: str) -> None:
    body, media_type = (LISTS / name).read_bytes(), TYPES.get(Path(name).suffix, "")

    if are_lines(body, media_type):
        assert read_list(body, media_type, load_known(), NOW, 1000) is None


ITEM = b"<item>http://example.org/a 22 Jan 2016</item>"
BROKEN = b"urn:pwid:archive.org:2016-01-\n22T11:20:29Z:page:http://a.b/\n"


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"<list>" + ITEM * 23_000, "text/xml"),
        (BROKEN + b"http://example.org/a 22 Jan 2016, " * 30_000, ""),
        (b"url\n" + b"http://example.org/\n" * 50_000, "text/csv"),
        (b"[" + b",".join([b'"http://example.org/"'] * 40_000) + b"]", "application/json"),
    ],
)
def test_of_a_list_that_is_too_long_only_the_beginning_is_read(
    body: bytes, media_type: str
) -> None:
    items = read_list(body, media_type, load_known(), NOW, 10)

    assert items is not None
    assert 10 < len(items) <= 200


def test_a_table_with_thousands_of_columns_is_refused() -> None:
    with pytest.raises(BadInput, match="more than 1,000 columns"):
        read_list(b"a," * 500_000, "text/csv", load_known(), NOW, 10)


def test_links_that_brackets_separate_in_one_word_are_found() -> None:
    pasted = read_pasted("http://a.example/(((" * 100, load_known(), NOW)

    assert [each.identifier for each in pasted.found] == ["http://a.example/"]
