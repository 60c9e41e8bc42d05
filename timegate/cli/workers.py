"""Several processes on one port: started, watched, and ended together.

The kernel spreads connections over the workers (SO_REUSEPORT); what they must not do each on
their own, asking archives too fast, they share in a file.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final

_GRACE: Final = 15.0
_SHORT_LIFE: Final = 2.0
_PAUSE: Final = 0.2


@contextmanager
def reserved(host: str, port: int) -> Iterator[int]:
    """Keep *port* for the workers; 0 picks a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as place:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        place.bind((host, port))
        yield int(place.getsockname()[1])


class Workers:
    """A number of processes running the same command."""

    def __init__(
        self, count: int, command: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self._command = [sys.executable, "-m", "timegate", *command]
        self._environment = {**os.environ, **environment}
        self._stopping = False
        self._workers = [self._started() for _ in range(count)]
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)

    def wait_until_listening(self, host: str, port: int) -> None:
        """Wait until one of them answers; not for long, they may be dying."""
        give_up = time.monotonic() + _GRACE
        while time.monotonic() < give_up and not self._stopping:
            try:
                socket.create_connection((host, port), 1.0).close()
            except OSError:
                time.sleep(_PAUSE / 4)
            else:
                return
            if any(process.poll() is not None for process, _ in self._workers):
                return

    def watch(self) -> int:
        """Replace workers that die, until told to stop; return the exit code.

        One that dies as soon as it starts would do so again: then all are ended.
        """
        while not self._stopping:
            for number, (process, started) in enumerate(self._workers):
                code = process.poll()
                if code is None or self._stopping:
                    continue
                if time.monotonic() - started < _SHORT_LIFE:
                    self._end()
                    return code or 1
                self._workers[number] = self._started()
            time.sleep(_PAUSE)
        self._end()
        return 0

    def _started(self) -> tuple["subprocess.Popen[bytes]", float]:
        process = subprocess.Popen(self._command, env=self._environment)  # noqa: S603 -- ourselves
        return process, time.monotonic()

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def _end(self) -> None:
        for process, _ in self._workers:
            process.terminate()
        give_up = time.monotonic() + _GRACE
        for process, _ in self._workers:
            try:
                process.wait(max(give_up - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
