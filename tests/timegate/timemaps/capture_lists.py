"""Lists of captures for tests of TimeMaps: in batches, with pauses, or with errors."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from archives.errors import ArchiveError
from archives.model import Memento
from timegate.resolution.context import TimeBudget

ORIGINAL = "http://example.org/"
START = datetime(2013, 1, 1, tzinfo=UTC)


def at(second: int) -> str:
    """Return the stamp so many seconds into 2013."""
    return f"{START + timedelta(seconds=second):%Y%m%d%H%M%S}"


def capture(archive: str, second: int, uri: str | None = None) -> Memento:
    stamp = at(second)
    return Memento(stamp, uri or f"http://{archive}/{stamp}/{ORIGINAL}", ORIGINAL, archive)


def captures(archive: str, seconds: Iterable[int]) -> list[Memento]:
    return [capture(archive, second) for second in seconds]


class Listing:
    """A list in batches; a number is a pause in seconds, an exception ends the list."""

    def __init__(self, *script: Sequence[Memento] | float | Exception) -> None:
        self.script = script
        self.pulled = 0
        """How many batches were handed out."""
        self.closed = False

    async def __call__(self) -> AsyncGenerator[Sequence[Memento], None]:
        try:
            for step in self.script:
                if isinstance(step, Exception):
                    raise step
                if isinstance(step, int | float):
                    await asyncio.sleep(step)
                    continue
                self.pulled += 1
                yield step
        finally:
            self.closed = True


class FakeListCache:
    """A cache of lists of captures that never expire."""

    def __init__(self, **kept: Sequence[Memento]) -> None:
        self.kept: dict[str, Sequence[Memento]] = dict(kept)
        self.age = 1.0
        """Seconds since the lists were read."""

    async def recall_timemap(
        self,
        archive: str,
        original: str,
        budget: TimeBudget | None = None,
        *,
        detailed: bool = False,
    ) -> tuple[Sequence[Memento], float] | None:
        assert original
        del budget
        known = self.kept.get(_key(archive, detailed=detailed))
        return None if known is None else (known, self.age)

    async def remember_timemap(
        self,
        archive: str,
        original: str,
        captures: Sequence[Memento],
        budget: TimeBudget | None = None,
        *,
        detailed: bool = False,
    ) -> None:
        assert original
        del budget
        self.kept[_key(archive, detailed=detailed)] = list(captures)


def _key(archive: str, *, detailed: bool) -> str:
    return f"{archive} index" if detailed else archive


def why(errors: dict[str, ArchiveError]) -> dict[str, str]:
    return {archive: error.why for archive, error in errors.items()}
