"""`/memento/`, `/api/` and `/list/`: what clients of MemGator and Time Travel rely on."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.diagnostics import Malformed
from archives.formats.linkformat import parse_header
from archives.model import Memento
from archives.moment import Moment
from tests.scenario import NEVER, FakeArchive, World
from tests.timegate.endpoints.served import (
    QUICK,
    NoLists,
    Site,
    answer_pages,
    dispatch_to,
    entries,
    resolve_of,
)
from timegate.endpoints.memento import (
    ApiEndpoint,
    ListEndpoint,
    MementoEndpoint,
    read_stamp,
    stamped,
)
from timegate.endpoints.memento_formats import MEMGATOR, Described
from timegate.resolution.coalescing import fixed
from timegate.resolution.neighbours import Neighbours
from timegate.responses.answers import Answers
from timegate.responses.model import Handler
from timegate.server.listener import listening
from timegate.timemaps import TimeMapLinks

GOLDEN = Path(__file__).parents[2] / "data" / "golden"
URL = "http://example.org/"
CLOSEST = "20140610101112"
FIVE = ("20100101000000", "20140501000000", CLOSEST, "20140701000000", "20160101000000")
TYPES = {
    "link": "application/link-format",
    "json": "application/json",
    "cdxj": "application/cdxj+ors",
}


@asynccontextmanager
async def serving(
    *archives: FakeArchive, old_redirects: bool = False, listed: bool = True
) -> AsyncIterator[Site]:
    """Serve archives of the operator's own, whose lists may be read, or of others."""
    world = World(*archives, deadlines=QUICK)
    registry = entries(world)
    answers = Answers(world.resolver, registry, "https://gate.example")
    own = frozenset(world.archives if listed else ())
    around = Neighbours(fixed(world.archives), NoLists(), own)
    pages = answer_pages(answers, registry)
    prefixes: dict[str, Handler] = {
        "/memento/": MementoEndpoint(answers, around, old_redirects=old_redirects),
        "/api/": ApiEndpoint(answers, around, old_redirects=old_redirects),
        "/list/": ListEndpoint(answers, pages, world.route, patience=0.5),
    }
    dispatch = dispatch_to(resolve_of(answers, registry), prefixes=prefixes)
    async with world.coalescer, listening(dispatch, "127.0.0.1", 0) as port:
        yield Site(port, world)


async def test_a_stamp_and_a_url_redirect_to_the_closest_copy() -> None:
    async with serving(FakeArchive("a", 0.0, FIVE)) as site:
        seen = await site.ask(f"/memento/20140601/{URL}")

    links = parse_header(seen.headers["Link"])
    assert seen.status == 302
    assert seen.headers["Location"] == f"http://a/{CLOSEST}/{URL}"
    assert [link.target for link in links if "original" in link.rels] == [URL]
    assert seen.headers["Memento-Precision"].startswith("match=approximate")


@pytest.mark.parametrize("modifier", ["im_", "id_", "if_", "mp_"])
async def test_a_modifier_of_the_wayback_machine_behind_the_stamp_is_understood(
    modifier: str,
) -> None:
    async with serving(FakeArchive("a", 0.0, FIVE)) as site:
        seen = await site.ask(f"/memento/{CLOSEST}{modifier}/{URL}")

    assert (seen.status, seen.headers["Location"]) == (302, f"http://a/{CLOSEST}/{URL}")


@pytest.mark.parametrize("stamp", ["201im_", "20140610IM_", "20140610im", "im_", "20140231id_"])
async def test_a_malformed_modifier_is_rejected(stamp: str) -> None:
    async with serving(FakeArchive("a", 0.0, FIVE)) as site:
        seen = await site.ask(f"/memento/{stamp}/{URL}")

    assert seen.status == 400


@pytest.mark.parametrize("path", ["memento", "memento/json", "api/json", "list"])
async def test_the_endpoints_are_not_timegates(path: str) -> None:
    later = ("Accept-Datetime", "Fri, 01 Jan 2016 00:00:00 GMT")
    async with serving(FakeArchive("a", 0.0, FIVE)) as site:
        plain = await site.ask(f"/{path}/20140601/{URL}")
        dated = await site.ask(f"/{path}/20140601/{URL}", later)

    assert "accept-datetime" not in plain.headers["Vary"].lower()
    assert "Memento-Datetime" not in plain.headers
    assert dated.headers.get("Location") == plain.headers.get("Location")
    assert dated.headers["Link"] == plain.headers["Link"]


@pytest.mark.parametrize("name", ["link", "cdxj"])
@pytest.mark.parametrize("path", ["memento", "api"])
@pytest.mark.parametrize(("golden", "stamps"), [("memento", FIVE), ("two", (FIVE[0], CLOSEST))])
async def test_a_description_is_byte_for_byte_that_of_memgator(
    path: str, name: str, golden: str, stamps: tuple[str, ...]
) -> None:
    async with serving(FakeArchive("a", 0.0, stamps)) as site:
        seen = await site.ask(f"/{path}/{name}/20140601/{URL}")

    assert seen.status == 200
    assert seen.headers["Content-Type"] == TYPES[name]
    assert seen.body.decode() == (GOLDEN / f"memgator_{golden}.{name}").read_text()


@pytest.mark.parametrize(("golden", "stamps"), [("memento", FIVE), ("two", (FIVE[0], CLOSEST))])
async def test_the_json_of_memgator_has_one_more_member(
    golden: str, stamps: tuple[str, ...]
) -> None:
    async with serving(FakeArchive("a", 0.0, stamps)) as site:
        seen = await site.ask(f"/memento/json/20140601/{URL}")

    theirs = (GOLDEN / f"memgator_{golden}.json").read_text().removesuffix("\n}\n")
    assert seen.headers["Content-Type"] == "application/json"
    assert seen.body.decode().startswith(theirs + ',\n  "timegate": {')
    assert json.loads(seen.body)["timegate"]["memento"]["archive"] == "a"


async def test_the_json_of_time_travel_lists_all_copies_of_a_second() -> None:
    async with serving(FakeArchive("a", 0.0, FIVE), FakeArchive("b", 0.0, (CLOSEST,))) as site:
        seen = await site.ask(f"/api/json/20140601/{URL}")

    body = json.loads(seen.body)
    ours = body.pop("timegate")
    assert seen.headers["Content-Type"] == "application/json"
    assert body == json.loads((GOLDEN / "time_travel_api.json").read_text())
    assert ours["words"]
    assert ours["match"] == {"value": "approximate"}


async def test_the_relation_first_is_omitted_where_it_is_not_known() -> None:
    async with serving(FakeArchive("a", 0.0, FIVE), listed=False) as site:
        seen = await site.ask(f"/api/json/20140601/{URL}")

    assert list(json.loads(seen.body)["mementos"]) == ["closest"]


@pytest.mark.parametrize(
    "path", ["memento", "memento/link", "memento/json", "api/json", "list"]
)
async def test_head_is_get_without_the_body(path: str) -> None:
    async with serving(FakeArchive("a", 0.0, FIVE)) as site:
        got = await site.ask(f"/{path}/2014/{URL}")
        head = await site.ask(f"/{path}/2014/{URL}", method="HEAD")

    assert head.body == b""
    assert head.status == got.status
    assert {n: v for n, v in head.headers.items() if n != "Date"} == {
        n: v for n, v in got.headers.items() if n != "Date"
    }


@pytest.mark.parametrize(
    ("stamp", "captured"),
    [
        # Padded to New Year's Day, the one of December would be nearer.
        ("2014", "20140801000000"),
        ("201408", "20140801000000"),
        ("20131230", "20131230235959"),
        ("2013123023", "20131230235959"),
        ("201312302359", "20131230235959"),
        ("20131230235959", "20131230235959"),
    ],
)
async def test_a_stamp_is_an_interval(stamp: str, captured: str) -> None:
    archive = FakeArchive("a", 0.0, ("20131230235959", "20140801000000"))
    async with serving(archive) as site:
        seen = await site.ask(f"/memento/{stamp}/{URL}")

    assert seen.headers["Location"] == f"http://a/{captured}/{URL}"
    assert archive.asked == [(URL, Moment(stamp))]


@pytest.mark.parametrize(
    ("rest", "position"),
    [
        ("memento/201/http://example.org/", 3),
        ("memento/20140/http://example.org/", 5),
        ("memento/201401011200001/http://example.org/", 14),
        ("memento/20141301/http://example.org/", 4),
        ("memento/20140230/http://example.org/", 6),
        ("memento/2014x/http://example.org/", 4),
        ("memento/json/2014x/http://example.org/", 9),
        ("memento/json/201402302/http://example.org/", 14),
        ("memento/proxy/2014/http://example.org/", 0),
        ("api/json/20140199/http://example.org/", 11),
        ("api/json/*/http://example.org/", 5),
        ("list/20140199/http://example.org/", 6),
        ("memento/2014/", 5),
        ("memento/2014", 4),
        ("memento/json/2014/http:///", 15),
    ],
)
async def test_unreadable_input_is_rejected_with_its_position(rest: str, position: int) -> None:
    async with serving(FakeArchive("a", 0.0, FIVE)) as site:
        seen = await site.ask(f"/{rest}")
        asked = site.world.requests()

    problem = json.loads(seen.body)
    assert seen.status == 400
    assert seen.headers["Content-Type"] == "application/problem+json"
    assert problem["position"] == position
    assert asked == 0


@pytest.mark.parametrize(
    "rest", ["api/", "api/xml/2014/http://example.org/", "api/2014/http://x/"]
)
async def test_an_unknown_format_is_404(rest: str) -> None:
    async with serving(FakeArchive("a", 0.0, FIVE)) as site:
        seen = await site.ask(f"/{rest}")

    assert seen.status == 404
    assert json.loads(seen.body)["formats"] == ["link", "json", "cdxj"]


@pytest.mark.parametrize("path", ["memento", "memento/link", "memento/json", "api/json"])
async def test_no_memento_is_404_in_json(path: str) -> None:
    async with serving(FakeArchive("a", 0.0)) as site:
        seen = await site.ask(f"/{path}/2014/{URL}")

    assert seen.status == 404
    assert seen.headers["Content-Type"] == "application/problem+json"
    assert seen.headers["X-Memento-Count"] == "0"
    assert json.loads(seen.body)["type"].endswith("/no-memento")


@pytest.mark.parametrize("path", ["memento", "memento/json", "api/json", "list"])
async def test_no_memento_is_not_404_while_an_archive_has_not_answered(path: str) -> None:
    archives = FakeArchive("a", 0.0), FakeArchive("b", 0.0, error=True)
    async with serving(*archives, old_redirects=True) as site:
        seen = await site.ask(f"/{path}/2014/{URL}")

    assert seen.status == 504
    assert "X-Memento-Count" not in seen.headers


@pytest.mark.parametrize("path", ["memento", "api/json"])
async def test_old_redirects_lead_to_the_list_where_no_memento_is_found(path: str) -> None:
    async with serving(FakeArchive("a", 0.0), old_redirects=True) as site:
        seen = await site.ask(f"/{path}/2014/{URL}?q=a%2Fb")

    assert seen.status == 302
    assert seen.headers["Location"] == f"https://gate.example/list/2014/{URL}?q=a%2Fb"


@pytest.mark.parametrize("path", ["memento/link", "memento/json", "api/cdxj"])
async def test_old_redirects_do_not_change_the_formats_of_memgator(path: str) -> None:
    async with serving(FakeArchive("a", 0.0), old_redirects=True) as site:
        seen = await site.ask(f"/{path}/2014/{URL}")

    assert seen.status == 404


@pytest.mark.parametrize("path", ["memento", "memento/cdxj", "api/json", "list"])
@pytest.mark.parametrize(
    "original",
    [
        "http://example.org//a//b%2Fc?x=%7e;y&z=http://other/",
        "http://example.org/?as=json&wait=1",
        "http://example.org/?",
    ],
)
async def test_the_url_reaches_archives_byte_for_byte(path: str, original: str) -> None:
    archive = FakeArchive("a", 0.0, FIVE, holds=original)
    async with serving(archive) as site:
        seen = await site.ask(f"/{path}/2014/{original}")

    assert seen.status in (200, 302)
    assert archive.asked[0][0] == original


async def test_a_url_without_a_scheme_is_http() -> None:
    async with serving(FakeArchive("a", 0.0, FIVE)) as site:
        seen = await site.ask("/api/json/2014/example.org/")

    assert json.loads(seen.body)["original_uri"] == URL


async def test_preferences_are_applied() -> None:
    async with serving(FakeArchive("a", 0.0, FIVE), FakeArchive("b", 0.0, FIVE)) as site:
        seen = await site.ask(f"/memento/{CLOSEST}/{URL}", ("Prefer", "archives=b"))
        uncached = await site.ask(f"/api/json/2012/{URL}", ("Cache-Control", "only-if-cached"))

    assert seen.headers["Location"] == f"http://b/{CLOSEST}/{URL}"
    assert seen.headers["Preference-Applied"] == "archives=b"
    assert uncached.status == 504


async def test_a_list_has_the_closest_of_every_archive_nearest_first() -> None:
    archives = (
        FakeArchive("a", 0.0, FIVE),
        FakeArchive("b", 0.05, ("20140605000000", "20180101000000")),
        FakeArchive("c", 0.01, ("20090101000000",)),
        FakeArchive("d", 0.01),
    )
    async with serving(*archives) as site:
        seen = await site.ask(f"/list/{CLOSEST}/{URL}")

    body = json.loads(seen.body)
    assert seen.status == 200
    assert [(one["archive"], one["datetime"]) for one in body["archives"]] == [
        ("a", "2014-06-10T10:11:12Z"),
        ("b", "2014-06-05T00:00:00Z"),
        ("c", "2009-01-01T00:00:00Z"),
    ]
    assert body["archives"][0]["delta"] == 0
    assert body["archives"][1]["delta"] < 0
    assert {one["archive"] for one in body["timegate"]["attempts"]} == {"a", "b", "c", "d"}
    assert [archive.asked.count((URL, Moment(CLOSEST))) for archive in archives] == [1] * 4


async def test_a_list_names_archives_that_did_not_answer() -> None:
    async with serving(FakeArchive("a", 0.0, FIVE), FakeArchive("b", NEVER, FIVE)) as site:
        seen = await site.ask(f"/list/2014/{URL}")
        page = await site.ask(f"/list/2014/{URL}", ("Accept", "text/html"))

    sources = json.loads(seen.body)["timegate"]["sources"]
    assert (sources["value"], sources["failed"]) == ("partial", 1)
    assert seen.headers["Cache-Control"] == "no-cache"
    assert b"1 of 2 did not answer:" in page.body
    assert b"no answer in time" in page.body


async def test_a_list_queries_no_archive_twice_even_without_a_cache() -> None:
    archives = [FakeArchive(name, number / 50, FIVE) for number, name in enumerate("abcd")]
    async with serving(*archives) as site:
        seen = await site.ask(f"/list/2014/{URL}", ("Cache-Control", "no-cache"))

    assert len(json.loads(seen.body)["archives"]) == 4
    assert site.world.requests() == 4


async def test_a_list_without_mementos_is_404() -> None:
    async with serving(FakeArchive("a", 0.0), FakeArchive("b", 0.0)) as site:
        seen = await site.ask(f"/list/2014/{URL}")

    assert seen.status == 404
    assert json.loads(seen.body)["type"].endswith("/no-memento")


async def test_a_list_from_the_cache_queries_no_archive() -> None:
    async with serving(FakeArchive("a", 0.0, FIVE), FakeArchive("b", 0.0, FIVE)) as site:
        await site.ask(f"/list/2014/{URL}")
        before = site.world.requests()
        seen = await site.ask(f"/list/2014/{URL}", ("Cache-Control", "only-if-cached"))

    assert len(json.loads(seen.body)["archives"]) == 2
    assert site.world.requests() == before


async def test_a_browser_gets_a_page() -> None:
    async with serving(FakeArchive("a", 0.0, FIVE)) as site:
        seen = await site.ask(f"/list/2014/{URL}", ("Accept", "text/html,*/*"))

    assert seen.status == 200
    assert seen.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'self'" in seen.headers["Content-Security-Policy"]
    assert f'href="http://a/20140701000000/{URL}"'.encode() in seen.body


def test_a_memento_without_a_web_address_is_not_described() -> None:
    chosen = Memento(CLOSEST, "http://a/1", URL, "a")
    first = Memento(FIVE[0], "javascript:x", URL, "a")

    described = Described.of(TimeMapLinks.of(URL, "http://g"), chosen, {"first": first})

    assert list(described.roles) == ["closest"]


def test_an_address_with_two_dates_gets_that_of_the_memento() -> None:
    chosen = Memento(CLOSEST, "http://a/1", URL, "a")
    first = chosen._replace(stamp=FIVE[0])

    described = Described.of(TimeMapLinks.of(URL, "http://g"), chosen, {"first": first})

    assert described.roles == {"closest": chosen}


@pytest.mark.parametrize(
    ("stamp", "written"),
    [("20161231235960", "2016-12-31T23:59:59Z"), ("20140610101112999", "2014-06-10T10:11:12Z")],
)
def test_leap_seconds_and_fractions_are_written_as_whole_seconds(
    stamp: str, written: str
) -> None:
    described = Described.of(
        TimeMapLinks.of(URL, "http://g"), Memento(stamp, "http://a/1", URL, "a"), {}
    )

    body = json.loads(MEMGATOR["json"](described))

    assert body["mementos"]["closest"]["datetime"] == written
    digits = "".join(filter(str.isdigit, written))
    assert MEMGATOR["cdxj"](described).splitlines()[-1].startswith(f"{digits} {{")


@given(
    uri=st.text(min_size=1).map("http://a/{}".format),
    original=st.text().map("http://example.org/{}".format),
)
def test_no_address_breaks_the_syntax_of_a_format(uri: str, original: str) -> None:
    names = TimeMapLinks.of(original, "https://gate.example")
    described = Described.of(names, Memento(CLOSEST, uri, original, "a"), {})
    written = {name: write(described) for name, write in MEMGATOR.items()}

    assert len(parse_header(written["link"].replace("\n", " "))) == 6
    assert written["link"].count("\n") == 6
    assert list(json.loads(written["json"])["mementos"]) == ["closest"]
    assert all(json.loads(line.split(" ", 1)[1]) for line in written["cdxj"].splitlines())


@given(st.text(max_size=20) | st.text("0123456789", max_size=20))
def test_a_stamp_is_read_or_rejected_with_a_position_inside_it(text: str) -> None:
    try:
        moment = read_stamp(text)
    except Malformed as complaint:
        assert 0 <= complaint.position <= len(text)
    else:
        assert moment.digits == text
        assert len(text) in (4, 6, 8, 10, 12, 14)


@pytest.mark.parametrize(("from_start", "digits"), [(True, "20130101000000"), (False, "2013")])
def test_a_partial_stamp_is_its_first_second_or_its_interval(
    digits: str, *, from_start: bool
) -> None:
    path = stamped("2013/http://example.org/", from_start=from_start)

    assert (path.stamp, path.at.digits) == ("2013", digits)


def test_a_whole_stamp_is_the_same_either_way() -> None:
    paths = [stamped("20130501020304/http://a.example/", from_start=s) for s in (True, False)]

    assert [path.at.digits for path in paths] == ["20130501020304"] * 2
