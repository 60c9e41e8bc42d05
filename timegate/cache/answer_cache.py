"""Answer cache: what each archive answered to each question, and how fresh that is.

Everything that archives answered about one URL is one entry, its page record, which is read
once and written once for a request (R-10). Its key is the hash of the URL, then the version of
the archive set. Answers of restricted archives have a scope of their own (R-27). Errors and
partial answers are never cached.

Lists of captures are entries of their own, to which the record refers. A cached TimeMap answers
every question about its URL and archive, unless the same question was asked later and its
answer is still fresh.
"""

import asyncio
import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple

from archives.model import Closest, Memento
from archives.moment import Moment, second_of
from archives.uri import canonical_uri
from timegate.cache.encoding import (
    DELIVERED,
    LONGEST_STALE,
    MOST_CAPTURES,
    NEGATIVE,
    STALE,
    TIMEMAP,
    CorruptEntry,
    PackedCaptures,
    encode_captures,
    lifetime,
    settled_before,
)
from timegate.cache.page_cache import WAITING, PageCache, Waiting
from timegate.cache.page_encoding import PackedPage
from timegate.cache.page_record import (
    EMPTY,
    LATEST,
    SECOND,
    SKEW,
    ArchiveRecord,
    FoundAnswer,
    KnownAnswer,
    KnownCheck,
    ListKind,
    PageRecord,
    WantedTime,
)
from timegate.cache.store import Clock, Immediate, Store, Stored
from timegate.resolution.context import TimeBudget
from timegate.resolution.model import CachedAnswer
from timegate.resolution.settled import Steady, TimeRange

_PERSON: Final = b"timegate cache 2"
"""Makes these hashes different from any others of the same URL; change it with their input."""
_BLOCKS_AT_ONCE: Final = 16


class ListKey(NamedTuple):
    """The key of a list, and the question that is stored in the list for comparison."""

    key: str
    question: str


class AnswerCache:
    """The answer cache of one set of archives."""

    def __init__(  # noqa: PLR0913 -- store, clock and four settings
        self,
        store: Store,
        clock: Clock,
        version: str,
        *,
        stale_for: float = STALE,
        changing: Collection[str] = (),
        restricted: Collection[str] = (),
    ) -> None:
        """*version* names the set of archives: answers of another set are not used.

        Nothing is cached of the archives in *changing*: local collections answer as quickly as
        any cache, and may hold more a second later. The archives in *restricted* have a scope
        of their own.
        """
        if "/" in version:
            raise ValueError(f"version {version!r}: must not contain a slash")
        self.pages = PageCache(store)
        self._rejected = 0
        self._store = store
        self._immediate = store if isinstance(store, Immediate) else None
        self._clock = clock
        self._version = version
        self._stale_for = min(stale_for, LONGEST_STALE)
        self._changing = frozenset(changing)
        self._restricted = frozenset(restricted)
        self._fields: dict[str, str] = {}
        """The fields of records by archive, as far as they were needed."""

    @property
    def rejected(self) -> int:
        """Number of values that were damaged or not written by this program."""
        return self._rejected + self.pages.rejected

    def recall_now(
        self, archive: str, original: str, at: Moment | None
    ) -> CachedAnswer | Waiting | None:
        """Do as `recall`, unless that takes waiting: then return `WAITING`."""
        page = self.pages.read_now(self._page_key(original))
        if page is WAITING:
            return WAITING
        return self._known_now(page, archive, original, WantedTime.of(at))

    async def recall(
        self,
        archive: str,
        original: str,
        at: Moment | None,
        budget: TimeBudget | None = None,
    ) -> CachedAnswer | None:
        """Return what *archive* answered for *original* at *at* (None: the newest).

        Answers that another replica has just written are seen.
        """
        known = await self._recalled([archive], original, at, budget, recent=False)
        return known.get(archive)

    async def recall_all(
        self,
        archives: Sequence[str],
        original: str,
        at: Moment | None,
        budget: TimeBudget | None = None,
    ) -> dict[str, CachedAnswer]:
        """Do as `recall` for each archive, with one lookup for all of them."""
        return await self._recalled(archives, original, at, budget)

    async def _recalled(
        self,
        archives: Sequence[str],
        original: str,
        at: Moment | None,
        budget: TimeBudget | None,
        *,
        recent: bool = True,
    ) -> dict[str, CachedAnswer]:
        page = await self.pages.read(self._page_key(original), budget, recent=recent)
        return await self.recall_from(page, archives, original, at, budget)

    async def page(self, original: str, budget: TimeBudget | None = None) -> PageRecord:
        """Return what is known of a page."""
        return await self.pages.read(self._page_key(original), budget)

    async def recall_from(
        self,
        page: object,
        archives: Sequence[str],
        original: str,
        at: Moment | None,
        budget: TimeBudget | None = None,
    ) -> dict[str, CachedAnswer]:
        """Do as `recall_all` with a *page* that was read."""
        known: dict[str, CachedAnswer] = {}
        if not page or not isinstance(page, Mapping):
            return known
        wanted = WantedTime.of(at)
        for archive in archives:
            answer = self._known_now(page, archive, original, wanted)
            if answer is WAITING:
                answer = await self._with_list(page, archive, original, wanted, budget)
            if answer is not None:
                known[archive] = answer
        return known

    def steady(self, page: object, archives: Sequence[str], at: Moment) -> Steady | None:
        """Return where the answers in *page* stay the same; None if that is not known."""
        # Another page is made at every read, of what is still to be written.
        if not isinstance(page, PackedPage) or not self._changing.isdisjoint(archives):
            return None
        times, left, now = TimeRange(), math.inf, self._clock()
        for archive in archives:
            record = page.get(self._field(archive))
            if record is None or record.lists:
                return None
            steady = record.steady(at, now, lifetime, settled_before)
            times, left = times.within(steady.times), min(left, steady.seconds)
        return Steady(times, left)

    def _known_now(
        self, page: PageRecord, archive: str, original: str, wanted: WantedTime
    ) -> CachedAnswer | Waiting | None:
        """Return the answer of *archive*; `WAITING` if its list must be read first."""
        if archive in self._changing:
            return None
        record = page.get(self._field(archive))
        if record is None:
            return None
        found = record.answer(wanted, self._clock(), lifetime, self._stale_for)
        if not _needs_list(found, record, wanted):
            return None if found is None else found.cached
        if self._immediate is None:
            return WAITING
        key = self._list_key(archive, original, "timemap")
        stored = self._immediate.get_now(key.key)
        return self._better(found, self._listed(stored, key, archive, original, wanted), wanted)

    async def _with_list(
        self,
        page: PageRecord,
        archive: str,
        original: str,
        wanted: WantedTime,
        budget: TimeBudget | None,
    ) -> CachedAnswer | None:
        record = page.get(self._field(archive)) or EMPTY
        found = record.answer(wanted, self._clock(), lifetime, self._stale_for)
        key = self._list_key(archive, original, "timemap")
        stored = await self._store.get(key.key, budget)
        return self._better(found, self._listed(stored, key, archive, original, wanted), wanted)

    @staticmethod
    def _better(
        found: FoundAnswer | None, listed: CachedAnswer | None, wanted: WantedTime
    ) -> CachedAnswer | None:
        answer = None if found is None else found.cached
        return listed if _is_better(listed, answer, wanted.at) else answer

    async def remember(
        self,
        archive: str,
        original: str,
        at: Moment | None,
        outcome: Closest | None,
        budget: TimeBudget | None = None,
    ) -> None:
        """Cache what *archive* answered just now. None is a clear no, never an error."""
        del budget
        if archive not in self._changing:
            asked = LATEST if at is None else at.digits[:SECOND]
            answer = KnownAnswer(self._clock(), asked, outcome)
            field = self._fields.get(archive) or self._field(archive)
            self.pages.learn_answer(self._page_key(original), field, answer)

    async def remember_timemap(
        self,
        archive: str,
        original: str,
        captures: Sequence[Memento],
        budget: TimeBudget | None = None,
        *,
        detailed: bool = False,
    ) -> None:
        """Cache a complete TimeMap, unless it is longer than `MOST_CAPTURES`.

        With *detailed*, the list of a CDX server, which answers no other questions.
        """
        del budget
        if len(captures) > MOST_CAPTURES or archive in self._changing:
            return
        kind: ListKind = "index" if detailed else "timemap"
        key = self._list_key(archive, original, kind)
        value = encode_captures(key.question, captures)
        fresh_for = TIMEMAP if captures else NEGATIVE
        self.pages.put(key.key, value, fresh_for, self._stale_for)
        self._learn(archive, original, ArchiveRecord(lists={kind: self._clock()}))

    async def recall_timemap(
        self,
        archive: str,
        original: str,
        budget: TimeBudget | None = None,
        *,
        detailed: bool = False,
    ) -> tuple[Sequence[Memento], float] | None:
        """Return all captures, oldest first, and how many seconds ago they were listed.

        Only while they are fresh: a stale TimeMap answers `recall`, where it is marked.
        """
        if archive in self._changing:
            return None
        kind: ListKind = "index" if detailed else "timemap"
        key = self._list_key(archive, original, kind)
        stored = await self._store.get(key.key, budget)
        if stored is None or not stored.fresh:
            return None
        captures: list[Memento] = []
        try:
            packed = PackedCaptures(stored.value, key.question, archive)
            for number, block in enumerate(packed.blocks()):
                captures += block
                if number % _BLOCKS_AT_ONCE == _BLOCKS_AT_ONCE - 1:
                    await asyncio.sleep(0)
        except CorruptEntry:
            self._rejected += 1
            return None
        return captures, stored.age

    async def recall_memento(
        self, memento: Memento, address: str, budget: TimeBudget | None = None
    ) -> CachedAnswer | None:
        """Return the outcome of requesting *memento* at *address*."""
        if memento.archive in self._changing:
            return None
        page = await self.pages.read(self._page_key(memento.original), budget)
        record = page.get(self._field(memento.archive))
        check = None if record is None else record.checks.get(address)
        if check is None:
            return None
        age = self._clock() - check.given_at
        if not -SKEW <= age < (NEGATIVE if check.outcome is None else DELIVERED):
            return None
        return CachedAnswer(check.outcome, fresh=True, age=max(age, 0.0))

    async def remember_memento(
        self,
        memento: Memento,
        address: str,
        outcome: Closest | None,
        budget: TimeBudget | None = None,
    ) -> None:
        """Cache the outcome of requesting *memento* at *address*. None if it is gone."""
        del budget
        check = KnownCheck(self._clock(), outcome)
        record = ArchiveRecord(checks={address: check})
        self._learn(memento.archive, memento.original, record)

    async def forget(self, original: str) -> int:
        """Delete all answers about *original*, of every archive, scope and version.

        Returns the number of deleted entries. Raises Unavailable.
        """
        await self.pages.forget(self._page_key(original))
        _, page = _page(original)
        return await self._store.purge(f"{page}/")

    async def written(self, original: str) -> None:
        """Wait until all answers about *original* are in the store, or dropped."""
        await self.pages.written(self._page_key(original))

    async def aclose(self) -> None:
        """Write what is not written yet, as far as that takes no more than some seconds."""
        await self.pages.drain()

    def _learn(self, archive: str, original: str, record: ArchiveRecord) -> None:
        if archive not in self._changing:
            self.pages.learn(self._page_key(original), self._field(archive), record)

    def _page_key(self, original: str) -> str:
        return f"{_page(original)[1]}/{self._version}/page"

    def _field(self, archive: str) -> str:
        scope = "restricted" if archive in self._restricted else "public"
        field = self._fields[archive] = f"{scope}/{archive}"
        return field

    def _list_key(self, archive: str, original: str, kind: ListKind) -> ListKey:
        canonical, page = _page(original)
        # Only the archive, the last part, may contain a slash: two lists never look alike.
        rest = f"{self._version}/{kind}/{self._field(archive)}"
        return ListKey(f"{page}/{rest}", f"{rest} {canonical}")

    def _listed(
        self,
        stored: Stored | None,
        key: ListKey,
        archive: str,
        original: str,
        wanted: WantedTime,
    ) -> CachedAnswer | None:
        """Return the answer of a stored TimeMap, and remember it."""
        if stored is None:
            return None
        try:
            outcome = PackedCaptures(stored.value, key.question, archive).closest(wanted.at)
        except CorruptEntry:
            self._rejected += 1
            return None
        # Choosing from a TimeMap took 100 to 280 microseconds, a lookup takes 3 to 7.
        given_at = self._clock() - stored.age
        answer = KnownAnswer(given_at, wanted.asked, outcome)
        self._learn(archive, original, ArchiveRecord((answer,)))
        # A TimeMap of this morning lists all of 2010, but not the newest copy of now.
        fresh_for = lifetime(wanted.at, outcome, given_at)
        return CachedAnswer(outcome, stored.fresh and stored.age < fresh_for, stored.age)


def _needs_list(found: FoundAnswer | None, record: ArchiveRecord, wanted: WantedTime) -> bool:
    """Whether the TimeMap of the archive may have a better answer than *found*."""
    listed_at = record.lists.get("timemap")
    if listed_at is None or found is None:
        return listed_at is not None
    outcome = found.answer.outcome
    if abs(found.answer.given_at - listed_at) < _SAME_TIME and (
        outcome is None or outcome.via == "timemap"
    ):
        return False
    if not found.fresh or outcome is None or wanted.at is None:
        return not found.fresh
    return bool(wanted.at.distance(second_of(outcome.memento.stamp)))


_SAME_TIME: Final = 1.0
"""Seconds: the time of a list, and that of an answer taken from it."""


def _is_better(
    listed: CachedAnswer | None, answer: CachedAnswer | None, at: Moment | None
) -> bool:
    """Whether the memento in a TimeMap is to be used: it is nearer, or newer information."""
    if listed is None or answer is None:
        return answer is None
    if listed.fresh and answer.fresh and listed.outcome and answer.outcome and at:
        distances = [
            abs(at.distance(second_of(each.outcome.memento.stamp)))
            for each in (listed, answer)
            if each.outcome is not None
        ]
        return distances[0] < distances[1]
    return (listed.fresh, -listed.age) > (answer.fresh, -answer.age)


# One question goes to many archives.
@lru_cache(maxsize=1024)
def _page(original: str) -> tuple[str, str]:
    """Return the canonical form of a URL, and its hash, with which its keys begin."""
    canonical = canonical_uri(original)
    return canonical, blake2b(canonical.encode(), digest_size=16, person=_PERSON).hexdigest()
