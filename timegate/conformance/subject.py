"""What is checked: an archive or one of its addresses, and with which pages it is tried."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import urlsplit

from archives.model import ArchiveEntry, Selection

Role = Literal["timegate", "timemap", "memento", "original"]
ROLES: Final[tuple[Role, ...]] = ("timegate", "timemap", "memento", "original")
DEFAULT_SAMPLE: Final = "http://example.com/"
"""Held by nearly every archive that is asked for it: IANA keeps the page since 1999."""
NEVER_CAPTURED: Final = "http://never-captured.invalid/"
"""RFC 2606: no such host can ever have been crawled."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One archive under test, as a value that a recording can hold."""

    id: str
    name: str
    role: Role
    url: str
    """The TimeGate's prefix, or the very TimeMap, memento or original."""
    samples: tuple[str, ...] = (DEFAULT_SAMPLE,)
    timemaps: Mapping[str, str] = field(default_factory=dict)
    """Prefix by format, where they are known beforehand."""
    raw: str | None = None
    """Template of the unaltered bytes."""
    selection: Selection = "nearest"
    origins: tuple[str, ...] = ()
    """``host:port`` that may be asked, the default port left out."""

    def owns(self, url: str) -> bool:
        """Whether *url* is an address of this archive, and as safe as the one given."""
        plain = url.startswith("http:") and self.url.startswith("https:")
        return origin_of(url) in self.origins and not plain


def subject_of(entry: ArchiveEntry, samples: tuple[str, ...]) -> Subject | None:
    """Return the subject that an entry of the registry is; None where it has no TimeGate."""
    if entry.timegate is None:
        return None
    urls = (entry.timegate, *entry.timemaps.values(), entry.replay, entry.raw)
    named = (origin_of(url) for url in urls if url and "{" not in url.partition("//")[2][:1])
    hosts = (host.partition("/")[0].lower() for host in entry.hosts)
    origins = tuple(dict.fromkeys((*filter(None, named), *hosts)))
    return Subject(
        entry.id,
        entry.name,
        "timegate",
        entry.timegate,
        samples,
        entry.timemaps,
        entry.raw,
        entry.selection,
        origins,
    )


def origin_of(url: str) -> str:
    """Return host and port of an http(s) address, the default port left out; else nothing."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return ""
    usual = port is None or port == (443 if parts.scheme == "https" else 80)
    return parts.hostname if usual else f"{parts.hostname}:{port}"


def embedded(url: str) -> tuple[str, str] | None:
    """Cut the address of a TimeGate, TimeMap or memento into its prefix and its original."""
    start = url.find("://")
    at = min(
        (i for s in ("http://", "https://") if (i := url.find(s, start + 3)) > 0), default=0
    )
    return (url[:at], url[at:]) if start > 0 and at else None
