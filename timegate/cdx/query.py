"""What a CDX client asks for: the parameters of the Wayback Machine, or of pywb, as a value.

Parameters with other names are ignored, as both do. What has a name that we know and a value
that we cannot obey is refused: captures that were not asked for look like those that were.
"""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple
from urllib.parse import unquote

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import Moment
from archives.replay_links.fields import Stamp, stamp_moment
from timegate.cdx.formats import FIELDS, NAMES, UNKNOWN, Capture
from timegate.cdx.pattern import Pattern
from timegate.resolution.preferences import BadPreference

MOST_ROWS: Final = 150_000
"""The Wayback Machine's limit; resume keys lead further."""
MOST_HELD: Final = 25_000
"""Rows that have to be held to put them into another order than that of time: 10 MB."""
_MOST_PARAMETERS: Final = 60
_MOST_FILTERS: Final = 8
_LONGEST_NUMBER: Final = 9
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
Test = Callable[[Capture], bool]


class Position(NamedTuple):
    """A place in the order of captures: behind this one."""

    stamp: str
    uri: str


class Collapse(NamedTuple):
    """Of neighbours whose field begins alike, only the first is wanted."""

    field: str
    length: int | None


@dataclass(frozen=True, slots=True)
class CdxQuery:
    """Which captures of a URL are wanted, in which order, and how they are written."""

    url: str
    output: str
    fields: tuple[str, ...] = ()
    """Empty for those that are usual in the output."""
    since: str = ""
    """Digits of the first time that is wanted."""
    until: str = ""
    """Digits of the last one; ``2013`` is all of that year."""
    filters: tuple[Test, ...] = ()
    collapses: tuple[Collapse, ...] = ()
    order: Order = "oldest"
    near: Moment | None = None
    limit: int = MOST_ROWS
    last: bool = False
    """Whether the limit counts from the end."""
    offset: int = 0
    after: Position | None = None
    resumable: bool = False
    """Whether the client wants to know how to go on where the limit was reached."""
    page: int = 0
    counts_pages: bool = False
    match: Match = "exact"
    """Which URLs are meant: this one, or all that begin with it, of its host or its domain."""

    @property
    def holds(self) -> bool:
        """Whether nothing can be sent before everything was read."""
        return self.last or self.order != "oldest"


def parameters_in(rest: str) -> dict[str, list[str]]:
    """Read the query of a target. A plus is a plus: URLs have them, and no blanks."""
    pairs = rest.partition("?")[2].split("&", _MOST_PARAMETERS)[:_MOST_PARAMETERS]
    found: dict[str, list[str]] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        found.setdefault(unquote(name), []).append(unquote(value, errors="surrogateescape"))
    return found


def query_from(parameters: Parameters, dialect: Dialect, *, ranges: bool = False) -> CdxQuery:
    """Return what *parameters* ask for; *ranges* of URLs can be had. Raises BadChoice."""
    url, match = _target(parameters, ranges=ranges)
    order, near = _order(parameters)
    limit = _number(parameters, "limit", signed=True)
    offset = _number(parameters, "offset")
    after = _after(parameters)
    holds = order != "oldest" or limit < 0
    if holds and (after is not None or abs(limit) + offset > MOST_HELD):
        allowed = f"at most {MOST_HELD} with offset, and without resumeKey, unless oldest first"
        raise BadPreference("limit", allowed)
    if match != "exact" and after is not None:
        raise BadPreference("resumeKey", "used with one URL only, not with a range of them")
    most = MOST_HELD - offset if holds else MOST_ROWS
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
        page=_number(parameters, "page"),
        counts_pages=_flag(parameters, "showNumPages"),
    )


def resume_key(last: Capture) -> str:
    """Return the key with which a client goes on behind *last*.

    Opaque, and no part of any row: clients cut it out of the text wherever they find it first.
    """
    return base64.urlsafe_b64encode(f"{last.stamp} {last.uri}".encode()).decode().rstrip("=")


def _after(parameters: Parameters) -> Position | None:
    key = _one(parameters, "resumeKey")
    if not key:
        return None
    try:
        octets = base64.b64decode(key + "=" * (-len(key) % 4), altchars=b"-_", validate=True)
        stamp, _, uri = octets.decode().partition(" ")
    except (binascii.Error, ValueError):
        stamp = uri = ""
    if not (stamp.isascii() and stamp.isdecimal() and uri):
        raise BadPreference("resumeKey", "a key that stood at the end of an answer")
    return Position(stamp, uri)


def _one(parameters: Parameters, name: str) -> str:
    values = parameters.get(name)
    return values[0] if values else ""


def _many(parameters: Parameters, name: str) -> Sequence[str]:
    values = [value for value in parameters.get(name, ()) if value]
    if len(values) > _MOST_FILTERS:
        raise BadPreference(name, f"given at most {_MOST_FILTERS} times")
    return values


def _target(parameters: Parameters, *, ranges: bool) -> tuple[str, Match]:
    url, kind = _one(parameters, "url"), _one(parameters, "matchType")
    if not url:
        raise BadPreference("url", "given: the URL whose captures are wanted, percent-encoded")
    if not kind and url.startswith("*."):
        kind, url = "domain", url[2:]
    elif not kind and url.endswith("*"):
        kind, url = "prefix", url[:-1]
    match = _MATCHES.get(kind or "exact")
    if match is None or (match != "exact" and not ranges):
        one = "exact: archives are asked for one URL at a time"
        raise BadPreference("matchType", ", ".join(_MATCHES) if ranges else one)
    return url, match


def _output(parameters: Parameters, dialect: Dialect) -> str:
    output = _one(parameters, "output")
    if dialect == "wayback":
        # Everything else is text at the Wayback Machine, too.
        return "json" if output == "json" else "text"
    if output not in ("", "cdxj", "json", "text"):
        raise BadPreference("output", "cdxj, json or text; for link see /timemap/link/{url}")
    return output or "cdxj"


def _fields(parameters: Parameters) -> tuple[str, ...]:
    wanted = _one(parameters, "fields") or _one(parameters, "fl")
    return tuple(_known("fl", name) for name in wanted.split(",", len(FIELDS)) if name)


def _known(parameter: str, name: str) -> str:
    if name not in FIELDS:
        raise BadPreference(parameter, f"of the fields {', '.join(NAMES)}")
    return name


def _flag(parameters: Parameters, name: str) -> bool:
    return _one(parameters, name).lower() in _TRUE


def _number(parameters: Parameters, name: str, *, signed: bool = False) -> int:
    text = _one(parameters, name)
    digits = text.removeprefix("-") if signed else text
    if not text:
        return 0
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST_NUMBER):
        raise BadPreference(name, "a whole number" + ("" if signed else ", not less than 0"))
    return int(text)


def _digits(parameters: Parameters, name: str) -> str:
    text = _one(parameters, name)
    if text and not (text.isascii() and text.isdecimal() and len(text) <= 14):
        raise BadPreference(name, "1 to 14 digits: YYYYMMDDhhmmss, or fewer")
    return text


def _order(parameters: Parameters) -> tuple[Order, Moment | None]:
    sort = _one(parameters, "sort")
    if sort == "closest" and "closest" not in parameters:
        raise BadPreference("closest", "given with sort=closest, as in closest=20130501")
    if sort == "reverse" or _flag(parameters, "reverse"):
        return "newest", None
    if sort not in ("", "closest", "default", "regular"):
        raise BadPreference("sort", "closest or reverse")
    digits = "" if sort in ("default", "regular") else _one(parameters, "closest")
    if not digits:
        # pywb sends sort=closest and an empty closest where it asks for no time.
        return "oldest", None
    near = moment_of("closest", digits)
    return ("newest", None) if near is None else ("nearest", near)


def moment_of(name: str, digits: str) -> Moment | None:
    """Read a stamp of 1 to 14 digits; fewer than 4 ask for the newest (R-2).

    Raises BadChoice.
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


def _filters(parameters: Parameters, dialect: Dialect) -> Sequence[Test]:
    return [_filter(text, dialect) for text in _many(parameters, "filter")]


def _filter(text: str, dialect: Dialect) -> Test:
    """Read ``[!]field:expression`` (Wayback) or ``[!][=|~]field:text`` (pywb).

    Both are understood in both places, but for a field without a sign in front: at the Wayback
    Machine that is an expression for the whole field, at pywb a text somewhere in it.
    """
    bare = text.removeprefix("!")
    sign = bare[:1] if bare[:1] in ("=", "~") else ""
    name, colon, value = bare.removeprefix(sign).partition(":")
    if not colon:
        raise BadPreference("filter", "[!]field:expression, as in !statuscode:404")
    field = FIELDS[_known("filter", name)]
    wanted = not text.startswith("!")
    holds = _comparison(sign or dialect, value)
    return lambda capture: holds(field(capture)) == wanted


def _comparison(sign: str, value: str) -> Callable[[str], bool]:
    if sign == "=":
        return lambda text: text == value
    if sign == "pywb":
        return lambda text: value in text
    try:
        return Pattern(value, prefix=sign == "~").matches
    except Malformed as complaint:
        where = f"a plain expression (character {complaint.position + 1}): {complaint.why}"
        raise BadPreference("filter", where) from complaint


def is_unknown(value: str) -> bool:
    """Whether a field says nothing: two unknown digests are not the same digest."""
    return value == UNKNOWN
