"""Replay: from an index row to the archived response."""

import asyncio
import gzip
import hashlib
import os
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Event

import pytest

from archives.warc.captures import DigestCheck, read_digest
from archives.warc.replay import SMALL, ArchivedResponse, Replayer, UnreadableRecord
from archives.warc_index.model import IndexRow
from tests import warcs
from tests.timegate.collections.sample_collections import FakeCollection, indexed_files

LARGE = bytes(range(256)) * (SMALL // 256 + 512)
CHUNKED = warcs.chunked(warcs.PAGE)
ORIGINAL = "http://example.com/"


def collection(folder: Path, *records: bytes) -> FakeCollection:
    return indexed_files(folder, {"one.warc.gz": warcs.gzipped(*records)})


@contextmanager
def replaying(shelf: FakeCollection) -> Iterator[Replayer]:
    with ThreadPoolExecutor(1) as threads:
        yield Replayer(shelf.id, shelf, threads)


@asynccontextmanager
async def opened(
    shelf: FakeCollection, row: int = 0, *, body: bool = True
) -> AsyncIterator[ArchivedResponse]:
    with replaying(shelf) as replayer:
        archived = await replayer.open(shelf.rows[row], body=body)
        yield archived
        await archived.close()


async def read(archived: ArchivedResponse, start: int = 0, end: int | None = None) -> bytes:
    return b"".join([piece async for piece in archived.chunks(start, end)])


async def body_of(shelf: FakeCollection, row: int = 0) -> bytes:
    async with opened(shelf, row) as archived:
        return await read(archived)


async def test_a_small_record_is_read_whole(tmp_path: Path) -> None:
    async with opened(collection(tmp_path, warcs.response())) as archived:
        assert archived.whole == warcs.PAGE
        assert archived.size == len(warcs.PAGE)
        assert archived.head.status == 200


async def test_a_large_record_is_read_in_pieces(tmp_path: Path) -> None:
    shelf = collection(tmp_path, warcs.response(payload=LARGE))

    async with opened(shelf) as archived:
        pieces = [piece async for piece in archived.chunks()]

    assert archived.whole is None
    assert b"".join(pieces) == LARGE
    assert max(map(len, pieces)) <= 65_536


async def test_a_part_of_a_large_record_is_read(tmp_path: Path) -> None:
    shelf = collection(tmp_path, warcs.response(payload=LARGE))

    async with opened(shelf) as archived:
        part = await read(archived, 100_000, 200_001)

    assert part == LARGE[100_000:200_001]


async def test_the_head_alone_reads_no_body(tmp_path: Path) -> None:
    async with opened(collection(tmp_path, warcs.response()), body=False) as archived:
        assert archived.whole is None
        assert archived.size == len(warcs.PAGE)


def _chunked_with(digest: str) -> bytes:
    block = warcs.answer(CHUNKED, transfer_encoding="chunked")
    return warcs.record(block, payload_digest=digest)


@pytest.mark.parametrize(
    "digest",
    [
        warcs.digest(warcs.PAGE),
        warcs.digest(CHUNKED),
        "sha256:" + hashlib.sha256(warcs.PAGE).hexdigest(),
        "md5:" + hashlib.md5(CHUNKED, usedforsecurity=False).hexdigest(),
        "unknown:whatever",
        "sha1:",
        "sha1:not-base32-at-all!",
    ],
)
async def test_digests_with_and_without_chunk_sizes_are_accepted(
    tmp_path: Path, digest: str
) -> None:
    assert await body_of(collection(tmp_path, _chunked_with(digest))) == warcs.PAGE


@pytest.mark.parametrize("payload", [warcs.PAGE, LARGE])
@pytest.mark.parametrize("field", ["block_digest", "payload_digest"])
async def test_a_wrong_digest_is_an_error(tmp_path: Path, payload: bytes, field: str) -> None:
    record = warcs.record(warcs.answer(payload), **{field: warcs.digest(b"other")})

    with pytest.raises(UnreadableRecord, match=r"one\.warc\.gz at 0: the data does not match"):
        await body_of(collection(tmp_path, record))


async def test_the_payload_digest_is_ignored_if_there_is_a_block_digest(tmp_path: Path) -> None:
    block = warcs.answer()
    digests = {"block_digest": warcs.digest(block), "payload_digest": warcs.digest(b"odd")}

    assert await body_of(collection(tmp_path, warcs.record(block, **digests))) == warcs.PAGE


async def test_a_large_chunked_record_is_checked_by_its_block(tmp_path: Path) -> None:
    block = warcs.answer(warcs.chunked(LARGE, 50_000), transfer_encoding="chunked")
    shelf = collection(tmp_path, warcs.record(block, block_digest=warcs.digest(block)))

    async with opened(shelf) as archived:
        assert archived.size is None
        assert await read(archived) == LARGE


@pytest.mark.parametrize("payload", [warcs.PAGE, LARGE])
async def test_a_truncated_record_is_not_replayed_as_a_short_one(
    tmp_path: Path, payload: bytes
) -> None:
    shelf = collection(tmp_path, warcs.response(payload=payload))
    file = tmp_path / "one.warc.gz"
    octets = file.read_bytes()
    file.write_bytes(octets[: len(octets) * 2 // 3])

    with pytest.raises(UnreadableRecord, match="at 0"):
        await body_of(shelf)


@pytest.mark.parametrize(
    "change", [{"url": "http://example.com/other"}, {"stamp": "20200220202021"}, {"offset": 5}]
)
async def test_a_record_that_does_not_match_the_index_is_not_replayed(
    tmp_path: Path, change: dict[str, object]
) -> None:
    shelf = collection(tmp_path, warcs.response())
    shelf.rows[0] = IndexRow(**{**shelf.rows[0]._asdict(), **change})

    with pytest.raises(UnreadableRecord):
        await body_of(shelf)


async def test_a_revisit_has_its_own_head_and_the_payload_of_its_original(
    tmp_path: Path,
) -> None:
    shelf = collection(
        tmp_path,
        warcs.response(),
        warcs.revisit(refers_to_target_uri=ORIGINAL, refers_to_date=warcs.DAY),
    )

    async with opened(shelf, 1) as archived:
        assert archived.whole == warcs.PAGE
        assert archived.stamp == "20210220202020"
        assert archived.head.status == 200


async def test_a_revisit_without_a_head_has_that_of_its_original(tmp_path: Path) -> None:
    bare = warcs.record(
        b"",
        "revisit",
        date="2021-02-20T20:20:20Z",
        mime=None,
        payload_digest=warcs.digest(warcs.PAGE),
    )
    shelf = collection(tmp_path, warcs.response(), bare)

    async with opened(shelf, 1) as archived:
        assert archived.whole == warcs.PAGE
        assert archived.head.get("content-type") == "text/html"


async def test_a_not_modified_revisit_has_the_head_of_its_original(tmp_path: Path) -> None:
    unmodified = warcs.record(
        warcs.answer(b"", "304 Not Modified"),
        "revisit",
        date="2021-02-20T20:20:20Z",
        profile="http://netpreserve.org/warc/1.0/revisit/server-not-modified",
        payload_digest=warcs.digest(warcs.PAGE),
        refers_to_target_uri=ORIGINAL,
        refers_to_date=warcs.DAY,
    )
    shelf = collection(tmp_path, warcs.response(), unmodified)

    async with opened(shelf, 1) as archived:
        assert (archived.head.status, archived.whole) == (200, warcs.PAGE)


async def test_a_revisit_without_its_original_is_an_error(tmp_path: Path) -> None:
    shelf = collection(tmp_path, warcs.revisit(payload=b"never stored"))

    with pytest.raises(UnreadableRecord, match="the original of this revisit is not in"):
        await body_of(shelf)


async def test_a_revisit_of_a_revisit_is_an_error(tmp_path: Path) -> None:
    class Circular(FakeCollection):
        async def original_of(
            self, url: str, digest: str | None, refers_to: tuple[str, str] | None
        ) -> IndexRow | None:
            del url, digest, refers_to
            return self.rows[0]

    shelf = Circular(collection(tmp_path, warcs.revisit()).rows)

    with pytest.raises(UnreadableRecord, match="a revisit of a revisit"):
        await body_of(shelf)


@pytest.mark.parametrize("kind", [*warcs.every_kind()])
async def test_every_sound_capture_can_be_replayed(tmp_path: Path, kind: str) -> None:
    known = {"revisit without a head", "revisit without a digest", "sha256", "sha1"}
    shelf = collection(tmp_path, *warcs.every_kind()[kind])

    for number, row in enumerate(shelf.rows):
        if row.mime != "warc/revisit" and kind not in known:
            await body_of(shelf, number)


async def test_an_arc_record_is_replayed(tmp_path: Path) -> None:
    records = warcs.arc_header() + warcs.arc_record()
    shelf = indexed_files(tmp_path, {"one.arc.gz": gzip.compress(b"")[:0] + records})

    assert await body_of(shelf) == warcs.PAGE


async def test_a_request_cancelled_while_a_file_is_opened_closes_it(tmp_path: Path) -> None:
    too_large_to_be_read_at_once = os.urandom(3 * 1024**2)
    shelf = collection(tmp_path, warcs.response(payload=too_large_to_be_read_at_once))
    begun, go_on = Event(), Event()

    def hold_up() -> None:
        begun.set()
        go_on.wait(10)

    with ThreadPoolExecutor(1) as threads:
        threads.submit(hold_up)
        opening = asyncio.gather(Replayer(shelf.id, shelf, threads).open(shelf.rows[0]))
        await asyncio.get_running_loop().run_in_executor(None, begun.wait, 10)
        opening.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await opening


@pytest.mark.parametrize(
    "text",
    [
        warcs.digest(b"x"),
        warcs.digest(b"x").lower(),
        "sha1:" + hashlib.sha1(b"x", usedforsecurity=False).hexdigest(),
        "sha-256:" + hashlib.sha256(b"x").hexdigest(),
        "SHA512:" + hashlib.sha512(b"x").hexdigest(),
    ],
)
def test_every_digest_notation_is_read(text: str) -> None:
    stated = read_digest(text)

    assert stated is not None
    added = DigestCheck(stated)
    added.add(b"x")
    assert added.matches()
