"""Archived files for replay: bytes within a budget; each failure belongs to the archive."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from archives.errors import ArchiveError, Internal, Resting, Unreachable
from archives.source import Fetcher, Request
from tests.clock import in_virtual_time
from tests.fakes import Canned, FakeFetcher, FakeReply
from tests.timegate.extract.test_titles import HEADERS, KNOWN, MEMENTO, RAW
from timegate.extract.archived_files import ArchivedFile, ArchivedFiles
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import UNLIMITED, Budget


async def file(fetch: Fetcher, budget: Budget | None = None, most: int = 100) -> ArchivedFile:
    files = ArchivedFiles({"a": fetch}, KNOWN, Containment())
    return await files.of(MEMENTO, UNLIMITED, budget or Budget(), most)


def held(page: Canned) -> FakeFetcher:
    return FakeFetcher({RAW: page}, ["a.host"])


async def test_the_bytes_are_counted() -> None:
    budget = Budget(5, 50)

    read = await file(held(Canned(200, HEADERS, b"<p>page")), budget)

    assert (read.octets, read.content_type, read.redirect) == (b"<p>page", "text/html", None)
    assert (budget.requests, budget.octets) == (4, 43)


async def test_an_archived_redirect_names_its_target() -> None:
    location = {"X-Archive-Orig-Location": "/x"}

    read = await file(held(Canned(301, {**HEADERS, **location})))

    assert (read.status, read.redirect) == (301, "http://example.org/x")


@pytest.mark.parametrize("budget", [Budget(0, 50), Budget(5, 3)])
async def test_nothing_is_read_beyond_the_budget(budget: Budget) -> None:
    with pytest.raises(ArchiveError):
        await file(held(Canned(200, HEADERS, b"<p>page")), budget)


async def test_a_request_beyond_the_budget_is_not_sent() -> None:
    fetch = held(Canned(200, HEADERS, b""))

    with pytest.raises(Resting):
        await file(fetch, Budget(0, 50))


async def test_an_archive_that_is_not_in_use_is_an_error_of_the_archive() -> None:
    files = ArchivedFiles({}, KNOWN, Containment())

    with pytest.raises(ArchiveError, match="not in use"):
        await files.of(MEMENTO, UNLIMITED, Budget(), 100)


def test_an_archive_that_hangs_is_given_up() -> None:
    @asynccontextmanager
    async def hanging(request: Request) -> AsyncGenerator[FakeReply]:
        del request
        await asyncio.sleep(1_000)
        raise AssertionError
        yield

    with pytest.raises(Unreachable, match="within 15 s"):
        in_virtual_time(file(hanging))


async def test_an_unforeseen_exception_is_an_error_of_the_archive() -> None:
    @asynccontextmanager
    async def broken(request: Request) -> AsyncGenerator[FakeReply]:
        del request
        raise ZeroDivisionError
        yield

    with pytest.raises(Internal):
        await file(broken)
