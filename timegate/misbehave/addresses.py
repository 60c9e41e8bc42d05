"""Where things are in this archive, and what a request asks for.

/timegate/{URI-R}                          TimeGate
/timemap/{link,json,cdxj}/{URI-R}          TimeMap
/timemap/{link,json}/page{n}/{URI-R}       one page of it, where the archive pages
/web/{stamp}{modifier}/{URI-R}             replay; modifier is nothing or ``id_``
/cdx?url=...                               CDX in pywb's dialect
/cdx/search/cdx?url=...                    CDX in the Wayback Machine's dialect
/hop/{n}/{URI-R}                           where redirect faults lead
"""

import re
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import parse_qsl

from timegate.misbehave.captures import FakeCapture, FakeHoldings

Form = Literal["link", "json", "cdxj"]
FORMS: Final[tuple[Form, ...]] = ("link", "json", "cdxj")


@dataclass(frozen=True, slots=True)
class TimeGateQuestion:
    """A question for the capture that is nearest."""

    original: str
    hop: int = 0
    """How often the client was sent on, in archives that do."""


@dataclass(frozen=True, slots=True)
class TimeMapQuestion:
    """A question for all captures."""

    original: str
    form: Form
    page: int | None = None


@dataclass(frozen=True, slots=True)
class ReplayQuestion:
    """A question for one capture."""

    original: str
    stamp: str
    modifier: str


@dataclass(frozen=True, slots=True)
class CdxQuestion:
    """A question to the index."""

    dialect: Literal["pywb", "wayback"]
    parameters: dict[str, str]


@dataclass(frozen=True, slots=True)
class UnknownQuestion:
    """Something this archive does not have."""


Question = TimeGateQuestion | TimeMapQuestion | ReplayQuestion | CdxQuestion | UnknownQuestion

_REPLAY: Final = re.compile(r"/web/([0-9]{4,14})(|id_)/(.++)", re.DOTALL)
_TIMEMAP: Final = re.compile(
    r"/timemap/(link|json|cdxj)/(?:page([0-9]{1,9})/)?(.++)", re.DOTALL
)
_HOP: Final = re.compile(r"/hop/([0-9]{1,9})/(.++)", re.DOTALL)
_TIMEGATE: Final = re.compile(r"/timegate/(.++)", re.DOTALL)


def read_question(target: str) -> Question:
    """Read a request's target; the URI-R at its end stays as it was written."""
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
    """Writes the archive's own URLs."""

    base: str
    """Scheme, host and port, without a slash at the end."""

    def timegate(self, original: str) -> str:
        """Write the TimeGate's URL (URI-G)."""
        return f"{self.base}/timegate/{original}"

    def timemap(self, form: Form, original: str, page: int | None = None) -> str:
        """Write a TimeMap's URL (URI-T)."""
        part = "" if page is None else f"page{page}/"
        return f"{self.base}/timemap/{form}/{part}{original}"

    def memento(self, capture: FakeCapture, modifier: str = "") -> str:
        """Write a capture's URL (URI-M)."""
        return f"{self.base}/web/{capture.stamp}{modifier}/{capture.original}"

    def hop(self, number: int, original: str) -> str:
        """Write the URL of a station on the way to nowhere."""
        return f"{self.base}/hop/{number}/{original}"


@dataclass(frozen=True, slots=True)
class Manner:
    """What right archives differ in, and how much of a bad thing a fault does.

    The sentences of faults tell the amounts that are set here.
    """

    timegate: Literal["302", "200"] = "302"
    """RFC 7089 pattern 2.1 (redirect) or 2.2 (Content-Location)."""
    timemap: Literal["whole", "pages", "index"] = "whole"
    """All at once, page by page, or as an index of pages (RFC 7089 5.1)."""
    page_size: int = 100
    delay: float = 3.0
    """Seconds that `slow` waits."""
    interval: float = 1.0
    """Seconds between the bytes of a trickle."""
    patience: float = 60.0
    """Seconds after which any answer and any silence ends."""
    bulk: int = 10_000_000
    """Bytes of what is too big; a hundredth of it is the number of what is too many."""
    bomb: int = 1 << 30
    """Bytes that a decompression bomb unpacks to."""


@dataclass(frozen=True, slots=True)
class FakeSite:
    """All that an answer depends on, besides the request."""

    holdings: FakeHoldings
    addresses: Addresses
    manner: Manner
