"""Logs on standard error: one event a line, as JSON or as text, written by a thread.

They hold no URL and no client address (R-24): the messages of aiohttp about a failed request
are replaced, and so are those of exceptions, which may quote the request. The number of lines
is limited. A log that cannot be written (full disk, closed pipe) fails silently: a pipe that is
not read, or a disk that hangs, would block all requests, so lines are dropped and counted
instead.
"""

import json
import logging
import os
import sys
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import blake2b
from secrets import token_bytes
from typing import Final, NamedTuple, TextIO

from archives.errors import ReportInterval
from timegate.access.networks import neighbourhood
from timegate.config.schema import LogSection
from timegate.text import escaped, masked

_MOST_LINES: Final = 1000
"""Lines that wait to be written; at 100 a second, ten seconds of a pipe that is not read."""


class LogWriter:
    """Writes lines to the file descriptor *number* in a thread.

    Not through Python's own file object: Python flushes that when it ends, and aborts if a
    thread holds its lock.
    """

    def __init__(self, number: int, most: int = _MOST_LINES) -> None:
        self._number = number
        self._most = most
        self._lines: deque[tuple[str, int]] = deque()
        self._changed = threading.Condition()
        self._busy = False
        self._ended = False
        self._lost = 0
        threading.Thread(target=self._write_all, name="log", daemon=True).start()

    def write(self, line: str, reporting: int = 0) -> None:
        """Queue *line*, which reports *reporting* lost ones; it is lost if too many wait."""
        with self._changed:
            if len(self._lines) < self._most:
                self._lines.append((line, reporting))
                self._changed.notify_all()
            else:
                self._lost += 1 + reporting

    def take_lost(self) -> int:
        """Return how many lines were lost since the last call."""
        with self._changed:
            lost, self._lost = self._lost, 0
            return lost

    def flush(self, seconds: float = 1.0) -> None:
        """Wait until all lines are written, but not longer than *seconds*."""
        with self._changed:
            self._changed.wait_for(lambda: not self._lines and not self._busy, seconds)

    def end(self) -> None:
        """End the thread after the waiting lines, without waiting for it."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _write_all(self) -> None:
        while (item := self._next()) is not None:
            line, reporting = item
            written = _write_to(self._number, line.encode(errors="backslashreplace"))
            with self._changed:
                self._busy = False
                self._lost += 0 if written else 1 + reporting
                self._changed.notify_all()

    def _next(self) -> tuple[str, int] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._ended)
            if not self._lines:
                return None
            self._busy = True
            return self._lines.popleft()


def _write_to(number: int, octets: bytes) -> bool:
    """Write all of *octets*; False if the disk is full or the pipe is closed."""
    try:
        while octets:
            octets = octets[os.write(number, octets) :]
    except OSError:
        return False
    return True


EVENTS: Final = logging.getLogger("timegate.events")
ACCESS: Final = logging.getLogger("timegate.access")
_FIELDS: Final = "timegate_fields"
_LONGEST_MESSAGE: Final = 2000
_MOST_FRAMES: Final = 20
_BETWEEN_LINES: Final = 60.0


def event(name: str, /, level: int = logging.INFO, **fields: object) -> None:
    """Log the event *name*."""
    EVENTS.log(level, name, extra={_FIELDS: fields})


def set_up(section: LogSection, stream: TextIO | None = None) -> None:
    """Configure logging as *section* says, to standard error or *stream*."""
    handler = _handler(stream)
    handler.setFormatter(JsonLines() if section.format == "json" else TextLines())
    handler.addFilter(RateLimitedFilter(section.lines_per_second))
    root = logging.getLogger()
    for old in [old for old in root.handlers if isinstance(old, _OUR_HANDLERS)]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("timegate").setLevel(section.level.upper())
    ACCESS.setLevel(logging.INFO if section.access else logging.CRITICAL)


@contextmanager
def errors_only() -> Iterator[None]:
    """Log errors alone in the block, as text: commands report the rest in their own words."""
    handler = _DirectHandler(sys.stderr)
    handler.setFormatter(TextLines())
    handler.setLevel(logging.ERROR)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


def _handler(stream: TextIO | None) -> logging.Handler:
    if stream is not None:
        return _DirectHandler(stream)
    try:
        return _ThreadedHandler(LogWriter(sys.stderr.fileno()))
    except (OSError, ValueError):
        # Standard error has no file descriptor, for example where a test captures it.
        return _DirectHandler(sys.stderr)


class _DirectHandler(logging.StreamHandler[TextIO]):
    """Writes lines at once; errors are ignored."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 -- logging's name
        del record


class _ThreadedHandler(logging.Handler):
    """Passes lines to a `LogWriter`, and waits for it only at the end."""

    def __init__(self, writer: LogWriter) -> None:
        super().__init__()
        self._writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        """Queue *record*."""
        lost = getattr(record, "dropped", 0) + self._writer.take_lost()
        if lost:
            record.dropped = lost
        self._writer.write(self.format(record) + "\n", lost)

    def flush(self) -> None:
        """Wait for the lines that are not written yet, a second at most."""
        self._writer.flush()

    def close(self) -> None:
        """End the writer."""
        self._writer.end()
        super().close()


_OUR_HANDLERS: Final = (_DirectHandler, _ThreadedHandler)


class RateLimitedFilter(logging.Filter):
    """Passes a limited number of lines per second, and counts the others."""

    def __init__(self, per_second: int, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._per_second = per_second
        self._clock = clock
        self._began = clock()
        self._lines = 0
        self._dropped = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether *record* is written."""
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
        fields = {"time": when, "level": record.levelname.lower(), **_fields_of(record)}
        return json.dumps(fields, default=str)


class TextLines(logging.Formatter):
    """A line for people; the supervisor of the process adds the time."""

    def format(self, record: logging.LogRecord) -> str:
        """Write *record* as text."""
        fields = _fields_of(record)
        name = fields.pop("event")
        rest = " ".join(f"{key}={value}" for key, value in fields.items())
        level = "" if record.levelno <= logging.INFO else f"{record.levelname.lower()}: "
        return escaped(f"{level}{name} {rest}".rstrip())


def _fields_of(record: logging.LogRecord) -> dict[str, object]:
    fields: dict[str, object] = {"event": _message(record)}
    fields |= getattr(record, _FIELDS, {})
    if record.exc_info and record.exc_info[1] is not None:
        fields |= _location(record.exc_info[1])
    if hasattr(record, "dropped"):
        fields["lines_dropped"] = record.dropped
    return fields


def _message(record: logging.LogRecord) -> str:
    if record.name.startswith("aiohttp"):
        # Its messages name the client, and may quote the request.
        return "a request failed" if record.exc_info else "a request could not be read"
    if record.name == "asyncio":
        # Its messages show tasks with their arguments.
        return "something failed in the background"
    try:
        text = record.getMessage()
    except (KeyError, TypeError, ValueError):
        # Message and arguments of a library do not match: logging must not raise.
        text = str(record.msg)
    return masked(text[:_LONGEST_MESSAGE], " ")


def _location(error: BaseException) -> dict[str, object]:
    """Return the type and the traceback of *error*, without its message."""
    frames = traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES:]
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return {"error": type(error).__name__, "at": places}


class Access(NamedTuple):
    """A request and its response."""

    method: str
    route: str
    target: str
    status: int
    seconds: float
    address: str


class AccessLog:
    """Writes a line for each request, with a keyed hash of the URL and the client's network."""

    def __init__(self, key: bytes | None = None) -> None:
        # A key of this process alone: the hash of a guessed URL cannot be computed.
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
    """Counts events that are too frequent to be logged each time, and logs the sums."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._quiet_until = float("-inf")
        self._counts: Counter[str] = Counter()

    def __call__(self, reason: str, times: int = 1) -> None:
        """Count an event; the first is logged at once, the others once a minute."""
        self._counts[reason] += times
        now = self._clock()
        if now >= self._quiet_until:
            self._quiet_until = now + _BETWEEN_LINES
            event(self._name, logging.WARNING, **self._counts)
            self._counts.clear()


class Unforeseen:
    """Logs where an unforeseen exception was raised, once a minute for each subject."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._interval = ReportInterval(clock)

    def __call__(self, subject: str, error: Exception) -> None:
        """Count *error*, and log its traceback if none was logged in the last minute."""
        times = self._interval.count(subject)
        if times:
            fields = {"id": subject, "times": times}
            EVENTS.error(self._name, exc_info=error, extra={_FIELDS: fields})
