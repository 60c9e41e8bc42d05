"""Local collections behind the `Fetcher` interface."""

import gzip
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from archives.adapters.warc import WarcArchive
from archives.errors import Misbehaved
from archives.registry import Registry
from archives.source import Request
from tests import warcs
from tests.timegate.collections.sample_collections import (
    BASE,
    OURS,
    FakeCollection,
    entry_of,
    indexed_files,
)
from timegate.collections import OpenCollection
from timegate.collections.replay import LocalFetcher
from timegate.endpoints.collections import Collections

URL = "http://example.com/"
STAMP = "20200220202020"
RAW = f"{OURS}/{STAMP}id_/{URL}"


@asynccontextmanager
async def fetching(collection: FakeCollection) -> AsyncIterator[LocalFetcher]:
    entry = entry_of()
    with ThreadPoolExecutor(1) as threads:
        opened = OpenCollection.of(collection, WarcArchive(entry, collection), threads)
        collections = Collections([opened], Registry([entry]), BASE)
        yield LocalFetcher("mine", collections, BASE)


async def fetch_all(
    collection: FakeCollection, request: Request
) -> tuple[int, dict[str, str], bytes]:
    async with fetching(collection) as fetch, fetch(request) as reply:
        body = b"".join([piece async for piece in reply.chunks()])
        return reply.status, dict(reply.headers), body


def collection_with(folder: Path, *records: bytes) -> FakeCollection:
    return indexed_files(folder, {"one.warc.gz": warcs.gzipped(*records)})


async def test_a_capture_is_read_from_its_file(tmp_path: Path) -> None:
    collection = collection_with(tmp_path, warcs.response())

    status, headers, body = await fetch_all(collection, Request("GET", RAW, "memento"))

    assert (status, body) == (200, warcs.PAGE)
    assert headers["content-length"] == str(len(warcs.PAGE))
    assert headers["memento-datetime"] == "Thu, 20 Feb 2020 20:20:20 GMT"


async def test_head_has_no_body(tmp_path: Path) -> None:
    collection = collection_with(tmp_path, warcs.response())

    status, headers, body = await fetch_all(collection, Request("HEAD", RAW, "memento"))

    assert (status, body) == (200, b"")
    assert headers["content-length"] == str(len(warcs.PAGE))


async def test_fourteen_digits_find_a_capture_with_a_fraction(tmp_path: Path) -> None:
    collection = collection_with(tmp_path, warcs.response(date="2020-02-20T20:20:20.123Z"))

    status, _, body = await fetch_all(collection, Request("GET", RAW, "memento"))

    assert (status, body) == (200, warcs.PAGE)


@pytest.mark.parametrize("headers_sent", [{}, {"Range": "bytes=0-9"}])
async def test_content_coding_is_removed(tmp_path: Path, headers_sent: dict[str, str]) -> None:
    coded = warcs.answer(gzip.compress(warcs.PAGE), content_encoding="gzip")
    collection = collection_with(tmp_path, warcs.record(coded))

    status, _, body = await fetch_all(collection, Request("GET", RAW, "memento", headers_sent))

    assert (status, body) == (200, warcs.PAGE)


async def test_a_wrong_content_coding_is_misbehaviour(tmp_path: Path) -> None:
    collection = collection_with(tmp_path, warcs.record(warcs.answer(content_encoding="gzip")))

    with pytest.raises(Misbehaved, match="is not gzip"):
        await fetch_all(collection, Request("GET", RAW, "memento"))


async def test_a_range_can_be_requested(tmp_path: Path) -> None:
    collection = collection_with(tmp_path, warcs.response())

    request = Request("GET", RAW, "memento", {"Range": "bytes=0-9"})
    status, headers, body = await fetch_all(collection, request)

    assert (status, body) == (206, warcs.PAGE[:10])
    assert headers["content-range"] == f"bytes 0-9/{len(warcs.PAGE)}"


async def test_a_missing_capture_is_not_found(tmp_path: Path) -> None:
    collection = collection_with(tmp_path, warcs.response())

    request = Request("GET", f"{OURS}/{STAMP}id_/http://other.example/", "memento")
    status, _, _ = await fetch_all(collection, request)

    assert status == 404


async def test_a_damaged_record_is_misbehaviour(tmp_path: Path) -> None:
    record = warcs.record(warcs.answer(), block_digest=warcs.digest(b""))

    with pytest.raises(Misbehaved, match=r"digest.*one\.warc\.gz at 0"):
        await fetch_all(collection_with(tmp_path, record), Request("GET", RAW, "memento"))


@pytest.mark.parametrize("url", ["https://other.example/", f"{BASE}/collections/theirs/2020/x"])
async def test_other_urls_are_refused(tmp_path: Path, url: str) -> None:
    collection = collection_with(tmp_path, warcs.response())

    with pytest.raises(Misbehaved, match="not an address"):
        await fetch_all(collection, Request("GET", url, "memento"))


async def test_another_capture_of_the_second_is_not_sent_instead(tmp_path: Path) -> None:
    collection = collection_with(tmp_path, warcs.response(date="2020-02-20T20:20:20.123Z"))
    request = Request("GET", f"{OURS}/{STAMP}456id_/{URL}", "memento")

    with pytest.raises(Misbehaved, match="no longer holds"):
        await fetch_all(collection, request)
