"""CDX and CDXJ lines as an index: from files beside the WARCs, and from CDX servers.

A CDX file saves reading the WARCs that it lists. It is not trusted: its file names are compared
with those of the collection and never opened, offsets must lie in the file, and lines have a
maximum length. Keys are computed from the URLs. A CDX file has whole seconds only.

A CDX server (OutbackCDX, pywb) replaces the index. Without the parameter ``output``, pywb
answers CDXJ and OutbackCDX eleven columns; both include file, offset and length. Each query
reads all captures of one URL: a query for the nearest would rely on the server's idea of near,
and would be one request too.
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
    status_code,
    text_fields,
)
from archives.moment import Moment, stamp_from_digits
from archives.source import Fetcher, Reply, Request, WantedCaptures
from archives.surt import surt
from archives.warc.captures import REVISIT, Capture
from archives.warc.files import Damage
from archives.warc_index.model import (
    IndexRow,
    Key,
    best_row,
    distance_from,
    is_page,
    referred_times,
)

_MAX_LINE: Final = 64 * 1024
_MAX_RATIO: Final = 200
_FREE_SIZE: Final = 1024 * 1024
"""Decompressed bytes after which the compression ratio is checked."""
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
_PYWB_EXTRA_FIELDS: Final = ("orig.length", "orig.offset", "orig.filename")
"""Fields that pywb appends to a revisit whose original it has found."""
_DEFAULT_LETTERS: Final = {9: "NbamskrVg", 11: "NbamskrMSVg", 14: "NbamskrMSVg"}
"""Fields by their number, for files without a header line."""
_HEADER_PREFIXES: Final = (" CDX ", "CDX ")
_DIRECTIVE_PREFIXES: Final = ("!", "@")
_POST_MARK: Final = "__wb_method="


class CdxLine(NamedTuple):
    """One line: a capture, the name of its file, and the position of the line."""

    name: str
    capture: Capture
    at: int


def read_cdx_file(opened: BinaryIO, name: str) -> Iterator[CdxLine | Damage]:
    """Yield the captures of a CDX or CDXJ file, and close it. Raises OSError."""
    with opened as file:
        if not name.lower().endswith(".gz"):
            yield from _lines(file, None)
            return
        try:
            with gzip.open(file) as decompressed:
                yield from _lines(cast("BinaryIO", decompressed), file)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield Damage(file.tell(), f"the gzip file is damaged: {error}")


def _lines(file: BinaryIO, compressed: BinaryIO | None) -> Iterator[CdxLine | Damage]:
    legend: tuple[str, ...] = ()
    at = 0
    while line := file.readline(_MAX_LINE):
        if compressed is not None and at > _FREE_SIZE and at > _MAX_RATIO * compressed.tell():
            yield Damage(at, f"it inflates to more than {_MAX_RATIO} times its size")
            return
        if not line.endswith(b"\n") and len(line) == _MAX_LINE:
            yield Damage(at, f"a line has more than {_MAX_LINE} octets")
            at += len(line) + _skip_rest_of_line(file)
            continue
        text = line.decode("latin-1").rstrip("\r\n")
        if text.startswith(_HEADER_PREFIXES):
            legend = tuple(text.split()[1:])
        elif text.strip() and not text.startswith(_DIRECTIVE_PREFIXES):
            yield from read_cdx_line(text, legend, at)
        at += len(line)


def _skip_rest_of_line(file: BinaryIO) -> int:
    """Skip the rest of a line; return its length."""
    length = 0
    while piece := file.readline(_MAX_LINE):
        length += len(piece)
        if piece.endswith(b"\n"):
            break
    return length


def read_cdx_line(line: str, legend: tuple[str, ...], at: int) -> Iterator[CdxLine | Damage]:
    """Yield the capture of one line, nothing for a POST request, or a damage."""
    try:
        fields = _fields(line, legend)
        # pywb appends the body of a POST to the key. Such a capture does not answer a GET.
        if _POST_MARK not in fields.get("urlkey", ""):
            yield CdxLine(_file_name(fields), _capture(fields), at)
    except UnreadableItem as error:
        yield Damage(at, f"not a CDX line: {error}")


def _fields(line: str, legend: tuple[str, ...]) -> Mapping[str, str]:
    key, _, rest = line.partition(" ")
    stamp, _, members = rest.partition(" ")
    if members.startswith("{"):
        fields = text_fields(json_value(members))
        return {**fields, "urlkey": key, "timestamp": stamp}
    values = plain(line).split(" ")
    letters = legend or _DEFAULT_LETTERS.get(len(values), ())
    if len(values) not in (len(letters), len(letters) + len(_PYWB_EXTRA_FIELDS)) or not letters:
        raise UnreadableItem(f"{len(values)} fields")
    return {
        _LETTERS[letter]: value
        for letter, value in zip(letters, values, strict=False)
        if letter in _LETTERS and value != "-"
    }


def _file_name(fields: Mapping[str, str]) -> str:
    name = fields.get("filename", "").rpartition("/")[2]
    if not name:
        raise UnreadableItem("no file name")
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
        _present(mime),
        status_code(fields.get("status", "")),
        _present(fields.get("digest", "").removeprefix("sha1:")),
        _number(fields.get("offset", "")),
        _number(_present(fields.get("length")) or "0"),
    )


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise UnreadableItem(f"invalid offset or length: {text[:20]!r}")
    return int(text)


def _present(text: str | None) -> str | None:
    return text if text and text != "-" else None


_MAX_CAPTURES: Final = 1_000_000
"""Captures of one URL in an answer."""
_BATCH: Final = 1000
_NO_CAPTURES: Final = "no captures found"


Rank = Callable[[IndexRow], tuple[object, ...]]


class CdxServerIndex:
    """A collection whose index is a CDX server. Each query raises ArchiveError."""

    def __init__(self, id: str, endpoint: str, root: str, fetch: Fetcher) -> None:  # noqa: A002
        """Query *endpoint* for captures of files below *root*, a folder or a URL."""
        self.id = id
        self._endpoint = endpoint
        self._root = root.rstrip("/")
        self._fetch = fetch

    async def nearest(self, url: str, at: Moment | None) -> IndexRow | None:
        """Return the capture nearest to *at* (None: the newest); None if there is none."""
        return (await self._search(url, at)).best

    async def nearest_with_neighbours(self, url: str, at: Moment | None) -> Sequence[IndexRow]:
        """Return the nearest capture, then the first, its two neighbours, and the last."""
        search = await self._search(url, at)
        rows = (search.best, search.first, search.before, search.after, search.last)
        return [row for row in rows if row is not None]

    async def at(self, url: str, stamp: str) -> IndexRow | None:
        """Return the capture at exactly *stamp*, preferring the exact URL to its variants."""
        rows = await self._matching(url, lambda row: row.stamp == stamp)
        return best_row(rows, url.partition("#")[0])

    async def original_of(
        self, url: str, digest: str | None, refers_to: tuple[str, str] | None
    ) -> IndexRow | None:
        """Return the original of a revisit."""
        if refers_to is not None:
            target, date = refers_to
            for digits in referred_times(date):
                original = await self._payload(target, digits, digest)
                if original is not None:
                    return original
        return None if digest is None else await self._payload(url, "", digest)

    async def captures_of(
        self,
        url: str,
        wanted: WantedCaptures | None = None,  # noqa: ARG002 -- it may yield more
    ) -> AsyncGenerator[Sequence[IndexRow], None]:
        """Yield every capture in batches, oldest first."""
        batch: list[IndexRow] = []
        async with aclosing(self._rows(url.partition("#")[0])) as rows:
            async for row in rows:
                batch.append(row)
                if len(batch) == _BATCH:
                    yield batch
                    batch = []
                    # A batch takes some 20 ms, during which the loop was blocked.
                    await asyncio.sleep(0)
        if batch:
            yield batch

    async def captures_between(
        self, lower: str, upper: str, after: Key | None = None
    ) -> AsyncGenerator[Sequence[IndexRow], None]:
        """Raise Unreachable: ranges are left to the CDX server itself."""
        del upper, after
        raise Unreachable(self.id, lower, "lists one URL at a time: query its CDX server")
        yield  # pragma: no cover - makes this a generator

    async def _payload(self, url: str, second: str, digest: str | None) -> IndexRow | None:
        rows = await self._matching(
            url,
            lambda row: (
                row.mime != REVISIT
                and row.stamp.startswith(second)
                and digest in (None, row.digest)
            ),
        )
        return best_row(rows, url)

    async def _matching(
        self, url: str, is_wanted: Callable[[IndexRow], bool]
    ) -> list[IndexRow]:
        """Return the first rows that match, up to the size of a batch."""
        matching: list[IndexRow] = []
        async with aclosing(self.captures_of(url)) as batches:
            async for rows in batches:
                matching += [row for row in rows if is_wanted(row)][: _BATCH - len(matching)]
        return matching

    async def _search(self, url: str, at: Moment | None) -> "_NearestSearch":
        page = url.partition("#")[0]
        rank = _newest_rank(page) if at is None else distance_from(page, at)
        search = _NearestSearch(rank, newest=at is None)
        async with aclosing(self.captures_of(url)) as batches:
            async for rows in batches:
                for row in rows:
                    search.take(row)
        return search

    async def _rows(self, url: str) -> AsyncGenerator[IndexRow, None]:
        """Yield the rows with the SURT of *url*: pywb may add others that it finds similar."""
        endpoint_url = f"{self._endpoint}?url={quote(url, safe='')}"
        key, before = surt(url), ""
        request = Request(
            "GET", endpoint_url, "index", {"Accept": "text/x-cdxj, text/plain, */*"}
        )
        async with self._fetch(request) as reply:
            if reply.status != 200:
                await self._check_absence(endpoint_url, reply)
                return
            number = 0
            async with aclosing(self._lines(endpoint_url, reply)) as lines:
                async for line in lines:
                    for row in self._read(endpoint_url, line):
                        number += 1
                        if row.stamp < before or number > _MAX_CAPTURES:
                            why = "its index is not in order of time, or too long"
                            raise Misbehaved(self.id, endpoint_url, why)
                        before = row.stamp
                        if row.surt == key:
                            yield row

    async def _check_absence(self, endpoint_url: str, reply: Reply) -> None:
        """Raise Misbehaved unless the answer clearly says that there are no captures.

        pywb answers 404 with ``{"message": "No Captures found for: ..."}``. OutbackCDX answers
        404 also if the collection does not exist, which says nothing about the URL.
        """
        body = b""
        async for chunk in reply.chunks():
            body = (body + chunk)[:_MAX_LINE]
        if reply.status == 404 and _says_no_captures(body):
            return
        raise Misbehaved(self.id, endpoint_url, f"its index answers {reply.status}")

    async def _lines(self, endpoint_url: str, reply: Reply) -> AsyncGenerator[str, None]:
        rest = b""
        async for chunk in reply.chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line.decode("latin-1").rstrip("\r")
            if len(rest) > _MAX_LINE:
                raise Misbehaved(self.id, endpoint_url, "its index has too long a line")
        if rest:
            yield rest.decode("latin-1")

    def _read(self, endpoint_url: str, line: str) -> Iterator[IndexRow]:
        if not line.strip():
            return
        for item in read_cdx_line(line, (), 0):
            if not isinstance(item, CdxLine):
                raise Misbehaved(
                    self.id, endpoint_url, f"an invalid line in its index: {item.why}"
                )
            c = item.capture
            content = (c.stamp, c.url, c.mime, c.status, c.digest)
            position = (c.offset, c.length, c.surt, f"{self._root}/{item.name}", item.name)
            yield IndexRow(*content, *position)


class _NearestSearch:
    """Finds the best row and its neighbours while rows arrive in order of time."""

    def __init__(self, rank: Rank, *, newest: bool) -> None:
        """Search the row with the greatest rank if *newest*, or else with the least."""
        self._rank = rank
        self._newest = newest
        self._best_rank: tuple[object, ...] = ()
        self._before_last: IndexRow | None = None
        self.best: IndexRow | None = None
        self.first: IndexRow | None = None
        self.before: IndexRow | None = None
        self.after: IndexRow | None = None
        self.last: IndexRow | None = None

    def take(self, row: IndexRow) -> None:
        """Consider the next row."""
        if self.last is not None and self.last.stamp < row.stamp:
            self._before_last = self.last
        rank = self._rank(row)
        better = rank > self._best_rank if self._newest else rank < self._best_rank
        if self.best is None or better:
            self.best, self._best_rank = row, rank
            self.before, self.after = self._before_last, None
        elif self.after is None and row.stamp > self.best.stamp:
            self.after = row
        self.first = self.first or row
        self.last = row


def _newest_rank(url: str) -> Rank:
    """Return a rank that is greatest for the newest row, then the exact URL, then a page."""
    return lambda row: (row.stamp, row.url == url, is_page(row))


def _says_no_captures(body: bytes) -> bool:
    try:
        fields = text_fields(json_value(body.decode("latin-1")))
    except UnreadableItem:
        return False
    return any(value.lower().startswith(_NO_CAPTURES) for value in fields.values())
