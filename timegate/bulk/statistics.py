"""How a run went, in numbers that do not grow with it: outcomes, archives, drift."""

from bisect import bisect_right
from collections import Counter
from typing import Final, NamedTuple

from timegate.bulk.result import ItemResult

_EDGES: Final = (
    (60, "minute"),
    (3_600, "hour"),
    (86_400, "day"),
    (7 * 86_400, "week"),
    (30 * 86_400, "month"),
    (365 * 86_400, "year"),
    (3_652 * 86_400, "ten years"),
)
_LIMITS: Final = [seconds for seconds, _ in _EDGES]
_SIDE: Final = len(_EDGES) + 1
_MOST_ARCHIVES: Final = 1000


class Bar(NamedTuple):
    """One bar of a histogram."""

    label: str
    number: int


class Statistics:
    """Counts results."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.archives: Counter[str] = Counter()
        self.codes: Counter[int] = Counter()
        self._drift = [0] * (2 * _SIDE + 1)
        self.undated = 0
        """Copies that were asked for without a time, or have none."""

    @property
    def total(self) -> int:
        """How many there are."""
        return self.outcomes.total()

    @property
    def worst(self) -> int:
        """The worst code of all; 0 where there are none."""
        return max(self.codes, default=0)

    def add(self, result: ItemResult) -> None:
        """Count *result*."""
        self.outcomes[result.outcome] += 1
        self.codes[result.code] += 1
        memento = result.memento
        if memento is None:
            return
        archive = str(memento["archive"])
        if archive in self.archives or len(self.archives) < _MOST_ARCHIVES:
            self.archives[archive] += 1
        if result.delta is None:
            self.undated += 1
        else:
            self._drift[_SIDE + _step(result.delta)] += 1

    @property
    def drift(self) -> list[Bar]:
        """How far copies are off: years before on the left, the time itself, years after."""
        return [Bar(_label(at - _SIDE), number) for at, number in enumerate(self._drift)]


def _step(delta: int) -> int:
    """Return 0 for no drift, else which power of time it is, negative before."""
    if delta == 0:
        return 0
    step = 1 + bisect_right(_LIMITS, abs(delta) - 1)
    return step if delta > 0 else -step


def _label(step: int) -> str:
    if step == 0:
        return "in time"
    side = "before" if step < 0 else "after"
    last = abs(step) == _SIDE
    name = _EDGES[-1][1] if last else _EDGES[abs(step) - 1][1]
    return f"{'more than' if last else 'up to'} {_one(name)} {side}"


def _one(name: str) -> str:
    if name.startswith("ten"):
        return name
    return f"an {name}" if name == "hour" else f"a {name}"
