"""Fetches live pages for a store, as a polite crawler: robots.txt, one request a second.

A page is fetched with what it embeds, within limits. Only an answer with status 200 is kept,
with the redirects to it; a body that breaks off, or that is too large, is not.
"""

import asyncio
import hashlib
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from archives.addresses import downgrades
from archives.errors import ArchiveError, Misbehaved
from archives.formats.linkformat import resolved
from archives.source import Request
from timegate.extract.saved_parts import SavedPart, SavedParts
from timegate.keep.run import LivePage
from timegate.markup import EmbeddedUrl, TooComplex, embedded_in
from timegate.parts.composite import Part
from timegate.responses.archived_headers import is_media_type
from timegate.store import Revision
from timegate.store.writer import clock_stamp
from timegate.text.header_values import is_clean
from timegate.upstream.open_web import ORIGINAL, OpenWeb, open_web
from timegate.upstream.robots import Robots
from timegate.upstream.stack import UpstreamSettings

_OK: Final = 200
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_MOST_REDIRECTS: Final = 5
_MOST_DEPTH: Final = 2
_DOCUMENTS: Final = frozenset({"stylesheet", "frame", "object"})
"""Kinds of parts that embed others."""
_AT_ONCE: Final = 4
_KEPT_FIELDS: Final = (
    *("content-language", "content-disposition", "content-location", "last-modified", "etag"),
    *("date", "expires", "cache-control", "vary", "link", "location", "server"),
)
"""Header fields of the answer that are kept; cookies and those of the connection are not."""
_TYPES: Final = re.compile(
    r"text/|image/|font/|audio/|video/|application/(?:xhtml\+xml|xml|json|pdf|epub\+zip|rtf|"
    r"javascript|ecmascript|x-javascript|font-|vnd\.|msword|ogg|manifest\+json|"
    r"[a-z0-9.-]{1,60}\+(?:xml|json))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class LiveLimits:
    """What one page may cost."""

    octets: int = 16 << 20
    """Of one body."""
    all_octets: int = 128 << 20
    parts: int = 200
    seconds: float = 900.0


class _Wanted(NamedTuple):
    embedded: EmbeddedUrl
    parent: str
    depth: int


@dataclass(slots=True)
class _Capture:
    """A page that is being fetched."""

    limits: LiveLimits
    revisions: list[Revision] = field(default_factory=list)
    parts: dict[str, SavedPart] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    octets: int = 0

    def note(self, why: str) -> None:
        if why not in self.unread:
            self.unread.append(why)


@dataclass(frozen=True, slots=True)
class LiveCrawler:
    """Fetches live pages."""

    web: OpenWeb
    robots: Robots
    limits: LiveLimits = field(default_factory=LiveLimits)
    clock: Callable[[], int] = time.time_ns

    async def captured(self, url: str) -> LivePage:
        """Fetch *url* with what it embeds. Raises ArchiveError if it does not answer."""
        capture = _Capture(self.limits)
        chain = await self._followed(url.partition("#")[0], capture)
        page = chain[-1]
        try:
            async with asyncio.timeout(self.limits.seconds):
                await self._embedded(page, capture)
        except TimeoutError:
            capture.note(f"the time for parts, {self.limits.seconds:g} s, was used up")
        saved = SavedParts(tuple(capture.parts.values()), tuple(capture.unread))
        return LivePage((*capture.revisions, *reversed(chain)), saved)

    async def _embedded(self, page: Revision, capture: _Capture) -> None:
        """Fetch the parts of a page, and those of its stylesheets and frames."""
        wanted = await self._named(page, page.url, 0, capture)
        while wanted:
            places = asyncio.Semaphore(_AT_ONCE)

            async def fetch(each: _Wanted, places: asyncio.Semaphore = places) -> list[_Wanted]:
                async with places:
                    return await self._part(each, capture)

            async with asyncio.TaskGroup() as tasks:
                started = [tasks.create_task(fetch(each)) for each in wanted]
            wanted = [new for task in started for new in task.result()]

    async def _part(self, wanted: _Wanted, capture: _Capture) -> list[_Wanted]:
        url, each = wanted.embedded.url, wanted.embedded
        if url in capture.parts:
            return []
        if len(capture.parts) >= self.limits.parts:
            capture.note(f"only the first {self.limits.parts} parts were fetched")
            return []
        described = Part(url, each.kind, each.source, wanted.parent, "found")
        is_variant = each.role == "variant"
        # In its place while it is being fetched: other documents may name it as well.
        capture.parts[url] = SavedPart(
            Part(
                *(url, each.kind, each.source, wanted.parent, "not-looked"),
                is_variant=is_variant,
            )
        )
        try:
            chain = await self._followed(url, capture)
        except ArchiveError as error:
            capture.parts[url] = SavedPart(
                Part(
                    *(url, each.kind, each.source, wanted.parent, "unknown"),
                    is_variant=is_variant,
                    why=error.why,
                )
            )
            return []
        capture.revisions += reversed(chain)
        capture.parts[url] = SavedPart(described, url)
        if each.kind not in _DOCUMENTS or wanted.depth >= _MOST_DEPTH:
            return []
        return await self._named(chain[-1], chain[-1].url, wanted.depth, capture)

    async def _named(
        self, document: Revision, parent: str, depth: int, capture: _Capture
    ) -> list[_Wanted]:
        try:
            found = await asyncio.to_thread(
                embedded_in, document.body, document.content_type, parent
            )
        except TooComplex as error:
            capture.note(f"{parent} was not read: {error}")
            return []
        return [_Wanted(each, parent, depth + 1) for each in found if each.role == "part"]

    async def _followed(self, url: str, capture: _Capture) -> list[Revision]:
        """Fetch *url*; return the redirects and the answer with status 200."""
        chain: list[Revision] = []
        for _ in range(_MOST_REDIRECTS + 1):
            await self.robots.admit(url)
            revision, following = await self._answer(url, capture)
            chain.append(revision)
            if following is None:
                return chain
            if downgrades(url, following):
                raise Misbehaved(ORIGINAL, url, "redirects from https to http")
            url = following.partition("#")[0]
        raise Misbehaved(ORIGINAL, url, f"redirects more than {_MOST_REDIRECTS} times")

    async def _answer(self, url: str, capture: _Capture) -> tuple[Revision, str | None]:
        async with self.web(Request("GET", url, "memento")) as reply:
            stamp = clock_stamp(self.clock())
            following = None
            if reply.status in _REDIRECTS:
                following = resolved(reply.headers.get("location", "").strip(), url)
                if following is None:
                    raise Misbehaved(ORIGINAL, url, "redirects to no address")
            elif reply.status != _OK:
                raise Misbehaved(ORIGINAL, url, f"answers {reply.status}")
            stated = reply.headers.get("content-type", "").strip()
            if following is None and stated and not _TYPES.match(stated):
                raise Misbehaved(ORIGINAL, url, f"is of a type that is not kept: {stated[:80]}")
            body = await self._body(url, reply.chunks(), capture)
        return self._revision(url, stamp, reply.status, reply.headers, body), following

    async def _body(self, url: str, chunks: AsyncIterator[bytes], capture: _Capture) -> bytes:
        pieces, length = [], 0
        async for piece in chunks:
            length += len(piece)
            capture.octets += len(piece)
            if length > self.limits.octets:
                raise Misbehaved(ORIGINAL, url, f"has more than {self.limits.octets:,} bytes")
            if capture.octets > self.limits.all_octets:
                why = f"the page has more than {self.limits.all_octets:,} bytes with its parts"
                raise Misbehaved(ORIGINAL, url, why)
            pieces.append(piece)
        return b"".join(pieces)

    def _revision(
        self, url: str, stamp: str, status: int, headers: Mapping[str, str], body: bytes
    ) -> Revision:
        stated = headers.get("content-type", "").strip()
        digest = hashlib.sha256(body).digest()
        fields = [(name, headers[name]) for name in _KEPT_FIELDS if name in headers]
        return Revision(
            url,
            body,
            stated if is_media_type(stated) else "",
            digest,
            tuple((name.title(), value) for name, value in fields if is_clean(value)),
            captured=stamp,
            status=status,
            about={"source": "live", "fetched": url, "digest": f"sha256:{digest.hex()}"},
            request=self.web.request_head(url),
        )


@asynccontextmanager
async def open_crawler(
    settings: UpstreamSettings, hosts: frozenset[str], limits: LiveLimits
) -> AsyncIterator[LiveCrawler]:
    """Open a crawler; *hosts* of the operator may have private addresses."""
    async with open_web(settings, hosts) as web:
        yield LiveCrawler(web, Robots(web), limits)
