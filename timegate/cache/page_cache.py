"""Page cache: reads the record of a page once, and writes what was learned in the background.

What archives answered is merged into the store a moment later, one write for all answers of a
page, and is seen by readers at once. Writers never wait: what cannot be written in time is
dropped, counted, and logged once a minute.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

from cachetools import LRUCache

from timegate.cache.encoding import CorruptEntry
from timegate.cache.page_encoding import (
    PackedPage,
    encode_answer,
    encode_record,
    merge_values,
    sealed_page,
)
from timegate.cache.page_record import (
    ArchiveRecord,
    KnownAnswer,
    PageRecord,
    merged,
    merged_pages,
)
from timegate.cache.store import LONGEST, Immediate, Store
from timegate.event_loop import end
from timegate.resolution.context import TimeBudget

_LOG: Final = logging.getLogger(__name__)

DELAY: Final = 0.02
"""Seconds in which the answers of several archives are collected for one write."""
MOST_PENDING: Final = 2048
"""Pages that wait to be written, some 20 kB each with ten archives. More are dropped."""
_AT_ONCE: Final = 256
"""Pages that are written at the same time."""
DRAIN: Final = 3.0
"""Seconds for the pages that wait when the process ends."""
_BETWEEN_WARNINGS: Final = 60.0
_MOST_DECODED: Final = 512
"""Pages that are kept decoded: some 20 kB each with ten archives."""


class Waiting(Enum):
    """The result where a result would take waiting."""

    WAITING = "waiting"


WAITING: Final = Waiting.WAITING
NOTHING_KNOWN: Final[PageRecord] = {}


class _Unwritten:
    """What was learned about a page and is not in the store yet, also encoded, by field."""

    __slots__ = ("_answers", "_records", "_waiters", "parts")

    def __init__(self) -> None:
        self._records: dict[str, ArchiveRecord] = {}
        self._answers: dict[str, KnownAnswer] = {}
        """Answers of which no record was made: nearly all are written and never read here."""
        self._waiters: list[asyncio.Future[None]] = []
        self.parts: dict[str, bytes] = {}

    @property
    def records(self) -> Mapping[str, ArchiveRecord]:
        """What was learned, by field."""
        for field, answer in self._answers.items():
            self._records[field] = ArchiveRecord((answer,))
        self._answers.clear()
        return self._records

    async def settled(self) -> None:
        """Wait until it is written, or dropped."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    def settle(self) -> None:
        """End the waits for it."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    def add(self, field: str, record: ArchiveRecord) -> None:
        """Add *record*. Raises UnicodeEncodeError for text that is none."""
        known = self.records.get(field)
        record = record if known is None else merged(known, record)
        self.parts[field] = encode_record(record)
        self._records[field] = record

    def add_answer(self, field: str, answer: KnownAnswer) -> None:
        """Add the record of one answer. Raises UnicodeEncodeError for text that is none."""
        if field in self.parts:
            self.add(field, ArchiveRecord((answer,)))
        else:
            self.parts[field] = encode_answer(answer)
            self._answers[field] = answer


class PageCache:
    """The records of pages in one store."""

    def __init__(self, store: Store, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.rejected = 0
        """Number of values that were damaged or not written by this program."""
        self._dropped = 0
        self._puts: dict[asyncio.Task[None], str] = {}
        self._store = store
        self._immediate = store if isinstance(store, Immediate) else None
        self._decoded: LRUCache[str, PackedPage] = LRUCache(_MOST_DECODED)
        self._pending: dict[str, _Unwritten] = {}
        self._under_way: dict[str, _Unwritten] = {}
        self._writer: asyncio.Task[None] | None = None
        self._monotonic = monotonic
        self._quiet_until = float("-inf")
        self._unreported = 0

    @property
    def dropped(self) -> int:
        """Number of records and lists that could not be written, or not completely."""
        return self._dropped + self._store.dropped

    def read_now(self, key: str) -> PageRecord | Waiting:
        """Return the record of a page; `WAITING` if that takes waiting."""
        if self._immediate is None:
            return WAITING
        stored = self._immediate.get_now(key)
        return self._with_unwritten(key, None if stored is None else stored.value)

    async def read(
        self, key: str, budget: TimeBudget | None = None, *, recent: bool = True
    ) -> PageRecord:
        """Return the record of a page, empty if nothing is known.

        Unless it may be *recent*, what other replicas wrote up to now is seen.
        """
        now = self.read_now(key)
        if now is not WAITING:
            return now
        stored = await self._store.get(key, budget, recent=recent)
        return self._with_unwritten(key, None if stored is None else stored.value)

    def learn(self, key: str, field: str, record: ArchiveRecord) -> None:
        """Merge *record* into a field of a page, in the background.

        Raises UnicodeEncodeError if it contains text that is not encodable.
        """
        page = self._pending.get(key) or self._new()
        if page is not None:
            page.add(field, record)
            self._pend(key, page)

    def learn_answer(self, key: str, field: str, answer: KnownAnswer) -> None:
        """Do as `learn` with a record of one answer."""
        page = self._pending.get(key) or self._new()
        if page is not None:
            page.add_answer(field, answer)
            if self._writer is None or key not in self._pending:
                self._pend(key, page)

    def _new(self) -> _Unwritten | None:
        """Return a page of which nothing waits to be written; None if too many pages wait."""
        if len(self._pending) < MOST_PENDING:
            return _Unwritten()
        self._drop(1)
        return None

    def _pend(self, key: str, page: _Unwritten) -> None:
        self._pending[key] = page
        # A writer that has just ended has not been taken note of yet.
        if self._writer is None or self._writer.done():
            self._writer = asyncio.get_running_loop().create_task(self._write())
            self._writer.add_done_callback(self._written)

    def put(self, key: str, value: bytes, fresh_for: float, stale_for: float) -> None:
        """Store a value, in the background if that takes waiting."""
        if self._immediate is not None:
            self._immediate.put_now(key, value, fresh_for, stale_for)
        elif len(self._puts) >= _AT_ONCE:
            self._drop(1)
        else:
            putting = self._put(key, value, fresh_for, stale_for)
            task = asyncio.get_running_loop().create_task(putting)
            self._puts[task] = key
            task.add_done_callback(self._puts.pop)

    async def _put(self, key: str, value: bytes, fresh_for: float, stale_for: float) -> None:
        before = self._store.dropped
        await self._store.put(key, value, fresh_for, stale_for)
        self._report(self._store.dropped - before)

    async def forget(self, key: str) -> None:
        """Drop what was learned about a page, and wait until nothing of it is being written."""
        dropped = self._pending.pop(key, None)
        if dropped is not None:
            dropped.settle()
        await self.written(key)

    async def written(self, key: str) -> None:
        """Wait until what was learned about a page is written, or dropped."""
        page = key.partition("/")[0]
        puts = [task for task, each in self._puts.items() if each.partition("/")[0] == page]
        if puts:
            await asyncio.wait(puts)
        while unwritten := self._under_way.get(key) or self._pending.get(key):
            if self._writer is None:
                return
            await unwritten.settled()

    async def drain(self, seconds: float = DRAIN) -> None:
        """Write what waits, for at most so many seconds; the rest is dropped."""
        writing = [*self._puts, *([] if self._writer is None else [self._writer])]
        if writing:
            _, late = await asyncio.wait(writing, timeout=seconds)
            self._drop(len(late & self._puts.keys()))
            await end(late)
        self._drop(len(self._pending) + len(self._under_way))
        self._settle(self._pending)
        self._settle(self._under_way)
        self._pending, self._under_way = {}, {}

    @staticmethod
    def _settle(pages: Mapping[str, _Unwritten]) -> None:
        for page in pages.values():
            page.settle()

    def _with_unwritten(self, key: str, value: bytes | None) -> PageRecord:
        record = NOTHING_KNOWN if value is None else self._record(key, value)
        for unwritten in (self._under_way, self._pending):
            if key in unwritten:
                record = merged_pages(record, unwritten[key].records)
        return record

    def _record(self, key: str, value: bytes) -> PageRecord:
        """Return the record that *value* encodes; it is decoded once while it is in use."""
        page = self._decoded.get(key)
        if page is None or page.value != value:
            try:
                page = PackedPage(key, value)
            except CorruptEntry:
                self.rejected += 1
                return NOTHING_KNOWN
            self._decoded[key] = page
        return page

    async def _write(self) -> None:
        while self._pending:
            if len(self._pending) < _AT_ONCE:
                await asyncio.sleep(DELAY)
            keys = list(self._pending)[:_AT_ONCE]
            self._under_way = {key: self._pending.pop(key) for key in keys}
            values = {
                key: sealed_page(key, page.parts) for key, page in self._under_way.items()
            }
            if self._immediate is not None:
                merge = self._immediate.merge_now
                kept = [merge(*each, merge_values, LONGEST) for each in values.items()]
            else:
                merging = self._store.merge
                kept = await asyncio.gather(
                    *(merging(*each, merge_values, LONGEST) for each in values.items())
                )
            written, self._under_way = self._under_way, {}
            self._settle(written)
            self._drop(kept.count(False))

    def _written(self, task: "asyncio.Task[None]") -> None:
        if self._writer is not task:
            return
        self._writer = None
        # Nothing is left, unless the writer was cancelled.
        self._settle(self._under_way)
        self._settle(self._pending)
        if not task.cancelled():
            task.result()

    def _drop(self, values: int) -> None:
        self._dropped += values
        self._report(values)

    def _report(self, values: int) -> None:
        """Log the values that were not written, once a minute."""
        self._unreported += values
        now = self._monotonic()
        if values and now >= self._quiet_until:
            self._quiet_until = now + _BETWEEN_WARNINGS
            _LOG.warning("values were not written to the cache: %d", self._unreported)
            self._unreported = 0
