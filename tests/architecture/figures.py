"""One figure of the architecture, with the limit that it must keep."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value."""

    name: str
    value: int
    limit: int | None = None
    """The highest value that is allowed; None for a figure that is only shown."""
    details: Sequence[str] = ()
    """What was counted, one line each."""

    @property
    def met(self) -> bool:
        """Whether the value keeps the limit."""
        return self.limit is None or self.value <= self.limit

    @property
    def line(self) -> str:
        """The figure as a line of the printed table."""
        limit = "" if self.limit is None else f"at most {self.limit}"
        mark = "" if self.met else "BROKEN"
        return f"{self.name:<46}{self.value:>7}  {limit:<12}{mark}".rstrip()
