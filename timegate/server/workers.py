"""Worker processes on one port: started, watched, and ended together.

The kernel spreads connections over the workers (SO_REUSEPORT). Workers share their rate limits
for archives in a file. SIGHUP is passed on to them; SIGUSR2 replaces one after the other, and
each new one is ready before the old one ends.

A worker that dies is started again: at once, or after a growing pause if it did not live long.
Only if no worker has ever listened, and none is left, the start has failed.
"""

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from prometheus_client.multiprocess import mark_process_dead

from archives.model import ArchiveEntry, Limits
from timegate.config import BadConfig
from timegate.observability.logs import Unforeseen, event
from timegate.upstream.worker_rate_limits import create_rate_limits_file

_GRACE: Final = 15.0
"""Seconds for a worker to end its requests."""
_STARTED_WITHIN: Final = 60.0
"""Seconds for a worker to listen, on a machine with a lot of other work."""
_SHORT_LIFE: Final = 10.0
"""Seconds. A worker that dies earlier may do so again, and is started after a pause."""
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_MOST_DOUBLED: Final = 10
_PAUSE: Final = 0.2
"""Seconds between two looks at the workers."""


class Process(Protocol):
    """A running worker, as `subprocess.Popen` represents it."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, sig: int, /) -> None: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


@dataclass(slots=True)
class Worker:
    """One of the workers: its process, and how often it has died soon after its start."""

    process: Process | None
    """None while it waits to be started again."""
    started: float
    deaths: int = 0
    """In a row, each soon after the start."""
    restart: float = 0.0
    """When it is started again."""
    reload: bool = False
    """Whether it has to read the configuration again, as soon as it listens."""

    def died(self, now: float) -> float:
        """Note its death; return the seconds after which it is started again."""
        early = now - self.started < _SHORT_LIFE
        self.deaths = self.deaths + 1 if early else 0
        doubled = min(self.deaths - 1, _MOST_DOUBLED)
        pause = min(_FIRST_PAUSE * 2**doubled, _LONGEST_PAUSE) if early else 0.0
        self.process, self.restart = None, now + pause
        return pause


def ending(code: int) -> str:
    """Return how a process ended, from its exit code as `subprocess` states it."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    # The kernel does not say so itself: it ends processes this way when memory is exhausted.
    return f"killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


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

    def __init__(  # noqa: PLR0913 -- two of them for tests
        self,
        count: int,
        command: Sequence[str],
        folder: Path,
        before_reload: Callable[[], None] = lambda: None,
        *,
        start: Callable[[], Process] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """*folder* is for the metrics and the ready files of the workers."""
        self._count = count
        self._command = [sys.executable, "-m", "timegate", *command]
        self._folder = folder
        self._environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder)}
        self._before_reload = before_reload
        self._spawn = start or self._spawned
        self._clock = clock
        self._orders: list[int] = []
        self._stopping = False
        self._has_listened = False
        """Whether any worker has ever listened."""
        self._last_code = 1
        self._workers: list[Worker] = []

    def start(self) -> None:
        """Start the workers. Raises OSError."""
        for _ in range(self._count):
            self._workers.append(Worker(self._spawn(), self._clock()))

    def obey_signals(self) -> None:
        """Take orders from signals from now on; before any worker is started."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR2):
            signal.signal(number, lambda number, _frame: self.order(number))

    def order(self, number: int) -> None:
        """Take the order that the signal *number* gives."""
        if number in (signal.SIGTERM, signal.SIGINT):
            self._stopping = True
        else:
            self._orders.append(number)

    def wait_until_listening(self) -> bool:
        """Wait until all workers listen, for a limited time; return whether any does."""
        for process in self._living():
            self._wait_for(process)
        return self._has_listened

    def _wait_for(self, process: Process) -> bool:
        """Wait until *process* listens; False if it has died or takes too long."""
        give_up = time.monotonic() + _STARTED_WITHIN
        while time.monotonic() < give_up and not self._stopping and process.poll() is None:
            if self._listens(process):
                return True
            time.sleep(_PAUSE / 10)
        return False

    def _listens(self, process: Process) -> bool:
        listens = ready_file(self._folder, process.pid).exists()
        self._has_listened = self._has_listened or listens
        return listens

    def watch(self) -> int:
        """Replace workers that die, until SIGTERM or SIGINT; return the exit code."""
        while not self._stopping:
            self.obey()
            code = self.look()
            if code is not None:
                return code
            time.sleep(_PAUSE)
        self._end()
        return 0

    def look(self) -> int | None:
        """Start dead workers again; return an exit code if the start of all has failed."""
        for worker in self._workers:
            if worker.process is None:
                self._restart_when_due(worker)
            elif (code := worker.process.poll()) is not None:
                self._bury(worker, worker.process, code)
            elif worker.reload and self._listens(worker.process):
                # Earlier, the signal would end it.
                worker.reload = False
                worker.process.send_signal(signal.SIGHUP)
        if any(self._living()) or self._has_listened:
            return None
        event("start-failed", logging.ERROR, workers=len(self._workers))
        return max(self._last_code, 1)

    def _bury(self, worker: Worker, process: Process, code: int) -> None:
        """Note the death of a worker, and when it is started again."""
        # It may have listened and died since the last look.
        self._listens(process)
        self._last_code = code
        now = self._clock()
        lived = now - worker.started
        self._forget(process)
        pause = worker.died(now)
        event(
            "worker-died",
            logging.ERROR,
            pid=process.pid,
            why=ending(code),
            lived=round(lived, 1),
            restart_in=pause,
        )
        self._restart_when_due(worker)

    def _restart_when_due(self, worker: Worker) -> None:
        now = self._clock()
        if now < worker.restart or self._stopping:
            return
        try:
            worker.process = self._spawn()
        except OSError as error:
            # No memory or no more processes; others may end.
            worker.started = now
            pause = worker.died(now)
            event("worker-not-started", logging.ERROR, why=error.strerror, restart_in=pause)
        else:
            worker.started, worker.reload = now, False

    def _living(self) -> list[Process]:
        return [worker.process for worker in self._workers if worker.process is not None]

    def obey(self) -> None:
        """Carry out the orders that signals gave."""
        while self._orders and not self._stopping:
            number = self._orders.pop(0)
            if number == signal.SIGHUP:
                self._before_reload()
                for worker in self._workers:
                    worker.reload = True
            else:
                self._replace_all()

    def _replace_all(self) -> None:
        """Replace one worker after the other; stop if a new one does not start."""
        for worker in self._workers:
            old, now = worker.process, self._clock()
            new = self._replacement()
            if new is None:
                event("not-replaced", logging.ERROR, why="a new worker does not start")
                return
            worker.process, worker.started, worker.deaths = new, now, 0
            worker.reload = False
            if old is not None:
                old.terminate()
                _ended(old, _GRACE)
                self._forget(old)

    def _replacement(self) -> Process | None:
        """Return a new process that listens; None if it cannot be started."""
        with suppress(OSError):
            new = self._spawn()
            if self._wait_for(new):
                return new
            new.terminate()
            _ended(new, _GRACE)
        return None

    def _forget(self, dead: Process) -> None:
        """Remove the gauges of *dead* from the metrics; its counters stay."""
        # Something may have cleaned up the folder.
        with suppress(OSError):
            ready_file(self._folder, dead.pid).unlink(missing_ok=True)
            mark_process_dead(dead.pid, str(self._folder))  # type: ignore[no-untyped-call]

    def _spawned(self) -> Process:
        return subprocess.Popen(self._command, env=self._environment)  # noqa: S603 -- ourselves

    def _end(self) -> None:
        processes = self._living()
        for process in processes:
            process.terminate()
        give_up = time.monotonic() + _GRACE
        for process in processes:
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
        self._log = Unforeseen("reload-internal-error")
        create_rate_limits_file(path, entries)

    def __call__(self) -> None:
        """Rewrite the file if the archives have changed; workers open it when they reload."""
        try:
            self._rewrite(self._reread())
        except BadConfig:
            # The workers report it.
            return
        except Exception as error:  # noqa: BLE001 -- the boundary around a reload
            self._log("rate limits", error)

    def _rewrite(self, entries: Sequence[ArchiveEntry]) -> None:
        if _shape(entries) != self._shape:
            new = self._path.with_suffix(".new")
            create_rate_limits_file(new, entries)
            new.replace(self._path)
            self._shape = _shape(entries)


def _shape(entries: Sequence[ArchiveEntry]) -> list[tuple[str, Limits]]:
    return [(entry.id, entry.limits) for entry in entries]
