"""The archived answer, as far as the archive tells it; nothing is made up.

Archives set the headers of the answer that they captured aside as ``X-Archive-Orig-*``. What
described the message on its way is left out: codings are taken off, and a length that is not
that of the bytes is none. So are cookies: several of them were joined with commas that cannot
be told from their own.
"""

import re
from collections.abc import Iterator
from typing import Final

from archives.formats.linkformat import resolved
from archives.links import read_link
from archives.reading import Diagnosis, Malformed
from archives.registry import Registry
from timegate.extraction.fetching import Fetched, is_status
from timegate.web.sandbox import is_clean

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
