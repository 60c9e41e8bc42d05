"""Writers of CDX: text and JSON of the Wayback Machine, JSON and CDXJ of pywb."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

import msgspec

from archives.model import Memento
from archives.surt import surt
from timegate.verdict import header_safe

UNKNOWN: Final = "-"
WAYBACK: Final = (
    "urlkey",
    "timestamp",
    "original",
    "mimetype",
    "statuscode",
    "digest",
    "length",
)
URL_M: Final = "url_m"
"""A field of our own: the address of the memento, which any archive may hold."""
PYWB: Final = (
    *("urlkey", "timestamp", "url", "mime", "status", "digest"),
    *("source", "memento", URL_M),
)
"""The last three are our own: the archive, and twice the address of the memento there."""
FILED_FIELDS: Final = (*PYWB[:6], "length", "offset", "filename")
"""The fields with which pywb describes captures in its own files, needed for replay."""


class FiledCapture(NamedTuple):
    """A capture in one of our own files: a `Memento` and the location of its record."""

    stamp: str
    uri: str
    original: str
    archive: str
    status: int | None
    mime: str | None
    digest: str | None
    urlkey: str
    length: int
    """Octets of the record; 0 if not known, as in the CDX files of wget."""
    offset: int
    filename: str

    @property
    def memento(self) -> Memento:
        """The capture without its location."""
        return Memento(*self[:7])


Capture = Memento | FiledCapture

_key: Final = lru_cache(maxsize=1024)(surt)
_plain: Final = lru_cache(maxsize=1024)(header_safe)


def timestamp(capture: Capture) -> str:
    """Return fourteen digits; a leap second becomes :59, because clients do not know :60."""
    stamp = capture.stamp
    return f"{stamp[:12]}59" if stamp[12:14] == "60" else stamp[:14]


def _urlkey(capture: Capture) -> str:
    return (
        _plain(capture.urlkey) if isinstance(capture, FiledCapture) else _key(capture.original)
    )


def _original(capture: Capture) -> str:
    return _plain(capture.original)


def _mime(capture: Capture) -> str:
    return _plain(capture.mime) if capture.mime else UNKNOWN


def _status(capture: Capture) -> str:
    return UNKNOWN if capture.status is None else str(capture.status)


def _digest(capture: Capture) -> str:
    return header_safe(capture.digest) if capture.digest else UNKNOWN


def _archive(capture: Capture) -> str:
    return _plain(capture.archive)


def _memento(capture: Capture) -> str:
    return header_safe(capture.uri)


def _length(capture: Capture) -> str:
    """Return the length. pywb reads nothing if it is 0, and up to the end if it is ``-``."""
    known = isinstance(capture, FiledCapture) and capture.length
    return str(known) if known else UNKNOWN


def _offset(capture: Capture) -> str:
    return str(capture.offset) if isinstance(capture, FiledCapture) else UNKNOWN


def _filename(capture: Capture) -> str:
    return _plain(capture.filename) if isinstance(capture, FiledCapture) else UNKNOWN


def _nothing(_: Capture) -> str:
    return UNKNOWN


FIELDS: Final[Mapping[str, Callable[[Capture], str]]] = {
    "urlkey": _urlkey,
    "timestamp": timestamp,
    "original": _original,
    "url": _original,
    "mimetype": _mime,
    "mime": _mime,
    "statuscode": _status,
    "status": _status,
    "digest": _digest,
    "source": _archive,
    "memento": _memento,
    URL_M: _memento,
    # Only known for our own files.
    "length": _length,
    "offset": _offset,
    "filename": _filename,
    **dict.fromkeys(("redirect", "robotflags"), _nothing),
}
NAMES: Final = (*WAYBACK, "source", URL_M)
"""The field names that error messages list."""
STATED_FIELDS: Final = frozenset(
    {"urlkey", "timestamp", "original", "url", "source", "memento", URL_M}
)
"""Fields that every capture has."""
INDEXED_FIELDS: Final = frozenset({"mimetype", "mime", "statuscode", "status", "digest"})
"""Fields that a CDX server states and a TimeMap does not."""


_encode: Final = msgspec.json.Encoder().encode


class CdxFormat(Protocol):
    """Writes rows. Without any rows, only *nothing* is written."""

    type: str
    nothing: bytes

    def head(self) -> bytes: ...

    def rows(self, captures: Sequence[Capture]) -> bytes: ...

    def tail(self, resume_key: str | None) -> bytes: ...


class _Columns(NamedTuple):
    names: tuple[str, ...]

    def of(self, captures: Sequence[Capture]) -> list[list[str]]:
        getters = [FIELDS[name] for name in self.names]
        return [[getter(capture) for getter in getters] for capture in captures]


class WaybackLines:
    """One capture per line, fields separated by spaces; a resume key after an empty line."""

    type = "text/plain; charset=utf-8"
    nothing = b""

    def __init__(self, fields: tuple[str, ...] = ()) -> None:
        self._columns = _Columns(fields or WAYBACK)

    def head(self) -> bytes:
        return b""

    def rows(self, captures: Sequence[Capture]) -> bytes:
        return "".join([" ".join(row) + "\n" for row in self._columns.of(captures)]).encode()

    def tail(self, resume_key: str | None) -> bytes:
        return b"" if resume_key is None else f"\n{resume_key}\n".encode()


class WaybackArray:
    """A JSON array of rows, first the field names; a resume key after an empty row.

    All values are strings; without captures, the array is ``[]``. Clients read the columns by
    the names in the first row, so there is one more column than in text: the address of the
    memento. waybackpy rejects lines with more than seven.
    """

    type = "application/json"
    nothing = b"[]\n"

    def __init__(self, fields: tuple[str, ...] = ()) -> None:
        self._columns = _Columns(fields or (*WAYBACK, URL_M))

    def head(self) -> bytes:
        return b"[" + _encode(self._columns.names)

    def rows(self, captures: Sequence[Capture]) -> bytes:
        return b"".join([b",\n" + _encode(row) for row in self._columns.of(captures)])

    def tail(self, resume_key: str | None) -> bytes:
        key = b"" if resume_key is None else b",\n[],\n" + _encode([resume_key])
        return key + b"]\n"


class PywbObjects:
    """pywb's ``output=json``: one object per line."""

    type = "text/x-ndjson"
    nothing = b""

    def __init__(self, fields: tuple[str, ...] = ()) -> None:
        self._columns = _Columns(fields or PYWB)

    def head(self) -> bytes:
        return b""

    def rows(self, captures: Sequence[Capture]) -> bytes:
        names = self._columns.names
        return b"".join(
            [
                _encode(dict(zip(names, row, strict=True))) + b"\n"
                for row in self._columns.of(captures)
            ]
        )

    def tail(self, resume_key: str | None) -> bytes:  # noqa: ARG002 - pywb has none
        return b""


class Cdxj:
    """pywb's CDXJ: key, timestamp, and an object with the other fields."""

    type = "text/x-cdxj"
    nothing = b""

    def __init__(self, fields: tuple[str, ...] = ()) -> None:
        leading = ("urlkey", "timestamp")
        names = tuple(name for name in fields or PYWB if name not in leading)
        self._columns = _Columns(names)

    def head(self) -> bytes:
        return b""

    def rows(self, captures: Sequence[Capture]) -> bytes:
        names, urlkey = self._columns.names, FIELDS["urlkey"]
        return b"".join(
            [
                f"{urlkey(capture)} {timestamp(capture)} ".encode()
                + _encode(dict(zip(names, row, strict=True)))
                + b"\n"
                for capture, row in zip(captures, self._columns.of(captures), strict=True)
            ]
        )

    def tail(self, resume_key: str | None) -> bytes:  # noqa: ARG002 - pywb has none
        return b""
