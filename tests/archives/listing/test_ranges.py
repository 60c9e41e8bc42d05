"""Captures of a range of URLs, as a CDX server lists them."""

import json
from collections.abc import Sequence

import pytest

from archives.addresses import AddressPolicy
from archives.errors import Misbehaved
from archives.listing.ranges import (
    MOST_DOCUMENTS,
    RangeBatch,
    UrlRange,
    key_range,
    list_range,
    lists_ranges,
)
from archives.model import ArchiveEntry
from tests.fakes import Answers, Canned, FakeFetcher, an_entry, clock

WANTED = UrlRange("http://example.org/", "prefix", since="2013", until="2014")
FIELDS = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"]
CDX = "http://archive.example/cdx"
ADDRESS = f"{CDX}?url=http%3A%2F%2Fexample.org%2F&matchType=prefix"
WAYBACK = (
    f"{ADDRESS}&output=json&showResumeKey=true&limit=10000"
    "&from=20130101000000&to=20141231235959"
)


def entry(dialect: str = "wayback-cdx") -> ArchiveEntry:
    return an_entry(
        "cdx",
        hosts=("archive.example",),
        cdx=CDX,
        dialect=dialect,
        replay="http://archive.example/web/{time14}/{uri}",
    )


def row(path: str, stamp: str = "20130615083000") -> list[str]:
    url = f"http://example.org/{path}"
    return [f"org,example)/{path}", stamp, url, "text/html", "200", "AAA", "9"]


def document(*rows: Sequence[str]) -> Canned:
    return Canned(200, {"Content-Type": "application/json"}, json.dumps(rows).encode())


async def listed(
    answers: Answers, archive: ArchiveEntry | None = None, start: str | None = None
) -> list[RangeBatch]:
    archive = archive or entry()
    addresses = AddressPolicy().of(archive)
    fetch = FakeFetcher(answers, ("archive.example",))
    batches = list_range(archive, addresses, fetch, clock, WANTED, start)
    return [batch async for batch in batches if batch.captures or batch.resume_key]


async def test_the_rows_have_their_keys_and_details() -> None:
    (batch,) = await listed({WAYBACK: document(FIELDS, row("a"), row("b"))})

    assert batch.urlkeys == ["org,example)/a", "org,example)/b"]
    assert [capture.uri for capture in batch.captures] == [
        "http://archive.example/web/20130615083000/http://example.org/a",
        "http://archive.example/web/20130615083000/http://example.org/b",
    ]
    first = batch.captures[0]
    assert (first.status, first.mime, first.digest, first.length) == (
        200,
        "text/html",
        "AAA",
        9,
    )


async def test_a_resume_key_leads_to_the_next_document() -> None:
    answers = {
        WAYBACK: document(FIELDS, row("a"), [], ["k 1"]),
        f"{WAYBACK}&resumeKey=k%201": document(FIELDS, row("b")),
    }

    batches = await listed(answers)

    assert [batch.resume_key for batch in batches] == [None, "k 1", None]
    assert [key for batch in batches for key in batch.urlkeys] == [
        "org,example)/a",
        "org,example)/b",
    ]


async def test_a_list_is_continued_from_a_resume_key() -> None:
    (batch,) = await listed(
        {f"{WAYBACK}&resumeKey=k%201": document(FIELDS, row("b"))}, start="k 1"
    )

    assert batch.urlkeys == ["org,example)/b"]


async def test_a_resume_key_that_is_repeated_ends_the_list() -> None:
    answer = document(FIELDS, row("a"), [], ["k"])

    with pytest.raises(Misbehaved, match="repeats its resume key"):
        await listed({WAYBACK: answer, f"{WAYBACK}&resumeKey=k": answer})


async def test_an_endless_list_is_ended() -> None:
    answers = {WAYBACK: document(FIELDS, row("a"), [], ["k0"])} | {
        f"{WAYBACK}&resumeKey=k{n}": document(FIELDS, row("a"), [], [f"k{n + 1}"])
        for n in range(MOST_DOCUMENTS)
    }

    with pytest.raises(Misbehaved, match="more than 50 documents"):
        await listed(answers)


async def test_rows_of_other_urls_are_dropped() -> None:
    stranger = [
        "com,evil)/",
        "20130615083000",
        "http://evil.com/",
        "text/html",
        "200",
        "A",
        "1",
    ]

    (batch,) = await listed({WAYBACK: document(FIELDS, row("a"), stranger)})

    assert batch.urlkeys == ["org,example)/a"]


async def test_pywb_is_asked_for_more_than_its_default_number_of_rows() -> None:
    address = f"{ADDRESS}&output=json&limit=2000000&from=20130101000000&to=20141231235959"
    line = {"urlkey": "org,example)/a", "timestamp": "20130615083000", "length": "7"}
    line |= {"url": "http://example.org/a", "status": "404"}
    answer = Canned(200, {}, json.dumps(line).encode() + b"\n")

    (batch,) = await listed({address: answer}, entry("pywb-cdxj"))

    assert batch.urlkeys == ["org,example)/a"]
    assert (batch.captures[0].status, batch.captures[0].length) == (404, 7)


@pytest.mark.parametrize(
    ("url", "match", "inside", "outside"),
    [
        ("example.org/", "prefix", ["org,example)/", "org,example)/a"], ["org,example,www)/"]),
        ("example.org/a", "prefix", ["org,example)/a", "org,example)/ab"], ["org,example)/b"]),
        ("example.org/a/", "prefix", ["org,example)/a/b"], ["org,example)/ab"]),
        ("example.org/a?", "prefix", ["org,example)/a?b=c"], ["org,example)/b"]),
        ("example.org", "host", ["org,example)/b"], ["org,example,a)/", "org,examples)/"]),
        ("example.org", "domain", ["org,example)/b", "org,example,a)/"], ["org,examples)/"]),
    ],
)
def test_a_range_holds_the_keys_of_its_urls(
    url: str, match: str, inside: list[str], outside: list[str]
) -> None:
    lower, upper = key_range(url, match)

    assert all(lower <= key < upper for key in inside)
    assert not any(lower <= key < upper for key in outside)


def test_only_a_cdx_server_with_replay_lists_ranges() -> None:
    assert lists_ranges(entry())
    assert not lists_ranges(an_entry("memento", timegate="http://archive.example/"))
