"""Replay of a local collection: archived responses with their status, headers and bytes.

``{stamp}id_/{URL}`` is for programs. ``{stamp}/{URL}`` has the same bytes for people, with HTML
shown in a sandbox. A URL that does not name an exact capture redirects to one that does (M-41),
so the content of a replay URL never changes.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Final, NamedTuple

from multidict import CIMultiDict

from archives.diagnostics import Diagnosis, Diagnostic, Malformed
from archives.errors import ArchiveError, Misbehaved
from archives.formats.httpdate import http_date
from archives.model import Closest
from archives.moment import Moment
from archives.source import Request, WantedCaptures
from archives.surt import surt
from archives.uri import check_text, without_user
from archives.warc.replay import ArchivedResponse, Replayer, UnreadableRecord
from archives.warc_index.model import IndexRow
from timegate.collections import CONTAINMENT, CollectionAccess, address, memento_of
from timegate.identifiers.url import read_url
from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.resolution.query import NotNegotiable, query_for_url
from timegate.responses.answers import Answers
from timegate.responses.archived_headers import (
    REDIRECTS,
    SANDBOX,
    Unsatisfiable,
    content_headers,
    has_etag,
    page_headers,
    prefixed_headers,
    redirect_target,
    requested_range,
)
from timegate.responses.model import (
    ClientRequest,
    EarlyResponse,
    Handler,
    Response,
    StreamingResponse,
    identifier_in,
)
from timegate.responses.problems import not_negotiable, nothing_found, problem, unreadable
from timegate.responses.report import LONGEST_LINKS
from timegate.text.header_values import etag_of
from timegate.upstream.content_coding import BadCoding, ContentDecoder
from timegate.verdict import header_safe

RAW: Final = "id_"
STAMPED: Final = re.compile(r"([0-9]{4,23})([a-z]{2}_)?/(?=.)")
_VARY: Final = "prefer"
# A record never changes, and its content coding is part of what was archived.
_CACHE_CONTROL: Final = "max-age=86400, no-transform"
_CACHE_SECONDS: Final = 60.0
"""Seconds for which the response cache keeps a small record that was read and checked."""
_MOST_ASKED: Final = 4096
"""Requests that are remembered, to recognise those that are repeated: 100 bytes each."""
_OK: Final = 200
_MOST_OTHERS: Final = 100
"""Captures among which the target of a redirect to the same key is looked for."""
_FINAL: Final = range(200, 600)
_rank: Final = itemgetter(0, 1)


class ReplayPath(NamedTuple):
    """A parsed replay path."""

    stamp: str
    view: str
    """``id_`` for the raw bytes; other modifiers of Wayback Machines mean a page."""
    text: str
    url: str
    at: Moment
    diagnostics: Sequence[Diagnostic]

    def query(self) -> Query:
        """Return the query for another capture. Raises EarlyResponse if there is none."""
        # PWID calls the bytes of a single file a part (V-1).
        precision = "part" if self.view == RAW else None
        try:
            return query_for_url(self.url, self.at, self.diagnostics, precision=precision)
        except NotNegotiable as error:
            raise EarlyResponse(not_negotiable(error)) from error


class CollectionReplay:
    """Answers requests for captures of one collection."""

    def __init__(
        self,
        collection: CollectionAccess,
        replayer: Replayer,
        answers: Answers,
        base_url: str,
    ) -> None:
        self._collection = collection
        self._replayer = replayer
        self._answers = answers
        self._base_url = base_url
        self._asked = set[int]()
        """Hashes of the last requests for small records."""

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the capture, or redirect to the nearest."""
        path = _replay_path(request.rest)
        original = without_user(path.url)
        try:
            with CONTAINMENT.around(self._collection.id, original):
                row = await self._collection.at(original, path.stamp)
            # A bare question mark asks for the same capture.
            texts = (path.text, path.text.removesuffix("?"), header_safe(original))
            if row is not None and header_safe(row.url) in texts:
                return await self._send(request, path, row)
            with CONTAINMENT.around(self._collection.id, original):
                nearest = row or await self._collection.nearest(original, path.at)
        except UnreadableRecord as error:
            return self._damaged_record(error)
        except ArchiveError as error:
            return self._not_found(path, error)
        return self._not_found(path, None) if nearest is None else self._redirect(path, nearest)

    def _redirect(self, path: ReplayPath, row: IndexRow) -> Response:
        """Redirect to the capture of *row*, with a verdict about the difference."""
        query = path.query()
        found = Closest(memento_of(row, self._collection.id, self._base_url), "cdx")
        attempt = Attempt(self._collection.id, found, 0.0, query.original)
        resolution = Resolution(query, Preferences(), attempt, (), (attempt,))
        response = self._answers.redirect(resolution, vary=_VARY)
        headers = {**response.headers, "Location": self._address(row.stamp, row.url, path.view)}
        return replace(response, headers=headers)

    def _not_found(self, path: ReplayPath, trouble: ArchiveError | None) -> Response:
        query = path.query()
        attempt = Attempt(self._collection.id, trouble, 0.0, query.original)
        resolution = Resolution(query, Preferences(), None, (), (attempt,))
        links = self._answers.links(query)
        return nothing_found(resolution, None, {"Vary": _VARY, "Link": links})

    def _damaged_record(self, error: UnreadableRecord) -> Response:
        return problem(
            502, "damaged-record", error.reason, file=error.name, offset=error.offset
        )

    async def _send(
        self, request: ClientRequest, path: ReplayPath, row: IndexRow
    ) -> Response | StreamingResponse:
        etag = etag_of(row.digest)
        if row.status in (None, _OK) and has_etag(request, etag):
            return Response(304, {**self._memento_headers(path, row), **_etag_header(etag)})
        archived = await self._replayer.open(row, body=request.method != "HEAD")
        status = archived.head.status or _OK
        headers = self._headers(path, row, archived)
        target = redirect_target(status, archived.head.headers, row.url)
        if target is not None:
            headers |= await self._location(path, row, target, archived)
        if status not in _FINAL:
            # 1xx cannot be a final status (RFC 9110 15.2), and 999 is undefined.
            headers["X-Archive-Orig-Status"] = str(status)
            status = _OK
        if status == _OK:
            headers |= _etag_header(etag)
            response = await _ok_response(request, archived, headers, etag)
        else:
            response = await _full_response(request, status, archived, headers)
        if isinstance(response, Response) and response.status == status:  # not a part
            return self._kept_if_repeated(request.rest, response)
        return response

    def _kept_if_repeated(self, target: str, response: Response) -> Response:
        """Return *response*, to be kept by the response cache if *target* is repeated.

        Most records are read once: keeping each takes 3 % of the instructions of its request,
        and displaces what clients ask for again.
        """
        asked = hash(target)
        if asked in self._asked:
            return replace(response, keep=_CACHE_SECONDS)
        if len(self._asked) >= _MOST_ASKED:
            self._asked.clear()
        self._asked.add(asked)
        return response

    def _headers(
        self, path: ReplayPath, row: IndexRow, archived: ArchivedResponse
    ) -> dict[str, str]:
        status, fields = archived.head.status or _OK, archived.head.headers
        content = content_headers(status, fields)
        headers = {
            **prefixed_headers(fields),
            **(content if path.view == RAW else page_headers(content)),
            **self._memento_headers(path, row),
        }
        if archived.diagnosis is not None:
            headers["Timegate-Diagnosis"] = archived.diagnosis
        return headers

    async def _location(
        self, path: ReplayPath, row: IndexRow, target: str, archived: ArchivedResponse
    ) -> dict[str, str]:
        """Return the address of the capture to which the archived redirect *row* leads.

        To another spelling of its URL (https, www, a slash), it leads to the next capture that
        is no redirect: the index has one key for both, so this one would be found again.
        """
        if surt(target) != row.surt:
            return {"Location": self._address(row.stamp, target, path.view)}
        try:
            following = await self._other_capture(row, target)
        except ArchiveError:
            await archived.close()
            raise
        if following is None:
            return {}
        return {"Location": self._address(following.stamp, following.url, path.view)}

    async def _other_capture(self, row: IndexRow, target: str) -> IndexRow | None:
        """Return the capture that is nearest to *row* and no redirect, if there is one."""
        wanted = WantedCaptures(order="nearest", near=Moment(row.stamp), most=_MOST_OTHERS)
        best: tuple[int, bool, IndexRow] | None = None
        async with aclosing(self._collection.captures_of(row.url, wanted)) as batches:
            async for rows in batches:
                others = [one for one in rows if (one.status or _OK) not in REDIRECTS]
                ranks = wanted.ranks([one.stamp for one in others])
                found = zip(ranks, (one.url != target for one in others), others, strict=True)
                best = min([*([best] if best else []), *found], key=_rank, default=None)
        return None if best is None else best[2]

    def _memento_headers(self, path: ReplayPath, row: IndexRow) -> dict[str, str]:
        """Return the headers that every response for the capture has."""
        return {
            "Memento-Datetime": http_date(row.stamp),
            "Link": self._links(path, row),
            "Cache-Control": _CACHE_CONTROL,
        }

    def _links(self, path: ReplayPath, row: IndexRow) -> str:
        original = header_safe(row.url)
        base = f"{self._base_url.rstrip('/')}/collections/{self._collection.id}"
        memento = f"{base}/{row.stamp}{path.view}/{original}"
        links = (
            f'<{original}>; rel="original", '
            f'<{memento}>; rel="memento"; datetime="{http_date(row.stamp)}", '
            f'<{base}/timegate/{original}>; rel="timegate", '
            f'<{base}/timemap/link/{original}>; rel="timemap"; type="application/link-format"'
        )
        return links if len(links) <= LONGEST_LINKS else f'<{original}>; rel="original"'

    def _address(self, stamp: str, url: str, view: str) -> str:
        return address(self._base_url, self._collection.id, stamp, url, view)


async def _ok_response(
    request: ClientRequest,
    archived: ArchivedResponse,
    headers: dict[str, str],
    etag: str | None,
) -> Response | StreamingResponse:
    """Answer with the requested range, or with the whole body."""
    size = archived.size
    if size is None:
        return await _full_response(request, _OK, archived, headers)
    headers["Accept-Ranges"] = "bytes"
    try:
        part = requested_range(request, size, etag)
    except Unsatisfiable:
        await archived.close()
        return Response(416, {**SANDBOX, "Content-Range": f"bytes */{size}"})
    if part is None:
        return await _full_response(request, _OK, archived, headers)
    headers["Content-Range"] = part.of(size)
    if archived.whole is not None:
        return Response(206, headers, archived.whole[part.start : part.end])
    headers["Content-Length"] = str(part.end - part.start)
    return StreamingResponse(
        206, headers, await _started(archived.chunks(part.start, part.end))
    )


async def _full_response(
    request: ClientRequest, status: int, archived: ArchivedResponse, headers: dict[str, str]
) -> Response | StreamingResponse:
    if archived.whole is not None and request.method != "HEAD":
        return Response(status, headers, archived.whole)
    if archived.size is not None:
        headers["Content-Length"] = str(archived.size)
    return StreamingResponse(status, headers, await _started(archived.chunks()))


async def _started(chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Return the body with its first piece read, so that closing it closes the file.

    An error at the beginning is raised here, before the response has started.
    """
    whole = _from_first_chunk(chunks)
    await anext(whole)
    return whole


async def _from_first_chunk(chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    try:
        piece = await anext(chunks, None)
        yield b""
        while piece is not None:
            yield piece
            piece = await anext(chunks, None)
    finally:
        await chunks.aclose()


def _replay_path(rest: str) -> ReplayPath:
    found = STAMPED.match(rest)
    if found is None:
        detail = "write {stamp}/{URL} or {stamp}id_/{URL}, the stamp with 4 to 23 digits"
        raise EarlyResponse(problem(400, "bad-parameter", detail))
    stamp, view = found[1], found[2] or ""
    text = identifier_in(rest[found.end() :])
    try:
        at = Moment(stamp)
        check_text(text)
        reading = read_url(text, Diagnosis())
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, rest)) from complaint
    url = reading.identifier.item or text
    path = ReplayPath(stamp, view, header_safe(text), url, at, reading.diagnostics)
    if url.count("://") > 1:
        path.query()  # refuses a URL with too many others inside
    return path


def _etag_header(etag: str | None) -> dict[str, str]:
    return {} if etag is None else {"ETag": etag}


_MAX_BODY: Final = 1024**3
_MEMENTO_DATETIME: Final = "memento-datetime"


@dataclass(frozen=True, slots=True)
class LocalReply:
    """A `Reply` read from a local collection."""

    archive: str
    url: str
    status: int
    headers: Mapping[str, str]
    body: AsyncGenerator[bytes, None]

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body with content coding removed; see `Reply`."""
        try:
            decoder = ContentDecoder(self.headers.get("content-encoding", ""), _MAX_BODY)
            async for data in self.body:
                for piece in decoder.decode(data) if data else ():
                    yield piece
                    await asyncio.sleep(0)
            decoder.finish()
        except BadCoding as error:
            raise Misbehaved(self.archive, self.url, f"body {error}") from error


class LocalFetcher:
    """A `Fetcher` for captures of the local collection *archive*, without HTTP."""

    def __init__(self, archive: str, collections: Handler, base_url: str) -> None:
        self._archive = archive
        self._collections = collections
        self._prefix = f"{base_url.rstrip('/')}/collections/"

    @asynccontextmanager
    async def __call__(self, request: Request) -> AsyncGenerator[LocalReply]:
        """Yield the reply; leaving the block closes the file."""
        response = await self._response(request, request.url)
        if response.status == 302 and not _is_memento(response):
            response = await self._response(request, self._located(request, response))
        if response.status >= 500 and not _is_memento(response):
            raise Misbehaved(self._archive, request.url, _failure(response))
        headers = {name.lower(): value for name, value in response.headers.items()}
        if isinstance(response, Response):
            headers["content-length"] = str(len(response.body))
        async with aclosing(_body(response, request.method)) as body:
            yield LocalReply(self._archive, request.url, response.status, headers, body)

    def _located(self, request: Request, response: Response | StreamingResponse) -> str:
        """Return the address of the capture if it differs from the request in spelling only.

        The request may have fewer digits than the capture, never other digits.
        """
        location = response.headers["Location"]
        if not self._stamp(location).startswith(self._stamp(request.url)):
            why = "no longer holds the capture with this time"
            raise Misbehaved(self._archive, request.url, why)
        return location

    def _stamp(self, url: str) -> str:
        found = STAMPED.match(url.removeprefix(f"{self._prefix}{self._archive}/"))
        return "" if found is None else found[1]

    async def _response(self, request: Request, url: str) -> Response | StreamingResponse:
        if not url.startswith(f"{self._prefix}{self._archive}/"):
            raise Misbehaved(self._archive, url, "is not an address of this collection")
        rest = url.removeprefix(self._prefix)
        headers = CIMultiDict(request.headers)
        response = await self._handle(ClientRequest(request.method, rest, headers))
        if response.status == 206 and "Content-Encoding" in response.headers:
            # A part of a coded body cannot be decoded. Servers may ignore Range, so do that.
            await _body(response, request.method).aclose()
            response = await self._handle(
                ClientRequest(request.method, rest, CIMultiDict[str]())
            )
        return response

    async def _handle(self, request: ClientRequest) -> Response | StreamingResponse:
        try:
            return await self._collections(request)
        except EarlyResponse as early:
            return early.response


def _is_memento(response: Response | StreamingResponse) -> bool:
    return any(name.lower() == _MEMENTO_DATETIME for name in response.headers)


def _body(response: Response | StreamingResponse, method: str) -> AsyncGenerator[bytes, None]:
    """Return the body; closing that of a stream closes its file."""
    if isinstance(response, StreamingResponse):
        return response.chunks
    return _single(b"" if method == "HEAD" else response.body)


async def _single(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body


def _failure(response: Response | StreamingResponse) -> str:
    if isinstance(response, StreamingResponse):
        return f"answers {response.status}"
    document = json.loads(response.body)
    file, offset = document.get("file", "no file"), document.get("offset", 0)
    return f"{document['detail']} ({file} at {offset})"
