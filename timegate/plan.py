"""What a search is given: whom to ask, in which order, and how long it may take."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from timegate.resolution import Preferences, Query

# RFC 8767 5: a client hears of old data before it gives up by itself.
_OLD_IS_GOOD_ENOUGH: Final = 1.8


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds after which an answer is given: with what there is, and in any case."""

    soft: float = 2.0
    hard: float = 5.0

    def __post_init__(self) -> None:
        if not 0 < self.soft <= self.hard:
            raise ValueError("deadlines: 0 < soft <= hard")

    def give_up(self, *, copy: bool, old: bool) -> float:
        """Return after how many seconds to answer with a copy, an old one, or none."""
        if copy:
            return self.soft
        # Where both are one, a client has said how long it wants to wait for something new.
        return (
            min(self.soft, _OLD_IS_GOOD_ENOUGH) if old and self.soft < self.hard else self.hard
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """Whom to ask: group after group."""

    groups: tuple[tuple[str, ...], ...]
    folding: frozenset[str] = frozenset()
    """Those who hold all spellings of a URL under one key: they have said all at once."""

    @property
    def order(self) -> tuple[str, ...]:
        """Everyone who may be asked, in the order in which they are."""
        return tuple(archive for group in self.groups for archive in group)


Router = Callable[[Query, Preferences], Plan]
