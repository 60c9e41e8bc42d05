"""How a reader of foreign text complains: it refuses, repairs, or takes note.

* It *refuses* with `Malformed`: what is wrong, and at which character.
* It *repairs* what people get wrong every day (a missing ``Z``, a merged slash), and says so
  with a diagnostic. A strict reader refuses there.
* It *takes note* of what is right but worth knowing (an offset turned into UTC).

Text is strictly conforming when nothing was repaired.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from re import Pattern


class Malformed(ValueError):
    """Text that cannot be read. *code* is for programs, *why* for people."""

    def __init__(self, code: str, why: str, position: int) -> None:
        super().__init__(f"{why} (at character {position + 1})")
        self.code = code
        self.why = why
        self.position = position
        """Index of the first wrong character; the length of the text if it ended too soon."""

    def moved(self, by: int) -> "Malformed":
        """Return the complaint for a text that has *by* more characters in front."""
        return Malformed(self.code, self.why, self.position + by)


def first_fault(text: str, start: int, end: int, shape: Iterable[Pattern[str]]) -> int:
    """Return where *text* stops having *shape*, given piece by piece; *end* if it ends there.

    For complaints only: what is right is read by one expression.
    """
    for piece in shape:
        found = piece.match(text, start, end)
        if found is None:
            break
        start = found.end()
    return start


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing a reader found worth saying."""

    token: str
    why: str
    position: int
    repair: bool


class Diagnosis:
    """Collects what one reading repaired and noted."""

    __slots__ = ("diagnostics", "strict")

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.diagnostics: list[Diagnostic] = []

    def note(self, token: str, why: str, position: int) -> None:
        """Say something about text that is right as it stands."""
        self.diagnostics.append(Diagnostic(token, why, position, repair=False))

    def repair(self, token: str, why: str, position: int) -> None:
        """Say what is about to be repaired; a strict reader refuses here instead.

        *why* says what is wrong, then perhaps, behind a colon, what is done about it.
        """
        if self.strict:
            wrong, _, _ = why.partition(": ")
            raise Malformed(token, f"{wrong}; read strictly, nothing is repaired", position)
        self.diagnostics.append(Diagnostic(token, why, position, repair=True))

    @property
    def conforming(self) -> bool:
        """Whether nothing had to be repaired."""
        return not any(diagnostic.repair for diagnostic in self.diagnostics)
