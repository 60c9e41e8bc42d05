"""CDX and CDXJ files that lie beside WARCs: what they say need not be read again.

They come from elsewhere, so nothing in them is believed: a file name is compared with those of
the collection and never opened, an offset has to lie in the file, a line has to end. Their
keys are not used, ours are made of the URL. A CDX file knows whole seconds only.
"""

import asyncio
import gzip
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import BinaryIO, Final, NamedTuple, cast
from urllib.parse import quote

from archives.errors import Misbehaved, Unreachable
from archives.formats.rows import (
    UnreadableItem,
    json_value,
    plain,
    stamp_from_digits,
    status_code,
    text_fields,
)
from archives.moment import Moment
from archives.source import Fetcher, Reply, Request
from archives.surt import surt
from archives.warc.captures import Capture
from archives.warc.files import Damage
from archives.warc_index.model import IndexRow, Key, best_of_second, distance_from, is_page

_LONGEST: Final = 64 * 1024
_RATIO: Final = 200
_FREE: Final = 1024 * 1024
"""Octets that may come out of any gzip file, before its ratio is looked at."""
# The letters of the header line, http://archive.org/web/researcher/cdx_legend.php
_LETTERS: Final = {
    "N": "urlkey",
    "b": "timestamp",
    "a": "url",
    "m": "mime",
    "s": "status",
    "k": "digest",
    "S": "length",
    "V": "offset",
    "g": "filename",
}
_ORIGINAL: Final = ("orig.length", "orig.offset", "orig.filename")
"""What pywb adds where it has found what a revisit repeats."""
_USUAL: Final = {9: "NbamskrVg", 11: "NbamskrMSVg", 14: "NbamskrMSVg"}
"""By the number of fields, where no header tells them."""
_HEADERS: Final = (" CDX ", "CDX ")
_DIRECTIVES: Final = ("!", "@")
_POSTED: Final = "__wb_method="


class CdxLine(NamedTuple):
    """One line: a capture, in which file it is said to be, and where the line stands."""

    name: str
    capture: Capture
    at: int


def read_cdx_file(opened: BinaryIO, name: str) -> Iterator[CdxLine | Damage]:
    """Read a CDX or CDXJ file line by line, and close it. Raises OSError."""
    with opened as file:
        if not name.lower().endswith(".gz"):
            yield from _lines(file, None)
            return
        try:
            with gzip.open(file) as unpacked:
                yield from _lines(cast("BinaryIO", unpacked), file)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield Damage(file.tell(), f"the gzip breaks off: {error}")


def _lines(file: BinaryIO, packed: BinaryIO | None) -> Iterator[CdxLine | Damage]:
    legend: tuple[str, ...] = ()
    at = 0
    while line := file.readline(_LONGEST):
        if packed is not None and at > _FREE and at > _RATIO * packed.tell():
            yield Damage(at, f"more than {_RATIO} times as long as it is packed")
            return
        if not line.endswith(b"\n") and len(line) == _LONGEST:
            yield Damage(at, f"a line of more than {_LONGEST} octets")
            at += len(line) + _skipped(file)
            continue
        text = line.decode("latin-1").rstrip("\r\n")
        if text.startswith(_HEADERS):
            legend = tuple(text.split()[1:])
        elif text.strip() and not text.startswith(_DIRECTIVES):
            yield from read_cdx_line(text, legend, at)
        at += len(line)


def _skipped(file: BinaryIO) -> int:
    """Pass over the rest of a line; return how long that was."""
    length = 0
    while piece := file.readline(_LONGEST):
        length += len(piece)
        if piece.endswith(b"\n"):
            break
    return length


def read_cdx_line(line: str, legend: tuple[str, ...], at: int) -> Iterator[CdxLine | Damage]:
    """Yield what one line tells: a capture, nothing, or that it cannot be read."""
    try:
        fields = _fields(line, legend)
        # pywb folds what was posted into the key. That capture is no answer to a GET.
        if _POSTED not in fields.get("urlkey", ""):
            yield CdxLine(_file_name(fields), _capture(fields), at)
    except UnreadableItem as error:
        yield Damage(at, f"no line of a CDX file: {error}")


def _fields(line: str, legend: tuple[str, ...]) -> Mapping[str, str]:
    key, _, rest = line.partition(" ")
    stamp, _, members = rest.partition(" ")
    if members.startswith("{"):
        fields = text_fields(json_value(members))
        return {**fields, "urlkey": key, "timestamp": stamp}
    values = plain(line).split(" ")
    letters = legend or _USUAL.get(len(values), ())
    if len(values) not in (len(letters), len(letters) + len(_ORIGINAL)) or not letters:
        raise UnreadableItem(f"{len(values)} fields")
    return {
        _LETTERS[letter]: value
        for letter, value in zip(letters, values, strict=False)
        if letter in _LETTERS and value != "-"
    }


def _file_name(fields: Mapping[str, str]) -> str:
    name = fields.get("filename", "").rpartition("/")[2]
    if not name:
        raise UnreadableItem("it names no file")
    return name


def _capture(fields: Mapping[str, str]) -> Capture:
    stamp = stamp_from_digits(fields.get("timestamp", ""))
    url = fields.get("url", "").partition("#")[0]
    if stamp is None or not url or not url.isprintable():
        raise UnreadableItem("no time or no URL")
    mime = fields.get("mime") or fields.get("mimetype")
    return Capture(
        surt(url),
        stamp,
        url,
        _stated(mime),
        status_code(fields.get("status", "")),
        _stated(fields.get("digest", "").removeprefix("sha1:")),
        _count(fields.get("offset", "")),
        _count(_stated(fields.get("length")) or "0"),
    )


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise UnreadableItem(f"no number of octets: {text[:20]!r}")
    return int(text)


def _stated(text: str | None) -> str | None:
    return text if text and text != "-" else None


_MOST: Final = 1_000_000
"""Captures of one URL."""
_BATCH: Final = 1000
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

    async def nearest_with_neighbours(self, url: str, at: Moment | None) -> Sequence[IndexRow]:
        """Return the nearest, then the first, those before and after it, and the last."""
        look = await self._looked(url, at)
        rows = (look.best, look.first, look.before, look.after, look.last)
        return [row for row in rows if row is not None]

    async def at(self, url: str, stamp: str) -> IndexRow | None:
        """Return the capture with exactly these digits, the very URL before its variants."""
        rows = await self._kept(url, lambda row: row.stamp == stamp)
        return best_of_second(rows, url.partition("#")[0])

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

    async def captures_of(self, url: str) -> AsyncGenerator[Sequence[IndexRow], None]:
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

    async def captures_between(
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
        return best_of_second(rows, url)

    async def _kept(self, url: str, wanted: Callable[[IndexRow], bool]) -> list[IndexRow]:
        """Return the first of those *wanted*: no more than anybody would weigh."""
        kept: list[IndexRow] = []
        async with aclosing(self.captures_of(url)) as batches:
            async for rows in batches:
                kept += [row for row in rows if wanted(row)][: _BATCH - len(kept)]
        return kept

    async def _looked(self, url: str, at: Moment | None) -> "_Look":
        page = url.partition("#")[0]
        look = _Look(
            _lateness(page) if at is None else distance_from(page, at), newest=at is None
        )
        async with aclosing(self.captures_of(url)) as batches:
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
        for item in read_cdx_line(line, (), 0):
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
