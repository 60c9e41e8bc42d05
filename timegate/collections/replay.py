"""Raw replay of a local collection: the archived answer itself, status, headers and bytes.

``{stamp}id_/{URL}`` gives it to programs; ``{stamp}/{URL}`` gives the same bytes to people, and
shows HTML in a sandbox. An address that does not name the very capture leads to the one that
does (M-41), so what stands behind an address never changes.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from multidict import CIMultiDict

from archives.diagnostics import Diagnosis, Malformed
from archives.errors import ArchiveError, Misbehaved
from archives.formats.httpdate import http_date
from archives.model import Closest
from archives.moment import Moment
from archives.source import Request
from archives.uri import check_text
from archives.warc.replay import ArchivedResponse, Replayer, UnreadableRecord
from archives.warc_index.model import IndexRow
from timegate.collections.access import CollectionAccess, address, memento_of
from timegate.identifiers.url import read_url
from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.resolution.query import NotNegotiable, query_for_url
from timegate.responses.answers import Answers
from timegate.responses.archived_headers import SANDBOX, described, set_aside, shown, target
from timegate.responses.links import LONGEST_LINKS
from timegate.responses.model import (
    ClientRequest,
    EarlyResponse,
    Handler,
    Response,
    StreamingResponse,
    identifier_in,
)
from timegate.responses.problems import not_negotiable, nothing_found, problem, unreadable
from timegate.responses.ranges import Unsatisfiable, is_known, wanted_part
from timegate.upstream.content_coding import BadCoding, ContentDecoder
from timegate.verdict import header_safe

RAW: Final = "id_"
STAMPED: Final = re.compile(r"([0-9]{4,23})([a-z]{2}_)?/(?=.)")
_VARY: Final = "prefer"
# A record never changes, and codings are part of what was archived.
_FOR_EVER: Final = "max-age=86400, no-transform"
_KEEP: Final = 60.0
"""Seconds for which a small record that was just read and checked is given again."""
_OK: Final = 200
_FINAL: Final = range(200, 600)


class ReplayPath(NamedTuple):
    """What stands in the path."""

    stamp: str
    view: str
    """``id_`` for the bytes alone; other modifiers of Wayback Machines mean a page."""
    text: str
    query: Query


class CollectionReplay:
    """Answers requests for captures of one collection."""

    def __init__(
        self,
        shelf: CollectionAccess,
        replayer: Replayer,
        answers: Answers,
        base_url: str,
    ) -> None:
        self._shelf = shelf
        self._replayer = replayer
        self._answers = answers
        self._base_url = base_url

    async def __call__(self, call: ClientRequest) -> Response | StreamingResponse:
        """Send the capture, or lead to the closest."""
        asked = _asked(call.rest)
        original = asked.query.original
        try:
            row = await self._shelf.at(original, asked.stamp)
            if row is not None and header_safe(row.url) in (asked.text, header_safe(original)):
                return await self._sent(call, asked, row)
            near = row or await self._shelf.nearest(original, asked.query.at)
        except UnreadableRecord as error:
            return self._damaged(error)
        except ArchiveError as error:
            return self._nothing(asked, error)
        return self._nothing(asked, None) if near is None else self._led(asked, near)

    def _led(self, asked: ReplayPath, row: IndexRow) -> Response:
        """Redirect to the capture that there is, and say how it differs."""
        found = Closest(memento_of(row, self._shelf.id, self._base_url), "cdx")
        attempt = Attempt(self._shelf.id, found, 0.0, asked.query.original)
        resolution = Resolution(asked.query, Preferences(), attempt, (), (attempt,))
        answer = self._answers.redirect(resolution, vary=_VARY)
        headers = {**answer.headers, "Location": self._address(row.stamp, row.url, asked.view)}
        return replace(answer, headers=headers)

    def _nothing(self, asked: ReplayPath, trouble: ArchiveError | None) -> Response:
        attempt = Attempt(self._shelf.id, trouble, 0.0, asked.query.original)
        resolution = Resolution(asked.query, Preferences(), None, (), (attempt,))
        links = self._answers.links(asked.query)
        return nothing_found(resolution, None, {"Vary": _VARY, "Link": links})

    def _damaged(self, error: UnreadableRecord) -> Response:
        return problem(
            502, "damaged-record", error.reason, file=error.name, offset=error.offset
        )

    async def _sent(
        self, call: ClientRequest, asked: ReplayPath, row: IndexRow
    ) -> Response | StreamingResponse:
        etag = _etag(row)
        if row.status in (None, _OK) and is_known(call, etag):
            return Response(304, {**self._about(asked, row), **_tagged(etag)})
        archived = await self._replayer.open(row, body=call.method != "HEAD")
        headers = self._headers(asked, row, archived)
        status = archived.head.status or _OK
        if status not in _FINAL:
            # 1xx cannot be the last answer (RFC 9110 15.2), nor does anybody know 999.
            headers["X-Archive-Orig-Status"] = str(status)
            status = _OK
        if status == _OK:
            return await _part(call, archived, {**headers, **_tagged(etag)}, etag)
        return await _all(call, status, archived, headers)

    def _headers(
        self, asked: ReplayPath, row: IndexRow, archived: ArchivedResponse
    ) -> dict[str, str]:
        status, fields = archived.head.status or _OK, archived.head.headers
        about = described(status, fields)
        headers = {
            **set_aside(fields),
            **(about if asked.view == RAW else shown(about)),
            **self._about(asked, row),
        }
        led = target(status, fields, row.url)
        if led is not None:
            headers["Location"] = self._address(row.stamp, led, asked.view)
        return headers

    def _about(self, asked: ReplayPath, row: IndexRow) -> dict[str, str]:
        """Return what is true of the capture, whatever it is."""
        return {
            "Memento-Datetime": http_date(row.stamp),
            "Link": self._links(asked, row),
            "Cache-Control": _FOR_EVER,
        }

    def _links(self, asked: ReplayPath, row: IndexRow) -> str:
        original = header_safe(row.url)
        ours = f"{self._base_url.rstrip('/')}/collections/{self._shelf.id}"
        itself = f"{ours}/{row.stamp}{asked.view}/{original}"
        links = (
            f'<{original}>; rel="original", '
            f'<{itself}>; rel="memento"; datetime="{http_date(row.stamp)}", '
            f'<{ours}/timegate/{original}>; rel="timegate", '
            f'<{ours}/timemap/link/{original}>; rel="timemap"; type="application/link-format"'
        )
        return links if len(links) <= LONGEST_LINKS else f'<{original}>; rel="original"'

    def _address(self, stamp: str, url: str, view: str) -> str:
        return address(self._base_url, self._shelf.id, stamp, url, view)


async def _part(
    call: ClientRequest, archived: ArchivedResponse, headers: dict[str, str], etag: str | None
) -> Response | StreamingResponse:
    """Answer with the range that is asked for, or with all."""
    size = archived.size
    if size is None:
        return await _all(call, _OK, archived, headers)
    headers["Accept-Ranges"] = "bytes"
    try:
        part = wanted_part(call, size, etag)
    except Unsatisfiable:
        await archived.close()
        return Response(416, {**SANDBOX, "Content-Range": f"bytes */{size}"})
    if part is None:
        return await _all(call, _OK, archived, headers)
    headers["Content-Range"] = part.of(size)
    if archived.whole is not None:
        return Response(206, headers, archived.whole[part.start : part.end])
    headers["Content-Length"] = str(part.end - part.start)
    return StreamingResponse(206, headers, await _begun(archived.chunks(part.start, part.end)))


async def _all(
    call: ClientRequest, status: int, archived: ArchivedResponse, headers: dict[str, str]
) -> Response | StreamingResponse:
    if archived.whole is not None and call.method != "HEAD":
        return Response(status, headers, archived.whole, _KEEP)
    if archived.size is not None:
        headers["Content-Length"] = str(archived.size)
    return StreamingResponse(status, headers, await _begun(archived.chunks()))


async def _begun(chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Return the body with its first piece read: closing it lets go of the file.

    And what is wrong from the beginning is an error, not half an answer.
    """
    whole = _continued(chunks)
    await anext(whole)
    return whole


async def _continued(chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    try:
        piece = await anext(chunks, None)
        yield b""
        while piece is not None:
            yield piece
            piece = await anext(chunks, None)
    finally:
        await chunks.aclose()


def _asked(rest: str) -> ReplayPath:
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
        query = query_for_url(reading.identifier.item or text, at, reading.diagnostics)
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, rest)) from complaint
    except NotNegotiable as error:
        raise EarlyResponse(not_negotiable(error)) from error
    if view == RAW:
        # The bytes of one file are what a PWID calls a part (V-1).
        query = replace(query, precision="part")
    return ReplayPath(stamp, view, header_safe(text), query)


def _etag(row: IndexRow) -> str | None:
    """Return the digest of the payload as a validator, where it is known."""
    digest = (row.digest or "").replace(":", "-")
    return f'"{digest}"' if digest and header_safe(digest) == digest else None


def _tagged(etag: str | None) -> dict[str, str]:
    return {} if etag is None else {"ETag": etag}


_MOST: Final = 1024**3
_DATED: Final = "memento-datetime"


@dataclass(frozen=True, slots=True)
class LocalReply:
    """A `Reply` out of our own files."""

    archive: str
    url: str
    status: int
    headers: Mapping[str, str]
    body: AsyncGenerator[bytes, None]

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body, content coding removed; see `Reply`."""
        try:
            decoder = ContentDecoder(self.headers.get("content-encoding", ""), _MOST)
            async for data in self.body:
                for piece in decoder.decode(data) if data else ():
                    yield piece
                    await asyncio.sleep(0)
            decoder.finish()
        except BadCoding as error:
            raise Misbehaved(self.archive, self.url, f"body {error}") from error


class LocalFetcher:
    """Answers requests for captures of the collection *archive*."""

    def __init__(self, archive: str, collections: Handler, base_url: str) -> None:
        self._archive = archive
        self._collections = collections
        self._all = f"{base_url.rstrip('/')}/collections/"

    @asynccontextmanager
    async def __call__(self, request: Request) -> AsyncGenerator[LocalReply]:
        """Hand out the reply; leaving the block lets go of the file."""
        answer = await self._answer(request, request.url)
        if answer.status == 302 and not _is_dated(answer):
            # Fourteen digits of a capture that has more; whoever asked compares the time.
            answer = await self._answer(request, answer.headers["Location"])
        if answer.status >= 500 and not _is_dated(answer):
            raise Misbehaved(self._archive, request.url, _why(answer))
        headers = {name.lower(): value for name, value in answer.headers.items()}
        if isinstance(answer, Response):
            headers["content-length"] = str(len(answer.body))
        async with aclosing(_body(answer, request.method)) as body:
            yield LocalReply(self._archive, request.url, answer.status, headers, body)

    async def _answer(self, request: Request, url: str) -> Response | StreamingResponse:
        if not url.startswith(f"{self._all}{self._archive}/"):
            raise Misbehaved(self._archive, url, "is not an address of this collection")
        rest = url.removeprefix(self._all)
        call = ClientRequest(request.method, rest, CIMultiDict(request.headers))
        answer = await self._called(call)
        if answer.status == 206 and "Content-Encoding" in answer.headers:
            # Part of what is coded cannot be decoded: all of it, as any server may do.
            await _body(answer, request.method).aclose()
            answer = await self._called(ClientRequest(request.method, rest, CIMultiDict[str]()))
        return answer

    async def _called(self, call: ClientRequest) -> Response | StreamingResponse:
        try:
            return await self._collections(call)
        except EarlyResponse as declined:
            return declined.response


def _is_dated(answer: Response | StreamingResponse) -> bool:
    return any(name.lower() == _DATED for name in answer.headers)


def _body(answer: Response | StreamingResponse, method: str) -> AsyncGenerator[bytes, None]:
    """Return the body; that of a stream itself, whose closing lets go of the file."""
    if isinstance(answer, StreamingResponse):
        return answer.chunks
    return _single(b"" if method == "HEAD" else answer.body)


async def _single(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body


def _why(answer: Response | StreamingResponse) -> str:
    if isinstance(answer, StreamingResponse):
        return f"answers {answer.status}"
    told = json.loads(answer.body)
    return f"{told['detail']} ({told.get('file', 'no file')} at {told.get('offset', 0)})"
