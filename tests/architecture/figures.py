"""One figure of the architecture, with its limit."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value."""

    name: str
    value: int
    limit: int | None = None
    """The highest allowed value; None if there is no limit."""
    details: Sequence[str] = ()
    """The counted items, one line each."""

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
