"""One document of a list of captures: fetched, its format detected, read, and checked.

A document that does not exist has no captures; one that is incomplete yields captures and then
raises; one that is not a list raises.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from archives.addresses import ArchiveAddresses, RefusedAddress, downgrades
from archives.columns import CaptureColumns, Details
from archives.diagnostics import Malformed
from archives.errors import Gated, Misbehaved, Refused
from archives.evidence import address_of, plausible
from archives.formats.decoding import HTML_PAGE, decoder_for
from archives.formats.linkformat import resolved
from archives.formats.rows import AlikeRows, ListDecoder, Row, TimeMapPage
from archives.model import ArchiveEntry, Memento
from archives.negotiation import ABSENT, MOST_HOPS, REDIRECTS, REJECTED
from archives.source import Fetcher, Reply, Request
from archives.uri import WEB

_ENOUGH_TO_DETECT: Final = 512
_LINE_END: Final = 2


@dataclass(frozen=True, slots=True)
class ListQuery:
    """A query for all captures of *original* in one archive."""

    entry: ArchiveEntry
    addresses: ArchiveAddresses
    fetch: Fetcher
    now: str
    """The last stamp that a capture can have."""
    original: str

    def misbehaved(self, url: str, why: str) -> Misbehaved:
        return Misbehaved(self.entry.id, url, why)


class Document:
    """One document of a list."""

    def __init__(self, query: ListQuery, url: str, *, continues: bool = False) -> None:
        self._query = query
        self.url = url
        self._continues = continues
        """Whether another document links it: then it must exist."""
        self._decoder: ListDecoder | None = None
        self._blanks = 0
        """Octets of white space before the first content."""
        self._ends: tuple[Memento, Memento] | None = None
        self.listed = 0
        self._dropped = 0
        self.urlkeys: Sequence[str] = ()
        """The keys of the captures in the last batch, if a CDX server lists them."""
        self.foreign: RefusedAddress | None = None
        """An address in the list that is not the archive's."""

    @property
    def pages(self) -> Sequence[TimeMapPage]:
        """The other documents that it links; complete when it has been read."""
        pages = self._decoder.pages if self._decoder else ()
        return [page._replace(uri=_secured(page.uri, self.url)) for page in pages]

    @property
    def resume_key(self) -> str | None:
        return self._decoder.resume_key if self._decoder else None

    @property
    def lost(self) -> int:
        """Number of rows that were unreadable or implausible."""
        return self._dropped + (self._decoder.skipped if self._decoder else 0)

    @property
    def extent(self) -> tuple[int, tuple[Memento, Memento] | None]:
        """Number of captures in it, with the first and the last of them."""
        return self.listed, self._ends

    async def batches(self) -> AsyncGenerator[CaptureColumns, None]:
        """Yield the captures as they arrive; none if there is no list, or an empty one."""
        for _ in range(MOST_HOPS + 1):
            async with self._query.fetch(Request("GET", self.url, "index")) as reply:
                following = self._redirected(reply)
                if following is None and self._is_list(reply.status):
                    async with aclosing(_with_joined_beginning(reply.chunks())) as pieces:
                        async for piece in pieces:
                            yield self._captures(self._read(piece))
                            if self._is_full:
                                break
            if following is None:
                break
            self.url = following
        else:
            raise self._misbehaved(f"more than {MOST_HOPS} redirects")
        if self._decoder is not None:
            yield self._captures(self._decoder.close())
        self._check_end()

    @property
    def _is_full(self) -> bool:
        """Whether a limit was reached: the rest is not read."""
        return self._decoder is not None and self._decoder.full

    def _redirected(self, reply: Reply) -> str | None:
        location = reply.headers.get("location")
        if reply.status not in REDIRECTS or location is None:
            return None
        following = resolved(location.strip(), self.url) or location
        address = self._query.addresses.accepted(following, "request", after=self.url)
        if isinstance(address, RefusedAddress):
            raise self._misbehaved(f"redirects to {address.why}")
        return address

    def _read(self, piece: bytes) -> Sequence[Row]:
        if self._decoder is None:
            if not piece.strip():
                self._blanks += len(piece)
                return ()
            self._decoder = self._detect(piece)
        return self._decoder.feed(piece)

    def _is_list(self, status: int) -> bool:
        if status in ABSENT and not self._continues:
            return False
        if status in REJECTED:
            raise Refused(self._query.entry.id, self.url, status, None)
        if status != 200:
            raise self._misbehaved(f"answers {status} to a request for a list")
        return True

    def _detect(self, first: bytes) -> ListDecoder:
        try:
            return decoder_for(first, self.url)
        except Malformed as error:
            if error.code == HTML_PAGE:
                raise Gated(self._query.entry.id, self.url, error.why) from error
            raise self._misbehaved(error.why) from error

    def _captures(self, rows: Sequence[Row]) -> CaptureColumns:
        alike = self._alike_captures(rows) if isinstance(rows, AlikeRows) else None
        captures = self._any_captures(rows) if alike is None else alike
        self._dropped += len(rows) - len(captures)
        self.listed += len(captures)
        if captures:
            first = captures[0] if self._ends is None else self._ends[0]
            self._ends = first, captures[-1]
        return captures

    def _alike_captures(self, rows: AlikeRows) -> CaptureColumns | None:
        """Return the captures of *rows*; None if they must be checked one by one.

        What `capture_of` reads from the first address with a suffix holds for all with that
        suffix, because the addresses differ in the digits of their stamps only.
        """
        query = self._query
        stamps, suffixes = rows.stamps, rows.suffixes
        if not (plausible(min(stamps), query.now) and plausible(max(stamps), query.now)):
            return None
        # The prefix has a whole server: a path begins in it.
        if "/" not in rows.prefix.partition("://")[2]:
            return None
        details: dict[str, Details] = {}
        for suffix in set(suffixes):
            row = rows[suffixes.index(suffix)]
            if row.uri is None or not self._is_own(row.uri):
                return None
            capture = capture_of(row, query.entry, query.original, query.now)
            if capture.stamp != row.stamp or not suffix.endswith(capture.original):
                return None
            details[suffix] = Details(*capture[2:])
        if len(details) == 1:
            return CaptureColumns(stamps, rows.uris, details[suffixes[0]])
        return CaptureColumns(stamps, rows.uris, [details[suffix] for suffix in suffixes])

    def _any_captures(self, rows: Sequence[Row]) -> CaptureColumns:
        query = self._query
        found = [(row, capture_of(row, query.entry, query.original, query.now)) for row in rows]
        found = [(row, capture) for row, capture in found if _is_plausible(capture, query.now)]
        captures = [capture for _, capture in found]
        # Rows of a CDX server have no address of their own, so none of them is dropped below.
        self.urlkeys = [row.urlkey or "" for row, _ in found]
        if any(row.uri for row in rows):
            captures = self._at_own_servers(captures)
        return CaptureColumns.of(captures)

    def _is_own(self, uri: str) -> bool:
        addresses = self._query.addresses
        return uri.startswith(addresses.usual) or addresses.is_own(uri, "list")

    def _at_own_servers(self, captures: list[Memento]) -> list[Memento]:
        """Drop captures at servers that the registry does not name for the archive (Q-1).

        A list may come from an attacker who controls the archive or a proxy in front of it.
        """
        own = [capture for capture in captures if self._is_own(capture.uri)]
        if len(own) < len(captures):
            addresses = self._query.addresses
            read = (addresses.read(capture.uri, "list") for capture in captures)
            foreign = next(each for each in read if isinstance(each, RefusedAddress))
            addresses.report(addresses.archive, foreign, len(captures) - len(own))
            self.foreign = self.foreign or foreign
        return own

    def _check_end(self) -> None:
        """Raise unless the document is complete."""
        if self._decoder is None and (self._continues or self._blanks > _LINE_END):
            raise self._misbehaved("answers a request for a list with no content")
        if self._decoder is not None and not self._decoder.complete:
            raise self._misbehaved(f"the list is incomplete: {self._decoder.shortfall}")

    def _misbehaved(self, why: str) -> Misbehaved:
        return self._query.misbehaved(self.url, why)


def _secured(uri: str, url: str) -> str:
    return uri.replace("http:", "https:", 1) if downgrades(url, uri) else uri


async def _with_joined_beginning(
    chunks: AsyncIterator[bytes],
) -> AsyncGenerator[bytes, None]:
    """Yield *chunks*, the first ones joined until the format can be detected."""
    beginning = b""
    async for chunk in chunks:
        if len(beginning) >= _ENOUGH_TO_DETECT:
            yield chunk
            continue
        beginning += chunk
        if len(beginning) >= _ENOUGH_TO_DETECT:
            yield beginning
    if 0 < len(beginning) < _ENOUGH_TO_DETECT:
        yield beginning


def _is_plausible(capture: Memento, now: str) -> bool:
    return plausible(capture.stamp, now) and capture.uri.startswith(WEB)


def capture_of(row: Row, entry: ArchiveEntry, original: str, now: str) -> Memento:
    """Return the capture in *row*; the digits of its address take precedence over its date."""
    captured = row.original or original
    if row.uri is None:
        uri = filled(entry.replay or "", row.stamp, captured)
        return _memento(row, row.stamp, uri, captured, entry.id)
    stamp = row.stamp
    if stamp not in row.uri or not row.uri.endswith(captured):
        address = address_of(row.uri)
        # OpenWayback at the UK Web Archive dated links wrongly; the digits were right.
        if address is not None and plausible(address.stamp, now):
            stamp = address.stamp
        # A TimeMap also lists captures of other spellings of the URL, visible in the address.
        if address is not None and row.original is None and address.original.startswith(WEB):
            captured = address.original
    return _memento(row, stamp, row.uri, captured, entry.id)


def _memento(row: Row, stamp: str, uri: str, original: str, archive: str) -> Memento:
    return Memento(
        stamp, uri, original, archive, row.status, row.mime, row.digest, length=row.length
    )


def filled(template: str, stamp: str, uri: str, *, all_digits: bool = False) -> str:
    """Return the address of the capture of *uri* at *stamp* by *template*.

    Archives understand seconds. Local collections need *all_digits*, because several captures
    of one second have different addresses there (T-9).
    """
    digits = stamp if all_digits else stamp[:14]
    return template.replace("{time14}", digits, 1).replace("{uri}", uri, 1)
