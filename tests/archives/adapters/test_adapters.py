"""The contract of every `Source`, over every kind of archive."""

import asyncio
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from archives.adapters import ADAPTERS, source_for
from archives.kinds import KINDS as ARCHIVE_KINDS
from archives.model import ArchiveEntry, ArchiveKind, Memento
from archives.moment import Moment
from archives.source import Request
from tests.archives.adapters.contract import BASE, KINDS, Serve, Served
from tests.fakes import FakeFetcher, an_entry, clock
from timegate.misbehave import FakeCapture, captures_of
from timegate.misbehave.site import EXAMPLE, read_stamp

PAGE: Final = "http://example.org/"
SECONDS: Final = [capture.stamp for capture in EXAMPLE]


@pytest.fixture(params=KINDS)
def serve(request: pytest.FixtureRequest) -> Serve:
    return KINDS[request.param]


async def closest(served: Served, at: str | None, page: str = PAGE) -> Memento | None:
    found = await served.source.closest(page, None if at is None else Moment(at))
    assert found is None or not found.doubts
    return None if found is None else found.memento


async def listed(served: Served, page: str = PAGE) -> list[Memento]:
    return [memento async for batch in served.source.mementos(page) for memento in batch]


def requested_pages(journal: Sequence[Request]) -> list[str]:
    """Return the URL of the original in each request, as the archive reads it."""
    pages = []
    for request in journal:
        target = request.url.removeprefix(BASE)
        if target.startswith("/cdx?"):
            pages += parse_qs(urlsplit(request.url).query, keep_blank_values=True)["url"]
        elif target.startswith("/timemap/"):
            pages.append(target.split("/", 3)[3])
        else:
            prefix = 2 if target.startswith("/timegate/") else 3
            pages.append(target.split("/", prefix)[prefix])
    return pages


# The capture closest to a moment


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("20130615083000", "20130615083000"),
        ("20150630235958", "20150630235958"),
        ("20150630235959", "20150630235959"),
        ("20130615082959", "20130615083000"),
        ("20130615083001", "20130615083000"),
        ("20150630235957", "20150630235958"),
        ("20150701000000", "20150630235959"),
        ("19960101000000", "20100101120000"),
        ("20260101000000", "20200202020202"),
    ],
    ids=[
        "exact",
        "first of a pair",
        "second of a pair",
        "a second before",
        "a second after",
        "just before a pair",
        "just after a pair",
        "before the first",
        "after the last",
    ],
)
async def test_the_capture_nearest_to_a_second_is_found(
    serve: Serve, at: str, expected: str
) -> None:
    served = serve(EXAMPLE)

    found = await closest(served, at)

    assert found is not None
    assert found.stamp == expected


async def test_a_memento_has_its_replay_address(serve: Serve) -> None:
    served = serve(EXAMPLE)

    found = await closest(served, "20130615083000")

    assert found is not None
    assert found[1:4] == (f"{BASE}/web/20130615083000/{PAGE}", PAGE, "test")


async def test_of_two_captures_at_equal_distance_the_earlier_is_found(serve: Serve) -> None:
    served = serve(captures_of(PAGE, "20130101000000", "20130101000010"))

    found = await closest(served, "20130101000005")

    assert found is not None
    assert found.stamp == "20130101000000"


async def test_without_a_time_the_newest_is_found(serve: Serve) -> None:
    stamps = [f"20{year}0101000000" for year in range(10, 25)]
    served = serve(captures_of(PAGE, *stamps))

    found = await closest(served, None)

    assert found is not None
    assert found.stamp == "20240101000000"


@pytest.mark.parametrize(
    ("at", "stamps", "expected"),
    [
        ("2013", ["20121231235959", "20131231235959"], "20131231235959"),
        ("2013", ["20130101000000", "20140101000000"], "20130101000000"),
        ("2012", ["20111231235959", "20120101000000"], "20120101000000"),
        ("201302", ["20130131235959", "20130228235959"], "20130228235959"),
        ("201302", ["20130201000000", "20130301000000"], "20130201000000"),
        ("20130615", ["20130614235959", "20130615235959"], "20130615235959"),
        ("20130615", ["20130615000000", "20130616000000"], "20130615000000"),
        ("2013061508", ["20130615075959", "20130615085959"], "20130615085959"),
        ("201306150830", ["20130615082959", "20130615083059"], "20130615083059"),
        ("2013", ["20120301000000", "20150301000000"], "20120301000000"),
    ],
)
async def test_a_capture_inside_a_coarse_moment_is_found_if_there_is_one(
    serve: Serve, at: str, stamps: list[str], expected: str
) -> None:
    served = serve(captures_of(PAGE, *stamps))

    found = await closest(served, at)

    assert found is not None
    assert found.stamp == expected


async def test_inside_an_interval_the_one_nearest_to_its_middle_is_found(serve: Serve) -> None:
    served = serve(captures_of(PAGE, "20130101000000", "20130701000000", "20131231000000"))

    found = await closest(served, "2013")

    assert found is not None
    assert found.stamp == "20130701000000"


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("20130615083000123", "20130615083000"),
        ("201306150830009", "20130615083000"),
        ("20150630235960", "20150630235959"),
        ("201506302359605", "20150630235959"),
    ],
)
async def test_fractions_and_leap_seconds_are_requested_as_whole_seconds(
    serve: Serve, at: str, expected: str
) -> None:
    served = serve(EXAMPLE)

    found = await closest(served, at)

    assert found is not None
    assert found.stamp == expected


async def test_an_unknown_page_is_absent_after_one_request(serve: Serve) -> None:
    served = serve(EXAMPLE)

    found = await closest(served, "20130615083000", "http://example.org/unknown")

    assert found is None
    assert len(served.journal) == 1


@pytest.mark.parametrize("status", [301, 302, 404, 410, 429, 403, 500, 503])
async def test_an_archived_status_is_the_status_of_the_memento(
    serve: Serve, status: int
) -> None:
    location = "http://example.org/there" if status < 400 else None
    [capture] = captures_of(PAGE, "20130615083000")
    served = serve([replace(capture, status=status, location=location)])

    found = await closest(served, "20130615083000")

    assert found is not None
    assert found.stamp == "20130615083000"
    # A TimeGate that redirects states no status of the memento.
    assert found.status in (status, None)
    assert (found.status is None) == (serve is KINDS["memento 302"])


async def test_a_memento_has_the_captured_spelling_of_the_url(serve: Serve) -> None:
    served = serve(captures_of("https://www.example.org/", "20130615083000"))

    found = await closest(served, "20130615083000")

    assert found is not None
    assert found.original == "https://www.example.org/"
    assert found.uri == f"{BASE}/web/20130615083000/https://www.example.org/"


seconds = some.integers(0, 4_000).map(
    lambda seconds: datetime(2013, 6, 15, 8, tzinfo=UTC) + timedelta(seconds=seconds)
)
moments = some.builds(
    lambda at, digits: Moment(f"{at:%Y%m%d%H%M%S}"[:digits]),
    seconds,
    some.sampled_from([8, 10, 12, 14]),
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(times=some.sets(seconds, min_size=1, max_size=12), at=moments)
def test_every_kind_selects_as_specified(kind: str, times: set[datetime], at: Moment) -> None:
    served = KINDS[kind]([FakeCapture(PAGE, time) for time in times])

    found = asyncio.run(closest(served, at.digits))

    best = min(
        times, key=lambda time: (abs(at.distance(time)), abs(time - at.negotiated), time)
    )
    assert found is not None
    assert read_stamp(found.stamp) == best


# All captures


async def test_all_captures_are_listed_oldest_first(serve: Serve) -> None:
    served = serve(EXAMPLE)

    mementos = await listed(served)

    assert [memento.stamp for memento in mementos] == SECONDS
    assert [memento.uri for memento in mementos] == [
        f"{BASE}/web/{stamp}/{PAGE}" for stamp in SECONDS
    ]
    assert {memento[2:4] for memento in mementos} == {(PAGE, "test")}


async def test_no_batch_is_empty(serve: Serve) -> None:
    served = serve(EXAMPLE)

    batches = [batch async for batch in served.source.mementos(PAGE)]

    assert all(batches)


async def test_an_unknown_page_has_an_empty_list(serve: Serve) -> None:
    served = serve(EXAMPLE)

    assert await listed(served, "http://example.org/unknown") == []


async def test_a_list_may_have_many_captures(serve: Serve) -> None:
    start = datetime(2000, 1, 1, tzinfo=UTC)
    times = [start + timedelta(hours=hours) for hours in range(3_000)]
    served = serve([FakeCapture(PAGE, time) for time in times])

    mementos = await listed(served)

    assert [memento.stamp for memento in mementos] == [f"{t:%Y%m%d%H%M%S}" for t in times]


async def test_a_list_that_is_not_read_to_its_end_is_closed(serve: Serve) -> None:
    served = serve(EXAMPLE)

    mementos = served.source.mementos(PAGE)
    await anext(mementos)
    await mementos.aclose()

    assert len(served.journal) == 1


# Requests to the archive


@pytest.mark.parametrize(
    ("page", "sent"),
    [
        ("http://example.org/search?q=a%20b&page=2", None),
        ("http://example.org/a//b%2Fc", None),
        ("http://example.org/a;b=1,2?c={d}&e=%7B", None),
        ("http://example.org/%C3%A4?x=https://other.example/%2520", None),
        ("http://example.org/#top", "http://example.org/"),
        ("http://example.org/a?b#c?d", "http://example.org/a?b"),
    ],
)
@pytest.mark.parametrize("purpose", ["closest", "list"])
async def test_the_url_reaches_the_archive_unchanged_without_its_fragment(
    serve: Serve, purpose: str, page: str, sent: str | None
) -> None:
    served = serve(captures_of(sent or page, "20130615083000"))

    found = (
        await listed(served, page)
        if purpose == "list"
        else [await closest(served, "2013", page)]
    )

    assert set(requested_pages(served.journal)) == {sent or page}
    assert [memento and memento.original for memento in found] == [sent or page]


async def test_accept_datetime_is_the_only_header_that_is_sent(serve: Serve) -> None:
    served = serve(EXAMPLE)

    await closest(served, "20140101000000")
    await closest(served, None)

    headers = [dict(request.headers) for request in served.journal]
    negotiates = serve in (KINDS["memento 302"], KINDS["memento 200"])
    timed = {"accept-datetime": "Wed, 01 Jan 2014 00:00:00 GMT"}
    assert headers[0] == (timed if negotiates else {})
    assert headers[-1] == {}


async def test_accept_datetime_is_not_sent_for_a_list(serve: Serve) -> None:
    served = serve(EXAMPLE)

    await listed(served)

    assert [dict(request.headers) for request in served.journal] == [{}]
    assert [request.purpose for request in served.journal] == ["index"]


async def test_an_exact_match_takes_one_request(serve: Serve) -> None:
    served = serve(EXAMPLE)

    await closest(served, "20130615083000")

    assert len(served.journal) == 1


@pytest.mark.parametrize("at", ["20130615083001", "2011", "19990101000000", None])
async def test_any_other_match_takes_at_most_two_requests(serve: Serve, at: str | None) -> None:
    served = serve(EXAMPLE)

    await closest(served, at)

    assert len(served.journal) <= 2
    expected = "index" if served.source.entry.kind.name == "cdx" else "memento"
    assert {request.purpose for request in served.journal} == {expected}


# Choice of the adapter


def test_there_is_an_adapter_for_every_remote_kind() -> None:
    assert {kind.name for kind in ADAPTERS} == {"memento", "wayback", "cdx", "original"}


@pytest.mark.parametrize("kind", ARCHIVE_KINDS.values(), ids=str)
def test_a_kind_describes_itself(kind: ArchiveKind) -> None:
    known = {field.name for field in fields(ArchiveEntry)}

    assert kind.description
    assert known.issuperset(kind.needs)
    assert kind.is_remote == (kind in ADAPTERS)


def test_an_archive_that_programs_cannot_query_has_no_adapter() -> None:
    entry = an_entry("none", because="reading room only")

    with pytest.raises(ValueError, match="cannot be asked by programs: reading room only"):
        source_for(entry, FakeFetcher({}), clock)


@pytest.mark.parametrize(
    ("kind", "need"),
    [("memento", "TimeGate"), ("wayback", "replay template"), ("cdx", "cdx, dialect")],
)
def test_an_entry_without_what_its_kind_needs_is_rejected(kind: str, need: str) -> None:
    with pytest.raises(ValueError, match=need):
        source_for(an_entry(kind), FakeFetcher({}), clock)
