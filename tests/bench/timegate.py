"""Latency and cost of the TimeGate: cached, cold, and with slow archives.

    python -m tests.bench timegate [--memgator PATH]

Everything runs on 127.0.0.1 in processes of its own; CPU seconds are those of the server under
test alone, read from /proc. Cached: compared with a bare aiohttp application that answers a
fixed 302. Cold: 10 archives without delay, every URL new. Slow: 10 archives at lognormal
latency (median 300 ms, sigma 0.8), with and without one that hangs.
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
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path
from urllib.request import urlopen

from tests.bench.archives import EPOCH

ARCHIVES = 10
_TICK = os.sysconf("SC_CLK_TCK")
AT = "Fri, 22 Jan 2016 11:20:29 GMT"


def main(arguments: Sequence[str] = ()) -> None:
    """Print every figure."""
    options = argparse.ArgumentParser()
    options.add_argument("--memgator", help="executable of MemGator, to be measured too")
    memgator = options.parse_args(arguments).memgator
    cached()
    cold(memgator)
    slow(memgator)


def cached() -> None:
    """Compare a cached answer with a bare application that answers a fixed 302."""
    target = "/timegate/http://www.example.org/page"
    with bare() as reference:
        floor = asyncio.run(load(reference, [target] * 20_000, at_once=16))
    with archives(ARCHIVES) as upstream, timegate(upstream) as server:
        ours = asyncio.run(load(server, [target] * 20_000, at_once=16))
    print(f"{'cached TimeGate answers':<38}{'a CPU second':>14}{'of bare':>9}")
    print(f"{'bare aiohttp application':<38}{floor.rate:>14,.0f}{1:>9.2f}")
    print(f"{'timegate':<38}{ours.rate:>14,.0f}{ours.rate / floor.rate:>9.2f}")


def cold(memgator: str | None) -> None:
    """Measure the cost of a fan-out to 10 archives when nothing is cached."""
    print(f"\n{'cold fan-out to 10 archives at 0 ms':<38}{'CPU s / 1,000':>14}{'requests':>10}")
    with archives(ARCHIVES) as upstream, timegate(upstream) as server:
        asyncio.run(load(server, urls("warm", 100), at_once=8))
        before = request_counts(upstream)
        ours = asyncio.run(load(server, urls("cold", 1_000), at_once=8))
        requests = (sum(request_counts(upstream)) - sum(before)) / 1_000
        print(f"{'timegate':<38}{ours.cpu:>14.2f}{requests:>10.1f}")
        if memgator is None:
            return
        with memgator_server(memgator, upstream) as other:
            asyncio.run(load(other, urls("warm", 100), at_once=8))
            theirs = asyncio.run(load(other, urls("cold", 1_000), at_once=8))
            print(f"{'MemGator':<38}{theirs.cpu:>14.2f}{ARCHIVES:>10.1f}")
            print(f"{'ratio':<38}{ours.cpu / theirs.cpu:>14.2f}")
            same = asyncio.run(agreement(server, other))
            print(f"same answer on {same} of 60 random dates")


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
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK


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
    return Load(len(targets), max(server.cpu - before, 1 / _TICK), seconds, answers)


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
def timegate(upstream: int, *, replay: bool = False) -> Iterator[Server]:
    """Start our server with all archives of *upstream*; *replay*: with their templates."""
    count = len(request_counts(upstream))
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "timegate.toml"
        config.write_text(
            "[archives]\nuse = []\n"
            + "".join(_entry(n, upstream, replay=replay) for n in range(count))
        )
        command = [
            sys.executable,
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
