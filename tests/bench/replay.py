"""A local collection compared with pywb, on one core each: raw replay and TimeGate.

    python -m tests.bench replay [--gunicorn "COMMAND"] [--rounds 5]

COMMAND starts gunicorn in pywb's environment (.venv-pywb/bin/gunicorn if it is there), with one
gevent worker. Both serve the same files and get the same requests over 16 connections; no
request to the TimeGate is repeated in a round, so no answer comes from a cache. Both servers
run all the time, and are measured in turn.
"""

import argparse
import asyncio
import os
import random
import shlex
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import NamedTuple

from tests import warcs
from tests.bench.timegate import _free_port, _wait_for
from tests.end_to_end.collecting import running_collection
from tests.end_to_end.pywb import CONFIGURATIONS, ENVIRONMENT

AT_ONCE = 16
ROUNDS = 5
PAGE = "http://example.com/page"
OFTEN = "http://example.com/often"
FIRST = datetime(2010, 1, 1, tzinfo=UTC)
CAPTURES = 1_000
DISTINCT = 5_000
STAMP = "20200220202020"
_CORES = os.sched_getaffinity(0)
_TICK = os.sysconf("SC_CLK_TCK")


Sent = tuple[str, str]
"""The rest of a target, and a header field."""


class Server(NamedTuple):
    """A process under test, and the path under which the collection is."""

    port: int
    path: str
    pid: int

    def cpu(self) -> float:
        """Return CPU seconds so far, of the process and its children."""
        workers = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return sum(_cpu_of(pid) for pid in (str(self.pid), *workers))


class Cost(NamedTuple):
    """The rate of a load, and its CPU time."""

    rate: float
    cpu: float
    """Seconds for 1,000 requests."""


class Case(NamedTuple):
    """One kind of request, and how many of them are sent to each server in a round."""

    name: str
    requests: Callable[[int, int], list[Sent]]
    """Takes their number and the number of the round."""
    ours: int
    theirs: int
    goal: float
    """How many times our CPU time pywb should take."""


def main(arguments: Sequence[str] = ()) -> None:
    """Print every figure, and its ratio to that of pywb, over interleaved rounds."""
    options = argparse.ArgumentParser()
    options.add_argument(
        "--gunicorn", help="command that starts gunicorn in pywb's environment"
    )
    options.add_argument("--rounds", type=int, default=ROUNDS)
    given = options.parse_known_args(arguments)[0]
    gunicorn = _gunicorn(given.gunicorn)
    mine: dict[str, list[Cost]] = {case.name: [] for case in CASES}
    theirs: dict[str, list[Cost]] = {case.name: [] for case in CASES}
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        write(folder / "warcs")
        server = stack.enter_context(ours(folder / "warcs"))
        other = None if gunicorn is None else stack.enter_context(pywb(folder, gunicorn))
        for number in range(given.rounds):
            for case in CASES:
                mine[case.name].append(measure(server, case.requests(case.ours, number)))
                if other is not None:
                    requests = case.requests(case.theirs, number)
                    theirs[case.name].append(measure(other, requests))
    if gunicorn is None:
        print("pywb is not measured: no gunicorn in .venv-pywb, and none given")
    print(f"{'on one core, 16 connections':<34}{'requests/s':>12}{'CPU s / 1,000':>15}")
    for case in CASES:
        print_cost(case, mine[case.name], theirs[case.name])


def print_cost(case: Case, mine: list[Cost], theirs: list[Cost]) -> None:
    for name, costs in (("ours", mine), ("pywb", theirs)):
        if costs:
            rate, cpu = (statistics.median(each) for each in zip(*costs, strict=True))
            spent = [cost.cpu for cost in costs]
            spread = f"({min(spent):.3f} to {max(spent):.3f})"
            print(f"{f'{case.name}, {name}':<34}{rate:>12,.0f}{cpu:>15.3f} {spread}")
    if theirs:
        times = [other.cpu / own.cpu for own, other in zip(mine, theirs, strict=True)]
        print(
            f"{'':<34}pywb takes {statistics.median(times):.1f} times our CPU"
            f" ({min(times):.1f} to {max(times):.1f}); goal {case.goal:g}"
        )


def write(folder: Path) -> None:
    """Write a page of 10 kB, a page with a thousand captures, and thousands of pages."""
    folder.mkdir()
    chance = random.Random(7)
    words = [f"word{chance.randrange(3_000)}" for _ in range(1_250)]
    records = [warcs.response(PAGE, payload=" ".join(words).encode())]
    for number in range(CAPTURES):
        date = FIRST + timedelta(days=3 * number)
        records.append(warcs.response(OFTEN, f"{date:%Y-%m-%dT%H:%M:%SZ}", b"%d" % number))
    for number in range(DISTINCT):
        chance.shuffle(words)
        records.append(warcs.response(f"{PAGE}/{number}", payload=" ".join(words).encode()))
    (folder / "bench.warc.gz").write_bytes(warcs.gzipped(*records))


def pages(count: int, number: int) -> list[Sent]:
    """Return requests for pages that no other round requests."""
    places = range(number * count, (number + 1) * count)
    return [(f"{STAMP}id_/{PAGE}/{place % DISTINCT}", "") for place in places]


def raws(count: int, number: int) -> list[Sent]:  # noqa: ARG001 -- each round is the same
    return [(f"{STAMP}id_/{PAGE}", "")] * count


def uncached_raws(count: int, number: int) -> list[Sent]:  # noqa: ARG001
    return [(f"{STAMP}id_/{PAGE}", "Cache-Control: no-cache\r\n")] * count


def timegates(count: int, number: int) -> list[Sent]:
    chance = random.Random(number)
    spans = chance.sample(range(CAPTURES * 3 * 86_400), count)
    dates = (format_datetime(FIRST + timedelta(seconds=span), usegmt=True) for span in spans)
    return [(OFTEN, f"Accept-Datetime: {date}\r\n") for date in dates]


CASES = (
    Case("one page repeatedly", raws, 6_000, 1_000, 50),
    Case("the same, without the cache", uncached_raws, 3_000, 1_000, 6),
    Case(f"{DISTINCT:,} distinct records", pages, 1_000, 1_000, 10),
    Case(f"TimeGate over {CAPTURES:,} captures", timegates, 4_000, 150, 100),
)


def measure(server: Server, requests: list[Sent]) -> Cost:
    """Send *requests* after a warm-up, and return their cost."""
    asyncio.run(_load(server, requests[:100]))
    before, began = server.cpu(), time.perf_counter()
    asyncio.run(_load(server, requests[100:] or requests))
    seconds = time.perf_counter() - began
    count = len(requests[100:] or requests)
    return Cost(count / seconds, (server.cpu() - before) * 1_000 / count)


async def _load(server: Server, requests: list[Sent]) -> None:
    waiting = iter(requests)
    codes = set[bytes]()

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 20)
        for target, header in waiting:
            line = f"GET {server.path}{target} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            writer.write(f"{line}{header}\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            codes.add(head.split(b" ", 2)[1])
            await _skip_body(reader, head.lower())
        writer.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(client())
    if len(codes) != 1 or not codes & {b"200", b"302", b"307"}:
        raise RuntimeError(f"unexpected answers: {codes}")


async def _skip_body(reader: asyncio.StreamReader, head: bytes) -> None:
    _, found, rest = head.partition(b"\r\ncontent-length:")
    if found:
        await reader.readexactly(int(rest.partition(b"\r\n")[0]))
        return
    while size := int(await reader.readuntil(b"\r\n"), 16):
        await reader.readexactly(size + 2)
    await reader.readexactly(2)


@contextmanager
def ours(folder: Path) -> Iterator[Server]:
    """Serve the collection with our server."""
    with ExitStack() as stack:
        with _first_core():
            running = stack.enter_context(running_collection(folder))
        port, _, path = running.url.removeprefix("http://127.0.0.1:").partition("/")
        yield Server(int(port), f"/{path}/", running.pid)


@contextmanager
def pywb(folder: Path, gunicorn: list[str]) -> Iterator[Server]:
    """Serve the same files with pywb under gunicorn."""
    root = folder / "pywb"
    root.mkdir()
    manage = str(ENVIRONMENT / "bin" / "wb-manager")
    subprocess.run([manage, "init", "demo"], cwd=root, check=True, capture_output=True)
    archive = root / "collections" / "demo" / "archive"
    shutil.copy(folder / "warcs" / "bench.warc.gz", archive)
    subprocess.run([manage, "reindex", "demo"], cwd=root, check=True, capture_output=True)
    (root / "config.yaml").write_text(CONFIGURATIONS["exact"])
    with _free_port() as port, (root / "log").open("wb") as log:
        command = [*gunicorn, "-k", "gevent", "-w", "1", "-b", f"127.0.0.1:{port}"]
        command += ["--keep-alive", "60", "pywb.apps.wayback:application"]
        with ExitStack() as stack:
            with _first_core():
                started = subprocess.Popen(command, cwd=root, stdout=log, stderr=log)
                child = stack.enter_context(started)
            try:
                _wait_for(port)
                time.sleep(2)
                yield Server(port, "/demo/", child.pid)
            finally:
                child.terminate()
                child.wait(20)


def _gunicorn(given: str | None) -> list[str] | None:
    if given:
        return shlex.split(given)
    usual = ENVIRONMENT / "bin" / "gunicorn"
    return [str(usual)] if usual.exists() else None


@contextmanager
def _first_core() -> Iterator[None]:
    """Keep processes started in the block on one core, and the clients on the others."""
    first = {min(_CORES)}
    os.sched_setaffinity(0, first)
    try:
        yield
    finally:
        os.sched_setaffinity(0, _CORES - first or _CORES)


def _cpu_of(pid: str) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK
