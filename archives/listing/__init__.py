"""All captures of a page that an archive lists, in batches, oldest first.

TimeMaps come in one piece, in pages, or as an index of pages (M-53); CDX servers hand out a
resume key. Either way the rows are put into order, and who reads to the end has read all of
it: a list that breaks off raises.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import quote

from archives.choice import oldest_first
from archives.errors import Unreachable
from archives.listing.document import Document, ListQuery, filled
from archives.listing.spill import sorted_on_disk
from archives.model import ArchiveEntry, Dialect, Memento
from archives.negotiation import Clock, latest_stamp
from archives.source import Fetcher

__all__ = ["Excerpt", "cdx_query", "filled", "list_captures", "read_captures"]

MOST_DOCUMENTS: Final = 50
_FORMATS: Final = ("link", "cdxj", "json")
_ALL_ROWS: Final[Mapping[Dialect | None, Mapping[str, str]]] = {
    "wayback-cdx": {"output": "json", "limit": "10000", "showResumeKey": "true"},
    "pywb-cdxj": {"output": "json"},
    "arquivo": {"output": "json"},
    "outbackcdx": {},
}


def cdx_query(endpoint: str, original: str, options: Mapping[str, str]) -> str:
    """Return the address of a question to a CDX server; the URL in it is escaped throughout."""
    more = "".join(f"&{name}={value}" for name, value in options.items())
    return f"{endpoint}?url={quote(original, safe='')}{more}"


def list_captures(
    entry: ArchiveEntry, fetch: Fetcher, clock: Clock, original: str
) -> AsyncGenerator[Sequence[Memento], None]:
    """Yield every capture of *original* that *entry* lists, oldest first."""
    search = ListQuery(entry, fetch, latest_stamp(clock), original.partition("#")[0])
    listing = _Listing(search)
    complaint = partial(search.misbehaved, search.original)
    return oldest_first(listing.batches(), listing.may_go_back, complaint, sorted_on_disk)


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
    document = Document(ListQuery(entry, fetch, latest_stamp(clock), original), url)
    async with aclosing(document.batches()) as batches:
        captures = [capture async for batch in batches for capture in batch]
    return Excerpt(captures, document.listed + document.lost)


class _Listing:
    """One reading of one archive's list, over as many documents as it takes."""

    def __init__(self, search: ListQuery) -> None:
        self._search = search
        self._documents: dict[str, Document] = {}
        """All that were asked for, by address without scheme."""

    async def batches(self) -> AsyncGenerator[list[Memento], None]:
        """Yield the captures in the order in which the archive lists them."""
        async with aclosing(self._source()) as batches:
            async for batch in batches:
                yield batch
        documents = list(self._documents.values())
        promised = any(document.lost or document.pages for document in documents)
        if promised and not any(document.listed for document in documents):
            stray = next((d.stray for d in documents if d.stray), None)
            why = "lists captures, but none that can be read"
            if stray is not None:
                why = f"lists captures at {stray[:100]}, which the registry does not name"
            raise self._search.misbehaved(documents[0].url, why)

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

    def _following(self, document: Document) -> list[str]:
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

    def _document(self, url: str) -> Document:
        if _key(url) in self._documents:
            raise self._search.misbehaved(url, "a list that leads back to itself")
        if len(self._documents) >= MOST_DOCUMENTS:
            why = f"a list in more than {MOST_DOCUMENTS} documents"
            raise self._search.misbehaved(url, why)
        document = Document(self._search, url, continues=bool(self._documents))
        self._documents[_key(url)] = document
        return document


def _key(url: str) -> str:
    """Return *url* without its scheme: archives behind a proxy often write the wrong one."""
    return url.partition("://")[2]
