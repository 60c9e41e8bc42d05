"""Which keys had to go a while ago: who comes back is no newcomer.

Answers stay ready in front of the cache for a minute, so a page that everybody asks for is seen
here once a minute. A flood that turns newcomers over faster than that would make each of them a
newcomer for ever, and its archives would be asked every minute.
"""

from typing import Final

_SLOTS: Final = 1 << 17
"""Octets. Keys that share one overwrite each other, so what is long ago is forgotten."""
_FINGERPRINTS: Final = 255
"""One stranger in so many is taken for somebody who was here."""


class GhostList:
    """Remembers keys by one octet each. For one process: hashes differ in the next."""

    __slots__ = ("_notes",)

    def __init__(self) -> None:
        self._notes = bytearray(_SLOTS)

    def note(self, key: str) -> None:
        """Remember that *key* had to go."""
        self._notes[hash(key) % _SLOTS] = _fingerprint(key)

    def knows(self, key: str) -> bool:
        """Whether *key* had to go a while ago, or looks like one that had."""
        return self._notes[hash(key) % _SLOTS] == _fingerprint(key)


def _fingerprint(key: str) -> int:
    return hash(key) // _SLOTS % _FINGERPRINTS + 1
