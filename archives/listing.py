"""All captures of a page that an archive lists, in batches, oldest first.

TimeMaps come in one piece, in pages, or as an index of pages (M-53); CDX servers hand out a
resume key. Either way the rows are checked and put into order, and who reads to the end has
read all of it: a list that breaks off raises.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Final
from urllib.parse import quote

from archives.errors import Misbehaved, Refused, Unreachable
from archives.evidence import address_of, plausible
from archives.formats.decoder import Decoder
from archives.formats.detection import decoder_for
from archives.formats.rows import Page, Row
from archives.model import ArchiveEntry, Dialect, Memento
from archives.negotiation import Clock, latest_stamp
from archives.reading import Malformed
from archives.source import Fetcher, Request

MOST_DOCUMENTS: Final = 50
MOST_UNSORTED: Final = 250_000
"""A list that is not in order of time is sorted in memory; a million captures are 240 MB."""
_ENOUGH_TO_TELL: Final = 512
_ENOUGH_TO_SNIFF: Final = 512
_FORMATS: Final = ("link", "cdxj", "json")
_CLEAR_NO: Final = (404, 410)
_GO_AWAY: Final = (401, 451)
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


def list_captures(
    entry: ArchiveEntry, fetch: Fetcher, clock: Clock, original: str
) -> AsyncGenerator[Sequence[Memento], None]:
    """Yield every capture of *original* that *entry* lists, oldest first."""
    listing = _Listing(entry, fetch, latest_stamp(clock), original.partition("#")[0])
    return in_order(listing.batches(), entry.id, original)


async def read_captures(
    entry: ArchiveEntry, fetch: Fetcher, clock: Clock, original: str, url: str
) -> list[Memento]:
    """Return the captures in the one document at *url*, in its order."""
    document = _Document(entry, fetch, latest_stamp(clock), original, url)
    async with aclosing(document.batches()) as batches:
        return [capture async for batch in batches for capture in batch]


class _Listing:
    """One reading of one archive's list, over as many documents as it takes."""

    def __init__(self, entry: ArchiveEntry, fetch: Fetcher, now: str, original: str) -> None:
        self._entry = entry
        self._fetch = fetch
        self._now = now
        self._original = original
        self._asked: set[str] = set()

    async def batches(self) -> AsyncGenerator[list[Memento], None]:
        """Yield the captures in the order in which the archive lists them."""
        entry = self._entry
        timemap = next((entry.timemaps[f] for f in _FORMATS if f in entry.timemaps), None)
        if entry.cdx is not None and (entry.kind == "cdx" or timemap is None):
            documents = self._cdx(entry.cdx)
        elif timemap is not None:
            documents = self._timemaps(timemap + self._original)
        else:
            why = "publishes no list of captures that programs can read"
            raise Unreachable(entry.id, entry.replay or entry.timegate or "", why)
        async with aclosing(documents):
            async for batch in documents:
                yield batch

    async def _timemaps(self, url: str) -> AsyncGenerator[list[Memento], None]:
        """Read the TimeMap at *url*, then those that it refers to, oldest first (M-53)."""
        waiting = [url]
        while waiting:
            document = self._document(waiting.pop(0))
            async with aclosing(document.batches()) as batches:
                async for batch in batches:
                    yield batch
            pages = sorted(document.pages, key=lambda page: page.since or "")
            new = [page.uri for page in pages if page.uri not in self._asked]
            waiting[:0] = [uri for uri in dict.fromkeys(new) if uri not in waiting]

    async def _cdx(self, endpoint: str) -> AsyncGenerator[list[Memento], None]:
        """Read the index, from resume key to resume key where the server gives them."""
        first = cdx_query(endpoint, self._original, _ALL_ROWS[self._entry.dialect])
        url: str | None = first
        while url is not None:
            document = self._document(url)
            async with aclosing(document.batches()) as batches:
                async for batch in batches:
                    yield batch
            key = document.resume_key
            url = None if key is None else f"{first}&resumeKey={quote(key, safe='')}"

    def _document(self, url: str) -> "_Document":
        if url in self._asked:
            raise Misbehaved(self._entry.id, url, "a list that leads back to itself")
        if len(self._asked) >= MOST_DOCUMENTS:
            why = f"a list in more than {MOST_DOCUMENTS} documents"
            raise Misbehaved(self._entry.id, url, why)
        self._asked.add(url)
        return _Document(self._entry, self._fetch, self._now, self._original, url)


class _Document:
    """One document of a list."""

    def __init__(
        self, entry: ArchiveEntry, fetch: Fetcher, now: str, original: str, url: str
    ) -> None:
        self._entry = entry
        self._fetch = fetch
        self._now = now
        self._original = original
        self._url = url
        self._decoder: Decoder | None = None

    @property
    def pages(self) -> Sequence[Page]:
        return self._decoder.pages if self._decoder else ()

    @property
    def resume_key(self) -> str | None:
        return self._decoder.resume_key if self._decoder else None

    async def batches(self) -> AsyncGenerator[list[Memento], None]:
        """Yield the captures as they arrive; none where there is no list, or an empty one."""
        async with self._fetch(Request("GET", self._url, "index")) as reply:
            if self._is_list(reply.status):
                async for piece in _with_whole_beginning(reply.chunks()):
                    yield self._captures(self._read(piece))
        if self._decoder is not None:
            yield self._captures(self._decoder.close())
            if not self._decoder.complete:
                raise self._misbehaved(f"the list is not whole: {self._decoder.shortfall}")

    def _read(self, piece: bytes) -> Sequence[Row]:
        if self._decoder is None:
            if not piece.strip():
                return ()
            self._decoder = self._sniffed(piece)
        return self._decoder.feed(piece)

    def _is_list(self, status: int) -> bool:
        if status in _CLEAR_NO:
            return False
        if status in _GO_AWAY:
            raise Refused(self._entry.id, self._url, status, None)
        if status != 200:
            raise self._misbehaved(f"answers {status} where a list was asked for")
        return True

    def _sniffed(self, first: bytes) -> Decoder:
        try:
            return decoder_for(first, self._url)
        except Malformed as complaint:
            raise self._misbehaved(complaint.why) from complaint

    def _captures(self, rows: Iterable[Row]) -> list[Memento]:
        captures = [capture_of(row, self._entry, self._original) for row in rows]
        return [capture for capture in captures if plausible(capture.stamp, self._now)]

    def _misbehaved(self, why: str) -> Misbehaved:
        return Misbehaved(self._entry.id, self._url, why)


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


def capture_of(row: Row, entry: ArchiveEntry, original: str) -> Memento:
    """Return the capture in *row*; the digits of its address count more than its date."""
    captured = row.original or original
    if row.uri is None:
        uri = filled(entry.replay or "", row.stamp, captured)
        return Memento(row.stamp, uri, captured, entry.id, *row[3:])
    stamp = row.stamp
    if stamp not in row.uri:
        # OpenWayback at the UK Web Archive dated links wrongly; the digits were right.
        address = address_of(row.uri)
        stamp = address.stamp if address else stamp
    return Memento(stamp, row.uri, captured, entry.id, *row[3:])


async def in_order(
    batches: AsyncGenerator[list[Memento], None], archive: str, url: str
) -> AsyncGenerator[Sequence[Memento], None]:
    """Yield *batches* oldest first.

    The first captures tell whether the archive lists in order. If it does, they are passed on
    as they come, and one out of order later on raises; if not, all are sorted first.
    """
    async with aclosing(batches):
        head = await _taken(batches, _ENOUGH_TO_TELL)
        if not _ascending(head):
            head += await _taken(batches, MOST_UNSORTED)
            if len(head) > MOST_UNSORTED:
                why = f"lists more than {MOST_UNSORTED} captures out of order"
                raise Misbehaved(archive, url, why)
            head.sort(key=lambda capture: capture[:2])
        if head:
            yield head
        last = head[-1].stamp if head else ""
        async for captures in batches:
            if not captures:
                continue
            if captures[0].stamp < last or not _ascending(captures):
                raise Misbehaved(archive, url, "lists captures out of the order it began with")
            yield captures
            last = captures[-1].stamp


def _ascending(captures: Sequence[Memento]) -> bool:
    stamps = [capture[0] for capture in captures]
    return stamps == sorted(stamps)


async def _taken(batches: AsyncIterator[list[Memento]], enough: int) -> list[Memento]:
    taken: list[Memento] = []
    async for captures in batches:
        taken += captures
        if len(taken) > enough:
            break
    return taken
