"""Latency and cost of the TimeGate: cached, cold, and with slow archives.

    python -m tests.bench timegate [--memgator PATH] [--python PYTHON] [--quick]

Everything runs on 127.0.0.1 in processes of its own; CPU seconds are those of the server under
test alone, to the nanosecond. Cached: compared with a bare aiohttp application that answers a
fixed 302. Cold: 10, 35 and 83 archives without delay, every URL new, in interleaved rounds with
MemGator, the server on a core of its own; ``--quick``: 10 archives and 8 at once. Slow: 10
archives at lognormal latency (median 300 ms, sigma 0.8), with and without one that hangs.

``--python``: the interpreter of another environment of this checkout, whose server takes part
in the cold rounds. Builds of Python differ: loops of Debian's take two thirds of the CPU of
one that was compiled without ``--enable-optimizations``, as those of pyenv are by default.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

from tests.bench.archives import EPOCH

ARCHIVES = 10
AT = "Fri, 22 Jan 2016 11:20:29 GMT"


def main(arguments: Sequence[str] = ()) -> None:
    """Print every figure."""
    options = argparse.ArgumentParser()
    options.add_argument("--memgator", help="executable of MemGator, to be measured too")
    options.add_argument("--python", help="interpreter of another environment")
    options.add_argument("--quick", action="store_true", help="one line of cold requests")
    given = options.parse_known_args(arguments)[0]
    pythons = [sys.executable, *([given.python] if given.python else [])]
    for python in pythons:
        print(f"{python}: {_build_of(python)}")
    if given.quick:
        cold(given.memgator, pythons, _COLD[1:2])
        return
    cached()
    cold(given.memgator, pythons)
    slow(given.memgator)


def _build_of(python: str) -> str:
    """Return the version of an interpreter, and whether its build states optimizations."""
    code = (
        "import sys, sysconfig; options = sysconfig.get_config_var('CONFIG_ARGS') or ''; "
        "print(sys.version, '--enable-optimizations' in options)"
    )
    printed = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    version, _, stated = printed.stdout.strip().replace("\n", " ").rpartition(" ")
    return f"{version}, --enable-optimizations {'' if stated == 'True' else 'not '}stated"


def cached() -> None:
    """Compare a cached answer with a bare application that answers a fixed 302."""
    targets = ["/timegate/http://www.example.org/page"] * 5_000
    with (
        pinned(),
        bare() as reference,
        archives(ARCHIVES) as upstream,
        timegate(upstream) as server,
    ):
        rates: dict[int, list[float]] = {reference.pid: [], server.pid: []}
        for each in (reference, server):
            pin(each.pid, _SERVER_CORE)
        for _ in range(_ROUNDS):
            for each in (reference, server):
                loaded = asyncio.run(load(each, targets, at_once=16))
                rates[each.pid].append(loaded.rate)
    floor, ours = rates.values()
    shares = [one / other for one, other in zip(ours, floor, strict=True)]
    print(f"{'cached TimeGate answers':<38}{'a CPU second':>14}{'of bare':>19}")
    print(f"{'bare aiohttp application':<38}{statistics.median(floor):>14,.0f}{1:>19.2f}")
    print(f"{'timegate':<38}{statistics.median(ours):>14,.0f}{_spread(shares):>19}")


_ROUNDS = 5
_COLD = ((10, 1), (10, 8), (10, 16), (10, 64), (35, 8), (83, 8))
"""Archives, and requests at once."""


def cold(
    memgator: str | None,
    pythons: Sequence[str] = (sys.executable,),
    cases: Sequence[tuple[int, int]] = _COLD,
) -> None:
    """Measure the cost of a fan-out when nothing is cached, in interleaved rounds."""
    with pinned():
        print(
            f"\n{'cold fan-out at 0 ms, medians of 5':<30}{'CPU s / 1,000':>16}"
            f"{'requests':>10}{'MemGator':>16}{'ratio':>19}"
        )
        for count, at_once in cases:
            with archives(count) as upstream, ExitStack() as stack:
                servers = [
                    stack.enter_context(timegate(upstream, python=each)) for each in pythons
                ]
                if memgator is not None:
                    servers.append(stack.enter_context(memgator_server(memgator, upstream)))
                rounds = _cold_rounds(servers, upstream, at_once)
                for place, python in enumerate(pythons):
                    row = _cold_row(count, at_once, rounds, place, memgator is not None)
                    print(row, python if place else "", flush=True)
                if memgator is not None and (count, at_once) == cases[0]:
                    same = asyncio.run(agreement(servers[0], servers[-1]))
                    print(f"same answer on {same} of 60 random dates")


class Rounds(NamedTuple):
    """CPU seconds for 1,000 requests in each round, by server; requests to archives."""

    cpu: list[list[float]]
    requests: float


def _cold_rounds(servers: Sequence["Server"], upstream: int, at_once: int) -> Rounds:
    """Load the *servers* in turn with pages that are new to them."""
    archives_asked = len(request_counts(upstream))
    number = max(3_000 // archives_asked, 60)
    for server in servers:
        pin(server.pid, _SERVER_CORE)
        asyncio.run(load(server, urls("warm", 60), at_once))
    cpu: list[list[float]] = [[] for _ in servers]
    requests = 0
    for turn in range(_ROUNDS):
        for place, server in enumerate(servers):
            before = sum(request_counts(upstream))
            loaded = asyncio.run(load(server, urls(f"cold{turn}", number), at_once))
            cpu[place].append(loaded.cpu)
            if place == 0:
                requests += sum(request_counts(upstream)) - before
    return Rounds(cpu, requests / number / _ROUNDS)


def _cold_row(
    count: int,
    at_once: int,
    rounds: Rounds,
    place: int,
    compared: bool,  # noqa: FBT001 -- whether the last server is MemGator
) -> str:
    ours, theirs = rounds.cpu[place], rounds.cpu[-1]
    row = f"{f'{count} archives, {at_once} at once':<30}{_spread(ours):>20}"
    row += f"{rounds.requests:>6.1f}"
    if compared:
        ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
        row += f"{_spread(theirs):>20}{_spread(ratios):>20}"
    return row


def _spread(numbers: Sequence[float]) -> str:
    """Return median, least and greatest of *numbers*."""
    return f"{statistics.median(numbers):.2f} ({min(numbers):.2f}-{max(numbers):.2f})"


_SERVER_CORE, _LOAD_CORE = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))


@contextmanager
def pinned() -> Iterator[None]:
    """Leave one core to the server: load and archives run on another, if there is one."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {_LOAD_CORE})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def pin(pid: int, core: int) -> None:
    """Run all threads of a process on one core."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {core})


def slow(memgator: str | None) -> None:
    """Measure the response times with slow archives, and the number of requests to them."""
    print(
        f"\n{'200 requests, 10 at once':<38}"
        f"{'p50 s':>8}{'p99 s':>8}{'max s':>8}{'requests':>10}"
    )
    for hang in (None, ARCHIVES):
        name = "one archive hangs" if hang else "no archive hangs"
        with archives(ARCHIVES + 1 if hang else ARCHIVES, 0.3, 0.8, hang) as upstream:
            with timegate(upstream) as server:
                run(f"timegate, any, {name}", server, urls("any", 200), upstream)
                run(
                    f"timegate, named, {name}", server, exact_references(200), upstream, at=None
                )
            if memgator is not None and hang is None:
                with memgator_server(memgator, upstream) as other:
                    run(f"MemGator, {name}", other, urls("gator", 200), upstream)


def run(
    name: str, server: "Server", targets: list[str], upstream: int, at: str | None = AT
) -> None:
    before = sum(request_counts(upstream))
    seen = asyncio.run(load(server, targets, at_once=10, at=at))
    requests = (sum(request_counts(upstream)) - before) / len(targets)
    spans = sorted(seen.seconds)
    p99 = spans[int(len(spans) * 0.99) - 1]
    print(
        f"{name:<38}{statistics.median(spans):>8.2f}{p99:>8.2f}{spans[-1]:>8.2f}{requests:>10.2f}"
    )


def urls(label: str, count: int) -> list[str]:
    return [f"/timegate/http://www.example.org/{label}/{n}" for n in range(count)]


def exact_references(count: int) -> list[str]:
    """Return PWIDs of captures that the archive holds at exactly that second."""
    chance = random.Random(3)
    references = []
    for n in range(count):
        archive, capture = chance.randrange(ARCHIVES), chance.randrange(10)
        at = EPOCH + timedelta(days=400 * capture, seconds=7_919 * (archive + 1))
        references.append(
            f"/resolve/urn:pwid:a{archive}.example:{at:%Y-%m-%dT%H:%M:%SZ}:page:"
            f"http://www.example.org/exact/{n}"
        )
    return references


@dataclass(frozen=True, slots=True)
class Server:
    """A process under test."""

    port: int
    pid: int

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far, user and system, all threads."""
        # The clock of a process, as clock_getcpuclockid(3) makes it of its number.
        return time.clock_gettime((~self.pid << 3) | 2)


@dataclass(frozen=True, slots=True)
class Load:
    """The CPU time of a load, its response times and answers."""

    count: int
    cpu_seconds: float
    seconds: list[float]
    answers: list[bytes]

    @property
    def rate(self) -> float:
        return self.count / self.cpu_seconds

    @property
    def cpu(self) -> float:
        return self.cpu_seconds * 1_000 / self.count


async def load(server: Server, targets: list[str], at_once: int, at: str | None = AT) -> Load:
    """Send *targets* over *at_once* connections, each the next one after an answer."""
    waiting = iter(targets)
    seconds: list[float] = []
    answers: list[bytes] = []
    accept = f"Accept-Datetime: {at}\r\n" if at else ""

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 20)
        for target in waiting:
            began = time.perf_counter()
            writer.write(f"GET {target} HTTP/1.1\r\nHost: x\r\n{accept}\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(_length(head))
            seconds.append(time.perf_counter() - began)
            answers.append(head)
        writer.close()

    before = server.cpu
    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(client())
    codes = {head.split(b" ", 2)[1] for head in answers}
    if codes != {b"302"}:
        print(f"unexpected answers: {codes}", file=sys.stderr)
    return Load(len(targets), server.cpu - before, seconds, answers)


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return int(line[15:])
    return 0


async def agreement(ours: Server, theirs: Server) -> int:
    """Return the number of 60 random dates for which both redirect to the same memento."""
    chance = random.Random(5)
    same = 0
    for n in range(60):
        at = EPOCH + timedelta(seconds=chance.randrange(9 * 400 * 86_400))
        when = format_datetime(at, usegmt=True)
        target = [f"/timegate/http://www.example.org/agree/{n}"]
        heads = [(await load(server, target, 1, when)).answers[0] for server in (ours, theirs)]
        same += len({_location(head) for head in heads}) == 1
    return same


def _location(head: bytes) -> bytes:
    lines = head.split(b"\r\n")
    return next(line[9:].strip() for line in lines if line.lower().startswith(b"location:"))


@contextmanager
def process(command: list[str], ready: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start *command*, wait for a line with *ready* in it, end it by its pid."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:
        assert child.stdout is not None
        try:
            line = next(line for line in child.stdout if ready in line)
            yield child, line
        finally:
            child.send_signal(signal.SIGTERM)
            child.wait(20)


@contextmanager
def archives(
    count: int, median: float = 0.0, sigma: float = 0.0, hang: int | None = None
) -> Iterator[int]:
    command = [sys.executable, "-m", "tests.bench.archives", str(count)]
    command += ["--median", str(median), "--sigma", str(sigma)]
    command += [] if hang is None else ["--hang", str(hang)]
    with process(command, "") as (_, line):
        yield int(line)


def request_counts(upstream: int) -> list[int]:
    with urlopen(f"http://127.0.0.1:{upstream}/stats") as reply:
        return [int(count) for count in json.load(reply)]


@contextmanager
def timegate(
    upstream: int, *, replay: bool = False, python: str = sys.executable
) -> Iterator[Server]:
    """Start our server with all archives of *upstream*; *replay*: with their templates."""
    count = len(request_counts(upstream))
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "timegate.toml"
        config.write_text(
            "[archives]\nuse = []\n"
            + "".join(_entry(n, upstream, replay=replay) for n in range(count))
        )
        command = [
            python,
            "-m",
            "timegate",
            "serve",
            "--port",
            "0",
            "--config",
            str(config),
        ]
        with process(command, "listening at") as (child, line):
            yield Server(int(line.rstrip("/\n").rpartition(":")[2]), child.pid)


def _entry(number: int, upstream: int, *, replay: bool) -> str:
    base = f"http://127.0.0.1:{upstream}/a{number}"
    template = f'replay = "{base}/{{time14}}/{{uri}}"\n' if replay else ""
    return (
        f'[[archive]]\nid = "a{number}"\nkind = "memento"\ntimegate = "{base}/timegate/"\n'
        f'timemap = "{base}/timemap/link/"\npwid = ["a{number}.example"]\n{template}'
    )


@contextmanager
def memgator_server(executable: str, upstream: int) -> Iterator[Server]:
    """Start MemGator with the same archives."""
    base = f"http://127.0.0.1:{upstream}"
    known = [
        {
            "id": f"a{n}",
            "name": f"a{n}",
            "timemap": f"{base}/a{n}/timemap/link/",
            "timegate": f"{base}/a{n}/timegate/",
            "probability": 1.0,
            "ignore": False,
        }
        for n in range(len(request_counts(upstream)))
    ]
    with tempfile.TemporaryDirectory() as folder, _free_port() as port:
        file = Path(folder) / "archives.json"
        file.write_text(json.dumps(known))
        command = [executable, "-a", str(file), "-p", str(port), "-H", "127.0.0.1", "server"]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as child:
            try:
                _wait_for(port)
                yield Server(port, child.pid)
            finally:
                child.terminate()
                child.wait(20)


@contextmanager
def _free_port() -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    yield port


def _wait_for(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    sys.exit(f"no server at port {port}")


@contextmanager
def bare() -> Iterator[Server]:
    """Start an aiohttp application that answers one fixed redirect."""
    program = """
import asyncio, sys
from aiohttp import web
try:
    import uvloop
    factory = uvloop.new_event_loop
except ImportError:
    factory = None
async def redirect(request):
    return web.Response(status=302, headers={"Location": "http://127.0.0.1/a0/20160122112029/http://x/"})
async def main():
    app = web.Application()
    app.router.add_get("/timegate/{url:.*}", redirect)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()
with asyncio.Runner(loop_factory=factory) as runner:
    runner.run(main())
"""
    with process([sys.executable, "-c", program], "") as (child, line):
        yield Server(int(line), child.pid)
