"""Speed and memory of parsing TimeMaps in link-format.

The number of rows and a checksum of all stamps and URIs are compared with the document. Speed
is CPU time of this process, the best of five.
"""

import gc
import re
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import islice

from archives.formats.httpdate import http_date
from archives.formats.rows import DAYS
from archives.formats.timemap_link import LinkTimeMap

CHUNK = 64 * 1024
FORMS = {
    "usual: one a line (IA, OpenWayback, MemGator)": '<{0}>; rel="memento"; datetime="{1}",\n',
    "usual, pywb: with collection": '<{0}>; rel="memento"; datetime="{1}"; collection="web",\n',
    "all links on one line": '<{0}>; rel="memento"; datetime="{1}", ',
    "CRLF": '<{0}>; rel="memento"; datetime="{1}",\r\n',
    "other order, other case": '<{0}>;Datetime="{1}";Rel="Memento",\n',
    "unquoted rel, single quotes": "<{0}>; rel=memento; datetime='{1}',\n",
    "folded, with many spaces": '<{0}>\n ; rel = "memento"\n ; datetime = "{1}" ,\n',
    "title with <>,; and a license": (
        '<{0}>; rel="memento"; datetime="{1}"; title="a, <b>; c"; license="http://cc.example/0/",\n'
    ),
    "title with escapes": '<{0}>; title="\\"a\\", b"; rel="memento"; datetime="{1}",\n',
    "comma missing": '<{0}>; rel="memento"; datetime="{1}"\n',
}
STRICT = re.compile(rb'<([^>]*)>; rel="([^"]*)"; datetime="([^"]*)"')
SMALL, LARGE = 100_000, 1_000_000


@lru_cache(maxsize=1)
def captures(count: int) -> list[tuple[str, str]]:
    """Return stamps and URI-Ms of captures spread over 28 years."""
    step = 28 * 365 * 86400 // count
    times = (time.gmtime(850_000_000 + number * step) for number in range(count))
    stamps = (time.strftime("%Y%m%d%H%M%S", each) for each in times)
    return [
        (stamp, f"http://web.archive.example/web/{stamp}/http://www.example.com/")
        for stamp in stamps
    ]


def document(form: str, count: int) -> Iterator[bytes]:
    """Yield a TimeMap in chunks, as they arrive from a connection."""
    links = (form.format(uri, http_date(stamp)) for stamp, uri in captures(count))
    rest = b'<http://www.example.com/>; rel="original",\n'
    while batch := "".join(islice(links, 2000)):
        rest += batch.encode()
        whole = len(rest) - len(rest) % CHUNK
        yield from (rest[at : at + CHUNK] for at in range(0, whole, CHUNK))
        rest = rest[whole:]
    yield rest


def rows_in(chunks: list[bytes]) -> int:
    """Count the rows without keeping them, as a merge does."""
    decoder = LinkTimeMap("http://web.archive.example/timemap/link/http://www.example.com/")
    count = sum(len(decoder.feed(chunk)) for chunk in chunks) + len(decoder.close())
    if not decoder.complete or decoder.skipped:
        raise AssertionError(decoder.shortfall)
    return count


def strict_matches_in(chunks: list[bytes]) -> int:
    """Count the matches of one strict pattern: no dates, no check for missed links."""
    return sum(len(STRICT.findall(chunk)) for chunk in chunks)


def lines_in(chunks: list[bytes]) -> int:
    """Count lines by splitting: the lower bound for any parser."""
    return sum(len(chunk.split(b"\n")) - 1 for chunk in chunks)


def seconds(*runs: Callable[[], int]) -> list[float]:
    """Return the CPU seconds of the best of five for each run, in turn.

    In turn, so that other load on the machine affects all runs.
    """
    best = [float("inf")] * len(runs)
    gc.collect()
    gc.freeze()  # collecting the lists of the benchmark must not count
    for _ in range(5):
        for number, run in enumerate(runs):
            start = time.process_time()
            run()
            best[number] = min(best[number], time.process_time() - start)
    return best


def verify(form: str, count: int) -> None:
    """Compare every parsed stamp and URI with the document."""
    decoder = LinkTimeMap("http://web.archive.example/")
    expected = found = number = 0
    for stamp, uri in captures(count):
        expected = zlib.crc32(f"{stamp}{uri}".encode(), expected)
    for chunk in (*document(form, count), None):
        for row in decoder.close() if chunk is None else decoder.feed(chunk):
            found = zlib.crc32(f"{row.stamp}{row.uri}".encode(), found)
            number += 1
    if (number, found) != (count, expected):
        raise AssertionError(f"{number} of {count} rows, checksum {found:x} != {expected:x}")


def peak_memory(form: str, count: int) -> int:
    """Return the peak memory in bytes for *count* links: the same ten thousand, repeated.

    They are on ten thousand different days, so that the memo of days is full.
    """
    body = "".join(
        form.format(uri, http_date(stamp)) for stamp, uri in captures(10_000)
    ).encode()
    decoder = LinkTimeMap("http://web.archive.example/")
    DAYS.clear()
    tracemalloc.start()
    for _ in range(count // 10_000):
        for at in range(0, len(body), CHUNK):
            decoder.feed(body[at : at + CHUNK])
    decoder.close()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def main() -> None:
    """Print links per CPU second for every form, lower bounds, and peak memory."""
    gc.set_threshold(20_000, 50, 100)  # as `timegate serve` does
    usual = next(iter(FORMS.values()))
    usual_chunks = list(document(usual, SMALL))
    print(
        f"link-format to rows, {SMALL:,} links in chunks of {CHUNK // 1024} KiB, and the time"
    )
    print("divided by that of findall with a strict pattern, and by that of bytes.split:")
    for name, form in FORMS.items():
        verify(form, SMALL)
        chunks = list(document(form, SMALL))
        taken, strict, split = seconds(
            partial(rows_in, chunks),
            partial(strict_matches_in, usual_chunks),
            partial(lines_in, chunks),
        )
        ratios = f"{taken / strict:4.1f}  {taken / split:4.1f}"
        print(f"  {SMALL / taken:11,.0f} links/CPU s  {ratios}  {name}")
    for count in (LARGE // 100, LARGE // 10, LARGE):
        print(f"  peak {peak_memory(usual, count) / 1e6:6.2f} MB at {count:9,} links")
    print("  growth of CPU time with size (1.0 is linear):")
    for name, filler in {
        "unbalanced quote": b'<a>; x="',
        "brackets": b"<",
        "commas": b",",
    }.items():
        print(f"    {growth(filler):4.2f}  {name}")


def growth(filler: bytes) -> float:
    """Return the time for four times as much malformed text, divided by four."""

    def malformed(chunks: list[bytes]) -> int:
        decoder = LinkTimeMap("")
        return sum(len(decoder.feed(chunk)) for chunk in chunks)

    chunk = filler * (CHUNK // len(filler))
    long, short = seconds(partial(malformed, [chunk] * 16), partial(malformed, [chunk] * 4))
    return long / short / 4


if __name__ == "__main__":
    main()
