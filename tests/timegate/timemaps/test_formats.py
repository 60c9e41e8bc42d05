"""The shapes of MemGator 1.0-rc9 (main.go, serializeLinks), RFC 7089 5 and RFC 9264 4.2."""

import json
from collections.abc import Sequence
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as some

from archives.errors import ArchiveError, Unreachable
from archives.formats.decoding import decoder_for
from archives.formats.linkformat import LinkReader
from archives.model import Memento
from tests.timegate.timemaps.capture_lists import ORIGINAL, Listing, at, capture, captures
from timegate.timemaps import (
    FORMATS,
    Ends,
    LinksetWriter,
    MergeDeadlines,
    TimeMapLinks,
    TimeMapWriter,
    merged,
    written,
)

NAMES = TimeMapLinks.of(ORIGINAL, "http://gate.example")
THREE = captures("a", [0, 60, 3600])
GONE = Unreachable("a", "", "it went away")
WRITERS = {**{name: made(NAMES) for name, made in FORMATS.items()}, "set": LinksetWriter(NAMES)}


async def text_of(writer: TimeMapWriter, *lists: Listing) -> str:
    by_archive = {name: each() for name, each in zip("abc", lists, strict=False)}
    async with merged(by_archive, ORIGINAL) as merge:
        await merge.begin(MergeDeadlines())
        assert merge.first is not None
        async with aclosing(written(writer, merge, Ends(merge.first, merge.last))) as chunks:
            return b"".join([chunk async for chunk in chunks]).decode("ascii")


async def test_link_format_is_one_link_a_line_and_ends_without_a_comma() -> None:
    assert await text_of(WRITERS["link"], Listing(THREE)) == (
        '<http://example.org/>; rel="original",\n'
        '<http://gate.example/timemap/link/http://example.org/>; rel="self"; '
        'type="application/link-format"; from="Tue, 01 Jan 2013 00:00:00 GMT"; '
        'until="Tue, 01 Jan 2013 01:00:00 GMT",\n'
        '<http://a/20130101000000/http://example.org/>; rel="first memento"; '
        'datetime="Tue, 01 Jan 2013 00:00:00 GMT",\n'
        '<http://a/20130101000100/http://example.org/>; rel="memento"; '
        'datetime="Tue, 01 Jan 2013 00:01:00 GMT",\n'
        '<http://a/20130101010000/http://example.org/>; rel="last memento"; '
        'datetime="Tue, 01 Jan 2013 01:00:00 GMT",\n'
        '<http://gate.example/timemap/link/http://example.org/>; rel="timemap"; '
        'type="application/link-format",\n'
        '<http://gate.example/timemap/json/http://example.org/>; rel="timemap"; '
        'type="application/json",\n'
        '<http://gate.example/timemap/cdxj/http://example.org/>; rel="timemap"; '
        'type="application/cdxj+ors",\n'
        '<http://gate.example/timegate/http://example.org/>; rel="timegate"\n'
    )


async def test_json_has_the_members_of_memgator_and_ours_under_one_key() -> None:
    document = json.loads(await text_of(WRITERS["json"], Listing(THREE)))

    ours = document.pop("timegate")
    assert document == {
        "original_uri": "http://example.org/",
        "self": "http://gate.example/timemap/json/http://example.org/",
        "mementos": {
            "list": [
                {
                    "datetime": "2013-01-01T00:00:00Z",
                    "uri": "http://a/20130101000000/http://example.org/",
                },
                {
                    "datetime": "2013-01-01T00:01:00Z",
                    "uri": "http://a/20130101000100/http://example.org/",
                },
                {
                    "datetime": "2013-01-01T01:00:00Z",
                    "uri": "http://a/20130101010000/http://example.org/",
                },
            ],
            "first": {
                "datetime": "2013-01-01T00:00:00Z",
                "uri": "http://a/20130101000000/http://example.org/",
            },
            "last": {
                "datetime": "2013-01-01T01:00:00Z",
                "uri": "http://a/20130101010000/http://example.org/",
            },
        },
        "timemap_uri": {
            "link_format": "http://gate.example/timemap/link/http://example.org/",
            "json_format": "http://gate.example/timemap/json/http://example.org/",
            "cdxj_format": "http://gate.example/timemap/cdxj/http://example.org/",
        },
        "timegate_uri": "http://gate.example/timegate/http://example.org/",
    }
    assert ours == {
        "sources": "complete",
        "count": 3,
        "asked": ["a"],
        "missing": {},
        "truncated": False,
    }


async def test_cdxj_is_memgators_line_by_line() -> None:
    assert await text_of(WRITERS["cdxj"], Listing(THREE)) == (
        '!context ["https://oduwsdl.github.io/contexts/memento"]\n'
        '!id {"uri": "http://gate.example/timemap/cdxj/http://example.org/"}\n'
        '!keys ["memento_datetime_YYYYMMDDhhmmss"]\n'
        '!meta {"original_uri": "http://example.org/"}\n'
        '!meta {"timegate_uri": "http://gate.example/timegate/http://example.org/"}\n'
        '!meta {"timemap_uri": {'
        '"link_format": "http://gate.example/timemap/link/http://example.org/", '
        '"json_format": "http://gate.example/timemap/json/http://example.org/", '
        '"cdxj_format": "http://gate.example/timemap/cdxj/http://example.org/"}}\n'
        '20130101000000 {"uri": "http://a/20130101000000/http://example.org/", '
        '"rel": "first memento", "datetime": "Tue, 01 Jan 2013 00:00:00 GMT"}\n'
        '20130101000100 {"uri": "http://a/20130101000100/http://example.org/", '
        '"rel": "memento", "datetime": "Tue, 01 Jan 2013 00:01:00 GMT"}\n'
        '20130101010000 {"uri": "http://a/20130101010000/http://example.org/", '
        '"rel": "last memento", "datetime": "Tue, 01 Jan 2013 01:00:00 GMT"}\n'
    )


async def test_a_linkset_names_every_context_and_has_arrays_of_dates() -> None:
    document = json.loads(await text_of(WRITERS["set"], Listing(THREE)))

    assert list(document) == ["linkset"]
    itself, page = document["linkset"]
    assert itself["self"][0]["until"] == ["Tue, 01 Jan 2013 01:00:00 GMT"]
    assert page["anchor"] == ORIGINAL
    assert [link["href"] for link in page["memento"]] == [memento.uri for memento in THREE]
    assert page["first"][0] == {
        "href": THREE[0].uri,
        "datetime": ["Tue, 01 Jan 2013 00:00:00 GMT"],
    }
    assert page["last"][0]["href"] == THREE[2].uri


@pytest.mark.parametrize("name", WRITERS)
async def test_one_capture_is_the_first_and_the_last(name: str) -> None:
    text = await text_of(WRITERS[name], Listing(THREE[:1]))

    assert text.count(THREE[0].uri) == (1 if name in ("link", "cdxj") else 3)
    assert "first last memento" in text or name in ("json", "set")


@given(some.lists(some.integers(0, 10**8), min_size=1, max_size=300), some.data())
async def test_every_format_can_be_read_back(seconds: list[int], data: some.DataObject) -> None:
    held = captures("a", sorted(set(seconds)))
    name = data.draw(some.sampled_from(["link", "json", "cdxj"]))

    text = (await text_of(WRITERS[name], Listing(held))).encode()

    decoder = decoder_for(text, "http://gate.example/")
    rows = [*decoder.feed(text), *decoder.close()]
    assert [(row.stamp, row.uri) for row in rows] == [(m.stamp, m.uri) for m in held]
    assert decoder.complete


HOSTILE = 'http://a/1/http://x/>; rel="original", <http://evil/"\\\r\n\x00\u00fc\ud800{}'


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("place", [0, 1, 2])
async def test_no_memento_uri_breaks_the_format(name: str, place: int) -> None:
    held = [*THREE]
    held[place] = capture("a", place, HOSTILE)

    text = await text_of(WRITERS[name], Listing(sorted(held)))

    assert "<http://evil" not in text
    assert not any(c < " " and c != "\n" for c in text)
    if name in ("json", "set"):
        json.loads(text)


async def test_no_original_uri_breaks_the_format() -> None:
    names = TimeMapLinks.of('http://x/"><y>\r\n', "http://gate.example/")

    assert names.original == "http://x/%22%3E%3Cy%3E%0D%0A"
    assert names.timegate == "http://gate.example/timegate/http://x/%22%3E%3Cy%3E%0D%0A"


@pytest.mark.parametrize("name", WRITERS)
async def test_a_leap_second_is_written_as_the_one_before(name: str) -> None:
    leap = Memento("20161231235960", "http://a/leap", ORIGINAL, "a")
    fine = Memento("20170101000000123", "http://a/fine", ORIGINAL, "a")

    text = await text_of(WRITERS[name], Listing([*THREE, leap, fine, capture("a", 10**9)]))

    assert "23:59:59" in text
    assert "23:59:60" not in text


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("link", '<http://a/250>; rel="memento"; datetime="Sun, 01 Jan 2017 00:00:00 GMT"'),
        ("set", '"http://a/100", "datetime": ["Sun, 01 Jan 2017 00:00:00 GMT"]'),
        ("json", '{"datetime": "2017-01-01T00:00:00.100Z", "uri": "http://a/100"}'),
        ("cdxj", '20170101000000100 {"uri": "http://a/100"'),
    ],
)
async def test_fractions_are_written_where_the_format_has_them(name: str, written: str) -> None:
    text = await text_of(WRITERS[name], Listing(fractions()))

    assert written in text
    assert all(f"http://a/{fraction}" in text for fraction in ("100", "250", "900", "5"))


@pytest.mark.parametrize("name", ["json", "cdxj"])
async def test_our_own_reader_finds_the_fractions_again(name: str) -> None:
    text = (await text_of(WRITERS[name], Listing(fractions()))).encode()
    decoder = decoder_for(text, "http://gate.example/")

    rows = [*decoder.feed(text), *decoder.close()]

    assert [row.stamp for row in rows] == [memento.stamp for memento in fractions()]


def fractions() -> list[Memento]:
    """Return four captures of one second."""
    return [
        Memento(f"20170101000000{fraction}", f"http://a/{fraction}", ORIGINAL, "a")
        for fraction in ("100", "250", "5", "900")
    ]


def hrefs(text: str, relation: str) -> Sequence[str]:
    reader = LinkReader()
    links = [*reader.feed(text.encode()), *reader.close()]
    return [link.target for link in links if relation in link.rels]


async def test_exactly_one_capture_is_the_last_however_many_blocks_there_are() -> None:
    held = captures("a", range(0, 50_000, 7))

    text = await text_of(
        WRITERS["link"], Listing(*(held[i : i + 97] for i in range(0, 7143, 97)))
    )

    assert hrefs(text, "first") == [held[0].uri]
    assert hrefs(text, "last") == [held[-1].uri]
    assert hrefs(text, "memento") == [memento.uri for memento in held]
    assert at(0)[:4] == "2013"
    assert 'until="' not in text


async def test_complete_captures_are_written_without_waiting_for_the_reader() -> None:
    listing = Listing(captures("a", range(5_000)))

    async with merged({"a": listing()}, ORIGINAL) as merge:
        await merge.begin(MergeDeadlines())
        assert merge.first is not None
        chunks = written(WRITERS["link"], merge, Ends(merge.first, merge.last))
        async with aclosing(chunks):
            head = await anext(chunks)
            written_out = merge.sent
            text = head + b"".join([chunk async for chunk in chunks])

    assert written_out == 5_000
    assert len(head) < 1_000
    assert len(hrefs(text.decode(), "memento")) == 5_000


LONG = captures("a", range(3_000))


@pytest.mark.parametrize("name", ["link", "cdxj", "set"])
async def test_a_list_that_breaks_off_is_not_terminated(name: str) -> None:
    with pytest.raises(ArchiveError, match="went away"):
        await text_of(WRITERS[name], Listing(LONG, captures("a", [3_001]), GONE))


async def test_json_names_the_list_that_broke_off_at_its_end() -> None:
    breaks = Listing(LONG, captures("a", [3_001]), GONE)

    document = json.loads(
        await text_of(WRITERS["json"], breaks, Listing(captures("b", [4_000])))
    )

    assert document["timegate"]["sources"] == "partial"
    assert document["timegate"]["missing"] == {"a": "it went away"}
    assert document["mementos"]["last"]["uri"] == capture("b", 4_000).uri


@pytest.mark.parametrize("name", WRITERS)
async def test_after_a_reported_failure_the_list_is_terminated(name: str) -> None:
    text = await text_of(WRITERS[name], Listing(GONE), Listing(captures("b", [1])))

    assert capture("b", 1).uri in text
