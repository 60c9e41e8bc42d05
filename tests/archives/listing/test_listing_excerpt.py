"""Excerpts of an index: a CDX server is asked for the captures that are wanted, no others."""

from dataclasses import replace
from typing import Final
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as some

from archives.adapters import source_for
from archives.listing import is_excerpted
from archives.model import ArchiveEntry
from archives.moment import Moment
from archives.source import ALL, MOST_EXCERPTED, Request, WantedCaptures
from tests.archives.listing.test_listing import ARCHIVE, BOTH, PAGE, PYWB, WAYBACK_CDX, timemap
from tests.fakes import Canned, FakeFetcher, clock

MONTHS: Final = [f"{year}{month:02}15000000" for year in range(2001, 2021) for month in (2, 8)]
OUTBACK: Final = replace(PYWB, dialect="outbackcdx")


class CdxServer:
    """A CDX server with captures at *stamps* that understands all options, or only some."""

    def __init__(self, stamps: list[str], ignored: tuple[str, ...] = ()) -> None:
        self.stamps = sorted(stamps)
        self.ignored = ignored
        self.sent: list[int] = []
        """Rows of each answer."""

    def __call__(self, request: Request) -> Canned:
        if not urlsplit(request.url).path.startswith("/cdx"):
            return timemap(*self.stamps)
        given_ = {n: v[0] for n, v in parse_qs(urlsplit(request.url).query).items()}
        options = {name: v for name, v in given_.items() if name not in self.ignored}
        if self.ignored == ("all",) and "sort" in options:
            return Canned(400)
        rows = self.rows(options)
        self.sent.append(len(rows))
        lines = [f"org,example)/ {stamp} {PAGE} text/html 200 AAA\n" for stamp in rows]
        return Canned(body="".join(lines).encode()) if lines else Canned(404)

    def rows(self, options: dict[str, str]) -> list[str]:
        since, until = options.get("from", "0"), options.get("to", "9")
        rows = [stamp for stamp in self.stamps if since <= stamp <= until]
        limit = int(options.get("limit", "10000"))
        if options.get("sort") == "closest":
            at = Moment(options["closest"]).negotiated
            rows.sort(key=lambda stamp: abs(Moment(stamp).negotiated - at))
        if options.get("sort") == "reverse":
            rows.reverse()
        return rows[limit:] if limit < 0 else rows[:limit]


async def read(server: CdxServer, entry: ArchiveEntry, wanted: WantedCaptures) -> list[str]:
    source = source_for(entry, FakeFetcher(server), clock)
    batches = source.mementos(PAGE, wanted=wanted)
    return [capture.stamp async for batch in batches for capture in batch]


@pytest.mark.parametrize("entry", [WAYBACK_CDX, PYWB, OUTBACK, BOTH], ids=lambda e: e.dialect)
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (WantedCaptures(most=2), MONTHS[:2]),
        (WantedCaptures(order="newest", most=2), MONTHS[-2:]),
        (WantedCaptures(order="nearest", near=Moment("20100216000000"), most=1), [MONTHS[18]]),
        (WantedCaptures("2005", "2006", most=3), MONTHS[8:11]),
    ],
    ids=["oldest", "newest", "nearest", "between"],
)
async def test_only_the_rows_that_are_wanted_are_requested(
    entry: ArchiveEntry, wanted: WantedCaptures, expected: list[str]
) -> None:
    server = CdxServer(MONTHS)

    found = await read(server, entry, wanted)

    assert found == sorted(found)
    assert {*expected} <= {*found}
    assert sum(server.sent) <= (wanted.most or 0) + 5


async def test_a_range_of_time_is_requested_without_a_limit_too() -> None:
    server = CdxServer(MONTHS)

    assert await read(server, PYWB, WantedCaptures("2005", "200602")) == MONTHS[8:11]
    assert server.sent == [3]


@pytest.mark.parametrize("ignored", [("sort",), ("all",)], ids=["ignored", "rejected"])
async def test_the_whole_index_of_a_server_that_does_not_sort_is_read(
    ignored: tuple[str, ...],
) -> None:
    server = CdxServer(MONTHS, ignored)

    found = await read(server, PYWB, WantedCaptures(order="newest", most=2))

    assert found == MONTHS


async def test_the_whole_index_is_read_if_the_limit_is_inside_one_second() -> None:
    twins = [f"{MONTHS[0]}{fraction}" for fraction in range(9)]
    server = CdxServer([*twins, *MONTHS[1:]])

    found = await read(server, PYWB, WantedCaptures(most=2))

    assert len(found) == len(server.stamps)


async def test_a_long_excerpt_is_the_whole_list() -> None:
    server = CdxServer(MONTHS)

    assert (
        await read(server, PYWB, WantedCaptures(order="newest", most=MOST_EXCERPTED + 1))
        == MONTHS
    )


def test_only_an_index_can_be_excerpted() -> None:
    assert is_excerpted(PYWB, WantedCaptures(most=5))
    assert is_excerpted(BOTH, WantedCaptures("2013"))
    assert not is_excerpted(ARCHIVE, WantedCaptures(most=5))
    assert not is_excerpted(PYWB, ALL)


@given(
    some.lists(some.sampled_from(MONTHS), unique=True),
    some.sampled_from(["oldest", "newest", "nearest"]),
    some.sampled_from(["2004", "20100215", "20151231235959"]),
    some.integers(1, 12),
    some.sampled_from([("", ""), ("2006", ""), ("", "2012"), ("2006", "2012")]),
)
async def test_an_excerpt_has_the_first_captures_of_the_whole_list(
    stamps: list[str], order: str, near: str, most: int, span: tuple[str, str]
) -> None:
    since, until = span
    at = Moment(near) if order == "nearest" else None
    wanted = WantedCaptures(since, until, order, at, most)  # type: ignore[arg-type]
    fitting = [s for s in stamps if since <= s < (until or "9") + ":"]

    found = await read(CdxServer(stamps), PYWB, wanted)

    ranked = sorted(fitting, key=lambda stamp: wanted.ranks([stamp]))
    assert {*ranked[:most]} <= {*found}
