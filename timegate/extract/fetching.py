"""Fetches copies: the bytes as captured, the archived status and headers, and the title.

Large copies are stored in a temporary file, not in memory.
"""

import asyncio
import re
from base64 import b32encode
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha1
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Final, Literal, NamedTuple
from urllib.parse import urlsplit

from archives.addresses import downgrades, server_of
from archives.diagnostics import Diagnosis, Malformed
from archives.errors import Misbehaved
from archives.evidence import address_of
from archives.formats.linkformat import resolved
from archives.model import Memento
from archives.moment import Moment
from archives.registry import Registry
from archives.replay_links import read_link
from archives.source import Fetcher, Reply, Request
from timegate.responses.archived_headers import mismatch
from timegate.text.header_values import is_clean
from timegate.text.html import title_in
from timegate.verdict import raw_address

if TYPE_CHECKING:
    from timegate.batch.model import ItemResult


class FoundCopy(NamedTuple):
    """A copy in an archive."""

    archive: str
    uri: str
    """Address of the copy (URI-M)."""
    raw: str | None
    """Address of the bytes as captured; None if the archive does not offer them."""
    original: str
    """The captured URL (URI-R), as the archive writes it."""
    captured: Moment


def copy_of(memento: Memento, registry: Registry) -> FoundCopy:
    """Return the copy *memento* with the addresses of its replay and of its bytes."""
    raw = raw_address(memento, registry.by_id(memento.archive))
    return FoundCopy(memento.archive, memento.uri, raw, memento.original, memento.captured)


def copy_found(result: "ItemResult") -> FoundCopy | None:
    """Return the copy that *result* found; None if it found none."""
    report, memento = result.report, result.memento
    if report is None or memento is None:
        return None
    raw = memento["raw"]
    return FoundCopy(
        str(memento["archive"]),
        str(memento["uri"]),
        raw if isinstance(raw, str) else None,
        _original(report),
        Moment("".join(c for c in str(memento["datetime"]) if c.isdigit())),
    )


def _original(report: Mapping[str, object]) -> str:
    """Return the URL of the copy: the requested one, unless the verdict names another."""
    uri = report["uri"]
    got = uri.get("got") if isinstance(uri, dict) else None
    return got if isinstance(got, str) else str(report["original"])


LARGEST_COPY: Final = 1024**3
"""Maximum octets of one copy, as for the raw proxy."""
_IN_MEMORY: Final = 1 << 20
_DATED: Final = "memento-datetime"
_MOVED: Final = (301, 302, 303, 307, 308)
_MOST_HOPS: Final = 4
_STATUS_HEADER: Final = "x-archive-orig-status"
_THREE_DIGITS: Final = re.compile(r"[0-9]{3}")


@dataclass(frozen=True, slots=True)
class Fetched:
    """The bytes of a copy, and the answer of the archive."""

    url: str
    status: int
    headers: Mapping[str, str]
    """Headers of the archive's answer, names in lower case."""
    body: "SpooledTemporaryFile[bytes]"
    length: int
    digest: str
    """Digest of the body in the notation of WARC."""

    async def octets(self) -> bytes:
        """Return the bytes; those on disk are read by a thread."""
        if self.length <= _IN_MEMORY:
            return self.body.read()
        return await asyncio.to_thread(self.body.read)

    @property
    def dated(self) -> bool:
        """Whether the answer has a Memento-Datetime: then its status is archived as well."""
        return _DATED in self.headers

    @property
    def archived_status(self) -> int:
        """The status of the captured response."""
        return archived_status(self.status, self.headers)


def archived_status(status: int, headers: Mapping[str, str]) -> int:
    """Return the archived status: that of the answer, unless HTTP does not allow it.

    Some sites answered 999, which no server may send; our own collections put it into a header.
    """
    stated = headers.get(_STATUS_HEADER, "")
    return int(stated) if status == 200 and is_status(_STATUS_HEADER, stated) else status


def is_status(field: str, value: str) -> bool:
    """Whether this header states the archived status, and is not itself an archived header.

    Some sites sent a header ``Status`` with their real status.
    """
    return (
        field == _STATUS_HEADER
        and _THREE_DIGITS.fullmatch(value) is not None
        and not 200 <= int(value) <= 599
    )


@asynccontextmanager
async def fetched(
    copy: FoundCopy, fetch: Fetcher, most: int = LARGEST_COPY
) -> AsyncIterator[Fetched]:
    """Fetch *copy*; its bytes are available inside the block. Raises ArchiveError."""
    with SpooledTemporaryFile(_IN_MEMORY) as body:
        async with _checked(copy, fetch) as reply:
            length, digest = await _filled(body, reply, copy.archive, most)
        yield Fetched(reply.url, reply.status, reply.headers, body, length, digest)


async def beginning(copy: FoundCopy, fetch: Fetcher, most: int) -> tuple[Reply, bytes]:
    """Return the archive's answer for *copy*, and at most the first *most* octets.

    Raises ArchiveError.
    """
    octets = b""
    async with _checked(copy, fetch) as reply:
        async for piece in reply.chunks():
            octets += piece[: most - len(octets)]
            if len(octets) == most:
                break
    return reply, octets


async def described(copy: FoundCopy, fetch: Fetcher) -> Reply:
    """Return the archive's answer for *copy* without its bytes. Raises ArchiveError.

    Some archives answer HEAD otherwise than GET: then GET is tried, and its body is not read.
    """
    try:
        async with _checked(copy, fetch, "HEAD") as reply:
            return reply
    except Misbehaved:
        async with _checked(copy, fetch) as reply:
            return reply


@asynccontextmanager
async def _checked(
    copy: FoundCopy, fetch: Fetcher, method: Literal["GET", "HEAD"] = "GET"
) -> AsyncIterator[Reply]:
    """Open the archive's answer with the bytes of *copy*. Raises ArchiveError."""
    if copy.raw is None:
        # A replayed page has rewritten links: it is not what was captured.
        why = "does not offer the bytes as they were captured"
        raise Misbehaved(copy.archive, copy.uri, why)
    async with _opened(copy.raw, copy.archive, fetch, method) as reply:
        why = mismatch(reply, copy.captured.digits)
        if why:
            raise Misbehaved(copy.archive, reply.url, why)
        yield reply


@asynccontextmanager
async def _opened(
    url: str, archive: str, fetch: Fetcher, method: Literal["GET", "HEAD"]
) -> AsyncIterator[Reply]:
    """Open *url* and follow redirects of the archive itself.

    An archived redirect has a Memento-Datetime: it is the copy, and is not followed.
    """
    for _ in range(_MOST_HOPS):
        async with fetch(Request(method, url, "memento")) as reply:
            target = _redirect_target(reply)
            if target is None:
                yield reply
                return
        if server_of(target) is None:
            raise Misbehaved(archive, url, "redirects to an address whose host is ambiguous")
        if downgrades(url, target):
            raise Misbehaved(archive, url, "redirects from https to http")
        url = target
    raise Misbehaved(archive, url, "redirects too often")


def _redirect_target(reply: Reply) -> str | None:
    if reply.status not in _MOVED or _DATED in reply.headers:
        return None
    return resolved(reply.headers.get("location", "").strip(), reply.url)


async def _filled(
    body: "SpooledTemporaryFile[bytes]", reply: Reply, archive: str, most: int
) -> tuple[int, str]:
    length, digest = 0, sha1(usedforsecurity=False)
    async for piece in reply.chunks():
        length += len(piece)
        if length > most:
            raise Misbehaved(archive, reply.url, f"the copy is larger than {most:,} bytes")
        digest.update(piece)
        if length <= _IN_MEMORY:
            body.write(piece)
        else:
            await asyncio.to_thread(body.write, piece)
    body.seek(0)
    return length, f"sha1:{b32encode(digest.digest()).decode()}"


Fields = list[tuple[str, str]]

_ARCHIVED_HEADER: Final = re.compile(r"x-archive-orig-([a-z0-9-]{1,60})")
_OPAQUE: Final = "application/octet-stream"
_MOST_HEADERS: Final = 100
_NOT_ARCHIVED: Final = frozenset(
    {
        *("content-encoding", "transfer-encoding", "connection", "keep-alive", "trailer"),
        *("set-cookie", "set-cookie2", "content-length"),
    }
)


def archived_fields(copy: Fetched, registry: Registry) -> Fields | None:
    """Return the headers of the archived response; None if the archive does not send them.

    An archived redirect or error is a response even without headers.
    """
    fields = dict(_archived_headers(copy))
    if not copy.dated or (not fields and copy.archived_status == 200):
        return None
    kind = stated_type(copy)
    if kind is not None:
        fields.setdefault("content-type", kind)
    target = archived_location(copy.url, copy.status, copy.headers, registry)
    if target is not None:
        fields.setdefault("location", target)
    return [(name.title(), value) for name, value in fields.items()]


def stated_type(copy: Fetched) -> str | None:
    """Return the media type of the bytes: that of the archive's answer; None if not stated.

    ``application/octet-stream`` counts as not stated: archives send it for copies without a
    type, as we do, and RFC 9110, section 8.3, allows readers to treat both alike.
    """
    kind = copy.headers.get("content-type", "")
    known = kind.partition(";")[0].strip().lower() not in ("", _OPAQUE)
    return kind if known and is_clean(kind) else None


def _archived_headers(copy: Fetched) -> Iterator[tuple[str, str]]:
    for field, value in list(copy.headers.items())[:_MOST_HEADERS]:
        name = _ARCHIVED_HEADER.fullmatch(field)
        if name is None or not is_clean(value) or is_status(field, value):
            continue
        if name[1] not in _NOT_ARCHIVED or (name[1], value) == (
            "content-length",
            str(copy.length),
        ):
            yield name[1], value


def archived_location(
    url: str, status: int, headers: Mapping[str, str], registry: Registry
) -> str | None:
    """Return the Location of an archived redirect, perhaps relative to the captured URL.

    Archives rewrite it into a link to a copy, or send it as archived (pywb, with ``id_``). None
    if the answer of the archive at *url* is no redirect, or does not say where to.
    """
    location = headers.get("location", "").strip()
    if not location or not 300 <= status < 400:
        return None
    address = resolved(location, url) or ""
    try:
        target = read_link(address, registry, Diagnosis()).uri
        is_same_server = urlsplit(address)[:2] == urlsplit(url)[:2]
    except (Malformed, ValueError):
        return None
    if target is None and is_same_server:
        copy = address_of(address)
        # Another address of the archive, written in full, is no page that was captured.
        target = copy.original if copy else location if location != address else None
    elif target is None:
        target = location
    return target if target is not None and is_clean(target) else None


def archived_target(reply: Reply, status: int, original: str, registry: Registry) -> str | None:
    """Return the URL to which an archived redirect of *original* leads; None if it is none."""
    location = archived_location(reply.url, status, reply.headers, registry)
    return None if location is None else resolved(location, original)


_TITLE_WITHIN: Final = 128 * 1024
"""Octets in which the title of a page is searched for."""


async def archived_title(copy: FoundCopy, fetch: Fetcher) -> str | None:
    """Return the title of the archived page; None if it has none or is an error page.

    Raises ArchiveError if the archive does not deliver the bytes.
    """
    reply, octets = await beginning(copy, fetch, _TITLE_WITHIN)
    if archived_status(reply.status, reply.headers) != 200:
        return None
    return title_in(octets, reply.headers.get("content-type", ""))


def is_page(copy: Fetched) -> bool:
    """Whether *copy* is a page for people: HTML, and no error or redirect."""
    kind = (stated_type(copy) or "").partition(";")[0].strip().lower()
    return copy.archived_status == 200 and kind in ("text/html", "application/xhtml+xml")


def page_title(copy: Fetched) -> str | None:
    """Return the title of the page *copy*; None if it has none."""
    octets = copy.body.read(_TITLE_WITHIN)
    copy.body.seek(0)
    return title_in(octets, stated_type(copy) or "")
