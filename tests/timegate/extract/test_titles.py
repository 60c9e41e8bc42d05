"""Titles of mementos: each failure belongs to the archive."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from archives.errors import ArchiveError, Internal, Unreachable
from archives.model import Memento
from archives.registry import Registry
from archives.source import Fetcher, Request
from tests.clock import in_virtual_time
from tests.fakes import Canned, FakeFetcher, FakeReply
from tests.scenario import entry
from timegate.extract.titles import ArchivedTitles
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import UNLIMITED

URL = "http://example.org/"
RAW = f"https://a.host/20160122112029id_/{URL}"
MEMENTO = Memento("20160122112029", f"https://a.host/20160122112029/{URL}", URL, "a")
KNOWN = Registry([replace(entry("a"), raw="https://a.host/{time14}id_/{uri}")])
HEADERS = {
    "Memento-Datetime": "Fri, 22 Jan 2016 11:20:29 GMT",
    "Content-Type": "text/html",
}


async def title(fetch: Fetcher) -> str | None:
    titles = ArchivedTitles({"a": fetch}, KNOWN, Containment())
    return await titles.of(MEMENTO, UNLIMITED)


async def test_the_title_is_read_from_the_bytes_of_the_copy() -> None:
    page = Canned(200, HEADERS, b"<title> The &amp; title</title>")

    assert await title(FakeFetcher({RAW: page}, ["a.host"])) == "The & title"


async def test_an_archive_that_is_not_in_use_is_an_error_of_the_archive() -> None:
    titles = ArchivedTitles({}, KNOWN, Containment())

    with pytest.raises(ArchiveError, match="not in use"):
        await titles.of(MEMENTO, UNLIMITED)


def test_an_archive_that_hangs_is_given_up() -> None:
    @asynccontextmanager
    async def hanging(request: Request) -> AsyncGenerator[FakeReply]:
        del request
        await asyncio.sleep(1_000)
        raise AssertionError
        yield

    with pytest.raises(Unreachable, match="within 5 s"):
        in_virtual_time(title(hanging))


async def test_an_unforeseen_exception_is_an_error_of_the_archive() -> None:
    @asynccontextmanager
    async def broken(request: Request) -> AsyncGenerator[FakeReply]:
        del request
        raise ZeroDivisionError
        yield

    with pytest.raises(Internal):
        await title(broken)
