"""Archives that are asked through their index: CDX servers in four dialects.

| dialect | near a time | newest | answer |
|---|---|---|---|
| wayback-cdx | ``sort=closest&closest=`` | ``limit=-5`` | JSON, an array of arrays |
| pywb-cdxj, arquivo | ``sort=closest&closest=`` | ``sort=reverse`` | JSON lines |
| outbackcdx | ``sort=closest&closest=`` | ``sort=reverse`` | CDX lines |

The index knows no address of a capture; the replay template makes it.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Final

from archives.listing import Excerpt, cdx_query, list_captures, read_captures
from archives.model import ArchiveEntry, ArchiveKind, Closest, Dialect, Memento
from archives.moment import Moment
from archives.nearest import nearest, second_of
from archives.negotiation import Clock
from archives.source import Fetcher

KIND: Final = ArchiveKind(
    "cdx",
    "a CDX server as index, and a replay server",
    needs=("cdx", "dialect", "replay"),
    uses_index=True,
    folds_spellings=True,
)
# More than one, so that a row with an impossible date costs no second request.
_FEW: Final = 5
_NEAR: Final[Mapping[Dialect, Mapping[str, str]]] = {
    "wayback-cdx": {"output": "json", "sort": "closest", "limit": f"{_FEW}"},
    "pywb-cdxj": {"output": "json", "sort": "closest", "limit": f"{_FEW}"},
    "arquivo": {"output": "json", "sort": "closest", "limit": f"{_FEW}"},
    "outbackcdx": {"sort": "closest", "limit": f"{_FEW}"},
}
_NEWEST: Final[Mapping[Dialect, Mapping[str, str]]] = {
    "wayback-cdx": {"output": "json", "limit": f"-{_FEW}"},
    "pywb-cdxj": {"output": "json", "sort": "reverse", "limit": f"{_FEW}"},
    "arquivo": {"output": "json", "sort": "reverse", "limit": f"{_FEW}"},
    "outbackcdx": {"sort": "reverse", "limit": f"{_FEW}"},
}


class CdxArchive:
    """An `Adapter` over a CDX server and a replay template."""

    def __init__(self, entry: ArchiveEntry, clock: Clock) -> None:
        if entry.cdx is None or entry.dialect is None or entry.replay is None:
            raise ValueError(f"{entry.id}: a cdx archive needs cdx, dialect and replay")
        self.entry = entry
        self._endpoint = entry.cdx
        self._dialect: Dialect = entry.dialect
        self._clock = clock

    async def closest(self, fetch: Fetcher, original: str, at: Moment | None) -> Closest | None:
        """Ask the index for the rows nearest to *at*, and look at all it gives."""
        page = original.partition("#")[0]
        options = _NEWEST[self._dialect] if at is None else self._near(at)
        url = cdx_query(self._endpoint, page, options)
        found = await read_captures(self.entry, fetch, self._clock, page, url)
        if not self._proves(found, at):
            return await self._search(fetch, page, at)
        best = nearest(found.captures, at)
        return None if best is None else Closest(best, "cdx")

    def mementos(
        self, fetch: Fetcher, original: str
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Read the whole index of *original*."""
        return list_captures(self.entry, fetch, self._clock, original)

    def _near(self, at: Moment) -> Mapping[str, str]:
        return {**_NEAR[self._dialect], "closest": Moment.of(at.negotiated).digits}

    def _proves(self, found: Excerpt, at: Moment | None) -> bool:
        """Whether the nearest of what was *found* is the nearest of all.

        It is where the index has no more rows than these, or where these come in the order
        that was asked for: a server that ignores ``sort`` gives its oldest.
        """
        if found.listed and not found.captures:
            return False
        if found.listed < _FEW:
            return True
        if at is not None:
            return _is_rising(
                [abs(second_of(row.stamp) - at.negotiated) for row in found.captures]
            )
        stamps = [row.stamp for row in found.captures]
        return "sort" not in _NEWEST[self._dialect] or _is_rising(stamps[::-1])

    async def _search(self, fetch: Fetcher, original: str, at: Moment | None) -> Closest | None:
        """Read everything: rows in no order prove nothing."""
        best: Memento | None = None
        async with aclosing(self.mementos(fetch, original)) as batches:
            async for batch in batches:
                best = nearest(batch if best is None else [best, *batch], at)
        doubt = "does not sort its index as asked: all of it was read"
        return None if best is None else Closest(best, "cdx", (doubt,))


def _is_rising(values: Sequence[object]) -> bool:
    return list(values) == sorted(values)  # type: ignore[type-var]
