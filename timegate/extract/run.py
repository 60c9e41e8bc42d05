"""The extraction run: fetches the copies of several results at a time into a WARC."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple, ParamSpec, TypeVar

from archives.errors import ArchiveError, Internal, Refused, Resting, place_of
from archives.registry import Registry
from archives.source import Fetcher
from timegate.batch.model import BadInput, Item, ItemResult
from timegate.extract.fetching import (
    LARGEST_COPY,
    Fetched,
    Fields,
    FoundCopy,
    archived_fields,
    copy_found,
    copy_of,
    fetched,
    is_page,
    page_title,
)
from timegate.extract.journal import (
    Entry,
    ExtractionState,
    FailedAttempt,
    ItemOutcome,
    RecordKind,
    WrittenCopy,
)
from timegate.extract.saved_parts import PartsOf, SavedPart, SavedParts
from timegate.extract.warc_file import WarcFile
from timegate.observability.logs import Unforeseen
from timegate.parts.composite import Part

MOST_COPIES: Final = 1_000_000
"""Copies in one file: 0.7 GB of memory."""
MOST_ATTEMPTS: Final = 3
"""Copies of one reference that are tried, each in a different archive."""


class FailedArchives:
    """Archives that did not deliver the copy of a reference, and why. 300 octets each."""

    def __init__(self, failures: Iterable[FailedAttempt] = ()) -> None:
        """*failures* are those of a run that is continued."""
        self._troubles: dict[int, dict[str, str]] = {}
        for failure in failures:
            self.add(failure)

    def add(self, failure: FailedAttempt) -> bool:
        """Record that an archive failed; return whether another one is to be tried."""
        troubles = self._troubles.setdefault(failure.position, {})
        troubles[failure.archive] = failure.why
        return len(troubles) < MOST_ATTEMPTS

    def attempts(self, item: Item) -> int:
        """Return how many archives have failed for *item*."""
        return len(self._troubles.get(item.position, ()))

    def without(self, item: Item) -> frozenset[str]:
        """Return the archives to exclude when *item* is resolved again."""
        return frozenset(self._troubles.get(item.position, ()))

    def passed_over(self, item: Item) -> list[str]:
        """Return the failed copies of *item*, each with its reason."""
        troubles = self._troubles.get(item.position, {})
        return [f"{archive}: {why}" for archive, why in troubles.items()]

    def again(self, attempt: int) -> list[int]:
        """Return the positions of the items to resolve once more after *attempt*, from 0."""
        if attempt + 1 >= MOST_ATTEMPTS:
            return []
        return sorted(at for at, failed in self._troubles.items() if len(failed) > attempt)


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
_LESS: Final = 1
_UNAVAILABLE: Final = 4
_PARTS_AT_ONCE: Final = 4
"""Parts of one page that are fetched at the same time."""


class Extracted(NamedTuple):
    """The outcome for one reference."""

    result: ItemResult
    record: str | None
    """The id of the record with the copy; None if it could not be fetched."""
    why: str
    """The verdict, or why there is no record."""
    code: int
    """As exit codes; 4 (unknown) for a copy that could not be fetched."""
    parts: Mapping[str, int] | None = None
    """How many parts the page has, and how many are saved; None if they were not wanted."""


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
    state: ExtractionState = field(default_factory=ExtractionState)
    """What has been written, also by the run that is continued."""
    parts: PartsOf | None = None
    """Finds the parts of a page; None if only files are wanted."""
    all_pages: bool = False
    """Whether references that state no extent mean a page with its parts."""
    log: Callable[[str, Exception], None] = field(
        default_factory=lambda: Unforeseen("item-internal-error")
    )
    _records: dict[tuple[str, str], "asyncio.Future[WrittenCopy]"] = field(default_factory=dict)
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def complete(
        self,
        results: Iterable[ItemResult],
        at_once: int,
        done: Callable[[Extracted], None],
        attempt: int = 0,
    ) -> None:
        """Process *results*; call *done* with the outcome of each.

        Items for which another archive is to be tried are left to `choices`; *attempt* is how
        many archives have failed before. What the run that is continued did is not done again.
        """
        left = iter(results)

        async def work(results: Iterator[ItemResult]) -> None:
            for result in results:
                if len(self.state.copies) >= MOST_COPIES:
                    raise BadInput(f"it leads to more than {MOST_COPIES:,} copies: split it")
                extracted = await self._outcome(result, attempt)
                if extracted is not None:
                    done(extracted)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(at_once):
                tasks.create_task(work(left))

    async def _outcome(self, result: ItemResult, attempt: int) -> Extracted | None:
        """Return the outcome of *result*; None if it belongs to another attempt."""
        known = self.state.outcomes.get(result.item.position)
        if known is not None:
            kept = Extracted(result, known.record, known.why, known.code, known.parts)
            return kept if known.attempt == attempt else None
        if self.choices.attempts(result.item) > attempt:
            return None
        return await self._contained(result, attempt)

    async def _contained(self, result: ItemResult, attempt: int) -> Extracted | None:
        """Extract *result*; an unforeseen exception affects only its own outcome.

        A disk that cannot be written concerns all results.
        """
        try:
            return await self._extracted(result, attempt)
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 -- the boundary around each item
            self.log("list", error)
            why = f"internal error of this program ({place_of(error)})"
            return await self._settled(Extracted(result, None, why, _UNAVAILABLE), attempt)

    async def _settled(
        self, extracted: Extracted, attempt: int, verdict: Callable[[], None] = lambda: None
    ) -> Extracted:
        """Write the *verdict* and the outcome together: a killed run has both, or none."""
        result, record, why, code, parts = extracted
        position = result.item.position
        entry = ItemOutcome(position, attempt, record, why, code, result.pwid, parts)

        def write() -> None:
            verdict()
            self._note(entry)

        await self._in_turn(write)
        return extracted

    async def _extracted(self, result: ItemResult, attempt: int) -> Extracted | None:
        """Return the outcome of *result*; None if another archive is to be tried."""
        copy = copy_found(result)
        if copy is None:
            return await self._settled(self._missing(result, result.why, result.code), attempt)
        if self.strict and result.code:
            less = f"less than asked: {result.why}"
            return await self._settled(self._missing(result, less, result.code), attempt)
        try:
            written = await self._record(copy)
        except ArchiveError as error:
            failure = FailedAttempt(result.item.position, copy.archive, error.why)
            again = self.choices.add(failure)
            await self._in_turn(self._note, failure)
            if again:
                return None
            why = "; ".join(self.choices.passed_over(result.item))
            return await self._settled(Extracted(result, None, why, _UNAVAILABLE), attempt)
        parts = await self._parts(result, copy)
        passed_over = self.choices.passed_over(result.item)
        verdict = partial(
            self.warc.add_verdict,
            result,
            written.record,
            copy.raw or copy.uri,
            passed_over,
            None if parts is None else parts.described,
        )
        instead = [f"instead of {', '.join(passed_over)}"] if passed_over else []
        words = [] if parts is None else [parts.words]
        why = "; ".join([result.why, *words, *instead])
        code = result.code if parts is None or parts.is_complete else max(result.code, _LESS)
        counts = None if parts is None else parts.counts
        extracted = Extracted(result, written.record, why, code, counts)
        return await self._settled(extracted, attempt, verdict)

    def _missing(self, result: ItemResult, why: str, code: int) -> Extracted:
        """Return an outcome without record; unknown if copies exist that failed before."""
        passed_over = self.choices.passed_over(result.item)
        if not passed_over:
            return Extracted(result, None, why, code)
        return Extracted(
            result, None, f"{'; '.join(passed_over)}; elsewhere: {why}", _UNAVAILABLE
        )

    async def _parts(self, result: ItemResult, copy: FoundCopy) -> SavedParts | None:
        """Find and save the parts of a page; None if only the file is wanted."""
        if self.parts is None or not means_page(result, default=self.all_pages):
            return None
        try:
            composite = await self.parts(copy)
        except ArchiveError as error:
            return SavedParts(failure=f"the parts are not known: {error.archive} {error.why}")
        places = asyncio.Semaphore(_PARTS_AT_ONCE)

        async def save(part: Part) -> SavedPart:
            async with places:
                return await self._part(part)

        async with asyncio.TaskGroup() as tasks:
            saved = [tasks.create_task(save(part)) for part in composite.parts]
        return SavedParts(tuple(task.result() for task in saved), composite.unread)

    async def _part(self, part: Part) -> SavedPart:
        """Save *part*; a part that an archive does not deliver is only described."""
        if part.memento is None or part.outcome not in ("found", "missing"):
            return SavedPart(part)
        copy = copy_of(part.memento, self.registry)
        about = {"fetched": copy.raw or copy.uri, **SavedPart(part).described}
        try:
            written = await self._record(copy, about)
        except ArchiveError as error:
            return SavedPart(part, why=error.why)
        return SavedPart(part, written.record)

    async def _record(
        self, copy: FoundCopy, about: Mapping[str, object] | None = None
    ) -> WrittenCopy:
        """Return the record of *copy*; write it unless another reference did before.

        *about* is written with it: what it is a part of.
        """
        key = (copy.archive, copy.uri)
        earlier = self.state.copies.get(key)
        if earlier is not None:
            return earlier
        known = self._records.get(key)
        if known is not None:
            return await known
        record: asyncio.Future[WrittenCopy] = asyncio.get_running_loop().create_future()
        self._records[key] = record
        try:
            record.set_result(await self._written_after_waits(copy, about))
        except ArchiveError as error:
            record.set_exception(error)
        except OSError:
            record.cancel()
            raise
        except Exception as error:  # noqa: BLE001 -- the boundary around each query
            self.log(copy.archive, error)
            record.set_exception(Internal(copy.archive, copy.uri, error))
        return await record

    async def _written_after_waits(
        self, copy: FoundCopy, about: Mapping[str, object] | None
    ) -> WrittenCopy:
        """Write *copy*; if the archive asks us to wait, wait and try again."""
        while True:
            try:
                return await self._written(copy, about)
            except ArchiveError as error:
                if not await self.patience.waited(error):
                    raise

    async def _written(
        self, copy: FoundCopy, about: Mapping[str, object] | None
    ) -> WrittenCopy:
        async with fetched(copy, self.fetchers[copy.archive], self.most) as content:
            fields = archived_fields(content, self.registry)

            def write() -> WrittenCopy:
                written = self._write_copy(copy, content, fields)
                if about is not None:
                    self.warc.add_metadata(written.record, about)
                self._note(written)
                return written

            return await self._in_turn(write)

    def _write_copy(
        self, copy: FoundCopy, content: Fetched, fields: Fields | None
    ) -> WrittenCopy:
        """Write *copy*, as a revisit if its payload is there already."""
        first = self.state.payloads.get(content.digest)
        page = is_page(content)
        title = page_title(content) if page else None
        kind: RecordKind
        if fields is None:
            kind, record = "resource", self.warc.add_copy(copy, content, None)
        elif first is not None and content.length:
            kind, record = "revisit", self.warc.add_revisit(copy, content, fields, first)
        else:
            kind, record = "response", self.warc.add_copy(copy, content, fields)
        return WrittenCopy(
            copy.archive,
            copy.uri,
            record,
            kind,
            copy.original,
            str(copy.captured),
            content.digest,
            page,
            title,
        )

    def _note(self, entry: Entry) -> None:
        self.state.note(entry, self.warc.end)

    async def _in_turn(
        self, write: Callable[P, T], *arguments: P.args, **options: P.kwargs
    ) -> T:
        """Write one record at a time, in a thread: a slow disk does not block fetching."""
        async with self._writing:
            return await asyncio.to_thread(write, *arguments, **options)


def means_page(result: ItemResult, *, default: bool) -> bool:
    """Whether the reference means a page with its parts, and not the file alone."""
    coverage = (result.report or {}).get("coverage")
    asked = coverage.get("req") if isinstance(coverage, dict) else None
    return default if not asked else asked != "part"
