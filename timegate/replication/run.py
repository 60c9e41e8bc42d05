"""Copies what a source offers and a store lacks: fetched, verified by its digest, written.

Nothing is remembered between runs but the store itself, so a run that was killed is continued
by running it again, and nothing is written twice.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from archives.errors import ArchiveError, Misbehaved, Refused, Resting
from archives.moment import Moment
from archives.registry import Registry
from archives.source import Fetcher
from archives.surt import surt
from archives.warc_index.lookup import Lookup
from archives.warc_index.model import IndexRow, LocalFiles, nanoseconds
from timegate.extract.fetching import FoundCopy, fetched
from timegate.keep.run import kept_revision
from timegate.replication import Conflict, OfferedCapture, SyncReport
from timegate.replication.digests import digests_of, have_same_bytes, normal, of_etag
from timegate.replication.offers import Offers
from timegate.store import InstantTaken, Revision, RevisionWriter
from timegate.text.header_values import is_clean

_BUSY_TIMEOUT: Final = 5.0
_OK: Final = 200
_ATTEMPTS: Final = 3
_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_MOST_IN_A_ROW: Final = 20
"""Failures after which the source is left alone; the next run continues."""
_MOST_UNWRITTEN: Final = 256
_UNWRITTEN_OCTETS: Final = 32 << 20
"""What is fetched and not yet on disk. Revisions that wait together share one sync: with eight
of them, 500 mementos needed 272 to 362 syncs, with 256 they need 26 to 30."""
_MOST_NOTED: Final = 1000
"""Conflicts and failures that are named."""


class HeldInstants:
    """Which captures the store holds. Use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        place = LocalFiles.of(folder, None)
        self._lookup = Lookup(place.index, place.root, _BUSY_TIMEOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lookup.close()

    def held(self, captures: Sequence[OfferedCapture]) -> list[IndexRow | None]:
        """Return what the store holds at the instant of each capture. Raises OSError."""
        return [self._lookup.at_instant(each.url, each.stamp) for each in captures]


class _Unwritten:
    """Limits the revisions that were fetched and are not yet written, by number and size."""

    def __init__(self, most: int, octets: int) -> None:
        self._most = most
        self._octets = octets
        self._number = 0
        self._size = 0
        self._changed = asyncio.Condition()

    def _has_room(self, octets: int) -> bool:
        # One of any size is let in alone.
        fits = self._number < self._most and self._size + octets <= self._octets
        return fits or not self._number

    async def enter(self, octets: int) -> None:
        """Wait until there is room for *octets*; `leave` must follow."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._has_room(octets))
            self._number += 1
            self._size += octets

    async def leave(self, octets: int) -> None:
        """Make room."""
        async with self._changed:
            self._number -= 1
            self._size -= octets
            self._changed.notify_all()


class _Copied(NamedTuple):
    revision: Revision
    is_verified: bool


class Synchronizer:
    """Copies from one source into one store."""

    def __init__(  # noqa: PLR0913 -- from where, to where, and what is not copied
        self,
        writer: RevisionWriter,
        held: HeldInstants,
        fetch: Fetcher,
        archive: str,
        registry: Registry,
        *,
        is_blocked: Callable[[str], bool] = lambda _: False,
        at_once: int = 8,
        now: Callable[[], int] = time.time_ns,
        pause: float = _PAUSE,
    ) -> None:
        """*archive* is the id of the source in *registry*; *now* is in nanoseconds."""
        self._writer = writer
        self._held = held
        self._fetch = fetch
        self._archive = archive
        self._registry = registry
        self._is_blocked = is_blocked
        self._slots = asyncio.Semaphore(at_once)
        self._unwritten = _Unwritten(_MOST_UNWRITTEN, _UNWRITTEN_OCTETS)
        self._now = now
        self._pause = pause
        self._failed_in_a_row = 0
        self.report = SyncReport()

    async def copy_all(
        self, offers: Offers, advance: Callable[[SyncReport], None] = lambda _: None
    ) -> None:
        """Copy what *offers* lists. Raises ArchiveError and StoreError."""
        pages: set[str] = set()
        async with aclosing(offers.batches()) as batches:
            async for batch in batches:
                pages.update(surt(each.url) for each in batch)
                self.report.pages = len(pages)
                await self._copy(batch)
                advance(self.report)

    async def _copy(self, batch: Sequence[OfferedCapture]) -> None:
        """Copy those of *batch* that the store lacks."""
        wanted = [each for each in batch if not self._is_blocked(each.url)]
        rows = await asyncio.to_thread(self._held.held, wanted)
        self.report.listed += len(batch)
        lacking: dict[tuple[str, int], OfferedCapture] = {}
        for each, row in zip(wanted, rows, strict=True):
            if row is None:
                lacking.setdefault((each.url, nanoseconds(each.stamp)), each)
            elif have_same_bytes(each.digest, row.digest) is False:
                self._note_conflict(each, row.digest, each.digest)
            else:
                self.report.here += 1
        async with asyncio.TaskGroup() as group:
            for each in lacking.values():
                # No task waits here for a slot: of a long list, few are in memory.
                await self._slots.acquire()
                group.create_task(self._copy_one(each))

    async def _copy_one(self, capture: OfferedCapture) -> None:
        """Copy one capture; the caller has taken a slot for fetching, not for writing."""
        try:
            copied = await self._read(capture)
            octets = 0 if copied is None else len(copied.revision.body)
            if copied is not None:
                await self._unwritten.enter(octets)
        finally:
            self._slots.release()
        if copied is not None:
            try:
                await self._write(capture, copied)
            finally:
                await self._unwritten.leave(octets)

    async def _read(self, capture: OfferedCapture) -> _Copied | None:
        """Return the revision; None after a failure, which is noted."""
        if nanoseconds(capture.stamp) > self._now():
            self._note_failure(capture, "its time is in the future")
            return None
        try:
            return await self._fetched_patiently(capture)
        except ArchiveError as error:
            self._note_failure(capture, error.why)
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= _MOST_IN_A_ROW:
                raise
            return None

    async def _write(self, capture: OfferedCapture, copied: _Copied) -> None:
        report = self.report
        try:
            written = await self._writer.write(copied.revision)
        except InstantTaken as taken:
            # Written meanwhile, or held with a digest of another kind.
            if normal(taken.row.digest) in digests_of(copied.revision.body):
                report.here += 1
            else:
                there = f"sha256:{copied.revision.digest.hex()}"
                self._note_conflict(capture, taken.row.digest, there)
            return
        if not written.is_new:
            report.here += 1
            return
        report.written += 1
        report.unverified += not copied.is_verified

    async def _fetched_patiently(self, capture: OfferedCapture) -> _Copied:
        """Fetch *capture*; a cut connection is tried again. Raises ArchiveError."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                copied = await self._fetched(capture)
            except ArchiveError as error:
                if attempt == _ATTEMPTS:
                    raise
                wait = self._pause * attempt
                if isinstance(error, Resting | Refused) and error.retry_after is not None:
                    wait = min(error.retry_after, _LONGEST_PAUSE)
                await asyncio.sleep(wait)
            else:
                self._failed_in_a_row = 0
                return copied
        raise AssertionError

    async def _fetched(self, capture: OfferedCapture) -> _Copied:
        copy = FoundCopy(
            self._archive, capture.uri, capture.raw, capture.url, Moment(capture.stamp)
        )
        most = self._writer.settings.largest_revision
        async with fetched(copy, self._fetch, most) as content:
            body = await content.octets()
            stated = _stated(capture, content.headers)
            if stated is not None and stated not in digests_of(body):
                why = f"its bytes do not have the digest {stated}"
                raise Misbehaved(self._archive, capture.uri, why)
            entry = self._registry.by_id(self._archive)
            about = {"source": "" if entry is None else entry.name, "stated-digest": stated}
            revision = kept_revision(copy, content, body, self._registry, about)
        if capture.status == _OK and revision.status is None:
            # The store of the source has it as a response, for its language.
            language = content.headers.get("content-language", "")
            fields = (
                (("Content-Language", language),) if language and is_clean(language) else ()
            )
            revision = replace(revision, status=_OK, fields=fields)
        if capture.asserted:
            revision = replace(revision, captured=None, asserted=capture.stamp)
        return _Copied(revision, stated is not None)

    def _note_conflict(
        self, capture: OfferedCapture, here: str | None, there: str | None
    ) -> None:
        if len(self.report.conflicts) < _MOST_NOTED:
            self.report.conflicts.append(Conflict(capture.uri, here, there))

    def _note_failure(self, capture: OfferedCapture, why: str) -> None:
        if len(self.report.failures) < _MOST_NOTED:
            self.report.failures[capture.uri] = why


def _stated(capture: OfferedCapture, headers: Mapping[str, str]) -> str | None:
    """Return the digest that the source states: in its list, or with the bytes."""
    return normal(capture.digest) or of_etag(headers.get("etag", ""))
