"""Cost of starting: time and CPU until a command has answered, compared with Python itself.

Each is run in turn, in rounds. A machine on which ``python -c pass`` takes 12 ms of CPU answers
``timegate parse`` within 100 ms if that takes 8 times as much. Bytecode is compiled beforehand.
"""

import http.client
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROUNDS = 5
PWID = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"
DURI = "duri:2010-11:http://museum.example/"
_TICK = os.sysconf("SC_CLK_TCK")
AIOHTTP = "python -c 'import aiohttp'"
GOALS = {"parse": 100, "resolve --demo": 500, "serve --demo, first answer": 500}
"""Milliseconds on a machine that is not busy."""


class Spent(NamedTuple):
    """Seconds of one run."""

    cpu: float
    wall: float


def main() -> None:
    """Print the figures of all commands."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, PYTHONPYCACHEPREFIX=folder)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        runs: dict[str, Callable[[], Spent]] = {
            "python -c pass": lambda: command(environment, "-c", "pass"),
            "python -c 'import click'": lambda: command(environment, "-c", "import click"),
            AIOHTTP: lambda: command(environment, "-c", "import aiohttp"),
            "parse": lambda: command(environment, "-m", "timegate", "parse", PWID),
            "resolve --demo": lambda: command(
                environment, "-m", "timegate", "resolve", "--demo", DURI
            ),
            "serve --demo, first answer": lambda: served(environment),
        }
        costs: dict[str, list[Spent]] = {name: [] for name in runs}
        for run in runs.values():
            run()
        for _ in range(ROUNDS):
            for name, run in runs.items():
                costs[name].append(run())
    print_costs(costs)


def print_costs(costs: dict[str, list[Spent]]) -> None:
    print(
        f"{'start, milliseconds':<30}{'CPU':>6}{'least':>7}{'most':>7}{'of pass':>9}"
        f"{'of aiohttp':>12}{'wall':>7}{'least':>7}{'most':>7}"
    )
    middle = {
        name: statistics.median(one.cpu for one in spent) for name, spent in costs.items()
    }
    for name, spent in costs.items():
        cpu, wall = (sorted(times) for times in zip(*spent, strict=True))
        goal = f"  goal {GOALS[name]} ms" if name in GOALS else ""
        print(
            f"{name:<30}{middle[name] * 1e3:>6.0f}{cpu[0] * 1e3:>7.0f}{cpu[-1] * 1e3:>7.0f}"
            f"{middle[name] / middle['python -c pass']:>9.1f}"
            f"{middle[name] / middle[AIOHTTP]:>12.2f}"
            f"{statistics.median(wall) * 1e3:>7.0f}{wall[0] * 1e3:>7.0f}{wall[-1] * 1e3:>7.0f}"
            f"{goal}"
        )


def command(environment: dict[str, str], *words: str) -> Spent:
    """Run Python with *words*; return its CPU seconds, and the time it took."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *words], env=environment, check=True, capture_output=True, timeout=120
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(cpu, wall)


def served(environment: dict[str, str]) -> Spent:
    """Start a server and send one request; return what it took until the response."""
    began = time.perf_counter()
    words = ("-m", "timegate", "serve", "--demo", "--port", "0")
    with subprocess.Popen(
        [sys.executable, *words],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            line = next(each for each in process.stderr if "listening at" in each)
            port = int(line.rstrip("/\n").rpartition(":")[2])
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            # Not a search: the archives of the demo take two seconds on purpose.
            connection.request("GET", "/")
            connection.getresponse().read()
            connection.close()
            wall = time.perf_counter() - began
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            return Spent((int(fields[11]) + int(fields[12])) / _TICK, wall)
        finally:
            process.send_signal(signal.SIGTERM)


if __name__ == "__main__":
    main()
