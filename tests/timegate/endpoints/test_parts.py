"""`/parts/{identifier}`: formats, refusals, and the header."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import http_sf
import pytest

from archives.errors import Misbehaved
from archives.model import Memento
from tests.scenario import FakeArchive, World
from tests.timegate.endpoints.served import QUICK, Seen, Site, dispatch_to, entries, resolve_of
from timegate.endpoints.parts import PARTS_FORMS, PartsEndpoint
from timegate.pages.rendering import Pages
from timegate.parts.coherence import Coherence
from timegate.parts.composite import CompositeMemento, Part, PartLimits
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Preferences
from timegate.responses.answers import Answers
from timegate.server.listener import listening

URL = "http://example.org/"
REFERENCE = f"duri:2016-01:{URL}"


class Parts:
    """The parts of every page: one that was found, and one with markup in its name."""

    def __init__(self, error: str = "", of: str = "") -> None:
        """Raise *error* for every page, or for those of one archive."""
        self.error = error
        self.broken = of
        self.asked = 0
        self.preferences = Preferences()

    async def of(
        self,
        memento: Memento,
        context: RequestContext,
        limits: PartLimits | None,
        preferences: Preferences,
    ) -> CompositeMemento:
        del context, limits
        self.preferences = preferences
        self.asked += 1
        if self.error and self.broken in ("", memento.archive):
            raise Misbehaved(memento.archive, memento.uri, self.error)
        image = memento._replace(original=f"{URL}cat.jpg", status=200)
        parts = (
            Part(
                f"{URL}cat.jpg",
                "image",
                "img src",
                URL,
                "found",
                memento=image,
                offset=0,
                coherence=Coherence.COHERENT,
            ),
            Part(f"{URL}<script>", "script", "script src", URL, "missing", why="<b>no</b>"),
        )
        return CompositeMemento(memento, parts)


@asynccontextmanager
async def site(parts: Parts, *archives: FakeArchive) -> AsyncIterator[Site]:
    held = FakeArchive("a", stamps=("20160122112029",))
    world = World(*(archives or (held,)), deadlines=QUICK)
    registry = entries(world)
    answers = Answers(world.resolver, registry, "https://gate.example")
    resolve = resolve_of(answers, registry)
    endpoint = PartsEndpoint(
        answers, resolve, registry, parts.of, Pages("https://gate.example")
    )
    dispatch = dispatch_to(resolve, prefixes={"/parts/": endpoint})
    async with world.coalescer, listening(dispatch, "127.0.0.1", 0) as port:
        yield Site(port, world)


async def asked(target: str, *headers: tuple[str, str], parts: Parts | None = None) -> Seen:
    async with site(parts or Parts()) as served:
        return await served.ask(f"/parts/{target}", *headers)


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("text/uri-list", "text/uri-list"),
        ("application/linkset+json", "application/linkset+json"),
        ("text/csv, application/json;q=0.5", "text/csv"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8"),
        ("image/png", "application/json"),
    ],
)
async def test_accept_chooses_the_format(accept: str, media_type: str) -> None:
    answer = await asked(REFERENCE, ("Accept", accept))

    assert (answer.status, answer.headers["Content-Type"]) == (200, media_type)
    assert "accept" in answer.headers["Vary"]


@pytest.mark.parametrize("form", PARTS_FORMS)
async def test_a_parameter_chooses_the_format(form: str) -> None:
    answer = await asked(f"{REFERENCE}?as={form}")

    assert answer.status == 200
    assert answer.body


async def test_the_header_sums_the_parts_up() -> None:
    answer = await asked(REFERENCE)

    field = answer.headers["Memento-Precision"].encode("ascii")
    written: Any = http_sf.parse(field, tltype="dictionary")
    assert written["parts"] == (2, {"found": 1, "missing": 1})
    assert written["spread"][0] == "PT0S/PT0S"
    assert written["coherence"][0] == http_sf.Token("prima-facie-coherent")
    assert answer.headers["Cache-Control"] == "no-cache"


async def test_the_archives_of_the_request_are_those_of_its_parts() -> None:
    parts = Parts()

    answer = await asked(f"{REFERENCE}?archives=a&exclude=b", parts=parts)

    assert answer.status == 200
    assert parts.preferences.archives == frozenset({"a"})
    assert parts.preferences.exclude == frozenset({"b"})


async def test_the_list_begins_with_the_page() -> None:
    answer = await asked(f"{REFERENCE}?as=uri-list")

    assert answer.body.decode().split("\r\n") == [
        "urn:pwid:a.example:2016-01-22T11:20:29Z:page:http://example.org/",
        "urn:pwid:a.example:2016-01-22T11:20:29Z:part:http://example.org/cat.jpg",
        "",
    ]


async def test_the_page_shows_each_part_as_text() -> None:
    answer = await asked(REFERENCE, ("Accept", "text/html"))

    shown = answer.body.decode()
    assert "cat.jpg" in shown
    assert "prima facie coherent" in shown
    assert "<script>" not in shown.partition("<main")[2]
    assert "&lt;b&gt;no&lt;/b&gt;" in shown


async def test_unknown_formats_and_parameters_are_refused() -> None:
    form = await asked(f"{REFERENCE}?as=xml")
    name = await asked(f"{REFERENCE}?as=json&x=1")

    assert (form.status, name.status) == (400, 400)
    assert "linkset" in json.loads(form.body)["detail"]


async def test_a_page_that_cannot_be_read_is_a_failure_of_its_archive() -> None:
    answer = await asked(REFERENCE, parts=Parts("sends a page without Memento-Datetime"))

    assert answer.status == 502
    assert "sends a page" in json.loads(answer.body)["detail"]


async def test_without_a_page_nothing_is_looked_for() -> None:
    parts = Parts()

    async with site(parts, FakeArchive("a", stamps=())) as served:
        answer = await served.ask(f"/parts/{REFERENCE}")

    assert answer.status == 404
    assert parts.asked == 0


async def test_the_copy_of_another_archive_is_taken_if_a_page_cannot_be_read() -> None:
    """The verdict counts the archive that failed."""
    broken = FakeArchive("a", stamps=("20160122112029",))
    good = FakeArchive("b", stamps=("20160202112029",))
    parts = Parts("body breaks off", of="a")

    async with site(parts, broken, good) as gate:
        answer = await gate.ask(f"/parts/{REFERENCE}?as=json")

    assert (answer.status, parts.asked) == (200, 2)
    assert "failed=1" in answer.headers["Memento-Precision"]
    assert "20160202112029" in answer.body.decode()


async def test_without_another_copy_the_failure_is_named() -> None:
    broken = FakeArchive("a", stamps=("20160122112029",))

    async with site(Parts("body breaks off", of="a"), broken, FakeArchive("b")) as gate:
        answer = await gate.ask(f"/parts/{REFERENCE}?as=json")

    assert answer.status == 502
    assert "body breaks off" in json.loads(answer.body)["detail"]
