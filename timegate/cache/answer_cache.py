"""Answer cache: what each archive answered to each question, and how fresh that is.

The key is the hash of the URL, then the version of the archive set, the time, the scope and the
archive (R-10). Answers of restricted archives have a scope of their own (R-27). Errors and
partial answers are never cached.

A cached TimeMap answers every question about its URL and archive, unless the same question was
asked later and its answer is still fresh.
"""

import asyncio
from collections.abc import Collection, Sequence
from enum import Enum
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
    decode_answer,
    encode_answer,
    encode_captures,
    lifetime,
)
from timegate.cache.store import Clock, Immediate, Store, Stored
from timegate.resolution.context import TimeBudget
from timegate.resolution.model import CachedAnswer

_PERSON: Final = b"timegate cache 1"
"""Makes these hashes different from any others of the same URL; change it with their input."""
_BLOCKS_AT_ONCE: Final = 16


class Waiting(Enum):
    """The result where a result would take waiting."""

    WAITING = "waiting"


WAITING: Final = Waiting.WAITING


class CacheKey(NamedTuple):
    """The key of an answer, and the question that is stored in the answer for comparison."""

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
        self.rejected = 0
        """Number of values that were damaged or not written by this program."""
        self._store = store
        self._immediate = store if isinstance(store, Immediate) else None
        self._clock = clock
        self._version = version
        self._stale_for = min(stale_for, LONGEST_STALE)
        self._changing = frozenset(changing)
        self._restricted = frozenset(restricted)

    def recall_now(
        self, archive: str, original: str, at: Moment | None, *, scope: str = "public"
    ) -> CachedAnswer | Waiting | None:
        """Do as `recall`, unless that takes waiting: then return `WAITING`."""
        if archive in self._changing:
            return None
        store = self._immediate
        if store is None:
            return WAITING
        cache_key = self._cache_key(archive, original, _time_class(at), scope)
        exact = self._answer(store.get_now(cache_key.key), cache_key, archive)
        if exact is not None and _suffices(exact, at):
            return exact
        listing = self._cache_key(archive, original, "timemap", scope)
        listed = self._from_timemap(store.get_now(listing.key), listing, archive, at)
        if listed is None or not _is_better(listed, exact, at):
            return exact
        # Choosing from a TimeMap took 100 to 280 microseconds, a lookup takes 3 to 7.
        fresh_for = lifetime(at, listed.outcome, self._clock() - listed.age)
        value = encode_answer(cache_key.question, listed.outcome)
        store.put_now(cache_key.key, value, fresh_for, self._stale_for, age=listed.age)
        return listed

    async def recall(
        self,
        archive: str,
        original: str,
        at: Moment | None,
        budget: TimeBudget | None = None,
        *,
        scope: str = "public",
    ) -> CachedAnswer | None:
        """Return what *archive* answered for *original* at *at* (None: the newest)."""
        now = self.recall_now(archive, original, at, scope=scope)
        if now is not WAITING:
            return now
        cache_key = self._cache_key(archive, original, _time_class(at), scope)
        stored = await self._store.get(cache_key.key, budget)
        exact = self._answer(stored, cache_key, archive)
        if exact is not None and _suffices(exact, at):
            return exact
        cache_key = self._cache_key(archive, original, "timemap", scope)
        stored = await self._store.get(cache_key.key, budget)
        listed = self._from_timemap(stored, cache_key, archive, at)
        return listed if _is_better(listed, exact, at) else exact

    async def recall_all(
        self,
        archives: Sequence[str],
        original: str,
        at: Moment | None,
        budget: TimeBudget | None = None,
    ) -> dict[str, CachedAnswer]:
        """Do as `recall` for each archive, concurrently: Redis commands are pipelined.

        One after the other, twelve archives are 24 round trips to Redis. On two busy cores
        these took the 40 ms that a request has, and none was left for the lock that keeps two
        replicas from asking the same question.
        """
        known: dict[str, CachedAnswer] = {}
        waiting = []
        for archive in archives:
            now = self.recall_now(archive, original, at)
            if now is WAITING:
                waiting.append(archive)
            elif now is not None:
                known[archive] = now
        if waiting:
            looked_up = (self.recall(archive, original, at, budget) for archive in waiting)
            answers = zip(waiting, await asyncio.gather(*looked_up), strict=True)
            known |= {archive: answer for archive, answer in answers if answer is not None}
        return known

    async def remember(  # noqa: PLR0913 -- question and answer
        self,
        archive: str,
        original: str,
        at: Moment | None,
        outcome: Closest | None,
        budget: TimeBudget | None = None,
        *,
        scope: str = "public",
    ) -> None:
        """Cache what *archive* answered just now. None is a clear no, never an error."""
        if archive in self._changing:
            return
        cache_key = self._cache_key(archive, original, _time_class(at), scope)
        fresh_for = lifetime(at, outcome, self._clock())
        value = encode_answer(cache_key.question, outcome)
        await self._store.put(cache_key.key, value, fresh_for, self._stale_for, budget)

    async def remember_timemap(  # noqa: PLR0913 -- the list, and where it belongs
        self,
        archive: str,
        original: str,
        captures: Sequence[Memento],
        budget: TimeBudget | None = None,
        *,
        detailed: bool = False,
        scope: str = "public",
    ) -> None:
        """Cache a complete TimeMap, unless it is longer than `MOST_CAPTURES`.

        With *detailed*, the list of a CDX server, which answers no other questions.
        """
        if len(captures) > MOST_CAPTURES or archive in self._changing:
            return
        cache_key = self._cache_key(archive, original, _list_class(detailed=detailed), scope)
        value = encode_captures(cache_key.question, captures)
        fresh_for = TIMEMAP if captures else NEGATIVE
        await self._store.put(cache_key.key, value, fresh_for, self._stale_for, budget)

    async def recall_timemap(
        self,
        archive: str,
        original: str,
        budget: TimeBudget | None = None,
        *,
        detailed: bool = False,
        scope: str = "public",
    ) -> tuple[Sequence[Memento], float] | None:
        """Return all captures, oldest first, and how many seconds ago they were listed.

        Only while they are fresh: a stale TimeMap answers `recall`, where it is marked.
        """
        if archive in self._changing:
            return None
        cache_key = self._cache_key(archive, original, _list_class(detailed=detailed), scope)
        stored = await self._store.get(cache_key.key, budget)
        if stored is None or not stored.fresh:
            return None
        captures: list[Memento] = []
        try:
            packed = PackedCaptures(stored.value, cache_key.question, archive)
            for number, block in enumerate(packed.blocks()):
                captures += block
                if number % _BLOCKS_AT_ONCE == _BLOCKS_AT_ONCE - 1:
                    await asyncio.sleep(0)
        except CorruptEntry:
            self.rejected += 1
            return None
        return captures, stored.age

    async def recall_memento(
        self, memento: Memento, address: str, budget: TimeBudget | None = None
    ) -> CachedAnswer | None:
        """Return the outcome of requesting *memento* at *address*."""
        if memento.archive in self._changing:
            return None
        cache_key = self._memento_key(memento, address)
        stored = await self._store.get(cache_key.key, budget)
        return self._answer(stored, cache_key, memento.archive)

    async def remember_memento(
        self,
        memento: Memento,
        address: str,
        outcome: Closest | None,
        budget: TimeBudget | None = None,
    ) -> None:
        """Cache the outcome of requesting *memento* at *address*. None if it is gone."""
        if memento.archive in self._changing:
            return
        cache_key = self._memento_key(memento, address)
        value = encode_answer(cache_key.question, outcome)
        fresh_for = NEGATIVE if outcome is None else DELIVERED
        await self._store.put(cache_key.key, value, fresh_for, 0.0, budget)

    def _memento_key(self, memento: Memento, address: str) -> CacheKey:
        digest = blake2b(address.encode(errors="surrogateescape"), digest_size=16).hexdigest()
        key = self._cache_key(memento.archive, memento.original, f"memento-{digest}", "public")
        return CacheKey(key.key, f"{key.question} {address}")

    async def forget(self, original: str) -> int:
        """Delete all answers about *original*, of every archive, scope and version.

        Returns the number of deleted entries. Raises Unavailable.
        """
        _, page = _page(original)
        return await self._store.purge(f"{page}/")

    def _cache_key(self, archive: str, original: str, time: str, scope: str) -> CacheKey:
        if archive in self._restricted:
            scope = "restricted"
        if "/" in scope:
            raise ValueError(f"scope {scope!r}: must not contain a slash")
        canonical, page = _page(original)
        # Only the archive, the last part, may contain a slash: two questions never look alike.
        rest = f"{self._version}/{time}/{scope}/{archive}"
        return CacheKey(f"{page}/{rest}", f"{rest} {canonical}")

    def _answer(
        self, stored: Stored | None, cache_key: CacheKey, archive: str
    ) -> CachedAnswer | None:
        if stored is None:
            return None
        try:
            outcome = decode_answer(stored.value, cache_key.question, archive)
        except CorruptEntry:
            self.rejected += 1
            return None
        return CachedAnswer(outcome, stored.fresh, stored.age)

    def _from_timemap(
        self, stored: Stored | None, cache_key: CacheKey, archive: str, at: Moment | None
    ) -> CachedAnswer | None:
        if stored is None:
            return None
        try:
            outcome = PackedCaptures(stored.value, cache_key.question, archive).closest(at)
        except CorruptEntry:
            self.rejected += 1
            return None
        # A TimeMap of this morning lists all of 2010, but not the newest copy of now.
        fresh_for = lifetime(at, outcome, self._clock() - stored.age)
        return CachedAnswer(outcome, stored.fresh and stored.age < fresh_for, stored.age)


def _suffices(answer: CachedAnswer, at: Moment | None) -> bool:
    """Whether a TimeMap can have no nearer memento than a fresh *answer*."""
    if not answer.fresh or answer.outcome is None or at is None:
        return answer.fresh
    return not at.distance(second_of(answer.outcome.memento.stamp))


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


def _list_class(*, detailed: bool) -> str:
    return "index" if detailed else "timemap"


def _time_class(at: Moment | None) -> str:
    """Return the time to the second: archives are not asked for fractions."""
    return "latest" if at is None else at.digits[:14]


# One question goes to many archives.
@lru_cache(maxsize=1024)
def _page(original: str) -> tuple[str, str]:
    """Return the canonical form of a URL, and its hash, with which its keys begin."""
    canonical = canonical_uri(original)
    return canonical, blake2b(canonical.encode(), digest_size=16, person=_PERSON).hexdigest()
