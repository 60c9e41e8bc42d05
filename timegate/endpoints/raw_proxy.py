"""Raw bytes as captured: ``/memento/proxy/{stamp}/{URL}`` and ``/web/{stamp}id_/{URL}``.

The first is MemGator's raw proxy, the second the address of the Wayback Machine. A stamp that
is not that of a memento is redirected to the closest one, so the content of an address never
changes (M-41). Archived bytes may be dangerous: they are sent in a sandbox, with few headers of
the archive (R-5, R-9).

Clients of the Wayback Machine take the fourteen digits of a CDX row and the URL that they were
given, and store the body of any response that is no error. So there a second and every spelling
of the URL name a memento, an archived redirect always leads back to us, and redirects have no
body.
"""

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from archives.diagnostics import Diagnosis, Malformed
from archives.errors import ArchiveError, Misbehaved, Queued
from archives.evidence import address_of, same_key
from archives.formats.httpdate import http_date
from archives.formats.linkformat import resolved
from archives.model import Memento
from archives.moment import Moment
from archives.registry import Registry
from archives.replay_links import read_link
from archives.source import Fetcher, Reply, Request
from archives.uri import WEB, check_text
from timegate.cdx import timestamp
from timegate.endpoints import (
    QUERIED,
    RAW_BYTES,
    PathDescription,
)
from timegate.identifiers.url import read_url
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import BodySlots, placed
from timegate.resolution.model import Attempt, Query, Resolution
from timegate.resolution.query import query_for_url
from timegate.responses.answers import Answers
from timegate.responses.archived_headers import (
    MOST_ARCHIVED,
    REDIRECTS,
    SANDBOX,
    SINGLE_RANGE,
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
from timegate.text.header_values import LONGEST_VALUE, is_clean
from timegate.verdict import header_safe, raw_address

VARY: Final = "prefer"
PATHS: Final = {
    "/memento/proxy/{stamp}/{url}": PathDescription(
        "The raw bytes of a memento",
        RAW_BYTES,
        ("stamp", "url", "Prefer", "Range"),
        problems=(*QUERIED, "403", "416"),
    ),
}
MOST: Final = 1024**3
"""Octets of one memento."""
MEMGATOR: Final = "memento/proxy/{stamp}/{url}"
"""Template of addresses."""
_STAMP: Final = re.compile(r"[0-9]{4,23}")
_RELAYED: Final = {"content-range": "Content-Range", "accept-ranges": "Accept-Ranges"}
_ARCHIVED: Final = re.compile(r"x-archive-orig-[a-z0-9-]{1,60}")
_EXACT: Final = "match=exact"
# Wayback software of any make serves the bytes at this address.
_REPLAYED: Final = re.compile(r"(/[0-9]{14})(?:mp_)?(/https?+:/)")


class RawRequest(NamedTuple):
    """A request for the bytes of a memento."""

    stamp: str
    """The digits of the requested time, as written."""
    query: Query
    template: str = MEMGATOR
    """The template of the addresses to which it redirects."""
    is_wayback: bool = False
    """Whether a second and any spelling of the URL name a memento."""

    def names(self, memento: Memento, asked: str) -> bool:
        """Whether it names *memento*, which an archive returned for the URL *asked*."""
        if self.is_wayback:
            return timestamp(memento) == self.stamp
        return (memento.stamp, asked) == (self.stamp, self.query.original)

    def path(self, stamp: str, url: str) -> str:
        """Return the path of the memento of *url* at *stamp*."""
        return "/" + self.template.format(stamp=stamp, url=header_safe(url))


@dataclass(frozen=True, slots=True)
class _Found:
    """The memento whose bytes are requested."""

    requested: RawRequest
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
        slots: BodySlots | None = None,
    ) -> None:
        """*slots* are shared with others who read at the pace of a client."""
        self._answers = answers
        self._registry = registry
        self._fetchers = fetchers
        self._most = most
        self._containment = containment or Containment()
        self._slots = slots or BodySlots()

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Answer ``{stamp}/{URL}``."""
        return await self.sent(request, _requested(request.rest))

    async def sent(
        self, request: ClientRequest, requested: RawRequest
    ) -> Response | StreamingResponse:
        """Send the bytes, or redirect to the address of the closest memento."""
        preferences, _ = request.preferences
        resolution = await self._answers.resolve(requested.query, preferences, request.context)
        return await self.sent_of(request, requested, resolution)

    async def sent_of(
        self, request: ClientRequest, requested: RawRequest, resolution: Resolution
    ) -> Response | StreamingResponse:
        """Send the bytes of the memento of *resolution*, or redirect to its address.

        Where its archive does not deliver it, the closest memento of the others counts.
        """
        try:
            return await self._sent(request, requested, resolution)
        except Queued as error:
            # Only our own limit prevented it: the copy is there.
            return self._failed(resolution, error)
        except ArchiveError as error:
            failure = error
        others = await self._answers.of_others(resolution, failure, request.context)
        if others.memento is None:
            return self._failed(resolution, failure)
        try:
            return await self._sent(request, requested, others)
        except ArchiveError as error:
            return self._failed(others, error)

    async def _sent(
        self, request: ClientRequest, requested: RawRequest, resolution: Resolution
    ) -> Response | StreamingResponse:
        """Send or redirect. Raises ArchiveError."""
        _, applied = request.preferences
        redirect = self._answers.redirect(resolution, applied, vary=VARY)
        best, memento = resolution.best, resolution.memento
        if redirect.status != 302 or best is None or memento is None:
            return redirect
        if not requested.names(memento, best.original):
            stamp = timestamp(memento) if requested.is_wayback else memento.stamp
            return self._redirected(redirect, requested.path(stamp, best.original))
        found = _Found(requested, resolution, memento, redirect.headers)
        with self._containment.around(memento.archive, memento.uri):
            return await self._relayed(request, found)

    def delivers(self, memento: Memento) -> bool:
        """Whether the archive of *memento* is known to serve unaltered bytes."""
        return raw_address(memento, self._registry.by_id(memento.archive)) is not None

    def _redirected(self, redirect: Response, path: str) -> Response:
        """Return *redirect* to *path* without a body: clients store it as the memento."""
        headers = {**redirect.headers, "Location": self._address(path)}
        del headers["Content-Type"]
        return replace(redirect, headers=headers, body=b"")

    def _address(self, path: str) -> str:
        return f"{self._answers.base_url.rstrip('/')}{path}"

    async def _relayed(
        self, request: ClientRequest, found: _Found
    ) -> Response | StreamingResponse:
        if found.resolution.preferences.only_if_cached:
            detail = "the bytes of mementos are never cached; repeat without only-if-cached"
            return problem(504, "not-cached", detail)
        entry = self._registry.by_id(found.memento.archive)
        raw = raw_address(found.memento, entry)
        *guesses, last = (
            _addresses(found.memento, raw)
            if found.requested.is_wayback
            else (raw or found.memento.uri,)
        )
        for guess in guesses:
            try:
                return await self._exchanged(request, found, guess)
            except Misbehaved:
                continue
        return await self._exchanged(request, found, last)

    async def _exchanged(
        self, request: ClientRequest, found: _Found, url: str, *, follows: bool = True
    ) -> Response | StreamingResponse:
        archive = found.memento.archive
        entry = self._registry.by_id(archive)
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
            respelled = _respelled(reply, found.memento) if follows else None
            if respelled is None:
                return await self._streamed(exchange, found, upstream, reply)
        return await self._exchanged(request, found, respelled, follows=False)

    async def _streamed(
        self, exchange: AsyncExitStack, found: _Found, upstream: Request, reply: Reply
    ) -> Response | StreamingResponse:
        archive, is_part = found.memento.archive, "Range" in upstream.headers
        if reply.status == 416 and is_part:
            return Response(416, {**SANDBOX, **_copied(reply, _RELAYED)})
        why = mismatch(reply, found.memento.stamp, part=is_part)
        if why:
            raise Misbehaved(archive, reply.url, why)
        headers = {**self._headers(found, reply), **_length(reply, upstream.method)}
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
                replace(found.resolution, query=query),
                self._answers.base_url,
                self._registry,
                address=(
                    partial(self._wayback_address, found.requested)
                    if found.requested.is_wayback
                    else None
                ),
            ),
            "Content-Location": header_safe(reply.url),
            "Cache-Control": "max-age=86400, no-transform" if exact else "no-cache",
            **type_headers(reply.headers.get("content-type", "")),
            **_copied(reply, _RELAYED),
            **self._location(found, reply),
            **SANDBOX,
        }

    def _wayback_address(self, requested: RawRequest, memento: Memento) -> str:
        """Return our address of *memento*: clients know addresses of one archive only."""
        return self._address(requested.path(timestamp(memento), memento.original))

    def _location(self, found: _Found, reply: Reply) -> dict[str, str]:
        """Return our address of the target of an archived redirect.

        MemGator's raw proxy reports a target that is no memento of the same archive in a header
        only. The Wayback Machine leads to the target at the time of the redirect. An archive
        that sends the header as archived (pywb, with ``id_``) means it relative to the page.
        """
        location = reply.headers.get("location")
        if location is None or reply.status not in REDIRECTS:
            return {}
        stated = location.strip()[:LONGEST_VALUE]
        requested = found.requested
        path = self._memento_path(found, resolved(stated, reply.url) or "", reply.url)
        target = resolved(stated, found.memento.original) or ""
        if path is None and requested.is_wayback and target.lower().startswith(WEB):
            path = requested.path(timestamp(found.memento), target)
        if path is None:
            return {"X-Archive-Orig-Location": header_safe(location[:LONGEST_VALUE])}
        return {"Location": self._address(path)}

    def _memento_path(self, found: _Found, target: str, url: str) -> str | None:
        """Return our path of *target* if it is a memento of the archive, else None."""
        requested = found.requested
        memento = address_of(target)
        if memento is not None and urlsplit(target)[:2] == urlsplit(url)[:2]:
            return requested.path(memento.stamp, memento.original)
        try:
            link = read_link(target, self._registry, Diagnosis())
        except Malformed:
            return None
        own = link.kind == "memento" and link.archive == found.memento.archive
        if not own or link.time is None or link.uri is None:
            return None
        return requested.path(link.time.digits, link.uri)

    def _failed(self, resolution: Resolution, error: ArchiveError) -> Response:
        """Return the problem for a memento that its archive does not deliver."""
        original = resolution.query.original
        attempt = Attempt(error.archive, error, 0.0, original)
        failed = replace(resolution, best=None, attempts=(attempt,), unanswered=())
        headers = {"Vary": VARY, "Link": self._answers.links(resolution.query)}
        return nothing_found(failed, None, headers)


def _respelled(reply: Reply, memento: Memento) -> str | None:
    """Return the address to which the archive redirects for the same capture, else None.

    pywb redirects from ``http://example.org`` to ``http://example.org/``. An archived redirect
    has a Memento-Datetime: it is the memento.
    """
    if reply.status not in REDIRECTS or "memento-datetime" in reply.headers:
        return None
    target = resolved(reply.headers.get("location", "").strip()[:LONGEST_VALUE], reply.url)
    copy = address_of(target or "")
    if target is None or copy is None or urlsplit(target)[:2] != urlsplit(reply.url)[:2]:
        return None
    is_same = timestamp(memento) == copy.stamp[:14]
    return target if is_same and same_key(copy.original, memento.original) else None


def _addresses(memento: Memento, raw: str | None) -> Sequence[str]:
    """Return the addresses at which to request the bytes, the best first.

    The registry states that of most archives. Of others, the usual one is tried: the verdict
    says nevertheless that the bytes may be altered.
    """
    if raw is not None:
        return (raw,)
    guess, count = _REPLAYED.subn(r"\1id_\2", memento.uri, count=1)
    return (guess, memento.uri) if count else (memento.uri,)


def _requested(rest: str) -> RawRequest:
    """Return what is requested in *rest*. Raises EarlyResponse."""
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
    return RawRequest(stamp, replace(query, precision="part"))


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


def _length(reply: Reply, method: str) -> dict[str, str]:
    """Return the length of the body, unless its content coding is removed.

    pywb answers every HEAD with a length of 0: that of the body it sends, not of the copy.
    """
    stated = reply.headers.get("content-length", "")
    if is_coded(reply) or not (stated.isascii() and stated.isdecimal()):
        return {}
    if method == "HEAD" and not stated.strip("0"):
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
