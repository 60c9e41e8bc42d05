"""What can go wrong when an archive is asked.

    ArchiveError      we do not know what the archive holds
      Unreachable     no answer: DNS, connection, TLS, timeout      -> try another now
      Refused         an answer that says go away (403, 429, 503)   -> come back later
      Resting         we did not ask: breaker open, Retry-After     -> come back later
        Queued        we did not ask: too many of ours before it    -> come back soon
      Misbehaved      an answer that breaks its protocol            -> tell its operator
      Internal        our own code failed while it was asked        -> mend our code

"We do not hold that page" is an answer, not an error: adapters return None, and only when
the archive clearly said so. A timeout never becomes a 404.
"""


class ArchiveError(Exception):
    """Asking an archive went wrong; carries who was asked, for what, and why it failed."""

    def __init__(self, archive: str, url: str, why: str) -> None:
        super().__init__(f"{archive}: {why} ({url})")
        self.archive = archive
        self.url = url
        self.why = why


class Unreachable(ArchiveError):
    """No answer arrived."""


class Refused(ArchiveError):
    """The archive asks us to stay away, for *retry_after* seconds where it said so."""

    def __init__(self, archive: str, url: str, status: int, retry_after: float | None) -> None:
        wait = "" if retry_after is None else f", retry after {retry_after:g} s"
        super().__init__(archive, url, f"refused with {status}{wait}")
        self.status = status
        self.retry_after = retry_after


class Resting(ArchiveError):
    """The archive was not asked, and will not be for *retry_after* seconds."""

    def __init__(self, archive: str, url: str, why: str, retry_after: float) -> None:
        super().__init__(archive, url, f"{why}, next try in {retry_after:.0f} s")
        self.retry_after = retry_after


class Queued(Resting):
    """Only our own manners kept us from asking: the archive has nothing to do with it."""


class Misbehaved(ArchiveError):
    """An answer arrived that breaks the protocol it claims to speak."""


class Internal(ArchiveError):
    """Our own code raised an exception that it did not foresee while the archive was asked."""

    def __init__(self, archive: str, url: str, error: Exception) -> None:
        # The words of the exception may quote a URL; they are in no answer and in no log.
        super().__init__(
            archive, url, f"internal error of this server ({type(error).__name__})"
        )
