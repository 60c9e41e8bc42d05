import json
from collections.abc import Sequence

import pytest

from archives.errors import Misbehaved, Unreachable
from archives.source import Request
from tests.fakes import Canned, FakeFetcher
from tests.timegate.following.pages import ListedArchive, capture
from timegate.replication import OfferedCapture
from timegate.replication.offers import IndexOffers, ListedOffers, NoIndex

BASE = "https://archive.example/collections/notes"
NDJSON = {"Content-Type": "application/x-ndjson"}
ROW = {"url": "http://example.org/", "stamp": "20200101000000125", "digest": "sha1:A"}


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


async def offered(fetch: FakeFetcher, page: str | None = None) -> Sequence[OfferedCapture]:
    offers = IndexOffers(fetch, "a", BASE, page)
    return [each async for batch in offers.batches() for each in batch]


async def test_an_index_in_parts_is_read_to_its_end() -> None:
    def answer(request: Request) -> Canned:
        more = {} if "after=abc" in request.url else {"next": "abc"}
        return Canned(200, NDJSON, lines(ROW | {"asserted": not more}, {"end": True, **more}))

    fetch = FakeFetcher(answer)

    first, second = await offered(fetch, "http://example.org/?a=b")

    assert first == OfferedCapture(
        ROW["url"],
        ROW["stamp"],
        f"{BASE}/20200101000000125/http://example.org/",
        f"{BASE}/20200101000000125id_/http://example.org/",
        "sha1:A",
    )
    assert second == first._replace(asserted=True)
    assert fetch.lines[0] == f"GET {BASE}/index?url=http%3A%2F%2Fexample.org%2F%3Fa%3Db"


@pytest.mark.parametrize(
    "body",
    [
        lines(ROW),
        lines(ROW) + b'{"end": tr',
        lines([1], {"end": True}),
        lines({**ROW, "url": "file:///etc/passwd"}, {"end": True}),
        lines({**ROW, "url": "http://a/\nx"}, {"end": True}),
        lines({**ROW, "stamp": "2020"}, {"end": True}),
        lines({**ROW, "stamp": "20201301000000"}, {"end": True}),
        lines({**ROW, "stamp": 7}, {"end": True}),
        b"",
    ],
)
async def test_an_index_that_is_not_whole_and_clean_is_refused(body: bytes) -> None:
    with pytest.raises(Misbehaved):
        await offered(FakeFetcher(lambda _: Canned(200, NDJSON, body)))


@pytest.mark.parametrize("answer", [Canned(404), Canned(200, {"Content-Type": "text/html"})])
async def test_a_source_without_an_index_is_said_to_be_one(answer: Canned) -> None:
    with pytest.raises(NoIndex):
        await offered(FakeFetcher(lambda _: answer))


async def test_lists_of_pages_are_read_although_one_fails() -> None:
    archive = ListedArchive(captures=[capture("20200101000000", "sha1:A")])
    archive.error = Unreachable("a", "", "it is down")
    offers = ListedOffers(archive, ["http://example.org/", "http://example.org/b"])

    found = [each async for batch in offers.batches() for each in batch]

    assert len(found) == 2
    assert offers.failures.keys() == {"http://example.org/", "http://example.org/b"}
    assert found[0].digest == "sha1:A"
