"""Processes that a scenario starts and ends by their pid, with figures from /proc."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TICK: Final = os.sysconf("SC_CLK_TCK")
TIMEOUT: Final = 20.0
_START: Final = 60.0
"""Seconds until a program has started, on a machine that is busy."""


@dataclass(slots=True)
class Running:
    """A process that a scenario has started."""

    process: "subprocess.Popen[str]"
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def megabytes(self) -> float:
        """Resident memory."""
        return _status(self.pid, "VmRSS") / 1024

    @property
    def peak(self) -> float:
        """Peak of the resident memory in megabytes, since the start or `reset_peak`."""
        return _status(self.pid, "VmHWM") / 1024

    def reset_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    @property
    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    @property
    def cpu(self) -> float:
        """CPU seconds so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    @property
    def waited(self) -> float:
        """Seconds for which its main thread was ready to run, and other processes ran."""
        return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[1]) / 1e9

    def send(self, number: signal.Signals) -> None:
        if self.alive:
            os.kill(self.pid, number)

    def pause(self) -> None:
        self.send(signal.SIGSTOP)

    def go_on(self) -> None:
        self.send(signal.SIGCONT)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Send SIGTERM, and return the exit code."""
        self.send(signal.SIGTERM)
        return self.process.wait(TIMEOUT)

    def log_text(self) -> str:
        return self.log.read_text(errors="replace")


def _status(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0


@contextmanager
def running(
    command: Sequence[str],
    log: Path,
    *,
    environment: Mapping[str, str] | None = None,
    piped: bool = False,
) -> Iterator[Running]:
    """Start *command*, and end it at the end of the block."""
    pipe = subprocess.PIPE if piped else None
    with log.open("a") as output:
        process = subprocess.Popen(  # noqa: S603 -- our own commands, or system programs
            command,
            stdin=pipe or subprocess.DEVNULL,
            stdout=pipe or output,
            stderr=output,
            text=True,
            env={**os.environ, **(environment or {})},
        )
    started = Running(process, log)
    try:
        yield started
    finally:
        _end(started)


def _end(started: Running) -> None:
    started.go_on()
    if _is_strace(started):
        # It would leave what it traces running. It ends when that has ended.
        for child in children(started.pid):
            os.kill(child, signal.SIGTERM)
    else:
        started.send(signal.SIGTERM)
    try:
        started.process.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        started.kill()
    for pipe in (started.process.stdin, started.process.stdout):
        if pipe is not None:
            pipe.close()


def _is_strace(started: Running) -> bool:
    words = started.process.args
    return isinstance(words, list) and Path(str(words[0])).name == "strace"


def children(pid: int) -> list[int]:
    """Return the child processes of *pid*; none if it has ended."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def line_with(started: Running, words: str) -> str:
    """Wait for a line with *words* in the log, and return it."""
    until = time.monotonic() + _START
    while time.monotonic() < until:
        for line in started.log_text().splitlines():
            if words in line:
                return line
        if not started.alive:
            break
        time.sleep(0.02)
    raise RuntimeError(f"{started.process.args!r} did not start: {started.log_text()[-2000:]}")


def python(*words: str) -> list[str]:
    return [sys.executable, "-m", *words]


def stolen() -> float:
    """Return the seconds for which the host of this virtual machine ran others, so far."""
    first = Path("/proc/stat").read_text().splitlines()[0]
    return int(first.split()[8]) / _TICK
