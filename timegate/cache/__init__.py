"""Cache: earlier answers of archives, so that they are queried less."""

import time
from pathlib import Path

from timegate.cache.answer_cache import AnswerCache
from timegate.cache.page_cache import WAITING, Waiting
from timegate.cache.sqlite import SqliteStore
from timegate.cache.store import Clock, MemoryStore, Store, Stored, Unavailable

__all__ = [
    "WAITING",
    "AnswerCache",
    "MemoryStore",
    "OpenStores",
    "SqliteStore",
    "Store",
    "Stored",
    "Unavailable",
    "Waiting",
    "open_store",
]


def open_store(url: str, *, limit: int | None = None, clock: Clock = time.time) -> Store:
    """Return the store that *url* names, ``memory:`` or ``sqlite:PATH``.

    *limit* is in bytes, None for what the kind of store has by default. Raises ValueError.
    """
    kind, colon, rest = url.partition(":")
    if kind == "memory" and colon and not rest:
        return (
            MemoryStore(clock=clock) if limit is None else MemoryStore(limit=limit, clock=clock)
        )
    if kind == "sqlite" and rest and not rest.startswith(":"):
        path = Path(rest)
        return (
            SqliteStore(path, clock=clock)
            if limit is None
            else SqliteStore(path, limit=limit, clock=clock)
        )
    # Only the scheme is shown: the rest may be a misspelt URL with a password in it.
    shown = f"{kind}://..." if rest.startswith("//") else url
    raise ValueError(
        f"{shown!r} is no cache; allowed are memory: and sqlite:PATH, or redis://HOST"
    )


class OpenStores:
    """Stores that survive a configuration reload while neither URL nor limit changes."""

    def __init__(self) -> None:
        self._stores: dict[tuple[str, int | None], Store] = {}

    def open(self, url: str, limit: int | None = None) -> Store:
        """Return the store at *url*, opened once. Raises ValueError."""
        key = (url, limit)
        if key not in self._stores:
            self._stores[key] = open_store(url, limit=limit)
        return self._stores[key]

    async def close(self) -> None:
        """Close all stores."""
        for store in self._stores.values():
            await store.close()
