"""A scenario: its name, the rows of the catalogue that it covers, and its run."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import click

Length = Literal["quick", "usual", "full"]
"""A minute or less for CI; what an evening allows; what the catalogue asks for."""


class CannotRun(Exception):
    """This machine lacks something that a scenario needs."""


class Figure(NamedTuple):
    """One measured value, and its target."""

    what: str
    measured: str
    target: str
    met: bool
    promise: bool
    """Whether missing it is a fault of ours, not a slow machine."""

    @property
    def verdict(self) -> str:
        """Whether the target was met."""
        return "met" if self.met else "MISSED"


@dataclass
class Rig:
    """The tools of a run; everything it starts ends with *stack*."""

    folder: Path
    stack: AsyncExitStack
    length: Length = "usual"
    figures: list[Figure] = field(default_factory=list)
    name: str = ""

    def scaled(self, usual: int, quick: int, full: int | None = None) -> int:
        """Return how many; *full* where more is asked for than the *usual*."""
        if self.length == "quick":
            return quick
        return full if full is not None and self.length == "full" else usual

    def promise(self, what: str, measured: object, target: str, *, met: bool) -> None:
        """Report what must hold on any machine."""
        self._report(Figure(what, str(measured), target, met, promise=True))

    def speed(self, what: str, measured: object, target: str, *, met: bool) -> None:
        """Report what depends on how busy the machine is."""
        self._report(Figure(what, str(measured), target, met, promise=False))

    def _report(self, figure: Figure) -> None:
        # Where it ran is of no interest, and another place each time.
        figure = figure._replace(measured=figure.measured.replace(f"{self.folder}/", ""))
        self.figures.append(figure)
        what = f"{self.name}: {figure.what}"
        click.echo(f"{figure.verdict:<7}{what}: {figure.measured} (target: {figure.target})")

    def place(self, name: str) -> Path:
        """Return a folder of its own."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scripted run."""

    name: str
    rows: str
    """Of the catalogue and the promises: ``FA-01, S1``."""
    run: Callable[[Rig], Awaitable[None]]
    seconds: float = 60.0
    """After which it is ended and counts as missed."""
    quick: bool = True
    """Whether it is among those of ``--quick``."""
    full_seconds: float = 0.0
    """After which it is ended with ``--full``; 0 where that changes nothing."""

    def patience(self, length: Length) -> float:
        """Return the seconds after which it is ended."""
        return self.full_seconds if self.full_seconds and length == "full" else self.seconds


def part_of(count: int, whole: int) -> str:
    """Write how many there were, and of how many if that is less than the catalogue's."""
    return f"{count:,}" if count >= whole else f"{count:,} (of {whole:,})"


def named(scenarios: Sequence[Scenario], names: Sequence[str]) -> list[Scenario]:
    """Return those that are named, all if none is. Raises ValueError."""
    known = {scenario.name: scenario for scenario in scenarios}
    strange = [name for name in names if name not in known]
    if strange:
        raise ValueError(f"no scenario {strange[0]}; there are {', '.join(known)}")
    return [known[name] for name in names] if names else list(scenarios)
