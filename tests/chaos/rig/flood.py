"""Puts very many entries into a store, some of which are asked for again and again.

    python -m tests.chaos.rig.flood URL MEGABYTES COUNT

In a process of its own, whose memory is measured. Writes what came of it as one JSON object.
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
_WRITTEN: Final = 200
"""Puts that are written together: what waits to be written is bounded, too."""
_ROUND: Final = 1000
"""Puts between two rounds over what is hot."""
_SIZES: Final = (200, 600, 600, 900, 2_000, 20_000)
"""Octets of an answer; the longest has five links with addresses of 4 kB."""


async def main(url: str, megabytes: int, count: int) -> None:
    """Flood it, then say what is left and how large it is."""
    store = open_store(url, limit=megabytes << 20)
    chance = random.Random(23)  # noqa: S311 -- the same in every run
    before = _resident()
    for number in range(_HOT):
        await store.put(f"hot/{number}", chance.randbytes(600), 86_400, 86_400)
    await _settled(store)
    largest = 0
    for number in range(count):
        value = chance.randbytes(chance.choice(_SIZES))
        await store.put(f"{number:032x}/once", value, 86_400, 86_400)
        if number % _WRITTEN == 0:
            await _settled(store)
        if number % _ROUND == 0:
            await asyncio.gather(*(store.get(f"hot/{n}") for n in range(_HOT)))
            largest = max(largest, _files(url))
    await _settled(store)
    kept = [await store.get(f"hot/{number}") for number in range(_HOT)]
    told = {
        "hot": sum(one is not None for one in kept),
        "of_hot": _HOT,
        "grown": (_resident() - before) / (1 << 20),
        "files": max(largest, _files(url)) / (1 << 20),
        "dropped": getattr(store, "dropped", 0),
    }
    await store.close()
    sys.stdout.write(json.dumps(told) + "\n")


async def _settled(store: Store) -> None:
    if isinstance(store, SqliteStore):
        await store.flush()


def _files(url: str) -> int:
    """Octets of the file and of what lies beside it."""
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
