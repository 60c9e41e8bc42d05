"""Lists of references: how much of each archive's allowance is used, and requests a reference.

Real processes on loopback. Each archive allows 8 requests in a second and answers in 0.3 s.
"""

import json
import resource
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.bench.batch_archives import STAMP, page

RATE = 8.0
DELAY = 0.3
SECONDS = 12
AT_ONCE = (16, 64, 256)
HOSTS = 200
HOST_RATE = 500.0
"""So that ten thousand single questions take less than a minute."""
WHEN = f"{STAMP[:4]}-{STAMP[4:6]}-{STAMP[6:8]}T12:00:00Z"


class Used(NamedTuple):
    """What one run took."""

    seconds: float
    requests: int
    allowance: float
    """The part of the allowance that was used, of the archive that used least."""
    outcomes: dict[str, int]
    cpu: float


@contextmanager
def archives(count: int) -> Iterator[int]:
    """Run the archives; yield their port."""
    command = [sys.executable, "-m", "tests.bench.batch_archives", str(count), str(DELAY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def configuration(count: int, port: int, *, cdx: bool = False, rate: float = RATE) -> str:
    limit = f"{{ requests = {rate}, seconds = 1, burst = {int(rate)} }}"
    written = ["[archives]\nuse = []\n"]
    for n in range(count):
        home = f"http://127.0.0.1:{port}/a{n}"
        ways = f'replay = "{home}/{{time14}}/{{uri}}"\n'
        if cdx:
            ways += f'cdx = "{home}/cdx"\ndialect = "wayback-cdx"\n'
        written.append(
            f'[[archive]]\nid = "a{n}"\nkind = "memento"\npwid = ["a{n}.example"]\n'
            f'timegate = "{home}/timegate/"\n{ways}[archive.limits]\nmemento = {limit}\n'
            f'index = {limit}\nat_once = 8\nsource = "a benchmark"\n'
        )
    return "".join(written)


def stats(port: int) -> list[list[float]]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats", timeout=60) as reply:
        times: list[list[float]] = json.load(reply)
    return times


def run(
    count: int, lines: Sequence[str], *options: str, cdx: bool = False, rate: float = RATE
) -> Used:
    with tempfile.TemporaryDirectory() as folder, archives(count) as port:
        config, given, out = (Path(folder) / name for name in ("c.toml", "list", "out.jsonl"))
        config.write_text(configuration(count, port, cdx=cdx, rate=rate))
        given.write_text("".join(f"{line}\n" for line in lines))
        words = ("--config", config, "--batch", given, "--output", out, "--exit-zero")
        command = [sys.executable, "-m", "timegate", "resolve", *map(str, words), *options]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times = stats(port)
        outcomes: dict[str, int] = {}
        for line in out.read_text().splitlines():
            outcome = json.loads(line)["outcome"]
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
    busy = [each for each in times if len(each) > RATE]
    allowed = [(each[-1] - each[0]) * rate for each in busy]
    return Used(
        max(each[-1] for each in busy) - min(each[0] for each in busy),
        sum(map(len, times)),
        min((len(each) - rate) / most for each, most in zip(busy, allowed, strict=True)),
        outcomes,
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    )


def pwid(archive: int, number: int) -> str:
    return f"urn:pwid:a{archive}.example:{WHEN}:page:{page(number % 200, number // 200)}"


def lists() -> Iterator[tuple[str, int, list[str]]]:
    each = int(RATE * SECONDS)
    yield "exact PWIDs, 10 archives", 10, [pwid(n % 10, n) for n in range(10 * each)]
    yield (
        "exact PWIDs, sorted by archive",
        10,
        [pwid(n // each, n) for n in range(10 * each)],
    )
    urls = [f"{page(n % 200, n // 200)} 2012" for n in range(each)]
    yield "plain URLs, 10 archives", 10, urls
    yield "exact PWIDs, one archive", 1, [pwid(0, n) for n in range(each)]


def shared_hosts() -> None:
    """Compare one question a host with one a page: 50 references to each host."""
    lines = [f"{page(n % HOSTS, n // HOSTS)} 2015-06-01" for n in range(50 * HOSTS)]
    # By cost, a host is asked only if single questions would take longer.
    ways = (("one by one", False, HOST_RATE), ("by host", True, RATE))
    for name, cdx, rate in ways:
        used = run(1, lines, "--verify", "none", cdx=cdx, rate=rate)
        print(
            f"{len(lines)} references to {HOSTS} hosts, {name}: {used.requests} requests,"
            f" {used.requests / 8:.0f} s of an allowance of 8 a second, {used.cpu:.1f} s of CPU"
            f" ({used.seconds:.1f} s at {rate:g} a second; {used.outcomes})",
            flush=True,
        )


def main() -> None:
    shared_hosts()
    for name, count, lines in lists():
        for at_once in AT_ONCE:
            used = run(count, lines, "--verify", "none", "--at-once", str(at_once))
            each = used.requests / len(lines)
            print(
                f"{name}, --at-once {at_once}: {used.allowance:.0%} of the allowance,"
                f" {each:.2f} requests a reference ({len(lines)} in {used.seconds:.1f} s;"
                f" {used.outcomes})",
                flush=True,
            )
