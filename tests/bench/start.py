"""Cost of starting: CPU until a command has answered, compared with Python itself.

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
from collections.abc import Callable
from pathlib import Path

ROUNDS = 5
PWID = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"
DURI = "duri:2010-11:http://museum.example/"
_TICK = os.sysconf("SC_CLK_TCK")
GOALS = {"parse": 100, "resolve --demo": 500, "serve --demo, first answer": 500}
"""Milliseconds on a machine that is not busy."""


def main() -> None:
    """Print the figures of all commands."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, PYTHONPYCACHEPREFIX=folder)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        runs: dict[str, Callable[[], float]] = {
            "python -c pass": lambda: command(environment, "-c", "pass"),
            "python -c 'import click'": lambda: command(environment, "-c", "import click"),
            "parse": lambda: command(environment, "-m", "timegate", "parse", PWID),
            "resolve --demo": lambda: command(
                environment, "-m", "timegate", "resolve", "--demo", DURI
            ),
            "serve --demo, first answer": lambda: served(environment),
        }
        costs: dict[str, list[float]] = {name: [] for name in runs}
        for run in runs.values():
            run()
        for _ in range(ROUNDS):
            for name, run in runs.items():
                costs[name].append(run())
    print_costs(costs)


def print_costs(costs: dict[str, list[float]]) -> None:
    print(
        f"{'start, milliseconds of CPU':<30}{'median':>8}{'least':>8}{'most':>8}{'of pass':>9}"
    )
    floor = statistics.median(costs["python -c pass"])
    for name, spent in costs.items():
        middle = statistics.median(spent)
        goal = f"  goal {GOALS[name]} ms" if name in GOALS else ""
        print(
            f"{name:<30}{middle * 1e3:>8.0f}{min(spent) * 1e3:>8.0f}{max(spent) * 1e3:>8.0f}"
            f"{middle / floor:>9.1f}{goal}"
        )


def command(environment: dict[str, str], *words: str) -> float:
    """Run Python with *words*; return its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *words], env=environment, check=True, capture_output=True, timeout=120
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def served(environment: dict[str, str]) -> float:
    """Start a server and send one request; return its CPU seconds until the response."""
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
            connection.request("GET", "/timegate/http://museum.example/")
            connection.getresponse().read()
            connection.close()
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / _TICK
        finally:
            process.send_signal(signal.SIGTERM)


if __name__ == "__main__":
    main()
