"""Processes that a scenario starts and ends by their pid, with figures of the kernel."""

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
PATIENCE: Final = 20.0


@dataclass(slots=True)
class Running:
    """A process of ours, or one that serves us."""

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
        """Resident now."""
        return _status(self.pid, "VmRSS") / 1024

    @property
    def peak(self) -> float:
        """Megabytes at most since the start, or since `forget_peak`."""
        return _status(self.pid, "VmHWM") / 1024

    def forget_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    @property
    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    @property
    def cpu(self) -> float:
        """Seconds so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

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
        """Ask it to end, and return its exit code."""
        self.send(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def said(self) -> str:
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
    """Start *command*; at the end of the block it is gone."""
    pipe = subprocess.PIPE if piped else None
    with log.open("a") as output:
        process = subprocess.Popen(  # noqa: S603 -- ourselves, or Debian's own
            command,
            stdin=pipe or subprocess.DEVNULL,
            stdout=pipe or output,
            stderr=output,
            text=True,
            env={**os.environ, **(environment or {})},
        )
    one = Running(process, log)
    try:
        yield one
    finally:
        _ended(one)


def _ended(one: Running) -> None:
    one.go_on()
    one.send(signal.SIGTERM)
    try:
        one.process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        one.kill()
    for pipe in (one.process.stdin, one.process.stdout):
        if pipe is not None:
            pipe.close()


def line_with(one: Running, words: str) -> str:
    """Wait for a line of its log."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        for line in one.said().splitlines():
            if words in line:
                return line
        if not one.alive:
            break
        time.sleep(0.02)
    raise RuntimeError(f"{one.process.args!r} did not start: {one.said()[-2000:]}")


def python(*words: str) -> list[str]:
    return [sys.executable, "-m", *words]
