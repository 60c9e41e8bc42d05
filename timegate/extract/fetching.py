"""Fetches the bytes of a copy into a file: one that is large does not lie in memory."""

import asyncio
import re
from base64 import b32encode
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha1
from tempfile import SpooledTemporaryFile
from typing import Final, NamedTuple

from archives.diagnostics import Diagnosis, Malformed
from archives.errors import Misbehaved
from archives.formats.httpdate import http_date, stamp_from_http_date
from archives.formats.linkformat import resolved
from archives.model import Memento
from archives.moment import Moment
from archives.negotiation import downgrades
from archives.registry import Registry
from archives.replay_links import read_link
from archives.source import Fetcher, Reply, Request
from timegate.batch.model import ItemResult
from timegate.responses.archived_headers import is_clean
from timegate.text.html import title_in
from timegate.verdict import raw_address


class FoundCopy(NamedTuple):
    """A copy in an archive."""

    archive: str
    uri: str
    """Where the copy is (URI-M)."""
    raw: str | None
    """Where its bytes are as they were harvested; None where the archive has no such view."""
    original: str
    """What was captured (URI-R), as the archive writes it."""
    captured: Moment


def held(memento: Memento, registry: Registry) -> FoundCopy:
    """Return where the copy *memento* and its bytes are."""
    raw = raw_address(memento, registry.by_id(memento.archive))
    return FoundCopy(memento.archive, memento.uri, raw, memento.original, memento.captured)


def held_by(result: ItemResult) -> FoundCopy | None:
    """Return the copy that *result* found; None where it found none."""
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
    """Return the URL of the copy: that of the question, unless the verdict says another."""
    uri = report["uri"]
    got = uri.get("got") if isinstance(uri, dict) else None
    return got if isinstance(got, str) else str(report["original"])


LARGEST_COPY: Final = 1024**3
"""Octets of one copy, as for the raw proxy."""
_IN_MEMORY: Final = 1 << 20
_DATED: Final = "memento-datetime"
_MOVED: Final = (301, 302, 303, 307, 308)
_MOST_HOPS: Final = 4
_STATUS_ASIDE: Final = "x-archive-orig-status"
_THREE_DIGITS: Final = re.compile(r"[0-9]{3}")


@dataclass(frozen=True, slots=True)
class Fetched:
    """The bytes of a copy, and what the archive says of them."""

    url: str
    status: int
    headers: Mapping[str, str]
    """Those of the archive's answer, names in lower case."""
    body: "SpooledTemporaryFile[bytes]"
    length: int
    digest: str
    """Of the body, as WARC writes it."""

    @property
    def dated(self) -> bool:
        """Whether the archive says when it captured this: then the status is archived too."""
        return _DATED in self.headers

    @property
    def archived_status(self) -> int:
        """The status of the answer that was captured."""
        return archived_status(self.status, self.headers)


def archived_status(status: int, headers: Mapping[str, str]) -> int:
    """Return the archived status: that of the answer, unless HTTP cannot repeat it.

    No server can answer 999, which some sites did; our own collections then set it aside.
    """
    aside = headers.get(_STATUS_ASIDE, "")
    return int(aside) if status == 200 and is_status(_STATUS_ASIDE, aside) else status


def is_status(field: str, value: str) -> bool:
    """Whether this header has the archived status aside, and is none that was archived.

    Some sites sent a header ``Status`` as well, with the status that they had.
    """
    return (
        field == _STATUS_ASIDE
        and _THREE_DIGITS.fullmatch(value) is not None
        and not 200 <= int(value) <= 599
    )


@asynccontextmanager
async def fetched(
    copy: FoundCopy, fetch: Fetcher, most: int = LARGEST_COPY
) -> AsyncIterator[Fetched]:
    """Hand out the bytes of *copy* until the end of the block. Raises ArchiveError."""
    with SpooledTemporaryFile(_IN_MEMORY) as body:
        async with _checked(copy, fetch) as reply:
            length, digest = await _filled(body, reply, copy.archive, most)
        yield Fetched(reply.url, reply.status, reply.headers, body, length, digest)


async def beginning(copy: FoundCopy, fetch: Fetcher, most: int) -> tuple[Reply, bytes]:
    """Return what the archive says of *copy*, and its first octets: *most* of them.

    Raises ArchiveError.
    """
    octets = b""
    async with _checked(copy, fetch) as reply:
        async for piece in reply.chunks():
            octets += piece[: most - len(octets)]
            if len(octets) == most:
                break
    return reply, octets


@asynccontextmanager
async def _checked(copy: FoundCopy, fetch: Fetcher) -> AsyncIterator[Reply]:
    """Hand out the archive's answer with the bytes of *copy*. Raises ArchiveError."""
    if copy.raw is None:
        # What replay shows has other links than the page had; it is not what was captured.
        why = "has no view of the bytes as they were harvested"
        raise Misbehaved(copy.archive, copy.uri, why)
    async with _opened(copy.raw, copy.archive, fetch) as reply:
        why = _wrong(reply, copy)
        if why:
            raise Misbehaved(copy.archive, reply.url, why)
        yield reply


@asynccontextmanager
async def _opened(url: str, archive: str, fetch: Fetcher) -> AsyncIterator[Reply]:
    """Hand out what is at *url*, or where the archive itself leads from there.

    An archived redirect comes with its time: that is the copy, and not followed.
    """
    for _ in range(_MOST_HOPS):
        async with fetch(Request("GET", url, "memento")) as reply:
            onward = _onward(reply)
            if onward is None:
                yield reply
                return
        if downgrades(url, onward):
            raise Misbehaved(archive, url, "leads from https to http")
        url = onward
    raise Misbehaved(archive, url, "leads from one address to the next")


def _onward(reply: Reply) -> str | None:
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


def _wrong(reply: Reply, copy: FoundCopy) -> str:
    """Say what *reply* is instead of the copy: an error, a gate, another capture."""
    status, stated = reply.status, reply.headers.get(_DATED)
    if status in (206, 304, 416) or not 200 <= status <= 599:
        return f"answers {status}, which was not asked for"
    if stated is not None:
        return _another_capture(stated, copy.captured)
    if status != 200:
        return f"answers {status} where the bytes of a copy should be"
    if "html" in reply.headers.get("content-type", "html").lower():
        # A gate or a message looks like this; the bytes of a copy come with their time.
        return "sends a page that does not say when it was captured"
    return ""


def _another_capture(stated: str, captured: Moment) -> str:
    try:
        stamp = stamp_from_http_date(stated)
    except Malformed:
        return "sends a Memento-Datetime that is none"
    promised = stamp_from_http_date(http_date(captured.digits))
    return "" if stamp == promised else f"sends the copy of {Moment(stamp)} in its place"


Fields = list[tuple[str, str]]

_ASIDE: Final = re.compile(r"x-archive-orig-([a-z0-9-]{1,60})")
_OPAQUE: Final = "application/octet-stream"
_MOST: Final = 100
_NOT_TOLD: Final = frozenset(
    {
        *("content-encoding", "transfer-encoding", "connection", "keep-alive", "trailer"),
        *("set-cookie", "set-cookie2", "content-length"),
    }
)


def archived_fields(copy: Fetched, registry: Registry) -> Fields | None:
    """Return the headers of the archived answer; None where the archive tells of none.

    An archived redirect or error is an answer also where its headers are not told.
    """
    told = dict(_told(copy))
    if not copy.dated or (not told and copy.archived_status == 200):
        return None
    kind = told_type(copy)
    if kind is not None:
        told.setdefault("content-type", kind)
    target = _target(copy, registry)
    if target is not None:
        told.setdefault("location", target)
    return [(name.title(), value) for name, value in told.items()]


def told_type(copy: Fetched) -> str | None:
    """Return the type of the bytes, which in their raw view is that of the answer.

    Nobody can tell ``application/octet-stream`` from no type at all: archives send it in the
    place of none, as we do, and RFC 9110 8.3 lets readers take the one for the other.
    """
    kind = copy.headers.get("content-type", "")
    known = kind.partition(";")[0].strip().lower() not in ("", _OPAQUE)
    return kind if known and is_clean(kind) else None


def _told(copy: Fetched) -> Iterator[tuple[str, str]]:
    for field, value in list(copy.headers.items())[:_MOST]:
        name = _ASIDE.fullmatch(field)
        if name is None or not is_clean(value) or is_status(field, value):
            continue
        if name[1] not in _NOT_TOLD or (name[1], value) == ("content-length", str(copy.length)):
            yield name[1], value


def _target(copy: Fetched, registry: Registry) -> str | None:
    """Return where an archived redirect led, out of the link between copies it became."""
    location = copy.headers.get("location")
    if location is None or not 300 <= copy.status < 400:
        return None
    try:
        link = read_link(resolved(location.strip(), copy.url) or "", registry, Diagnosis())
    except Malformed:
        return None
    return link.uri if link.uri is not None and is_clean(link.uri) else None


_TITLES_MOST: Final = 128 * 1024
"""Octets. Pages with more than that before their title are made by programs for programs."""


async def archived_title(copy: FoundCopy, fetch: Fetcher) -> str | None:
    """Return what the page called itself; None where it did not, or was an error page.

    Raises ArchiveError where the archive does not give its bytes.
    """
    reply, octets = await beginning(copy, fetch, _TITLES_MOST)
    if archived_status(reply.status, reply.headers) != 200:
        return None
    return title_in(octets, reply.headers.get("content-type", ""))
