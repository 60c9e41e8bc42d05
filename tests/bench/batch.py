"""Lists of references: how much of each archive's allowance is used, and requests a reference.

    python -m tests.bench batch [--only hosts|table|verified]

Real processes on loopback. Each archive allows 8 requests in a second and answers in 0.3 s.
"""

import argparse
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
HOST_RATE, HOST_AT_ONCE = 500.0, 256
"""So that ten thousand single questions take minutes of CPU, and not 20 of waiting."""
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


def configuration(
    count: int, port: int, *, cdx: bool = False, rate: float = RATE, at_once: int = 8
) -> str:
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
            f'index = {limit}\nat_once = {at_once}\nsource = "a benchmark"\n'
        )
    return "".join(written)


def stats(port: int) -> list[list[float]]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats", timeout=60) as reply:
        times: list[list[float]] = json.load(reply)
    return times


def run(
    count: int,
    lines: Sequence[str],
    *options: str,
    cdx: bool = False,
    rate: float = RATE,
    at_once: int = 8,
) -> Used:
    with tempfile.TemporaryDirectory() as folder, archives(count) as port:
        config, given, out = (Path(folder) / name for name in ("c.toml", "list", "out.jsonl"))
        config.write_text(configuration(count, port, cdx=cdx, rate=rate, at_once=at_once))
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
    ways = (("one by one", False, HOST_RATE, HOST_AT_ONCE), ("by host", True, RATE, 8))
    for name, cdx, rate, at_once in ways:
        options = ("--verify", "none", "--at-once", str(max(at_once, 16)))
        used = run(1, lines, *options, cdx=cdx, rate=rate, at_once=at_once)
        print(
            f"{len(lines)} references to {HOSTS} hosts, {name}: {used.requests} requests,"
            f" {used.requests / 8:.0f} s of an allowance of 8 a second, {used.cpu:.1f} s of CPU"
            f" ({used.seconds:.1f} s at {rate:g} a second; {used.outcomes})",
            flush=True,
        )


def table(verify: str, cases: Sequence[tuple[str, int, list[str]]]) -> None:
    for name, count, lines in cases:
        for at_once in AT_ONCE:
            used = run(count, lines, "--verify", verify, "--at-once", str(at_once))
            each = used.requests / len(lines)
            print(
                f"{name}, --verify {verify}, --at-once {at_once}: {used.allowance:.0%} of the"
                f" allowance, {each:.2f} requests a reference ({len(lines)} in"
                f" {used.seconds:.1f} s; {used.outcomes})",
                flush=True,
            )


def main(arguments: Sequence[str] = ()) -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--only", choices=("hosts", "table", "verified"))
    only = options.parse_known_args(arguments)[0].only
    cases = [*lists()]
    if only in (None, "hosts"):
        shared_hosts()
    if only in (None, "table"):
        table("none", cases)
    if only in (None, "verified"):
        table("head", [case for case in cases if case[0] == "exact PWIDs, 10 archives"])
