"""Captures and archives for tests of following."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace

from archives.adapters import adapter_for
from archives.addresses import AddressPolicy
from archives.errors import ArchiveError
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from archives.source import AdapterSource, Fetcher, Source, WantedCaptures
from tests.fakes import FakeFetcher, an_entry, clock
from timegate.following.change_file import Claim
from timegate.resolution.context import RequestContext

PAGE = "http://example.org/"


def capture(stamp: str, digest: str | None = None, archive: str = "a") -> Memento:
    return Memento(stamp, f"http://{archive}/{stamp}/{PAGE}", PAGE, archive, 200, None, digest)


def claim(archive: str = "a") -> Claim:
    return Claim(PAGE, archive, None)


@dataclass
class ListedArchive:
    """A `Source` with a list; an error is raised after it."""

    name: str = "a"
    captures: list[Memento] = field(default_factory=list)
    error: ArchiveError | None = None
    asked: int = 0

    @property
    def entry(self) -> ArchiveEntry:
        return replace(an_entry("memento"), id=self.name)

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        raise NotImplementedError

    async def mementos(
        self, original: str, *, detailed: bool = False, wanted: WantedCaptures | None = None
    ) -> AsyncGenerator[Sequence[Memento], None]:
        del original, detailed, wanted
        self.asked += 1
        yield sorted(self.captures)
        if self.error is not None:
            raise self.error


class SourcesByName:
    """The sources of a test."""

    def __init__(self, *archives: ListedArchive) -> None:
        self.archives = {archive.name: archive for archive in archives}

    def __call__(
        self,
        archive: str,
        context: RequestContext,
        through: Callable[[Fetcher], Fetcher] | None = None,
    ) -> Source:
        del context, through
        return self.archives[archive]


class SourcesOver:
    """The Memento archive ``a`` over a fetcher."""

    def __init__(self, fetch: FakeFetcher) -> None:
        self._fetch = fetch

    def __call__(
        self,
        archive: str,
        context: RequestContext,
        through: Callable[[Fetcher], Fetcher] | None = None,
    ) -> Source:
        del context
        entry = replace(
            an_entry(
                "memento",
                timegate="https://archive.example/timegate/",
                timemaps={"link": "https://archive.example/timemap/"},
            ),
            id=archive,
        )
        fetch = self._fetch if through is None else through(self._fetch)
        return AdapterSource(adapter_for(entry, clock, AddressPolicy()), fetch)
