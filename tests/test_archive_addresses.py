"""No address of another server gets from an archive's answer to a request or to a client.

The seams at which an archive states addresses are listed here; each is tried with addresses
that are not the archive's. The fetcher fetches any address, so that only the policy of
`archives.addresses` stands between an archive and the network.
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from archives.adapters import source_for
from archives.addresses import AddressPolicy, OwnAddress, server_of
from archives.errors import ArchiveError
from archives.formats.httpdate import http_date
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from archives.source import Request
from tests.fakes import Canned, FakeReply, an_entry, clock
from timegate.extract.fetching import FoundCopy, fetched
from timegate.resolution.context import UNLIMITED
from timegate.resolution.verification import memento_probes

PAGE = "http://example.org/"
STAMP = "20160122112029"
EARLIER = "20150101000000"
BASE = "https://archive.example"
GATE = f"{BASE}/timegate/"
OURS = OwnAddress.of_all(["http://gate.example/"], "127.0.0.1", 1208)
POLICY = AddressPolicy(OURS)
VARY = {"vary": "accept-datetime"}
ORIGINAL = f'<{PAGE}>; rel="original"'
ARCHIVE = an_entry(
    "memento",
    timegate=GATE,
    timemaps={"link": f"{BASE}/timemap/link/"},
    replay=f"{BASE}/web/{{time14}}/{{uri}}",
    # Without the policy these two would be servers of the archive.
    hosts=("archive.example", "gate.example", "127.0.0.1"),
)
CDX = replace(ARCHIVE, cdx=f"{BASE}/cdx", dialect="pywb-cdxj", timemaps={})
WAYBACK = replace(ARCHIVE, kind=an_entry("wayback").kind, timegate=None)
INDEX = replace(CDX, kind=an_entry("cdx").kind, timegate=None)

EVIL = (
    "http://evil.example",
    "https://archive.example.evil.example",
    "//127.0.0.1:6379",
    "//evil.example",
    "https://archive.example:6379",
    "https://archive.example:80",
    "https://user:pw@archive.example",
    "https://archive.example@evil.example",
    "https://evil.example\\@archive.example",
    "https://archive.example\\.evil.example",
    "https://archive.example.",
    "https://arch\u0131ve.example",
    "https://\u24d0rchive.example",
    "https://xn--archve-s9a.example",
    "https://archive.example%00",
    "https://archive.example\x01",
    "http://[::1]",
    "http://[::ffff:127.0.0.1]:6379",
    "http://gate.example",
    "HTTP://GATE.example:80",
    "http://127.0.0.1:1208",
    "javascript:alert(1)//archive.example",
    "file://archive.example",
    "ftp://archive.example",
    "data:text/html,",
    "https:archive.example",
    "https:///archive.example",
)


def at(server: str, stamp: str = STAMP) -> str:
    return f"{server}/web/{stamp}/{PAGE}"


def link(uri: str, stamp: str = STAMP, rel: str = "memento") -> str:
    return f'<{uri}>; rel="{rel}"; datetime="{http_date(stamp)}"'


Answers = Callable[[Request], Canned]


class AnyFetcher:
    """A `Fetcher` that requests any address."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.journal: list[str] = []

    @asynccontextmanager
    async def __call__(self, request: Request) -> AsyncGenerator[FakeReply]:
        self.journal.append(request.url)
        answer = self._answers(request)
        headers = {name.lower(): value for name, value in answer.headers.items()}
        body = b"" if request.method == "HEAD" else answer.body
        pieces = [body] if isinstance(body, bytes) else body
        yield FakeReply(request.url, answer.status, headers, pieces, None)


def memento(headers: Mapping[str, str]) -> Canned:
    return Canned(200, {"memento-datetime": http_date(STAMP), "link": ORIGINAL, **headers})


def first(answer: Canned) -> Answers:
    """Answer the first address with *answer*, and any other as an honest archive would."""
    asked: list[str] = []

    def answers(request: Request) -> Canned:
        asked.append(request.url)
        if request.url == asked[0]:
            return answer
        if "/timemap/" in request.url:
            return Canned(body=timemap(at(BASE)))
        if "/cdx" in request.url:
            return Canned(body=cdx_row(BASE))
        stamp = EARLIER if EARLIER in request.url else STAMP
        return memento({"memento-datetime": http_date(stamp)})

    return answers


# Each seam: the archive, its answers with an evil address, and the question.


def uris(found: Closest | None) -> Iterable[str]:
    if found is not None:
        yield found.memento.uri
        yield from (each.uri for each in found.neighbours.values())
        yield from (hop.url for hop in found.hops)


async def closest(entry: ArchiveEntry, fetch: AnyFetcher) -> list[str]:
    source = source_for(entry, fetch, clock, POLICY)
    return [*uris(await source.closest(PAGE, Moment(STAMP)))]


async def listed(entry: ArchiveEntry, fetch: AnyFetcher) -> list[str]:
    source = source_for(entry, fetch, clock, POLICY)
    return [each.uri async for batch in source.mementos(PAGE) for each in batch]


async def verified(entry: ArchiveEntry, fetch: AnyFetcher) -> list[str]:
    probes = memento_probes([entry], lambda _archive, _context: fetch, clock, POLICY)
    promised = Memento(STAMP, at(BASE), PAGE, "test")
    return [*uris(await probes["test"](promised, promised.uri, UNLIMITED))]


async def extracted(_entry: ArchiveEntry, fetch: AnyFetcher) -> list[str]:
    copy = FoundCopy("test", at(BASE), at(BASE), PAGE, Moment(STAMP))
    async with fetched(copy, fetch) as content:
        return [content.url]


def location(evil: str, **more: str) -> Canned:
    return Canned(302, {**VARY, "location": at(evil, EARLIER), **more})


def linked(evil: str, *, rel: str = "memento", status: int = 200) -> Canned:
    links = f"{ORIGINAL}, {link(at(evil), STAMP, rel)}"
    return Canned(status, {**VARY, "link": links})


def timemap(*uris_: str) -> bytes:
    return ",\n".join((ORIGINAL, *map(link, uris_))).encode()


def page_of_timemap(evil: str) -> bytes:
    page = f'<{evil}/timemap/2>; rel="timemap"; type="application/link-format"'
    return timemap(at(BASE)) + b",\n" + page.encode()


def json_timemap(evil: str) -> bytes:
    rows = [{"datetime": "2016-01-22T11:20:29Z", "uri": at(evil)}]
    return json.dumps({"original_uri": PAGE, "mementos": {"list": rows}}).encode()


def json_pages(evil: str) -> bytes:
    pages = [{"uri": f"{evil}/timemap/json/2"}]
    return json.dumps({"original_uri": PAGE, "timemap_index": pages}).encode()


def cdxj_timemap(evil: str) -> bytes:
    return f'{STAMP} {{"uri": "{at(evil)}", "rel": "memento"}}\n'.encode()


def cdx_row(evil: str) -> bytes:
    row = {"urlkey": "org,example)/", "timestamp": STAMP, "url": PAGE, "uri": at(evil)}
    return json.dumps(row).encode() + b"\n"


Question = Callable[[ArchiveEntry, AnyFetcher], Awaitable[list[str]]]
SEAMS: Mapping[str, tuple[Question, ArchiveEntry, Callable[[str], Canned]]] = {
    "Location of a TimeGate": (closest, ARCHIVE, location),
    "Location that a link proves": (
        closest,
        ARCHIVE,
        lambda evil: location(evil, link=f"{ORIGINAL}, {link(at(evil, EARLIER), EARLIER)}"),
    ),
    "Location with Memento-Datetime": (
        closest,
        ARCHIVE,
        lambda evil: location(evil, **{"memento-datetime": http_date(STAMP)}),
    ),
    "Location of replay": (closest, WAYBACK, location),
    "neighbours of a redirect": (
        closest,
        ARCHIVE,
        lambda evil: Canned(
            302,
            {
                **VARY,
                "location": at(BASE),
                "link": f"{ORIGINAL}, {link(at(BASE))}, "
                f"{link(at(evil, EARLIER), EARLIER, 'first prev memento')}",
            },
        ),
    ),
    "Link of a TimeGate of the 200 style": (
        closest,
        ARCHIVE,
        lambda evil: memento({**VARY, "link": f"{ORIGINAL}, {link(at(evil))}"}),
    ),
    "Link to a page that is no replay": (
        closest,
        ARCHIVE,
        lambda evil: memento({**VARY, "link": f"{ORIGINAL}, {link(f'{evil}/phish')}"}),
    ),
    "Link of a frame": (closest, ARCHIVE, linked),
    "Link of a page that is absent": (
        closest,
        ARCHIVE,
        lambda evil: linked(evil, status=404),
    ),
    "first of a page that is absent": (
        closest,
        ARCHIVE,
        lambda evil: linked(evil, rel="first memento", status=404),
    ),
    "Content-Location": (
        closest,
        ARCHIVE,
        lambda evil: memento({**VARY, "content-location": at(evil)}),
    ),
    "Content-Location of replay": (
        closest,
        WAYBACK,
        lambda evil: memento({"content-location": at(evil)}),
    ),
    "TimeMap": (listed, ARCHIVE, lambda evil: Canned(body=timemap(at(BASE), at(evil)))),
    "TimeMap of foreign mementos": (
        listed,
        ARCHIVE,
        lambda evil: Canned(body=timemap(at(evil))),
    ),
    "page of a TimeMap": (listed, ARCHIVE, lambda evil: Canned(body=page_of_timemap(evil))),
    "redirected TimeMap": (
        listed,
        ARCHIVE,
        lambda evil: Canned(302, {"location": f"{evil}/timemap/"}),
    ),
    "TimeMap in JSON": (listed, ARCHIVE, lambda evil: Canned(body=json_timemap(evil))),
    "index of TimeMaps in JSON": (listed, ARCHIVE, lambda evil: Canned(body=json_pages(evil))),
    "TimeMap in CDXJ": (listed, ARCHIVE, lambda evil: Canned(body=cdxj_timemap(evil))),
    "rows of a CDX server": (listed, INDEX, lambda evil: Canned(body=cdx_row(evil))),
    "closest row of a CDX server": (closest, INDEX, lambda evil: Canned(body=cdx_row(evil))),
    "redirected CDX server": (
        closest,
        INDEX,
        lambda evil: Canned(307, {"location": f"{evil}/cdx"}),
    ),
    "second way": (closest, CDX, location),
    "redirect of a verified memento": (verified, ARCHIVE, location),
    "Link of a verified memento": (
        verified,
        ARCHIVE,
        lambda evil: memento({"link": f"{ORIGINAL}, {link(at(evil))}"}),
    ),
    "Content-Location of a verified memento": (
        verified,
        ARCHIVE,
        lambda evil: memento({"content-location": at(evil)}),
    ),
    "redirect of an extracted copy": (
        extracted,
        ARCHIVE,
        lambda evil: Canned(302, {"location": f"{evil}/copies/{STAMP}id_/{PAGE}"}),
    ),
}
CONNECTED_BY_THE_HTTP_CLIENT = ("redirect of an extracted copy",)
"""Where only `Egress` compares the server: see tests/timegate/upstream/test_egress.py."""


def is_own(url: str) -> bool:
    """Whether every client takes *url* for an address of the archive."""
    split = urlsplit(url)
    return (
        split.scheme in ("http", "https")
        and split.netloc.lower() in ("archive.example", "archive.example:443")
        and url.lower().startswith(f"{split.scheme}://archive.example")
    )


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("seam", SEAMS)
async def test_no_seam_lets_an_address_of_another_server_through(seam: str, evil: str) -> None:
    question, entry, answer = SEAMS[seam]
    fetch = AnyFetcher(first(answer(evil)))

    try:
        found = await question(entry, fetch)
    except ArchiveError:
        found = []

    if seam in CONNECTED_BY_THE_HTTP_CLIENT:
        assert all(map(server_of, [*found, *fetch.journal]))
    else:
        assert [url for url in (*found, *fetch.journal) if not is_own(url)] == []


@pytest.mark.parametrize("server", [BASE, "https://archive.example:443"])
@pytest.mark.parametrize("seam", [seam for seam in SEAMS if "absent" not in seam])
async def test_every_seam_lets_an_address_of_the_archive_through(
    seam: str, server: str
) -> None:
    question, entry, answer = SEAMS[seam]
    fetch = AnyFetcher(first(answer(server)))

    found = await question(entry, fetch)

    assert found
    assert all(map(is_own, (*found, *fetch.journal)))
