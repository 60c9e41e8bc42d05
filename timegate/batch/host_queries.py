"""Host queries: where many references share a host, one question to an index answers them.

A CDX server lists the captures of all pages below a prefix. One such question is planned for
each archive and host, if it costs less than half of the single ones, and at most once. What it
answers goes into the cache of answers, as what the index says: whether the memento is delivered
is checked as for any other. Pages that the list does not settle are asked one by one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from os.path import commonprefix
from typing import Final, NamedTuple

from archives.addresses import WITHOUT_SERVER
from archives.errors import ArchiveError
from archives.listing import Excerpt, cdx_query, read_captures
from archives.model import ArchiveEntry, Closest, Memento, Rate, Relation
from archives.moment import Moment, second_of
from archives.nearest import nearest
from archives.negotiation import Clock
from archives.source import Fetcher
from archives.surt import surt
from timegate.batch.forecast import per_second
from timegate.resolution.model import Query

MOST_PAGES: Final = 2000
"""Pages for which one question is planned."""
_FEWEST_PAGES: Final = 5
_ROWS_PER_PAGE: Final = 50
_MOST_ROWS: Final = 10_000
_ROW_SECONDS: Final = 0.0005
"""Seconds that a row costs: some 150 octets to send and to read."""
_YEARS: Final = 1
"""Years before the first and after the last time that are asked for as well."""
_MOST_FAILURES: Final = 2
"""After so many failures, an archive is not asked so any more."""

Remember = Callable[[str, str, Moment | None, Closest | None], Awaitable[None]]
"""Caches what an archive answers for a URL and a time."""


class HostQuery(NamedTuple):
    """One question for the captures of many pages."""

    url: str
    """What all pages begin with, without the scheme."""
    match: str
    """``host`` or ``prefix``."""
    first: int
    """The first year."""
    last: int
    """The last year."""
    rows: int
    """The most rows to read."""

    @property
    def options(self) -> Mapping[str, str]:
        """The parameters of the question, in every dialect."""
        return {
            "matchType": self.match,
            "from": f"{self.first}",
            "to": f"{self.last}",
            "limit": f"{self.rows}",
        }


def can_be_asked(entry: ArchiveEntry) -> bool:
    """Whether *entry* has an index that answers such questions."""
    return None not in (entry.cdx, entry.dialect, entry.replay) and not entry.gate


def plan(entry: ArchiveEntry, queries: Sequence[Query]) -> HostQuery | None:
    """Return the question that answers *queries*, all of one host; None if it costs more."""
    times = [query.at.negotiated for query in queries if query.at is not None]
    pages = {surt(query.original) for query in queries if query.at is not None}
    if len(pages) < _FEWEST_PAGES:
        return None
    limits = entry.limits
    rows = min(len(pages) * _ROWS_PER_PAGE, _MOST_ROWS)
    single = limits.index if entry.kind.uses_index else limits.memento
    together = _seconds(limits.index) + rows * _ROW_SECONDS
    if 2 * together > len(pages) * _seconds(single):
        return None
    first, last = min(times).year - _YEARS, max(times).year + _YEARS
    host, folder = _common([query.original for query in queries])
    url, match = (host, "host") if folder == "/" else (host + folder, "prefix")
    return HostQuery(url, match, first, last, rows)


def _seconds(rate: Rate) -> float:
    return 1 / per_second(rate)


def _common(urls: Sequence[str]) -> tuple[str, str]:
    """Return the host of *urls*, and the folder that all of them are in."""
    places = [url.partition("://")[2].partition("?")[0].partition("/") for url in urls]
    # By characters, up to a slash: that is what a prefix is to an index.
    paths = commonprefix([f"/{path}" for _, _, path in places])  # noqa: RUF071
    return places[0][0], paths.rpartition("/")[0] + "/"


def settled(query: HostQuery, found: Excerpt, asked: Sequence[Query]) -> dict[int, Closest]:
    """Return which of the questions *asked* the list settles, by their place.

    The nearest capture in the list is the nearest of all, if the list has all captures of the
    page in a span of time around the moment that reaches farther than this capture.
    """
    by_page: dict[str, list[Memento]] = {}
    for capture in found.captures:
        by_page.setdefault(surt(capture.original), []).append(capture)
    if found.listed >= query.rows:
        if list(by_page) != sorted(by_page):
            return {}
        # The rows of the last page may go on.
        by_page.popitem()
    answers: dict[int, Closest] = {}
    for place, each in enumerate(asked):
        captures = by_page.get(surt(each.original), [])
        best = None if each.at is None else nearest(captures, each.at)
        if best is not None and each.at is not None and _is_proved(best, each.at, query):
            answers[place] = Closest(best, "cdx", (), _around(best, captures))
    return answers


def _is_proved(best: Memento, at: Moment, query: HostQuery) -> bool:
    begin = datetime(query.first, 1, 1, tzinfo=UTC)
    end = datetime(query.last, 12, 31, 23, 59, 59, tzinfo=UTC)
    reach = min(at.negotiated - begin, end - at.negotiated)
    return abs(second_of(best.stamp) - at.negotiated) <= reach


def _around(chosen: Memento, captures: Sequence[Memento]) -> dict[Relation, Memento]:
    """Return the captures of the page next to *chosen*."""
    around: dict[Relation, Memento] = {}
    before = [capture for capture in captures if capture.stamp < chosen.stamp]
    after = [capture for capture in captures if capture.stamp > chosen.stamp]
    if before:
        around["prev"] = max(before)
    if after:
        around["next"] = min(after)
    return around


class HostQueries:
    """Asks each archive at most once for all pages of a host."""

    def __init__(
        self,
        entries: Collection[ArchiveEntry],
        fetchers: Mapping[str, Fetcher],
        remember: Remember,
        clock: Clock,
    ) -> None:
        self._entries = {entry.id: entry for entry in entries if can_be_asked(entry)}
        self._fetchers = fetchers
        self._remember = remember
        self._clock = clock
        self._asking: dict[tuple[str, str], asyncio.Task[dict[str, int]]] = {}
        self._asked: set[tuple[str, str]] = set()
        self._failures: dict[str, int] = {}

    async def ask(
        self, named: str | None, host: str, queries: Callable[[], Sequence[Query]]
    ) -> Mapping[str, int]:
        """Ask for all *queries* about *host*, unless that was done or costs more.

        Asks the archive that they name, or all. Returns the requests that this call has caused.
        """
        key = (named or "", host)
        if key in self._asking:
            await asyncio.wait([self._asking[key]])
        if key in self._asked or not self._entries:
            return {}
        self._asked.add(key)
        asking = self._ask_all(named, queries())
        task = self._asking[key] = asyncio.get_running_loop().create_task(asking)
        try:
            return await task
        finally:
            del self._asking[key]

    async def _ask_all(self, named: str | None, queries: Sequence[Query]) -> dict[str, int]:
        entries = [e for e in self._entries.values() if named in (None, e.id)]
        numbers = await asyncio.gather(*(self._ask(entry, queries) for entry in entries))
        return {e.id: number for e, number in zip(entries, numbers, strict=True)}

    async def _ask(self, entry: ArchiveEntry, queries: Sequence[Query]) -> int:
        planned = plan(entry, queries)
        if planned is None or self._failures.get(entry.id, 0) >= _MOST_FAILURES:
            return 0
        output = {} if entry.dialect == "outbackcdx" else {"output": "json"}
        url = cdx_query(entry.cdx or "", planned.url, {**output, **planned.options})
        try:
            fetch = self._fetchers[entry.id]
            addresses = WITHOUT_SERVER.of(entry)
            found = await read_captures(entry, addresses, fetch, self._clock, planned.url, url)
        except ArchiveError:
            # Nothing is known: the pages are asked one by one, which reports what is wrong.
            self._failures[entry.id] = self._failures.get(entry.id, 0) + 1
            return 1
        for place, closest in settled(planned, found, queries).items():
            query = queries[place]
            await self._remember(entry.id, query.original, query.at, closest)
        return 1
