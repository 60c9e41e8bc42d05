"""The extraction run: fetches the copies of several results at a time into a WARC."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, ParamSpec, TypeVar

from archives.errors import ArchiveError, Internal, Refused, Resting, place_of
from archives.registry import Registry
from archives.source import Fetcher
from timegate.batch.model import Item, ItemResult
from timegate.extract.fetching import (
    LARGEST_COPY,
    FoundCopy,
    archived_fields,
    copy_found,
    fetched,
)
from timegate.extract.warc_file import WarcFile
from timegate.observability.logs import Unforeseen

MOST_ATTEMPTS: Final = 3
"""Copies of one reference that are tried, each in a different archive."""


class FailedArchives:
    """Archives that did not deliver the copy of a reference, and why. 300 octets each."""

    def __init__(self) -> None:
        self._troubles: dict[int, dict[str, str]] = {}
        self._again: list[int] = []

    def failed(self, item: Item, archive: str, why: str) -> bool:
        """Record that *archive* failed; return whether another archive is to be tried."""
        troubles = self._troubles.setdefault(item.position, {})
        troubles[archive] = why
        again = len(troubles) < MOST_ATTEMPTS
        if again:
            self._again.append(item.position)
        return again

    def without(self, item: Item) -> frozenset[str]:
        """Return the archives to exclude when *item* is resolved again."""
        return frozenset(self._troubles.get(item.position, ()))

    def passed_over(self, item: Item) -> list[str]:
        """Return the failed copies of *item*, each with its reason."""
        troubles = self._troubles.get(item.position, {})
        return [f"{archive}: {why}" for archive, why in troubles.items()]

    def again(self) -> Iterator[int]:
        """Yield the positions of the items to resolve once more, and clear them."""
        positions, self._again = sorted(self._again), []
        yield from positions


_LONGEST: Final = 300.0
"""Seconds per archive in a whole run, as in `timegate.batch.run`."""
_UNSTATED: Final = 10.0
_SHORTEST: Final = 1.0
_LATER: Final = (429, 503)
"""Statuses that may change after a wait; 403 does not."""


class ArchiveWaits:
    """The time spent on waiting for each archive, with a limit."""

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
        """Wait as long as *error* asks for; return False at once if useless or too long."""
        seconds = _wait_for(error)
        if seconds is None or not self._afforded(error.archive, seconds):
            return False
        await self._pause(seconds)
        return True

    def _afforded(self, archive: str, seconds: float) -> bool:
        """Whether the limit allows the wait; simultaneous waits count once."""
        now = asyncio.get_running_loop().time()
        until = max(self._until.get(archive, now), now)
        spent = self._spent.get(archive, 0.0) + max(now + seconds - until, 0.0)
        if spent > self._longest:
            return False
        self._spent[archive] = spent
        self._until[archive] = max(until, now + seconds)
        return True


def _wait_for(error: ArchiveError) -> float | None:
    if isinstance(error, Resting):
        return max(error.retry_after, _SHORTEST)
    if isinstance(error, Refused) and error.status in _LATER:
        stated = error.retry_after
        return _UNSTATED if stated is None else max(stated, _SHORTEST)
    return None


P = ParamSpec("P")
T = TypeVar("T")
_UNAVAILABLE: Final = 4


class Extracted(NamedTuple):
    """The outcome for one reference."""

    result: ItemResult
    record: str | None
    """The id of the record with the copy; None if it could not be fetched."""
    why: str
    """The verdict, or why there is no record."""
    code: int
    """As exit codes; 4 (unknown) for a copy that could not be fetched."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """Fetches copies and writes them; a copy that several references name is written once."""

    fetchers: Mapping[str, Fetcher]
    registry: Registry
    warc: WarcFile
    strict: bool = False
    """Whether to omit copies that are less than asked."""
    patience: ArchiveWaits = field(default_factory=ArchiveWaits)
    most: int = LARGEST_COPY
    choices: FailedArchives = field(default_factory=FailedArchives)
    """The failed attempts; the caller resolves the items in `again` once more."""
    log: Callable[[str, Exception], None] = field(
        default_factory=lambda: Unforeseen("item-internal-error")
    )
    _records: dict[tuple[str, str], "asyncio.Future[str]"] = field(default_factory=dict)
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def complete(
        self, results: Iterable[ItemResult], at_once: int, done: Callable[[Extracted], None]
    ) -> None:
        """Process *results*; call *done* with the outcome of each.

        Items for which another archive is to be tried are left to `choices`.
        """
        left = iter(results)

        async def work(results: Iterator[ItemResult]) -> None:
            for result in results:
                extracted = await self._contained(result)
                if extracted is not None:
                    done(extracted)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(at_once):
                tasks.create_task(work(left))

    async def _contained(self, result: ItemResult) -> Extracted | None:
        """Extract *result*; an unforeseen exception affects only its own outcome.

        A disk that cannot be written concerns all results.
        """
        try:
            return await self._extracted(result)
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 -- the boundary around each item
            self.log("list", error)
            why = f"internal error of this program ({place_of(error)})"
            return Extracted(result, None, why, _UNAVAILABLE)

    async def _extracted(self, result: ItemResult) -> Extracted | None:
        """Return the outcome of *result*; None if another archive is to be tried."""
        copy = copy_found(result)
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
            return Extracted(result, None, why, _UNAVAILABLE)
        passed_over = self.choices.passed_over(result.item)
        where = copy.raw or copy.uri
        await self._write_record(self.warc.add_verdict, result, record, where, passed_over)
        why = (
            f"{result.why}; instead of {', '.join(passed_over)}" if passed_over else result.why
        )
        return Extracted(result, record, why, result.code)

    def _missing(self, result: ItemResult, why: str, code: int) -> Extracted:
        """Return an outcome without record; unknown if copies exist that failed before."""
        passed_over = self.choices.passed_over(result.item)
        if not passed_over:
            return Extracted(result, None, why, code)
        return Extracted(
            result, None, f"{'; '.join(passed_over)}; elsewhere: {why}", _UNAVAILABLE
        )

    async def _record(self, copy: FoundCopy) -> str:
        """Return the record of *copy*; write it unless another reference did before."""
        key = (copy.archive, copy.uri)
        known = self._records.get(key)
        if known is not None:
            return await known
        record: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._records[key] = record
        try:
            record.set_result(await self._written_after_waits(copy))
        except ArchiveError as error:
            record.set_exception(error)
        except OSError:
            record.cancel()
            raise
        except Exception as error:  # noqa: BLE001 -- the boundary around each query
            self.log(copy.archive, error)
            record.set_exception(Internal(copy.archive, copy.uri, error))
        return await record

    async def _written_after_waits(self, copy: FoundCopy) -> str:
        """Write *copy*; if the archive asks us to wait, wait and try again."""
        while True:
            try:
                return await self._written(copy)
            except ArchiveError as error:
                if not await self.patience.waited(error):
                    raise

    async def _written(self, copy: FoundCopy) -> str:
        async with fetched(copy, self.fetchers[copy.archive], self.most) as content:
            fields = archived_fields(content, self.registry)
            return await self._write_record(self.warc.add_copy, copy, content, fields)

    async def _write_record(
        self, write: Callable[P, T], *arguments: P.args, **options: P.kwargs
    ) -> T:
        """Write one record at a time, in a thread: a slow disk does not block fetching."""
        async with self._writing:
            return await asyncio.to_thread(write, *arguments, **options)
