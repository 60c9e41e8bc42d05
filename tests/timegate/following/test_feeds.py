import json
from typing import Any
from xml.etree import ElementTree as ET

import feedparser  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from tests.timegate.following.pages import PAGE, capture
from timegate.following import Change, FollowedArchive
from timegate.following.feeds import (
    EventId,
    Feed,
    atom,
    entry_id,
    event,
    json_feed,
    newest_first,
    read_event_id,
)

NOTICED = 1_800_000_000.0
CHANGES = [
    Change(
        2, PAGE, capture("20260131120000250000001", "sha256:a"), changed=True, noticed=NOTICED
    ),
    Change(1, PAGE, capture("20250131120000", "sha256:b"), None, NOTICED - 9),
]


def feed(*changes: Change, page: str = PAGE) -> Feed:
    archives = [
        FollowedArchive("a", NOTICED, "", 2),
        FollowedArchive("b", None, "it is <down> & out"),
    ]
    return Feed(page, "http://gate.example", changes, archives, {"a": "Archive <A>"})


def test_a_feed_reader_reads_the_atom_feed() -> None:
    read: Any = feedparser.parse(atom(feed(*CHANGES)))

    assert not read.bozo
    assert read.version == "atom10"
    assert [entry.id for entry in read.entries] == [entry_id(each) for each in CHANGES]
    first = read.entries[0]
    assert first.link == CHANGES[0].memento.uri
    assert first.title == "Archive <A>, 2026-01-31T12:00:00.250000001Z"
    assert first.published == "2026-01-31T12:00:00.250000001Z"
    assert [tag.term for tag in first.tags] == ["changed"]
    assert [tag.term for tag in read.entries[1].tags] == ["unknown"]


def test_the_json_feed_has_the_members_of_its_version() -> None:
    read = json.loads(json_feed(feed(*CHANGES)))

    assert read["version"] == "https://jsonfeed.org/version/1.1"
    assert read["feed_url"] == f"http://gate.example/changes/json/{PAGE}"
    assert [item["id"] for item in read["items"]] == [entry_id(each) for each in CHANGES]
    assert read["items"][0]["date_published"] == "2026-01-31T12:00:00.250000001Z"
    assert [item["_timegate"]["changed"] for item in read["items"]] == [True, None]
    assert read["_timegate"]["archives"] == [
        {"id": "a", "known": 2, "checked": "2027-01-15T08:00:00Z"},
        {"id": "b", "known": 0, "trouble": "it is <down> & out"},
    ]


def test_a_feed_without_entries_is_valid() -> None:
    read: Any = feedparser.parse(atom(feed()))

    assert not read.bozo
    assert read.feed.updated == "2027-01-15T08:00:00Z"


@given(st.text(), st.text(min_size=1))
def test_no_text_breaks_a_feed(uri: str, page: str) -> None:
    memento = capture("20250131120000")._replace(uri=uri)
    written = feed(Change(1, page, memento, None, NOTICED), page=page)

    root = ET.fromstring(atom(written))  # noqa: S314 -- we wrote it
    assert len(root.findall("{http://www.w3.org/2005/Atom}entry")) == 1
    json.loads(json_feed(written))


@given(st.text(), st.text(min_size=1))
def test_an_event_is_one_event_whatever_the_text(uri: str, page: str) -> None:
    memento = capture("20250131120000")._replace(uri=uri)
    lines = event(Change(7, page, memento, None, NOTICED), "0a").decode().splitlines()

    assert [line.partition(":")[0] for line in lines if line] == ["id", "event", "data"]
    assert json.loads(lines[2].removeprefix("data: "))["uri"] == uri


@given(st.integers(0, 10**18 - 1), st.from_regex("[0-9]{14,23}|0", fullmatch=True))
def test_an_id_of_an_event_is_read_as_it_was_written(number: int, stamp: str) -> None:
    written = EventId("0a1b2c3d", number, str(stamp).translate({}))
    if stamp.isascii():
        assert read_event_id(f" {written} ") == written


def test_other_ids_are_not_read() -> None:
    assert [read_event_id(text) for text in ("", "7", "0a-7", "0a-7-x", "0a--1-0")] == [
        None
    ] * 5


def test_entries_are_in_the_order_of_capture() -> None:
    assert newest_first(reversed(CHANGES)) == CHANGES
