"""Cost of ``/cdx`` over ten archives, and the latency of other requests beside long lists.

The CPU time is that of the server process alone, read before and after each request. The first
request of a server is not measured.
"""

import http.client
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Process
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import quote

from tests.bench.timemap import ARCHIVES, ORIGINAL
from tests.bench.timemap_http import archives, fetched, free_port, serve, wait_for

ROUNDS = 5
SHORT, LONG = 10_000, 100_000
READERS = 4
PAUSE = 0.005
_TICK = os.sysconf("SC_CLK_TCK")
QUERIES = {
    "limit=5&closest=2008": f"/cdx?url={quote(ORIGINAL, safe='')}&closest=20080501&limit=5",
    "limit=5&sort=reverse": f"/cdx?url={quote(ORIGINAL, safe='')}&sort=reverse&limit=5",
    "limit=5": f"/cdx?url={quote(ORIGINAL, safe='')}&limit=5",
    "all, CDXJ": f"/cdx?url={quote(ORIGINAL, safe='')}",
    "all, text": f"/cdx/search/cdx?url={quote(ORIGINAL, safe='')}",
    "TimeMap, link": f"/timemap/link/{ORIGINAL}",
}


def main() -> None:
    """Print CPU for each query over 10 x 10,000, and latencies beside lists of 10 x 100,000."""
    with tempfile.TemporaryDirectory() as folder:
        with archives(SHORT, Path(folder)) as listed, server(listed, Path(folder)) as running:
            print_costs(*running)
        with archives(LONG, Path(folder)) as listed, server(listed, Path(folder)) as running:
            print_latencies(running[1])


@contextmanager
def server(listed: Path, folder: Path) -> Iterator[tuple[int, int]]:
    """Run our server; yield its process id and its port."""
    port = free_port()
    words = [word.replace("{port}", str(port)) for word in serve(listed, folder)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield process.pid, port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def print_costs(pid: int, port: int) -> None:
    rows = f"{ARCHIVES} x {SHORT:,}"
    print(f"{'/cdx over ' + rows:<28}{'CPU ms':>8}{'least':>8}{'most':>8}{'rows':>10}")
    costs: dict[str, list[float]] = {name: [] for name in QUERIES}
    counts: dict[str, int] = {}
    for target in QUERIES.values():
        fetched(port, target)
    for _ in range(ROUNDS):
        for name, target in QUERIES.items():
            before = cpu(pid)
            counts[name] = fetched(port, target)[2]
            costs[name].append((cpu(pid) - before) * 1000)
    for name, found in costs.items():
        # The address of a capture is in each row twice, but in those of text not at all.
        print(
            f"{name:<28}{median(found):>8.0f}{min(found):>8.0f}{max(found):>8.0f}"
            f"{counts[name]:>10,}"
        )


def print_latencies(port: int) -> None:
    alone = latencies(port, lambda: False, 200)
    print(f"\n{'/healthz, milliseconds':<40}{'p50':>8}{'p99':>8}{'max':>8}{'count':>8}")
    print_latency("alone", alone)
    readers = Process(target=read_lists, args=(port,), daemon=True)
    readers.start()
    time.sleep(0.3)
    beside = latencies(port, readers.is_alive, 0)
    readers.join()
    print_latency(f"beside {READERS} lists of {ARCHIVES} x {LONG:,}", beside)


def print_latency(name: str, found: list[float]) -> None:
    cut = quantiles(found, n=100)
    print(f"{name:<40}{cut[49]:>8.1f}{cut[98]:>8.1f}{max(found):>8.1f}{len(found):>8}")


def latencies(port: int, goes_on: object, at_least: int) -> list[float]:
    found: list[float] = []
    assert callable(goes_on)
    while len(found) < at_least or goes_on():
        began = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        connection.close()
        found.append((time.perf_counter() - began) * 1000)
        time.sleep(PAUSE)
    return found


def read_lists(port: int) -> None:
    target = f"/timemap/link/{ORIGINAL}"
    threads = [
        threading.Thread(target=fetched, args=(port, f"{target}?{n}")) for n in range(READERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def cpu(pid: int) -> float:
    """Return the CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


if __name__ == "__main__":
    main()
