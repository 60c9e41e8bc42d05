"""Texts of copies: a text is only returned if the whole file was read."""

import pytest

from tests.fakes import Canned, FakeFetcher
from tests.timegate.extract.test_titles import HEADERS, KNOWN, MEMENTO, RAW
from timegate.content.findings import CopyText, UnreadCopy
from timegate.content.main_text import NotRead, PageText
from timegate.extract.archived_files import ArchivedFiles
from timegate.extract.copy_texts import CopyTexts
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import UNLIMITED, Budget


class Upper:
    """A reader whose text is the page in capitals."""

    async def read(self, octets: bytes, content_type: str) -> PageText | NotRead:
        if content_type != "text/html":
            return NotRead("media-type", f"no text is read from {content_type}")
        return PageText(text=octets.decode().upper())


async def text(page: Canned, most: int = 100) -> CopyText | UnreadCopy:
    fetch = FakeFetcher({RAW: page}, ["a.host"])
    files = ArchivedFiles({"a": fetch}, KNOWN, Containment())
    return await CopyTexts(files, Upper(), KNOWN).of(MEMENTO, UNLIMITED, Budget(), most)


async def test_the_text_of_a_copy_is_read() -> None:
    read = await text(Canned(200, HEADERS, b"page"))
    assert read == CopyText(MEMENTO, PageText(text="PAGE"), b"page")


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (Canned(404, HEADERS, b"gone"), "an archived error (404)"),
        (Canned(301, {**HEADERS, "X-Archive-Orig-Location": "/x"}), "a redirect"),
        (Canned(200, {**HEADERS, "Content-Type": "image/png"}, b"png"), "image/png"),
        (Canned(503, {}, b"busy"), "503"),
        (Canned(200, HEADERS, b"x" * 101), "larger than 100 bytes"),
    ],
)
async def test_what_cannot_be_read_whole_is_not_a_text(page: Canned, why: str) -> None:
    read = await text(page)
    assert isinstance(read, UnreadCopy)
    assert why in read.why
