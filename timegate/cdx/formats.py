"""CDX as text: the Wayback Machine's lines and array, pywb's lines of JSON."""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from timegate.cdx.fields import FIELDS, PYWB, WAYBACK, Capture, timestamp

_encode: Final = msgspec.json.Encoder().encode


class CdxFormat(Protocol):
    """Writes rows; where there are none, nothing but *nothing* is written."""

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
    """One capture a line, fields with a blank between; a resume key behind an empty line."""

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
    """An array of rows, the first with the names of fields; a resume key behind an empty one.

    All values are strings, and nothing is ``[]``.
    """

    type = "application/json"
    nothing = b"[]\n"

    def __init__(self, fields: tuple[str, ...] = ()) -> None:
        self._columns = _Columns(fields or WAYBACK)

    def head(self) -> bytes:
        return b"[" + _encode(self._columns.names)

    def rows(self, captures: Sequence[Capture]) -> bytes:
        return b"".join([b",\n" + _encode(row) for row in self._columns.of(captures)])

    def tail(self, resume_key: str | None) -> bytes:
        key = b"" if resume_key is None else b",\n[],\n" + _encode([resume_key])
        return key + b"]\n"


class PywbObjects:
    """pywb's ``output=json``: an object a line."""

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
    """pywb's own lines: key, time, and an object with the other fields."""

    type = "text/x-cdxj"
    nothing = b""

    def __init__(self, fields: tuple[str, ...] = ()) -> None:
        ahead = ("urlkey", "timestamp")
        names = tuple(name for name in fields or PYWB if name not in ahead)
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
