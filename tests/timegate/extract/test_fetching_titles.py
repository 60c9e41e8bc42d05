"""Titles of archived pages."""

import pytest

from archives.errors import Misbehaved
from tests.fakes import Canned, FakeFetcher
from tests.timegate.extract.copies import COPY, DATED, RAW
from timegate.extract.fetching import archived_title

HTML = {**DATED, "Content-Type": "text/html; charset=utf-8"}


async def titled(answer: Canned) -> str | None:
    return await archived_title(COPY, FakeFetcher({RAW: answer}))


async def test_the_title_is_read_from_the_copy() -> None:
    page = "<html><title>Museum på Ærø</title>".encode()

    assert await titled(Canned(200, HTML, page)) == "Museum på Ærø"


async def test_only_the_beginning_is_read() -> None:
    pieces = [b"<title>Long</title>", *[b"x" * 60_000] * 3, b"<never>"]
    near = Canned(200, HTML, pieces)
    far = Canned(200, HTML, [*pieces[1:], b"<title>Late</title>"])

    assert await titled(near) == "Long"
    assert await titled(far) is None


@pytest.mark.parametrize("status", [404, 301])
async def test_an_archived_error_has_no_title(status: int) -> None:
    assert await titled(Canned(status, HTML, b"<title>404 Not Found</title>")) is None


async def test_a_barrier_is_not_a_copy() -> None:
    with pytest.raises(Misbehaved, match="without Memento-Datetime"):
        await titled(Canned(200, {"Content-Type": "text/html"}, b"<title>Human?</title>"))


async def test_a_copy_without_raw_view_has_no_title() -> None:
    with pytest.raises(Misbehaved, match="does not offer the bytes"):
        await archived_title(COPY._replace(raw=None), FakeFetcher({}))
