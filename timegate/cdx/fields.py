"""The fields of a CDX row, by both names that clients know them by.

All are ASCII without blanks and controls, whatever an archive said, so that a row stays a row.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

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
PYWB: Final = ("urlkey", "timestamp", "url", "mime", "status", "digest", "source", "memento")
"""The last two are ours: the archive, and the address of the copy there."""

_key: Final = lru_cache(maxsize=1024)(surt)
_plain: Final = lru_cache(maxsize=1024)(header_safe)


def timestamp(capture: Memento) -> str:
    """Return fourteen digits; a leap second is the one before it, as clients know none."""
    stamp = capture.stamp
    return f"{stamp[:12]}59" if stamp[12:14] == "60" else stamp[:14]


def _urlkey(capture: Memento) -> str:
    return _key(capture.original)


def _original(capture: Memento) -> str:
    return _plain(capture.original)


def _mime(capture: Memento) -> str:
    return _plain(capture.mime) if capture.mime else UNKNOWN


def _status(capture: Memento) -> str:
    return UNKNOWN if capture.status is None else str(capture.status)


def _digest(capture: Memento) -> str:
    return header_safe(capture.digest) if capture.digest else UNKNOWN


def _archive(capture: Memento) -> str:
    return _plain(capture.archive)


def _memento(capture: Memento) -> str:
    return header_safe(capture.uri)


def _nothing(_: Memento) -> str:
    return UNKNOWN


FIELDS: Final[Mapping[str, Callable[[Memento], str]]] = {
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
    # No archive's list tells these, or nothing that means anything elsewhere.
    **dict.fromkeys(("length", "offset", "filename", "redirect", "robotflags"), _nothing),
}
NAMES: Final = (*WAYBACK, "source", "memento")
"""Those that an error names."""
