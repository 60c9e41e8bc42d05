"""`/cite`: citations with the title of the page."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from archives.errors import Misbehaved
from archives.model import Memento
from tests.scenario import FakeArchive, World
from tests.timegate.endpoints.served import QUICK, Seen, Site, dispatch_to, entries, resolve_of
from timegate.citations.forms import FORMS
from timegate.endpoints.cite import CiteEndpoint
from timegate.pages.rendering import Pages
from timegate.resolution.context import RequestContext
from timegate.responses.answers import Answers
from timegate.server.listener import listening

URL = "http://example.org/"
REFERENCE = f"duri:2016-01:{URL}"


class Titles:
    """Titles of archived pages."""

    def __init__(self, title: str | None = "The <Title>", error: str | None = None) -> None:
        self.title = title
        self.error = error
        self.asked = 0

    async def of(self, memento: Memento, context: RequestContext) -> str | None:
        del context
        self.asked += 1
        if self.error:
            raise Misbehaved(memento.archive, memento.uri, self.error)
        return self.title


@asynccontextmanager
async def site(titles: Titles, *archives: FakeArchive) -> AsyncIterator[Site]:
    held = FakeArchive("a", stamps=("20160122112029",))
    world = World(*(archives or (held,)), deadlines=QUICK)
    registry = entries(world)
    answers = Answers(world.resolver, registry, "https://gate.example")
    pages = Pages("https://gate.example")
    resolve = resolve_of(answers, registry)
    cite = CiteEndpoint(
        answers,
        resolve,
        registry,
        titles.of,
        pages,
        now=lambda: datetime(2026, 11, 17, tzinfo=UTC),
    )
    dispatch = dispatch_to(resolve, exact={"/cite": cite})
    async with world.coalescer, listening(dispatch, "127.0.0.1", 0) as port:
        yield Site(port, world)


async def asked(titles: Titles, query: str, *headers: tuple[str, str]) -> Seen:
    async with site(titles) as served:
        return await served.ask(f"/cite?{query}", *headers)


IDENTIFIER = f"id={quote(REFERENCE, safe='')}"


async def test_all_forms_have_the_title_of_the_copy() -> None:
    answer = await asked(Titles(), IDENTIFIER)

    document = json.loads(answer.body)
    assert answer.status == 200
    assert document["title"] == "The <Title>"
    assert document["title-source"] == "copy"
    assert set(document["citations"]) <= set(FORMS)
    assert not any("2026" in text for text in document["citations"].values())
    assert "The &#60;Title&#62;" in document["citations"]["cs1"]


async def test_a_title_that_the_user_gives_needs_no_request() -> None:
    titles = Titles()

    answer = await asked(titles, f"{IDENTIFIER}&title=Mine")

    assert json.loads(answer.body)["title"] == "Mine"
    assert titles.asked == 0


async def test_a_missing_title_is_explained_and_the_citations_are_there() -> None:
    answer = await asked(Titles(error="sent an error page"), IDENTIFIER)

    document = json.loads(answer.body)
    assert document["title"] is None
    assert "sent an error page" in document["title-error"]
    assert document["citations"]["apa"].startswith("example.org.")


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("ris", "application/x-research-info-systems; charset=utf-8"),
        ("apa", "text/plain; charset=utf-8"),
    ],
)
async def test_one_form_is_sent_as_text(form: str, kind: str) -> None:
    answer = await asked(Titles(), f"{IDENTIFIER}&format={form}")

    assert answer.headers["Content-Type"] == kind
    assert b"The <Title>" in answer.body


async def test_a_browser_gets_a_page_with_a_preview_of_the_robust_link() -> None:
    answer = await asked(Titles(), IDENTIFIER, ("Accept", "text/html"))

    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b"The &lt;Title&gt;" in answer.body
    assert b"<Title>" not in answer.body
    assert b'data-versiondate="2016-01-22"' in answer.body


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("", "write /cite?id="),
        ("id=", "write /cite?id="),
        (f"{IDENTIFIER}&format=word", "format must be one of"),
        (f"{IDENTIFIER}&url-status=gone", "url-status must be one of"),
        (f"{IDENTIFIER}&forma=ris", "Did you mean format?"),
        ("&".join(["id=x"] * 20), "at most"),
    ],
)
async def test_bad_parameters_are_explained(query: str, why: str) -> None:
    answer = await asked(Titles(), query)

    assert answer.status == 400
    assert why in json.loads(answer.body)["detail"]


async def test_without_a_copy_the_answer_is_that_of_resolve() -> None:
    titles = Titles()
    async with site(titles, FakeArchive("a")) as served:
        answer = await served.ask(f"/cite?{IDENTIFIER}")

    assert answer.status == 404
    assert titles.asked == 0


@pytest.mark.parametrize("day", ["2010-11-05", "5 November 2010"])
async def test_the_day_of_access_is_in_the_citations(day: str) -> None:
    query = f"{IDENTIFIER}&access-date={quote(day)}"

    citations = json.loads((await asked(Titles(), query)).body)["citations"]

    assert citations["cs1"].endswith("|access-date=2010-11-05}}")
    assert "urldate = {2010-11-05}" in citations["bibtex"]


async def test_a_missing_reference_is_explained_with_an_example() -> None:
    seen = await asked(Titles(), "title=x")

    assert seen.status == 400
    assert "as in /cite?id=duri:2016:http" in json.loads(seen.body)["detail"]


@pytest.mark.parametrize(
    ("day", "why"),
    [("banana", "is not a time"), ("2010", "is not a day"), ("2099-01-01", "is in the future")],
)
async def test_a_day_of_access_that_cannot_be_is_refused(day: str, why: str) -> None:
    seen = await asked(Titles(), f"{IDENTIFIER}&access-date={day}")

    assert seen.status == 400
    assert why in json.loads(seen.body)["detail"]


async def test_a_future_day_of_access_is_explained_beside_its_field() -> None:
    query = f"{IDENTIFIER}&title=Mine&access-date=2099-01-01"

    seen = await asked(Titles(), query, ("Accept", "text/html"))

    page = seen.body.decode()
    assert seen.status == 400
    assert 'value="2099-01-01"' in page
    assert 'aria-invalid="true" aria-describedby="access-error"' in page
    assert 'id="title" name="title" value="Mine"' in page
    assert "2099-01-01 is in the future" in page


CITATION = f"{{{{cite web |url={URL} |title=Theirs |last=Smith |access-date=5 May 2010}}}}"


async def test_a_citation_comes_back_with_the_copy() -> None:
    titles = Titles()

    seen = await asked(titles, f"{IDENTIFIER}&citation={quote(CITATION)}")

    document = json.loads(seen.body)
    assert (document["title"], document["title-source"]) == ("Theirs", "citation")
    assert "|archive-date=22 January 2016 " in document["citations"]["cs1"]
    assert document["citations"]["cs1"].endswith("|access-date=5 May 2010}}")
    assert "Accessed 5 May 2010." in document["citations"]["mla"]
    assert titles.asked == 0


async def test_the_page_keeps_the_citation_in_its_form_and_says_what_is_taken_over() -> None:
    query = f"{IDENTIFIER}&citation={quote(CITATION)}"

    page = (await asked(Titles(), query, ("Accept", "text/html"))).body.decode()

    assert f'<input type="hidden" name="citation" value="{CITATION}">' in page
    assert "take over from your text: title and day of access; not author, work, " in page
    assert "were not read" not in page


async def test_without_a_citation_it_is_said_what_was_not_read() -> None:
    page = (await asked(Titles(), IDENTIFIER, ("Accept", "text/html"))).body.decode()

    assert "Author, publisher and date of the page were not read: add them." in page


@pytest.mark.parametrize(
    ("citation", "why"),
    [
        ("no link", "there is no link in this text"),
        ("See http://a.example/ and http://b.example/", "2 references are in it, not one"),
        ("x" * 4001, "4,000 are allowed"),
    ],
)
async def test_a_text_that_is_not_one_citation_is_refused(citation: str, why: str) -> None:
    seen = await asked(Titles(), f"{IDENTIFIER}&citation={quote(citation)}")

    assert seen.status == 400
    assert why in json.loads(seen.body)["detail"]
