"""An index that a CDX server keeps, over files of ours: OutbackCDX, pywb.

Asked without ``output``, pywb answers CDXJ and OutbackCDX eleven columns: both name the file,
the offset and the length. Every question reads the list of one URL as it streams by: to ask for
the nearest would be to trust in a server's order, and a list is one request too.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Final
from urllib.parse import quote

from archives.errors import Misbehaved, Unreachable
from archives.formats.rows import UnreadableItem, json_value, text_fields
from archives.moment import Moment
from archives.source import Fetcher, Reply, Request
from archives.surt import surt
from archives.warc_index.cdx_files import CdxLine, named_in
from archives.warc_index.model import IndexRow, Key, is_page, remoteness, same_second

_MOST: Final = 1_000_000
"""Captures of one URL."""
_BATCH: Final = 1000
_LONGEST: Final = 64 * 1024
_NO_CAPTURES: Final = "no captures found"
_REVISIT: Final = "warc/revisit"

Rank = Callable[[IndexRow], tuple[object, ...]]


class CdxServerIndex:
    """A collection whose index is asked over HTTP. Each question raises ArchiveError."""

    def __init__(self, id: str, endpoint: str, root: str, fetch: Fetcher) -> None:  # noqa: A002
        """*root* is the folder or address below which the files lie."""
        self.id = id
        self._endpoint = endpoint
        self._root = root.rstrip("/")
        self._fetch = fetch

    async def nearest(self, url: str, at: Moment | None) -> IndexRow | None:
        """Return the capture nearest to *at* (None: the newest); None if there is none."""
        return (await self._looked(url, at)).best

    async def placed(self, url: str, at: Moment | None) -> Sequence[IndexRow]:
        """Return the nearest, then the first, those before and after it, and the last."""
        look = await self._looked(url, at)
        rows = (look.best, look.first, look.before, look.after, look.last)
        return [row for row in rows if row is not None]

    async def at(self, url: str, stamp: str) -> IndexRow | None:
        """Return the capture with exactly these digits, the very URL before its variants."""
        rows = await self._kept(url, lambda row: row.stamp == stamp)
        return same_second(rows, url.partition("#")[0])

    async def original_of(
        self, url: str, digest: str | None, refers_to: tuple[str, str] | None
    ) -> IndexRow | None:
        """Return the record whose payload a revisit repeats."""
        if refers_to is not None:
            target, date = refers_to
            second = "".join(filter(str.isdigit, date))[:14]
            found = await self._payload(target, second, digest)
            if found is not None:
                return found
        return None if digest is None else await self._payload(url, "", digest)

    async def listed(self, url: str) -> AsyncGenerator[Sequence[IndexRow], None]:
        """Yield every capture in batches, oldest first."""
        batch: list[IndexRow] = []
        async with aclosing(self._rows(url.partition("#")[0])) as rows:
            async for row in rows:
                batch.append(row)
                if len(batch) == _BATCH:
                    yield batch
                    batch = []
                    # Some 20 ms of reading, in which nobody else was served.
                    await asyncio.sleep(0)
        if batch:
            yield batch

    async def ranged(
        self, lower: str, upper: str, after: Key | None = None
    ) -> AsyncGenerator[Sequence[IndexRow], None]:
        """Raise: a CDX server is asked for URLs, and whoever wants ranges can ask it itself."""
        del upper, after
        raise Unreachable(self.id, lower, "lists one URL at a time: ask its CDX server")
        yield  # pragma: no cover - what makes it a generator

    async def _payload(self, url: str, second: str, digest: str | None) -> IndexRow | None:
        rows = await self._kept(
            url,
            lambda row: (
                row.mime != _REVISIT
                and row.stamp.startswith(second)
                and digest in (None, row.digest)
            ),
        )
        return same_second(rows, url)

    async def _kept(self, url: str, wanted: Callable[[IndexRow], bool]) -> list[IndexRow]:
        """Return the first of those *wanted*: no more than anybody would weigh."""
        kept: list[IndexRow] = []
        async with aclosing(self.listed(url)) as batches:
            async for rows in batches:
                kept += [row for row in rows if wanted(row)][: _BATCH - len(kept)]
        return kept

    async def _looked(self, url: str, at: Moment | None) -> "_Look":
        page = url.partition("#")[0]
        look = _Look(_lateness(page) if at is None else remoteness(page, at), newest=at is None)
        async with aclosing(self.listed(url)) as batches:
            async for rows in batches:
                for row in rows:
                    look.take(row)
        return look

    async def _rows(self, url: str) -> AsyncGenerator[IndexRow, None]:
        """Yield the rows of *url* itself: pywb may add what it takes for the same."""
        asked = f"{self._endpoint}?url={quote(url, safe='')}"
        key, before = surt(url), ""
        request = Request("GET", asked, "index", {"Accept": "text/x-cdxj, text/plain, */*"})
        async with self._fetch(request) as reply:
            if reply.status != 200:
                await self._check_absence(asked, reply)
                return
            number = 0
            async with aclosing(self._lines(asked, reply)) as lines:
                async for line in lines:
                    for row in self._read(asked, line):
                        number += 1
                        if row.stamp < before or number > _MOST:
                            why = "its index is not in order of time, or without end"
                            raise Misbehaved(self.id, asked, why)
                        before = row.stamp
                        if row.surt == key:
                            yield row

    async def _check_absence(self, asked: str, reply: Reply) -> None:
        """Raise unless the answer clearly says that there is nothing.

        pywb: 404 and ``{"message": "No Captures found for: ..."}``. OutbackCDX answers 404 too
        where the whole collection does not exist, which says nothing of the URL.
        """
        body = b""
        async for chunk in reply.chunks():
            body = (body + chunk)[:_LONGEST]
        if reply.status == 404 and _says_no_captures(body):
            return
        raise Misbehaved(self.id, asked, f"its index answers {reply.status}")

    async def _lines(self, asked: str, reply: Reply) -> AsyncGenerator[str, None]:
        rest = b""
        async for chunk in reply.chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line.decode("latin-1").rstrip("\r")
            if len(rest) > _LONGEST:
                raise Misbehaved(self.id, asked, "its index has a line without end")
        if rest:
            yield rest.decode("latin-1")

    def _read(self, asked: str, line: str) -> Iterator[IndexRow]:
        if not line.strip():
            return
        for item in named_in(line, (), 0):
            if not isinstance(item, CdxLine):
                raise Misbehaved(self.id, asked, f"its index tells {item.why}")
            name, c = item.name, item.capture
            file = f"{self._root}/{name}"
            yield IndexRow(
                c.stamp,
                c.url,
                c.mime,
                c.status,
                c.digest,
                c.offset,
                c.length,
                c.surt,
                file,
                name,
            )


class _Look:
    """What is found while rows go by in order of time."""

    def __init__(self, rank: Rank, *, newest: bool) -> None:
        """Look for the row with the greatest rank, or with the least."""
        self._rank = rank
        self._newest = newest
        self._highest: tuple[object, ...] = ()
        self._earlier: IndexRow | None = None
        self.best: IndexRow | None = None
        self.first: IndexRow | None = None
        self.before: IndexRow | None = None
        self.after: IndexRow | None = None
        self.last: IndexRow | None = None

    def take(self, row: IndexRow) -> None:
        """Look at the next row."""
        if self.last is not None and self.last.stamp < row.stamp:
            self._earlier = self.last
        rank = self._rank(row)
        better = rank > self._highest if self._newest else rank < self._highest
        if self.best is None or better:
            self.best, self._highest = row, rank
            self.before, self.after = self._earlier, None
        elif self.after is None and row.stamp > self.best.stamp:
            self.after = row
        self.first = self.first or row
        self.last = row


def _lateness(url: str) -> Rank:
    """Return what is greatest for the newest; of those as late the very URL, then a page."""
    return lambda row: (row.stamp, row.url == url, is_page(row))


def _says_no_captures(body: bytes) -> bool:
    try:
        told = text_fields(json_value(body.decode("latin-1")))
    except UnreadableItem:
        return False
    return any(value.lower().startswith(_NO_CAPTURES) for value in told.values())
