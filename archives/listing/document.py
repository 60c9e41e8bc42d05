"""One document of a list of captures: fetched, told what it is, read, and checked.

What is not there, what is not whole and what is no list are three different things here: no
captures, captures and then an error, an error.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from archives.diagnostics import Malformed
from archives.errors import Misbehaved, Refused
from archives.evidence import WEB, address_of, plausible
from archives.formats import decoder_for
from archives.formats.linkformat import resolved
from archives.formats.rows import ListDecoder, Row, TimeMapPage
from archives.model import ArchiveEntry, Memento
from archives.negotiation import (
    CLEAR_NO,
    GO_AWAY,
    MOST_HOPS,
    REDIRECTS,
    Homes,
    downgrades,
)
from archives.source import Fetcher, Reply, Request
from archives.uri import USUAL_PORTS, plain_host, plain_origin

_ENOUGH_TO_SNIFF: Final = 512
_LINE_END: Final = 2


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Who is asked, and what for."""

    entry: ArchiveEntry
    fetch: Fetcher
    now: str
    """The last stamp that a capture can have."""
    original: str

    def misbehaved(self, url: str, why: str) -> Misbehaved:
        return Misbehaved(self.entry.id, url, why)


class Document:
    """One document of a list."""

    def __init__(self, search: ListQuery, url: str, *, continues: bool = False) -> None:
        self._search = search
        self.url = url
        self._continues = continues
        """Whether another document refers to it: then it has to be there."""
        self._decoder: ListDecoder | None = None
        self._blanks = 0
        self._ends: tuple[Memento, Memento] | None = None
        self.listed = 0
        self._dropped = 0
        self._homes = Homes.of(search.entry, *search.entry.former_hosts)
        # Nearly all of them, and this is asked a million times.
        authority = url.partition("://")[2].partition("/")[0]
        here = (f"http://{authority}/", f"https://{authority}/")
        self._here: tuple[str, ...] = here if plain_host(url) else ()
        self.stray: str | None = None
        """A server that it leads to, and that is not the archive's."""

    @property
    def pages(self) -> Sequence[TimeMapPage]:
        """The other documents that it refers to, at the latest when it has been read."""
        pages = self._decoder.pages if self._decoder else ()
        return [page._replace(uri=_secured(page.uri, self.url)) for page in pages]

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
            async with self._search.fetch(Request("GET", self.url, "index")) as reply:
                following = self._redirected(reply)
                if following is None and self._is_list(reply.status):
                    async with aclosing(_with_whole_beginning(reply.chunks())) as pieces:
                        async for piece in pieces:
                            yield self._captures(self._read(piece))
                            if self._is_enough:
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
    def _is_enough(self) -> bool:
        """Whether a limit was reached, so that nothing more of it will be read."""
        return self._decoder is not None and self._decoder.full

    def _redirected(self, reply: Reply) -> str | None:
        location = reply.headers.get("location")
        if reply.status not in REDIRECTS or location is None:
            return None
        following = resolved(location.strip(), self.url)
        if following is None or downgrades(self.url, following):
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
            raise Refused(self._search.entry.id, self.url, status, None)
        if status != 200:
            raise self._misbehaved(f"answers {status} where a list was asked for")
        return True

    def _sniffed(self, first: bytes) -> ListDecoder:
        try:
            return decoder_for(first, self.url)
        except Malformed as complaint:
            raise self._misbehaved(complaint.why) from complaint

    def _captures(self, rows: Sequence[Row]) -> list[Memento]:
        search = self._search
        captures = [capture_of(row, search.entry, search.original, search.now) for row in rows]
        captures = [capture for capture in captures if _sound(capture, search.now)]
        if any(row.uri for row in rows):
            captures = self._at_home(captures)
        self._dropped += len(rows) - len(captures)
        self.listed += len(captures)
        if captures:
            first = captures[0] if self._ends is None else self._ends[0]
            self._ends = first, captures[-1]
        return captures

    def _at_home(self, captures: list[Memento]) -> list[Memento]:
        """Leave out what is said to be elsewhere: nobody is led where no registry leads (Q-1).

        A list may be written by whoever broke into an archive, or by a proxy in front of it.
        """
        homes, here = self._homes, self._here
        kept = [
            capture
            for capture in captures
            if capture.uri.startswith(here) or homes.hold(capture.uri, below=True)
        ]
        if len(kept) < len(captures) and self.stray is None:
            uris = (capture.uri for capture in captures if not capture.uri.startswith(here))
            self.stray = next(_server(uri) for uri in uris if not homes.hold(uri, below=True))
        return kept

    def _check_end(self) -> None:
        """Raise unless this was all of it."""
        if self._decoder is None and (self._continues or self._blanks > _LINE_END):
            raise self._misbehaved("answers with nothing where a list was asked for")
        if self._decoder is not None and not self._decoder.complete:
            raise self._misbehaved(f"the list is not whole: {self._decoder.shortfall}")

    def _misbehaved(self, why: str) -> Misbehaved:
        return self._search.misbehaved(self.url, why)


def _server(uri: str) -> str:
    """Return host and port of *uri*, the usual port left out; empty where it has no host."""
    scheme, host, port = plain_origin(uri) or ("", "", 0)
    return host if port == USUAL_PORTS.get(scheme, 0) else f"{host}:{port}"


def _secured(uri: str, url: str) -> str:
    return uri.replace("http:", "https:", 1) if downgrades(url, uri) else uri


async def _with_whole_beginning(
    chunks: AsyncIterator[bytes],
) -> AsyncGenerator[bytes, None]:
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


def filled(template: str, stamp: str, uri: str) -> str:
    """Return the address in *template* of the capture of *uri* at *stamp*."""
    return template.replace("{time14}", stamp[:14]).replace("{uri}", uri)
