"""Writers of CDX: text and JSON of the Wayback Machine, JSON and CDXJ of pywb."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from operator import mod
from typing import Final, NamedTuple, Protocol

import msgspec

from archives.columns import CaptureColumns, Details
from archives.model import Memento
from archives.surt import surt
from timegate.verdict import header_safe, safe_in_brackets

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
    """A capture with its key: a `Memento`, and the location of its record where it is known.

    The counters are those of the Wayback Machine's CDX server.
    """

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
    offset: int | None = None
    """None if the record is not in a file of ours."""
    filename: str = ""
    dupecount: int = 0
    """Rows before it, in the same list, of the same URL with the same digest."""
    skipcount: int = 0
    """Captures after it that were left out, up to the next row."""
    endtimestamp: str = ""
    """The time of the last of these; empty if there is none."""

    @classmethod
    def of(cls, capture: Memento, urlkey: str | None = None) -> "FiledCapture":
        """Return *capture* with its key."""
        key = _key(capture.original) if urlkey is None else urlkey
        return cls(*capture[:7], key, capture.length or 0)

    @property
    def memento(self) -> Memento:
        """The capture without its location."""
        return Memento(*self[:7])


Capture = Memento | FiledCapture
Described = Capture | Details
"""What the fields of a row are read from, apart from its time and address."""

_key: Final = lru_cache(maxsize=1024)(surt)
_plain: Final = lru_cache(maxsize=1024)(header_safe)


def timestamp(capture: Capture) -> str:
    """Return fourteen digits; a leap second becomes :59, because clients do not know :60."""
    return _second(capture.stamp)


def _second(stamp: str) -> str:
    return f"{stamp[:12]}59" if stamp[12:14] == "60" else stamp[:14]


def _urlkey(capture: Described) -> str:
    return (
        _plain(capture.urlkey) if isinstance(capture, FiledCapture) else _key(capture.original)
    )


def _original(capture: Described) -> str:
    return _plain(capture.original)


def _mime(capture: Described) -> str:
    return _plain(capture.mime) if capture.mime else UNKNOWN


def _status(capture: Described) -> str:
    return UNKNOWN if capture.status is None else str(capture.status)


def _digest(capture: Described) -> str:
    return header_safe(capture.digest) if capture.digest else UNKNOWN


def _archive(capture: Described) -> str:
    return _plain(capture.archive)


def _memento(capture: Capture) -> str:
    return header_safe(capture.uri)


def _length(capture: Described) -> str:
    """Return the length. pywb reads nothing if it is 0, and up to the end if it is ``-``."""
    return str(capture.length) if capture.length else UNKNOWN


def _offset(capture: Described) -> str:
    offset = capture.offset if isinstance(capture, FiledCapture) else None
    return UNKNOWN if offset is None else str(offset)


def _filename(capture: Described) -> str:
    name = capture.filename if isinstance(capture, FiledCapture) else ""
    return _plain(name) if name else UNKNOWN


def _dupecount(capture: Described) -> str:
    return str(capture.dupecount) if isinstance(capture, FiledCapture) else "0"


def _skipcount(capture: Described) -> str:
    return str(capture.skipcount) if isinstance(capture, FiledCapture) else "0"


def _endtimestamp(capture: Described) -> str:
    stamp = capture.endtimestamp if isinstance(capture, FiledCapture) else ""
    return _second(stamp) if stamp else UNKNOWN


def _nothing(_: Described) -> str:
    return UNKNOWN


_DESCRIBED: Final[Mapping[str, Callable[[Described], str]]] = {
    "urlkey": _urlkey,
    "original": _original,
    "url": _original,
    "mimetype": _mime,
    "mime": _mime,
    "statuscode": _status,
    "status": _status,
    "digest": _digest,
    "source": _archive,
    "length": _length,
    # Only known for our own files.
    "offset": _offset,
    "filename": _filename,
    # Counters of the list.
    "dupecount": _dupecount,
    "skipcount": _skipcount,
    "endtimestamp": _endtimestamp,
    **dict.fromkeys(("redirect", "robotflags"), _nothing),
}
_OWN: Final[Mapping[str, Callable[[Capture], str]]] = {
    "timestamp": timestamp,
    "memento": _memento,
    URL_M: _memento,
}
"""The fields that are different for each capture."""
FIELDS: Final[Mapping[str, Callable[[Capture], str]]] = {**_DESCRIBED, **_OWN}
NAMES: Final = (*WAYBACK, "source", URL_M)
"""The field names that error messages list."""
STATED_FIELDS: Final = frozenset(
    {"urlkey", "timestamp", "original", "url", "source", "memento", URL_M}
)
"""Fields that every capture has."""
INDEXED_FIELDS: Final = frozenset(
    {"mimetype", "mime", "statuscode", "status", "digest", "length", "dupecount"}
)
"""Fields that a CDX server states and a TimeMap does not."""


_encode: Final = msgspec.json.Encoder().encode


def _object(names: Sequence[str], values: Sequence[str]) -> str:
    return _encode(dict(zip(names, values, strict=True))).decode()


class CdxFormat(Protocol):
    """Writes rows. Without any rows, only *nothing* is written."""

    type: str
    nothing: bytes

    def head(self) -> bytes: ...

    def rows(self, captures: Sequence[Capture]) -> bytes: ...

    def tail(self, resume_key: str | None) -> bytes: ...


class _Rows(NamedTuple):
    """Writes rows of some fields.

    Most captures of a list differ in their time and address only: the text of all other fields
    is the same, and is written once.
    """

    names: tuple[str, ...]
    text: Callable[[Sequence[str]], str]
    """Returns the text of one row from its fields."""

    def of(self, captures: Sequence[Capture]) -> bytes:
        """Return the text of all rows."""
        if not isinstance(captures, CaptureColumns):
            getters = [FIELDS[name] for name in self.names]
            rows = [self.text([getter(c) for getter in getters]) for c in captures]
            return "".join(rows).encode()
        distinct = {id(details): details for details in captures.details}
        patterns = {key: self._pattern(details) for key, details in distinct.items()}
        columns = [_column(captures, name) for name in self.names if name in _OWN]
        values = zip(*columns, strict=True) if columns else repeat(())
        of_rows = map(patterns.__getitem__, map(id, captures.details))
        return "".join([*map(mod, of_rows, values)]).encode()

    def _pattern(self, details: Details) -> str:
        """Return the text of a row with ``%s`` in place of the fields of a capture's own.

        Their values are digits and addresses without quotes: they need no escape in JSON.
        """
        return self.text(
            [
                "%s" if name in _OWN else _DESCRIBED[name](details).replace("%", "%%")
                for name in self.names
            ]
        )


def _column(captures: CaptureColumns, name: str) -> Sequence[str]:
    if name == "timestamp":
        stamps = captures.stamps
        if {len(s) for s in stamps} == {14} and "60" not in {s[12:] for s in stamps}:
            return stamps
        return [_second(stamp) for stamp in stamps]
    return safe_in_brackets(captures.uris)


class WaybackLines:
    """One capture per line, fields separated by spaces; a resume key after an empty line."""

    type = "text/plain; charset=utf-8"
    nothing = b""

    def __init__(self, fields: tuple[str, ...] = ()) -> None:
        self._rows = _Rows(fields or WAYBACK, lambda values: " ".join(values) + "\n")

    def head(self) -> bytes:
        return b""

    def rows(self, captures: Sequence[Capture]) -> bytes:
        return self._rows.of(captures)

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
        self._rows = _Rows(
            fields or (*WAYBACK, URL_M), lambda values: ",\n" + _encode(values).decode()
        )

    def head(self) -> bytes:
        return b"[" + _encode(self._rows.names)

    def rows(self, captures: Sequence[Capture]) -> bytes:
        return self._rows.of(captures)

    def tail(self, resume_key: str | None) -> bytes:
        key = b"" if resume_key is None else b",\n[],\n" + _encode([resume_key])
        return key + b"]\n"


class PywbObjects:
    """pywb's ``output=json``: one object per line."""

    type = "text/x-ndjson"
    nothing = b""

    def __init__(self, fields: tuple[str, ...] = ()) -> None:
        names = fields or PYWB
        self._rows = _Rows(names, lambda values: f"{_object(names, values)}\n")

    def head(self) -> bytes:
        return b""

    def rows(self, captures: Sequence[Capture]) -> bytes:
        return self._rows.of(captures)

    def tail(self, resume_key: str | None) -> bytes:  # noqa: ARG002 - pywb has none
        return b""


class Cdxj:
    """pywb's CDXJ: key, timestamp, and an object with the other fields."""

    type = "text/x-cdxj"
    nothing = b""

    def __init__(self, fields: tuple[str, ...] = ()) -> None:
        leading = ("urlkey", "timestamp")
        names = tuple(name for name in fields or PYWB if name not in leading)

        def text(values: Sequence[str]) -> str:
            key, stamp, *others = values
            return f"{key} {stamp} {_object(names, others)}\n"

        self._rows = _Rows((*leading, *names), text)

    def head(self) -> bytes:
        return b""

    def rows(self, captures: Sequence[Capture]) -> bytes:
        return self._rows.of(captures)

    def tail(self, resume_key: str | None) -> bytes:  # noqa: ARG002 - pywb has none
        return b""
