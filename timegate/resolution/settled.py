"""Settled resolutions: those that stay the same, but for the time of their query, in a range.

If all archives of a plan are answered for from the cache, then the time of a query decides only
which of their captures are nearest. That changes at the middle between two captures, and at few
other instants. Between two neighbouring ones of these, resolutions differ in nothing but the
time of their query and the ages of the answers. So a response can be used for another time.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, Protocol, runtime_checkable

from archives.moment import Moment, second_of
from timegate.resolution.context import TimeBudget
from timegate.resolution.model import CachedAnswer, Plan, Preferences, Query, Resolution
from timegate.resolution.ranking import Wanted, found, is_no_page

_SECOND: Final = 14
_DEFAULT: Final = Preferences()
_TOLERANCE: Final = int(Wanted.of(_DEFAULT).tolerance.total_seconds())


class TimeRange(NamedTuple):
    """Times between two instants, both excluded, in half seconds since 1970."""

    after: float = float("-inf")
    before: float = float("inf")

    def within(self, other: "TimeRange") -> "TimeRange":
        """Return the times in both."""
        return TimeRange(max(self.after, other.after), min(self.before, other.before))

    def excluding(self, instants: Iterable[int], at: int) -> "TimeRange":
        """Return the part around *at* without any of *instants*, all in seconds."""
        after, before = self
        for instant in instants:
            if instant <= at:
                after = max(after, 2 * instant)
            if instant >= at:
                before = min(before, 2 * instant)
        return TimeRange(after, before)

    @property
    def bounds(self) -> tuple[str, str]:
        """The whole seconds just outside, in fourteen digits; they sort like times."""
        after, before = _BEFORE_ALL, _AFTER_ALL
        if self.after != float("-inf"):
            after = _digits(int(self.after // 2))
        if self.before != float("inf"):
            before = _digits(int(-(-self.before // 2)))
        return after, before


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BEFORE_ALL: Final = ""
_AFTER_ALL: Final = ":"
"""Sorts after every digit."""


def _digits(second: int) -> str:
    try:
        return Moment.of(_EPOCH + timedelta(seconds=second)).digits
    except OverflowError:
        return _BEFORE_ALL if second < 0 else _AFTER_ALL


def seconds_of(stamp: str) -> int:
    """Return the second of a capture, since 1970."""
    return int(second_of(stamp).timestamp())


def same_order(seconds: Iterable[int], at: int) -> TimeRange:
    """Return the times around *at* from which captures at *seconds* are in the same order.

    The order by distance changes in the middle between two captures, and the side of a capture
    at the capture itself. The range is empty if *at* is such an instant.
    """
    ordered = sorted(set(seconds))
    after, before, target = float("-inf"), float("inf"), 2 * at
    first, last = 0, len(ordered) - 1
    # Each step passes all pairs with the first or the last capture that is left.
    while first <= last:
        middle = ordered[first] + ordered[last]
        if middle <= target:
            after = max(after, middle)
            first += 1
        if middle >= target:
            before = min(before, middle)
            last -= 1
    return TimeRange(after, before)


class Steady(NamedTuple):
    """For which times, and for how many seconds from now, something stays the same."""

    times: TimeRange
    seconds: float


@runtime_checkable
class PageMemory(Protocol):
    """Earlier answers of archives, of which all that are about one page are one value."""

    async def page(self, original: str, budget: TimeBudget | None = None) -> object:
        """Return what is known of a page."""
        ...

    async def recall_from(
        self,
        page: object,
        archives: Sequence[str],
        original: str,
        at: Moment | None,
        budget: TimeBudget | None = None,
    ) -> dict[str, CachedAnswer]:
        """Return the answers in *page* by archive, as far as they are known."""
        ...

    def steady(self, page: object, archives: Sequence[str], at: Moment) -> Steady | None:
        """Return where the answers in *page* stay the same; None if that is not known."""
        ...


def may_be_settled(query: Query, preferences: Preferences) -> bool:
    """Whether the resolution of *query* may hold for other times.

    That is known of a TimeGate's: a second, no named archive, no preferences, no verification.
    """
    at = query.at
    return (
        at is not None
        and len(at.digits) == _SECOND
        and at.fits_http_date
        and query.identifier is None
        and query.archive_id is None
        and preferences == _DEFAULT
    )


def settle(resolution: Resolution, plan: Plan, page: object, memory: PageMemory) -> None:
    """Note for which other times *resolution* holds, if all answers are those in *page*."""
    at = resolution.query.at
    if at is None or not _is_from_cache(resolution, plan):
        return
    steady = memory.steady(page, plan.order, at)
    if steady is None:
        return
    times = steady.times.within(_same_ranking(resolution, at))
    if times.after < 2 * seconds_of(at.digits) < times.before:
        resolution.mark_settled(Steady(times, steady.seconds))


def _is_from_cache(resolution: Resolution, plan: Plan) -> bool:
    """Whether every archive of *plan* was answered for by a fresh cached answer."""
    attempts = resolution.attempts
    return (
        resolution.best is not None
        and len(attempts) == len(plan.order)
        and all(each.age is not None and each.variant is None for each in attempts)
        and not (resolution.unanswered or resolution.skipped or resolution.checks)
    )


def _same_ranking(resolution: Resolution, at: Moment) -> TimeRange:
    """Return the times around *at* for which the mementos are ranked in the same order."""
    mementos = [closest.memento for _, closest in found(resolution.attempts)]
    seconds = [seconds_of(memento.stamp) for memento in mementos]
    second = seconds_of(at.digits)
    times = same_order(seconds, second)
    if not any(is_no_page(resolution.query, memento) for memento in mementos):
        return times
    # Beyond the tolerance, a page is no longer preferred to an archived error (S-5).
    edges = (each + side for each in seconds for side in (-_TOLERANCE, _TOLERANCE))
    return times.excluding(edges, second)
