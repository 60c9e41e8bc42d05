import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from archives.errors import Refused, Unreachable
from archives.model import ArchiveEntry, Memento
from archives.source import WantedCaptures
from tests.scenario import FakeArchive, World
from tests.timegate.endpoints.served import QUICK, Seen, Site, dispatch_to, entries, resolve_of
from tests.timegate.timemaps.capture_lists import (
    ORIGINAL,
    FakeListCache,
    Listing,
    capture,
    captures,
)
from timegate.endpoints.timemap import TimeMapEndpoint
from timegate.resolution.coalescing import fixed
from timegate.responses.answers import Answers
from timegate.responses.timemap import TimeMapResponses
from timegate.server.listener import listening
from timegate.timemaps import ArchiveLists


@dataclass
class Lister(FakeArchive):
    """An archive whose list follows a script; with *index*, it has a CDX server too."""

    listing: Listing = field(default_factory=Listing)
    index: Listing | None = None
    originals: list[str] = field(default_factory=list)

    def mementos(
        self, original: str, *, detailed: bool = False, wanted: WantedCaptures | None = None
    ) -> AsyncGenerator[Sequence[Memento], None]:
        del wanted
        self.originals.append(original)
        return self.index() if detailed and self.index is not None else self.listing()

    @property
    def entry(self) -> ArchiveEntry:
        return super().entry if self.index is None else with_index(super().entry)


def with_index(entry: ArchiveEntry) -> ArchiveEntry:
    """Return *entry* with a TimeMap and a CDX server."""
    return replace(
        entry,
        timemaps={"link": f"http://{entry.id}/timemap/link/"},
        cdx=f"http://{entry.id}/cdx",
        dialect="wayback-cdx",
        replay=f"http://{entry.id}/{{time14}}/{{uri}}",
    )


def lister(name: str, *script: Sequence[Memento] | float | Exception) -> Lister:
    return Lister(name, listing=Listing(*script))


@asynccontextmanager
async def serving(*archives: Lister, cache: FakeListCache | None = None) -> AsyncIterator[Site]:
    world = World(*archives)
    registry = entries(world)
    lists = ArchiveLists(fixed(world.archives), cache or FakeListCache())
    timemaps = TimeMapResponses(lists, world.route, registry, "https://gate.example", QUICK)
    resolve = resolve_of(Answers(world.resolver, registry, ""), registry)
    dispatch = dispatch_to(resolve, prefixes={"/timemap/": TimeMapEndpoint(timemaps)})
    async with world.coalescer, listening(dispatch, "127.0.0.1", 0) as port:
        yield Site(port, world)


def body(seen: Seen) -> str:
    """Return the body; raise ValueError if it is incomplete."""
    octets, text = seen.body, b""
    length = int(seen.headers.get("Content-Length", "-1"))
    if length >= 0:
        if len(octets) != length:
            raise ValueError("the body is incomplete")
        return octets.decode()
    while True:
        size, _, octets = octets.partition(b"\r\n")
        length = int(size, 16)
        if length == 0:
            return text.decode()
        text, octets = text + octets[:length], octets[length + 2 :]


A = lister("a", captures("a", [1, 3]))
B = lister("b", captures("b", [2]))


@pytest.mark.parametrize(
    ("name", "content_type"),
    [
        ("link", "application/link-format"),
        ("json", "application/json"),
        ("cdxj", "application/cdxj+ors"),
    ],
)
async def test_a_timemap_lists_the_captures_of_all_archives(
    name: str, content_type: str
) -> None:
    async with serving(A, B) as site:
        seen = await site.ask(f"/timemap/{name}/{ORIGINAL}")

    assert seen.status == 200
    assert seen.headers["Content-Type"] == content_type
    assert seen.headers["X-Memento-Count"] == "3"
    assert seen.headers["Memento-Sources"] == "complete;asked=2;failed=0"
    assert seen.headers["Vary"] == "accept, prefer"
    assert 'rel="timemap"' in seen.headers["Link"]
    assert 'original"' not in seen.headers["Link"]
    text = body(seen)
    places = [text.index(m.uri) for m in (capture("a", 1), capture("b", 2), capture("a", 3))]
    assert places == sorted(places)


async def test_links_use_the_base_url_and_not_what_the_client_sent() -> None:
    async with serving(A) as site:
        seen = await site.ask(f"/timemap/link/{ORIGINAL}", ("X-Forwarded-Host", "evil.example"))

    assert "<https://gate.example/timegate/http://example.org/>" in body(seen)


async def test_head_sends_the_headers_and_closes_the_lists() -> None:
    long = lister("a", *(captures("a", range(i, i + 500)) for i in range(0, 10**5, 500)))

    async with serving(long) as site:
        seen = await site.ask(f"/timemap/link/{ORIGINAL}", method="HEAD")

        assert seen.status == 200
        assert seen.body == b""
        assert "X-Memento-Count" not in seen.headers
        assert long.listing.closed
        assert long.listing.pulled < 5


async def test_head_sends_the_count_where_it_is_known() -> None:
    async with serving(A, B) as site:
        seen = await site.ask(f"/timemap/json/{ORIGINAL}", method="HEAD")

    assert seen.headers["X-Memento-Count"] == "3"


@pytest.mark.parametrize(
    "identifier",
    [
        "urn:pwid:a.example:2016-01-22T11:20:29Z:page:http://example.org/",
        "duri:2012:http://example.org/",
        "http%3A%2F%2Fexample.org%2F",
        "https://a.host/20160122112029/http://example.org/",
    ],
)
async def test_the_timemap_of_an_identifier_is_that_of_its_item(identifier: str) -> None:
    archive = lister("a", captures("a", [1]))

    async with serving(archive) as site:
        seen = await site.ask(f"/timemap/link/{identifier}")

    assert seen.status == 200
    assert archive.originals == [ORIGINAL]
    assert body(seen).startswith(f'<{ORIGINAL}>; rel="original"')


async def test_the_query_of_a_url_is_its_own() -> None:
    archive = lister("a", captures("a", [1]))

    async with serving(archive) as site:
        await site.ask("/timemap/link/http://example.org/?archives=b&x=%2F")

    assert archive.originals == ["http://example.org/?archives=b&x=%2F"]


async def test_accept_datetime_is_ignored() -> None:
    async with serving(A) as site:
        seen = await site.ask(f"/timemap/link/{ORIGINAL}", ("Accept-Datetime", "no date"))

    assert seen.status == 200


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("application/linkset+json", "application/linkset+json"),
        ("application/link-format;q=0.5, application/linkset+json", "application/linkset+json"),
        ("application/linkset+json;q=0.5, application/link-format", "application/link-format"),
        ("application/linkset+json;q=0", "application/link-format"),
        ("application/linkset+json;q=inf", "application/link-format"),
        ("application/linkset+json;q=1e9", "application/link-format"),
        ("*/*", "application/link-format"),
        ("", "application/link-format"),
    ],
)
async def test_a_linkset_is_sent_to_clients_that_prefer_it(
    accept: str, content_type: str
) -> None:
    async with serving(A) as site:
        seen = await site.ask(f"/timemap/link/{ORIGINAL}", ("Accept", accept))

    assert seen.headers["Content-Type"] == content_type


@pytest.mark.parametrize("target", ["/timemap/xml/http://x/", "/timemap/link/", "/timemap/"])
async def test_an_unknown_format_is_404_with_the_known_ones(target: str) -> None:
    async with serving(A) as site:
        seen = await site.ask(target)

    assert seen.status == 404
    assert json.loads(seen.body)["formats"] == ["link", "json", "cdxj"]


@pytest.mark.parametrize(
    ("target", "status"), [("urn:pwid:a:2016-99:page:http://x/", 400), ("ftp://x/", 422)]
)
async def test_unreadable_identifiers_are_rejected(target: str, status: int) -> None:
    async with serving(A) as site:
        seen = await site.ask(f"/timemap/link/{target}")

    assert seen.status == status
    assert seen.headers["Content-Type"] == "application/problem+json"


# Nothing, or not all


async def test_no_captures_in_any_archive_is_404() -> None:
    async with serving(lister("a"), lister("b")) as site:
        seen = await site.ask(f"/timemap/link/{ORIGINAL}")

    assert seen.status == 404
    assert seen.headers["X-Memento-Count"] == "0"
    assert json.loads(seen.body)["type"].endswith("/no-memento")


@pytest.mark.parametrize(
    ("trouble", "status"),
    [
        (Unreachable("b", "", "it is down"), 504),
        (Refused("b", "", 403, None), 502),
        (60.0, 504),
    ],
)
async def test_no_captures_is_an_error_while_an_archive_has_not_answered(
    trouble: Exception | float, status: int
) -> None:
    async with serving(lister("a"), lister("b", trouble)) as site:
        seen = await site.ask(f"/timemap/link/{ORIGINAL}")

    assert seen.status == status
    assert "X-Memento-Count" not in seen.headers
    assert seen.headers["Memento-Sources"] == 'partial;asked=2;failed=1;missing="b"'
    assert "b did not answer" in json.loads(seen.body)["detail"]


async def test_archives_missing_at_the_first_byte_are_named_in_the_header() -> None:
    down = lister("b", Unreachable("b", "", "it is down"))

    async with serving(A, down, lister("c", 60.0)) as site:
        seen = await site.ask(f"/timemap/link/{ORIGINAL}")

    assert seen.status == 200
    assert seen.headers["Memento-Sources"] == 'partial;asked=3;failed=2;missing="b c"'
    assert seen.headers["Cache-Control"] == "no-cache"
    assert body(seen).count("memento") == 2


BREAKS = (captures("a", range(3_000)), captures("a", [3_001]), Unreachable("a", "", "cut"))


async def test_a_list_that_breaks_off_after_the_first_byte_is_aborted() -> None:
    async with serving(lister("a", *BREAKS)) as site:
        try:
            seen = await site.ask(f"/timemap/link/{ORIGINAL}")
        except ConnectionResetError:
            return

    with pytest.raises(ValueError, match="base 16"):
        body(seen)


async def test_incomplete_json_says_so_at_its_end() -> None:
    cache = FakeListCache()

    async with serving(lister("a", *BREAKS), B, cache=cache) as site:
        seen = await site.ask(f"/timemap/json/{ORIGINAL}")

    timemap = json.loads(body(seen))
    assert seen.headers["Memento-Sources"] == "pending;asked=2;failed=0"
    assert timemap["timegate"]["missing"] == {"a": "cut"}
    assert "a" not in cache.kept
    assert cache.kept["b"] == captures("b", [2])


# Preferences of the client


async def test_a_cached_list_is_sent_without_queries() -> None:
    archive = lister("a", captures("a", [9]))

    async with serving(archive, cache=FakeListCache(a=captures("a", [1]))) as site:
        seen = await site.ask(f"/timemap/link/{ORIGINAL}", ("Cache-Control", "only-if-cached"))

    assert capture("a", 1).uri in body(seen)
    assert archive.originals == []


async def test_only_if_cached_without_a_cached_list_is_a_timeout() -> None:
    async with serving(A) as site:
        seen = await site.ask(f"/timemap/link/{ORIGINAL}", ("Cache-Control", "only-if-cached"))

    assert seen.status == 504
    assert json.loads(seen.body)["type"].endswith("/not-cached")


async def test_a_client_may_choose_archives() -> None:
    async with serving(A, B) as site:
        seen = await site.ask(f"/timemap/link/{ORIGINAL}", ("Prefer", "archives=b"))

    assert seen.headers["Preference-Applied"] == "archives=b"
    assert seen.headers["Memento-Sources"] == "complete;asked=1;failed=0"


async def test_a_slow_client_slows_the_reading_of_the_lists_down() -> None:
    batches = 400
    long = lister(
        "a", *(captures("a", range(i, i + 500)) for i in range(0, batches * 500, 500))
    )

    async with serving(long) as site:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port, limit=1024)
        writer.write(f"GET /timemap/link/{ORIGINAL} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await reader.readexactly(100)
        pulled = -1
        while pulled != long.listing.pulled:
            pulled = long.listing.pulled
            for _ in range(200):
                await asyncio.sleep(0)

        # What fits into the buffers of the kernel has left us: some MB of 28.
        assert pulled < batches / 2
        writer.transport.abort()


async def test_the_first_page_of_time_travel_has_everything_and_there_is_no_second() -> None:
    async with serving(A, B) as site:
        whole = await site.ask(f"/timemap/link/{ORIGINAL}")
        first = await site.ask(f"/timemap/link/1/{ORIGINAL}")
        second = await site.ask(f"/timemap/link/2/{ORIGINAL}")

    assert first.status == 200
    assert body(first) == body(whole)
    assert second.status == 404


async def test_clients_that_request_the_same_list_at_the_same_time_share_one() -> None:
    archive = lister("a", 0.05, captures("a", [1, 3]))
    async with serving(archive) as site:
        async with asyncio.TaskGroup() as group:
            asking = [
                group.create_task(site.ask(f"/timemap/link/{ORIGINAL}")) for _ in range(20)
            ]
        answers = {(task.result().status, body(task.result())) for task in asking}

    assert len(answers) == 1
    assert len(archive.originals) == 1


async def test_a_client_that_leaves_does_not_end_the_list_of_the_others() -> None:
    archive = lister("a", 0.05, captures("a", [1, 3]))
    target = f"/timemap/link/{ORIGINAL}"
    async with serving(archive) as site:
        async with asyncio.TaskGroup() as group:
            leaving = group.create_task(site.ask(target))
            await asyncio.sleep(0.02)
            staying = group.create_task(site.ask(target))
            await asyncio.sleep(0.02)
            leaving.cancel()
        seen = staying.result()

    assert seen.status == 200
    assert body(seen).count("memento") == 2


@pytest.mark.parametrize(
    ("form", "accept"),
    [
        ("link", "*/*"),
        ("json", "*/*"),
        ("cdxj", "*/*"),
        ("link", "application/linkset+json"),
    ],
)
async def test_a_merged_list_is_validated_by_what_is_remembered(form: str, accept: str) -> None:
    cache = FakeListCache(a=captures("a", [2010, 2012]), b=captures("b", [2011]))
    cache.age = 4000.4
    path, accepts = f"/timemap/{form}/{ORIGINAL}", ("Accept", accept)
    async with serving(lister("a"), lister("b"), cache=cache) as site:
        first = await site.ask(path, accepts)
        stated = ("If-None-Match", first.headers["ETag"])
        same = await site.ask(path, accepts, stated)
        since = await site.ask(
            path, accepts, ("If-Modified-Since", first.headers["Last-Modified"])
        )
        cache.kept["b"] = captures("b", [2011, 2013])
        other = await site.ask(path, accepts, stated)

    assert (first.status, same.status, since.status, other.status) == (200, 304, 304, 200)
    assert same.body == since.body == b""
    assert same.headers["ETag"] == first.headers["ETag"] != other.headers["ETag"]
    assert first.headers["Age"] == same.headers["Age"] == "4000"
    assert first.headers["Cache-Control"] == "max-age=4060"


async def test_each_format_of_a_list_has_its_own_etag() -> None:
    cache = FakeListCache(a=captures("a", [2010, 2012]))
    async with serving(lister("a"), cache=cache) as site:
        answers = [
            await site.ask(f"/timemap/{form}/{ORIGINAL}") for form in ("link", "json", "cdxj")
        ]

    assert len({answer.headers["ETag"] for answer in answers}) == 3


async def test_a_list_that_was_read_just_now_has_an_etag_and_no_age() -> None:
    async with serving(lister("a", captures("a", [2010, 2012]))) as site:
        seen = await site.ask(f"/timemap/link/{ORIGINAL}")

    assert "ETag" in seen.headers
    assert not {"Age", "Last-Modified"} & seen.headers.keys()
    assert seen.headers["Cache-Control"] == "max-age=60"


async def test_an_incomplete_list_has_no_validators() -> None:
    broken = lister("b", Unreachable("b", ORIGINAL, "down"))
    async with serving(lister("a", captures("a", [2010])), broken) as site:
        seen = await site.ask(f"/timemap/link/{ORIGINAL}", ("If-None-Match", "*"))

    assert seen.status == 200
    assert not {"ETag", "Age", "Last-Modified"} & seen.headers.keys()


async def test_parameters_may_follow_a_url_that_is_percent_encoded() -> None:
    encoded = "http%3A%2F%2Fexample.org%2F"
    slow = lister("b", 0.3, captures("b", [2]))
    async with serving(A, slow) as site:
        usual = await site.ask(f"/timemap/link/{encoded}")
        waiting = await site.ask(f"/timemap/link/{encoded}?wait=5")
        refused = await site.ask(f"/timemap/link/{encoded}?wait=100")

    assert usual.headers["Memento-Sources"].startswith("partial")
    assert waiting.headers["Memento-Sources"].startswith("complete;asked=2;failed=0")
    assert capture("b", 2).uri in body(waiting)
    assert refused.status == 400


@pytest.mark.parametrize(
    ("target", "original"),
    [
        ("http://example.org/?wait=5", "http://example.org/?wait=5"),
        ("http%3A%2F%2Fexample.org%2F?a=b", "http://example.org/?a=b"),
        ("http%3A%2F%2Fexample.org%2F?wait=5&a=b", "http://example.org/?wait=5&a=b"),
    ],
)
async def test_other_queries_belong_to_the_url(target: str, original: str) -> None:
    archive = lister("a", captures("a", [1]))
    async with serving(archive) as site:
        await site.ask(f"/timemap/link/{target}")

    assert archive.originals == [original]
