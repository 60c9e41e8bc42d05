"""Raw bytes as captured: ``/memento/proxy/{stamp}/{URL}`` and ``/web/{stamp}id_/{URL}``.

The first is MemGator's raw proxy, the second the address of the Wayback Machine. A stamp that
is not that of a memento is redirected to the closest one, so the content of an address never
changes (M-41). Archived bytes may be dangerous: they are sent in a sandbox, with few headers of
the archive (R-5, R-9).
"""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Final

from archives.diagnostics import Diagnosis, Malformed
from archives.errors import ArchiveError, Misbehaved
from archives.formats.httpdate import http_date
from archives.formats.linkformat import resolved
from archives.model import Memento
from archives.moment import Moment
from archives.registry import Registry
from archives.replay_links import read_link
from archives.source import Fetcher, Reply, Request
from archives.uri import check_text
from timegate.endpoints import PathDescription
from timegate.identifiers.url import read_url
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import BodySlots, placed
from timegate.resolution.model import Attempt, Query, Resolution
from timegate.resolution.query import query_for_url
from timegate.responses.answers import Answers
from timegate.responses.archived_headers import (
    LONGEST_VALUE,
    MOST_ARCHIVED,
    REDIRECTS,
    SANDBOX,
    SINGLE_RANGE,
    is_clean,
    is_coded,
    mismatch,
    type_headers,
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
PATHS: Final = {
    "/memento/proxy/{stamp}/{url}": PathDescription(
        "The raw bytes of a memento", ("stamp", "url", "Prefer")
    ),
}
MOST: Final = 1024**3
"""Octets of one memento."""
MEMGATOR: Final = "memento/proxy/{stamp}/{url}"
WAYBACK: Final = "web/{stamp}id_/{url}"
"""Templates of addresses."""
_STAMP: Final = re.compile(r"[0-9]{4,23}")
_RELAYED: Final = {"content-range": "Content-Range", "accept-ranges": "Accept-Ranges"}
_ARCHIVED: Final = re.compile(r"x-archive-orig-[a-z0-9-]{1,60}")
_EXACT: Final = "match=exact"


@dataclass(frozen=True, slots=True)
class _Found:
    """The memento whose bytes are requested."""

    resolution: Resolution
    memento: Memento
    headers: Mapping[str, str]
    """The headers that a redirect to the memento would have."""


class RawProxyEndpoint:
    """Answers requests for the bytes of mementos."""

    def __init__(  # noqa: PLR0913 -- what it is built from, and two settings
        self,
        answers: Answers,
        registry: Registry,
        fetchers: Mapping[str, Fetcher],
        most: int = MOST,
        containment: Containment | None = None,
        *,
        address: str = MEMGATOR,
        slots: BodySlots | None = None,
    ) -> None:
        """*address* is the template of the addresses to which it redirects.

        *slots* are shared with others who read at the pace of a client.
        """
        self._answers = answers
        self._registry = registry
        self._fetchers = fetchers
        self._most = most
        self._containment = containment or Containment()
        self._template = address
        self._slots = slots or BodySlots()

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the bytes, or redirect to the address of the closest memento."""
        stamp, query = _requested(request.rest)
        preferences, applied = request.preferences
        resolution = await self._answers.resolve(query, preferences, request.context)
        redirect = self._answers.redirect(resolution, applied, vary=VARY)
        best, memento = resolution.best, resolution.memento
        if redirect.status != 302 or best is None or memento is None:
            return redirect
        if (memento.stamp, best.original) != (stamp, query.original):
            address = self._address(memento.stamp, best.original)
            return replace(redirect, headers={**redirect.headers, "Location": address})
        found = _Found(resolution, memento, redirect.headers)
        try:
            with self._containment.around(memento.archive, memento.uri):
                return await self._relayed(request, found)
        except ArchiveError as error:
            return self._failed(resolution, error)

    def _address(self, stamp: str, original: str) -> str:
        base = self._answers.base_url.rstrip("/")
        return f"{base}/{self._template.format(stamp=stamp, url=header_safe(original))}"

    async def _relayed(
        self, request: ClientRequest, found: _Found
    ) -> Response | StreamingResponse:
        if found.resolution.preferences.only_if_cached:
            detail = "the bytes of mementos are never cached; repeat without only-if-cached"
            return problem(504, "not-cached", detail)
        archive = found.memento.archive
        entry = self._registry.by_id(archive)
        url = raw_address(found.memento, entry) or found.memento.uri
        wanted = _range(request)
        upstream = Request(
            "HEAD" if request.method == "HEAD" else "GET", url, "memento", wanted
        )
        async with AsyncExitStack() as exchange:
            places = request.context.places
            if places is not None and await places.enter():
                # Waiting for a slot holds no place of the working requests.
                exchange.callback(places.leave)
            if entry is not None:
                await exchange.enter_async_context(self._slots.taken(entry, url))
            fetch = placed(self._fetchers[archive], archive, places)
            reply = await exchange.enter_async_context(fetch(upstream))
            if reply.status == 416 and wanted:
                return Response(416, {**SANDBOX, **_copied(reply, _RELAYED)})
            why = mismatch(reply, found.memento.stamp, part=bool(wanted))
            if why:
                raise Misbehaved(archive, reply.url, why)
            headers = self._headers(found, reply)
            body = _body(exchange.pop_all(), reply, archive, self._most)
            # Started, so that closing it ends the exchange, and an error at the beginning of
            # the body is raised before the response has started.
            await anext(body)
            return StreamingResponse(reply.status, headers, body)

    def _headers(self, found: _Found, reply: Reply) -> dict[str, str]:
        copied = ("Memento-Precision", "Vary", "Preference-Applied")
        exact = found.headers["Memento-Precision"].startswith(_EXACT)
        query = replace(found.resolution.query, original=found.memento.original)
        return {
            **_archived(reply),
            **{name: found.headers[name] for name in copied if name in found.headers},
            # M-30: a mirror keeps the time and the original; Last-Modified would be its own.
            "Memento-Datetime": http_date(found.memento.stamp),
            "Link": links(
                replace(found.resolution, query=query), self._answers.base_url, self._registry
            ),
            "Content-Location": header_safe(reply.url),
            "Cache-Control": "max-age=86400, no-transform" if exact else "no-cache",
            **type_headers(reply.headers.get("content-type", "")),
            **_length(reply),
            **_copied(reply, _RELAYED),
            **self._location(found.memento.archive, reply),
            **SANDBOX,
        }

    def _location(self, archive: str, reply: Reply) -> dict[str, str]:
        """Return our address of an archived redirect's target, if it is a link to *archive*.

        Other targets are reported in a header, but not offered as a redirect.
        """
        location = reply.headers.get("location")
        if location is None or reply.status not in REDIRECTS:
            return {}
        reported = {"X-Archive-Orig-Location": header_safe(location[:LONGEST_VALUE])}
        try:
            link = read_link(
                resolved(location.strip(), reply.url) or "", self._registry, Diagnosis()
            )
        except Malformed:
            return reported
        if link.kind != "memento" or link.archive != archive or not (link.time and link.uri):
            return reported
        return {"Location": self._address(link.time.digits, link.uri)}

    def _failed(self, resolution: Resolution, error: ArchiveError) -> Response:
        """Return the problem for a memento that its archive does not deliver."""
        original = resolution.query.original
        attempt = Attempt(error.archive, error, 0.0, original)
        failed = replace(resolution, best=None, attempts=(attempt,), unanswered=())
        headers = {"Vary": VARY, "Link": self._answers.links(resolution.query)}
        return nothing_found(failed, None, headers)


def _requested(rest: str) -> tuple[str, Query]:
    """Return the stamp and the query in *rest*. Raises EarlyResponse."""
    stamp, _, text = rest.partition("/")
    if not _STAMP.fullmatch(stamp) or not text:
        detail = (
            "write a stamp of 4 to 23 digits and a URL, "
            "such as /memento/proxy/20160122112029/http://www.dr.dk"
        )
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
    # PWID calls the bytes of a single file a part (V-1).
    return stamp, replace(query, precision="part")


def _range(request: ClientRequest) -> dict[str, str]:
    """Return the header fields that request a part of a file; empty for the whole file.

    A range counts octets of the file, hence no coding. With If-Range the whole file is sent,
    because we send no validator that could match (RFC 9110 13.1.5).
    """
    wanted = (request.header("Range") or "").replace(" ", "")
    if (
        request.method == "HEAD"
        or request.header("If-Range") is not None
        or not SINGLE_RANGE.fullmatch(wanted)
    ):
        return {}
    return {"Range": wanted, "Accept-Encoding": "identity"}


async def _body(
    exchange: AsyncExitStack, reply: Reply, archive: str, most: int
) -> AsyncGenerator[bytes, None]:
    """Yield an empty chunk, then the body. Raises ArchiveError if it is incomplete (R-21)."""
    async with exchange:
        chunks = reply.chunks()
        chunk = await anext(chunks, None)
        yield b""
        sent = 0
        while chunk is not None:
            sent += len(chunk)
            if sent > most:
                raise Misbehaved(archive, reply.url, f"the copy is larger than {most:,} bytes")
            yield chunk
            chunk = await anext(chunks, None)


def _length(reply: Reply) -> dict[str, str]:
    """Return the length of the body, unless its content coding is removed."""
    stated = reply.headers.get("content-length", "")
    if is_coded(reply) or not (stated.isascii() and stated.isdecimal()):
        return {}
    return {"Content-Length": stated}


def _copied(reply: Reply, names: Mapping[str, str]) -> dict[str, str]:
    values = ((written, reply.headers.get(name)) for name, written in names.items())
    return {name: value for name, value in values if value is not None and is_clean(value)}


def _archived(reply: Reply) -> dict[str, str]:
    """Return the archived headers that the archive sends with a prefix, except cookies."""
    names = [
        name
        for name, value in reply.headers.items()
        if _ARCHIVED.fullmatch(name) and "cookie" not in name and is_clean(value)
    ]
    return {name.title(): reply.headers[name] for name in names[:MOST_ARCHIVED]}
