"""Reads the CDX parameters of the Wayback Machine and of pywb into a `CdxQuery`.

Unknown parameters are ignored, as both do. A known parameter with an unsupported value is
rejected: otherwise the client would take unwanted captures for those it asked for.
"""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple
from urllib.parse import unquote

import msgspec

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import Moment
from archives.replay_links.fields import Stamp, stamp_moment
from archives.source import WantedCaptures
from timegate.cdx.formats import (
    FIELDS,
    INDEXED_FIELDS,
    NAMES,
    STATED_FIELDS,
    UNKNOWN,
    Capture,
)
from timegate.cdx.pattern import Pattern
from timegate.resolution.preferences import BadPreference

MOST_ROWS: Final = 150_000
"""The limit of the Wayback Machine; resume keys lead further."""
MOST_HELD: Final = 25_000
"""Rows in memory, 10 MB, for an order other than oldest first."""
_MOST_PARAMETERS: Final = 60
_MOST_FILTERS: Final = 8
_LONGEST_NUMBER: Final = 9
BLOCK_ROWS: Final = 3_000
"""Rows of a block, in which ``pageSize`` counts (wayback-cdx-server, README)."""
_LONGEST_KEY: Final = 2_000
_COUNTERS: Final = {
    "showDupeCount": "dupecount",
    "showSkipCount": "skipcount",
    "lastSkipTimestamp": "endtimestamp",
}
_decode_resume: Final = msgspec.json.Decoder(tuple[str, str, str, dict[str, str]]).decode
_TRUE: Final = ("true", "1", "yes", "on")

Dialect = Literal["wayback", "pywb"]
Order = Literal["oldest", "newest", "nearest"]
Match = Literal["exact", "prefix", "host", "domain"]
_MATCHES: Final[Mapping[str, Match]] = {
    "exact": "exact",
    "prefix": "prefix",
    "host": "host",
    "domain": "domain",
}
Parameters = Mapping[str, Sequence[str]]


class Position(NamedTuple):
    """A position in the order of captures: after this one."""

    stamp: str
    uri: str


class RangePosition(NamedTuple):
    """A position in the order of captures of a range of URLs: after this one."""

    urlkey: str
    stamp: str
    uri: str


class RangeResume(NamedTuple):
    """Where the list of a range continues."""

    position: RangePosition
    keys: Mapping[str, str]
    """Resume keys that archives gave out before that position."""


class Filter(NamedTuple):
    """Which values of a field are wanted."""

    name: str
    """The field."""
    matches: Callable[[str], bool]
    wanted: bool
    """Whether values that match are wanted, or those that do not."""

    def judges(self, capture: Capture) -> bool | None:
        """Return whether *capture* is wanted; None if its field is unknown.

        A filter for unknown values (``statuscode:200|-``), or against a value
        (``!statuscode:404``), accepts an unknown value, as CDX servers do.
        """
        value = FIELDS[self.name](capture)
        if self.matches(value) == self.wanted:
            return True
        return None if self.wanted and is_unknown(value) else False


class Collapse(NamedTuple):
    """Of adjacent captures whose field begins alike, only the first is wanted."""

    field: str
    length: int | None


@dataclass(frozen=True, slots=True)
class CdxQuery:
    """Which captures of a URL are wanted, in which order and format."""

    url: str
    output: str
    fields: tuple[str, ...] = ()
    """Empty for the default fields of the output."""
    since: str = ""
    """Digits of the earliest time."""
    until: str = ""
    """Digits of the latest time; ``2013`` includes all of that year."""
    filters: tuple[Filter, ...] = ()
    collapses: tuple[Collapse, ...] = ()
    order: Order = "oldest"
    near: Moment | None = None
    limit: int = MOST_ROWS
    last: bool = False
    """Whether the limit counts from the end."""
    offset: int = 0
    after: Position | None = None
    resumable: bool = False
    """Whether the client wants a resume key if the limit is reached."""
    page: int = 0
    counts_pages: bool = False
    match: Match = "exact"
    """Which URLs: this one, all with this prefix, on this host, or in this domain."""
    resume: RangeResume | None = None
    """Where the list of a range of URLs continues."""
    page_rows: int = MOST_ROWS
    """Rows of one page."""
    counters: tuple[str, ...] = ()
    """Columns that count: ``dupecount``, ``skipcount``, ``endtimestamp``."""

    @property
    def is_range(self) -> bool:
        """Whether it is about many URLs."""
        return self.match != "exact"

    @property
    def holds(self) -> bool:
        """Whether all captures must be read before the first row is sent."""
        return self.last or self.order != "oldest"

    @property
    def wanted(self) -> WantedCaptures:
        """The captures that must be read for it."""
        since = self.since
        if self.after is not None and not self.collapses:
            since = max(since, self.after.stamp[:14])
        rows = self.limit + self.offset + self.resumable
        # How many captures make so many rows is not known before they are read.
        is_counted = not self.filters and not self.collapses and self.after is None
        order: Order = "newest" if self.last else self.order
        return WantedCaptures(since, self.until, order, self.near, rows if is_counted else None)

    @property
    def doubtful_fields(self) -> tuple[str, ...]:
        """The fields that captures need to have, but may not have, to be judged by filters."""
        names = (each.name for each in self.filters if each.wanted)
        return tuple(dict.fromkeys(name for name in names if name not in STATED_FIELDS))

    @property
    def needs_index(self) -> bool:
        """Whether it has a field that CDX servers state and TimeMaps do not.

        The default fields of every output have some.
        """
        if not self.fields:
            return True
        filtered = (each.name for each in self.filters)
        collapsed = (each.field for each in self.collapses)
        named = (*self.fields, *filtered, *collapsed, *self.counters)
        return not INDEXED_FIELDS.isdisjoint(named)


def parameters_in(rest: str) -> dict[str, list[str]]:
    """Read the query string of a request target. ``+`` stays: URLs contain no spaces.

    A ``?`` before a name is ignored: waybackpy writes one after an endpoint that ends with
    ``?archives=internet-archive&``.
    """
    pairs = rest.partition("?")[2].split("&", _MOST_PARAMETERS)[:_MOST_PARAMETERS]
    found: dict[str, list[str]] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        name = unquote(name).removeprefix("?")
        found.setdefault(name, []).append(unquote(value, errors="surrogateescape"))
    return found


def query_from(parameters: Parameters, dialect: Dialect) -> CdxQuery:
    """Return the query in *parameters*. Raises BadPreference."""
    url, match = _target(parameters)
    order, near = _order(parameters)
    limit = _number(parameters, "limit", signed=True)
    offset = _number(parameters, "offset")
    after, resume = (
        (None, _resume(parameters)) if match != "exact" else (_after(parameters), None)
    )
    holds = order != "oldest" or limit < 0
    if holds and (after or resume or abs(limit) + offset > MOST_HELD):
        allowed = f"at most {MOST_HELD} with offset, and without resumeKey, unless oldest first"
        raise BadPreference("limit", allowed)
    page, page_rows = _number(parameters, "page"), _page_rows(parameters)
    if match != "exact" and page:
        offset += page * page_rows
    most = MOST_HELD - offset if holds else page_rows
    if most <= 0:
        raise BadPreference("page", f"0, unless oldest first: at most {MOST_HELD} rows")
    return CdxQuery(
        url=url,
        match=match,
        output=_output(parameters, dialect),
        fields=_fields(parameters),
        since=_digits(parameters, "from") or _digits(parameters, "from_ts"),
        until=_digits(parameters, "to"),
        filters=tuple(_filters(parameters, dialect)),
        collapses=tuple(map(_collapse, _many(parameters, "collapse"))),
        order=order,
        near=near,
        limit=min(abs(limit) or most, most),
        last=limit < 0,
        offset=offset,
        after=after,
        resumable=_flag(parameters, "showResumeKey"),
        resume=resume,
        page=page,
        page_rows=page_rows,
        counts_pages=_flag(parameters, "showNumPages"),
        counters=tuple(name for flag, name in _COUNTERS.items() if _flag(parameters, flag)),
    )


def resume_key(last: Capture) -> str:
    """Return the key with which a client continues after *last*.

    It is opaque and never part of a row: clients look for its first occurrence in the text.
    """
    return base64.urlsafe_b64encode(f"{last.stamp} {last.uri}".encode()).decode().rstrip("=")


def range_resume_key(last: RangePosition, keys: Mapping[str, str]) -> str:
    """Return the key with which a client continues after *last* in a range of URLs."""
    text = msgspec.json.encode([*last, dict(keys)])
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def _resume(parameters: Parameters) -> RangeResume | None:
    key = _first(parameters, "resumeKey")
    if not key:
        return None
    try:
        octets = base64.b64decode(key + "=" * (-len(key) % 4), altchars=b"-_", validate=True)
        urlkey, stamp, uri, keys = _decode_resume(octets)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        stamp = uri = urlkey = ""
        keys = {}
    is_stamp = stamp.isascii() and stamp.isdecimal()
    if not (is_stamp and uri and urlkey) or any(len(k) > _LONGEST_KEY for k in keys.values()):
        raise BadPreference("resumeKey", "a key from the end of an earlier answer")
    return RangeResume(RangePosition(urlkey, stamp, uri), keys)


def _page_rows(parameters: Parameters) -> int:
    """Return the rows of a page; ``pageSize`` counts blocks, as there."""
    blocks = _number(parameters, "pageSize")
    return min(blocks * BLOCK_ROWS, MOST_ROWS) if blocks else MOST_ROWS


def _after(parameters: Parameters) -> Position | None:
    key = _first(parameters, "resumeKey")
    if not key:
        return None
    try:
        octets = base64.b64decode(key + "=" * (-len(key) % 4), altchars=b"-_", validate=True)
        stamp, _, uri = octets.decode().partition(" ")
    except (binascii.Error, ValueError):
        stamp = uri = ""
    if not (stamp.isascii() and stamp.isdecimal() and uri):
        raise BadPreference("resumeKey", "a key from the end of an earlier answer")
    return Position(stamp, uri)


def _first(parameters: Parameters, name: str) -> str:
    values = parameters.get(name)
    return values[0] if values else ""


def _many(parameters: Parameters, name: str) -> Sequence[str]:
    values = [value for value in parameters.get(name, ()) if value]
    if len(values) > _MOST_FILTERS:
        raise BadPreference(name, f"given at most {_MOST_FILTERS} times")
    return values


def _target(parameters: Parameters) -> tuple[str, Match]:
    url, kind = _first(parameters, "url"), _first(parameters, "matchType")
    if not url:
        raise BadPreference("url", "given: the percent-encoded URL of the captures")
    scheme, separator, rest = url.rpartition("://")
    if not kind and rest.startswith("*."):
        kind, url = "domain", f"{scheme}{separator}{rest[2:]}".removesuffix("*")
    elif not kind and url.endswith("*"):
        kind, url = "prefix", url[:-1]
    match = _MATCHES.get(kind or "exact")
    if match is None or not url:
        raise BadPreference("matchType", ", ".join(_MATCHES))
    return url, match


def _output(parameters: Parameters, dialect: Dialect) -> str:
    output = _first(parameters, "output")
    if dialect == "wayback":
        # As at the Wayback Machine, every other output is text.
        return "json" if output == "json" else "text"
    if output not in ("", "cdxj", "json", "text"):
        raise BadPreference("output", "cdxj, json or text; for link see /timemap/link/{url}")
    return output or "cdxj"


def _fields(parameters: Parameters) -> tuple[str, ...]:
    wanted = _first(parameters, "fields") or _first(parameters, "fl")
    return tuple(_known("fl", name) for name in wanted.split(",", len(FIELDS)) if name)


def _known(parameter: str, name: str) -> str:
    if name not in FIELDS:
        raise BadPreference(parameter, f"of the fields {', '.join(NAMES)}")
    return name


def _flag(parameters: Parameters, name: str) -> bool:
    return _first(parameters, name).lower() in _TRUE


def _number(parameters: Parameters, name: str, *, signed: bool = False) -> int:
    text = _first(parameters, name)
    digits = text.removeprefix("-") if signed else text
    if not text:
        return 0
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST_NUMBER):
        raise BadPreference(name, "a whole number" + ("" if signed else ", not less than 0"))
    return int(text)


def _digits(parameters: Parameters, name: str) -> str:
    text = _first(parameters, name)
    if text and not (text.isascii() and text.isdecimal() and len(text) <= 14):
        raise BadPreference(name, "1 to 14 digits: YYYYMMDDhhmmss, or fewer")
    return text


def _order(parameters: Parameters) -> tuple[Order, Moment | None]:
    sort = _first(parameters, "sort")
    if sort == "closest" and "closest" not in parameters:
        raise BadPreference("closest", "given with sort=closest, as in closest=20130501")
    if sort == "reverse" or _flag(parameters, "reverse"):
        return "newest", None
    if sort not in ("", "closest", "default", "regular"):
        raise BadPreference("sort", "closest or reverse")
    digits = "" if sort in ("default", "regular") else _first(parameters, "closest")
    if not digits:
        # pywb sends sort=closest with an empty closest if it asks for no time.
        return "oldest", None
    near = moment_of("closest", digits)
    return ("newest", None) if near is None else ("nearest", near)


def moment_of(name: str, digits: str) -> Moment | None:
    """Read a timestamp of 1 to 14 digits; fewer than 4 ask for the newest (K-2).

    Raises BadPreference.
    """
    if digits == "now":
        return None
    try:
        stamp = Stamp(digits, _digits({name: [digits]}, name))
        return stamp_moment(stamp, 0, Diagnosis())
    except Malformed as complaint:
        raise BadPreference(name, f"a time that exists: {complaint.why}") from complaint


def _collapse(text: str) -> Collapse:
    name, colon, length = text.partition(":")
    field = _known("collapse", name)
    if not colon:
        return Collapse(field, None)
    if not (length.isascii() and length.isdecimal() and 0 < len(length) <= 4 and int(length)):
        raise BadPreference("collapse", "field or field:N, as in timestamp:8")
    return Collapse(field, int(length))


def _filters(parameters: Parameters, dialect: Dialect) -> Sequence[Filter]:
    return [_filter(text, dialect) for text in _many(parameters, "filter")]


def _filter(text: str, dialect: Dialect) -> Filter:
    """Read ``[!]field:expression`` (Wayback) or ``[!][=|~]field:text`` (pywb).

    Both dialects accept both. They differ without a sign before the field: the Wayback Machine
    matches an expression against the whole field, pywb searches for a text in it.
    """
    bare = text.removeprefix("!")
    sign = bare[:1] if bare[:1] in ("=", "~") else ""
    name, colon, value = bare.removeprefix(sign).partition(":")
    if not colon:
        raise BadPreference("filter", "[!]field:expression, as in !statuscode:404")
    comparison = _comparison(sign or dialect, value)
    return Filter(_known("filter", name), comparison, not text.startswith("!"))


def _comparison(sign: str, value: str) -> Callable[[str], bool]:
    if sign == "=":
        return lambda text: text == value
    if sign == "pywb":
        return lambda text: value in text
    try:
        return Pattern(value, prefix=sign == "~").matches
    except Malformed as complaint:
        allowed = f"a plain expression (character {complaint.position + 1}): {complaint.why}"
        raise BadPreference("filter", allowed) from complaint


def is_unknown(value: str) -> bool:
    """Whether the value of a field is unknown: two unknown digests are not equal."""
    return value == UNKNOWN
