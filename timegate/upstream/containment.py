"""The boundary around each question to an archive: an unforeseen exception ends there.

It becomes an `Internal` error of the archive that was asked, so that the answers of the other
archives are used all the same. It is counted, logged, and a failure for the breaker.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from types import TracebackType

from archives.errors import ArchiveError, Internal
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from archives.source import Source
from timegate.observability.logs import Unforeseen


class Containment:
    """Turns unforeseen exceptions into errors of the archive that was asked."""

    def __init__(
        self,
        failed: Callable[[str], None] = lambda _: None,
        worked: Callable[[str], None] = lambda _: None,
        log: Callable[[str, Exception], None] | None = None,
    ) -> None:
        """*failed* and *worked* are called with the archive that a question went to."""
        self.failed = failed
        self.worked = worked
        self._log = log or Unforeseen("archive-internal-error")

    def around(self, archive: str, url: str) -> "_Around":
        """Return a context in which *archive* is asked for *url*."""
        return _Around(self, archive, url)

    def failure(self, archive: str, url: str, error: Exception) -> Internal:
        """Note *error*, and return it as a failure of *archive*."""
        self._log(archive, error)
        self.failed(archive)
        return Internal(archive, url, error)


class _Around:
    """One question. ArchiveError and what is no Exception, as a cancellation, pass through."""

    __slots__ = ("_archive", "_containment", "_url")

    def __init__(self, containment: Containment, archive: str, url: str) -> None:
        self._containment = containment
        self._archive = archive
        self._url = url

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, ArchiveError):
            raise self._containment.failure(self._archive, self._url, error) from error


class Contained:
    """A `Source` that raises no exception but `ArchiveError`."""

    def __init__(self, source: Source, containment: Containment) -> None:
        self._source = source
        self._containment = containment

    @property
    def entry(self) -> ArchiveEntry:
        return self._source.entry

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        with self._containment.around(self.entry.id, original):
            return await self._source.closest(original, at)

    async def mementos(self, original: str) -> AsyncGenerator[Sequence[Memento], None]:
        with self._containment.around(self.entry.id, original):
            async with aclosing(self._source.mementos(original)) as batches:
                async for batch in batches:
                    yield batch
