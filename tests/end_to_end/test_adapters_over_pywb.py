"""Every adapter asks a real pywb, in each of its modes, through the real fetcher."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

import pytest

from archives.adapters import source_for
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from archives.source import Source
from tests.end_to_end import pywb as held
from tests.end_to_end.pywb import Mode, Pywb
from tests.fakes import an_entry
from timegate.upstream.exchange_log import UpstreamExchange
from timegate.upstream.stack import (
    UpstreamEnvironment,
    UpstreamSettings,
    open_fetchers,
)

AdapterKind = Literal["memento", "wayback", "cdx"]
MODES: Final[tuple[Mode, ...]] = ("framed", "plain", "exact")
KINDS: Final[tuple[AdapterKind, ...]] = ("memento", "wayback", "cdx")
SETTINGS: Final = UpstreamSettings("mailto:test@example.org")

STAMPS: Final[dict[str, list[str]]] = {
    held.UNCHANGED: [held.FIRST_SEEN.stamp, held.SEEN_AGAIN],
} | {
    url: sorted(page.stamp for page in held.PAGES if page.url == url)
    for url in dict.fromkeys(page.url for page in held.PAGES)
    if url not in held.VARIANTS
}
"""When each page was captured."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An adapter over a running pywb, and the requests it sent."""

    pywb: Pywb
    source: Source
    exchanges: list[UpstreamExchange]

    async def closest(self, page: str, at: str | None) -> Closest | None:
        return await self.source.closest(page, None if at is None else Moment(at))

    async def memento(self, page: str, at: str | None) -> Memento:
        found = await self.closest(page, at)
        assert found is not None
        assert found.doubts == ()
        return found.memento

    async def mementos(self, page: str) -> list[Memento]:
        return [memento async for batch in self.source.mementos(page) for memento in batch]


@asynccontextmanager
async def asking(kind: AdapterKind, pywb: Pywb) -> AsyncGenerator[Asked]:
    entry = _entry(kind, pywb)
    exchanges: list[UpstreamExchange] = []
    around = UpstreamEnvironment(record=exchanges.append)
    async with open_fetchers([entry], SETTINGS, around) as fetchers:
        source = source_for(entry, fetchers[entry.id], lambda: datetime.now(UTC))
        yield Asked(pywb, source, exchanges)


def _entry(kind: AdapterKind, pywb: Pywb) -> ArchiveEntry:
    fields: dict[AdapterKind, dict[str, object]] = {
        "memento": {
            "timegate": pywb.url,
            "timemaps": {"link": f"{pywb.url}timemap/link/"},
        },
        "wayback": {
            "replay": pywb.url + "{time14}/{uri}",
            "raw": pywb.url + "{time14}id_/{uri}",
            "timemaps": {"cdxj": f"{pywb.url}timemap/cdxj/"},
        },
        "cdx": {
            "cdx": f"{pywb.url}cdx",
            "dialect": "pywb-cdxj",
            "replay": pywb.url + "{time14}/{uri}",
        },
    }
    return an_entry(kind, **fields[kind])


@pytest.fixture(params=MODES)
def pywb(request: pytest.FixtureRequest) -> Pywb:
    found = request.getfixturevalue(f"{request.param}_pywb")
    assert isinstance(found, Pywb)
    return found


@pytest.fixture(params=KINDS)
async def asked(request: pytest.FixtureRequest, pywb: Pywb) -> AsyncGenerator[Asked]:
    async with asking(request.param, pywb) as found:
        yield found


def page_address(asked: Asked, stamp: str, page: str) -> str:
    """Return the replay address of a capture; a framed TimeGate redirects inside the frame."""
    framed = asked.pywb.mode == "framed" and asked.source.entry.kind.name == "memento"
    return f"{asked.pywb.url}{stamp}{'mp_' if framed else ''}/{page}"


# The capture closest to a moment


@pytest.mark.parametrize("page", STAMPS)
async def test_every_capture_is_found_at_its_second_with_one_request(
    asked: Asked, page: str
) -> None:
    for stamp in STAMPS[page][:5]:
        asked.exchanges.clear()

        found = await asked.memento(page, stamp)

        assert (found.stamp, found.original) == (stamp, page)
        assert found.uri == page_address(asked, stamp, page)
        assert len(asked.exchanges) == 1


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("20150630235957", "20150630235958"),
        ("20150701000030", "20150630235959"),
        ("19990101000000", "20100101120000"),
        ("20250101000000", "20200202020202"),
        ("2010", "20100101120000"),
        ("201506", "20150630235958"),
        ("20150630", "20150630235958"),
        ("2020", "20200202020202"),
        ("2016", "20150630235959"),
        ("20150630235960", "20150630235959"),
        ("20150630235958123", "20150630235958"),
        (None, "20200202020202"),
    ],
)
async def test_the_nearest_capture_is_found(
    asked: Asked, at: str | None, expected: str
) -> None:
    found = await asked.memento(held.OFTEN, at)

    assert found.stamp == expected
    assert len(asked.exchanges) <= 2


async def test_the_middle_of_many_captures_is_found(asked: Asked) -> None:
    found = await asked.memento(held.FIFTY, "20120125")

    assert found.stamp == "20120125120000"


async def test_an_unknown_page_is_a_clear_no(asked: Asked) -> None:
    assert await asked.closest(held.UNKNOWN, "2013") is None
    assert await asked.closest(held.UNKNOWN, None) is None
    assert len(asked.exchanges) == 2


@pytest.mark.parametrize(
    ("page", "status"), [(held.MOVED, 301), (held.GONE, 404), (held.REFUSED, 429)]
)
async def test_an_archived_status_is_reported_if_pywb_sends_it(
    asked: Asked, page: str, status: int
) -> None:
    found = await asked.memento(page, None)

    # A frame hides it, and so does a redirect to the exact capture.
    hides = asked.source.entry.kind.name == "memento" and asked.pywb.mode != "plain"
    assert found.status == (None if hides else status)
    assert found.original == page


@pytest.mark.parametrize("page", [held.QUERY, held.SLASHES])
async def test_a_url_reaches_pywb_unchanged(asked: Asked, page: str) -> None:
    found = await asked.memento(f"{page}#fragment", None)

    assert found.original == page
    assert found.uri == page_address(asked, STAMPS[page][0], page)


async def test_the_captured_spelling_of_a_url_is_reported(asked: Asked) -> None:
    found = await asked.memento(held.VARIANTS[1], "20110101000000")

    # The frame repeats what was asked; everything else says what was captured.
    framed = asked.pywb.mode == "framed" and asked.source.entry.kind.name == "memento"
    assert found.stamp == "20110101000000"
    assert found.original == held.VARIANTS[1 if framed else 0]


# All captures


@pytest.mark.parametrize("page", STAMPS)
async def test_every_capture_is_listed_oldest_first(asked: Asked, page: str) -> None:
    mementos = await asked.mementos(page)

    assert [memento.stamp for memento in mementos] == STAMPS[page]
    assert {memento.original for memento in mementos} == {page}
    assert all(f"{memento.stamp}" in memento.uri for memento in mementos)
    assert len(asked.exchanges) == 1


async def test_every_spelling_is_listed_as_it_was_captured(asked: Asked) -> None:
    mementos = await asked.mementos(held.VARIANTS[1])

    assert [memento.original for memento in mementos] == list(held.VARIANTS)


async def test_an_unknown_page_has_no_captures(asked: Asked) -> None:
    assert await asked.mementos(held.UNKNOWN) == []


async def test_every_listed_capture_can_be_found(asked: Asked) -> None:
    for memento in await asked.mementos(held.OFTEN):
        found = await asked.memento(held.OFTEN, memento.stamp)

        assert (found.stamp, found.original) == (memento.stamp, memento.original)
