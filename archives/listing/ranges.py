"""Captures of many URLs: all with a prefix, on a host, or in a domain.

CDX servers file captures by a key (SURT), and list a range of keys in the order of key and
time. Only they can: a TimeMap is about one URL.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple
from urllib.parse import quote

from archives.addresses import ArchiveAddresses
from archives.errors import Misbehaved
from archives.listing.document import Document, ListQuery
from archives.model import ArchiveEntry, Dialect, Memento
from archives.negotiation import Clock, latest_stamp
from archives.source import Fetcher
from archives.surt import surt

RangeMatch = Literal["prefix", "host", "domain"]
MOST_DOCUMENTS: Final = 50
_MOST_ROWS: Final = 10_000
"""Rows of one document, if the server continues with a resume key."""
_OPTIONS: Final[Mapping[Dialect, Mapping[str, str]]] = {
    "wayback-cdx": {"output": "json", "showResumeKey": "true"},
    # pywb ends a list after 100,000 rows unless told otherwise (warcserver/index/query.py).
    "pywb-cdxj": {"output": "json", "limit": "2000000"},
    "arquivo": {"output": "json", "limit": "2000000"},
    "outbackcdx": {},
}
_EARLIEST: Final = "00000101000000"
_LATEST: Final = "99991231235959"


@dataclass(frozen=True, slots=True)
class UrlRange:
    """A range of URLs, and the time of the captures that are wanted."""

    url: str
    match: RangeMatch
    since: str = ""
    """Digits of the earliest time; empty for any."""
    until: str = ""
    """Digits of the latest time: ``2013`` includes all of that year."""
    most: int | None = None
    """So many rows are probably enough; None if that is not known."""

    @property
    def keys(self) -> tuple[str, str]:
        """The first key of the range, and the first after it."""
        return key_range(self.url, self.match)


class RangeBatch(NamedTuple):
    """Captures in the order of key and time."""

    urlkeys: Sequence[str]
    captures: Sequence[Memento]
    resume_key: str | None = None
    """With it, the archive continues after these captures; None within a document."""


def key_range(url: str, match: str) -> tuple[str, str]:
    """Return the first SURT of a range, and the first after it.

    SURTs of a host begin with ``com,example)/``, those of its subdomains with ``com,example,``.
    The characters sort as ``)``, ``*``, ``+``, ``,``, ``-``.
    """
    key = surt(url)
    if match == "prefix":
        # A SURT has no slash at its end, apart from that of a front page; a prefix may.
        if url.partition("?")[0].endswith("/") and "?" not in url and not key.endswith("/"):
            key += "/"
        return key, key[:-1] + chr(ord(key[-1]) + 1)
    host = key.partition(")")[0]
    return f"{host})/", f"{host}*" if match == "host" else f"{host}-"


def lists_ranges(entry: ArchiveEntry) -> bool:
    """Whether *entry* has a CDX server, and a template of the addresses of its captures."""
    return None not in (entry.cdx, entry.dialect, entry.replay)


async def list_range(  # noqa: PLR0913, PLR0917 -- the archive, and what is wanted of it
    entry: ArchiveEntry,
    addresses: ArchiveAddresses,
    fetch: Fetcher,
    clock: Clock,
    wanted: UrlRange,
    start: str | None = None,
) -> AsyncGenerator[RangeBatch, None]:
    """Yield the captures that the CDX server of *entry* lists, from the resume key *start* on.

    Raises ArchiveError, also after batches: then the list is not complete.
    """
    first = _address(entry, wanted)
    query = ListQuery(entry, addresses, fetch, latest_stamp(clock), wanted.url)
    lower, upper = wanted.keys
    key = start
    for _ in range(MOST_DOCUMENTS):
        url = first if key is None else f"{first}&resumeKey={quote(key, safe='')}"
        document = Document(query, url)
        async with aclosing(document.batches()) as batches:
            async for batch in batches:
                yield _within(batch, document.urlkeys, lower, upper)
        following = document.resume_key
        if following is None:
            return
        if following == key:
            raise Misbehaved(entry.id, url, "repeats its resume key")
        yield RangeBatch((), (), following)
        key = following
    raise Misbehaved(entry.id, first, f"a list in more than {MOST_DOCUMENTS} documents")


def _address(entry: ArchiveEntry, wanted: UrlRange) -> str:
    dialect: Dialect = entry.dialect or "wayback-cdx"
    options = {"matchType": wanted.match, **_OPTIONS[dialect]}
    if dialect == "wayback-cdx":
        options["limit"] = f"{min(wanted.most or _MOST_ROWS, _MOST_ROWS)}"
    if wanted.since:
        options["from"] = (wanted.since + _EARLIEST[len(wanted.since) :])[:14]
    if wanted.until:
        options["to"] = (wanted.until + _LATEST[len(wanted.until) :])[:14]
    more = "".join(f"&{name}={value}" for name, value in options.items())
    return f"{entry.cdx}?url={quote(wanted.url, safe='')}{more}"


def _within(
    captures: Sequence[Memento], urlkeys: Sequence[str], lower: str, upper: str
) -> RangeBatch:
    """Return the captures of the range; a server may ignore ``matchType``, or list others."""
    if len(urlkeys) != len(captures):
        urlkeys = [""] * len(captures)
    rows = [
        (urlkey or key, capture)
        for urlkey, capture in zip(urlkeys, captures, strict=True)
        if lower <= (key := surt(capture.original)) < upper
    ]
    return RangeBatch([key for key, _ in rows], [capture for _, capture in rows])
