"""Writes lines in a thread of its own, so that nobody has to wait until they are written.

A pipe whose reader stands still, or a disk that hangs, would stop the one who writes to it,
and with him all requests. Here only lines are lost, and they are counted.
"""

import os
import threading
from collections import deque
from typing import Final

_MOST: Final = 1000
"""Lines that wait; at 100 a second, ten seconds of a reader that stands still."""


class LogWriter:
    """Writes to the file descriptor *number*, straight: not through what Python keeps for it.

    When Python ends it flushes that, and aborts if a thread has it in use.
    """

    def __init__(self, number: int, most: int = _MOST) -> None:
        self._number = number
        self._most = most
        self._lines: deque[tuple[str, int]] = deque()
        self._change = threading.Condition()
        self._busy = False
        self._over = False
        self._lost = 0
        threading.Thread(target=self._write_all, name="log", daemon=True).start()

    def write(self, line: str, telling: int = 0) -> None:
        """Have *line* written, which tells of so many lost ones; it is lost if many wait."""
        with self._change:
            if len(self._lines) < self._most:
                self._lines.append((line, telling))
                self._change.notify_all()
            else:
                self._lost += 1 + telling

    def take_lost(self) -> int:
        """Return how many lines were lost since somebody was told."""
        with self._change:
            lost, self._lost = self._lost, 0
            return lost

    def flush(self, seconds: float = 1.0) -> None:
        """Wait until all is written, but not longer than *seconds*."""
        with self._change:
            self._change.wait_for(lambda: not self._lines and not self._busy, seconds)

    def end(self) -> None:
        """Write what there is, and then no more; does not wait for it."""
        with self._change:
            self._over = True
            self._change.notify_all()

    def _write_all(self) -> None:
        while (one := self._next()) is not None:
            line, telling = one
            written = _written(self._number, line.encode(errors="backslashreplace"))
            with self._change:
                self._busy = False
                self._lost += 0 if written else 1 + telling
                self._change.notify_all()

    def _next(self) -> tuple[str, int] | None:
        with self._change:
            self._change.wait_for(lambda: self._lines or self._over)
            if not self._lines:
                return None
            self._busy = True
            return self._lines.popleft()


def _written(number: int, octets: bytes) -> bool:
    """Write all of *octets*; False if the disk is full or the reader has gone."""
    try:
        while octets:
            octets = octets[os.write(number, octets) :]
    except OSError:
        return False
    return True
