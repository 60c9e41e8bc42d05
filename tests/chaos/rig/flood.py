"""Puts very many entries into a store, some of which are read again and again.

    python -m tests.chaos.rig.flood URL MEGABYTES COUNT

Runs in its own process, whose memory is measured. Prints the results as one JSON object.
"""

import asyncio
import json
import os
import random
import sys
from pathlib import Path
from typing import Final

from timegate.cache import SqliteStore, Store, open_store

_HOT: Final = 500
_FLUSH_EVERY: Final = 200
"""Puts between two flushes: the queue of the store is bounded, too."""
_READ_EVERY: Final = 1000
"""Puts between two reads of all hot entries."""
_SIZES: Final = (200, 600, 600, 900, 2_000, 20_000)
"""Octets of an answer; the longest has five links with addresses of 4 kB."""


async def main(url: str, megabytes: int, count: int) -> None:
    """Flood the store, then print the remaining hot entries and the sizes."""
    store = open_store(url, limit=megabytes << 20)
    chance = random.Random(23)  # noqa: S311 -- the same in every run
    before = _resident()
    for number in range(_HOT):
        await store.put(f"hot/{number}", chance.randbytes(600), 86_400, 86_400)
    await _flush(store)
    largest = 0
    for number in range(count):
        value = chance.randbytes(chance.choice(_SIZES))
        await store.put(f"{number:032x}/once", value, 86_400, 86_400)
        if number % _FLUSH_EVERY == 0:
            await _flush(store)
        if number % _READ_EVERY == 0:
            await asyncio.gather(*(store.get(f"hot/{n}") for n in range(_HOT)))
            largest = max(largest, _files(url))
    await _flush(store)
    hot = [await store.get(f"hot/{number}") for number in range(_HOT)]
    result = {
        "hot": sum(entry is not None for entry in hot),
        "of_hot": _HOT,
        "grown": (_resident() - before) / (1 << 20),
        "files": max(largest, _files(url)) / (1 << 20),
        "dropped": getattr(store, "dropped", 0),
    }
    await store.close()
    sys.stdout.write(json.dumps(result) + "\n")


async def _flush(store: Store) -> None:
    if isinstance(store, SqliteStore):
        await store.flush()


def _files(url: str) -> int:
    """Octets of the cache file and the other files of SQLite."""
    kind, _, path = url.partition(":")
    if kind != "sqlite":
        return 0
    place = Path(path)
    return sum(file.stat().st_size for file in place.parent.glob(f"{place.name}*"))


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
