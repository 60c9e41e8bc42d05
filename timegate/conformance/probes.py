"""The requests that are sent to an archive: URLs, header fields, and the times to ask for."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Final

from archives.formats.httpdate import http_date
from archives.moment import Moment, second_of
from archives.source import Purpose, Request
from timegate.conformance.parsed_response import Capture

BAD_DATES: Final[Mapping[str, str]] = {
    "not a date": "sometime in 2013",
    "ISO 8601": "2013-06-15T08:30:00Z",
    "an offset": "Sat, 15 Jun 2013 08:30:00 +0200",
    "the obsolete form of RFC 850": "Saturday, 15-Jun-13 08:30:00 GMT",
    "lower case": "sat, 15 jun 2013 08:30:00 gmt",
    "hour 25": "Sat, 15 Jun 2013 25:00:00 GMT",
    "two dates": "Sat, 15 Jun 2013 08:30:00 GMT, Sun, 16 Jun 2013 08:30:00 GMT",
    "31 February": "Sun, 31 Feb 2013 08:30:00 GMT",
}
"""Each violates RFC 7089 2.1.1.1, except the last, which fits the grammar but no calendar.

An empty value is not among them: LANL's validator sends it to mean that no time is requested.
"""
IMPOSSIBLE_DAY: Final = "31 February"

ORIGIN: Final = "https://client.example"
"""The origin of a page on another site whose script sends requests."""
_SOME_TIME: Final = "20130615083000"
"""Requested where no capture time is known."""
LONG_BEFORE: Final = "19680401120000"
"""Before the web, and before the clocks of most computers begin (1970)."""
_AFTER_2038: Final = "20400101000000"
"""Later than clocks of 32 bits can tell."""
_YEAR: Final = timedelta(days=365)

_OPTIONS: Final = "OPTIONS"


def memento(url: str, stamp: str | None = None) -> Request:
    """Return a request to a TimeGate, memento or original, for the time *stamp*."""
    headers = {} if stamp is None else {"accept-datetime": http_date(stamp)}
    return Request("GET", url, "memento", headers)


def cross_site(url: str) -> Request:
    """Return a request as a script of another site sends it."""
    return Request("GET", url, "memento", {"origin": ORIGIN})


def bad_date(url: str, date: str) -> Request:
    return Request("GET", url, "memento", {"accept-datetime": date})


def head_cross_site(url: str) -> Request:
    """Return the HEAD request of `cross_site`."""
    return Request("HEAD", url, "memento", {"origin": ORIGIN})


def head(url: str, purpose: Purpose, stamp: str | None = None) -> Request:
    headers = {} if stamp is None else {"accept-datetime": http_date(stamp)}
    return Request("HEAD", url, purpose, headers)


def timemap(url: str, stamp: str | None = None) -> Request:
    headers = {} if stamp is None else {"accept-datetime": http_date(stamp)}
    return Request("GET", url, "index", headers)


def preflight(url: str) -> Request:
    """Return what a browser sends before a script may use Accept-Datetime (Fetch 4.8)."""
    return Request(
        _OPTIONS,
        url,
        "memento",
        {
            "origin": ORIGIN,
            "access-control-request-method": "GET",
            "access-control-request-headers": "accept-datetime",
        },
    )


def between(captures: Sequence[Capture]) -> tuple[str, str | None]:
    """Return two times inside the widest gap: one nearer to its start, one nearer to its end.

    At a quarter of the gap both rules in use, nearest and nearest before, choose the same
    memento. Without two mementos there is only one time to ask for.
    """
    stamps = sorted({stamp for stamp, _ in captures})
    if len(stamps) < 2:
        return (stamps or [_SOME_TIME])[0], None
    start, end = max(
        pairwise(stamps),
        key=lambda pair: second_of(pair[1]) - second_of(pair[0]),
    )
    quarter = (second_of(end) - second_of(start)) / 4
    if quarter < timedelta(seconds=1):
        return start, None
    return _digits(second_of(start) + quarter), _digits(second_of(end) - quarter)


def at_another_time(uri: str, stamp: str, other: str) -> str:
    """Return the replay address *uri* with the time *other* and without a modifier."""
    before, _, behind = uri.partition(f"/{stamp}")
    return f"{before}/{other}/{behind.partition('/')[2]}"


def a_year_before(stamp: str) -> str:
    return _digits(second_of(stamp) - _YEAR)


def a_year_after(stamp: str) -> str:
    return _digits(second_of(stamp) + _YEAR)


def after(captures: Sequence[Capture], now: str) -> str:
    """Return a time after the last capture, in the past if possible, else in the future."""
    past = a_year_after(captures[-1][0]) if captures else now
    return past if past < now else a_year_after(now)


def future(now: str) -> str:
    """Return a time in the future, which only the newest memento can answer."""
    return max(a_year_after(now), _AFTER_2038)


def spread(among: Sequence[str], count: int, seed: str) -> list[str]:
    """Return *count* of *among*, one at random from each part; the same *seed* repeats it."""
    if len(among) <= count:
        return list(among)
    random = Random(seed)  # noqa: S311 -- not a secret, and repeatable
    edges = [number * len(among) // count for number in range(count + 1)]
    return [among[random.randrange(start, end)] for start, end in pairwise(edges)]


def _digits(at: datetime) -> str:
    return Moment.of(at).digits
