"""What a source offers: the index of another timegate, or the lists of any Memento archive."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from tempfile import SpooledTemporaryFile
from typing import Any, Final, Protocol
from urllib.parse import quote

from archives.diagnostics import Malformed
from archives.errors import ArchiveError, Misbehaved
from archives.listing import has_second_list
from archives.model import ArchiveEntry, Memento
from archives.moment import Moment
from archives.source import Fetcher, Request, Source
from archives.uri import check_text
from timegate.replication import OfferedCapture
from timegate.verdict import raw_address

BATCH: Final = 500
_NDJSON: Final = "application/x-ndjson"
_IN_MEMORY: Final = 1 << 20
_LONGEST_LINE: Final = 1 << 16
_MOST_PARTS: Final = 10_000
_SECOND: Final = 14
"""Digits of a time to the second."""
_WEB: Final = ("http://", "https://")


class Offers(Protocol):
    """Lists what a source offers."""

    def batches(self) -> AsyncGenerator[Sequence[OfferedCapture], None]:
        """Yield captures in batches. Raises ArchiveError if the list is not complete."""
        ...


class NoIndex(Exception):
    """The source has no index of its captures."""


class IndexOffers:
    """The index of a collection of another timegate, of one page or of all."""

    def __init__(self, fetch: Fetcher, archive: str, base: str, page: str | None) -> None:
        """Read the index of the collection at the address *base*."""
        self._fetch = fetch
        self._archive = archive
        self._base = base
        self._page = page

    async def batches(self) -> AsyncGenerator[Sequence[OfferedCapture], None]:
        """Yield captures in batches. Raises ArchiveError and NoIndex."""
        cursor = ""
        for _ in range(_MOST_PARTS):
            async with self._part(cursor) as lines:
                last: dict[str, Any] = {}
                batch: list[OfferedCapture] = []
                for line in lines:
                    last = self._read(line)
                    if "end" in last:
                        break
                    batch.append(self._offered(last))
                    if len(batch) == BATCH:
                        yield batch
                        batch = []
                yield batch
            if "end" not in last:
                raise Misbehaved(self._archive, self._base, "its index breaks off")
            cursor = last.get("next", "")
            if not isinstance(cursor, str) or not cursor:
                return
        raise Misbehaved(
            self._archive, self._base, f"an index of more than {_MOST_PARTS} parts"
        )

    @asynccontextmanager
    async def _part(self, cursor: str) -> AsyncIterator[Iterable[bytes]]:
        """Read a part of the index to the end, so that no connection waits for our copying."""
        values = {"url": self._page or "", "after": cursor}
        query = "&".join(f"{name}={quote(v, safe='')}" for name, v in values.items() if v)
        url = f"{self._base}/index" + (f"?{query}" if query else "")
        with SpooledTemporaryFile(_IN_MEMORY) as file:
            async with self._fetch(Request("GET", url, "index")) as reply:
                media = reply.headers.get("content-type", "").partition(";")[0].strip()
                if reply.status != 200 or media != _NDJSON:
                    raise NoIndex(f"{url} answers {reply.status} {media}".rstrip())
                async for piece in reply.chunks():
                    file.write(piece)
            file.seek(0)
            yield iter(lambda: file.readline(_LONGEST_LINE), b"")

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            value = json.loads(line)
        except ValueError as error:
            raise Misbehaved(self._archive, self._base, "its index is not JSON") from error
        if not isinstance(value, dict):
            raise Misbehaved(
                self._archive, self._base, "its index has a line that is no object"
            )
        return value

    def _offered(self, row: dict[str, Any]) -> OfferedCapture:
        url, stamp, digest, status = map(row.get, ("url", "stamp", "digest", "status"))
        if not (isinstance(url, str) and isinstance(stamp, str) and _is_usable(url, stamp)):
            why = "its index has a capture without a web address or a time"
            raise Misbehaved(self._archive, self._base, why)
        return OfferedCapture(
            url,
            stamp,
            f"{self._base}/{stamp}/{url}",
            f"{self._base}/{stamp}id_/{url}",
            digest if isinstance(digest, str) else None,
            status if isinstance(status, int) else None,
            bool(row.get("asserted")),
        )


def _is_usable(url: str, stamp: str) -> bool:
    try:
        check_text(url)
        return url.startswith(_WEB) and len(Moment(stamp).digits) >= _SECOND
    except (Malformed, ValueError):
        return False


class ListedOffers:
    """The lists of any archive, of given pages."""

    def __init__(self, source: Source, pages: Sequence[str]) -> None:
        self._source = source
        self._pages = pages
        self.failures: dict[str, ArchiveError] = {}
        """Pages whose lists are not complete."""

    async def batches(self) -> AsyncGenerator[Sequence[OfferedCapture], None]:
        """Yield captures in batches; a list that fails is noted, and the others are read."""
        entry = self._source.entry
        for page in self._pages:
            detailed = has_second_list(entry)
            try:
                async with aclosing(self._source.mementos(page, detailed=detailed)) as lists:
                    async for captures in lists:
                        for start in range(0, len(captures), BATCH):
                            part = captures[start : start + BATCH]
                            yield [_of_memento(capture, entry) for capture in part]
            except ArchiveError as error:
                self.failures[page] = error


def _of_memento(memento: Memento, entry: ArchiveEntry) -> OfferedCapture:
    return OfferedCapture(
        memento.original,
        memento.stamp,
        memento.uri,
        raw_address(memento, entry),
        memento.digest,
        memento.status,
        memento.is_asserted,
    )
