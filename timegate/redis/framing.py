"""Follows the replies of a server without reading them, and stops at one that is too large.

A list of 100 million, announced in 12 octets and never sent, lets hiredis (3.5) make room for
it: throwing that away again took the loop 350 ms. Nothing that we ask for is large.
"""

from typing import Final

MOST_OCTETS: Final = 8 << 20
"""Of one reply, and so of one value; ours have 1 MB, a portion of a purge has less."""
MOST_PARTS: Final = 100_000
"""Of one reply, those of lists in lists too."""
_LONGEST_LINE: Final = 1 << 16
_VALUES: Final = (b"$", b"=", b"!")
_LISTS: Final = {b"*": 1, b"~": 1, b">": 1, b"%": 2, b"|": 2}
"""Parts for each that is announced. None of ours is of RESP3, which we do not ask for."""


class TooLarge(ValueError):
    """It would be more than anything we ask for."""


class Frames:
    """Where one reply ends and the next begins, in what a connection has received."""

    __slots__ = ("_line", "_octets", "_parts", "_value")

    def __init__(self) -> None:
        self._line = b""
        """The beginning of a line whose end is to come."""
        self._value = 0
        """Octets of a value that are to come."""
        self._parts = 0
        """Parts of a reply that are to come."""
        self._octets = 0
        """Of this reply so far."""

    def follow(self, received: bytes) -> None:
        """Take note of what came. Raises ValueError."""
        text = self._line + received
        self._octets += len(received)
        place = self._skipped(text, 0)
        while (end := text.find(b"\r\n", place)) >= 0:
            self._announced(text[place:end])
            place = self._skipped(text, end + 2)
        self._line = text[place:]
        if len(self._line) > _LONGEST_LINE or self._octets > MOST_OCTETS:
            raise TooLarge("it does not stop talking")

    def _skipped(self, text: bytes, place: int) -> int:
        """Return where the value ends that begins at *place*, or what is there of it."""
        here = min(self._value, len(text) - place)
        self._value -= here
        place += here
        if not self._parts and not self._value:
            self._octets = len(text) - place
        return place

    def _announced(self, line: bytes) -> None:
        self._parts = max(self._parts - 1, 0)
        kind = line[:1]
        if kind in _VALUES:
            length = int(line[1:])
            if length > MOST_OCTETS:
                raise TooLarge(f"it announces a value of {length:,} octets")
            self._value = length + 2 if length >= 0 else 0
        elif kind in _LISTS:
            self._parts += _LISTS[kind] * max(int(line[1:]), 0)
            if self._parts > MOST_PARTS:
                raise TooLarge(f"it announces a list of {int(line[1:]):,}")
