"""What is checked: an archive or one of its addresses, and with which pages it is tried."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal
from urllib.parse import urlsplit

from archives.model import ArchiveEntry, Selection
from archives.registry import BadEntry, entry_from
from timegate.config import HOME_LIMITS, is_public

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


def entry_for(url: str, also: Sequence[str]) -> ArchiveEntry:
    """Return an entry for *url*: its host may be asked, and those of *also*.

    Raises ValueError for what is no http(s) URL.
    """
    prefix = (embedded(url) or (url, ""))[0]
    table = {"id": _name(prefix), "kind": "memento", "timegate": prefix}
    try:
        entry = entry_from(table, "command line")
    except BadEntry as error:
        raise ValueError(f"{url}: {error}") from error
    hosts = [origin_of(each) for each in also]
    if not all(hosts):
        raise ValueError(f"--also takes an http(s) URL, not {also[hosts.index('')]!r}")
    entry = replace(entry, hosts=(*entry.hosts, *hosts))
    return entry if is_foreign(entry) else replace(entry, limits=HOME_LIMITS)


def _name(prefix: str) -> str:
    """Make an id of an address: it names the file of a recording."""
    words = prefix.partition("://")[2].strip("/").lower().encode("ascii", "replace").decode()
    return "".join(c if c.isalnum() or c == "." else "-" for c in words) or "given"


def is_foreign(entry: ArchiveEntry) -> bool:
    """Whether somebody else runs it; hosts of the command line may have ports."""
    bare = tuple(h.partition(":")[0] if h.count(":") == 1 else h for h in entry.hosts)
    return is_public(replace(entry, hosts=bare))
