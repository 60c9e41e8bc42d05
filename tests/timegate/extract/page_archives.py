"""Fake archives that hold pages with their parts, behind the seam of `Fetcher`."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from archives.errors import Unreachable
from archives.formats.httpdate import http_date
from archives.model import ArchiveEntry, Memento
from archives.moment import Moment
from archives.nearest import nearest
from archives.source import Fetcher, Request
from tests.fakes import Canned, FakeFetcher, FakeReply
from timegate.app import build_core
from timegate.config import load_config
from timegate.core import Core
from timegate.upstream.stack import UpstreamEnvironment

PAGE = "http://shop.example/cat.html"
AT = "20081129011916"
_CONFIG = """
contact = "mailto:a@example.org"

[archives]
use = []
"""
_ENTRY = """
[[archive]]
id = "{name}"
kind = "memento"
timegate = "http://{name}.example/timegate/"
timemap = "http://{name}.example/timemap/"
replay = "http://{name}.example/web/{{time14}}/{{uri}}"
raw = "http://{name}.example/web/{{time14}}id_/{{uri}}"
pwid = ["{name}.example"]
LIMITS
"""
_RATE = "{ requests = 1000, seconds = 1, burst = 1000 }"
_LIMITS = f'limits = {{ memento = {_RATE}, index = {_RATE}, at_once = 8, source = "a test" }}'
_INDEX = """
cdx = "http://{name}.example/cdx"
dialect = "wayback-cdx"
"""


@dataclass(frozen=True, slots=True)
class Held:
    """One capture."""

    url: str
    stamp: str = AT
    body: bytes = b"x"
    mime: str = "image/png"
    status: int = 200
    modified: str = ""
    """Last-Modified, as digits."""
    location: str = ""
    digest: str = "-"


@dataclass
class PageArchive:
    """An archive with a TimeGate, raw bytes, and perhaps an index."""

    name: str
    held: tuple[Held, ...] = ()
    is_down: bool = False
    has_index: bool = False
    loses: tuple[str, ...] = ()
    """URLs whose captures it names, and does not deliver."""
    leads: Mapping[str, str] = field(default_factory=dict)
    """URLs for which the TimeGate leads to captures of others."""
    knows_head: bool = True
    """Whether it answers HEAD for mementos as it answers GET."""
    bugs: tuple[str, ...] = ()
    """URLs whose captures raise what nobody foresees."""
    journal: list[str] = field(default_factory=list)
    """The requests, as ``METHOD url``."""

    @property
    def configured(self) -> str:
        form = _ENTRY + (_INDEX.lstrip() if self.has_index else "")
        return form.format(name=self.name).replace("LIMITS", _LIMITS)

    def answer(self, request: Request) -> Canned | Unreachable:
        self.journal.append(f"{request.method} {request.url}")
        if self.is_down:
            return Unreachable(self.name, request.url, "it is down")
        target = urlsplit(request.url)
        if target.path == "/cdx":
            return self._index(parse_qs(target.query)["url"][0])
        way, _, rest = request.url.partition(".example/")[2].partition("/")
        if way == "timegate":
            return self._timegate(rest, request.headers.get("Accept-Datetime", ""))
        if request.method == "HEAD" and not self.knows_head:
            return Canned(405)
        stamp, _, url = rest.partition("/")
        return self._memento(stamp.removesuffix("id_"), url)

    def _of(self, url: str) -> list[Memento]:
        base = f"http://{self.name}.example/web"
        return sorted(
            Memento(one.stamp, f"{base}/{one.stamp}/{url}", url, self.name)
            for one in self.held
            if one.url == url
        )

    def _timegate(self, url: str, date: str) -> Canned:
        wanted = next((s for s in self._times() if http_date(s) == date), None)
        url = self.leads.get(url, url)
        best = nearest(self._of(url), Moment(wanted or AT))
        if best is None:
            return Canned(404)
        link = f'<{url}>; rel="original", <{best.uri}>; rel="memento"; '
        link += f'datetime="{http_date(best.stamp)}"'
        return Canned(302, {"Location": best.uri, "Link": link, "Vary": "accept-datetime"})

    def _times(self) -> list[str]:
        return [AT, *(one.stamp for one in self.held)]

    def _memento(self, stamp: str, url: str) -> Canned:
        found = [one for one in self.held if (one.url, one.stamp) == (url, stamp)]
        if url in self.bugs:
            raise RuntimeError("a bug")
        if not found or url in self.loses:
            return Canned(404)
        one = found[0]
        headers = {
            "Memento-Datetime": http_date(stamp),
            "Link": f'<{url}>; rel="original"',
            "Content-Type": one.mime,
        }
        if one.modified:
            headers["X-Archive-Orig-Last-Modified"] = http_date(one.modified)
        if one.location:
            headers["Location"] = f"http://{self.name}.example/web/{stamp}id_/{one.location}"
        return Canned(one.status, headers, one.body)

    def _index(self, url: str) -> Canned:
        rows = ['["urlkey","timestamp","original","mimetype","statuscode","digest","length"]']
        rows += [
            f'["k","{one.stamp}","{url}","{one.mime}","{one.status}","{one.digest}","1"]'
            for one in sorted(self.held, key=lambda one: one.stamp)
            if one.url == url
        ]
        body = f"[{','.join(rows)}]".encode()
        return Canned(200, {"Content-Type": "application/json"}, body)


def _network(archives: tuple[PageArchive, ...]) -> UpstreamEnvironment:
    by_name = {archive.name: archive for archive in archives}

    def network(entry: ArchiveEntry) -> Fetcher:
        archive = by_name[entry.id]
        fake = FakeFetcher(archive.answer, [f"{archive.name}.example"])

        @asynccontextmanager
        async def sent(request: Request) -> AsyncGenerator[FakeReply]:
            async with fake(request) as reply:
                yield reply

        return sent

    return UpstreamEnvironment(network=network)


@asynccontextmanager
async def core_over(folder: Path, *archives: PageArchive) -> AsyncIterator[Core]:
    """Build the core over *archives*."""
    file = folder / "timegate.toml"
    file.write_text(_CONFIG + "".join(archive.configured for archive in archives))
    config = replace(load_config(file, None), soft=1.0, hard=2.0)
    async with build_core(
        config, "http://gate.example", upstream=_network(archives), queue_patience=30.0
    ) as core:
        yield core


def page(*embedded: str, stamp: str = AT) -> Held:
    """Return the capture of a page that embeds images."""
    body = "".join(f'<img src="{url}">' for url in embedded)
    return Held(PAGE, stamp, f"<html><body>{body}</body></html>".encode(), "text/html")
