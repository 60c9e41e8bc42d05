"""Whom to try next, where an archive does not give the bytes of the best copy.

An archive may have died since it was asked, or show its copies rewritten only. Then the
reference is asked for once more, without that archive: a search ends at the first exact copy,
so nobody knows yet who else has one.
"""

from collections.abc import Iterator
from typing import Final

from timegate.bulk.item import Item

MOST_ATTEMPTS: Final = 3
"""Copies of one reference that are tried, each in another archive."""


class FailedArchives:
    """Who did not give the bytes of which reference, and why. Some 300 octets for each."""

    def __init__(self) -> None:
        self._troubles: dict[int, dict[str, str]] = {}
        self._again: list[int] = []

    def failed(self, item: Item, archive: str, why: str) -> bool:
        """Note that *archive* did not give its copy; return whether another is to be tried."""
        troubles = self._troubles.setdefault(item.position, {})
        troubles[archive] = why
        again = len(troubles) < MOST_ATTEMPTS
        if again:
            self._again.append(item.position)
        return again

    def without(self, item: Item) -> frozenset[str]:
        """Return the archives that are not to be asked for *item* again."""
        return frozenset(self._troubles.get(item.position, ()))

    def passed_over(self, item: Item) -> list[str]:
        """Return what became of the copies that were tried before, each in a few words."""
        troubles = self._troubles.get(item.position, {})
        return [f"{archive}: {why}" for archive, why in troubles.items()]

    def again(self) -> Iterator[int]:
        """Yield the positions of those that are to be asked for once more, and forget them."""
        positions, self._again = sorted(self._again), []
        yield from positions
