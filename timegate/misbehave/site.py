"""The content of the archive and its addresses: captures, holdings, questions, options.

This package shares no code with the product on purpose: with the same date parser or URL keys
it would agree with every mistake in the code under test.

/timegate/{URI-R}                          TimeGate
/timemap/{link,json,cdxj}/{URI-R}          TimeMap
/timemap/{link,json}/page{n}/{URI-R}       one page of it, where TimeMaps have pages
/web/{stamp}{modifier}/{URI-R}             replay; the modifier is empty or ``id_``
/cdx?url=...                               CDX in pywb's dialect
/cdx/search/cdx?url=...                    CDX in the Wayback Machine's dialect
/hop/{n}/{URI-R}                           targets of redirect faults
/page/...                                  an original, which links to its TimeGate or is it
/fixed/...                                 an original that never changes (pattern 3)
"""

import hashlib
import re
from calendar import month_abbr
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Final, Literal
from urllib.parse import parse_qsl, urlsplit

_MONTHS: Final = dict(zip(month_abbr[1:], range(1, 13), strict=True))
# RFC 7089 2.1.1.1: one form, names in this case, GMT. The weekday need not fit (M-3).
_HTTP_DATE: Final = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4})"
    r" ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT"
)


def http_date(at: datetime) -> str:
    """Return *at* in the date format of Memento."""
    return format_datetime(at, usegmt=True)


def read_http_date(text: str) -> datetime | None:
    """Parse a date of RFC 7089; None if it has another format or is impossible."""
    found = _HTTP_DATE.fullmatch(text)
    if not found or found[2] not in _MONTHS:
        return None
    return read_stamp(
        f"{found[3]}{_MONTHS[found[2]]:02}{found[1]}{found[4]}{found[5]}{found[6]}"
    )


def read_stamp(digits: str) -> datetime | None:
    """Parse 4 to 14 digits as the earliest such time; None if there is none."""
    earliest = "00000101000000"
    full = digits + earliest[len(digits) :]
    try:
        return datetime.strptime(f"{full}+0000", "%Y%m%d%H%M%S%z").astimezone(UTC)
    except ValueError:
        return None


def stamp(at: datetime) -> str:
    """Return *at* as 14 digits."""
    return f"{at.year:04}{at:%m%d%H%M%S}"


@dataclass(frozen=True, slots=True)
class FakeCapture:
    """One capture of a page."""

    original: str
    at: datetime
    status: int = 200
    mime: str = "text/html"
    body: bytes = b""
    location: str | None = None
    """The Location of an archived redirect, as the site wrote it."""

    @property
    def stamp(self) -> str:
        """The capture time as in its address."""
        return stamp(self.at)

    @property
    def content(self) -> bytes:
        """The archived bytes; by default, a paragraph with address and time."""
        return self.body or f"<p>{self.original} at {self.stamp}</p>".encode()

    @property
    def digest(self) -> str:
        """The digest in CDX lines."""
        return hashlib.sha256(self.content).hexdigest()[:32].upper()


def captures_of(original: str, *stamps: str) -> tuple[FakeCapture, ...]:
    """Return a capture of *original* for each of *stamps*. Raises ValueError."""
    times = [(digits, read_stamp(digits)) for digits in stamps]
    wrong = [digits for digits, at in times if at is None]
    if wrong:
        raise ValueError(f"not times of 4 to 14 digits: {wrong}")
    return tuple(FakeCapture(original, at) for _, at in times if at is not None)


EXAMPLE: Final = captures_of(
    "http://example.org/",
    "20100101120000",
    "20130615083000",
    "20150630235958",
    "20150630235959",
    "20200202020202",
)
"""The default holdings; two captures are one second apart."""


def urlkey(url: str) -> str:
    """Return the key that all spellings of a page share: ``org,example)/path?query``.

    As in every archive, scheme, ``www.``, case of the host and port make no difference.
    """
    parts = urlsplit(url if "://" in url else f"http://{url}")
    host = (parts.hostname or "").removeprefix("www.")
    query = f"?{parts.query}" if parts.query else ""
    return f"{','.join(reversed(host.split('.')))}){parts.path or '/'}{query}"


class FakeHoldings:
    """All captures, found by page."""

    def __init__(self, captures: Iterable[FakeCapture]) -> None:
        self._pages: dict[str, list[FakeCapture]] = {}
        for capture in sorted(captures, key=lambda capture: capture.at):
            self._pages.setdefault(urlkey(capture.original), []).append(capture)

    def of(self, original: str) -> list[FakeCapture]:
        """Return the captures of a page, oldest first; empty if there are none."""
        return self._pages.get(urlkey(original), [])

    def everything(self) -> list[FakeCapture]:
        """Return every capture of every page."""
        return [capture for page in self._pages.values() for capture in page]

    def closest(self, original: str, at: datetime | None) -> FakeCapture | None:
        """Return the capture nearest to *at*, or the earlier of two; else the newest (M-14)."""
        held = self.of(original)
        if not held or at is None:
            return held[-1] if held else None
        return min(held, key=lambda capture: (distance(capture, at), capture.at))


def distance(capture: FakeCapture, at: datetime) -> timedelta:
    """Return the time between a capture and *at*, in either direction."""
    return abs(capture.at - at)


Form = Literal["link", "json", "cdxj"]
FORMS: Final[tuple[Form, ...]] = ("link", "json", "cdxj")


@dataclass(frozen=True, slots=True)
class TimeGateQuestion:
    """A request for the nearest capture."""

    original: str
    hop: int = 0
    """How often the client has been redirected, by faults that do that."""


@dataclass(frozen=True, slots=True)
class TimeMapQuestion:
    """A request for all captures."""

    original: str
    form: Form
    page: int | None = None


@dataclass(frozen=True, slots=True)
class ReplayQuestion:
    """A request for one capture."""

    original: str
    stamp: str
    modifier: str


@dataclass(frozen=True, slots=True)
class CdxQuestion:
    """A request to the CDX index."""

    dialect: Literal["pywb", "wayback"]
    parameters: dict[str, str]


@dataclass(frozen=True, slots=True)
class UnknownQuestion:
    """A request for anything else."""


@dataclass(frozen=True, slots=True)
class PageQuestion:
    """A request for an original on the same server."""

    original: str
    fixed: bool = False


Question = (
    PageQuestion
    | TimeGateQuestion
    | TimeMapQuestion
    | ReplayQuestion
    | CdxQuestion
    | UnknownQuestion
)

_REPLAY: Final = re.compile(r"/web/([0-9]{4,14})(|id_)/(.++)", re.DOTALL)
_TIMEMAP: Final = re.compile(
    r"/timemap/(link|json|cdxj)/(?:page([0-9]{1,9})/)?(.++)", re.DOTALL
)
PAGES: Final = "/page/"
FIXED: Final = "/fixed/"
_HOP: Final = re.compile(r"/hop/([0-9]{1,9})/(.++)", re.DOTALL)
_TIMEGATE: Final = re.compile(r"/timegate/(.++)", re.DOTALL)


def read_question(target: str, addresses: "Addresses") -> Question:
    """Parse the target of a request; the URI-R at its end stays as written."""
    if target.startswith((PAGES, FIXED)):
        return _read_page(target, addresses)
    if found := _TIMEGATE.fullmatch(target):
        return TimeGateQuestion(found[1])
    if found := _HOP.fullmatch(target):
        return TimeGateQuestion(found[2], int(found[1]))
    if found := _TIMEMAP.fullmatch(target):
        form = next(form for form in FORMS if form == found[1])
        return TimeMapQuestion(found[3], form, int(found[2]) if found[2] else None)
    if found := _REPLAY.fullmatch(target):
        return ReplayQuestion(found[3], found[1], found[2])
    return _read_cdx(target)


def _read_page(target: str, addresses: "Addresses") -> Question:
    page = f"{addresses.base}{target}"
    if addresses.own and target.startswith(PAGES):
        return TimeGateQuestion(page)
    return PageQuestion(page, fixed=target.startswith(FIXED))


def _read_cdx(target: str) -> CdxQuestion | UnknownQuestion:
    path, _, query = target.partition("?")
    parameters = dict(parse_qsl(query, keep_blank_values=True))
    if path == "/cdx":
        return CdxQuestion("pywb", parameters)
    if path == "/cdx/search/cdx":
        return CdxQuestion("wayback", parameters)
    return UnknownQuestion()


@dataclass(frozen=True, slots=True)
class Addresses:
    """The archive's own URLs."""

    base: str
    """Scheme, host and port, without a slash at the end."""
    own: bool = False
    """Whether originals on this server are their own TimeGates (pattern 1)."""
    shared: bool = False
    """Whether mementos have no addresses but that of the TimeGate (patterns 1.3, 2.3)."""

    def timegate(self, original: str) -> str:
        """Return the URL of the TimeGate (URI-G)."""
        if self.own and original.startswith(f"{self.base}{PAGES}"):
            return original
        return f"{self.base}/timegate/{original}"

    def timemap(self, form: Form, original: str, page: int | None = None) -> str:
        """Return the URL of a TimeMap (URI-T)."""
        part = "" if page is None else f"page{page}/"
        return f"{self.base}/timemap/{form}/{part}{original}"

    def memento(self, capture: FakeCapture, modifier: str = "") -> str:
        """Return the URL of a capture (URI-M)."""
        if self.shared:
            return self.timegate(capture.original)
        return f"{self.base}/web/{capture.stamp}{modifier}/{capture.original}"

    def hop(self, number: int, original: str) -> str:
        """Return the URL of an intermediate redirect."""
        return f"{self.base}/hop/{number}/{original}"


@dataclass(frozen=True, slots=True)
class ArchiveOptions:
    """Choices that conforming archives make differently, and the size and speed of faults.

    The sentences of faults state the default amounts.
    """

    timegate: Literal["302", "200", "200-bare", "none"] = "302"
    """RFC 7089 pattern 2.1 (redirect), 2.2 (Content-Location), 2.3 (no URI-M), or 4."""
    timemap: Literal["whole", "pages", "index"] = "whole"
    """In one document, in pages, or as an index of pages (RFC 7089 5.1)."""
    page_size: int = 100
    delay: float = 3.0
    """Seconds that `slow` waits."""
    interval: float = 1.0
    """Seconds between the bytes of a trickle."""
    patience: float = 60.0
    """Seconds after which every connection and answer ends."""
    bulk: int = 10_000_000
    """Bytes of oversized content; the number of items in a flood is a hundredth of it."""
    bomb: int = 1 << 30
    """Bytes that a decompression bomb expands to."""
    own: bool = False
    """Originals on this server are their own TimeGates: patterns 1.1 to 1.3."""


@dataclass(frozen=True, slots=True)
class FakeSite:
    """Everything that an answer depends on, except the request."""

    holdings: FakeHoldings
    addresses: Addresses
    options: ArchiveOptions
