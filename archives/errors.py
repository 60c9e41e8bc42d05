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

import traceback


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
    """No answer arrived."""


class Refused(ArchiveError):
    """The archive rejects requests, for *retry_after* seconds if it stated a time."""

    def __init__(self, archive: str, url: str, status: int, retry_after: float | None) -> None:
        wait = "" if retry_after is None else f", retry after {retry_after:g} s"
        super().__init__(archive, url, f"refused with {status}{wait}")
        self.status = status
        self.retry_after = retry_after


class Resting(ArchiveError):
    """No request was sent, and none will be for *retry_after* seconds."""

    def __init__(self, archive: str, url: str, why: str, retry_after: float) -> None:
        super().__init__(archive, url, f"{why}, next try in {retry_after:.0f} s")
        self.retry_after = retry_after


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
