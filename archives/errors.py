"""Errors of queries to an archive.

    ArchiveError      unknown what the archive holds
      Unreachable     no answer: DNS, connection, TLS, timeout       -> try another now
      Refused         the archive rejects requests (403, 429, 503)   -> retry later
      Resting         not sent: breaker open, Retry-After            -> retry later
        Queued        not sent: too many of our requests before it   -> retry soon
      Misbehaved      an answer that violates its protocol           -> tell its operator
        Gated         a web page instead: a bot gate or an error     -> retry later
      Internal        our own code failed during the query           -> fix our code

"We do not hold that page" is an answer, not an error: adapters return None, and only if the
archive clearly stated it. A timeout never becomes a 404.

An exception that no code foresees ends at the boundary around the thing that was being worked
on: a query, an item of a list, a record, a file, a canary, a check. It is reported as a failure
of that thing alone, with `place_of` it.
"""

import logging
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

_LOGGER: Final = logging.getLogger("archives")
_BETWEEN_LINES: Final = 60.0
_MOST_FRAMES: Final = 20


class ReportInterval:
    """Counts events by subject; of each subject, one in a minute is reported."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._quiet_until: dict[str, float] = {}
        self._unreported: Counter[str] = Counter()
        self.total = 0

    def count(self, subject: str) -> int:
        """Count an event; return how many are to be reported now, 0 for none."""
        self.total += 1
        self._unreported[subject] += 1
        now = self._clock()
        if now < self._quiet_until.get(subject, now):
            return 0
        self._quiet_until[subject] = now + _BETWEEN_LINES
        return self._unreported.pop(subject)


class UnforeseenLog:
    """Logs where unforeseen exceptions were raised in this package, without their messages."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._interval = ReportInterval(clock)

    @property
    def total(self) -> int:
        """Number of exceptions so far."""
        return self._interval.total

    def __call__(self, error: Exception) -> None:
        """Count *error*, and log its traceback if none was logged in the last minute."""
        times = self._interval.count(self._name)
        if times:
            frames = traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES:]
            at = ", ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames)
            kind = type(error).__name__
            _LOGGER.error("%s times=%d error=%s at=%s", self._name, times, kind, at)


def place_of(error: BaseException) -> str:
    """Return the type of *error* and where it was raised; its message may quote a URL."""
    frames = traceback.extract_tb(error.__traceback__)
    last = f" at {frames[-1].name}, line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{last}"


class ArchiveError(Exception):
    """A query failed; has the id of the archive, the URL that was requested, and the reason."""

    def __init__(self, archive: str, url: str, why: str) -> None:
        super().__init__(f"{archive}: {why} ({url})")
        self.archive = archive
        self.url = url
        self.why = why


class Unreachable(ArchiveError):
    """No answer arrived.

    With *no_network*, not even a name or a route was found: if all archives fail in this way,
    this machine has no network.
    """

    def __init__(self, archive: str, url: str, why: str, *, no_network: bool = False) -> None:
        super().__init__(archive, url, why)
        self.no_network = no_network


class Refused(ArchiveError):
    """The archive rejects requests, for *retry_after* seconds if it stated a time."""

    def __init__(
        self,
        archive: str,
        url: str,
        status: int,
        retry_after: float | None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        wait = "" if retry_after is None else f", retry after {retry_after:g} s"
        super().__init__(archive, url, f"refused with {status}{wait}")
        self.status = status
        self.retry_after = retry_after
        self.headers: Mapping[str, str] = headers or {}
        """Those of the refusal: a page that is gone may still link its TimeGate."""


class Resting(ArchiveError):
    """No request was sent, and none will be for *retry_after* seconds."""

    def __init__(
        self, archive: str, url: str, why: str, retry_after: float, *, no_network: str = ""
    ) -> None:
        """*no_network*: why the last request found no way to the archive, if it did not."""
        super().__init__(archive, url, f"{why}, next try in {retry_after:.0f} s")
        self.retry_after = retry_after
        self.no_network = no_network


class Queued(Resting):
    """Our own rate limit prevented the request: it says nothing about the archive."""


class Misbehaved(ArchiveError):
    """An answer arrived that violates its protocol."""


class Gated(Misbehaved):
    """A web page arrived where a memento or a list was requested: a bot gate, or an error."""


class Internal(ArchiveError):
    """Our own code raised an unexpected exception during a query."""

    def __init__(self, archive: str, url: str, error: Exception) -> None:
        # The message of the exception may quote a URL, so it appears in no answer and no log.
        super().__init__(
            archive, url, f"internal error of this server ({type(error).__name__})"
        )
