"""All captures of a page that an archive lists, in batches, oldest first.

A TimeMap is one document, or pages, or an index of pages (M-53); CDX servers give out a resume
key. In either case the captures are sorted, on disk if they are too many for memory. Reading to
the end without an error means that the list is complete: a list that breaks off raises.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from heapq import merge
from itertools import islice
from operator import itemgetter
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple
from urllib.parse import quote

import msgspec

from archives.addresses import ArchiveAddresses, RefusedAddress
from archives.columns import CaptureColumns, Details, from_rows, in_order
from archives.errors import ArchiveError, Misbehaved, Unreachable
from archives.listing.document import Document, ListQuery, filled
from archives.model import ArchiveEntry, Dialect, Memento
from archives.nearest import oldest_first
from archives.negotiation import Clock, latest_stamp
from archives.source import ALL, Fetcher, WantedCaptures

__all__ = [
    "Excerpt",
    "cdx_query",
    "filled",
    "has_second_list",
    "is_excerpted",
    "list_captures",
    "read_captures",
]

MOST_DOCUMENTS: Final = 50
_FORMATS: Final = ("link", "cdxj", "json")
_ALL_ROWS: Final[Mapping[Dialect | None, Mapping[str, str]]] = {
    "wayback-cdx": {"output": "json", "limit": "10000", "showResumeKey": "true"},
    "pywb-cdxj": {"output": "json"},
    "arquivo": {"output": "json"},
    "outbackcdx": {},
}
MOST_OCTETS: Final = 512 * 1024**2
"""Two million captures, more than are accepted from one list, are 300 MB."""
RUN: Final = 50_000
"""Captures that are sorted in memory and written to disk as one run."""
_BLOCK: Final = 500
"""Captures that are read back at once from each run."""
_BATCH: Final = 2_000
_MORE: Final = 5
_EARLIEST: Final = "00000101000000"
_LATEST: Final = "99991231235959"
_order: Final = itemgetter(0, 1)
_encode: Final = msgspec.msgpack.Encoder().encode
Row = tuple[str, str, Details]
"""Stamp, address and details of a capture."""
_decode: Final = msgspec.msgpack.Decoder(list[Row]).decode


def cdx_query(endpoint: str, original: str, options: Mapping[str, str]) -> str:
    """Return the address of a query to a CDX server; *original* is fully percent-encoded."""
    more = "".join(f"&{name}={value}" for name, value in options.items())
    return f"{endpoint}?url={quote(original, safe='')}{more}"


def list_captures(  # noqa: PLR0913 -- the archive, and what is wanted of it
    entry: ArchiveEntry,
    addresses: ArchiveAddresses,
    fetch: Fetcher,
    clock: Clock,
    original: str,
    *,
    detailed: bool = False,
    wanted: WantedCaptures | None = None,
    timemap: str | None = None,
) -> AsyncGenerator[Sequence[Memento], None]:
    """Yield every capture of *original* that *entry* lists, oldest first.

    *timemap* is the address of its TimeMap, if the entry has no template for it.

    With *detailed*, from its CDX server rather than its TimeMap, if it has both and the CDX
    server lists any. A CDX server is queried for the captures *wanted*; a TimeMap has all.
    """
    page = original.partition("#")[0]
    query = ListQuery(entry, addresses, fetch, latest_stamp(clock), page)
    listing = _Listing(query, wanted or ALL, detailed=detailed, timemap=timemap)
    misbehaved = partial(query.misbehaved, query.original)
    return oldest_first(listing.batches(), listing.may_go_back, misbehaved, sorted_on_disk)


def is_excerpted(entry: ArchiveEntry, wanted: WantedCaptures) -> bool:
    """Whether *entry* lists fewer captures if only some are *wanted*."""
    return wanted.is_part and (entry.kind.is_local or _index(entry) is not None)


def has_second_list(entry: ArchiveEntry) -> bool:
    """Whether *entry* is listed by its TimeMap, but has a CDX server too, for details."""
    return not entry.kind.uses_index and bool(_timemap(entry) and _index(entry))


def _timemap(entry: ArchiveEntry) -> str | None:
    return next((entry.timemaps[f] for f in _FORMATS if f in entry.timemaps), None)


def _index(entry: ArchiveEntry) -> str | None:
    """Return the CDX server. It has no addresses of captures: they need a template."""
    return None if entry.replay is None or entry.dialect is None else entry.cdx


class Excerpt(NamedTuple):
    """The captures in one document of a list."""

    captures: Sequence[Memento]
    """In the order of the document."""
    listed: int
    """Their number, including captures that were dropped as unreadable or implausible."""


async def read_captures(  # noqa: PLR0913, PLR0917 -- what a query consists of
    entry: ArchiveEntry,
    addresses: ArchiveAddresses,
    fetch: Fetcher,
    clock: Clock,
    original: str,
    url: str,
) -> Excerpt:
    """Return the captures in the one document at *url*."""
    query = ListQuery(entry, addresses, fetch, latest_stamp(clock), original)
    document = Document(query, url)
    async with aclosing(document.batches()) as batches:
        captures = [capture async for batch in batches for capture in batch]
    return Excerpt(captures, document.listed + document.lost)


class _Listing:
    """Reads the list of one archive, in as many documents as it has."""

    def __init__(
        self,
        query: ListQuery,
        wanted: WantedCaptures,
        *,
        detailed: bool,
        timemap: str | None = None,
    ) -> None:
        self._query = query
        self._linked_timemap = timemap
        self._wanted = wanted
        # A few rows of an index are less than a whole TimeMap.
        self._prefers_index = detailed or wanted.is_short
        self._documents: dict[str, Document] = {}
        """The documents requested so far, by address without scheme."""

    async def batches(self) -> AsyncGenerator[CaptureColumns, None]:
        """Yield the captures in the order in which the archive lists them."""
        async with aclosing(self._source()) as batches:
            async for batch in batches:
                yield batch
        documents = list(self._documents.values())
        has_captures = any(document.lost or document.pages for document in documents)
        if has_captures and not any(document.listed for document in documents):
            foreign = next((d.foreign for d in documents if d.foreign), None)
            why = "lists captures, but none that can be read"
            if foreign is not None:
                why = f"lists captures at {foreign.why}"
            raise self._query.misbehaved(documents[0].url, why)

    def may_go_back(self, stamp: str) -> bool:
        """Whether a page not read yet may list captures older than *stamp*."""
        pages = [page for document in self._documents.values() for page in document.pages]
        unread = [page for page in pages if _key(page.uri) not in self._documents]
        return any(page.since is None or page.since < stamp for page in unread)

    def _source(self) -> AsyncGenerator[CaptureColumns, None]:
        entry = self._query.entry
        if self._linked_timemap is not None:
            return self._timemaps(self._linked_timemap)
        timemap, cdx = _timemap(entry), _index(entry)
        if cdx is not None and (entry.kind.uses_index or timemap is None):
            return self._cdx(cdx)
        if cdx is not None and timemap is not None and self._prefers_index:
            return self._cdx_or_timemaps(cdx, timemap + self._query.original)
        if timemap is not None:
            return self._timemaps(timemap + self._query.original)
        why = "publishes no list of captures that programs can read"
        raise Unreachable(entry.id, entry.replay or entry.timegate or "", why)

    async def _cdx_or_timemaps(
        self, endpoint: str, timemap: str
    ) -> AsyncGenerator[CaptureColumns, None]:
        """Read the index; if it is empty, the TimeMap, which is how the archive is known.

        A CDX server at an address that no longer exists answers as if it held nothing.
        """
        listed = False
        for batches in (self._cdx(endpoint), self._timemaps(timemap)):
            async with aclosing(batches):
                async for batch in batches:
                    listed = listed or bool(batch)
                    yield batch
            if listed:
                return

    async def _timemaps(self, url: str) -> AsyncGenerator[CaptureColumns, None]:
        """Read the TimeMap at *url*, then those that it refers to, oldest first (M-53).

        If it breaks off, the pages that it has named are read before that is raised.
        """
        unread = [url]
        extents: set[object] = set()
        broken_by: Misbehaved | None = None
        while unread:
            following = unread.pop(0)
            document = self._document(following, linked=following != url)
            try:
                async with aclosing(document.batches()) as batches:
                    async for batch in batches:
                        yield batch
            except Misbehaved as error:
                if not document.pages:
                    raise
                broken_by = broken_by or error
            # A page that repeats another one is the first page at another address, or one of an
            # endless series: the pages that it links are not followed.
            if document.extent not in extents:
                unread[:0] = [uri for uri in self._linked(document) if uri not in unread]
            if document.listed:
                extents.add(document.extent)
        if broken_by is not None:
            raise broken_by

    def _linked(self, document: Document) -> list[str]:
        """Return the pages that *document* links and that were not requested, oldest first."""
        pages = sorted(document.pages, key=lambda page: page.since or "")
        uris = dict.fromkeys(page.uri for page in pages)
        return [uri for uri in uris if _key(uri) not in self._documents]

    async def _cdx(self, endpoint: str) -> AsyncGenerator[CaptureColumns, None]:
        """Read the index; if the server gives out resume keys, in several documents."""
        if self._wanted.is_short:
            excerpt = await self._excerpt(endpoint)
            if excerpt is not None:
                yield excerpt
                return
        options = {**_ALL_ROWS[self._query.entry.dialect], **_time_range(self._wanted)}
        first = cdx_query(endpoint, self._query.original, options)
        url: str | None = first
        while url is not None:
            document = self._document(url, linked=url != first)
            async with aclosing(document.batches()) as batches:
                async for batch in batches:
                    yield batch
            key = document.resume_key
            url = None if key is None else f"{first}&resumeKey={quote(key, safe='')}"

    async def _excerpt(self, endpoint: str) -> CaptureColumns | None:
        """Read the rows that are wanted; None if these may be others, and all must be read.

        Some more are requested: then the last one shows whether another row could belong to
        them, and one that cannot be read needs no second request.
        """
        wanted, dialect = self._wanted, self._query.entry.dialect
        asked = (wanted.most or 0) + _MORE
        options = {**_first_rows(dialect, wanted, asked), **_time_range(wanted)}
        asked_from_end = options["limit"].startswith("-")
        url = cdx_query(endpoint, self._query.original, options)
        document = self._document(url, linked=False)
        captures = CaptureColumns([], [], [])
        try:
            async with aclosing(document.batches()) as batches:
                async for batch in batches:
                    captures.extend(batch)
        except Misbehaved:
            # Perhaps a server that does not know these options.
            return None
        ordered = in_order([captures]).each_once()
        if document.listed + document.lost < asked:
            return ordered
        # Rows that are counted from the end are oldest first.
        is_sorted = _is_ascending(wanted.ranks(captures.stamps)) or asked_from_end
        ranks = sorted(wanted.ranks(ordered.stamps))
        is_enough = (
            len(ranks) > (wanted.most or 0) and ranks[(wanted.most or 0) - 1] < ranks[-1]
        )
        return ordered if is_sorted and is_enough else None

    def _document(self, url: str, *, linked: bool) -> Document:
        """Return the document at *url*; *linked* by another one, it must exist."""
        if _key(url) in self._documents:
            raise self._query.misbehaved(url, "a list whose pages form a loop")
        if len(self._documents) >= MOST_DOCUMENTS:
            why = f"a list in more than {MOST_DOCUMENTS} documents"
            raise self._query.misbehaved(url, why)
        document = Document(self._query, self._checked(url), continues=linked)
        self._documents[_key(url)] = document
        return document

    def _checked(self, url: str) -> str:
        """Return the address of a document, if it is the archive's. Raises Misbehaved."""
        address = self._query.addresses.accepted(url, "request")
        if isinstance(address, RefusedAddress):
            raise self._query.misbehaved(url, f"links a page of its list at {address.why}")
        return address


def _time_range(wanted: WantedCaptures) -> Mapping[str, str]:
    """Return the range of time in whole seconds, as every dialect understands it."""
    limits = {
        "from": wanted.since and wanted.since + _EARLIEST[len(wanted.since) :],
        "to": wanted.until and wanted.until + _LATEST[len(wanted.until) :],
    }
    return {name: digits[:14] for name, digits in limits.items() if digits}


def _first_rows(
    dialect: Dialect | None, wanted: WantedCaptures, most: int
) -> Mapping[str, str]:
    options = {**_ALL_ROWS[dialect], "limit": f"{most}"}
    options.pop("showResumeKey", None)
    if wanted.order == "nearest":
        return {**options, "sort": "closest", "closest": wanted.instant}
    if wanted.order == "newest" and dialect == "wayback-cdx":
        return {**options, "limit": f"-{most}"}
    return {**options, "sort": "reverse"} if wanted.order == "newest" else options


def _is_ascending(ranks: list[int]) -> bool:
    return ranks == sorted(ranks)


def _key(url: str) -> str:
    """Return *url* without its scheme: archives behind a proxy often write the wrong one."""
    return url.partition("://")[2]


class _Full(Exception):
    """The limit of octets on disk is reached."""


async def sorted_on_disk(
    captures: CaptureColumns,
    batches: AsyncIterator[Sequence[Memento]],
    misbehaved: Callable[[str], Misbehaved],
    most: int = MOST_OCTETS,
) -> AsyncGenerator[CaptureColumns, None]:
    """Yield *captures* and those in *batches*, oldest first; write at most *most* octets.

    If the list breaks off, the captures before that are yielded first.
    """
    with await asyncio.to_thread(TemporaryFile) as file:
        runs = _Runs(file, most)
        try:
            error = await _collect(runs, captures, batches)
        except _Full:
            why = f"lists more than {most} octets of captures out of order"
            raise misbehaved(why) from None
        ordered = runs.merged()
        while batch := await asyncio.to_thread(_next, ordered):
            yield batch
    if error is not None:
        raise error


async def _collect(
    runs: "_Runs", captures: CaptureColumns, batches: AsyncIterator[Sequence[Memento]]
) -> ArchiveError | None:
    """Write everything into runs; return the error that broke the list off."""
    broken_by = None
    try:
        async for batch in batches:
            captures.extend(batch)
            if len(captures) >= RUN:
                await asyncio.to_thread(runs.add, captures)
                captures = CaptureColumns([], [], [])
    except ArchiveError as error:
        broken_by = error
    await asyncio.to_thread(runs.add, captures)
    return broken_by


def _next(ordered: Iterator[Row]) -> CaptureColumns:
    return from_rows([*islice(ordered, _BATCH)])


class _Runs:
    """Sorted runs of captures in a file, in blocks."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file = file
        self._most = most
        self._runs: list[Sequence[tuple[int, int]]] = []
        """Offset and length of the blocks of each run."""
        self._end = 0

    def add(self, captures: CaptureColumns) -> None:
        """Write one more run. Raises _Full."""
        run = in_order([captures])
        blocks = []
        for start in range(0, len(run), _BLOCK):
            part = run[start : start + _BLOCK]
            block = _encode([*zip(part.stamps, part.uris, part.details, strict=True)])
            if self._end + len(block) > self._most:
                raise _Full
            self._file.write(block)
            blocks.append((self._end, len(block)))
            self._end += len(block)
        self._runs.append(blocks)

    def merged(self) -> Iterator[Row]:
        """Yield all captures, oldest first."""
        return merge(*map(self._run, self._runs), key=_order)

    def _run(self, blocks: Sequence[tuple[int, int]]) -> Iterator[Row]:
        for start, length in blocks:
            self._file.seek(start)
            yield from _decode(self._file.read(length))
