"""The headers of an archived answer, as they may come from us: a fixed set, the rest set aside.

R-5 and R-9: what describes the bytes comes down as it is, if it is clean; the rest is told
as ``X-Archive-Orig-*``, which no browser obeys; what concerns one connection is gone with it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from archives.formats.linkformat import resolved

LONGEST_VALUE: Final = 2000
MOST_ARCHIVED: Final = 40
"""Headers of the archived answer that are told."""
SANDBOX: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# More than one range is a way to have a file sent many times over.
SINGLE_RANGE: Final = re.compile(r"bytes=(?:[0-9]{1,18}-[0-9]{0,18}|-[0-9]{1,18})")
_HARMLESS: Final = re.compile(
    r"(?:image/(?!svg)|audio/|video/|font/|text/(?:plain|css|csv)\b|application/json\b)"
)
"""Types that cannot act when a browser opens them; all others are downloads."""
_OPAQUE: Final = "application/octet-stream"
_TYPE: Final = re.compile(
    r"[a-z0-9!#$&^_.+-]{1,127}/[a-z0-9!#$&^_.+-]{1,127}\s*+(?:;.*+)?", re.IGNORECASE
)


def typed(stated: str) -> dict[str, str]:
    """Return the archived type, and that it is a download where it could act."""
    readable = is_clean(stated) and _TYPE.fullmatch(stated)
    kind = stated if readable else _OPAQUE
    if _HARMLESS.match(kind.lower()):
        return {"Content-Type": kind}
    return {"Content-Type": kind, "Content-Disposition": "attachment"}


def is_clean(value: str) -> bool:
    """Whether *value* can stand in a header as it is."""
    return len(value) <= LONGEST_VALUE and value.isascii() and value.isprintable()


Fields = Sequence[tuple[str, str]]

_PAGE_POLICY: Final = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_AS_THEY_ARE: Final = ("content-encoding", "content-language")
_DESCRIBED: Final = frozenset({*_AS_THEY_ARE, "content-type", "content-range"})
# RFC 9110 7.6.1, and what RFC 2616 13.5.1 counted among them.
_OF_THE_CONNECTION: Final = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "te", "trailer", "trailers"),
        *("transfer-encoding", "upgrade", "proxy-authenticate", "proxy-authorization"),
    }
)
_NAME: Final = re.compile(r"[A-Za-z0-9-]{1,60}")
_WEB: Final = ("http://", "https://")
MOVED: Final = (301, 302, 303, 307, 308)


def described(status: int, fields: Fields) -> dict[str, str]:
    """Return the headers that say what the bytes are, in their sandbox."""
    headers = {**typed(value_of(fields, "content-type")), **SANDBOX}
    for name in _AS_THEY_ARE:
        value = value_of(fields, name)
        if value and is_clean(value):
            headers[name.title()] = value
    part = value_of(fields, "content-range")
    if status == 206 and part and is_clean(part):
        headers["Content-Range"] = part
    return headers


def shown(headers: dict[str, str]) -> dict[str, str]:
    """Return *headers* for people: HTML is shown and not downloaded, without any script."""
    kind = headers["Content-Type"].partition(";")[0].strip().lower()
    if kind != "text/html":
        return headers
    kept = {name: value for name, value in headers.items() if name != "Content-Disposition"}
    return {**kept, "Content-Security-Policy": _PAGE_POLICY}


def set_aside(fields: Fields) -> dict[str, str]:
    """Return the other archived headers under names that mean nothing to a browser."""
    aside: dict[str, str] = {}
    for name, value in _others(fields):
        known = f"X-Archive-Orig-{name.title()}"
        if known in aside:
            # RFC 9110 5.2: one field may stand for several.
            value = f"{aside[known]}, {value}"  # noqa: PLW2901 -- joined
        if is_clean(value) and (known in aside or len(aside) < MOST_ARCHIVED):
            aside[known] = value
    return aside


def _others(fields: Fields) -> Iterator[tuple[str, str]]:
    gone = _OF_THE_CONNECTION | _named_by_connection(fields)
    for name, value in fields:
        known = name.lower()
        if known not in gone and known not in _DESCRIBED and _NAME.fullmatch(name):
            yield name, value


def _named_by_connection(fields: Fields) -> frozenset[str]:
    named = ",".join(value for name, value in fields if name.lower() == "connection")
    return frozenset(part.strip().lower() for part in named.split(","))


def value_of(fields: Fields, wanted: str) -> str:
    """Return the first value of a field; empty where there is none."""
    return next((value.strip() for name, value in fields if name.lower() == wanted), "")


def target(status: int, fields: Fields, url: str) -> str | None:
    """Return where an archived redirect led; None where it was none, or led off the web."""
    stated = value_of(fields, "location")
    if status not in MOVED or not stated or len(stated) > LONGEST_VALUE:
        return None
    led = resolved(stated, url)
    return led if led is not None and led.lower().startswith(_WEB) else None
