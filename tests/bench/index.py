"""Cost of a lookup in a large index of local captures, compared with a small one.

python -m tests.bench.index [--captures 10000000]

The rows are synthetic and written directly into the index. Each size is queried in a process of
its own, whose memory is printed. A lookup in the larger index may take twice the time.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

from archives.moment import Moment
from archives.surt import surt
from archives.warc.captures import Capture
from archives.warc_index.collection import Collection
from archives.warc_index.database import open_writer
from archives.warc_index.model import FileInfo, LocalFiles
from archives.warc_index.writing import FilledPart, IndexWriter

SMALL = 10_000
LARGE = 10_000_000
CAPTURES_PER_PAGE = 20
LOOKUPS = 3_000
ROUNDS = 7
MOST = 2.0


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captures", type=int, default=LARGE)
    parser.add_argument("--query", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_known_args(arguments)[0]
    if options.query:
        print(json.dumps(asyncio.run(query(options.query, options.captures))))
        return
    small, large = measured(SMALL), measured(options.captures)
    ratio = large["cpu"] / small["cpu"]
    print(f"lookup at {options.captures:,} captures: {ratio:.2f} times that at {SMALL:,}")
    print(f"memory: {large['rss'] - small['rss']:+.1f} MB")
    if ratio > MOST:
        sys.exit(f"more than {MOST} times")


def measured(count: int) -> dict[str, float]:
    """Build an index of *count* captures, and query it in another process."""
    with tempfile.TemporaryDirectory() as name:
        began = time.perf_counter()
        size = build(Path(name), count)
        took = time.perf_counter() - began
        command = [sys.executable, "-m", "tests.bench.index", "--query", name]
        command += ["--captures", str(count)]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(answer.stdout)
    print(
        f"{count:,} captures: {size / 1e6:.1f} MB, written in {took:.1f} s; a lookup "
        f"{found['cpu']:.1f} us of CPU, {found['wall']:.1f} us in all, "
        f"{found['absent']:.1f} us for an absent URL; {found['rss']:.1f} MB resident"
    )
    return found


def page(number: int) -> str:
    return f"http://host{number % 997}.example.org/section/{number}/page.html"


def build(folder: Path, count: int) -> int:
    """Write *count* captures in the order of the index, which is fast."""
    index = LocalFiles.of(folder).index
    index.parent.mkdir()
    connection, _ = open_writer(index)
    with closing(connection):
        writer = IndexWriter(connection)
        part = writer.begin(FileInfo("some.warc.gz", "warc", 10**15, 0), "", b"", "")
        rows = ((part, row) for row in captures(count))
        while batch := list(islice(rows, 50_000)):
            writer.add(batch)
        writer.publish([FilledPart(part, 0, count, 0)], ())
        writer.finish(complete=True)
    return index.stat().st_size


def captures(count: int) -> Iterator[Capture]:
    pages = max(count // CAPTURES_PER_PAGE, 1)
    for key, number in sorted((surt(page(number)), number) for number in range(pages)):
        url = page(number)
        for time_ in range(CAPTURES_PER_PAGE):
            place = number * CAPTURES_PER_PAGE + time_
            day = f"{2000 + time_ // 12}{time_ % 12 + 1:02}{number % 28 + 1:02}"
            digest = f"{place * 2654435761 % 2**32:032X}"
            stamp = f"{day}{number % 24:02}{number % 60:02}00"
            yield Capture(key, stamp, url, "text/html", 200, digest, place * 1000, 900)


async def query(folder: Path, count: int) -> dict[str, float]:
    """Return microseconds for a lookup, the best of several rounds, and memory in MB."""
    pages = max(count // CAPTURES_PER_PAGE, 1)
    chance = random.Random(1)
    questions = [
        (
            page(chance.randrange(pages)),
            Moment(f"200{chance.randrange(2)}{chance.randrange(1, 13):02}"),
        )
        for _ in range(LOOKUPS)
    ]
    # A clock that stands still: a busy machine must not look like a slow disk.
    async with Collection("bench", folder, clock=lambda: 0.0) as collection:
        rounds = [await _round(collection, questions) for _ in range(ROUNDS)]
        began = time.process_time()
        for number in range(LOOKUPS):
            assert await collection.nearest(f"http://absent.example/{number}", None) is None
        absent = time.process_time() - began
    cpu, wall = min(rounds)
    each = 1e6 / LOOKUPS
    return {"cpu": cpu * each, "wall": wall * each, "absent": absent * each, "rss": memory()}


def memory() -> float:
    """Return the peak memory of this process in MB, without that of its parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


async def _round(
    collection: Collection, questions: list[tuple[str, Moment]]
) -> tuple[float, float]:
    began, cpu = time.perf_counter(), time.process_time()
    for url, at in questions:
        row = await collection.nearest(url, at)
        assert row is not None
        assert row.url == url
    return time.process_time() - cpu, time.perf_counter() - began


if __name__ == "__main__":
    main()
