"""Which capture comes first: the nearest to a moment (S-1, S-2), or the oldest of a list.

The same everywhere, whatever kind of archive was asked.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from datetime import timedelta
from functools import lru_cache
from typing import Final

from archives.errors import ArchiveError, Misbehaved
from archives.model import Memento
from archives.moment import Moment, whole_second

MOST_UNSORTED: Final = 250_000
"""A list that is not in order of time is sorted in memory; a million captures are 240 MB."""
_ENOUGH_TO_TELL: Final = 512
_NOTHING: Final = timedelta(0)

Overflow = Callable[
    [list[Memento], AsyncIterator[list[Memento]], Callable[[str], Misbehaved]],
    AsyncGenerator[list[Memento], None],
]
"""Sorts what is held together with the batches that follow."""
Remoteness = tuple[timedelta, timedelta, bool, str, str]
"""Outside the interval, from the instant, whether it is no page, stamp, address."""


second_of: Final = lru_cache(maxsize=4096)(whole_second)
"""Returns the second in which a capture was made."""


def nearest(captures: Iterable[Memento], at: Moment | None) -> Memento | None:
    """Return the capture nearest to *at*; the newest where no time is asked.

    Inside an interval, the one nearest to the instant that TimeGates are asked for. Of those as
    near, a page rather than an archived error or redirect (S-5), then the earlier: the state at
    a time is the last capture not after it.
    """
    if at is None:
        return max(captures, key=_novelty, default=None)
    return min(captures, key=remoteness(at), default=None)


def remoteness(at: Moment) -> Callable[[Memento], Remoteness]:
    """Return what measures how far a capture is from *at*: the least is the best."""
    first, last = at.window
    instant = at.negotiated

    def measure(capture: Memento) -> Remoteness:
        captured = second_of(capture.stamp)
        outside = max(first - captured, captured - last, _NOTHING)
        from_instant = abs(captured - instant)
        return outside, from_instant, _is_no_page(capture), capture.stamp, capture.uri

    return measure


def _novelty(capture: Memento) -> tuple[str, bool]:
    return capture.stamp, not _is_no_page(capture)


def _is_no_page(capture: Memento) -> bool:
    """Whether it is known to be an error or a redirect; most lists do not tell."""
    return capture.status is not None and not 200 <= capture.status <= 299


async def oldest_first(
    batches: AsyncGenerator[list[Memento], None],
    may_go_back: Callable[[str], bool],
    complaint: Callable[[str], Misbehaved],
    overflow: Overflow | None = None,
) -> AsyncGenerator[Sequence[Memento], None]:
    """Yield *batches* oldest first, each capture once.

    The first captures tell whether the archive lists in order. If it does, they are passed on
    as they come, and one out of order later on raises. If it does not, or *may_go_back* says
    that captures older than these are still to come, as many as possible are sorted first.
    What is too much for memory is left to *overflow*, or refused. Where the list breaks off,
    what came before is yielded first.
    """
    async with aclosing(batches):
        head = _Head(batches)
        await head.grow(_ENOUGH_TO_TELL)
        if head.captures and (not head.is_sorted or may_go_back(head.captures[-1].stamp)):
            await head.grow(MOST_UNSORTED)
        last: list[Memento] = []
        async with aclosing(head.in_order(complaint, overflow)) as rest:
            async for captures in rest:
                if not _ascending(last + captures):
                    raise complaint("lists captures out of the order it began with")
                fresh = _each_once(last + captures)[len(last) :]
                if fresh:
                    yield fresh
                    last = fresh[-1:]


class _Head:
    """The beginning of a list, as much of it as is held in memory."""

    def __init__(self, batches: AsyncIterator[list[Memento]]) -> None:
        self._batches = batches
        self._trouble: ArchiveError | None = None
        """What went wrong after these."""
        self.captures: list[Memento] = []

    @property
    def is_sorted(self) -> bool:
        return _ascending(self.captures)

    async def grow(self, enough: int) -> None:
        """Take more captures until there are more than *enough*, or the list ends."""
        try:
            while len(self.captures) <= enough:
                self.captures += await anext(self._batches)
        except StopAsyncIteration:
            return
        except ArchiveError as trouble:
            self._trouble = trouble

    def in_order(
        self, complaint: Callable[[str], Misbehaved], overflow: Overflow | None
    ) -> AsyncGenerator[list[Memento], None]:
        """Yield everything: what is held sorted, and with the rest if that is too much."""
        if len(self.captures) <= MOST_UNSORTED or self.is_sorted:
            return self._then_the_rest()
        if overflow is None:
            raise complaint(f"lists more than {MOST_UNSORTED} captures out of order")
        held, self.captures = self.captures, []
        return overflow(held, self._rest(), complaint)

    async def _then_the_rest(self) -> AsyncGenerator[list[Memento], None]:
        yield sorted(self.captures, key=lambda capture: capture[:2])
        async for captures in self._rest():
            yield captures

    async def _rest(self) -> AsyncIterator[list[Memento]]:
        if self._trouble is not None:
            raise self._trouble
        async for captures in self._batches:
            yield captures


def _ascending(captures: Sequence[Memento]) -> bool:
    stamps = [capture[0] for capture in captures]
    return stamps == sorted(stamps)


def _each_once(captures: list[Memento]) -> list[Memento]:
    """Return *captures* without repetitions; most lists have none, which is seen at once."""
    stamps = {capture[0] for capture in captures}
    return captures if len(stamps) == len(captures) else list(dict.fromkeys(captures))
