"""Cost of merging long TimeMaps: CPU, time to the first byte, memory.

Each case runs in a process of its own, since peak memory only grows. The archives make their
captures while they are read, so that only the merge holds them in memory; the CPU time of
making them is printed too. With ``--memgator PATH``, MemGator and our server do the same over
HTTP, with archives on this machine: `tests.bench.timemap_http`.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from archives.model import Memento
from timegate.timemaps import FORMATS, Ends, MergeDeadlines, TimeMapLinks, merged, written

ARCHIVES = 10
LENGTHS = (10_000, 100_000)
BATCH = 500
ORIGINAL = "http://www.example.org/some/page.html"
DAYS = [f"{datetime(1996, 1, 1, tzinfo=UTC) + timedelta(days=n):%Y%m%d}" for n in range(9_000)]


def stamps(archive: int, length: int) -> Iterator[str]:
    """Yield stamps over 25 years, different ones for each archive."""
    step = len(DAYS) * 86_400 // length
    for number in range(length):
        day, second = divmod(number * step + archive, 86_400)
        minute, second = divmod(second, 60)
        yield f"{DAYS[day]}{minute // 60:02}{minute % 60:02}{second:02}"


async def captures(archive: int, length: int) -> AsyncGenerator[Sequence[Memento], None]:
    name = f"archive-{archive}"
    batch: list[Memento] = []
    for stamp in stamps(archive, length):
        uri = f"https://{name}.example/web/{stamp}/{ORIGINAL}"
        batch.append(Memento(stamp, uri, ORIGINAL, name))
        if len(batch) == BATCH:
            yield batch
            batch = []
    yield batch


async def making(length: int) -> None:
    for archive in range(ARCHIVES):
        async with aclosing(captures(archive, length)) as batches:
            async for _ in batches:
                pass


async def merging(form: str, length: int) -> dict[str, float]:
    began = time.perf_counter()
    first_byte, octets = 0.0, 0
    lists = {f"archive-{n}": captures(n, length) for n in range(ARCHIVES)}
    writer = FORMATS[form](TimeMapLinks.of(ORIGINAL, "http://127.0.0.1:1208"))
    async with merged(lists, ORIGINAL) as merge:
        await merge.begin(MergeDeadlines())
        assert merge.first is not None
        async with aclosing(written(writer, merge, Ends(merge.first, merge.last))) as chunks:
            async for chunk in chunks:
                first_byte = first_byte or time.perf_counter() - began
                octets += len(chunk)
        assert merge.sent == ARCHIVES * length
        assert not merge.failures
    return {"first byte": first_byte, "octets": octets}


def measure(form: str, length: int) -> None:
    """Print the figures of one case as JSON; runs in a process of its own."""
    start = time.process_time()
    asyncio.run(making(length))
    made = time.process_time()
    figures = asyncio.run(merging(form, length))
    done = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures |= {"making": made - start, "cpu": done - made - (made - start), "peak": peak}
    print(json.dumps(figures))


def main() -> None:
    """Print the cost of merging short and long lists to link-format and JSON."""
    head = ("archives x captures", "CPU s", "making s", "first byte s", "MB out", "peak MB")
    print("{:<30}{:>8}{:>9}{:>14}{:>9}{:>10}".format(*head))
    for form in ("link", "json"):
        costs = []
        for length in LENGTHS:
            command = [sys.executable, "-m", __spec__.name, "--case", form, str(length)]
            run = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(run.stdout)
            costs.append(found)
            print(
                f"{f'{form}, {ARCHIVES} x {length:,}':<30}{found['cpu']:>8.2f}"
                f"{found['making']:>9.2f}{found['first byte']:>14.3f}"
                f"{found['octets'] / 1e6:>9.1f}{found['peak']:>10.0f}"
            )
        cpu, peak = (costs[1][name] / costs[0][name] for name in ("cpu", "peak"))
        print(f"{'':<30}ten times the captures: {cpu:.1f} x CPU, {peak:.2f} x memory")
    options = argparse.ArgumentParser()
    options.add_argument("--memgator", type=Path)
    known, _ = options.parse_known_args()
    if known.memgator is not None:
        from tests.bench.timemap_http import compare  # noqa: PLC0415

        compare(known.memgator)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        measure(sys.argv[2], int(sys.argv[3]))
    else:
        main()
