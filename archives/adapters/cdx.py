"""Archives that are queried through their index: CDX servers in four dialects.

| dialect | near a time | newest | answer |
|---|---|---|---|
| wayback-cdx | ``sort=closest&closest=`` | ``limit=-5`` | JSON, an array of arrays |
| pywb-cdxj, arquivo | ``sort=closest&closest=`` | ``sort=reverse`` | JSON lines |
| outbackcdx | ``sort=closest&closest=`` | ``sort=reverse`` | CDX lines |

The index has no addresses of captures; they are built from the replay template.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Final

from archives.addresses import AddressPolicy
from archives.listing import Excerpt, cdx_query, list_captures, read_captures
from archives.model import (
    ArchiveEntry,
    Closest,
    Dialect,
    Memento,
    Relation,
    Selection,
)
from archives.moment import Moment, second_of
from archives.nearest import nearest
from archives.negotiation import Clock
from archives.source import Fetcher, WantedCaptures

# More than one, so that a row with an impossible date needs no second request.
_ROWS: Final = 5
_NEAR: Final[Mapping[Dialect, Mapping[str, str]]] = {
    "wayback-cdx": {"output": "json", "sort": "closest", "limit": f"{_ROWS}"},
    "pywb-cdxj": {"output": "json", "sort": "closest", "limit": f"{_ROWS}"},
    "arquivo": {"output": "json", "sort": "closest", "limit": f"{_ROWS}"},
    "outbackcdx": {"sort": "closest", "limit": f"{_ROWS}"},
}
_NEWEST: Final[Mapping[Dialect, Mapping[str, str]]] = {
    "wayback-cdx": {"output": "json", "limit": f"-{_ROWS}"},
    "pywb-cdxj": {"output": "json", "sort": "reverse", "limit": f"{_ROWS}"},
    "arquivo": {"output": "json", "sort": "reverse", "limit": f"{_ROWS}"},
    "outbackcdx": {"sort": "reverse", "limit": f"{_ROWS}"},
}


class CdxArchive:
    """An `Adapter` over a CDX server and a replay template."""

    def __init__(self, entry: ArchiveEntry, clock: Clock, policy: AddressPolicy) -> None:
        if entry.cdx is None or entry.dialect is None or entry.replay is None:
            raise ValueError(f"{entry.id}: a cdx archive needs cdx, dialect and replay")
        self.entry = entry
        self._addresses = policy.of(entry)
        self._endpoint = entry.cdx
        self._dialect: Dialect = entry.dialect
        self._clock = clock

    @property
    def selection(self) -> Selection:
        """The rows of the index are requested nearest first."""
        return "nearest"

    async def closest(self, fetch: Fetcher, original: str, at: Moment | None) -> Closest | None:
        """Query the index for the rows nearest to *at*, and return the nearest of them."""
        page = original.partition("#")[0]
        options = _NEWEST[self._dialect] if at is None else self._near(at)
        url = cdx_query(self._endpoint, page, options)
        found = await read_captures(self.entry, self._addresses, fetch, self._clock, page, url)
        if not self._is_nearest_proved(found, at):
            return await self._search_all(fetch, page, at)
        best = nearest(found.captures, at)
        if best is None:
            return None
        return Closest(best, "cdx", (), _around(best, found))

    def mementos(
        self,
        fetch: Fetcher,
        original: str,
        *,
        detailed: bool = False,
        wanted: WantedCaptures | None = None,
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Read the index of *original*, or the rows that are wanted."""
        return list_captures(
            self.entry,
            self._addresses,
            fetch,
            self._clock,
            original,
            detailed=detailed,
            wanted=wanted,
        )

    def _near(self, at: Moment) -> Mapping[str, str]:
        return {**_NEAR[self._dialect], "closest": Moment.of(at.negotiated).digits}

    def _is_nearest_proved(self, found: Excerpt, at: Moment | None) -> bool:
        """Whether the nearest of the rows *found* is the nearest of all.

        It is if the index has no more rows than these, or if these are in the requested order:
        a server that ignores ``sort`` returns its oldest rows.
        """
        if found.listed and not found.captures:
            return False
        if found.listed < _ROWS:
            return True
        if at is not None:
            return _is_ascending(
                [abs(second_of(row.stamp) - at.negotiated) for row in found.captures]
            )
        stamps = [row.stamp for row in found.captures]
        return "sort" not in _NEWEST[self._dialect] or _is_ascending(stamps[::-1])

    async def _search_all(
        self, fetch: Fetcher, original: str, at: Moment | None
    ) -> Closest | None:
        """Read the whole index, because unordered rows prove nothing."""
        best: Memento | None = None
        async with aclosing(self.mementos(fetch, original)) as batches:
            async for batch in batches:
                best = nearest(batch if best is None else [best, *batch], at)
        doubt = "does not sort its index as requested: the whole index was read"
        return None if best is None else Closest(best, "cdx", (doubt,))


def _around(chosen: Memento, found: Excerpt) -> dict[Relation, Memento]:
    """Return the neighbours of *chosen* among the rows *found*, all of one span of time.

    If the index has no more rows than these, the first and the last are known as well.
    """
    rows = sorted(found.captures, key=lambda capture: (capture.stamp, capture.uri))
    before = [row for row in rows if row.stamp < chosen.stamp]
    after = [row for row in rows if row.stamp > chosen.stamp]
    around: dict[Relation, Memento] = {}
    if found.listed == len(rows) < _ROWS:
        around |= {"first": rows[0], "last": rows[-1]}
    if before:
        around["prev"] = before[-1]
    if after:
        around["next"] = after[0]
    return around


def _is_ascending(values: Sequence[object]) -> bool:
    return list(values) == sorted(values)  # type: ignore[type-var]
