"""`/diff/{identifier}/{stamp}`: the page, the JSON, and refusals."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from archives.model import Memento
from tests.scenario import FakeArchive, World
from tests.timegate.endpoints.served import QUICK, Seen, Site, dispatch_to, entries, resolve_of
from timegate.content.findings import UnreadCopy
from timegate.content.text_diff import TextDiff, text_diff
from timegate.endpoints.diff import DiffEndpoint
from timegate.pages.rendering import Pages
from timegate.resolution.context import RequestContext
from timegate.responses.answers import Answers
from timegate.server.listener import listening

URL = "http://example.org/"
REFERENCE = f"duri:2016-01:{URL}"
BROWSER = ("Accept", "text/html")


class Texts:
    """Texts of copies, by year."""

    def __init__(self, **texts: str) -> None:
        self.texts = texts

    async def diff(
        self, first: Memento, second: Memento, context: RequestContext
    ) -> TextDiff | UnreadCopy:
        del context
        for memento in (first, second):
            if f"y{memento.stamp[:4]}" not in self.texts:
                return UnreadCopy(memento, "the archive <b>did not answer</b>")
        texts = (self.texts[f"y{memento.stamp[:4]}"] for memento in (first, second))
        return text_diff(*texts)


TEXTS = Texts(
    y2016="\n".join(["Title", *(f"line {n}" for n in range(20)), "open <b>all</b> year"]),
    y2012="\n".join(["Title", *(f"line {n}" for n in range(20)), "open <b>half</b> the year"]),
)


@asynccontextmanager
async def site(texts: Texts) -> AsyncIterator[Site]:
    held = FakeArchive("a", stamps=("20120101000000", "20160122112029"))
    world = World(held, deadlines=QUICK)
    registry = entries(world)
    answers = Answers(world.resolver, registry, "https://gate.example")
    resolve = resolve_of(answers, registry)
    pages = Pages("https://gate.example")
    endpoint = DiffEndpoint(answers, resolve, registry, texts, pages)
    dispatch = dispatch_to(resolve, prefixes={"/diff/": endpoint})
    async with world.coalescer, listening(dispatch, "127.0.0.1", 0) as port:
        yield Site(port, world)


async def asked(target: str, *headers: tuple[str, str], texts: Texts = TEXTS) -> Seen:
    async with site(texts) as opened:
        return await opened.ask(target, *headers)


async def test_two_copies_are_compared() -> None:
    seen = await asked(f"/diff/{REFERENCE}/2012")
    document = json.loads(seen.body)
    assert [copy["datetime"] for copy in document["copies"]] == [
        "2012-01-01T00:00:00Z",
        "2016-01-22T11:20:29Z",
    ]
    assert document["lines"] == {"same": 21, "changed": 1, "added": 0, "removed": 0}
    assert document["changes"][0]["left"] == "open <b>half</b> the year"
    assert document["changes"][0]["right"] == "open <b>all</b> year"
    assert "match=within" in seen.headers["Memento-Precision"]


async def test_the_page_marks_what_changed_and_escapes_it() -> None:
    seen = await asked(f"/diff/{REFERENCE}/2012", BROWSER)
    page = seen.body.decode()
    assert "<ins>&lt;b&gt;all&lt;/b&gt; </ins>" in page
    assert "half" in page
    assert "19 equal lines" in page
    assert "22 January 2016" in page


async def test_the_older_copy_is_on_the_left_in_whichever_order_they_are_named() -> None:
    documents = [
        json.loads((await asked(f"/diff/duri:{at}:http://example.org//{other}")).body)
        for at, other in (("2012", "2016"), ("2016", "2012"))
    ]
    for document in documents:
        assert [copy["datetime"][:4] for copy in document["copies"]] == ["2012", "2016"]
    assert documents[0]["changes"] == documents[1]["changes"]


async def test_the_same_copy_is_said_to_be_the_same() -> None:
    seen = await asked(f"/diff/{REFERENCE}/20160122", BROWSER)
    assert "Both are the same copy" in seen.body.decode()


async def test_a_copy_that_cannot_be_read_is_no_difference() -> None:
    seen = await asked(f"/diff/{REFERENCE}/2012", texts=Texts(y2016="x"))
    assert seen.status == 502
    assert "2012-01-01" in json.loads(seen.body)["detail"]


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (f"/diff/{REFERENCE}", 400),
        (f"/diff/{REFERENCE}/20129999", 400),
        (f"/diff/{REFERENCE}/2012?as=pdf", 400),
        ("/diff/nonsense:/2012", 422),
        ("/diff/duri:2016:http://nowhere.example//2012", 404),
    ],
)
async def test_what_cannot_be_compared_is_refused(target: str, status: int) -> None:
    assert (await asked(target)).status == status
