"""What is written to standard error: one event a line, as JSON or for people.

No URL and no address of a client is in it (R24): neither what aiohttp would write of a request
that failed, nor the words of an exception, which may quote what was asked for. Lines are
bounded in number, and trouble with writing them is nobody's trouble but theirs: a full disk, a
closed pipe, or one that nobody reads.
"""

import json
import logging
import os
import sys
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import blake2b
from secrets import token_bytes
from typing import Final, NamedTuple, TextIO

from timegate.access.networks import neighbourhood
from timegate.config.schema import LogSection
from timegate.text import masked

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


EVENTS: Final = logging.getLogger("timegate.events")
ACCESS: Final = logging.getLogger("timegate.access")
_FIELDS: Final = "timegate_fields"
_LONGEST: Final = 2000
_MOST_FRAMES: Final = 20
_SILENCE: Final = 60.0


def event(name: str, /, level: int = logging.INFO, **fields: object) -> None:
    """Write that something happened."""
    EVENTS.log(level, name, extra={_FIELDS: fields})


def set_up(section: LogSection, stream: TextIO | None = None) -> None:
    """Write what is logged from now on as *section* says, to standard error or *stream*."""
    handler = _handler(stream)
    handler.setFormatter(JsonLines() if section.format == "json" else TextLines())
    handler.addFilter(RateLimitedFilter(section.lines_per_second))
    root = logging.getLogger()
    for old in [old for old in root.handlers if isinstance(old, _OURS)]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("timegate").setLevel(section.level.upper())
    ACCESS.setLevel(logging.INFO if section.access else logging.CRITICAL)


def _handler(stream: TextIO | None) -> logging.Handler:
    if stream is not None:
        return _AtOnce(stream)
    try:
        return _Aside(LogWriter(sys.stderr.fileno()))
    except (OSError, ValueError):
        # What stands there is none of the system's files, as where somebody captures it.
        return _AtOnce(sys.stderr)


class _AtOnce(logging.StreamHandler[TextIO]):
    """Writes lines; what goes wrong with it stops the log and nothing else."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 -- logging's name
        del record


class _Aside(logging.Handler):
    """Has lines written by somebody else, and waits for him only at the end."""

    def __init__(self, scribe: LogWriter) -> None:
        super().__init__()
        self._scribe = scribe

    def emit(self, record: logging.LogRecord) -> None:
        """Have *record* written."""
        lost = getattr(record, "dropped", 0) + self._scribe.take_lost()
        if lost:
            record.dropped = lost
        self._scribe.write(self.format(record) + "\n", lost)

    def flush(self) -> None:
        """Wait for what is not written yet, a second at most."""
        self._scribe.flush()

    def close(self) -> None:
        """Write what there is, and no more."""
        self._scribe.end()
        super().close()


_OURS: Final = (_AtOnce, _Aside)


class RateLimitedFilter(logging.Filter):
    """Lets so many lines a second through, and counts the others."""

    def __init__(self, per_second: int, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._per_second = per_second
        self._clock = clock
        self._began = clock()
        self._lines = 0
        self._dropped = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether *record* may be written."""
        now = self._clock()
        if now - self._began >= 1.0:
            if self._dropped:
                record.dropped = self._dropped
            self._began, self._lines, self._dropped = now, 0, 0
        self._lines += 1
        if self._lines <= self._per_second:
            return True
        self._dropped += 1
        return False


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Write *record* as JSON."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told = {"time": when, "level": record.levelname.lower(), **_told(record)}
        return json.dumps(told, default=str)


class TextLines(logging.Formatter):
    """A line for people; who watches over the process adds the time."""

    def format(self, record: logging.LogRecord) -> str:
        """Write *record* as words."""
        told = _told(record)
        name = told.pop("event")
        rest = " ".join(f"{key}={value}" for key, value in told.items())
        level = "" if record.levelno <= logging.INFO else f"{record.levelname.lower()}: "
        return f"{level}{name} {rest}".rstrip()


def _told(record: logging.LogRecord) -> dict[str, object]:
    told: dict[str, object] = {"event": _message(record)}
    told |= getattr(record, _FIELDS, {})
    if record.exc_info and record.exc_info[1] is not None:
        told |= _where(record.exc_info[1])
    if hasattr(record, "dropped"):
        told["lines_dropped"] = record.dropped
    return told


def _message(record: logging.LogRecord) -> str:
    if record.name.startswith("aiohttp"):
        # Its words name the client, and may quote the request.
        return "a request failed" if record.exc_info else "a request could not be read"
    if record.name == "asyncio":
        # It shows tasks with what they were about.
        return "something failed in the background"
    try:
        text = record.getMessage()
    except (KeyError, TypeError, ValueError):
        # A library whose words and arguments do not fit: whoever logs is not to fail for it.
        text = str(record.msg)
    return masked(text[:_LONGEST], " ")


def _where(error: BaseException) -> dict[str, object]:
    """Return what happened and where, without its words."""
    frames = traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES:]
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return {"error": type(error).__name__, "at": places}


class Access(NamedTuple):
    """A request and what became of it."""

    method: str
    route: str
    target: str
    status: int
    seconds: float
    address: str


class AccessLog:
    """Writes a line for each request, from which nobody learns who read what."""

    def __init__(self, key: bytes | None = None) -> None:
        # Of this process alone: who guesses a URL cannot look for its hash.
        self._key = key or token_bytes(16)

    def __call__(self, access: Access) -> None:
        """Write *access*."""
        path = access.target.partition("?")[0].encode(errors="replace")
        fields = {
            "method": access.method if access.method.isalpha() else "?",
            "route": access.route,
            "url": blake2b(path, key=self._key, digest_size=8).hexdigest(),
            "status": access.status,
            "milliseconds": round(access.seconds * 1000, 1),
            "client": neighbourhood(access.address),
        }
        ACCESS.info("request", extra={_FIELDS: fields})


class LogCounter:
    """Counts what happens too often to be written each time, and writes the sums."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._quiet_until = float("-inf")
        self._counts: Counter[str] = Counter()

    def __call__(self, reason: str) -> None:
        """Count one; the first is written at once, the others once a minute."""
        self._counts[reason] += 1
        now = self._clock()
        if now >= self._quiet_until:
            self._quiet_until = now + _SILENCE
            event(self._name, logging.WARNING, **self._counts)
            self._counts.clear()


class Unforeseen:
    """Writes where an unforeseen exception was raised, once a minute for each subject."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._quiet_until: dict[str, float] = {}
        self._counts: Counter[str] = Counter()

    def __call__(self, subject: str, error: Exception) -> None:
        """Count *error*, and write its traceback if none was written in the last minute."""
        self._counts[subject] += 1
        now = self._clock()
        if now < self._quiet_until.get(subject, now):
            return
        self._quiet_until[subject] = now + _SILENCE
        fields = {"id": subject, "times": self._counts.pop(subject)}
        EVENTS.error(self._name, exc_info=error, extra={_FIELDS: fields})
