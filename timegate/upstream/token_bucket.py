"""How much may be sent: so many in any span of time, and only so many of them at once.

A bucket alone does not keep "24 in 60 s": full, it gives its burst and then drips for 60 s, in
all 29 with a burst of 5. So the last requests are remembered as well, and the one that would be
the 25th waits until the first is 60 s old. Pure: the time is passed in, and what is remembered
are plain numbers, so that they can lie in this process or in a file that several share.
"""

import math
from array import array
from typing import Final, NamedTuple, Protocol

from archives.model import Rate

MOST_REMEMBERED: Final = 4096
"""Times. 32 kB; above it the span is cut into parts, each of which gets its part."""
_DUST: Final = 1e-6
"""Tokens or seconds. What rounding leaves over would mean waits too short to move a clock."""
_JITTER: Final = 0.02
_LONGEST_JITTER: Final = 1.0
"""Seconds by which one request may take longer to arrive than another: it is the archive that
counts, by when they come and not by when they were let go."""
_TOKENS: Final = 0
_UPDATED: Final = 1
_SENT: Final = 2
_RING: Final = 3


class Cells(Protocol):
    """Numbers that can be changed in place: an array, or a part of a mapped file."""

    def __getitem__(self, place: int, /) -> float: ...

    def __setitem__(self, place: int, number: float, /) -> None: ...


class Window(NamedTuple):
    """At most *most* in any *span* seconds; none at all if *most* is 0."""

    most: int
    span: float

    @classmethod
    def of(cls, rate: Rate) -> "Window":
        """Return what *rate* promises.

        Who allows a burst of 5 at 1 a second allows more than 1 in a second: such a rate is a
        bucket and nothing else.
        """
        if rate.burst > rate.requests:
            return cls(0, 0.0)
        parts = math.ceil(rate.requests / MOST_REMEMBERED)
        span = rate.seconds / parts
        return cls(int(rate.requests) // parts, span + min(_JITTER * span, _LONGEST_JITTER))


def cells_of(rate: Rate) -> int:
    """Return how many numbers a bucket of this rate remembers."""
    return _RING + Window.of(rate).most


def full(rate: Rate, now: float) -> "array[float]":
    """Return the numbers of a bucket that nobody has taken from."""
    cells = array("d", bytes(8 * cells_of(rate)))
    cells[_TOKENS] = rate.burst
    cells[_UPDATED] = now
    return cells


class TokenBucket:
    """Tokens that drip in at a rate and are taken one by one, never too many in a window."""

    __slots__ = ("_burst", "_cells", "_per_second", "_window")

    def __init__(self, rate: Rate, cells: Cells) -> None:
        self._per_second = rate.requests / rate.seconds
        self._burst = float(rate.burst)
        self._window = Window.of(rate)
        self._cells = cells

    def wait(self, now: float, ahead: int = 0) -> float:
        """Return the seconds until there is a token for somebody with *ahead* before them."""
        most, span = self._window
        laps, ahead = divmod(ahead, most) if most else (0, ahead)
        missing = ahead + 1 - self._tokens(now)
        wait = missing / self._per_second if missing > _DUST else 0.0
        entry = int(self._cells[_SENT]) - most + ahead
        if most and entry >= 0:
            left = self._cells[_RING + entry % most] + span - now
            wait = max(wait, min(left, span))
        wait += laps * span
        return wait if wait > _DUST else 0.0

    def take(self, now: float) -> float:
        """Take a token and return 0, or take nothing and return how long to wait."""
        wait = self.wait(now)
        if wait > 0:
            return wait
        cells = self._cells
        cells[_TOKENS] = self._tokens(now) - 1
        cells[_UPDATED] = now
        if self._window.most:
            sent = int(cells[_SENT])
            cells[_RING + sent % self._window.most] = now
            cells[_SENT] = sent + 1
        return 0.0

    def _tokens(self, now: float) -> float:
        elapsed = max(0.0, now - self._cells[_UPDATED])
        return min(self._burst, self._cells[_TOKENS] + elapsed * self._per_second)
