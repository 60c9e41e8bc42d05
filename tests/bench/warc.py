"""Records of a compressed WARC that are indexed in a CPU second, compared with cdxj-indexer.

Both read the same file, made here: pages of about 11 kB of text-like HTML, each a gzip member,
with the requests that belong to them. The captures are compared before the timing. CPU time of
this process, the best of five, in turn.
"""

import gc
import gzip
import io
import json
import random
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

from cdxj_indexer.main import CDXJIndexer  # type: ignore[import-untyped]
from fastwarc.warc import ArchiveIterator

try:
    from isal import isal_zlib as deflate
except ImportError:
    import zlib as deflate  # type: ignore[no-redef]

from archives.warc.captures import Capture, captures_in
from tests.warcs import gzipped, record, response, warcinfo

PAGES = 4000
SIZE = 11_000
_SYLLABLES = (
    "ar",
    "chi",
    "ve",
    "me",
    "men",
    "to",
    "ti",
    "ga",
    "te",
    "we",
    "b",
    "pa",
    "ge",
    "s",
)


def page(chance: random.Random, words: list[str]) -> bytes:
    """Return HTML with the compression ratio of real pages: three to four."""
    parts, size = ["<!doctype html><html><head><title>"], 0
    while size < SIZE:
        link = f'<p class="c{chance.randrange(40)}"><a href="/{chance.getrandbits(48):x}">'
        text = " ".join(chance.choices(words, k=30))
        parts += [link, text, "</a></p>\n"]
        size += len(link) + len(text) + 9
    return "".join(parts).encode()


def write(path: Path) -> None:
    """Write the file to be indexed."""
    chance = random.Random(7089)
    words = ["".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))) for _ in range(4000)]
    with path.open("wb") as file:
        file.write(gzipped(warcinfo()))
        for number in range(PAGES):
            url = f"http://www.example.com/{number % 97}/page-{number}.html?x={number}"
            file.write(gzipped(response(url, payload=page(chance, words))))


def ours(path: Path) -> list[tuple[str, str, str, int, int]]:
    """Index with this project."""
    with path.open("rb") as file:
        return [
            (found.surt, found.stamp, found.url, found.offset, found.length)
            for found in captures_in(file)
            if isinstance(found, Capture)
        ]


def cdxj_indexer(path: Path) -> list[str]:
    """Index with cdxj-indexer."""
    lines = io.StringIO()
    CDXJIndexer(lines, [str(path)]).process_all()
    return lines.getvalue().splitlines()


def fastwarc(path: Path) -> int:
    """Only read, with FastWARC: no SURT, no fields."""
    with path.open("rb") as file:
        return sum(len(each.headers) for each in ArchiveIterator(file))


def inflated(path: Path) -> int:
    """Only inflate every member: the lower bound for any reader."""
    octets, at, total = path.read_bytes(), 0, 0
    while at < len(octets):
        inflater = deflate.decompressobj(31)
        total += len(inflater.decompress(octets[at : at + 65536]))
        at += len(octets[at : at + 65536]) - len(inflater.unused_data)
    return total


def seconds(*runs: Callable[[], object]) -> list[float]:
    """Return the CPU seconds of the best of five for each run, in turn."""
    best = [float("inf")] * len(runs)
    gc.collect()
    gc.freeze()
    for _ in range(5):
        for number, run in enumerate(runs):
            start = time.process_time()
            run()
            best[number] = min(best[number], time.process_time() - start)
    return best


def verify(path: Path) -> None:
    """Compare the captures of both indexers, field by field."""
    theirs = []
    for line in cdxj_indexer(path):
        key, stamp, fields = line.split(" ", 2)
        row = json.loads(fields)
        theirs.append((key, stamp, row["url"], int(row["offset"]), int(row["length"])))
    if theirs != ours(path) or len(theirs) != PAGES:
        raise AssertionError("not the same captures")


def flood() -> bytes:
    """Return a compressed WARC of some kilobytes with millions of header lines."""
    head = record(b"x").partition(b"\r\n\r\n")[0]
    return gzip.compress(head + b"\r\nA: b" * 1_000_000 + b"\r\n\r\nx\r\n\r\n")


def main() -> None:
    """Print records per CPU second, and the cost of a flood of headers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bench.warc.gz")
        write(path)
        verify(path)
        print(f"{PAGES} records, {path.stat().st_size / 1e6:.1f} MB, {deflate.__name__}:")
        runs = (ours, cdxj_indexer, fastwarc, inflated)
        taken = seconds(*(partial(run, path) for run in runs))
        for run, each in zip(runs, taken, strict=True):
            times = taken[1] / each
            print(f"  {PAGES / each:8,.0f} records/CPU s  {times:5.2f} times  {run.__name__}")
        _print_flood(Path(folder, "flood.warc.gz"))


def _print_flood(path: Path) -> None:
    path.write_bytes(flood())
    print(f"a flood of a million header lines in {path.stat().st_size / 1e3:.0f} kB:")
    for run in (ours, fastwarc, cdxj_indexer):
        tracemalloc.start()
        start = time.process_time()
        outcome = "continued"
        try:
            run(path)
        except OSError as error:  # raised by FastWARC
            outcome = str(error)
        taken = time.process_time() - start
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        print(f"  {peak / 1e6:7.1f} MB  {taken:6.2f} CPU s  {run.__name__}: {outcome}")


if __name__ == "__main__":
    main()
