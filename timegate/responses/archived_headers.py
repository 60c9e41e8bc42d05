"""Serving archived bytes: checks that they are the memento, safe headers, and byte ranges.

Archived headers that describe the bytes are sent unchanged if they are clean. All others are
sent as ``X-Archive-Orig-*``, which browsers ignore; those of the connection are dropped
(R-5, R-9).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from archives.diagnostics import Malformed
from archives.formats.httpdate import http_date, stamp_from_http_date
from archives.formats.linkformat import resolved
from archives.moment import Moment
from archives.source import Reply
from timegate.responses.model import ClientRequest
from timegate.text.header_values import LONGEST_VALUE, is_clean

Fields = Sequence[tuple[str, str]]
REDIRECTS: Final = (301, 302, 303, 307, 308)
MOST_ARCHIVED: Final = 40
"""Archived headers that are sent with the prefix ``X-Archive-Orig-``."""
SANDBOX: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# With more than one range, a client could have a file sent many times over.
SINGLE_RANGE: Final = re.compile(r"bytes=(?:[0-9]{1,18}-[0-9]{0,18}|-[0-9]{1,18})")
_PASSIVE: Final = re.compile(
    r"(?:image/(?!svg)|audio/|video/|font/|text/(?:plain|css|csv)\b|application/json\b)"
)
"""Media types without scripts; all others are sent as downloads."""
_OPAQUE: Final = "application/octet-stream"
_TYPE: Final = re.compile(
    r"[a-z0-9!#$&^_.+-]{1,127}/[a-z0-9!#$&^_.+-]{1,127}\s*+(?:;.*+)?", re.IGNORECASE
)


_PAGE_POLICY: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'none'"
)
_UNCHANGED: Final = ("content-encoding", "content-language")
_OF_CONTENT: Final = frozenset({*_UNCHANGED, "content-type", "content-range"})
# RFC 9110 7.6.1, and the other hop-by-hop fields of RFC 2616 13.5.1.
_OF_CONNECTION: Final = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "te", "trailer", "trailers"),
        *("transfer-encoding", "upgrade", "proxy-authenticate", "proxy-authorization"),
    }
)
_UNSENT: Final = _OF_CONTENT | _OF_CONNECTION
_NAME: Final = re.compile(r"[A-Za-z0-9-]{1,60}")
_WEB: Final = ("http://", "https://")


def mismatch(reply: Reply, stamp: str, *, part: bool = False) -> str:
    """Return why *reply* is not the memento of *stamp*; empty if it is.

    Archives send errors, barriers against bots, and other captures instead. *part*: a range was
    requested.
    """
    status, stated = reply.status, reply.headers.get("memento-datetime")
    why = ""
    if (status == 206 and not part) or status in (304, 416) or not 200 <= status <= 599:
        why = f"answers {status}, which was not requested"
    elif stated is not None:
        why = _other_capture(stated, stamp)
    elif status not in (200, 206):
        why = f"answers {status} where the bytes of a copy should be"
    elif "html" in reply.headers.get("content-type", "html").lower():
        # A barrier or a message looks like this; mementos come with a Memento-Datetime.
        why = "sends a page without Memento-Datetime"
    if not why and status == 206 and is_coded(reply):
        why = "sends a part of an encoded body"
    return why


def _other_capture(stated: str, stamp: str) -> str:
    try:
        sent = stamp_from_http_date(stated)
    except Malformed:
        return "sends an invalid Memento-Datetime"
    promised = stamp_from_http_date(http_date(stamp))
    return "" if sent == promised else f"sends the copy of {Moment(sent)} instead"


def is_coded(reply: Reply) -> bool:
    """Whether the body of *reply* has a content coding."""
    return reply.headers.get("content-encoding", "identity").strip().lower() != "identity"


def type_headers(stated: str) -> dict[str, str]:
    """Return the archived media type, as a download unless it is passive."""
    media_type = stated if is_media_type(stated) else _OPAQUE
    if _PASSIVE.match(media_type.lower()):
        return {"Content-Type": media_type}
    return {"Content-Type": media_type, "Content-Disposition": "attachment"}


def is_media_type(text: str) -> bool:
    """Whether *text* can be sent as a Content-Type."""
    return is_clean(text) and _TYPE.fullmatch(text) is not None


def content_headers(status: int, fields: Fields) -> dict[str, str]:
    """Return the headers that describe the bytes, and those of the sandbox."""
    # The first of several fields counts, so they are read from the end.
    stated = {name.lower(): value.strip() for name, value in reversed(fields)}
    headers = {**type_headers(stated.get("content-type", "")), **SANDBOX}
    for name in _UNCHANGED:
        value = stated.get(name)
        if value and is_clean(value):
            headers[name.title()] = value
    part = stated.get("content-range")
    if status == 206 and part and is_clean(part):
        headers["Content-Range"] = part
    return headers


def page_headers(headers: dict[str, str]) -> dict[str, str]:
    """Return *headers* for people: HTML is displayed without scripts, not downloaded."""
    media_type = headers["Content-Type"].partition(";")[0].strip().lower()
    if media_type != "text/html":
        return headers
    others = {name: value for name, value in headers.items() if name != "Content-Disposition"}
    return {**others, "Content-Security-Policy": _PAGE_POLICY}


def prefixed_headers(fields: Fields) -> dict[str, str]:
    """Return all other archived headers with the prefix ``X-Archive-Orig-``."""
    headers: dict[str, str] = {}
    unsent = _unsent(fields)
    for name, value in fields:
        if name.lower() in unsent or not _NAME.fullmatch(name):
            continue
        prefixed = f"X-Archive-Orig-{name.title()}"
        if prefixed in headers:
            # RFC 9110 5.2: repeated fields may be joined.
            value = f"{headers[prefixed]}, {value}"  # noqa: PLW2901 -- joined
        if is_clean(value) and (prefixed in headers or len(headers) < MOST_ARCHIVED):
            headers[prefixed] = value
    return headers


def _unsent(fields: Fields) -> frozenset[str]:
    """Return the names of fields of the content, and of the archived connection."""
    named = [value for name, value in fields if name.lower() == "connection"]
    if not named:
        return _UNSENT
    return _UNSENT.union(part.strip().lower() for part in ",".join(named).split(","))


def value_of(fields: Fields, wanted: str) -> str:
    """Return the first value of a field; empty if there is none."""
    return next((value.strip() for name, value in fields if name.lower() == wanted), "")


def redirect_target(status: int, fields: Fields, url: str) -> str | None:
    """Return the target of an archived redirect; None if it is none, or not http or https."""
    if status not in REDIRECTS:
        return None
    stated = value_of(fields, "location")
    if not stated or len(stated) > LONGEST_VALUE:
        return None
    target = resolved(stated, url)
    return target if target is not None and target.lower().startswith(_WEB) else None


class ByteRange(NamedTuple):
    """Octets from *start* up to, but not including, *end*."""

    start: int
    end: int

    def of(self, size: int) -> str:
        """Return the value of ``Content-Range``."""
        return f"bytes {self.start}-{self.end - 1}/{size}"


class Unsatisfiable(ValueError):
    """A range outside the body."""


def requested_range(request: ClientRequest, size: int, etag: str | None) -> ByteRange | None:
    """Return the requested range (RFC 9110 14); None for the whole body.

    Invalid ranges and several ranges are ignored. Raises Unsatisfiable.
    """
    text = (request.header("Range") or "").replace(" ", "")
    condition = request.header("If-Range")
    if request.method == "HEAD" or not SINGLE_RANGE.fullmatch(text):
        return None
    if condition is not None and condition.strip() != etag:
        return None
    first, _, last = text.removeprefix("bytes=").partition("-")
    start = int(first) if first else max(size - int(last), 0)
    end = min(int(last) + 1, size) if first and last else size
    if first and last and int(last) < start:
        # RFC 9110 14.1.1: invalid.
        return None
    if start >= size:
        raise Unsatisfiable
    return ByteRange(start, end)


def has_etag(request: ClientRequest, etag: str | None) -> bool:
    """Whether the client has the body already, by ``If-None-Match`` (RFC 9110 13.1.2)."""
    stated = request.header("If-None-Match")
    if stated is None or etag is None:
        return False
    known = (item.strip().removeprefix("W/") for item in stated[:8192].split(","))
    return stated.strip() == "*" or etag in known
