"""Whatever an archive states, no answer of the server leads to a server of nobody's entry."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

from aiohttp import ClientResponse, ClientSession, ClientTimeout
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from yarl import URL

from archives.formats.httpdate import http_date
from archives.formats.linkformat import parse_header
from archives.registry import Registry
from tests.fakes import an_entry
from tests.test_archive_addresses import EVIL
from tests.whole_server import running_server
from timegate.config import Config

PAGE: Final = "http://example.org/page"
STAMP: Final = "20160122112029"
EARLIER: Final = "20150101000000"
DATE: Final = http_date(STAMP)
OWN_PAGES: Final = ("gate.example", "example.org", "timegate.example", "oduwsdl.github.io")
"""Hosts of our own addresses, of the page, of relation types, and of a format of TimeMaps."""
TARGETS: Final = (
    f"/timegate/{PAGE}",
    f"/web/{STAMP}/{PAGE}",
    f"/web/{STAMP}id_/{PAGE}",
    f"/timemap/link/{PAGE}",
    f"/timemap/json/{PAGE}",
    f"/timemap/cdxj/{PAGE}",
    f"/memento/{STAMP}/{PAGE}",
    f"/memento/proxy/{STAMP}/{PAGE}",
    f"/urn:pwid:evil.test:2016-01-22T11:20:29Z:page:{PAGE}",
    f"/urn:pwid:evil.test:2016-01-22T11:20:29Z:part:{PAGE}",
    f"/?url={PAGE}&at=2016",
    f"/cdx?url={PAGE}&output=json",
)
STYLES: Final = ("location", "proved", "link", "plain link", "content-location", "frame", "404")
LISTS: Final = ("link", "page", "json", "cdxj", "redirect")


@dataclass(frozen=True, slots=True)
class Lies:
    """How the archive states its addresses, and with which server."""

    server: str
    style: str
    list: str
    replay: str
    indexed: bool


LIES = st.builds(
    Lies,
    st.sampled_from(EVIL),
    st.sampled_from(STYLES),
    st.sampled_from(LISTS),
    st.sampled_from(("memento", "location", "link")),
    st.booleans(),
)


@dataclass(slots=True)
class LyingServer:
    """An archive at a port that answers with *lies*."""

    lies: Lies
    base: str = ""
    asked: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.decode("latin-1").split(" ", 2)
        self.asked.append(target)
        status, headers, body = self.answer(target)
        fields = {**headers, "Content-Length": str(len(body)), "Connection": "close"}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"HTTP/1.1 {status} x\r\n{lines}\r\n".encode("utf-8", "surrogateescape"))
        writer.write(b"" if method == "HEAD" else body)
        await writer.drain()
        writer.close()

    def answer(self, target: str) -> tuple[int, dict[str, str], bytes]:
        if target.startswith("/timegate/"):
            return self.timegate()
        if target.startswith("/timemap/"):
            return self.timemap(target)
        if target.startswith("/cdx"):
            row = {"urlkey": "org,example)/page", "timestamp": STAMP, "url": PAGE}
            evil = {**row, "timestamp": EARLIER, "uri": self.at(EARLIER)}
            rows = (evil, {**row, "uri": f"{self.base}/web/{STAMP}/{PAGE}"})
            return 200, {}, b"".join(json.dumps(each).encode() + b"\n" for each in rows)
        return self.memento()

    def at(self, stamp: str = STAMP) -> str:
        return f"{self.lies.server}/web/{stamp}/{PAGE}"

    def links(self, uri: str, stamp: str = STAMP) -> str:
        dated = f'<{uri}>; rel="memento"; datetime="{http_date(stamp)}"'
        first = f'<{self.at(EARLIER)}>; rel="first memento"; datetime="{http_date(EARLIER)}"'
        return f'<{PAGE}>; rel="original", {dated}, {first}'

    def timegate(self) -> tuple[int, dict[str, str], bytes]:
        linked = {"Link": self.links(self.at())}
        dated = {"Memento-Datetime": DATE}
        answers: dict[str, tuple[int, dict[str, str]]] = {
            "location": (302, {"Location": self.at()}),
            "proved": (302, {"Location": self.at(), **linked}),
            "link": (200, {**dated, **linked}),
            "plain link": (200, {**dated, "Link": self.links(f"{self.lies.server}/phish")}),
            "content-location": (200, {**dated, "Content-Location": self.at()}),
            "frame": (200, linked),
            "404": (404, linked),
        }
        status, headers = answers[self.lies.style]
        return status, {"Vary": "accept-datetime", **headers}, b""

    def timemap(self, target: str) -> tuple[int, dict[str, str], bytes]:
        own, evil = f"{self.base}/web/{STAMP}/{PAGE}", self.at(EARLIER)
        listed = f'<{own}>; rel="memento"; datetime="{DATE}",\n'
        listed += f'<{evil}>; rel="memento"; datetime="{http_date(EARLIER)}"'
        match self.lies.list:
            case "page":
                listed += f',\n<{self.lies.server}/timemap/2>; rel="timemap"'
            case "json":
                days = (("2016-01-22T11:20:29Z", own), ("2015-01-01T00:00:00Z", evil))
                rows = [{"datetime": day, "uri": uri} for day, uri in days]
                listed = json.dumps({"original_uri": PAGE, "mementos": {"list": rows}})
            case "cdxj":
                row = '{} {{"uri": "{}", "rel": "memento"}}\n'
                listed = row.format(EARLIER, evil) + row.format(STAMP, own)
            case "redirect" if not target.endswith("2"):
                return 302, {"Location": f"{self.lies.server}/timemap/2"}, b""
        return 200, {}, listed.encode("utf-8", "surrogateescape")

    def memento(self) -> tuple[int, dict[str, str], bytes]:
        match self.lies.replay:
            case "location":
                return 302, {"Location": f"{self.lies.server}/else/{STAMP}/{PAGE}"}, b""
            case "link":
                linked = {"Link": self.links(self.at()), "Content-Location": self.at()}
                return 200, {"Memento-Datetime": DATE, **linked}, b"bytes"
        original = {"Link": f'<{PAGE}>; rel="original"'}
        return 200, {"Memento-Datetime": DATE, **original}, b"bytes"


@asynccontextmanager
async def serving(lies: Lies) -> AsyncIterator[tuple[LyingServer, int]]:
    """Serve a lying archive and a server that queries it; yield the port of the server."""
    archive = LyingServer(lies)
    async with await asyncio.start_server(archive.serve, "127.0.0.1", 0) as listening:
        base = archive.base = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        entry = an_entry(
            "memento",
            id="evil",
            pwid=("evil.test",),
            hosts=("127.0.0.1",),
            timegate=f"{base}/timegate/",
            timemaps={"link": f"{base}/timemap/"},
            replay=f"{base}/web/{{time14}}/{{uri}}",
            raw=f"{base}/web/{{time14}}id_/{{uri}}",
            **({"cdx": f"{base}/cdx", "dialect": "pywb-cdxj"} if lies.indexed else {}),
        )
        config = Config(
            Registry([entry]),
            contact="mailto:test@example.org",
            soft=1.0,
            hard=2.0,
            private=frozenset({"evil"}),
        )
        async with running_server(config) as port:
            yield archive, port


class _Addresses(HTMLParser):
    """Collects the addresses in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(
        self,
        tag: str,  # noqa: ARG002 -- the base class calls it so
        attrs: list[tuple[str, str | None]],
    ) -> None:
        named = ("href", "src", "action", "formaction", "content", "cite", "data-uri")
        self.found += [value for name, value in attrs if name in named and value]


_ABSOLUTE: Final = re.compile(r"(?:[a-zA-Z][a-zA-Z0-9+.-]*:|//)\S*")


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


def addresses_in(reply: ClientResponse, body: str) -> Iterator[str]:
    """Yield the addresses to which an answer leads; its words may quote others."""
    for name in ("Location", "Content-Location", "Refresh"):
        yield from reply.headers.getall(name, ())
    for value in reply.headers.getall("Link", ()):
        yield from (link.target for link in parse_header(value))
    kind = reply.headers.get("Content-Type", "")
    if "html" in kind:
        page = _Addresses()
        page.feed(body)
        yield from page.found
    elif "link-format" in kind:
        yield from (link.target for link in parse_header(body.replace("\n", " ")))
    else:
        for line in (body, *body.splitlines()):
            start = min((i for i in (line.find("{"), line.find("[")) if i >= 0), default=0)
            try:
                yield from texts(json.loads(line[start:]))
            except ValueError:
                yield from re.split(r"[\s,]+", line)


def strays(addresses: Iterator[str], archive: str) -> list[str]:
    """Return the absolute addresses that are neither ours nor the archive's."""
    absolute = [each for each in addresses if _ABSOLUTE.fullmatch(each)]
    web = (*(f"{s}://{host}/" for s in ("http", "https") for host in OWN_PAGES), f"{archive}/")
    fine = (*web, "http://gate.example", "urn:pwid:", "mailto:", "duri:", "data:image/", "pdi:")
    return [each for each in absolute if not each.startswith(fine)]


async def strays_of(lies: Lies) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    async with (
        serving(lies) as (archive, port),
        ClientSession(timeout=ClientTimeout(20), auto_decompress=True) as session,
    ):
        for target in TARGETS:
            for accept in ("*/*", "text/html", "application/json"):
                url = URL(f"http://127.0.0.1:{port}{target}", encoded=True)
                headers = {"Accept": accept, "Accept-Datetime": DATE}
                async with session.get(url, headers=headers, allow_redirects=False) as reply:
                    body = (await reply.read()).decode("utf-8", "replace")
                    assert reply.status < 500 or reply.status in (502, 503, 504), body
                    stray = strays(addresses_in(reply, body), archive.base)
                    if stray:
                        found[f"{target} {accept}"] = stray
        assert archive.asked
    return found


@settings(
    max_examples=20,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # an example takes a second
    suppress_health_check=(HealthCheck.too_slow,),
)
@given(LIES)
def test_no_answer_leads_to_a_server_outside_the_registry(lies: Lies) -> None:
    assert asyncio.run(strays_of(lies)) == {}


async def test_refused_addresses_are_counted_by_archive_and_reason() -> None:
    lies = Lies("http://evil.example", "location", "link", "memento", indexed=False)
    async with serving(lies) as (_, port), ClientSession() as session:
        for target in (f"/timegate/{PAGE}", f"/timemap/link/{PAGE}"):
            url = URL(f"http://127.0.0.1:{port}{target}", encoded=True)
            async with session.get(url, allow_redirects=False) as reply:
                await reply.read()
        async with session.get(f"http://127.0.0.1:{port}/metrics") as reply:
            metrics = await reply.text()

    counted = 'timegate_archive_refused_addresses_total{archive="evil",reason="foreign"} 2.0'
    assert counted in metrics
