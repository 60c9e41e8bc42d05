"""All captures of a page that an archive lists, in batches, oldest first.

TimeMaps come in one piece, in pages, or as an index of pages (M-53); CDX servers hand out a
resume key. Either way the rows are checked and put into order, and who reads to the end has
read all of it: a list that breaks off raises.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import quote

from archives.choice import oldest_first
from archives.errors import Misbehaved, Refused, Unreachable
from archives.evidence import WEB, address_of, plausible
from archives.formats.decoder import Decoder
from archives.formats.detection import decoder_for
from archives.formats.linkformat import resolved
from archives.formats.rows import Page, Row
from archives.model import ArchiveEntry, Dialect, Memento
from archives.negotiation import (
    CLEAR_NO,
    GO_AWAY,
    MOST_HOPS,
    REDIRECTS,
    Clock,
    downgrades,
    latest_stamp,
)
from archives.reading import Malformed
from archives.source import Fetcher, Reply, Request

MOST_DOCUMENTS: Final = 50
_ENOUGH_TO_SNIFF: Final = 512
_LINE_END: Final = 2
_FORMATS: Final = ("link", "cdxj", "json")
_ALL_ROWS: Final[Mapping[Dialect | None, Mapping[str, str]]] = {
    "wayback-cdx": {"output": "json", "limit": "10000", "showResumeKey": "true"},
    "pywb-cdxj": {"output": "json"},
    "arquivo": {"output": "json"},
    "outbackcdx": {},
}


def filled(template: str, stamp: str, uri: str) -> str:
    """Return the address in *template* of the capture of *uri* at *stamp*."""
    return template.replace("{time14}", stamp[:14]).replace("{uri}", uri)


def cdx_query(endpoint: str, original: str, options: Mapping[str, str]) -> str:
    """Return the address of a question to a CDX server; the URL in it is escaped throughout."""
    more = "".join(f"&{name}={value}" for name, value in options.items())
    return f"{endpoint}?url={quote(original, safe='')}{more}"


@dataclass(frozen=True, slots=True)
class _Search:
    """Who is asked, and what for."""

    entry: ArchiveEntry
    fetch: Fetcher
    now: str
    """The last stamp that a capture can have."""
    original: str

    def misbehaved(self, url: str, why: str) -> Misbehaved:
        return Misbehaved(self.entry.id, url, why)


def list_captures(
    entry: ArchiveEntry, fetch: Fetcher, clock: Clock, original: str
) -> AsyncGenerator[Sequence[Memento], None]:
    """Yield every capture of *original* that *entry* lists, oldest first."""
    search = _Search(entry, fetch, latest_stamp(clock), original.partition("#")[0])
    listing = _Listing(search)
    complaint = partial(search.misbehaved, search.original)
    return oldest_first(listing.batches(), listing.may_go_back, complaint)


class Excerpt(NamedTuple):
    """What one document of a list says."""

    captures: Sequence[Memento]
    """In its order."""
    listed: int
    """How many there are, with those that cannot be believed."""


async def read_captures(
    entry: ArchiveEntry, fetch: Fetcher, clock: Clock, original: str, url: str
) -> Excerpt:
    """Return the captures in the one document at *url*."""
    document = _Document(_Search(entry, fetch, latest_stamp(clock), original), url)
    async with aclosing(document.batches()) as batches:
        captures = [capture async for batch in batches for capture in batch]
    return Excerpt(captures, document.listed + document.lost)


class _Listing:
    """One reading of one archive's list, over as many documents as it takes."""

    def __init__(self, search: _Search) -> None:
        self._search = search
        self._documents: dict[str, _Document] = {}
        """All that were asked for, by address without scheme."""

    async def batches(self) -> AsyncGenerator[list[Memento], None]:
        """Yield the captures in the order in which the archive lists them."""
        async with aclosing(self._source()) as batches:
            async for batch in batches:
                yield batch
        documents = self._documents.values()
        promised = any(document.lost or document.pages for document in documents)
        if promised and not any(document.listed for document in documents):
            why = "lists captures, but none that can be read"
            raise self._search.misbehaved(next(iter(self._documents)), why)

    def may_go_back(self, stamp: str) -> bool:
        """Whether a page that is still to be read may list captures older than *stamp*."""
        pages = [page for document in self._documents.values() for page in document.pages]
        unread = [page for page in pages if _key(page.uri) not in self._documents]
        return any(page.since is None or page.since < stamp for page in unread)

    def _source(self) -> AsyncGenerator[list[Memento], None]:
        entry = self._search.entry
        timemap = next((entry.timemaps[f] for f in _FORMATS if f in entry.timemaps), None)
        # Without a template, an index of captures does not say where they are.
        cdx = None if entry.replay is None else entry.cdx
        if cdx is not None and (entry.kind == "cdx" or timemap is None):
            return self._cdx(cdx)
        if timemap is not None:
            return self._timemaps(timemap + self._search.original)
        why = "publishes no list of captures that programs can read"
        raise Unreachable(entry.id, entry.replay or entry.timegate or "", why)

    async def _timemaps(self, url: str) -> AsyncGenerator[list[Memento], None]:
        """Read the TimeMap at *url*, then those that it refers to, oldest first (M-53)."""
        waiting = [url]
        extents: set[object] = set()
        while waiting:
            document = self._document(waiting.pop(0))
            async with aclosing(document.batches()) as batches:
                async for batch in batches:
                    yield batch
            # A page that repeats another is the first under another address, or one of pages
            # without end: neither leads to anything new.
            if document.extent not in extents:
                waiting[:0] = [uri for uri in self._following(document) if uri not in waiting]
            if document.listed:
                extents.add(document.extent)

    def _following(self, document: "_Document") -> Iterable[str]:
        """Return the pages that *document* refers to and nobody has read, oldest first."""
        pages = sorted(document.pages, key=lambda page: page.since or "")
        uris = dict.fromkeys(page.uri for page in pages)
        return [uri for uri in uris if _key(uri) not in self._documents]

    async def _cdx(self, endpoint: str) -> AsyncGenerator[list[Memento], None]:
        """Read the index, from resume key to resume key where the server gives them."""
        options = _ALL_ROWS[self._search.entry.dialect]
        first = cdx_query(endpoint, self._search.original, options)
        url: str | None = first
        while url is not None:
            document = self._document(url)
            async with aclosing(document.batches()) as batches:
                async for batch in batches:
                    yield batch
            key = document.resume_key
            url = None if key is None else f"{first}&resumeKey={quote(key, safe='')}"

    def _document(self, url: str) -> "_Document":
        if _key(url) in self._documents:
            raise self._search.misbehaved(url, "a list that leads back to itself")
        if len(self._documents) >= MOST_DOCUMENTS:
            why = f"a list in more than {MOST_DOCUMENTS} documents"
            raise self._search.misbehaved(url, why)
        document = _Document(self._search, url, continues=bool(self._documents))
        self._documents[_key(url)] = document
        return document


class _Document:
    """One document of a list."""

    def __init__(self, search: _Search, url: str, *, continues: bool = False) -> None:
        self._search = search
        self._url = url
        self._continues = continues
        """Whether another document refers to it: then it has to be there."""
        self._decoder: Decoder | None = None
        self._blanks = 0
        self._ends: tuple[Memento, Memento] | None = None
        self.listed = 0
        self._dropped = 0

    @property
    def pages(self) -> Sequence[Page]:
        """The other documents that it refers to, at the latest when it has been read."""
        pages = self._decoder.pages if self._decoder else ()
        return [page._replace(uri=_secured(page.uri, self._url)) for page in pages]

    @property
    def resume_key(self) -> str | None:
        return self._decoder.resume_key if self._decoder else None

    @property
    def lost(self) -> int:
        """How many rows could not be read or not be believed."""
        return self._dropped + (self._decoder.skipped if self._decoder else 0)

    @property
    def extent(self) -> tuple[int, tuple[Memento, Memento] | None]:
        """How many captures it lists, the first of them and the last."""
        return self.listed, self._ends

    async def batches(self) -> AsyncGenerator[list[Memento], None]:
        """Yield the captures as they arrive; none where there is no list, or an empty one."""
        for _ in range(MOST_HOPS + 1):
            async with self._search.fetch(Request("GET", self._url, "index")) as reply:
                following = self._redirected(reply)
                if following is None and self._is_list(reply.status):
                    async for piece in _with_whole_beginning(reply.chunks()):
                        yield self._captures(self._read(piece))
            if following is None:
                break
            self._url = following
        else:
            raise self._misbehaved(f"more than {MOST_HOPS} redirects")
        if self._decoder is not None:
            yield self._captures(self._decoder.close())
        self._check_end()

    def _redirected(self, reply: Reply) -> str | None:
        location = reply.headers.get("location")
        if reply.status not in REDIRECTS or location is None:
            return None
        following = resolved(location.strip(), self._url)
        if following is None or downgrades(self._url, following):
            raise self._misbehaved(f"redirects to {location[:200]}")
        return following

    def _read(self, piece: bytes) -> Sequence[Row]:
        if self._decoder is None:
            if not piece.strip():
                self._blanks += len(piece)
                return ()
            self._decoder = self._sniffed(piece)
        return self._decoder.feed(piece)

    def _is_list(self, status: int) -> bool:
        if status in CLEAR_NO and not self._continues:
            return False
        if status in GO_AWAY:
            raise Refused(self._search.entry.id, self._url, status, None)
        if status != 200:
            raise self._misbehaved(f"answers {status} where a list was asked for")
        return True

    def _sniffed(self, first: bytes) -> Decoder:
        try:
            return decoder_for(first, self._url)
        except Malformed as complaint:
            raise self._misbehaved(complaint.why) from complaint

    def _captures(self, rows: Sequence[Row]) -> list[Memento]:
        search = self._search
        captures = [capture_of(row, search.entry, search.original, search.now) for row in rows]
        captures = [capture for capture in captures if _sound(capture, search.now)]
        self._dropped += len(rows) - len(captures)
        self.listed += len(captures)
        if captures:
            first = captures[0] if self._ends is None else self._ends[0]
            self._ends = first, captures[-1]
        return captures

    def _check_end(self) -> None:
        """Raise unless this was all of it."""
        if self._decoder is None and (self._continues or self._blanks > _LINE_END):
            raise self._misbehaved("answers with nothing where a list was asked for")
        if self._decoder is not None and not self._decoder.complete:
            raise self._misbehaved(f"the list is not whole: {self._decoder.shortfall}")

    def _misbehaved(self, why: str) -> Misbehaved:
        return self._search.misbehaved(self._url, why)


def _key(url: str) -> str:
    """Return *url* without its scheme: archives behind a proxy often write the wrong one."""
    return url.partition("://")[2]


def _secured(uri: str, url: str) -> str:
    return uri.replace("http:", "https:", 1) if downgrades(url, uri) else uri


async def _with_whole_beginning(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield *chunks*, joined at the beginning until the format can be told from it."""
    beginning = b""
    async for chunk in chunks:
        if len(beginning) >= _ENOUGH_TO_SNIFF:
            yield chunk
            continue
        beginning += chunk
        if len(beginning) >= _ENOUGH_TO_SNIFF:
            yield beginning
    if 0 < len(beginning) < _ENOUGH_TO_SNIFF:
        yield beginning


def _sound(capture: Memento, now: str) -> bool:
    return plausible(capture.stamp, now) and capture.uri.startswith(WEB)


def capture_of(row: Row, entry: ArchiveEntry, original: str, now: str) -> Memento:
    """Return the capture in *row*; the digits of its address count more than its date."""
    captured = row.original or original
    if row.uri is None:
        uri = filled(entry.replay or "", row.stamp, captured)
        return Memento(row.stamp, uri, captured, entry.id, *row[3:])
    stamp = row.stamp
    if stamp not in row.uri or not row.uri.endswith(captured):
        address = address_of(row.uri)
        # OpenWayback at the UK Web Archive dated links wrongly; the digits were right.
        if address is not None and plausible(address.stamp, now):
            stamp = address.stamp
        # A TimeMap also lists the page's other spellings, each at an address that says so.
        if address is not None and row.original is None and address.original.startswith(WEB):
            captured = address.original
    return Memento(stamp, row.uri, captured, entry.id, *row[3:])
