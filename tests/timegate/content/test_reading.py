import asyncio

import msgspec

from timegate.content.main_text import MOST_OCTETS, NotRead, PageText
from timegate.content.reading import TextReader, answered

PAGE = b"<title>A page</title><p>Some words"
HOSTILE = b"<div>" * 400_000


def title(found: PageText | NotRead) -> str:
    return found.title if isinstance(found, PageText) else found.reason


async def test_one_process_reads_page_after_page() -> None:
    async with TextReader() as reader:
        assert title(await reader.read(PAGE, "text/html")) == "A page"
        assert title(await reader.read(b"<title>Another</title>", "")) == "Another"
        assert title(await reader.read(b"GIF89a", "image/gif")) == "media-type"


async def test_a_hostile_page_costs_itself_only() -> None:
    async with TextReader() as reader:
        assert title(await reader.read(HOSTILE, "text/html")) == "too-long"
        assert title(await reader.read(PAGE, "text/html")) == "A page"


async def test_pages_that_are_read_at_once_get_their_own_texts() -> None:
    async with TextReader() as reader:
        pages = [f"<title>{number}</title>".encode() for number in range(20)]
        found = await asyncio.gather(*(reader.read(page, "text/html") for page in pages))
    assert [title(each) for each in found] == [str(number) for number in range(20)]


async def test_a_cancelled_reading_leaves_no_answer_for_the_next_page() -> None:
    async with TextReader() as reader:
        await reader.read(PAGE, "text/html")
        task = asyncio.ensure_future(reader.read(HOSTILE, "text/html"))  # noqa: TID251
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert title(await reader.read(PAGE, "text/html")) == "A page"


async def test_too_large_a_page_starts_no_process() -> None:
    async with TextReader() as reader:
        assert title(await reader.read(bytes(MOST_OCTETS + 1), "text/html")) == "too-large"


def test_the_process_answers_a_frame_with_a_frame() -> None:
    answer = answered(msgspec.msgpack.encode([PAGE, "text/html"]))
    assert msgspec.msgpack.decode(answer)[0]["title"] == "A page"
