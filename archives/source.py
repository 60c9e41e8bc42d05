"""The two seams: `Fetcher` in front of the network, `Source` in front of a whole archive.

They are the only places where a test replaces something. An `Adapter` with a `Fetcher` is a
`Source`.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, Protocol

from msgspec import Struct

from archives.model import ArchiveEntry, Closest, Memento, Selection
from archives.moment import Moment, second_of

MOST_EXCERPTED: Final = 1_000
"""Captures that are requested apart from a list; for more, all of it is read."""
Purpose = Literal["memento", "index"]
"""What a request is for; archives limit look-ups in their index more than mementos."""


class Request(Struct, frozen=True):
    """One request to one archive. Only what is written here is sent."""

    method: Literal["GET", "HEAD", "OPTIONS"]
    url: str
    purpose: Purpose
    headers: Mapping[str, str] = MappingProxyType({})


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


@dataclass(frozen=True, slots=True)
class WantedCaptures:
    """The captures of a list that its reader needs; a source may yield more, never fewer."""

    since: str = ""
    """Digits of the earliest time; empty for any."""
    until: str = ""
    """Digits of the latest time: ``2013`` includes all of that year."""
    order: Literal["oldest", "newest", "nearest"] = "oldest"
    near: Moment | None = None
    """The time to which the *nearest* are wanted."""
    most: int | None = None
    """Only so many, the first in this *order*; None for all."""

    @property
    def is_short(self) -> bool:
        """Whether so few are wanted that they are requested apart from the whole list."""
        return self.most is not None and self.most <= MOST_EXCERPTED

    @property
    def is_part(self) -> bool:
        """Whether a source may leave captures out."""
        return bool(self.since or self.until) or self.is_short

    @property
    def instant(self) -> str:
        """The second to which the nearest captures are wanted, in 14 digits."""
        return "" if self.near is None else Moment.of(self.near.negotiated).digits

    def ranks(self, stamps: Sequence[str]) -> list[int]:
        """Return a number for each second: the less, the earlier in the order."""
        seconds = [int(second_of(stamp).timestamp()) for stamp in stamps]
        if self.near is not None:
            instant = int(self.near.negotiated.timestamp())
            return [abs(second - instant) for second in seconds]
        return [-second for second in seconds] if self.order == "newest" else seconds


ALL: Final = WantedCaptures()


class Source(Protocol):
    """An archive, whatever it speaks."""

    @property
    def entry(self) -> ArchiveEntry: ...

    def closest(
        self, original: str, at: Moment | None
    ) -> Coroutine[object, object, Closest | None]:
        """Return the capture nearest to *at* (None: the newest); None if it clearly has none.

        Raises ArchiveError where the answer does not say.
        """
        ...

    def mementos(
        self, original: str, *, detailed: bool = False, wanted: WantedCaptures | None = None
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Yield every capture, or at least those *wanted*, in batches, oldest first.

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

    def closest(
        self, fetch: Fetcher, original: str, at: Moment | None
    ) -> Coroutine[object, object, Closest | None]: ...

    def mementos(
        self,
        fetch: Fetcher,
        original: str,
        *,
        detailed: bool = False,
        wanted: WantedCaptures | None = None,
    ) -> AsyncGenerator[Sequence[Memento], None]: ...


class AdapterSource(Struct, frozen=True):
    """A `Source`: an adapter with the fetcher for one request. Cheap to create."""

    adapter: Adapter
    fetch: Fetcher

    @property
    def entry(self) -> ArchiveEntry:
        """The archive that is queried."""
        return self.adapter.entry

    def closest(
        self, original: str, at: Moment | None
    ) -> Coroutine[object, object, Closest | None]:
        """Return what the adapter answers."""
        return self.adapter.closest(self.fetch, original, at)

    def mementos(
        self, original: str, *, detailed: bool = False, wanted: WantedCaptures | None = None
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Return the adapter's list."""
        return self.adapter.mementos(self.fetch, original, detailed=detailed, wanted=wanted)
