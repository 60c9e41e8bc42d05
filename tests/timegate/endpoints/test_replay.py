"""Whole pages over HTTP: the frame, the document in it, its parts, and where they come from."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from archives.moment import Moment
from archives.warc_index.building import index_collection
from tests import archived_sites as sites
from tests.archived_sites import ArchivedPart, write_warc
from tests.scenario import World
from tests.timegate.endpoints.served import Site
from tests.whole_server import running_server
from timegate.config import load_config

GATE = "http://gate.example"
PAGE = "http://page.example/"
BROWSER = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
EARLY, LATE = "2010-06-01T12:00:00Z", "2015-01-01T00:00:00Z"
FIRST = (
    ArchivedPart(PAGE, b"<img src=a.png><a href=next.html>n</a><script>x</script>"),
    ArchivedPart(f"{PAGE}a.png", sites.RED, sites.IMAGE, EARLY),
    ArchivedPart(f"{PAGE}a.png", sites.BLUE, sites.IMAGE, LATE),
    ArchivedPart(f"{PAGE}moved.png", b"", status="301 Moved", location="/a.png"),
    ArchivedPart(f"{PAGE}gone.png", b"", status="404 Not Found"),
    ArchivedPart(f"{PAGE}plain.css", b"a{b:url(c.png)}", "text/plain"),
    ArchivedPart(f"{PAGE}huge", b"".join(b"<b id=%d>" % n for n in range(150_000))),
    ArchivedPart(f"{PAGE}file.pdf", b"%PDF", "application/pdf"),
    ArchivedPart(f"{PAGE}picture", sites.RED, sites.IMAGE),
)
SECOND = (
    ArchivedPart(f"{PAGE}gone.png", sites.GREEN, sites.IMAGE, LATE),
    ArchivedPart(f"{PAGE}a.png", sites.GOLD, sites.IMAGE, EARLY),
)


@asynccontextmanager
async def served(folder: Path, settings: str = "", host: str = "x") -> AsyncIterator[Site]:
    config = f'base_url = "{GATE}"\n[archives]\nuse = []\n{settings}\n'
    for name, parts in {"first": FIRST, "second": SECOND}.items():
        write_warc(folder / name, parts)
        index_collection(folder / name)
        config += f'[[archive]]\nid = "{name}"\nname = "The {name}"\nkind = "warc"\n'
        config += f'path = "{folder / name}"\npwid = ["{name}.example"]\n'
    (folder / "timegate.toml").write_text(config)
    async with running_server(load_config(folder / "timegate.toml"), GATE) as port:
        yield Site(port, World(), host)


def inside(use: str, url: str, route: str = "view") -> str:
    return f"/{route}/2010-{sites.STAMP}@first.{use}/{url}"


async def test_the_frame_says_what_is_shown_and_holds_the_document(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        seen = await site.ask(f"/view/2010/{PAGE}", BROWSER)

    page = seen.body.decode()
    assert seen.status == 200
    assert f'src="{GATE}{inside("mp_", PAGE)}" sandbox="allow-top-navigation' in page
    assert "1 June 2010, 12:00:00 UTC</time> by The first. Requested: 2010." in page
    assert "Scripts, forms, plug-ins and what they load do not work here" in page
    assert seen.headers["X-Robots-Tag"] == "noindex, nofollow"
    assert "match=" in seen.headers["Memento-Precision"]
    assert "script-src" not in seen.headers["Content-Security-Policy"]
    assert f"frame-src 'self' {GATE}" in seen.headers["Content-Security-Policy"]


async def test_the_document_names_our_addresses_and_runs_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        seen = await site.ask(inside("mp_", PAGE))

    image, link = inside("im_", f"{PAGE}a.png"), f"{GATE}/view/2010/{PAGE}next.html"
    assert seen.body.decode() == f'<img src="{image}"><a href="{link}" target="_top">n</a>'
    policy = seen.headers["Content-Security-Policy"]
    assert policy.startswith(
        "sandbox allow-top-navigation-by-user-activation; default-src 'none'"
    )
    assert "allow-scripts" not in policy
    assert "script-src" not in policy
    assert policy.endswith(f"frame-ancestors {GATE}")
    assert seen.headers["Memento-Datetime"] == "Tue, 01 Jun 2010 12:00:00 GMT"


@pytest.mark.parametrize(
    ("target", "status", "body"),
    [
        (inside("im_", f"{PAGE}a.png"), 200, sites.RED),  # as near to the page as can be
        ("/view/2010-20150101000000@first.im_/" + f"{PAGE}a.png", 200, sites.BLUE),
        ("/view/2010-20100601120000@second.im_/" + f"{PAGE}a.png", 200, sites.GOLD),
        (inside("im_", f"{PAGE}gone.png"), 200, sites.GREEN),  # an error there, held elsewhere
        (inside("im_", f"{PAGE}nowhere.png"), 404, b""),
        (inside("mp_", f"{PAGE}gone.png"), 404, None),  # a page is that of its archive
        (inside("mp_", f"{PAGE}picture"), 200, sites.RED),
    ],
)
async def test_a_part_is_that_of_the_page_s_archive_near_its_time(
    tmp_path: Path, target: str, status: int, body: bytes | None
) -> None:
    async with served(tmp_path) as site:
        seen = await site.ask(target)

    assert seen.status == status
    assert body is None or seen.body == body
    assert "sandbox" in seen.headers["Content-Security-Policy"]


async def test_an_archived_redirect_leads_to_its_target_as_a_part(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        seen = await site.ask(inside("im_", f"{PAGE}moved.png"))

    assert seen.status == 302
    assert seen.headers["Location"] == f"{GATE}{inside('im_', f'{PAGE}a.png')}"


async def test_a_stylesheet_of_another_type_is_one(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        seen = await site.ask(inside("cs_", f"{PAGE}plain.css"))

    assert seen.headers["Content-Type"].startswith("text/css")
    assert seen.body.decode() == f'a{{b:url("{inside("im_", f"{PAGE}c.png")}")}}'


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (f"{PAGE}huge", "This page cannot be shown: it is a document with too many tags"),
        (f"{PAGE}file.pdf", "This is a file (application/pdf), not a page."),
    ],
)
async def test_what_cannot_be_shown_says_so(tmp_path: Path, url: str, words: str) -> None:
    async with served(tmp_path) as site:
        seen = await site.ask(inside("mp_", url))

    assert seen.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert seen.body.decode().startswith(words)


async def test_pages_are_put_together_only_where_it_is_configured(tmp_path: Path) -> None:
    target = f"/reconstruct/2010/{PAGE}"
    async with served(tmp_path) as site:
        off = await site.ask(target)
    async with served(tmp_path, "[reconstruct]\nenabled = true") as site:
        on = await site.ask(target)
        part = await site.ask(inside("im_", f"{PAGE}gone.png", "reconstruct"))

    assert (off.status, on.status, part.body) == (404, 200, sites.GREEN)
    assert on.headers["X-Robots-Tag"] == "noindex, nofollow"


async def test_documents_are_at_the_second_origin_if_there_is_one(tmp_path: Path) -> None:
    settings = '[replay]\nbase_url = "http://bytes.example"'
    async with served(tmp_path, settings, "gate.example") as site:
        frame = await site.ask(f"/view/2010/{PAGE}")
        moved = await site.ask(inside("mp_", PAGE))
    async with served(tmp_path, settings, "bytes.example") as site:
        document = await site.ask(inside("mp_", PAGE))

    assert f'src="http://bytes.example{inside("mp_", PAGE)}"' in frame.body.decode()
    assert "frame-src 'self' http://bytes.example" in frame.headers["Content-Security-Policy"]
    assert moved.headers["Location"] == f"http://bytes.example{inside('mp_', PAGE)}"
    assert f'href="{GATE}/view/2010/{PAGE}next.html"' in document.body.decode()


async def test_the_wayback_address_leads_a_browser_to_the_whole_page(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        near = await site.ask(f"/web/2010/{PAGE}", BROWSER)
        far = await site.ask(f"/web/2019/{PAGE}", BROWSER)
        program = await site.ask(f"/web/2010/{PAGE}", ("Accept", "*/*"))
        framed = await site.ask(f"/web/2010if_/{PAGE}", BROWSER)

    assert (near.status, near.headers["Location"]) == (302, f"{GATE}/view/2010/{PAGE}")
    assert (far.status, b"years earlier" in far.body) == (200, True)
    copy = f"{GATE}/collections/first/{sites.STAMP}/{PAGE}"
    assert [program.headers["Location"], framed.headers["Location"]] == [copy, copy]


async def test_a_person_who_opens_a_capture_gets_the_whole_page(tmp_path: Path) -> None:
    capture = f"/collections/first/{sites.STAMP}"
    opened = ("Sec-Fetch-Dest", "document")
    async with served(tmp_path) as site:
        person = await site.ask(f"{capture}/{PAGE}", BROWSER, opened)
        program = await site.ask(f"{capture}/{PAGE}")
        raw = await site.ask(f"{capture}id_/{PAGE}", BROWSER, opened)

    assert person.status == 302
    assert person.headers["Location"] == f"{GATE}/view/{sites.STAMP}@first/{PAGE}"
    assert (program.status, raw.status) == (200, 200)


async def test_the_page_of_a_named_archive_is_of_no_other_archive(tmp_path: Path) -> None:
    picture = f"{PAGE}gone.png"
    async with served(tmp_path) as site:
        first = await site.ask(f"/view/20150101000000@first/{PAGE}", BROWSER)
        second = await site.ask(f"/view/20150101000000@second/{picture}", BROWSER)
        lacking = await site.ask(f"/view/20150101000000@second/{PAGE}", BROWSER)
        other = await site.ask(f"/view/2015@nowhere/{PAGE}", BROWSER)

    assert 'got="first.example"' in first.headers["Memento-Precision"]
    assert 'got="second.example"' in second.headers["Memento-Precision"]
    assert (lacking.status, other.status) == (404, 404)
    assert b"nowhere" in other.body


@pytest.mark.parametrize(
    ("rest", "status"),
    [("", 400), ("201/http://x.example/", 400), ("2010/", 400), ("2010/ftp://x.example/", 422)],
)
async def test_what_is_no_address_is_refused(tmp_path: Path, rest: str, status: int) -> None:
    async with served(tmp_path) as site:
        assert (await site.ask(f"/view/{rest}")).status == status


async def test_a_page_that_is_not_held_is_a_problem(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        assert (await site.ask("/view/2010/http://nowhere.example/")).status == 404


@pytest.mark.parametrize("stamp", [f"{sites.STAMP}@first", sites.STAMP])
async def test_the_address_of_a_copy_does_not_say_what_was_requested(
    tmp_path: Path, stamp: str
) -> None:
    async with served(tmp_path) as site:
        page = (await site.ask(f"/view/{stamp}/{PAGE}", BROWSER)).body.decode()

    assert "Captured <time" in page
    for claim in ("Requested", "requested time, same", "How well it matches", "✓"):
        assert claim not in page


async def test_the_frame_leads_to_a_citation_the_answer_and_captures_of_its_archive(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as site:
        page = (await site.ask(f"/view/2010/{PAGE}", BROWSER)).body.decode()
        moved = (await site.ask(f"/view/2010/{PAGE}a.png", BROWSER)).body.decode()

    name = quote(f"urn:pwid:first.example:{Moment(sites.STAMP)}:page:{PAGE}")
    assert f'href="/cite?id={name}"' in page
    asked = quote(f"duri:2010:{PAGE}")
    assert f'href="/?q={asked}"' in page
    assert "No earlier capture known in The first" in page
    assert "Next capture in The " in moved
