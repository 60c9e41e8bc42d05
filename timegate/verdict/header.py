"""``Memento-Precision``: types of a verdict, the member ``match``, and the header (X-1 to X-4).

The header is a Dictionary of RFC 9651.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Final
from urllib.parse import quote

from msgspec import Struct, structs

from timegate.resolution.model import Direction, Resolution
from timegate.resolution.ranking import is_on_day

Parameter = str | int
_SAME_ARCHIVE: Final = ("same", "alias", "any")
_SAME_URI: Final = ("same", "normalized")
_ALL_OF_IT: Final = ("as-requested", "upgraded")


class Member(Struct, frozen=True):
    """One aspect of an answer: a value, with what was asked and found as parameters."""

    value: str
    params: Mapping[str, Parameter] = {}

    def __post_init__(self) -> None:
        """Drop empty parameters, which are those that are not known."""
        if "" in self.params.values():
            known = {name: value for name, value in self.params.items() if value != ""}
            structs.force_setattr(self, "params", known)

    def __getitem__(self, name: str) -> Parameter | None:
        """Return a parameter; None where there is none of this name."""
        return self.params.get(name)


@lru_cache(maxsize=64)
def plain(value: str) -> Member:
    """Return the member *value* without parameters."""
    return Member(value)


class Verdict(Struct, frozen=True):
    """Every member of X-3, in its order. Where nothing was found, most are None."""

    match: Member
    evidence: Member | None = None
    archive: Member | None = None
    time: Member | None = None
    granularity: Member | None = None
    coverage: Member | None = None
    uri: Member | None = None
    content: Member | None = None
    sources: Member | None = None
    negotiation: Member | None = None
    syntax: Member | None = None
    parts: Member | None = None
    """None, as the two below, if the parts of the page were not looked for."""
    spread: Member | None = None
    coherence: Member | None = None
    comparison: Member | None = None
    """None if nothing is known of the copies around the time."""

    def members(self) -> Iterator[tuple[str, Member | None]]:
        """Yield every member with its name, in the order of X-3."""
        return zip(_NAMES, _VALUES(self), strict=True)


_NAMES: Final = Verdict.__struct_fields__
_VALUES: Final = attrgetter(*_NAMES)
OF_PARTS: Final = ("parts", "spread", "coherence", "comparison")
"""The members that are there only if the parts of the page, or other copies, were compared."""


def matched(
    archive: Member, time: Member, granularity: Member, coverage: Member, uri: Member
) -> Member:
    """Return ``match``, the best value that all members allow (X-4).

    An archive-id that is not in the registry makes every answer a substitute: nothing shows
    that it comes from the archive that was named (P-40).
    """
    if archive.value not in _SAME_ARCHIVE:
        return plain("substitute")
    if uri.value not in _SAME_URI or coverage.value not in _ALL_OF_IT:
        return plain("approximate")
    if time.value == "exact" and granularity.value == "same":
        return plain("exact")
    if time.value == "within":
        # An interval as fine as the archive's own dates leaves no room for another capture.
        return plain("exact" if granularity.value == "same" else "within")
    return plain("within" if time.value in ("exact", "latest") else "approximate")


def satisfies(resolution: Resolution, verdict: Verdict) -> bool:
    """Whether the answer meets the preferences for precision, tolerance and direction."""
    preferences = resolution.preferences
    archive, time = verdict.archive, verdict.time
    if archive is None or time is None:
        return False
    if preferences.precision == "exact" and verdict.match.value != "exact":
        return False
    if preferences.precision == "archive" and archive.value not in ("same", "alias", "any"):
        return False
    if preferences.precision == "day" and not _is_on_day(resolution):
        return False
    tolerance = (
        float("inf") if preferences.tolerance is None else preferences.tolerance.total_seconds()
    )
    return _is_within(time, tolerance) and _is_on_side(time, preferences.direction)


def _is_on_day(resolution: Resolution) -> bool:
    """Whether the capture is of the requested day in UTC, or in a longer requested interval."""
    at, memento = resolution.query.at, resolution.memento
    return at is None or (memento is not None and is_on_day(at, memento))


def _is_within(time: Member, seconds: float) -> bool:
    return seconds == float("inf") or (
        time.value != "unknown" and abs(int(time["delta"] or 0)) <= seconds
    )


def _is_on_side(time: Member, direction: Direction) -> bool:
    """Whether the capture lies in the interval, or on the preferred side of it."""
    if direction == "closest":
        return True
    return time.value in ("exact", "within", "latest", direction)


LONGEST_TEXT: Final = 2000
_TOKEN_PARAMETERS: Final = {
    "evidence": ("view",),
    "time": ("basis", "live"),
    "granularity": ("req", "got"),
    "coverage": ("req", "got"),
    "uri": ("rule",),
    "parts": ("read",),
    "comparison": ("class", "basis", "from-class", "to-class", "instead-of"),
}
"""Parameters with a closed vocabulary are Tokens; all others are Strings or Integers."""
_INTEGER: Final = re.compile(r"[0-9]{1,15}")
_TOKEN: Final = re.compile(r"[A-Za-z*][A-Za-z0-9:/!#$%&'*+.^_`|~-]{0,63}")
_PRINTABLE: Final = "".join(map(chr, range(0x20, 0x7F)))


def header(verdict: Verdict) -> str:
    """Return the value of ``Memento-Precision``, ASCII throughout."""
    # A Dictionary is a comma-separated list of its members (RFC 9651 4.1.2), most of which are
    # the same in every answer and come from a cache.
    return ", ".join(_members(verdict))


def around_time(verdict: Verdict) -> tuple[str, str]:
    """Return the parts of the header before and after the member ``time``."""
    members = _members(verdict)
    here = next(n for n, text in enumerate(members) if text.startswith("time="))
    before, behind = members[:here], members[here + 1 :]
    return "".join(f"{text}, " for text in before), "".join(f", {text}" for text in behind)


def written(name: str, member: Member) -> str:
    """Return one member of the header."""
    return _text(name, member.value, member.params.items())


def _members(verdict: Verdict) -> list[str]:
    return [
        _member(name, member.value, tuple(member.params.items()))
        for name, member in verdict.members()
        if member is not None
    ]


@lru_cache(maxsize=1024)
def _member(name: str, value: str, params: tuple[tuple[str, Parameter], ...]) -> str:
    return _text(name, value, params)


def _text(name: str, value: str, params: Iterable[tuple[str, Parameter]]) -> str:
    # Not written by http_sf, which takes 25 microseconds for the one member that differs in
    # every answer; the tests compare both.
    parameters = [
        f";{key}={item}"
        for key, parameter in params
        if (item := _item(parameter, name, key)) is not None
    ]
    return f"{name}={_value(value)}{''.join(parameters)}"


def _value(value: str) -> str:
    """Write a Token, an Integer or a String."""
    if _TOKEN.fullmatch(value) or _INTEGER.fullmatch(value):
        return value
    return f'"{value}"'


def _item(value: Parameter, member: str, name: str) -> str | None:
    """Write an Integer, a Token or a String; None for a text that is too long."""
    if isinstance(value, int):
        return str(value)
    if name in _TOKEN_PARAMETERS.get(member, ()) and _TOKEN.fullmatch(value):
        return value
    plain = value.isascii() and value.isprintable()
    text = value if plain else quote(value, safe=_PRINTABLE, errors="replace")
    if len(text) > LONGEST_TEXT:
        return None
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
