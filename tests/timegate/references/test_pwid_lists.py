"""Every example list of the PWID drafts, in each format in which such lists are passed on."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from archives.registry import load_known
from timegate.batch.source import ListSource
from timegate.references.lines import Columns
from timegate.references.pasted import read_list, read_pasted

NOW = datetime(2026, 11, 1, tzinfo=UTC)
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

    items = read_list(body, media_type, load_known(), NOW)

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

    assert read_list(body, "", load_known(), NOW) is None
    assert read_list(body, "application/x-www-form-urlencoded", load_known(), NOW) is None
