"""Answers of the front page: sent as they come, the same as JSON, and fit for their cause."""

import json
from dataclasses import replace
from urllib.parse import quote, urlencode

import pytest

from archives.errors import Resting, Unreachable
from archives.model import ArchiveEntry, Canary, Closest
from archives.moment import Moment
from archives.registry import Registry, load_known
from tests.scenario import FakeArchive
from tests.timegate.pages.served_pages import BROWSER, Html, dechunked, site
from timegate.pages.form import FormFields
from timegate.pages.home import examples
from timegate.pages.rendering import Pages

EXACT = "20160122112029"
LATER = "20160125112029"
URL = "http://example.org/"
PWID = f"urn:pwid:a.example:2016-01-22T11:20:29Z:page:{URL}"


def asking(q: str, at: str = "") -> str:
    return f"/?q={quote(q, safe='')}" + (f"&at={quote(at)}" if at else "")


def _json_link(page: Html) -> str:
    return next(link for link in page.links if "as=json" in link)


async def test_the_json_of_an_answer_waits_as_long_as_its_page() -> None:
    async with site(FakeArchive("a", 0.0, (LATER,)), FakeArchive("b", 0.3, (EXACT,))) as served:
        page = Html((await served.ask(asking(URL, "2016-01-22"), BROWSER)).body.decode())
        link = _json_link(page)

    assert link.startswith("/answers/")
    assert link.endswith(
        "/duri%3A2016-01-22%3Ahttp%3A//example.org/?as=json&wait=0.5&verify=head"
    )


async def test_the_json_of_an_answer_is_about_the_same_memento() -> None:
    # Without a time to wait, b would be too slow.
    archives = FakeArchive("a", 0.0, (LATER,)), FakeArchive("b", 0.3, (EXACT,))
    async with site(*archives) as served:
        text = (await served.ask(asking(URL, "2016-01-22"), BROWSER)).body.decode()
        link = _json_link(Html(text))
        answer = json.loads((await served.ask(link, ("Cache-Control", "no-cache"))).body)

    assert answer["memento"]["uri"] == f"http://b/{EXACT}/{URL}"
    assert answer["memento"]["uri"] in Html(text).links


async def test_the_json_of_an_answer_has_its_doubt_about_the_date() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        text = (await served.ask(asking(f"Smith (2009). {URL}"), BROWSER)).body.decode()
        answer = json.loads((await served.ask(_json_link(Html(text)))).body)

    assert answer["headline"] == "Found, but another date may be meant"
    assert answer["headline"] in Html(text).text


async def test_a_doubt_about_the_link_is_not_called_one_about_the_date() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        text = (await served.ask(asking(URL.replace("http:", "htp:")), BROWSER)).body.decode()
        answer = json.loads((await served.ask(_json_link(Html(text)))).body)

    assert answer["headline"] == "Found, but another link may be meant"
    assert "The link may be incomplete or altered" in Html(text).text


async def test_the_json_of_an_answer_has_the_preferences_of_its_page() -> None:
    archives = FakeArchive("a", 0.0, (LATER,)), FakeArchive("b", 0.0, (EXACT,))
    parameters = "archives=a&tolerance=30d&direction=after"
    async with site(*archives) as served:
        seen = await served.ask(f"/resolve/{PWID}?as=html&{parameters}", BROWSER)

    link = _json_link(Html(seen.body.decode()))
    assert link.endswith("?as=json&archives=a&tolerance=P0Y30DT0S&direction=after")


async def test_the_json_of_an_answer_is_this_very_answer() -> None:
    archive = FakeArchive("a", 0.0, (EXACT,))
    async with site(archive) as served:
        link = _json_link(Html((await served.ask(asking(PWID), BROWSER)).body.decode()))
        archive.stamps = ()
        first = await served.ask(link, ("Cache-Control", "no-cache"))
        requests = served.world.requests()
        again = await served.ask(link, ("Cache-Control", "no-cache"))
        new = await served.ask(link.replace("/answers/", "/answers/0"))

    assert json.loads(first.body)["memento"]["datetime"] == "2016-01-22T11:20:29Z"
    assert json.loads(first.body)["headline"] == "Exactly as requested"
    assert again.body == first.body
    assert served.world.requests() == requests
    # An answer that is no longer kept is made again.
    assert new.status == 302
    assert new.headers["Location"].startswith("https://gate.example/resolve/urn%3Apwid")


async def test_a_slow_answer_is_sent_behind_the_form_and_the_archives_that_answered() -> None:
    archives = FakeArchive("a", 0.0, (EXACT,)), FakeArchive("b", 0.4, (LATER,))
    async with site(*archives) as served:
        seen = await served.ask(asking(PWID), BROWSER)
        program = await served.ask(asking(PWID), ("Accept", "*/*"))

    page = Html(dechunked(seen.body).decode())
    places = [
        page.text.index(words)
        for words in (
            "Reference to an archived page",
            "Searching 2 archives: a, b.",
            "a has a copy from 22 January 2016",
            "Exactly as requested",
        )
    ]
    assert places == sorted(places)
    assert seen.body.rstrip().endswith(b"0")
    assert "Transfer-Encoding" not in program.headers


async def test_the_verdict_has_the_match_of_the_header() -> None:
    async with site(FakeArchive("a", 0.0, (LATER,))) as served:
        near = Html((await served.ask(asking(PWID), BROWSER)).body.decode())
        none = Html((await served.ask(asking("http://none.example/"), BROWSER)).body.decode())

    (first,) = [tag for tag in near.all("h2") if tag.get("id") == "verdict"]
    (second,) = [tag for tag in none.all("h2") if tag.get("id") == "verdict"]
    assert (first["data-match"], second["data-match"]) == ("approximate", "none")


async def test_without_a_network_that_is_said_once_with_what_to_do() -> None:
    class Lost(FakeArchive):
        async def closest(self, original: str, at: Moment | None) -> Closest | None:
            del at
            raise Unreachable(self.name, original, "it has no address", no_network=True)

    async with site(Lost("a", 0.0), Lost("b", 0.0)) as served:
        seen = await served.ask(asking(PWID), BROWSER)
        document = json.loads((await served.ask(_json_link(Html(seen.body.decode())))).body)
    async with site(Lost("a", 0.0), FakeArchive("b", 0.0)) as served:
        other = Html((await served.ask(asking(PWID), BROWSER)).body.decode())

    page = Html(seen.body.decode())
    assert seen.status == 504
    assert "This server seems to have no network" in page.text
    assert page.text.count("it has no address") == 1
    assert document["title"] == "This server seems to have no network"
    assert "no network" not in other.text


async def test_without_a_network_a_pause_is_no_answer_of_an_archive() -> None:
    class Paused(FakeArchive):
        async def closest(self, original: str, at: Moment | None) -> Closest | None:
            del at
            why = "it has no address"
            raise Resting(self.name, original, "3 failures in a row", 27, no_network=why)

    async with site(Paused("a", 0.0), Paused("b", 0.0)) as served:
        seen = await served.ask(asking(PWID), BROWSER)
        document = json.loads((await served.ask(f"/resolve/{PWID}?as=json")).body)
        problem = await served.ask(f"/resolve/{PWID}", BROWSER)

    page = Html(seen.body.decode())
    assert "none of the 2 archives could be reached (it has no address)" in document["detail"]
    assert document["title"] in page.text
    for shown in (page.text, Html(problem.body.decode()).text):
        assert "This server seems to have no network" in shown
        assert "Archives that were searched" not in shown


async def test_addresses_that_may_be_the_same_page_are_links() -> None:
    url = "https://www.example.org/a/index.html?utm_source=x&b=1"
    async with site(FakeArchive("a", 0.0)) as served:
        page = Html((await served.ask(asking(url, "2010"), BROWSER)).body.decode())

    others = [
        "https://www.example.org/a/index.html?b=1",
        "https://www.example.org/a/?b=1",
        "https://example.org/a/?b=1",
    ]
    for other in others:
        assert f"/?{urlencode({'q': other, 'at': '2010'})}" in page.links


@pytest.mark.parametrize("path", ["/abuot", "/docs/nosuch"])
async def test_a_mistyped_address_links_the_documentation(path: str) -> None:
    async with site(FakeArchive("a", 0.0)) as served:
        seen = await served.ask(path, BROWSER)

    page = Html(seen.body.decode())
    assert seen.status == 404
    assert {"/docs", "/docs/api"} <= set(page.links)


def entry_with(**members: object) -> ArchiveEntry:
    return replace(FakeArchive("a").entry, **members)  # type: ignore[arg-type]


def test_the_examples_fit_the_archives_in_use() -> None:
    known = load_known().entries
    web = Registry([replace(entry, use=entry.id == "internet-archive") for entry in known])
    held = Canary(has="http://held.example/", at="20100101000000")
    own = Registry([entry_with(use=True, canary=held, pwid=("a.example",))])
    dated = Registry([entry_with(use=True, canary=Canary(has="http://held.example/"))])
    nothing = Registry([replace(entry, use=entry.id == "arquivo-pt") for entry in known])

    assert "archive.org" in examples(web)[0].text
    assert [example.text for example in examples(own)] == [
        "urn:pwid:a.example:2010-01-01T00:00:00Z:page:http://held.example/",
        "duri:2010-01-01T00:00:00Z:http://held.example/",
        "http://held.example/, 2010-01-01",
    ]
    assert [example.text for example in examples(dated)] == ["http://held.example/"]
    assert examples(nothing) == ()


async def test_the_front_page_without_examples_shows_how_references_are_written() -> None:
    async with site(FakeArchive("a", 0.0)) as served:
        page = Html((await served.ask("/", BROWSER)).body.decode())

    assert "these only show how references are written" in page.text
    assert not any("q=" in link for link in page.links)


def test_every_page_of_the_demo_says_so() -> None:
    missing = dict.fromkeys(("refusal", "query", "answer", "several", "missing"))
    values = {"form": FormFields(), "examples": (), "waiting": (), "token": "", **missing}
    text = Pages(is_demo=True).render("home", **values)
    other = Pages().render("home", **values)

    assert "This is a demo." in text
    assert "This is a demo." not in other


async def test_the_front_page_describes_itself_and_its_field_has_the_focus() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        front = Html((await served.ask("/", BROWSER)).body.decode())
        answer = Html((await served.ask(asking(PWID), BROWSER)).body.decode())

    names = {meta.get("name") or meta.get("property") for meta in front.all("meta")}
    assert {"description", "og:title", "og:description", "og:type"} <= names
    assert "autofocus" in front.all("textarea")[0]
    assert "autofocus" not in answer.all("textarea")[0]
    assert {link["rel"] for link in front.all("link")} == {"stylesheet", "icon"}
