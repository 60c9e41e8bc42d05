"""MemGator's list of archives: reading, writing, and errors by file, index and key."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.registry import BadEntry, Registry, from_memgator, load_known, to_memgator

IA = {
    "id": "ia",
    "name": "Internet Archive",
    "timemap": "https://web.archive.org/web/timemap/link/",
    "timegate": "https://web.archive.org/web/",
    "probability": 1,
    "ignore": False,
}

words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=6)
rows = st.builds(
    lambda key, name, host, ignore: {
        "id": key,
        "name": name,
        "timegate": f"http://{host}.example/timegate/",
        "timemap": f"https://{host}.example/timemap/link/",
        "probability": 1,
        "ignore": ignore,
    },
    words,
    words,
    words,
    st.booleans(),
)


def test_a_list_is_read() -> None:
    (entry,) = from_memgator(json.dumps([IA]), "archives.json")

    assert entry.id == "ia"
    assert entry.kind.name == "memento"
    assert entry.timegate == IA["timegate"]
    assert entry.timemaps == {"link": IA["timemap"]}
    assert entry.use
    assert entry.origin == "archives.json"


def test_an_ignored_archive_is_not_used() -> None:
    (entry,) = from_memgator(json.dumps([{**IA, "ignore": True}]), "archives.json")

    assert not entry.use
    assert entry.because == "set to ignore"


def test_a_shorter_archive_id_finds_a_longer_id() -> None:
    entries = from_memgator(json.dumps([{**IA, "id": "web.archive.org"}]), "archives.json")

    found = Registry(entries).by_pwid("archive.org")

    assert found is entries[0]
    assert found.pwid[0] == "web.archive.org"


def test_an_ambiguous_shorter_archive_id_finds_none() -> None:
    other = {**IA, "id": "x.archive.org", "timegate": "http://x/", "timemap": "http://x/m/"}
    entries = from_memgator(json.dumps([{**IA, "id": "web.archive.org"}, other]), "a.json")

    assert Registry(entries).by_pwid("archive.org") is None


@pytest.mark.parametrize(
    ("change", "key", "why"),
    [
        ({"timegate": "gopher://x/"}, "[1].timegate", "not an http or https address"),
        ({"timemap": "x"}, "[1].timemap", "not an http or https address"),
        ({"timemap": ""}, "[1].timemap", "is missing"),
        ({"id": None}, "[1].id", "is missing"),
        ({"id": 7}, "[1].id", "expected str, got int"),
        ({"id": "a b"}, "[1].id", "is not made of"),
        ({"ignore": "no"}, "[1].ignore", "expected bool, got str"),
        ({"probability": "high"}, "[1].probability", "expected int or float, got str"),
        ({"probability": True}, "[1].probability", "expected int or float, got bool"),
        ({"colour": "red"}, "[1].colour", "unknown key; allowed: id, name"),
        ({"id": "ia"}, "[1].id", "is also the id of [0]"),
    ],
)
def test_the_error_of_a_bad_row_names_file_index_and_key(
    change: dict[str, object], key: str, why: str
) -> None:
    text = json.dumps([IA, {**IA, "id": "other", **change}])

    with pytest.raises(BadEntry) as error:
        from_memgator(text, "archives.json")

    assert str(error.value).startswith(f"archives.json: {key}: ")
    assert why in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "{}", "3", "[3]", "null"])
def test_a_document_that_is_no_list_of_archives_is_rejected(text: str) -> None:
    with pytest.raises(BadEntry, match=r"^archives\.json: "):
        from_memgator(text, "archives.json")


@given(st.lists(rows, unique_by=lambda row: row["id"], max_size=5))
def test_a_list_is_written_as_it_was_read(listed: list[dict[str, object]]) -> None:
    written = to_memgator(from_memgator(json.dumps(listed), "archives.json"))

    assert json.loads(written) == listed


def test_known_archives_are_written_and_read_back() -> None:
    text = to_memgator(load_known().entries)

    read = {entry.id: entry for entry in from_memgator(text, "archives.json")}

    assert "internet-archive" in read
    assert "common-crawl" not in read
    for entry in read.values():
        known = load_known().by_id(entry.id)
        assert known is not None
        assert (known.name, known.timegate, known.use) == (
            entry.name,
            entry.timegate,
            entry.use,
        )
