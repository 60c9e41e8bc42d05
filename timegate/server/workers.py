"""Worker processes on one port: started, watched, and ended together.

The kernel spreads connections over the workers (SO_REUSEPORT). Workers share their rate limits
for archives in a file. SIGHUP is passed on to them; SIGUSR2 replaces one after the other, and
each new one is ready before the old one ends.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Final

from prometheus_client.multiprocess import mark_process_dead

from archives.model import ArchiveEntry, Limits
from timegate.config import BadConfig
from timegate.upstream.worker_rate_limits import create_rate_limits_file

_GRACE: Final = 15.0
_SHORT_LIFE: Final = 2.0
_PAUSE: Final = 0.2
Process = subprocess.Popen[bytes]


@contextmanager
def reserved(host: str, port: int) -> Iterator[int]:
    """Reserve *port* for the workers, 0 for a free one; yields the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind((host, port))
        yield int(holder.getsockname()[1])


def ready_file(folder: Path, pid: int) -> Path:
    """Return the file that a worker creates when it listens."""
    return folder / f"ready-{pid}"


class Workers:
    """A number of processes running the same command."""

    def __init__(
        self,
        count: int,
        command: Sequence[str],
        folder: Path,
        before_reload: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the workers; their metrics and ready files are in *folder*."""
        self._command = [sys.executable, "-m", "timegate", *command]
        self._folder = folder
        self._environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder)}
        self._before_reload = before_reload
        self._orders: list[int] = []
        self._stopping = False
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR2):
            signal.signal(number, self._ordered)
        self._workers = [self._started() for _ in range(count)]

    def wait_until_listening(self) -> None:
        """Wait until all workers listen, for a limited time: some may fail to start."""
        for process, _ in self._workers:
            self._wait_for(process)

    def _wait_for(self, process: Process) -> bool:
        """Wait until *process* listens; False if it has died or takes too long."""
        give_up = time.monotonic() + _GRACE
        ready = ready_file(self._folder, process.pid)
        while time.monotonic() < give_up and not self._stopping and process.poll() is None:
            if ready.exists():
                return True
            time.sleep(_PAUSE / 10)
        return False

    def watch(self) -> int:
        """Replace workers that die, until SIGTERM or SIGINT; return the exit code.

        A worker that dies right after its start would do so again: then all are ended.
        """
        while not self._stopping:
            for number, (process, started) in enumerate(self._workers):
                code = process.poll()
                if code is None or self._stopping:
                    continue
                if time.monotonic() - started < _SHORT_LIFE:
                    self._end()
                    return code or 1
                self._forget(process)
                self._workers[number] = self._started()
            self._obey()
            time.sleep(_PAUSE)
        self._end()
        return 0

    def _obey(self) -> None:
        while self._orders and not self._stopping:
            number = self._orders.pop(0)
            if number == signal.SIGHUP:
                self._before_reload()
                for process, _ in self._workers:
                    process.send_signal(signal.SIGHUP)
            else:
                self._replace_all()

    def _replace_all(self) -> None:
        """Replace one worker after the other; stop if a new one does not start."""
        for number, (old, _) in enumerate(self._workers):
            new = self._started()
            if not self._wait_for(new[0]):
                new[0].terminate()
                _ended(new[0], _GRACE)
                return
            self._workers[number] = new
            old.terminate()
            _ended(old, _GRACE)
            self._forget(old)

    def _forget(self, dead: Process) -> None:
        """Remove the gauges of *dead* from the metrics; its counters stay."""
        mark_process_dead(dead.pid, str(self._folder))  # type: ignore[no-untyped-call]

    def _started(self) -> tuple[Process, float]:
        process = subprocess.Popen(self._command, env=self._environment)  # noqa: S603 -- ourselves
        return process, time.monotonic()

    def _ordered(self, number: int, _frame: FrameType | None) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self._stopping = True
        else:
            self._orders.append(number)

    def _end(self) -> None:
        for process, _ in self._workers:
            process.terminate()
        give_up = time.monotonic() + _GRACE
        for process, _ in self._workers:
            _ended(process, max(give_up - time.monotonic(), 0.1))


def _ended(process: Process, seconds: float) -> None:
    """Wait until *process* has ended; kill it after *seconds*."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class SharedRateLimits:
    """The file in which workers share their rate limits; rewritten when archives change."""

    def __init__(
        self,
        path: Path,
        entries: Sequence[ArchiveEntry],
        reread: Callable[[], Sequence[ArchiveEntry]],
    ) -> None:
        self._path = path
        self._shape = _shape(entries)
        self._reread = reread
        create_rate_limits_file(path, entries)

    def __call__(self) -> None:
        """Rewrite the file if the archives have changed; workers open it when they reload."""
        # Faults of the configuration are reported by the workers.
        with suppress(BadConfig):
            entries = self._reread()
            if _shape(entries) != self._shape:
                new = self._path.with_suffix(".new")
                create_rate_limits_file(new, entries)
                new.replace(self._path)
                self._shape = _shape(entries)


def _shape(entries: Sequence[ArchiveEntry]) -> list[tuple[str, Limits]]:
    return [(entry.id, entry.limits) for entry in entries]
