"""Response cache: whole responses, for the same request, and for the same at another time."""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Final, NamedTuple

from aiohttp import web
from cachetools import LRUCache

from archives.diagnostics import Diagnosis, Malformed
from archives.formats.httpdate import read_http_date
from timegate.resolution.preferences import preferences_from
from timegate.responses.model import Response, SettledResponse

Key = tuple[str | None, ...]
_MOST_BYTES: Final = 16 * 1024 * 1024
_OVERHEAD: Final = 1024


_MOST_SETTLED: Final = 8 * 1024 * 1024
_MOST_RANGES: Final = 4
"""Ranges of times of one page."""
_MOST_REFRESHED: Final = 10_000


class _CachedResponse(NamedTuple):
    began: int
    until: float
    response: Response


class _SettledEntry(NamedTuple):
    began: int
    until: float
    response: SettledResponse


class ResponseCache:
    """Caches whole responses, in bounded memory."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._responses: LRUCache[Key, _CachedResponse] = LRUCache(_MOST_BYTES, _size)
        self._settled: LRUCache[Key, list[_SettledEntry]] = LRUCache(
            _MOST_SETTLED, _size_of_all
        )
        """By key without ``Accept-Datetime``, the latest first."""
        self._order = count(1)
        self._refreshed: LRUCache[int, int] = LRUCache(_MOST_REFRESHED)
        """The place in the order of requests at which an address, by its hash, was last
        answered without caches."""

    def get(self, key: Key) -> Response | None:
        """Return the response for *key* while it is fresh."""
        try:
            entry = self._responses[key]
        except KeyError:
            return None
        left = entry.until - self._clock()
        if left > 0 and entry.began >= self._last_refreshed(key):
            return _aged(entry.response, left)
        del self._responses[key]
        return None

    def at_another_time(self, key: Key) -> Response | None:
        """Return the response for *key* if it follows from one for another time."""
        when = key[_TIME]
        entries = None if when is None else self._settled.get(_without_time(key))
        if entries is None or when is None:
            return None
        try:
            time = read_http_date(when, Diagnosis())
        except Malformed:
            return None
        now, refreshed = self._clock(), self._last_refreshed(key)
        for entry in entries:
            if now < entry.until and entry.began >= refreshed:
                response = entry.response.at(time)
                if response is not None:
                    return response
        return None

    def _last_refreshed(self, key: Key) -> int:
        """Return when the address of *key* was last answered without caches; 0 for never."""
        return self._refreshed.get(hash(key[1]), 0) if self._refreshed else 0

    def began(self) -> int:
        """Return the place of a request in the order of requests."""
        return next(self._order)

    def put(self, key: Key, response: Response, began: int) -> None:
        """Keep *response* for as long as it allows, unless there is a Cache-Control.

        The response to a request with ``no-cache`` is the answer to the same request without
        it, and makes all responses of its address stale whose requests began earlier.
        """
        if key[-1] and preferences_from({}, None, key[-1])[0].no_cache:
            began = self._refreshed[hash(key[1])] = self.began()
            key = (*key[:-1], None)
        if response.keep > 0 and not key[-1]:
            until = self._clock() + response.keep
            self._responses[key] = _CachedResponse(began, until, response)
            if response.settled is not None and key[_TIME] is not None:
                self._keep_settled(_without_time(key), response.settled, began)

    def _keep_settled(self, key: Key, settled: SettledResponse, began: int) -> None:
        entry = _SettledEntry(began, self._clock() + settled.keep, settled)
        others = self._settled.get(key, [])[: _MOST_RANGES - 1]
        self._settled[key] = [entry, *others]


def _aged(response: Response, left: float) -> Response:
    """Return *response*, which is kept for *left* seconds more, with its present age."""
    age = response.headers.get("Age")
    if age is None:
        return response
    seconds = int(age) + int(response.keep - left)
    return replace(response, headers={**response.headers, "Age": str(seconds)})


def key_of(request: web.BaseRequest, target: str, hidden: frozenset[str]) -> Key:
    """Return everything that a response may depend on."""
    headers = request.headers
    return (
        " ".join(sorted(hidden)) if hidden else "",
        target,
        headers.get("Accept-Datetime"),
        headers.get("Accept"),
        headers.get("Prefer"),
        headers.get("Cache-Control"),
    )


_TIMES: Final = (
    *("accept-datetime", "accept-datetime-precise"),
    *("memento-datetime", "timegate-datetime"),
)
"""Fields that state a time, and must not be repeated."""


def repeated_times(request: web.BaseRequest) -> frozenset[str]:
    """Return the fields with a time that there are more than one of."""
    headers = request.headers
    return frozenset([n for n in _TIMES if n in headers and len(headers.getall(n)) > 1])


_TIME: Final = 2
"""The place of ``Accept-Datetime`` in a key."""


def _without_time(key: Key) -> Key:
    return (*key[:_TIME], *key[_TIME + 1 :])


def wants_part(request: web.BaseRequest) -> bool:
    """Whether the client may want another response than the one that is cached.

    It may be less than the whole one, or the one for a time that is no part of the key.
    """
    headers = request.headers
    return (
        "Range" in headers
        or "If-None-Match" in headers
        or "If-Modified-Since" in headers
        or "Accept-Datetime-Precise" in headers
    )


def _size(entry: _CachedResponse) -> int:
    headers, body = entry.response.headers, entry.response.body
    # In C: it is done for every response that is kept.
    return _OVERHEAD + len(body) + sum(map(len, headers)) + sum(map(len, headers.values()))


def _size_of_all(entries: list[_SettledEntry]) -> int:
    return sum(_OVERHEAD + entry.response.size for entry in entries)
