"""Scenarios: name, covered rows of the catalogue, function, and the reported figures."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import click

Length = Literal["quick", "usual", "full"]
"""At most a minute, for CI; some minutes; as long as the catalogue requires."""


class CannotRun(Exception):
    """This machine lacks something that a scenario needs."""


class Figure(NamedTuple):
    """One measured value, and its target."""

    what: str
    measured: str
    target: str
    met: bool
    promise: bool
    """Whether missing it is a fault of the program, and not of a slow machine."""

    @property
    def verdict(self) -> str:
        """Whether the target was met."""
        return "met" if self.met else "MISSED"


@dataclass
class Rig:
    """The environment of a run; everything that it starts ends with *stack*."""

    folder: Path
    stack: AsyncExitStack
    length: Length = "usual"
    figures: list[Figure] = field(default_factory=list)
    name: str = ""

    def scaled(self, usual: int, quick: int, full: int | None = None) -> int:
        """Return the number for this length of run; without *full*, that is the *usual* one."""
        if self.length == "quick":
            return quick
        return full if full is not None and self.length == "full" else usual

    def promise(self, what: str, measured: object, target: str, *, met: bool) -> None:
        """Report a figure whose target must be met on any machine."""
        self._report(Figure(what, str(measured), target, met, promise=True))

    def speed(self, what: str, measured: object, target: str, *, met: bool) -> None:
        """Report a figure that depends on the load of the machine."""
        self._report(Figure(what, str(measured), target, met, promise=False))

    def _report(self, figure: Figure) -> None:
        # The folder differs in every run.
        figure = figure._replace(measured=figure.measured.replace(f"{self.folder}/", ""))
        self.figures.append(figure)
        what = f"{self.name}: {figure.what}"
        click.echo(f"{figure.verdict:<7}{what}: {figure.measured} (target: {figure.target})")

    def place(self, name: str) -> Path:
        """Make the folder *name* and return its path."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario."""

    name: str
    rows: str
    """Rows of the catalogue and objectives that it covers: ``FA-01, S1``."""
    run: Callable[[Rig], Awaitable[None]]
    seconds: float = 60.0
    """Time limit; a scenario that exceeds it is stopped and counts as missed."""
    quick: bool = True
    """Whether it runs with ``--quick``."""
    full_seconds: float = 0.0
    """Time limit with ``--full``; 0 for the same."""

    def time_limit(self, length: Length) -> float:
        """Return the time limit in seconds."""
        return self.full_seconds if self.full_seconds and length == "full" else self.seconds


def part_of(count: int, whole: int) -> str:
    """Format *count*, and *whole*, the number in the catalogue, if that is greater."""
    return f"{count:,}" if count >= whole else f"{count:,} (of {whole:,})"


def named(scenarios: Sequence[Scenario], names: Sequence[str]) -> list[Scenario]:
    """Return the scenarios in *names*, or all if *names* is empty. Raises ValueError."""
    known = {scenario.name: scenario for scenario in scenarios}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"no scenario {unknown[0]}; there are {', '.join(known)}")
    return [known[name] for name in names] if names else list(scenarios)
