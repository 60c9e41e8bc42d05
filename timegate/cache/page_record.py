"""Page record: what all archives answered about one URL, and the times that each answer covers.

An archive that links the captures before and after the one it chose has said that nothing lies
between them. So its answer covers all times from prev to next, not only the second that was
requested. A clear no covers all times.

Records are merged, never overwritten: of two answers with the same key the later one counts,
and the oldest answers beyond a fixed number are dropped. So merging is commutative, associative
and idempotent, and replicas that merge in any order end with the same record.
"""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, Literal, NamedTuple, Protocol

from msgspec import Struct

from archives.model import Closest, Memento
from archives.moment import Moment, second_of
from archives.nearest import nearest_candidate
from timegate.resolution.model import CachedAnswer
from timegate.resolution.settled import Steady, same_order, seconds_of

MOST_ANSWERS: Final = 8
"""Answers of one archive; the oldest are dropped."""
MOST_CHECKS: Final = 32
"""Mementos of one archive that were requested; the oldest are dropped."""
SKEW: Final = 60.0
"""Seconds by which clocks of several machines may differ. An answer from further in the future
was written before the clock was corrected, and its age is unknown."""

LATEST: Final = "latest"
SECOND: Final = 14
"""Digits of a time to the second."""
_BEFORE_ALL: Final = ""
_AFTER_ALL: Final = ":"
"""Sorts after every digit."""

ListKind = Literal["timemap", "index"]


class Span(NamedTuple):
    """The seconds that an answer covers, as fourteen digits: between two, and one more."""

    after: str
    before: str
    second: str

    def covers(self, second: str) -> bool:
        """Whether *second* is covered."""
        return self.after < second < self.before or second == self.second


EVERYTHING: Final = Span(_BEFORE_ALL, _AFTER_ALL, "")
NOTHING: Final = Span(_AFTER_ALL, _BEFORE_ALL, "")


class WantedTime(NamedTuple):
    """The time of a question, in the forms in which it is compared."""

    at: Moment | None
    asked: str
    """To the second: archives are not asked for fractions."""
    instant: str
    """The second that is requested from a closest-match TimeGate; empty for the newest."""

    @classmethod
    def of(cls, at: Moment | None) -> "WantedTime":
        """Return the time *at*; None for the newest memento."""
        if at is None:
            return cls(None, LATEST, "")
        digits = at.digits
        if len(digits) == SECOND and digits[12:14] != "60":
            return cls(at, digits, digits)
        return cls(at, digits[:SECOND], Moment.of(at.negotiated).digits)


class KnownAnswer(Struct, eq=False):
    """An answer of an archive, and the span that it covers."""

    given_at: float
    asked: str
    """The time of the question, as in `WantedTime.asked`."""
    outcome: Closest | None
    _span: Span | None = None
    _key: str | None = None

    @property
    def span(self) -> Span:
        """The seconds that it covers. An answer that is only written needs none."""
        if self._span is None:
            self._span = EVERYTHING if self.outcome is None else span_of(self.outcome)
        return self._span

    @property
    def key(self) -> str:
        """Of answers with the same key, the later one counts."""
        if self._key is None:
            self._key = _key(self.asked, self.outcome, self.span)
        return self._key

    def answers(self, wanted: WantedTime, span: Span) -> bool:
        """Whether it answers a question for *wanted*, if it covers *span*."""
        if wanted.asked == self.asked:
            return True
        if wanted.at is None:
            return span.before == _AFTER_ALL
        return span.covers(wanted.instant)

    @property
    def covers_question(self) -> bool:
        """Whether the time of its own question is one of those that it covers."""
        return self.span.covers(self.asked)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownAnswer) and (
            (self.given_at, self.asked, self.outcome)
            == (other.given_at, other.asked, other.outcome)
        )

    def __hash__(self) -> int:
        return hash((self.given_at, self.key))

    def __repr__(self) -> str:
        return f"KnownAnswer({self.given_at!r}, {self.asked!r}, {self.outcome!r})"

    def replaces(self, other: "KnownAnswer") -> bool:
        """Whether it counts instead of *other*, which has the same key."""
        if self.given_at != other.given_at:
            return self.given_at > other.given_at
        # Any order will do, as long as it is the same everywhere.
        return (self.asked, repr(self.outcome)) > (other.asked, repr(other.outcome))


def span_of(closest: Closest) -> Span:
    """Return the seconds for which *closest* names the nearest capture.

    From its prev to its next nothing else lies. The second of prev, and that of next, may have
    further captures. An answer that contradicts itself covers nothing.
    """
    if closest.doubts:
        return NOTHING
    second, around = closest.memento.stamp[:14], closest.neighbours
    after = before = second
    if (prev := around.get("prev")) is not None:
        after = prev.stamp[:14]
    elif (first := around.get("first")) is not None and first.stamp == closest.memento.stamp:
        after = _BEFORE_ALL
    if (following := around.get("next")) is not None:
        before = following.stamp[:14]
    elif (last := around.get("last")) is not None and last.stamp == closest.memento.stamp:
        before = _AFTER_ALL
    has_twin = second in {memento.stamp[:14] for memento in (prev, following) if memento}
    return Span(after, before, "" if has_twin else second)


def _key(asked: str, outcome: Closest | None, span: Span) -> str:
    if outcome is None:
        return ""
    covers_question = span.before == _AFTER_ALL if asked == LATEST else span.covers(asked)
    return outcome.memento.uri if covers_question else asked


class KnownCheck(NamedTuple):
    """The outcome of requesting a memento; None if it is gone."""

    given_at: float
    outcome: Closest | None


class _Lifetime(Protocol):
    def __call__(self, at: Moment | None, outcome: Closest | None, given_at: float) -> float:
        """Return the seconds for which an answer is fresh."""
        ...


class _SettledBefore(Protocol):
    def __call__(self, given_at: float) -> datetime:
        """Return the time that decides how long an answer is fresh."""
        ...


class ArchiveRecord:
    """What one archive answered about one URL."""

    __slots__ = ("_spans", "answers", "checks", "lists")

    def __init__(
        self,
        answers: Iterable[KnownAnswer] = (),
        checks: Mapping[str, KnownCheck] | None = None,
        lists: Mapping[ListKind, float] | None = None,
    ) -> None:
        self.answers = tuple(answers)
        self.checks = checks or {}
        """Mementos that were requested, by address."""
        self.lists = lists or {}
        """When a list of captures was stored, by kind."""
        self._spans: tuple[Span, ...] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArchiveRecord) and (
            (set(self.answers), self.checks, self.lists)
            == (set(other.answers), other.checks, other.lists)
        )

    def __hash__(self) -> int:
        return hash(frozenset(self.answers))

    def answer(
        self, wanted: WantedTime, now: float, lifetime: _Lifetime, stale_for: float
    ) -> "FoundAnswer | None":
        """Return the best answer to a question for *wanted*.

        A fresh one before a stale one. Of fresh ones the nearest, unless the archive said later
        that it holds nothing; of stale ones the latest.
        """
        if len(self.answers) == 1:
            (only,) = self.answers
            if not only.answers(wanted, only.span):
                return None
            return _aged(only, wanted, now, lifetime, stale_for)
        found = []
        for answer, span in zip(self.answers, self._effective_spans(), strict=True):
            if answer.answers(wanted, span):
                aged = _aged(answer, wanted, now, lifetime, stale_for)
                if aged is not None:
                    found.append(aged)
        if len(found) < 2:
            return found[0] if found else None
        fresh = [each for each in found if each.fresh]
        latest = min(fresh or found, key=lambda each: each.age)
        if not fresh or latest.answer.outcome is None:
            return latest
        held = [each for each in fresh if each.answer.outcome is not None]
        return min(held, key=lambda each: each.answer_rank(wanted))

    def steady(
        self, at: Moment, now: float, lifetime: _Lifetime, settled_before: _SettledBefore
    ) -> Steady:
        """Return the times around the second *at* for which `answer` returns the same.

        The same of the mementos that it names is then the nearest, for some seconds from *now*.
        """
        second = seconds_of(at.digits)
        named: list[int] = []
        edges: list[int] = []
        left, is_only = math.inf, len(self.answers) == 1
        for answer in self.answers:
            expires = answer.given_at + lifetime(at, answer.outcome, answer.given_at)
            # One from the future counts as soon as the clock is near it.
            changes = (answer.given_at - SKEW, expires)
            left = min(left, *(when - now for when in changes if when > now), math.inf)
            edges.append(int(settled_before(answer.given_at).timestamp()))
            if len(answer.asked) == SECOND and not (is_only and answer.covers_question):
                edges.append(seconds_of(answer.asked))
            if answer.outcome is not None:
                named.append(seconds_of(answer.outcome.memento.stamp))
                named += [seconds_of(m.stamp) for m in answer.outcome.neighbours.values()]
        return Steady(same_order(named, second).excluding(edges, second), left)

    def _effective_spans(self) -> tuple[Span, ...]:
        """Return what each answer covers, as far as no later answer contradicts it."""
        if self._spans is None:
            self._spans = _uncontradicted(self.answers)
        return self._spans


def _aged(
    answer: KnownAnswer, wanted: WantedTime, now: float, lifetime: _Lifetime, stale_for: float
) -> "FoundAnswer | None":
    """Return *answer* with its age; None if it has expired."""
    age = now - answer.given_at
    fresh_for = lifetime(wanted.at, answer.outcome, answer.given_at)
    if not -SKEW <= age < fresh_for + stale_for:
        return None
    return FoundAnswer(answer, max(0.0, age), age < fresh_for)


class FoundAnswer(NamedTuple):
    """An answer in a record, with its age."""

    answer: KnownAnswer
    age: float
    fresh: bool

    @property
    def cached(self) -> CachedAnswer:
        """The answer as the resolver uses it."""
        return CachedAnswer(self.answer.outcome, self.fresh, self.age)

    def answer_rank(self, wanted: WantedTime) -> tuple[object, ...]:
        """Return the order of fresh answers, the best being the least."""
        closest = self.answer.outcome
        if closest is None or wanted.at is None:
            return (self.age,)
        named = nearest_candidate(closest, wanted.at)
        return (
            _distance(wanted.at, named),
            _distance(wanted.at, closest.memento),
            self.answer.asked != wanted.asked,
            self.age,
        )


def _distance(at: Moment, memento: Memento) -> float:
    second = second_of(memento.stamp)
    outside = abs(at.distance(second)).total_seconds()
    return outside or abs(second - at.negotiated).total_seconds() * 1e-12


def _uncontradicted(answers: tuple[KnownAnswer, ...]) -> tuple[Span, ...]:
    if len(answers) < 2:
        return tuple(answer.span for answer in answers)
    named = [
        (answer.given_at, memento.stamp[:14])
        for answer in answers
        if answer.outcome is not None
        for memento in (answer.outcome.memento, *answer.outcome.neighbours.values())
    ]
    return tuple(_unless_contradicted(answer, named) for answer in answers)


def _unless_contradicted(answer: KnownAnswer, named: list[tuple[float, str]]) -> Span:
    """Return the span of *answer*; `NOTHING` if a later answer names a capture inside."""
    after, before, second = answer.span
    if answer.outcome is None:
        return answer.span
    own = second or answer.outcome.memento.stamp[:14]
    for given_at, stamp in named:
        if given_at > answer.given_at and after < stamp < before and stamp != own:
            return NOTHING
    return answer.span


PageRecord = Mapping[str, ArchiveRecord]
"""The records of all archives for one URL, by field: scope and archive."""
EMPTY: Final = ArchiveRecord()


def merged(one: ArchiveRecord, other: ArchiveRecord) -> ArchiveRecord:
    """Return what both records know of one archive."""
    answers = {answer.key: answer for answer in one.answers}
    for answer in other.answers:
        known = answers.get(answer.key)
        if known is None or answer.replaces(known):
            answers[answer.key] = answer
    latest = sorted(answers.values(), key=lambda a: (a.given_at, a.key), reverse=True)
    checks = {**one.checks}
    for address, check in other.checks.items():
        if address not in checks or _check_order(check) > _check_order(checks[address]):
            checks[address] = check
    lists = {**one.lists}
    for kind, given_at in other.lists.items():
        lists[kind] = max(given_at, lists.get(kind, given_at))
    return ArchiveRecord(latest[:MOST_ANSWERS], _newest(checks), lists)


def merged_pages(one: PageRecord, other: PageRecord) -> PageRecord:
    """Return what both records know of one URL."""
    if not one or not other:
        return one or other
    both = dict(one)
    for field, record in other.items():
        both[field] = merged(both[field], record) if field in both else record
    return both


def _check_order(check: KnownCheck) -> tuple[float, str]:
    return check.given_at, repr(check.outcome)


def _newest(checks: Mapping[str, KnownCheck]) -> Mapping[str, KnownCheck]:
    if len(checks) <= MOST_CHECKS:
        return checks
    latest = sorted(checks, key=lambda address: (checks[address].given_at, address))
    return {address: checks[address] for address in latest[-MOST_CHECKS:]}
