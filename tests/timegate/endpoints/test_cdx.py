"""The CDX servers over HTTP."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import quote, urlencode

import pytest

from archives.errors import Refused, Unreachable
from tests.scenario import World
from tests.timegate.endpoints.served import QUICK, Seen, Site, dispatch_to, entries, resolve_of
from tests.timegate.endpoints.test_timemap import Lister, body, lister
from tests.timegate.timemaps.capture_lists import (
    ORIGINAL,
    FakeListCache,
    Listing,
    at,
    capture,
    captures,
)
from timegate.endpoints.cdx import CdxCaptures, PywbCdx, WaybackCdx
from timegate.resolution.coalescing import fixed
from timegate.responses.answers import Answers
from timegate.responses.model import Handler
from timegate.server.listener import listening
from timegate.timemaps import ArchiveLists
from timegate.timemaps.lane import FULL

IA = "/cdx/search/cdx"


@asynccontextmanager
async def serving(*archives: Lister) -> AsyncIterator[Site]:
    world = World(*archives)
    registry = entries(world)
    lists = ArchiveLists(fixed(world.archives), FakeListCache())
    listed = CdxCaptures(lists, world.route, registry, QUICK)
    resolve = resolve_of(Answers(world.resolver, registry, ""), registry)
    exact: dict[str, Handler] = {IA: WaybackCdx(listed), "/cdx": PywbCdx(listed)}
    dispatch = dispatch_to(resolve, exact=exact)
    async with world.coalescer, listening(dispatch, "127.0.0.1", 0) as port:
        yield Site(port, world)


async def asked(site: Site, path: str, *pairs: tuple[str, str], method: str = "GET") -> Seen:
    query = urlencode([("url", ORIGINAL), *pairs], quote_via=quote)
    return await site.ask(f"{path}?{query}", method=method)


def text(seen: Seen) -> str:
    if seen.headers.get("Transfer-Encoding") == "chunked":
        return body(seen)
    return seen.body.decode()


def two() -> Sequence[Lister]:
    page = capture("b", 2)._replace(status=200, mime="text/html", digest="AAA")
    return lister("a", captures("a", [1, 3])), lister("b", [page])


async def test_lines_list_the_captures_of_all_archives() -> None:
    async with serving(*two()) as site:
        seen = await asked(site, IA)

    assert seen.status == 200
    assert seen.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert seen.headers["Memento-Sources"] == "complete;asked=2;failed=0"
    assert text(seen).splitlines() == [
        f"org,example)/ {at(1)} http://example.org/ - - - -",
        f"org,example)/ {at(2)} http://example.org/ text/html 200 AAA -",
        f"org,example)/ {at(3)} http://example.org/ - - - -",
    ]


async def test_json_has_the_same_rows_as_lines() -> None:
    async with serving(*two()) as site:
        lines = text(await asked(site, IA))
        seen = await asked(site, IA, ("output", "json"))

    names, *rows = json.loads(text(seen))
    assert seen.headers["Content-Type"] == "application/json"
    assert names == [
        "urlkey", "timestamp", "original",
        "mimetype", "statuscode", "digest", "length", "url_m",
    ]  # fmt: skip
    assert [row[:7] for row in rows] == [line.split(" ") for line in lines.splitlines()]


async def test_rows_have_the_address_of_the_memento_in_its_archive() -> None:
    held = [capture("a", 1).uri, capture("b", 2).uri, capture("a", 3).uri]

    async with serving(*two()) as site:
        array = json.loads(text(await asked(site, IA, ("output", "json"))))
        lines = text(await asked(site, IA, ("fl", "timestamp,url_m"))).splitlines()
        pywb = text(await asked(site, "/cdx", ("output", "json"))).splitlines()

    assert [row[-1] for row in array] == ["url_m", *held]
    assert [line.split(" ")[1] for line in lines] == held
    assert [json.loads(line)["url_m"] for line in pywb] == held


async def test_long_lists_are_the_same_as_lines_and_as_json() -> None:
    def long() -> Lister:
        return lister("a", *(captures("a", range(i, i + 700)) for i in range(0, 7000, 700)))

    async with serving(long()) as site:
        lines = text(await asked(site, IA)).splitlines()
        rows = json.loads(text(await asked(site, IA, ("output", "json"))))

    assert len(lines) == 7000
    assert [row[:7] for row in rows[1:]] == [line.split(" ") for line in lines]


async def test_no_captures_is_empty_for_wayback_and_404_for_pywb() -> None:
    async with serving(lister("a"), lister("b")) as site:
        lines = await asked(site, IA)
        array = await asked(site, IA, ("output", "json"))
        pywb = await asked(site, "/cdx")

    assert (lines.status, lines.body) == (200, b"")
    assert (array.status, array.body) == (200, b"[]\n")
    assert pywb.status == 404
    assert json.loads(pywb.body)["message"] == f"No captures found for: {ORIGINAL}"


async def test_no_captures_after_filtering_is_an_empty_response() -> None:
    page = capture("b", 2)._replace(status=200)

    async with serving(lister("b", [page])) as site:
        seen = await asked(site, IA, ("filter", "statuscode:500"), ("output", "json"))

    assert (seen.status, seen.body) == (200, b"[]\n")
    assert seen.headers["Memento-Sources"] == "complete;asked=1;failed=0"


@pytest.mark.parametrize("path", [IA, "/cdx"])
@pytest.mark.parametrize("order", [(), (("sort", "reverse"),), (("limit", "-1"),)])
async def test_captures_that_a_filter_cannot_judge_make_a_list_partial(
    path: str, order: Sequence[tuple[str, str]]
) -> None:
    async with serving(*two()) as site:
        seen = await asked(site, path, ("filter", "=statuscode:200"), *order)

    assert seen.status == 200
    assert seen.headers["Memento-Sources"] == "partial;asked=2;failed=0;unjudged=2"
    assert len(text(seen).splitlines()) == 1


@pytest.mark.parametrize("path", [IA, "/cdx"])
@pytest.mark.parametrize("field", ["statuscode", "mimetype", "digest", "length"])
async def test_nothing_but_unjudged_captures_is_no_empty_list(path: str, field: str) -> None:
    async with serving(lister("a", captures("a", [1, 3]))) as site:
        seen = await asked(site, path, ("filter", f"{field}:200"), ("output", "json"))

    problem = json.loads(seen.body)
    assert seen.status == 422
    assert seen.headers["Memento-Sources"] == "partial;asked=1;failed=0;unjudged=2"
    assert problem["type"].endswith("/unjudged")
    assert problem["unjudged"] == 2
    assert f"do not state {field}" in problem["detail"]


async def test_an_empty_page_after_the_last_row_is_no_problem_of_the_filter() -> None:
    """Clients that page by offset until nothing is left must find an end."""
    pairs = [("filter", "statuscode:200"), ("offset", "1")]

    async with serving(*two()) as site:
        lines = await asked(site, IA, *pairs)
        array = await asked(site, IA, *pairs, ("output", "json"))
        pywb = await asked(site, "/cdx", *pairs)

    assert (lines.status, lines.body) == (200, b"")
    assert (array.status, array.body) == (200, b"[]\n")
    assert pywb.status == 404
    assert lines.headers["Memento-Sources"] == "partial;asked=2;failed=0;unjudged=2"


async def test_an_archive_that_did_not_answer_outweighs_unjudged_captures() -> None:
    silent = lister("c", Unreachable("c", "", "it is down"))

    async with serving(lister("a", captures("a", [1, 3])), silent) as site:
        seen = await asked(site, IA, ("filter", "statuscode:200"))

    assert seen.status == 504
    assert "unjudged=2" in seen.headers["Memento-Sources"]
    # Nothing says that "a" holds no capture.
    assert [each["archive"] for each in json.loads(seen.body)["archives"]] == ["c"]


async def test_the_number_of_unjudged_captures_is_left_open_while_a_list_is_read() -> None:
    pages = [capture("a", second)._replace(status=200) for second in range(3 * FULL)]
    batches = [pages[start : start + FULL] for start in range(0, len(pages), FULL)]

    async with serving(lister("a", *batches)) as site:
        seen = await asked(site, IA, ("filter", "statuscode:200"))

    assert seen.headers["Memento-Sources"] == "partial;asked=1;failed=0;unjudged"
    assert len(text(seen).splitlines()) == len(pages)


async def test_a_filter_on_a_field_of_every_capture_leaves_none_unjudged() -> None:
    async with serving(*two()) as site:
        seen = await asked(site, IA, ("filter", "original:http://nowhere.example/"))

    assert (seen.status, seen.body) == (200, b"")
    assert seen.headers["Memento-Sources"] == "complete;asked=2;failed=0"


@pytest.mark.parametrize(
    "pair",
    [("filter", "statuscode:200"), ("fl", "timestamp,statuscode"), ("collapse", "digest")],
)
async def test_the_cdx_server_of_an_archive_is_asked_for_what_its_timemap_lacks(
    pair: tuple[str, str],
) -> None:
    page = capture("a", 1)._replace(status=200, mime="text/html", digest="AAA")
    archive = lister("a", captures("a", [1]))
    archive.index = Listing([page])

    async with serving(archive) as site:
        plain = await asked(site, IA)
        seen = await asked(site, IA, pair)

    # The default fields are some of these.
    assert text(plain).endswith(" text/html 200 AAA -\n")
    assert "200" in text(seen)
    assert seen.headers["Memento-Sources"] == "complete;asked=1;failed=0"


@pytest.mark.parametrize("path", [IA, "/cdx"])
@pytest.mark.parametrize(
    ("trouble", "status"),
    [(Unreachable("b", "", "it is down"), 504), (Refused("b", "", 403, None), 502)],
)
async def test_no_captures_is_an_error_while_an_archive_has_not_answered(
    path: str, trouble: Exception, status: int
) -> None:
    async with serving(lister("a"), lister("b", trouble)) as site:
        seen = await asked(site, path)

    assert seen.status == status
    assert seen.headers["Memento-Sources"] == 'partial;asked=2;failed=1;missing="b"'
    assert "b did not answer" in json.loads(seen.body)["detail"]


async def test_missing_archives_are_named_in_memento_sources() -> None:
    async with serving(*two(), lister("c", Unreachable("c", "", "it is down"))) as site:
        seen = await asked(site, IA)

    assert seen.status == 200
    assert seen.headers["Memento-Sources"] == 'partial;asked=3;failed=1;missing="c"'
    assert seen.headers["Cache-Control"] == "no-cache"


async def test_rows_are_aborted_if_a_list_breaks_off() -> None:
    broken = (captures("a", range(3_000)), captures("a", [3_001]), Unreachable("a", "", "cut"))

    async with serving(lister("a", *broken)) as site:
        try:
            seen = await asked(site, IA)
        except ConnectionResetError:
            return

    with pytest.raises(ValueError, match="base 16"):
        body(seen)


async def test_the_last_rows_of_a_list_that_broke_off_are_called_partial() -> None:
    broken = (captures("a", range(3_000)), captures("a", [3_001]), Unreachable("a", "", "cut"))

    async with serving(lister("a", *broken)) as site:
        seen = await asked(site, IA, ("limit", "-1"))

    assert seen.headers["Memento-Sources"] == 'partial;asked=1;failed=1;missing="a"'
    assert at(3_001) in text(seen)


async def test_a_limit_closes_the_lists_of_the_archives() -> None:
    long = lister("a", *(captures("a", range(i, i + 500)) for i in range(0, 10**5, 500)))

    async with serving(long) as site:
        seen = await asked(site, IA, ("limit", "3"))

        assert len(text(seen).splitlines()) == 3
        assert long.listing.closed
        assert long.listing.pulled < 5


async def test_head_closes_the_lists_of_the_archives() -> None:
    long = lister("a", *(captures("a", range(i, i + 500)) for i in range(0, 10**5, 500)))

    async with serving(long) as site:
        seen = await asked(site, IA, method="HEAD")

        assert (seen.status, seen.body) == (200, b"")
        assert long.listing.closed
        assert long.listing.pulled < 5


async def test_resume_keys_page_through_the_whole_list() -> None:
    rows: list[str] = []
    key = ""

    async with serving(lister("a", captures("a", range(25)))) as site:
        while True:
            resume = [("resumeKey", key)] if key else []
            seen = await asked(site, IA, ("limit", "10"), ("showResumeKey", "true"), *resume)
            page, _, key = text(seen).partition("\n\n")
            rows += page.splitlines()
            key = key.strip()
            if not key:
                break

    assert [row.split(" ")[1] for row in rows] == [at(second) for second in range(25)]


async def test_a_resume_key_in_json_follows_an_empty_row() -> None:
    async with serving(*two()) as site:
        wanted = (("limit", "1"), ("showResumeKey", "true"), ("output", "json"))
        rows = json.loads(text(await asked(site, IA, *wanted, ("fl", "timestamp"))))
        again = await asked(site, IA, ("resumeKey", rows[-1][0]), ("fl", "timestamp"))

    assert rows[:3] == [["timestamp"], [at(1)], []]
    assert text(again).split() == [at(2), at(3)]


async def test_all_captures_are_on_the_first_page() -> None:
    async with serving(*two()) as site:
        count = await asked(site, IA, ("showNumPages", "true"))
        first = await asked(site, IA, ("page", "0"), ("output", "json"))
        second = await asked(site, IA, ("page", "1"), ("output", "json"))
        blocks = await asked(site, "/cdx", ("showNumPages", "true"))
        behind = await asked(site, "/cdx", ("page", "1"))

    assert count.body == b"1\n"
    assert len(json.loads(text(first))) == 4
    assert (second.status, second.body) == (200, b"")
    assert json.loads(blocks.body)["blocks"] == 1
    assert behind.status == 400


@pytest.mark.parametrize(
    ("output", "content_type"),
    [("json", "text/x-ndjson"), ("cdxj", "text/x-cdxj"), ("", "text/x-cdxj")],
)
async def test_pywb_output_formats_are_written(output: str, content_type: str) -> None:
    async with serving(*two()) as site:
        seen = await asked(site, "/cdx", ("output", output), ("filter", "=status:200"))

    (line,) = text(seen).splitlines()
    row = json.loads(line[line.index("{") :])
    assert seen.headers["Content-Type"] == content_type
    assert row["url"] == ORIGINAL
    assert (row["mime"], row["status"], row["digest"]) == ("text/html", "200", "AAA")
    assert row["source"] == "b"
    assert row["memento"] == capture("b", 2).uri


async def test_pywb_finds_the_closest_with_closest_and_sort() -> None:
    async with serving(*two()) as site:
        near = await asked(
            site, "/cdx", ("closest", at(3)), ("sort", "closest"), ("limit", "100")
        )
        every = await asked(site, "/cdx", ("closest", ""), ("sort", "closest"))

    assert [line.split(" ")[1] for line in text(near).splitlines()] == [at(3), at(2), at(1)]
    assert [line.split(" ")[1] for line in text(every).splitlines()] == [at(1), at(2), at(3)]


@pytest.mark.parametrize("path", [IA, "/cdx"])
@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("", 400),
        ("?", 400),
        ("?url=", 400),
        ("?url=http://x/&matchType=hosts", 400),
        ("?url=ftp://x/", 422),
        ("?url=nonsense", 400),
        ("?url=http://x/&filter=~original:(a", 400),
    ],
)
async def test_unusable_parameters_are_rejected(path: str, target: str, status: int) -> None:
    async with serving(*two()) as site:
        seen = await site.ask(path + target)

    assert seen.status == status
    assert seen.headers["Content-Type"] == "application/problem+json"


async def test_a_url_without_a_scheme_is_accepted() -> None:
    archive = lister("a", captures("a", [1]))

    async with serving(archive) as site:
        await site.ask(f"{IA}?url=example.org/a%3Fb%3Dc%26d+e")

    assert archive.originals == ["http://example.org/a?b=c&d+e"]


async def test_only_if_cached_queries_no_archive() -> None:
    async with serving(*two()) as site:
        seen = await site.ask(f"{IA}?url={ORIGINAL}", ("Cache-Control", "only-if-cached"))

    assert seen.status == 504
    assert json.loads(seen.body)["type"].endswith("/not-cached")


async def test_clients_may_choose_archives() -> None:
    async with serving(*two()) as site:
        seen = await site.ask(f"{IA}?url={ORIGINAL}", ("Prefer", "archives=b"))

    assert seen.headers["Preference-Applied"] == "archives=b"
    assert len(text(seen).splitlines()) == 1


@pytest.mark.parametrize(
    "target",
    [
        f"?url={ORIGINAL}&archives=b",
        f"?archives=b&url={ORIGINAL}",
        f"?archives=b&?from=2013&url={ORIGINAL}",
        f"?url={ORIGINAL}&exclude=a",
    ],
)
@pytest.mark.parametrize("path", [IA, "/cdx"])
async def test_a_parameter_limits_the_rows_to_archives(path: str, target: str) -> None:
    async with serving(*two()) as site:
        seen = await site.ask(f"{path}{target}&fl=timestamp,source&output=text")

    assert text(seen).splitlines() == [f"{at(2)} b"]
    assert seen.headers["Memento-Sources"] == "complete;asked=1;failed=0"


@pytest.mark.parametrize("choice", ["archives=nowhere", "archives=b,nowhere", "archives="])
async def test_archives_that_are_not_registered_are_rejected(choice: str) -> None:
    async with serving(*two()) as site:
        seen = await site.ask(f"{IA}?url={ORIGINAL}&{choice}")

    assert seen.status == 400
    assert "archives" in json.loads(seen.body)["detail"]
