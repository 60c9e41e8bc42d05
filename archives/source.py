"""The two seams: `Fetcher` in front of the network, `Source` in front of a whole archive.

They are the only places where a test replaces something. An `Adapter` with a `Fetcher` is a
`Source`.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from archives.model import ArchiveEntry, Closest, Memento, Selection
from archives.moment import Moment

Purpose = Literal["memento", "index"]
"""What a request is for; archives limit look-ups in their index more than mementos."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request to one archive. Only what is written here is sent."""

    method: Literal["GET", "HEAD", "OPTIONS"]
    url: str
    purpose: Purpose
    headers: Mapping[str, str] = field(default_factory=dict)


class Reply(Protocol):
    """The part of an HTTP response that adapters may look at."""

    @property
    def url(self) -> str:
        """What was asked."""
        ...

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case; repeated fields joined with a comma (RFC 9110 5.2)."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body, content coding removed, as it arrives.

        Raises Unreachable when it stalls, Misbehaved when it breaks off or grows too large:
        who reads to the end has read all of it.
        """
        ...


class Fetcher(Protocol):
    """Sends one request to one archive, politely, and never follows a redirect.

    Raises ArchiveError: also Refused for 403, 429 and 503 without Memento-Datetime, and
    Misbehaved for an address the registry does not allow.
    """

    def __call__(self, request: Request) -> AbstractAsyncContextManager[Reply]: ...


class Source(Protocol):
    """An archive, whatever it speaks."""

    @property
    def entry(self) -> ArchiveEntry: ...

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        """Return the capture nearest to *at* (None: the newest); None if it clearly has none.

        Raises ArchiveError where the answer does not say.
        """
        ...

    def mementos(
        self, original: str, *, detailed: bool = False
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Yield every capture in batches, oldest first.

        With *detailed*, from the CDX server if there is one: it states status, media type and
        digest, which TimeMaps do not. Raises ArchiveError, also after batches: then the list is
        not complete.
        """
        ...


class Adapter(Protocol):
    """Queries one archive through whichever fetcher is passed; otherwise as `Source`."""

    @property
    def entry(self) -> ArchiveEntry: ...

    @property
    def selection(self) -> Selection:
        """How the archive selects among its captures: as stated, or as its answers show."""
        ...

    async def closest(
        self, fetch: Fetcher, original: str, at: Moment | None
    ) -> Closest | None: ...

    def mementos(
        self, fetch: Fetcher, original: str, *, detailed: bool = False
    ) -> AsyncGenerator[Sequence[Memento], None]: ...


@dataclass(frozen=True, slots=True)
class AdapterSource:
    """A `Source`: an adapter with the fetcher for one request. Cheap to create."""

    adapter: Adapter
    fetch: Fetcher

    @property
    def entry(self) -> ArchiveEntry:
        """The archive that is queried."""
        return self.adapter.entry

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        """Return what the adapter answers."""
        return await self.adapter.closest(self.fetch, original, at)

    def mementos(
        self, original: str, *, detailed: bool = False
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Return the adapter's list."""
        return self.adapter.mementos(self.fetch, original, detailed=detailed)
