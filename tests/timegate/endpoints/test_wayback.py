"""The addresses of the Wayback Machine, over HTTP."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from archives.registry import Registry
from tests.fakes import Canned, FakeFetcher
from tests.scenario import FakeArchive, World
from tests.timegate.endpoints.served import (
    QUICK,
    NoLists,
    Site,
    dispatch_to,
    entries,
    resolve_of,
)
from timegate.endpoints.raw_proxy import RawProxyEndpoint
from timegate.endpoints.timegate import TimeGateEndpoint
from timegate.endpoints.wayback import Availability, WaybackEndpoint
from timegate.resolution.coalescing import fixed
from timegate.resolution.neighbours import Neighbours
from timegate.responses.answers import Answers
from timegate.responses.model import ClientRequest, Response
from timegate.server.listener import listening

URL = "http://example.org/"
HERE = "https://gate.example"


DATE = "Fri, 22 Jan 2016 11:20:29 GMT"
RAW = "http://a/20160122112029id_/http://example.org/"
IMAGE = {"Content-Type": "image/png", "Content-Length": "3", "Memento-Datetime": DATE}
BYTES = Canned(200, IMAGE, b"abc")


@asynccontextmanager
async def serving(
    *archives: FakeArchive, bytes_at: Mapping[str, Canned] | None = None
) -> AsyncIterator[Site]:
    world = World(*archives, deadlines=QUICK)
    known = [
        replace(
            world.archives[name].entry,
            hosts=(name,),
            replay=f"http://{name}/{{time14}}/{{uri}}",
            raw=f"http://{name}/{{time14}}id_/{{uri}}",
        )
        for name in world.archives
    ]
    registry = Registry(known) if known else entries(world)
    answers = Answers(world.resolver, registry, HERE)
    neighbours = Neighbours(fixed(world.archives), NoLists(), frozenset())
    timegate = TimeGateEndpoint(answers, neighbours)
    fetchers = dict.fromkeys(world.archives, FakeFetcher(bytes_at or {}, tuple(world.archives)))
    raw = RawProxyEndpoint(answers, registry, fetchers)
    dispatch = dispatch_to(
        resolve_of(answers, registry),
        exact={"/wayback/available": Availability(answers, registry)},
        prefixes={"/web/": WaybackEndpoint(answers, timegate, raw, cdx=echo)},
    )
    async with world.coalescer, listening(dispatch, "127.0.0.1", 0) as port:
        yield Site(port, world)


async def echo(request: ClientRequest) -> Response:
    """Answer with the parameters, in place of the CDX server."""
    return Response(200, {}, request.rest.encode())


def archives() -> tuple[FakeArchive, FakeArchive]:
    return (
        FakeArchive("a", 0.0, ("20100101000000", "20160122112029")),
        FakeArchive("b", 0.0, ("20130601000000",), status=404),
    )


SILENT = FakeArchive("c", 0.0, error=True)


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("20160122112029/http://example.org/", "http://a/20160122112029/http://example.org/"),
        ("2016/http://example.org/", "http://a/20160122112029/http://example.org/"),
        ("20130602/http://example.org/", "http://b/20130601000000/http://example.org/"),
        ("2013060/http://example.org/", "http://b/20130601000000/http://example.org/"),
        ("2/http://example.org/", "http://a/20160122112029/http://example.org/"),
        ("201/http://example.org/", "http://a/20160122112029/http://example.org/"),
        ("2013/http:/example.org/", "http://b/20130601000000/http://example.org/"),
        ("2013/example.org/", "http://b/20130601000000/http://example.org/"),
        ("2013/http%3A%2F%2Fexample.org%2F", "http://b/20130601000000/http://example.org/"),
        ("0/http://example.org/", "http://a/20100101000000/http://example.org/"),
        ("000/http://example.org/", "http://a/20100101000000/http://example.org/"),
        ("http://example.org/", "http://a/20160122112029/http://example.org/"),
        ("example.org/", "http://a/20160122112029/http://example.org/"),
    ],
)
async def test_a_stamp_redirects_to_the_best_memento_of_all_archives(
    target: str, location: str
) -> None:
    async with serving(*archives()) as site:
        seen = await site.ask(f"/web/{target}")

    assert (seen.status, seen.headers["Location"]) == (302, location)
    assert "Memento-Precision" in seen.headers


@pytest.mark.parametrize(
    "url", ["http://example.org/", "http%3A//example.org/", "http%3A%2F%2Fexample.org%2F"]
)
async def test_the_bytes_of_a_second_are_sent_as_at_the_wayback_machine(url: str) -> None:
    async with serving(*archives(), bytes_at={RAW: BYTES}) as site:
        seen = await site.ask(f"/web/20160122112029id_/{url}")

    assert (seen.status, seen.body) == (200, b"abc")
    assert seen.headers["Content-Type"] == "image/png"
    assert seen.headers["Memento-Datetime"] == DATE
    assert seen.headers["Memento-Precision"].startswith("match=exact")
    assert "sandbox" in seen.headers["Content-Security-Policy"]


@pytest.mark.parametrize("modifier", ["id_", "if_", "im_", "js_", "cs_"])
async def test_each_modifier_of_the_wayback_machine_sends_the_bytes(modifier: str) -> None:
    async with serving(*archives(), bytes_at={RAW: BYTES}) as site:
        seen = await site.ask(f"/web/20160122112029{modifier}/{URL}")

    assert (seen.status, seen.body) == (200, b"abc")
    assert seen.headers["Memento-Datetime"] == DATE


@pytest.mark.parametrize("modifier", ["if_", "im_", "js_", "cs_"])
async def test_a_browser_that_opens_a_part_is_led_to_the_archive(modifier: str) -> None:
    async with serving(*archives()) as site:
        seen = await site.ask(f"/web/20160122112029{modifier}/{URL}", ("Accept", "text/html"))

    assert seen.status == 302
    assert seen.headers["Location"] == "http://a/20160122112029/http://example.org/"


@pytest.mark.parametrize("url", ["example.org/", "https://example.org/"])
async def test_every_spelling_of_the_url_names_the_bytes_of_a_second(url: str) -> None:
    async with serving(*archives(), bytes_at={RAW: BYTES}) as site:
        seen = await site.ask(f"/web/20160122112029id_/{url}")

    assert (seen.status, seen.body) == (200, b"abc")
    assert f'<{URL}>; rel="original"' in seen.headers["Link"]


async def test_a_second_names_a_memento_with_a_fraction() -> None:
    stamp = "20160122112029123"
    held = FakeArchive("a", 0.0, (stamp,))
    async with serving(held, bytes_at={RAW: BYTES}) as site:
        exact = await site.ask(f"/web/20160122112029id_/{URL}")
        other = await site.ask(f"/web/2016id_/{URL}")

    assert (exact.status, exact.body) == (200, b"abc")
    assert other.headers["Location"] == f"{HERE}/web/20160122112029id_/{URL}"


@pytest.mark.parametrize(
    "token", ["20160122112030id_", "20160122id_", "2016id_", "2id_", "id_", "201601if_"]
)
async def test_another_time_redirects_to_the_bytes_of_the_closest(token: str) -> None:
    async with serving(*archives()) as site:
        seen = await site.ask(f"/web/{token}/{URL}")

    assert seen.status == 302
    assert seen.headers["Location"] == f"{HERE}/web/20160122112029{token[-3:]}/{URL}"
    assert "Memento-Datetime" not in seen.headers
    # A client that does not follow redirects stores the body.
    assert (seen.body, seen.headers["Content-Length"]) == (b"", "0")


async def test_zero_with_a_modifier_redirects_to_the_bytes_of_the_oldest() -> None:
    async with serving(*archives()) as site:
        seen = await site.ask(f"/web/0id_/{URL}")

    assert seen.headers["Location"] == f"{HERE}/web/20100101000000id_/{URL}"


async def test_programs_get_the_bytes_without_a_modifier_and_browsers_the_archive() -> None:
    async with serving(*archives(), bytes_at={RAW: BYTES}) as site:
        program = await site.ask(f"/web/20160122112029/{URL}", ("Accept", "*/*"))
        near = await site.ask(f"/web/20160122112030/{URL}", ("Accept", "*/*"))
        browser = await site.ask(f"/web/20160122112029/{URL}", ("Accept", "text/html,*/*"))
        report = await site.ask(f"/web/20160122112029/{URL}", ("Accept", "application/json"))

    assert (program.status, program.body) == (200, b"abc")
    assert program.headers["Vary"] == "accept, prefer"
    assert [one.status for one in (near, browser, report)] == [302, 302, 302]
    assert browser.headers["Location"] == "http://a/20160122112029/http://example.org/"


async def test_an_archived_redirect_leads_to_an_address_of_the_same_form() -> None:
    target = "http://a/20160122112031id_/http://example.org/new"
    moved = Canned(302, {"Location": target, "Memento-Datetime": DATE})

    async with serving(*archives(), bytes_at={RAW: moved}) as site:
        seen = await site.ask(f"/web/20160122112029id_/{URL}")

    assert seen.status == 302
    assert seen.headers["Memento-Datetime"] == DATE
    assert seen.headers["Location"] == f"{HERE}/web/20160122112031id_/http://example.org/new"


@pytest.mark.parametrize("location", ["https://example.org/new", "//example.org/new"])
async def test_an_archived_redirect_to_the_live_page_leads_to_us(location: str) -> None:
    moved = Canned(301, {"Location": location, "Memento-Datetime": DATE})

    async with serving(*archives(), bytes_at={RAW: moved}) as site:
        seen = await site.ask(f"/web/20160122112029im_/{URL}")

    assert seen.status == 301
    assert seen.headers["Location"].startswith(f"{HERE}/web/20160122112029im_/http")
    assert seen.headers["Location"].endswith("example.org/new")


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://a/20160122112029id_/http://www.example.org", 200),
        ("http://a/20160122112030id_/http://www.example.org", 302),
        ("http://a/20160122112029id_/http://example.org/other", 302),
        ("http://b/20160122112029id_/http://www.example.org", 302),
    ],
)
async def test_an_archive_may_redirect_to_another_spelling_of_the_same_capture(
    target: str, status: int
) -> None:
    """pywb adds a slash to the URL of a host. Otherwise another copy is given."""
    respelled = Canned(307, {"Location": target})

    async with serving(*archives(), bytes_at={RAW: respelled, target: BYTES}) as site:
        seen = await site.ask(f"/web/20160122112029id_/{URL}")

    assert seen.status == status
    assert (seen.body == b"abc") == (status == 200)


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/new?a=b", "http://example.org/new?a=b"),
        ("new", "http://example.org/new"),
        ("//m.example.org/", "http://m.example.org/"),
    ],
)
async def test_an_archived_redirect_that_is_not_rewritten_is_relative_to_the_page(
    location: str, target: str
) -> None:
    moved = Canned(302, {"Location": location, "Memento-Datetime": DATE})

    async with serving(*archives(), bytes_at={RAW: moved}) as site:
        seen = await site.ask(f"/web/20160122112029id_/{URL}")

    assert seen.headers["Location"] == f"{HERE}/web/20160122112029id_/{target}"


async def test_an_archived_redirect_to_a_script_leads_nowhere() -> None:
    moved = Canned(301, {"Location": "javascript:alert(1)", "Memento-Datetime": DATE})

    async with serving(*archives(), bytes_at={RAW: moved}) as site:
        seen = await site.ask(f"/web/20160122112029id_/{URL}")

    assert "Location" not in seen.headers


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("*/http://example.org/*", "/cdx/search/cdx?url=http%3A%2F%2Fexample.org%2F%2A"),
        ("timemap/link?url=http://example.org/", "/timemap/link/http%3A%2F%2Fexample.org%2F"),
        ("*/http://example.org/?a=b", "/timemap/link/http://example.org/?a=b"),
        ("%2A/http://example.org/", "/timemap/link/http://example.org/"),
        ("2013*/http://example.org/", "/timemap/link/http://example.org/"),
        ("2013-2015*/http://example.org/", "/timemap/link/http://example.org/"),
        ("timemap/link/http://example.org/", "/timemap/link/http://example.org/"),
        ("timemap/json/http://example.org/?a", "/timemap/json/http://example.org/?a"),
        ("timemap/cdxj/example.org", "/timemap/cdxj/example.org"),
        ("timemap/http://example.org/", "/timemap/link/http://example.org/"),
    ],
)
async def test_lists_redirect_to_timemaps_and_cdx(target: str, location: str) -> None:
    async with serving(*archives()) as site:
        seen = await site.ask(f"/web/{target}")

        assert site.world.requests() == 0
    assert (seen.status, seen.headers["Location"]) == (302, HERE + location)


@pytest.mark.parametrize(
    ("target", "query"),
    [
        ("timemap/json?url=example.org", "?url=example.org&output=json"),
        ("timemap/cdx?url=example.org&limit=2", "?url=example.org&limit=2"),
        ("timemap/?url=example.org&matchType=prefix", "?url=example.org&matchType=prefix"),
        ("timemap?url=example.org", "?url=example.org"),
    ],
)
async def test_lists_with_a_parameter_are_those_of_the_cdx_server(
    target: str, query: str
) -> None:
    async with serving(*archives()) as site:
        seen = await site.ask(f"/web/{target}")

    assert (seen.status, seen.body.decode()) == (200, query)


async def test_without_a_stamp_the_time_is_negotiated() -> None:
    wanted = ("Accept-Datetime", "Sat, 01 Jun 2013 00:00:00 GMT")

    async with serving(*archives()) as site:
        bare = await site.ask(f"/web/{URL}", wanted)
        dated = await site.ask(f"/web/2010/{URL}", wanted)

    assert bare.headers["Location"].startswith("http://b/2013")
    assert bare.headers["Vary"] == "accept-datetime, accept-datetime-precise, prefer"
    assert dated.headers["Location"].startswith("http://a/2010")
    assert dated.headers["Vary"] == "accept, prefer"


async def test_the_query_of_a_url_is_its_own() -> None:
    archive = FakeArchive(
        "a", 0.0, ("20100101000000",), holds="http://example.org/?a=b&as=json"
    )

    async with serving(archive) as site:
        seen = await site.ask("/web/2010/http://example.org/?a=b&as=json")

    assert seen.headers["Location"] == "http://a/20100101000000/http://example.org/?a=b&as=json"


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("2010/http://other.example/", 404),
        ("2010/", 400),
        ("", 400),
        ("20130231/http://example.org/", 400),
        ("2010/ftp://example.org/", 422),
        ("timemap/xml/http://example.org/", 404),
        ("timemap/", 404),
    ],
)
async def test_unusable_addresses_are_rejected(target: str, status: int) -> None:
    async with serving(*archives()) as site:
        seen = await site.ask(f"/web/{target}")

    assert seen.status == status
    assert seen.headers["Content-Type"] == "application/problem+json"


async def test_an_archive_without_an_answer_is_not_reported_as_not_found() -> None:
    async with serving(SILENT) as site:
        web = await site.ask(f"/web/2010/{URL}")
        available = await site.ask(f"/wayback/available?url={URL}")

    assert (web.status, available.status) == (504, 504)
    assert "c did not answer" in json.loads(available.body)["detail"]


# Availability


@pytest.mark.parametrize(
    ("query", "archive", "stamp", "status"),
    [
        ("", "a", "20160122112029", "200"),
        ("&timestamp=", "a", "20160122112029", "200"),
        ("&timestamp=2", "a", "20160122112029", "200"),
        ("&timestamp=2010", "a", "20100101000000", "200"),
        ("&timestamp=201306", "b", "20130601000000", "404"),
        ("&timestamp=20130601000001&x=y", "b", "20130601000000", "404"),
        ("&timestamp=20130601&closest=either", "b", "20130601000000", "404"),
    ],
)
async def test_the_closest_copy_is_available(
    query: str, archive: str, stamp: str, status: str
) -> None:
    async with serving(*archives()) as site:
        seen = await site.ask(f"/wayback/available?url=example.org/{query}")

    assert seen.status == 200
    assert seen.headers["Content-Type"] == "application/json"
    assert json.loads(seen.body) == {
        "archived_snapshots": {
            "closest": {
                "available": True,
                "url": f"http://{archive}/{stamp}/{URL}",
                "timestamp": stamp,
                "status": status,
            }
        }
    }


async def test_the_closest_copy_can_be_that_of_one_archive() -> None:
    async with serving(*archives()) as site:
        seen = await site.ask(f"/wayback/available?url={URL}&timestamp=2013&archives=a")
        unknown = await site.ask(f"/wayback/available?url={URL}&archives=a,nowhere")

    closest = json.loads(seen.body)["archived_snapshots"]["closest"]
    assert closest["url"].startswith("http://a/")
    assert unknown.status == 400


async def test_an_unknown_status_is_not_written_as_200() -> None:
    async with serving(FakeArchive("a", 0.0, ("20100101000000",), status=None)) as site:
        seen = await site.ask(f"/wayback/available?url={URL}")

    assert json.loads(seen.body)["archived_snapshots"]["closest"]["status"] == "-"


async def test_no_memento_is_an_empty_result() -> None:
    async with serving(*archives()) as site:
        seen = await site.ask("/wayback/available?url=http://other.example/&callback=f")

    assert seen.status == 200
    assert seen.body == b'/**/f({"archived_snapshots":{}});'


async def test_a_memento_on_the_other_side_of_the_time_is_not_sent() -> None:
    async with serving(FakeArchive("a", 0.0, ("20100101000000",))) as site:
        before = await site.ask(f"/wayback/available?url={URL}&timestamp=2015&closest=before")
        after = await site.ask(f"/wayback/available?url={URL}&timestamp=2015&closest=after")

    assert json.loads(before.body)["archived_snapshots"]["closest"]["timestamp"][:4] == "2010"
    assert "20100101000000" not in str(json.loads(after.body).get("archived_snapshots"))


@pytest.mark.parametrize("name", ["f", "jQuery_1.call$", "a.b.c.d"])
async def test_a_callback_wraps_the_json(name: str) -> None:
    async with serving(*archives()) as site:
        seen = await site.ask(f"/wayback/available?url={URL}&callback={name}")

    assert seen.headers["Content-Type"].startswith("text/javascript")
    assert seen.headers["X-Content-Type-Options"] == "nosniff"
    assert seen.body.startswith(f'/**/{name}({{"archived_snapshots":'.encode())
    assert seen.body.endswith(b");")


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?url=",
        f"?url={URL}&timestamp=2013-01",
        f"?url={URL}&timestamp=20130231",
        f"?url={URL}&timestamp=123456789012345",
        f"?url={URL}&closest=sideways",
        f"?url={URL}&callback=alert(1)//",
        f"?url={URL}&callback=a..b",
        f"?url={URL}&callback=%3Cscript%3E",
        f"?url={URL}&callback={'x' * 65}",
        f"?url={URL}&callback=f%0A",
    ],
)
async def test_unusable_parameters_are_rejected(query: str) -> None:
    async with serving(*archives()) as site:
        seen = await site.ask(f"/wayback/available{query}")

        assert site.world.requests() == 0
    assert seen.status == 400


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("*/http://example.org/?a=b", "/timemap/html/http://example.org/?a=b"),
        ("%2A/http://example.org/", "/timemap/html/http://example.org/"),
        (
            "2013*/http://example.org/?a",
            "/timemap/html/http%3A%2F%2Fexample.org%2F%3Fa?from=2013&to=2013",
        ),
        (
            "2013-201506%2a/http://example.org/",
            "/timemap/html/http%3A%2F%2Fexample.org%2F?from=2013&to=201506",
        ),
        ("timemap/html/http://example.org/", "/timemap/html/http://example.org/"),
    ],
)
async def test_a_browser_is_led_to_the_page_of_all_captures(target: str, location: str) -> None:
    async with serving(*archives()) as site:
        seen = await site.ask(f"/web/{target}", ("Accept", "text/html"))

    assert seen.status == 302
    assert seen.headers["Location"] == f"{HERE}{location}"


@pytest.mark.parametrize("view", ["original-content", "original-links", "raw"])
async def test_the_timegate_leads_to_the_bytes_if_they_are_preferred(view: str) -> None:
    async with serving(*archives()) as site:
        seen = await site.ask(f"/web/{URL}", ("Prefer", view))
        plain = await site.ask(f"/web/{URL}", ("Prefer", "rewritten"))

    assert seen.headers["Location"] == RAW
    assert seen.headers["Preference-Applied"] == view
    assert plain.headers["Location"] == "http://a/20160122112029/http://example.org/"


@pytest.mark.parametrize("view", ["original-content", "original-links", "raw"])
async def test_a_preference_for_the_bytes_applies_to_a_stamp(view: str) -> None:
    async with serving(*archives(), bytes_at={RAW: BYTES}) as site:
        exact = await site.ask(f"/web/20160122112029/{URL}", ("Prefer", view))
        near = await site.ask(f"/web/20160122/{URL}", ("Prefer", view))

    assert (exact.status, exact.body) == (200, b"abc")
    assert exact.headers["Preference-Applied"] == view
    assert (near.status, near.headers["Location"]) == (302, RAW)
    assert near.headers["Preference-Applied"] == view


async def test_a_program_that_prefers_the_replay_is_led_to_the_archive() -> None:
    async with serving(*archives(), bytes_at={RAW: BYTES}) as site:
        seen = await site.ask(f"/web/20160122112029/{URL}", ("Prefer", "rewritten"))

    assert seen.status == 302
    assert seen.headers["Location"] == "http://a/20160122112029/http://example.org/"
    assert "prefer" in seen.headers["Vary"]
