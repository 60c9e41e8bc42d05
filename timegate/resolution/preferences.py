"""Preferences of a client: which archives, how precise, in which direction, how long to wait.

A query parameter is binding: a bad value is rejected. A preference in ``Prefer`` (RFC 7240) is
not: an unknown or bad one is ignored, and those that were applied are listed in
``Preference-Applied`` (F-1). Query parameters take precedence.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from operator import mul
from typing import Final, NamedTuple, get_args

from archives.diagnostics import Diagnosis, Malformed
from archives.regex_compat import compiled
from archives.registry import Registry
from archives.uri import check_text
from timegate.content.fragments import LONGEST_QUOTE, quote_text, read_quote
from timegate.identifiers.url import read_url
from timegate.resolution.model import (
    Direction,
    Preferences,
    Strictness,
    Verification,
    WantedStatus,
)
from timegate.resolution.query import NotNegotiable, query_for_url

LONGEST_WAIT: Final = 30.0
"""Seconds. For anything longer, clients should send the request again."""
_MOST_ARCHIVES: Final = 100
_MOST_ALSO: Final = 5
"""Equivalent URLs of one reference; each costs as many requests as the URL itself."""
_DAY: Final = 86_400

_ARCHIVE: Final = compiled(r"[A-Za-z0-9._~-]{1,253}")
_SECONDS: Final = compiled(r"[0-9]{1,3}(?:\.[0-9]{1,3})?")
# Six digits: as many years still fit into a timedelta.
_SHORT: Final = compiled(r"([0-9]{1,6})([smhdw])")
_ISO: Final = compiled(
    r"P(?=[0-9T])(?:([0-9]{1,6})Y)?(?:([0-9]{1,6})M)?(?:([0-9]{1,6})W)?(?:([0-9]{1,6})D)?"
    r"(?:T(?=[0-9])(?:([0-9]{1,6})H)?(?:([0-9]{1,6})M)?(?:([0-9]{1,6})S)?)?"
)
# A year has 365 days and a month 30, because a tolerance does not start at a date.
_ISO_UNITS: Final = tuple(timedelta(days=n) for n in (365, 30, 7, 1)) + tuple(
    timedelta(seconds=n) for n in (3600, 60, 1)
)
_SHORT_UNITS: Final = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_TCHAR: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]"
_QUOTED: Final = r'"((?:[^"\\]|\\.)*+)"'
# One item of a list: its name, its value, and parameters, which are ignored.
_ITEM: Final = compiled(
    rf"[ \t,]*+({_TCHAR}++)(?:[ \t]*+=[ \t]*+(?:{_QUOTED}|({_TCHAR}*+)))?"
    r'(?:[^,"]|"(?:[^"\\]|\\.)*+")*+'
)
_ESCAPE: Final = compiled(r"\\(.)")
_WORD: Final = compiled(rf"{_TCHAR}++")


class BadPreference(ValueError):
    """A parameter with a bad value; the message says which, and what is allowed."""

    def __init__(self, name: str, allowed: str) -> None:
        super().__init__(f"{name} must be {allowed}")
        self.name = name
        self.allowed = allowed


def preferences_from(
    query_parameters: Mapping[str, str], prefer: str | None, cache_control: str | None
) -> tuple[Preferences, tuple[str, ...]]:
    """Return the preferences of the client, and those in ``Prefer`` that were applied.

    Raises BadPreference for a query parameter with a bad value. Query parameters with other
    names are ignored.
    """
    if not query_parameters and prefer is None and cache_control is None:
        return NO_PREFERENCES, ()
    caching = _items(cache_control)
    preferences = Preferences(
        no_cache="no-cache" in caching, only_if_cached="only-if-cached" in caching
    )
    for parameter in PARAMETERS:
        if parameter.name in query_parameters:
            changed = parameter.apply(preferences, query_parameters[parameter.name])
            if changed is None:
                raise BadPreference(parameter.name, parameter.allowed)
            preferences = changed
    return _with_prefer(preferences, _items(prefer), query_parameters.keys())


NO_PREFERENCES: Final = Preferences()
"""The preferences of a client that states none."""


def check_archives(preferences: Preferences, registry: Registry) -> None:
    """Check that the chosen archives exist; otherwise no archive would be queried.

    Raises BadPreference.
    """
    for name in preferences.archives or ():
        if registry.by_id(name) is None:
            raise BadPreference("archives", f"ids of /archives; there is no {name!r}")


def _with_prefer(
    preferences: Preferences, prefer: Mapping[str, str], binding: Collection[str]
) -> tuple[Preferences, tuple[str, ...]]:
    """Return *preferences* with those of *prefer* that no parameter in *binding* overrides."""
    applied: list[str] = []
    for name, text in prefer.items():
        if name in _BY_NAME and name not in binding:
            changed = _BY_NAME[name].apply(preferences, text)
            if changed is not None:
                preferences = changed
                applied.append(
                    f"{name}={text}" if _WORD.fullmatch(text) else f'{name}="{text}"'
                )
    return preferences, tuple(applied)


def _items(field: str | None) -> dict[str, str]:
    """Return the items of a list, up to the first error; of equal names the first counts."""
    items: dict[str, str] = {}
    text, at = field or "", 0
    while match := _ITEM.match(text, at):
        name, quoted, bare = match.groups()
        value = bare or "" if quoted is None else _ESCAPE.sub(r"\1", quoted)
        items.setdefault(name.lower(), value)
        at = match.end()
    return items


class Parameter(NamedTuple):
    """One preference, as a query parameter and in ``Prefer``."""

    name: str
    description: str
    """For people: what it does."""
    allowed: str
    """For people: its values."""
    apply: Callable[[Preferences, str], Preferences | None]
    """Returns the preferences with this value; None for a bad value."""
    values: tuple[str, ...] = ()
    """All values, if there are only a few."""


def _with_archives(preferences: Preferences, text: str) -> Preferences | None:
    named = _archives(text)
    return None if named is None else replace(preferences, archives=named)


def _with_exclude(preferences: Preferences, text: str) -> Preferences | None:
    named = _archives(text)
    return None if named is None else replace(preferences, exclude=named)


def _archives(text: str) -> frozenset[str] | None:
    names = [name.strip(" \t") for name in text.split(",", _MOST_ARCHIVES - 1)]
    return frozenset(names) if all(_ARCHIVE.fullmatch(name) for name in names) else None


def _with_precision(preferences: Preferences, text: str) -> Preferences | None:
    found = next((word for word in _STRICTNESSES if word == text), None)
    return found and replace(preferences, precision=found)


def _with_direction(preferences: Preferences, text: str) -> Preferences | None:
    found = next((word for word in _DIRECTIONS if word == text), None)
    return found and replace(preferences, direction=found)


def _with_verify(preferences: Preferences, text: str) -> Preferences | None:
    found = next((word for word in _VERIFICATIONS if word == text), None)
    return found and replace(preferences, verify=found)


def _with_status(preferences: Preferences, text: str) -> Preferences | None:
    found = next((word for word in _STATUSES if word == text), None)
    return found and replace(preferences, status=found)


def _with_tolerance(preferences: Preferences, text: str) -> Preferences | None:
    tolerance = duration(text)
    return None if tolerance is None else replace(preferences, tolerance=tolerance)


def _with_wait(preferences: Preferences, text: str) -> Preferences | None:
    wait = float(text) if _SECONDS.fullmatch(text) else 0.0
    return replace(preferences, wait=wait) if 0 < wait <= LONGEST_WAIT else None


def _with_also(preferences: Preferences, text: str) -> Preferences | None:
    try:
        urls = tuple(dict.fromkeys(map(_read_also, text.split())))
    except (Malformed, NotNegotiable):
        return None
    return replace(preferences, also=urls) if 0 < len(urls) <= _MOST_ALSO else None


def _with_quote(preferences: Preferences, text: str) -> Preferences | None:
    wanted = read_quote(text)
    return None if wanted is None else replace(preferences, quote=wanted)


def _read_also(text: str) -> str:
    """Return a URL as it is sent to archives. Raises Malformed and NotNegotiable."""
    check_text(text)
    reading = read_url(text, Diagnosis())
    return query_for_url(reading.identifier.item or text, None).original


def with_also(preferences: Preferences, urls: Sequence[str]) -> Preferences:
    """Return *preferences* with the equivalent URLs *urls*. Raises BadPreference."""
    changed = _with_also(preferences, " ".join(urls)) if urls else preferences
    if changed is None:
        raise BadPreference(ALSO, _URLS)
    return changed


def duration(text: str) -> timedelta | None:
    """Read ``P3DT5H`` (ISO 8601) or ``24h``, ``90m``, ``30s``, ``7d``; None for other text."""
    short = _SHORT.fullmatch(text)
    if short:
        return int(short[1]) * _SHORT_UNITS[short[2]]
    iso = _ISO.fullmatch(text)
    if iso is None:
        return None
    counts = (int(count or 0) for count in iso.groups())
    return sum(map(mul, counts, _ISO_UNITS), start=timedelta(0))


_STRICTNESSES: Final[tuple[Strictness, ...]] = get_args(Strictness)
_DIRECTIONS: Final[tuple[Direction, ...]] = get_args(Direction)
_VERIFICATIONS: Final[tuple[Verification, ...]] = get_args(Verification)
_STATUSES: Final[tuple[WantedStatus, ...]] = get_args(WantedStatus)
_IDS: Final = f"ids of archives with commas between, at most {_MOST_ARCHIVES}"
ALSO: Final = "also"
_URLS: Final = f"http or https URLs, at most {_MOST_ALSO}"
PARAMETERS: Final = (
    Parameter("archives", "Query only these archives.", _IDS, _with_archives),
    Parameter("exclude", "Do not query these archives.", _IDS, _with_exclude),
    Parameter(
        "precision",
        "The least precise memento that is acceptable; day: of the same UTC day.",
        " or ".join(_STRICTNESSES),
        _with_precision,
        _STRICTNESSES,
    ),
    Parameter(
        "tolerance",
        "How far from the requested time a memento may be.",
        "a duration such as P3DT5H, 24h, 90m, 30s or 7d",
        _with_tolerance,
    ),
    Parameter(
        "direction",
        "The closest memento, or the closest before or after the requested time.",
        " or ".join(_DIRECTIONS),
        _with_direction,
        _DIRECTIONS,
    ),
    Parameter(
        "wait",
        "How long to wait for archives.",
        f"seconds, more than 0 and at most {LONGEST_WAIT:g}",
        _with_wait,
    ),
    Parameter(
        "verify",
        "Whether to request the memento itself before it is recommended (head), with its parts "
        "(page), or its content and that of other copies (content). The default is head for "
        "identifiers, and none for TimeGates.",
        " or ".join(_VERIFICATIONS),
        _with_verify,
        _VERIFICATIONS,
    ),
    Parameter(
        "status",
        "Whether a page nearby is preferred to an archived error or redirect.",
        " or ".join(_STATUSES),
        _with_status,
        _STATUSES,
    ),
    Parameter(
        ALSO,
        "Other URLs of the same page, in order, if this one gives nothing acceptable. "
        "One parameter for each URL; in Prefer, URLs with spaces between.",
        _URLS,
        _with_also,
    ),
    Parameter(
        "quote",
        "A quotation to look for in the text of the memento: plain, or as #:~:text=...",
        f"1 to {LONGEST_QUOTE} characters",
        _with_quote,
    ),
)
_BY_NAME: Final[Mapping[str, Parameter]] = {p.name: p for p in PARAMETERS}


def parameters_of(preferences: Preferences) -> dict[str, str]:
    """Return the query parameters that state *preferences*; those of the default are left out.

    ``no-cache`` and ``only-if-cached`` are in Cache-Control, and no parameters.
    """
    usual = _stated(NO_PREFERENCES)
    return {name: text for name, text in _stated(preferences).items() if text != usual[name]}


def _stated(preferences: Preferences) -> dict[str, str]:
    return {
        "archives": ",".join(sorted(preferences.archives or ())),
        "exclude": ",".join(sorted(preferences.exclude)),
        "precision": preferences.precision,
        "tolerance": "" if preferences.tolerance is None else _iso(preferences.tolerance),
        "direction": preferences.direction,
        "wait": "" if preferences.wait is None else f"{preferences.wait:g}",
        "verify": preferences.verify or "",
        "status": preferences.status,
        ALSO: " ".join(preferences.also),
        "quote": "" if preferences.quote is None else quote_text(preferences.quote),
    }


def _iso(tolerance: timedelta) -> str:
    years, days = divmod(tolerance.days, 365)
    return f"P{years}Y{days}DT{tolerance.seconds}S"


def prefers(prefer: str, preference: str) -> bool:
    """Whether a ``Prefer`` field has *preference*: ``handling=strict`` (RFC 7240 4.4)."""
    items = (item.partition(";")[0].replace(" ", "").lower() for item in prefer.split(","))
    return preference in items
