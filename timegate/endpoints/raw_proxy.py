"""MemGator's raw proxy: ``/memento/proxy/{stamp}/{URL}`` gives the bytes as harvested.

An address that does not name the very copy is answered with a redirect to the one that does,
so what stands behind an address never changes (M-41). Archived bytes are as dangerous as on
the day they were written: they go out in a sandbox, with few headers of the archive (R-5, R-9).
"""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Final

from archives.diagnostics import Diagnosis, Malformed
from archives.errors import ArchiveError, Misbehaved
from archives.formats.httpdate import http_date, stamp_from_http_date
from archives.formats.linkformat import resolved
from archives.model import Memento
from archives.moment import Moment
from archives.registry import Registry
from archives.replay_links import read_link
from archives.source import Fetcher, Reply, Request
from archives.uri import check_text
from timegate.identifiers.url import read_url
from timegate.resolution.coalescing import Containment
from timegate.resolution.model import Attempt, Query, Resolution
from timegate.resolution.query import query_for_url
from timegate.responses.answers import Answers
from timegate.responses.archived_headers import (
    LONGEST_VALUE,
    MOST_ARCHIVED,
    SANDBOX,
    SINGLE_RANGE,
    is_clean,
    typed,
)
from timegate.responses.model import (
    ClientRequest,
    EarlyResponse,
    Response,
    StreamingResponse,
    identifier_in,
)
from timegate.responses.problems import nothing_found, problem, unreadable
from timegate.responses.report import links
from timegate.verdict import header_safe, raw_address

VARY: Final = "prefer"
MOST: Final = 1024**3
_PATH: Final = "memento/proxy"
_STAMP: Final = re.compile(r"[0-9]{4,14}")
_MOVED: Final = (301, 302, 303, 307, 308)
_RELAYED: Final = {"content-range": "Content-Range", "accept-ranges": "Accept-Ranges"}
_ARCHIVED: Final = re.compile(r"x-archive-orig-[a-z0-9-]{1,60}")
_EXACT: Final = "match=exact"


@dataclass(frozen=True, slots=True)
class _Found:
    """A copy whose bytes are asked for, and what is known of it."""

    resolution: Resolution
    memento: Memento
    headers: Mapping[str, str]
    """Those that a redirect to it would have."""


class Proxy:
    """Answers requests for the bytes of copies."""

    def __init__(
        self,
        answers: Answers,
        registry: Registry,
        fetchers: Mapping[str, Fetcher],
        most: int = MOST,
        containment: Containment | None = None,
    ) -> None:
        self._answers = answers
        self._registry = registry
        self._fetchers = fetchers
        self._most = most
        self._containment = containment or Containment()

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the bytes, or redirect to the address that names a copy."""
        stamp, query = _asked(request.rest)
        preferences, applied = request.preferences
        resolution = await self._answers.resolve(query, preferences, request.context)
        answer = self._answers.redirect(resolution, applied, vary=VARY)
        best, memento = resolution.best, resolution.memento
        if answer.status != 302 or best is None or memento is None:
            return answer
        if (memento.stamp[:14], best.original) != (stamp, query.original):
            address = self._address(memento.stamp, best.original)
            return replace(answer, headers={**answer.headers, "Location": address})
        try:
            with self._containment.around(memento.archive, memento.uri):
                return await self._relayed(request, _Found(resolution, memento, answer.headers))
        except ArchiveError as error:
            return self._failed(resolution, error)

    def _address(self, stamp: str, original: str) -> str:
        base = self._answers.base_url.rstrip("/")
        return f"{base}/{_PATH}/{stamp[:14]}/{header_safe(original)}"

    async def _relayed(
        self, request: ClientRequest, found: _Found
    ) -> Response | StreamingResponse:
        if found.resolution.preferences.only_if_cached:
            return problem(504, "not-cached", "bytes are not kept: ask without only-if-cached")
        archive = found.memento.archive
        entry = self._registry.by_id(archive)
        url = raw_address(found.memento, entry) or found.memento.uri
        wanted = _range(request)
        upstream = Request(
            "HEAD" if request.method == "HEAD" else "GET", url, "memento", wanted
        )
        async with AsyncExitStack() as exchange:
            reply = await exchange.enter_async_context(self._fetchers[archive](upstream))
            if reply.status == 416 and wanted:
                return Response(416, {**SANDBOX, **_copied(reply, _RELAYED)})
            _check(reply, found.memento, asked_for_part=bool(wanted))
            headers = self._headers(found, reply)
            pieces = _pieces(exchange.pop_all(), reply, archive, self._most)
            # Begun, so that closing it ends the exchange; and what is wrong with the body from
            # its beginning is an error, not half an answer.
            await anext(pieces)
            return StreamingResponse(reply.status, headers, pieces)

    def _headers(self, found: _Found, reply: Reply) -> dict[str, str]:
        kept = ("Memento-Precision", "Vary", "Preference-Applied")
        exact = found.headers["Memento-Precision"].startswith(_EXACT)
        named = replace(found.resolution.query, original=found.memento.original)
        return {
            **_archived(reply),
            **{name: found.headers[name] for name in kept if name in found.headers},
            # M-30: a mirror keeps the time and the original; Last-Modified would be its own.
            "Memento-Datetime": http_date(found.memento.stamp),
            "Link": links(
                replace(found.resolution, query=named), self._answers.base_url, self._registry
            ),
            "Content-Location": header_safe(reply.url),
            "Cache-Control": "max-age=86400, no-transform" if exact else "no-cache",
            **typed(reply.headers.get("content-type", "")),
            **_sized(reply),
            **_copied(reply, _RELAYED),
            **self._moved(found.memento.archive, reply),
            **SANDBOX,
        }

    def _moved(self, archive: str, reply: Reply) -> dict[str, str]:
        """Keep a redirect among copies of *archive* with us; others are told, not followed."""
        location = reply.headers.get("location")
        if location is None or reply.status not in _MOVED:
            return {}
        told = {"X-Archive-Orig-Location": header_safe(location[:LONGEST_VALUE])}
        try:
            link = read_link(
                resolved(location.strip(), reply.url) or "", self._registry, Diagnosis()
            )
        except Malformed:
            return told
        if link.kind != "memento" or link.archive != archive or not (link.time and link.uri):
            return told
        return {"Location": self._address(link.time.digits, link.uri)}

    def _failed(self, resolution: Resolution, error: ArchiveError) -> Response:
        """Say that the copy exists and could not be had."""
        original = resolution.query.original
        attempt = Attempt(error.archive, error, 0.0, original)
        lost = replace(resolution, best=None, attempts=(attempt,), unanswered=())
        headers = {"Vary": VARY, "Link": self._answers.links(resolution.query)}
        return nothing_found(lost, None, headers)


def _asked(rest: str) -> tuple[str, Query]:
    stamp, _, text = rest.partition("/")
    if not _STAMP.fullmatch(stamp) or not text:
        detail = "write /memento/proxy/20160122112029/http://www.dr.dk: 4 to 14 digits, the URL"
        raise EarlyResponse(problem(400, "bad-parameter", detail))
    text = identifier_in(text)
    try:
        check_text(text)
        reading = read_url(text, Diagnosis())
        query = query_for_url(
            reading.identifier.item or text, Moment(stamp), reading.diagnostics
        )
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, text)) from complaint
    # The bytes of one file are what a PWID calls a part (V-1).
    return stamp, replace(query, precision="part")


def _range(request: ClientRequest) -> dict[str, str]:
    """Return what to ask the archive for a part of a file; empty for all of it.

    A range counts octets of the file, hence no coding. No validator of ours could ever match
    an If-Range (RFC 9110 13.1.5).
    """
    wanted = (request.header("Range") or "").replace(" ", "")
    if (
        request.method == "HEAD"
        or request.header("If-Range") is not None
        or not SINGLE_RANGE.fullmatch(wanted)
    ):
        return {}
    return {"Range": wanted, "Accept-Encoding": "identity"}


def _check(reply: Reply, memento: Memento, *, asked_for_part: bool) -> None:
    """Refuse what is not the copy: an error of the archive, a bot gate, another capture."""
    status = reply.status
    known = reply.headers.get("memento-datetime")
    if (status == 206 and not asked_for_part) or status in (304, 416) or status > 599:
        why = f"answers {status}, which was not asked for"
    elif known is not None:
        why = _another_capture(known, memento)
    elif status not in (200, 206):
        why = f"answers {status} where the bytes of a copy should be"
    elif "html" in reply.headers.get("content-type", "html").lower():
        # A gate or a message looks like this; the bytes of a copy come with their time.
        why = "sends a page that does not say when it was captured"
    else:
        why = ""
    if not why and status == 206 and _coded(reply):
        why = "sends a part of something that it has encoded"
    if why:
        raise Misbehaved(memento.archive, reply.url, why)


def _another_capture(known: str, memento: Memento) -> str:
    try:
        stamp = stamp_from_http_date(known)
    except Malformed:
        return "sends a Memento-Datetime that is none"
    promised = stamp_from_http_date(http_date(memento.stamp))
    return "" if stamp == promised else f"sends the copy of {Moment(stamp)} in its place"


async def _pieces(
    exchange: AsyncExitStack, reply: Reply, archive: str, most: int
) -> AsyncGenerator[bytes, None]:
    """Yield nothing once, then the body; raise where it is not whole (R-21)."""
    async with exchange:
        body = reply.chunks()
        piece = await anext(body, None)
        yield b""
        sent = 0
        while piece is not None:
            sent += len(piece)
            if sent > most:
                raise Misbehaved(archive, reply.url, f"the copy is larger than {most:,} bytes")
            yield piece
            piece = await anext(body, None)


def _coded(reply: Reply) -> bool:
    return reply.headers.get("content-encoding", "identity").strip().lower() != "identity"


def _sized(reply: Reply) -> dict[str, str]:
    """Return the length, unless a coding was taken off."""
    stated = reply.headers.get("content-length", "")
    if _coded(reply) or not (stated.isascii() and stated.isdecimal()):
        return {}
    return {"Content-Length": stated}


def _copied(reply: Reply, names: Mapping[str, str]) -> dict[str, str]:
    values = ((written, reply.headers.get(name)) for name, written in names.items())
    return {name: value for name, value in values if value is not None and is_clean(value)}


def _archived(reply: Reply) -> dict[str, str]:
    """Return headers of the archived answer that the archive has put aside, and no cookies."""
    aside = [
        name
        for name, value in reply.headers.items()
        if _ARCHIVED.fullmatch(name) and "cookie" not in name and is_clean(value)
    ]
    return {name.title(): reply.headers[name] for name in aside[:MOST_ARCHIVED]}
