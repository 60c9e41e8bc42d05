"""The run: results of a list in, the bytes of their copies into a WARC, some at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, ParamSpec, TypeVar

from archives.errors import ArchiveError, Refused, Resting
from archives.registry import Registry
from archives.source import Fetcher
from timegate.batch.model import Item, ItemResult
from timegate.extract.fetching import LARGEST_COPY, FoundCopy, archived_fields, fetched, held_by
from timegate.extract.warc_file import WarcFile

MOST_ATTEMPTS: Final = 3
"""Copies of one reference that are tried, each in another archive."""


class FailedArchives:
    """Who did not give the bytes of which reference, and why. Some 300 octets for each."""

    def __init__(self) -> None:
        self._troubles: dict[int, dict[str, str]] = {}
        self._again: list[int] = []

    def failed(self, item: Item, archive: str, why: str) -> bool:
        """Note that *archive* did not give its copy; return whether another is to be tried."""
        troubles = self._troubles.setdefault(item.position, {})
        troubles[archive] = why
        again = len(troubles) < MOST_ATTEMPTS
        if again:
            self._again.append(item.position)
        return again

    def without(self, item: Item) -> frozenset[str]:
        """Return the archives that are not to be asked for *item* again."""
        return frozenset(self._troubles.get(item.position, ()))

    def passed_over(self, item: Item) -> list[str]:
        """Return what became of the copies that were tried before, each in a few words."""
        troubles = self._troubles.get(item.position, {})
        return [f"{archive}: {why}" for archive, why in troubles.items()]

    def again(self) -> Iterator[int]:
        """Yield the positions of those that are to be asked for once more, and forget them."""
        positions, self._again = sorted(self._again), []
        yield from positions


_LONGEST: Final = 300.0
"""Seconds, as for lists that are resolved."""
_UNSTATED: Final = 10.0
_SHORTEST: Final = 1.0
_LATER: Final = (429, 503)
"""What may be better later; 403 will not."""


class ArchiveWaits:
    """Who has been waited for, and for how long."""

    def __init__(
        self,
        longest: float = _LONGEST,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._longest = longest
        self._pause = pause
        self._spent: dict[str, float] = {}
        self._until: dict[str, float] = {}

    async def waited(self, error: ArchiveError) -> bool:
        """Wait as *error* asks; return False at once where that is in vain, or too long."""
        seconds = _asked(error)
        if seconds is None or not self._afforded(error.archive, seconds):
            return False
        await self._pause(seconds)
        return True

    def _afforded(self, archive: str, seconds: float) -> bool:
        """Whether there is time left for it; several who wait together wait once."""
        now = asyncio.get_running_loop().time()
        until = max(self._until.get(archive, now), now)
        spent = self._spent.get(archive, 0.0) + max(now + seconds - until, 0.0)
        if spent > self._longest:
            return False
        self._spent[archive] = spent
        self._until[archive] = max(until, now + seconds)
        return True


def _asked(error: ArchiveError) -> float | None:
    if isinstance(error, Resting):
        return max(error.retry_after, _SHORTEST)
    if isinstance(error, Refused) and error.status in _LATER:
        stated = error.retry_after
        return _UNSTATED if stated is None else max(stated, _SHORTEST)
    return None


Said = ParamSpec("Said")
Told = TypeVar("Told")
_NOT_HAD: Final = 4


class Extracted(NamedTuple):
    """What became of one reference."""

    result: ItemResult
    record: str | None
    """The id of the record with its copy; None where it could not be had."""
    why: str
    """Why not, or how good the copy is."""

    code: int
    """As the exit codes: what cannot be had is something of which nobody knows more."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """Fetches copies and writes them; those that several references mean only once."""

    fetchers: Mapping[str, Fetcher]
    registry: Registry
    warc: WarcFile
    strict: bool = False
    """Whether to leave out what is less than asked."""
    patience: ArchiveWaits = field(default_factory=ArchiveWaits)
    most: int = LARGEST_COPY
    choices: FailedArchives = field(default_factory=FailedArchives)
    """What was tried before; whoever calls looks here for what is to be tried again."""
    _records: dict[tuple[str, str], "asyncio.Future[str]"] = field(default_factory=dict)
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def complete(
        self, results: Iterable[ItemResult], at_once: int, done: Callable[[Extracted], None]
    ) -> None:
        """Work through *results*; call *done* with what became of each.

        Not yet with those of which `choices` wants another copy to be tried.
        """
        left = iter(results)

        async def work(results: Iterator[ItemResult]) -> None:
            for result in results:
                extracted = await self._extracted(result)
                if extracted is not None:
                    done(extracted)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(at_once):
                tasks.create_task(work(left))

    async def _extracted(self, result: ItemResult) -> Extracted | None:
        """Return what became of *result*; None where another copy is to be tried."""
        copy = held_by(result)
        if copy is None:
            return self._missing(result, result.why, result.code)
        if self.strict and result.code:
            return self._missing(result, f"less than asked: {result.why}", result.code)
        try:
            record = await self._record(copy)
        except ArchiveError as error:
            if self.choices.failed(result.item, copy.archive, error.why):
                return None
            why = "; ".join(self.choices.passed_over(result.item))
            return Extracted(result, None, why, _NOT_HAD)
        passed_over = self.choices.passed_over(result.item)
        where = copy.raw or copy.uri
        await self._alone(self.warc.add_verdict, result, record, where, passed_over)
        why = (
            f"{result.why}; instead of {', '.join(passed_over)}" if passed_over else result.why
        )
        return Extracted(result, record, why, result.code)

    def _missing(self, result: ItemResult, why: str, code: int) -> Extracted:
        """Say that there is no copy; unless one was tried before, nobody knows more."""
        passed_over = self.choices.passed_over(result.item)
        if not passed_over:
            return Extracted(result, None, why, code)
        return Extracted(result, None, f"{'; '.join(passed_over)}; elsewhere: {why}", _NOT_HAD)

    async def _record(self, copy: FoundCopy) -> str:
        """Return the record of *copy*, written now unless another reference meant it too."""
        key = (copy.archive, copy.uri)
        known = self._records.get(key)
        if known is not None:
            return await known
        record: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._records[key] = record
        try:
            record.set_result(await self._patiently(copy))
        except ArchiveError as error:
            record.set_exception(error)
        return await record

    async def _patiently(self, copy: FoundCopy) -> str:
        """Write *copy*; where the archive asks us to wait, do so and try again."""
        while True:
            try:
                return await self._written(copy)
            except ArchiveError as error:
                if not await self.patience.waited(error):
                    raise

    async def _written(self, copy: FoundCopy) -> str:
        async with fetched(copy, self.fetchers[copy.archive], self.most) as content:
            fields = archived_fields(content, self.registry)
            return await self._alone(self.warc.add_copy, copy, content, fields)

    async def _alone(
        self, write: Callable[Said, Told], *said: Said.args, **more: Said.kwargs
    ) -> Told:
        """Write one record after the other, and where a slow disk holds up nobody."""
        async with self._writing:
            return await asyncio.to_thread(write, *said, **more)
