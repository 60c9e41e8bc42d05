import pytest

from archives.errors import ArchiveError, Misbehaved, Unreachable
from archives.source import Request
from tests.fakes import Canned, FakeFetcher
from tests.timegate.following.pages import (
    PAGE,
    ListedArchive,
    SourcesByName,
    SourcesOver,
    capture,
)
from timegate.following import ListVersion
from timegate.following.polling import MOST_LISTED, ReadList, read_list
from timegate.resolution.coalescing import Containment

LIST = f"https://archive.example/timemap/{PAGE}"
LINK = "application/link-format"


def timemap(*stamps: str, more: str = "") -> bytes:
    links = [
        f'<https://archive.example/{stamp}/{PAGE}>; rel="memento"; '
        f'datetime="Thu, 0{n} Jan 2015 00:00:00 GMT"'
        for n, stamp in enumerate(stamps, start=1)
    ]
    return f'<{PAGE}>; rel="original",\n{",".join(links)}{more}\n'.encode()


async def read(fetch: FakeFetcher, known: ListVersion | None = None) -> ReadList | None:
    return await read_list(SourcesOver(fetch), "a", PAGE, known, Containment())


async def test_a_known_list_is_requested_only_if_it_has_changed() -> None:
    def answer(request: Request) -> Canned:
        if request.headers.get("if-none-match") == '"1"':
            return Canned(304, {"ETag": '"1"'})
        return Canned(200, {"Content-Type": LINK, "ETag": '"1"'}, timemap("20150101000000"))

    fetch = FakeFetcher(answer)

    first = await read(fetch)
    assert first is not None
    second = await read(fetch, first.version)

    assert [memento.stamp for memento in first.captures] == ["20150101000000"]
    assert first.version == ListVersion(LIST, '"1"', "")
    assert second is None
    assert fetch.lines == [f"GET {LIST}"] * 2


async def test_a_list_with_a_time_is_requested_by_its_time() -> None:
    modified = "Thu, 01 Jan 2015 00:00:00 GMT"
    body = timemap("20150101000000")
    fetch = FakeFetcher(lambda _: Canned(200, {"Last-Modified": modified}, body))

    found = await read(fetch, ListVersion(LIST, "", "Wed, 31 Dec 2014 00:00:00 GMT"))

    assert found is not None
    assert found.version == ListVersion(LIST, "", modified)
    assert dict(fetch.journal[0].headers) == {
        "if-modified-since": "Wed, 31 Dec 2014 00:00:00 GMT"
    }


async def test_a_list_of_several_documents_has_no_version() -> None:
    more = (
        ',\n<https://archive.example/timemap/2>; rel="timemap"; type="application/link-format"'
    )
    fetch = FakeFetcher(
        {
            LIST: Canned(200, {"ETag": '"1"'}, timemap("20150101000000", more=more)),
            "https://archive.example/timemap/2": Canned(
                200, {"ETag": '"2"'}, timemap("20150101000001")
            ),
        }
    )

    found = await read(fetch)

    assert found is not None
    assert len(found.captures) == 2
    assert found.version is None


async def test_an_unrequested_304_is_no_answer() -> None:
    with pytest.raises(ArchiveError):
        await read(FakeFetcher(lambda _: Canned(304)))


@pytest.mark.parametrize("etag", ['"\xff"', '"a\x7f"', '"' + "a" * 300 + '"'])
async def test_a_version_that_cannot_be_sent_back_is_dropped(etag: str) -> None:
    fetch = FakeFetcher(lambda _: Canned(200, {"ETag": etag}, timemap("20150101000000")))

    found = await read(fetch)

    assert found is not None
    assert found.version is None


async def test_an_incomplete_list_is_no_list() -> None:
    broken = ListedArchive(
        captures=[capture("20150101000000")], error=Unreachable("a", PAGE, "stalls")
    )

    with pytest.raises(Unreachable):
        await read_list(SourcesByName(broken), "a", PAGE, None, Containment())


async def test_a_list_without_end_is_refused() -> None:
    endless = ListedArchive(captures=[capture("20150101000000")] * (MOST_LISTED + 1))

    with pytest.raises(Misbehaved, match="too many to follow"):
        await read_list(SourcesByName(endless), "a", PAGE, None, Containment())
