"""`/memento/proxy/{stamp}/{URL}`: the bytes of exactly that memento, in a sandbox."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from archives.errors import ArchiveError, Misbehaved, Queued, Unreachable
from archives.model import ArchiveEntry
from archives.registry import Registry
from archives.source import Request
from tests.clock import in_virtual_time
from tests.fakes import Canned, FakeFetcher, FakeReply
from tests.scenario import LIMITS, FakeArchive, World
from tests.timegate.endpoints.served import QUICK, Seen, Site, dispatch_to, entries, resolve_of
from timegate.endpoints.raw_proxy import RawProxyEndpoint
from timegate.responses.answers import Answers
from timegate.responses.model import ClientRequest, StreamingResponse
from timegate.server.listener import listening

STAMP = "20160122112029"
LATER = "20160125112029"
DATE = "Fri, 22 Jan 2016 11:20:29 GMT"
URL = "http://example.org/"
RAW = f"https://a.host/{STAMP}id_/{URL}"
ADDRESS = f"/memento/proxy/{STAMP}/{URL}"
OURS = "https://gate.example/memento/proxy"
IMAGE = {"Content-Type": "image/png", "Memento-Datetime": DATE}
PAGE = {"Content-Type": "text/html; charset=x", "Memento-Datetime": DATE}


class UnaskedVariant(FakeFetcher):
    """A fetcher that must not be used."""

    def __init__(self) -> None:
        super().__init__({}, ())


class Counting(FakeFetcher):
    """Counts the open exchanges."""

    open = 0

    @asynccontextmanager
    async def __call__(self, request: Request) -> AsyncGenerator[FakeReply]:
        async with super().__call__(request) as reply:
            self.open += 1
            try:
                yield reply
            finally:
                self.open -= 1


def _entry(known: ArchiveEntry, *, raw: bool) -> ArchiveEntry:
    name = known.id
    template = f"https://{name}.host/{{time14}}id_/{{uri}}" if raw else None
    return replace(known, raw=template)


@asynccontextmanager
async def proxying(
    fetcher: FakeFetcher,
    *archives: FakeArchive,
    raw: bool = True,
    most: int = 1024**3,
) -> AsyncIterator[Site]:
    world = World(*(archives or (FakeArchive("a", 0.0, (STAMP,)),)), deadlines=QUICK)
    known = entries(world)
    registry = Registry(
        [_entry(entry, raw=raw) for name in world.archives if (entry := known.by_id(name))]
    )
    answers = Answers(world.resolver, registry, "https://gate.example")
    resolve = resolve_of(answers, registry)
    fetchers = dict.fromkeys(world.archives, fetcher)
    proxy = RawProxyEndpoint(answers, registry, fetchers, most)
    dispatch = dispatch_to(resolve, prefixes={"/memento/proxy/": proxy})
    async with world.coalescer, listening(dispatch, "127.0.0.1", 0) as port:
        yield Site(port, world)


def fetcher(answer: Canned | ArchiveError, url: str = RAW) -> FakeFetcher:
    return FakeFetcher({url: answer}, ("a.host", "a"))


async def seen_of(
    answer: Canned | ArchiveError, *headers: tuple[str, str], method: str = "GET"
) -> Seen:
    async with proxying(fetcher(answer)) as site:
        return await site.ask(ADDRESS, *headers, method=method)


@pytest.mark.parametrize("stamp", ["2016", "201601", "20160122", "20160122112030", LATER])
async def test_an_inexact_stamp_redirects_to_the_exact_one(stamp: str) -> None:
    upstream = UnaskedVariant()
    async with proxying(upstream) as site:
        seen = await site.ask(f"/memento/proxy/{stamp}/{URL}")

    assert seen.status == 302
    assert seen.headers["Location"] == f"{OURS}/{STAMP}/{URL}"
    assert "Memento-Datetime" not in seen.headers
    assert "accept-datetime" not in seen.headers["Vary"]
    assert f'<{URL}>; rel="original"' in seen.headers["Link"]
    assert upstream.journal == []


async def test_a_variant_of_the_url_redirects_to_the_one_that_is_held() -> None:
    async with proxying(UnaskedVariant()) as site:
        seen = await site.ask(f"/memento/proxy/{STAMP}/http://www.example.org/")

    assert seen.status == 302
    assert seen.headers["Location"] == f"{OURS}/{STAMP}/{URL}"


async def test_the_bytes_are_sent_as_they_were_captured() -> None:
    upstream = fetcher(Canned(200, {**IMAGE, "Content-Length": "6"}, [b"abc", b"", b"def"]))
    async with proxying(upstream) as site:
        seen = await site.ask(ADDRESS)

    assert upstream.lines == [f"GET {RAW}"]
    assert seen.status == 200
    assert seen.body == b"abcdef"
    assert seen.headers["Content-Type"] == "image/png"
    assert seen.headers["Content-Length"] == "6"
    assert seen.headers["Memento-Datetime"] == DATE
    assert seen.headers["Content-Location"] == RAW
    assert f'<{URL}>; rel="original"' in seen.headers["Link"]
    assert seen.headers["Memento-Precision"].startswith("match=exact")
    assert "content=raw" in seen.headers["Memento-Precision"]


def test_bodies_that_are_not_read_take_half_of_the_requests_to_an_archive() -> None:
    async def story() -> list[int]:
        upstream = fetcher(Canned(200, IMAGE, [b"abc"]))
        world = World(FakeArchive("a", 0.0, (STAMP,)))
        registry = Registry([_entry(entries(world).entries[0], raw=True)])
        answers = Answers(world.resolver, registry, "https://gate.example")
        proxy = RawProxyEndpoint(answers, registry, {"a": upstream})
        request = ClientRequest("GET", f"{STAMP}/{URL}", {})
        async with world.coalescer:
            unread = [await proxy(request) for _ in range(LIMITS.at_once // 2 + 1)]
            first = unread[0]
            assert isinstance(first, StreamingResponse)
            await first.chunks.aclose()
            unread.append(await proxy(request))
        return [response.status for response in unread]

    assert in_virtual_time(story()) == [200, 200, 200, 200, 502, 200]


async def test_a_url_keeps_its_query() -> None:
    url = f"{URL}?a=1&b=%2F"
    upstream = fetcher(Canned(200, IMAGE, b"x"), f"https://a.host/{STAMP}id_/{url}")
    async with proxying(upstream, FakeArchive("a", 0.0, (STAMP,), holds=url)) as site:
        seen = await site.ask(f"/memento/proxy/{STAMP}/{url}")

    assert seen.status == 200


async def test_without_a_raw_address_the_replayed_memento_is_sent_as_degraded() -> None:
    shown = f"http://a/{STAMP}/{URL}"
    async with proxying(fetcher(Canned(200, IMAGE, b"x"), shown), raw=False) as site:
        seen = await site.ask(ADDRESS)

    assert seen.status == 200
    assert seen.headers["Content-Location"] == shown
    assert "coverage=degraded;req=part;got=page" in seen.headers["Memento-Precision"]
    assert seen.headers["Cache-Control"] == "no-cache"


async def test_every_response_has_a_sandbox_policy() -> None:
    seen = await seen_of(Canned(200, PAGE, b"<script>"))

    assert seen.headers["Content-Security-Policy"] == (
        "sandbox; default-src 'none'; frame-ancestors 'none'"
    )
    assert seen.headers["X-Content-Type-Options"] == "nosniff"
    assert seen.headers["Referrer-Policy"] == "no-referrer"
    assert seen.headers["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.parametrize(
    ("stated", "sent", "download"),
    [
        ("text/html", "text/html", True),
        ("application/xhtml+xml", "application/xhtml+xml", True),
        ("image/svg+xml", "image/svg+xml", True),
        ("IMAGE/SVG+XML", "IMAGE/SVG+XML", True),
        ("text/xml", "text/xml", True),
        ("application/pdf", "application/pdf", True),
        (
            "multipart/x-mixed-replace; boundary=a",
            "multipart/x-mixed-replace; boundary=a",
            True,
        ),
        ("image/jpeg", "image/jpeg", False),
        ("video/mp4", "video/mp4", False),
        ("text/plain; charset=utf-8", "text/plain; charset=utf-8", False),
        ("text/plainer", "text/plainer", True),
        ("", "application/octet-stream", True),
        ("nonsense", "application/octet-stream", True),
        ("image/png, text/html", "application/octet-stream", True),
        ("image/png\tx", "application/octet-stream", True),
        ("image/p\xefng", "application/octet-stream", True),
    ],
)
async def test_active_content_is_sent_as_a_download(
    stated: str, sent: str, *, download: bool
) -> None:
    seen = await seen_of(Canned(200, {**PAGE, "Content-Type": stated}, b"x"))

    assert seen.headers["Content-Type"] == sent
    assert ("Content-Disposition" in seen.headers) == download
    if download:
        assert seen.headers["Content-Disposition"] == "attachment"


@pytest.mark.parametrize(
    "name",
    [
        *("Set-Cookie", "Clear-Site-Data", "Service-Worker-Allowed", "Alt-Svc", "Refresh"),
        *("Strict-Transport-Security", "ETag", "Last-Modified", "Age", "WWW-Authenticate"),
        *("Content-Encoding", "X-Archive-Orig-Set-Cookie", "SourceMap", "Location"),
    ],
)
async def test_other_headers_of_the_archive_are_dropped(name: str) -> None:
    seen = await seen_of(Canned(200, {**IMAGE, name: "identity"}, b"x"))

    assert seen.status == 200
    assert name not in seen.headers


async def test_the_link_header_of_the_archive_is_dropped() -> None:
    seen = await seen_of(Canned(200, {**IMAGE, "Link": "</evil.js>; rel=preload"}, b"x"))

    assert "preload" not in seen.headers["Link"]


async def test_archived_headers_are_sent_with_their_prefix() -> None:
    aside = {"X-Archive-Orig-Server": "Apache", "X-Archive-Orig-Bad": "caf\xe9"}

    seen = await seen_of(Canned(200, {**IMAGE, **aside}, b"x"))

    assert seen.headers["X-Archive-Orig-Server"] == "Apache"
    assert "X-Archive-Orig-Bad" not in seen.headers


async def test_the_length_of_encoded_bytes_is_not_sent() -> None:
    coded = {**IMAGE, "Content-Length": "3", "Content-Encoding": "gzip"}

    seen = await seen_of(Canned(200, coded, b"abcdef"))

    assert "Content-Length" not in seen.headers
    assert "Content-Encoding" not in seen.headers
    assert b"abcdef" in seen.body


async def test_a_range_is_passed_on() -> None:
    part = Canned(206, {**IMAGE, "Content-Range": "bytes 2-3/9", "Content-Length": "2"}, b"cd")
    upstream = fetcher(part)
    async with proxying(upstream) as site:
        seen = await site.ask(ADDRESS, ("Range", "bytes=2-3"))

    assert upstream.journal[0].headers["Range"] == "bytes=2-3"
    assert upstream.journal[0].headers["Accept-Encoding"] == "identity"
    assert seen.status == 206
    assert seen.body == b"cd"
    assert seen.headers["Content-Range"] == "bytes 2-3/9"


@pytest.mark.parametrize("moment", [{}, {"Memento-Datetime": DATE}])
async def test_an_unsatisfiable_range_is_416(moment: dict[str, str]) -> None:
    refusal = Canned(416, {**moment, "Content-Range": "bytes */9"}, b"no")

    seen = await seen_of(refusal, ("Range", "bytes=20-"))

    assert seen.status == 416
    assert seen.headers["Content-Range"] == "bytes */9"
    assert seen.body == b""


@pytest.mark.parametrize(
    "headers",
    [
        [("Range", "bytes=0-1,0-1,0-1")],
        [("Range", "lines=1-2")],
        [("Range", "bytes=-")],
        [("Range", "bytes=0-1"), ("If-Range", '"x"')],
    ],
)
async def test_other_ranges_are_ignored(headers: list[tuple[str, str]]) -> None:
    upstream = fetcher(Canned(200, IMAGE, b"all"))
    async with proxying(upstream) as site:
        seen = await site.ask(ADDRESS, *headers)

    assert upstream.journal[0].headers == {}
    assert seen.status == 200


async def test_no_header_of_the_client_reaches_the_archive() -> None:
    upstream = fetcher(Canned(200, IMAGE, b"x"))
    async with proxying(upstream) as site:
        await site.ask(ADDRESS, ("Cookie", "a=b"), ("Authorization", "x"), ("Referer", "y"))

    assert upstream.journal == [Request("GET", RAW, "memento", {})]


async def test_head_sends_only_headers() -> None:
    upstream = fetcher(Canned(200, {**IMAGE, "Content-Length": "6"}, b"abcdef"))
    async with proxying(upstream) as site:
        seen = await site.ask(ADDRESS, ("Range", "bytes=0-1"), method="HEAD")

    assert upstream.lines == [f"HEAD {RAW}"]
    assert seen.status == 200
    assert seen.headers["Content-Length"] == "6"
    assert seen.headers["Memento-Datetime"] == DATE
    assert seen.body == b""


async def test_head_states_no_length_if_the_archive_states_0_for_every_head() -> None:
    seen = await seen_of(Canned(200, {**IMAGE, "Content-Length": "0"}, b""), method="HEAD")

    assert seen.status == 200
    assert "Content-Length" not in seen.headers


async def test_an_empty_copy_has_a_length_of_0() -> None:
    seen = await seen_of(Canned(200, {**IMAGE, "Content-Length": "0"}, b""))

    assert seen.headers["Content-Length"] == "0"


async def test_an_archived_error_is_a_memento() -> None:
    seen = await seen_of(Canned(404, PAGE, b"gone"))

    assert seen.status == 404
    assert b"gone" in seen.body
    assert seen.headers["Memento-Datetime"] == DATE


@pytest.mark.parametrize(
    "location",
    [
        "https://a.host/20160122112031id_/http://example.org/new?x=1",
        "/20160122112031/http://example.org/new?x=1",
    ],
)
async def test_a_redirect_to_another_memento_leads_to_this_server(location: str) -> None:
    moved = Canned(301, {**PAGE, "Location": location}, b"")
    upstream = fetcher(moved)
    async with proxying(upstream) as site:
        seen = await site.ask(ADDRESS)

    assert seen.status == 301
    assert seen.headers["Location"] == f"{OURS}/20160122112031/http://example.org/new?x=1"
    assert upstream.lines == [f"GET {RAW}"]


@pytest.mark.parametrize(
    "location",
    [
        "https://example.org/new",
        "/new",
        "//evil.example/",
        "javascript:alert(1)",
        "https://b.host/20160122112031/http://example.org/new",
        "https://a.host/",
        "https://a.host/20169922112031/http://example.org/",
        'http://x/"<>',
    ],
)
async def test_any_other_redirect_is_described_without_location(location: str) -> None:
    moved = Canned(302, {**PAGE, "Location": location}, b"")
    other = FakeArchive("b", 0.0)
    async with proxying(fetcher(moved), FakeArchive("a", 0.0, (STAMP,)), other) as site:
        seen = await site.ask(ADDRESS)

    assert seen.status == 302
    assert "Location" not in seen.headers
    assert seen.headers["X-Archive-Orig-Location"].startswith(location[:5])
    assert "<" not in seen.headers["X-Archive-Orig-Location"]


@pytest.mark.parametrize(
    "answer",
    [
        Canned(404, {"Content-Type": "text/html"}, b"no"),
        Canned(500, {}, b"no"),
        Canned(302, {"Location": "/elsewhere"}),
        Canned(200, {"Content-Type": "text/html"}, b"are you a robot?"),
        Canned(200, {}, b"?"),
        Canned(200, {**IMAGE, "Memento-Datetime": "Mon, 25 Jan 2016 11:20:29 GMT"}, b"x"),
        Canned(200, {**IMAGE, "Memento-Datetime": "yesterday"}, b"x"),
        Canned(206, IMAGE, b"x"),
        Canned(304, IMAGE),
        Canned(416, IMAGE),
        Canned(999, IMAGE, b"x"),
        Canned(429, {}),
        Misbehaved("a", RAW, "leads elsewhere"),
    ],
)
async def test_a_response_that_is_not_the_memento_is_not_sent(
    answer: Canned | ArchiveError,
) -> None:
    seen = await seen_of(answer)

    assert seen.status == 502
    assert seen.headers["Content-Type"] == "application/problem+json"
    assert "Memento-Datetime" not in seen.headers
    assert "Retry-After" in seen.headers


async def test_a_range_of_encoded_bytes_is_rejected() -> None:
    part = Canned(206, {**IMAGE, "Content-Encoding": "gzip"}, b"x")

    seen = await seen_of(part, ("Range", "bytes=0-1"))

    assert seen.status == 502


async def test_a_file_without_memento_datetime_counts_as_the_memento() -> None:
    seen = await seen_of(Canned(200, {"Content-Type": "image/png"}, b"x"))

    assert seen.status == 200
    assert seen.headers["Memento-Datetime"] == DATE


async def test_an_unreachable_archive_is_504() -> None:
    seen = await seen_of(Unreachable("a", RAW, "silent"))

    assert seen.status == 504


async def test_a_body_that_fails_at_its_start_is_an_error_response() -> None:
    broken = Canned(200, IMAGE, (), breaks=Misbehaved("a", RAW, "is no gzip"))

    seen = await seen_of(broken)

    assert seen.status == 502


async def test_a_body_that_fails_at_its_start_leads_to_the_copy_of_another_archive() -> None:
    """The verdict of the redirect names the archive that failed."""
    broken = Canned(200, IMAGE, (), breaks=Misbehaved("a", RAW, "is no gzip"))
    archives = (FakeArchive("a", 0.0, (STAMP,)), FakeArchive("b", 0.0, (LATER,)))

    async with proxying(fetcher(broken), *archives) as site:
        seen = await site.ask(ADDRESS)

    assert (seen.status, seen.headers["Location"]) == (302, f"{OURS}/{LATER}/{URL}")
    assert "sources=partial" in seen.headers["Memento-Precision"]
    assert "failed=1" in seen.headers["Memento-Precision"]


async def test_bytes_that_our_own_limit_delays_are_not_looked_for_elsewhere() -> None:
    archives = (FakeArchive("a", 0.0, (STAMP,)), FakeArchive("b", 0.0, (LATER,)))
    busy = Queued("a", RAW, "too many of its mementos and lists are being sent", 2.0)

    async with proxying(fetcher(busy), *archives) as site:
        seen = await site.ask(ADDRESS)

    assert seen.status >= 500
    assert "Location" not in seen.headers


async def test_another_archive_with_the_same_second_delivers_its_bytes() -> None:
    broken = Canned(200, IMAGE, (), breaks=Misbehaved("a", RAW, "is no gzip"))
    good = Canned(200, IMAGE, b"bytes of b")
    upstream = FakeFetcher(
        {RAW: broken, RAW.replace("a.host", "b.host"): good}, ("a.host", "b.host")
    )
    archives = (FakeArchive("a", 0.0, (STAMP,)), FakeArchive("b", 0.0, (STAMP,)))

    async with proxying(upstream, *archives) as site:
        seen = await site.ask(ADDRESS)

    assert seen.status == 200
    assert b"bytes of b" in seen.body


@pytest.mark.parametrize("most", [1024**3, 4])
async def test_an_incomplete_body_is_aborted(most: int) -> None:
    breaks = Misbehaved("a", RAW, "breaks off") if most > 4 else None
    upstream = fetcher(Canned(200, IMAGE, [b"abcd", b"ef"], breaks=breaks))
    async with proxying(upstream, most=most) as site:
        try:
            body = (await site.ask(ADDRESS)).body
        except (ConnectionResetError, asyncio.IncompleteReadError):
            body = b""

    assert not body.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "answer",
    [
        Canned(200, IMAGE, b"x"),
        Canned(404, {}, b"x"),
        Canned(200, IMAGE, (), breaks=Misbehaved("a", RAW, "is no gzip")),
    ],
)
async def test_every_exchange_is_closed(method: str, answer: Canned) -> None:
    upstream = Counting({RAW: answer}, ("a.host",))
    async with proxying(upstream) as site:
        await site.ask(ADDRESS, method=method)

    assert len(upstream.journal) == 1
    assert upstream.open == 0


async def test_responses_are_not_kept_in_the_response_cache() -> None:
    async with proxying(fetcher(Canned(200, IMAGE, b"x"))) as site:
        await site.ask(f"/memento/proxy/2016/{URL}")
        await site.ask(ADDRESS)
        seen = await site.ask(ADDRESS, ("Cache-Control", "only-if-cached"))

    assert seen.status == 504
    assert json.loads(seen.body)["type"].endswith("not-cached")


async def test_no_memento_is_404_but_not_while_an_archive_is_silent() -> None:
    async with proxying(UnaskedVariant(), FakeArchive("a", 0.0)) as site:
        nothing = await site.ask(ADDRESS)
    async with proxying(UnaskedVariant(), FakeArchive("a", 0.0, error=True)) as site:
        silent = await site.ask(ADDRESS)

    assert nothing.status == 404
    assert silent.status == 504


@pytest.mark.parametrize(
    "rest",
    [
        "",
        STAMP,
        f"{STAMP}/",
        URL,
        f"123/{URL}",
        f"{STAMP}{'0' * 10}/{URL}",
        f"20161322/{URL}",
        f"{STAMP}/javascript:x",
        f"{STAMP}/file:///etc/passwd",
    ],
)
async def test_a_malformed_address_is_rejected(rest: str) -> None:
    async with proxying(UnaskedVariant()) as site:
        seen = await site.ask(f"/memento/proxy/{rest}")

    assert seen.status in (400, 422)
    assert site.world.requests() == 0


async def test_captures_of_one_second_have_different_addresses() -> None:
    three = FakeArchive("a", 0.0, tuple(f"{STAMP}{f}" for f in ("100", "250", "900")))
    async with proxying(fetcher(Canned(200, IMAGE, b"bytes")), three) as site:
        second = await site.ask(ADDRESS)
        fraction = await site.ask(f"/memento/proxy/{STAMP}900/{URL}")

    assert (second.status, fraction.status) == (302, 200)
    assert second.headers["Location"] == f"{OURS}/{STAMP}100/{URL}"
