"""The order of captures: nearest to a moment (S-1, S-2), or oldest first.

It is the same for every kind of archive.
"""

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from datetime import timedelta
from functools import lru_cache
from typing import Final

from archives.columns import CaptureColumns, in_order
from archives.errors import ArchiveError, Misbehaved
from archives.model import Closest, Memento, Relation, is_beside, stamps_of
from archives.moment import Moment, second_of
from archives.uri import plain_host

MOST_UNSORTED: Final = 250_000
"""A list that is not in order of time is sorted in memory; a million captures are 240 MB."""
_FIRST_CAPTURES: Final = 512
_NOTHING: Final = timedelta(0)

Overflow = Callable[
    [CaptureColumns, AsyncIterator[CaptureColumns], Callable[[str], Misbehaved]],
    AsyncGenerator[CaptureColumns, None],
]
"""Sorts captures in memory together with the batches that follow."""
Remoteness = tuple[timedelta, timedelta, int, bool, str, str]
"""Distance from the interval, from its middle, by fractions, whether it is no page, stamp,
address."""


def nearest(captures: Iterable[Memento], at: Moment | None) -> Memento | None:
    """Return the capture nearest to *at*; the newest if *at* is None.

    Inside an interval, it is the one nearest to the second that is requested from TimeGates. Of
    captures at the same distance, a page is preferred to an archived error or redirect (S-5),
    then the earlier one: the state at a time is the last capture not after it.
    """
    if at is None:
        return max(captures, key=_novelty, default=None)
    return min(captures, key=remoteness(at), default=None)


def remoteness(at: Moment) -> Callable[[Memento], Remoteness]:
    """Return a sort key by the distance of captures from *at*: the nearest is the least."""
    return _remoteness(at.digits)


# The answers of all archives are measured against the same moment.
@lru_cache(maxsize=256)
def _remoteness(digits: str) -> Callable[[Memento], Remoteness]:
    at = Moment(digits)
    first, last = at.window
    instant = at.negotiated
    is_fine = not at.fits_http_date

    def measure(capture: Memento) -> Remoteness:
        captured = second_of(capture.stamp)
        outside = max(first - captured, captured - last, _NOTHING)
        from_instant = abs(captured - instant)
        finer = at.fraction_distance(capture.stamp) if is_fine else 0
        return outside, from_instant, finer, _is_no_page(capture), capture.stamp, capture.uri

    return measure


def neighbours_of(
    memento: Memento, chosen: Memento, neighbours: Mapping[Relation, Memento]
) -> dict[Relation, Memento]:
    """Return the neighbours of *memento*, which is *chosen* or one of its *neighbours*.

    Between a memento and its prev or next there is no other; the rest is not known.
    """
    if memento == chosen:
        return dict(neighbours)
    ends: tuple[Relation, ...] = ("first", "last")
    around = {name: neighbours[name] for name in ends if name in neighbours}
    if memento == neighbours.get("prev"):
        around["next"] = chosen
    elif memento == neighbours.get("next"):
        around["prev"] = chosen
    return around


def true_neighbours(
    chosen: Memento, neighbours: Mapping[Relation, Memento]
) -> dict[Relation, Memento]:
    """Return those of *neighbours* that are neighbours of *chosen* in its own archive.

    A twin, with the same stamp, is neither prev nor next. A memento at another host belongs to
    another archive: an aggregator links first and last of all archives that it queries.
    """
    host = plain_host(chosen.uri)
    return {
        name: memento
        for name, memento in neighbours.items()
        if is_beside(name, memento.stamp, chosen.stamp) and plain_host(memento.uri) == host
    }


def _novelty(capture: Memento) -> tuple[str, bool]:
    return capture.stamp, not _is_no_page(capture)


def _is_no_page(capture: Memento) -> bool:
    """Whether it is known to be an error or a redirect; most lists do not state it."""
    return capture.status is not None and not 200 <= capture.status <= 299


def candidates(closest: Closest, at: Moment | None) -> list[Memento]:
    """Return the mementos that *closest* names, the nearest to *at* first.

    The archive's own choice comes before others of the same second.
    """
    named = dict.fromkeys((closest.memento, *closest.neighbours.values()))
    if at is None:
        return sorted(named, key=lambda memento: memento.stamp[:14], reverse=True)
    measure = remoteness(at)
    return sorted(named, key=lambda memento: measure(memento)[:3])


def nearest_candidate(closest: Closest, at: Moment | None) -> Memento:
    """Return the first of the candidates of *closest*."""
    if at is not None and len(at.digits) == 14 and at.fits_http_date:
        return _nearest_to_second(closest, at.digits)
    named = (closest.memento, *closest.neighbours.values())
    if at is None:
        return max(named, key=lambda memento: memento.stamp[:14])
    measure = remoteness(at)
    return min(named, key=lambda memento: measure(memento)[:3])


def _nearest_to_second(closest: Closest, digits: str) -> Memento:
    """Return the candidate nearest to a whole second, from which there is one distance."""
    chosen, around = closest.memento, closest.neighbours
    own = chosen.stamp
    is_before = own[:14] <= digits
    # A capture further off on the same side cannot be nearer than the one that was chosen.
    names = [name for name, stamp in stamps_of(around).items() if (stamp > own) is is_before]
    if not names:
        return chosen
    second, rivals = second_of(digits), [around[name] for name in names]

    return min((chosen, *rivals), key=lambda memento: abs(second_of(memento.stamp) - second))


def at_candidate(closest: Closest, memento: Memento) -> Closest:
    """Return *closest* with *memento*, one of its candidates, as the memento.

    It is only promised. Of its neighbours, those are known that the archive links.
    """
    if memento is closest.memento or memento == closest.memento:
        return closest
    around = neighbours_of(memento, closest.memento, closest.neighbours)
    return Closest(memento, closest.via, closest.doubts, around)


async def oldest_first(
    batches: AsyncGenerator[Sequence[Memento], None],
    may_go_back: Callable[[str], bool],
    misbehaved: Callable[[str], Misbehaved],
    overflow: Overflow | None = None,
) -> AsyncGenerator[CaptureColumns, None]:
    """Yield *batches* oldest first, each capture once.

    If the first captures are in order, the batches are passed on as they arrive, and a later
    capture out of order raises. If not, or if *may_go_back* expects captures older than these,
    as many as possible are sorted first. More than fit into memory are left to *overflow*, or
    rejected. If the list breaks off, the captures before that are yielded first.
    """
    async with aclosing(batches):
        head = _Head(batches)
        await head.grow(_FIRST_CAPTURES)
        if head.captures and (
            not head.captures.ascends or may_go_back(head.captures.stamps[-1])
        ):
            await head.grow(MOST_UNSORTED)
        last: CaptureColumns | None = None
        async with aclosing(head.in_order(misbehaved, overflow)) as rest:
            async for captures in rest:
                fresh = _after(last, captures)
                if fresh is None:
                    raise misbehaved("lists captures out of the order it began with")
                if fresh:
                    yield fresh
                    last = fresh[-1:]


class _Head:
    """The beginning of a list, in memory."""

    def __init__(self, batches: AsyncIterator[Sequence[Memento]]) -> None:
        self._batches = batches
        self._error: ArchiveError | None = None
        """The error that broke the list off."""
        self.captures = CaptureColumns([], [], [])

    async def grow(self, enough: int) -> None:
        """Read captures until there are more than *enough*, or the list ends."""
        try:
            while len(self.captures) <= enough:
                self.captures.extend(await anext(self._batches))
        except StopAsyncIteration:
            return
        except ArchiveError as error:
            self._error = error

    def in_order(
        self, misbehaved: Callable[[str], Misbehaved], overflow: Overflow | None
    ) -> AsyncGenerator[CaptureColumns, None]:
        """Yield the captures sorted, then the rest; too many are sorted with the rest."""
        if len(self.captures) <= MOST_UNSORTED or self.captures.ascends:
            return self._sorted_then_rest()
        if overflow is None:
            raise misbehaved(f"lists more than {MOST_UNSORTED} captures out of order")
        captures, self.captures = self.captures, CaptureColumns([], [], [])
        return overflow(captures, self._rest(), misbehaved)

    async def _sorted_then_rest(self) -> AsyncGenerator[CaptureColumns, None]:
        captures = self.captures
        yield captures if captures.has_distinct_stamps else in_order([captures])
        async for batch in self._rest():
            yield batch

    async def _rest(self) -> AsyncIterator[CaptureColumns]:
        if self._error is not None:
            raise self._error
        async for captures in self._batches:
            yield CaptureColumns.of(captures)


def _after(last: CaptureColumns | None, captures: CaptureColumns) -> CaptureColumns | None:
    """Return *captures* without repetitions of *last* and each other; None if out of order."""
    follows = last is None or not captures or last.stamps[-1] < captures.stamps[0]
    if follows and captures.has_distinct_stamps:
        return captures
    joined = captures if last is None else last[:]
    if last is not None:
        joined.extend(captures)
    if not joined.ascends:
        return None
    return joined.each_once()[0 if last is None else len(last) :]
