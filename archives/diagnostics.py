"""Errors and diagnostics of parsers of foreign text.

* `Malformed` is raised for text that cannot be read: what is wrong, and at which character.
* A *repair* is a diagnostic for a common mistake (a missing ``Z``, a merged slash) that the
  parser corrects. In strict mode it is Malformed instead.
* A *note* is a diagnostic about correct text (a UTC offset was converted).

Text is strictly conforming if nothing was repaired.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
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
        """Return the same error for a text with *by* more characters before it."""
        return Malformed(self.code, self.why, self.position + by)


def first_fault(text: str, start: int, end: int, shape: Iterable[Pattern[str]]) -> int:
    """Return the index where *text* stops matching *shape*, a sequence of expressions.

    For error messages only: correct text is matched by one expression.
    """
    for piece in shape:
        found = piece.match(text, start, end)
        if found is None:
            break
        start = found.end()
    return start


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One repair or note about the text that was read."""

    token: str
    why: str
    position: int
    repair: bool


@dataclass(slots=True, kw_only=True, eq=False)
class Diagnosis:
    """The repairs and notes of one reading."""

    strict: bool = False
    """Whether text that would be repaired is an error."""
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def note(self, token: str, why: str, position: int) -> None:
        """Add a diagnostic about correct text."""
        self.diagnostics.append(Diagnostic(token, why, position, repair=False))

    def repair(self, token: str, why: str, position: int) -> None:
        """Add a diagnostic about text that is repaired; raise Malformed in strict mode.

        *why* states what is wrong, and optionally, after a colon, how it is repaired.
        """
        if self.strict:
            wrong, _, _ = why.partition(": ")
            raise Malformed(token, f"{wrong}; strict reading repairs nothing", position)
        self.diagnostics.append(Diagnostic(token, why, position, repair=True))

    @property
    def conforming(self) -> bool:
        """Whether nothing was repaired."""
        return not any(diagnostic.repair for diagnostic in self.diagnostics)


def escaped(text: str) -> str:
    """Return *text* with unprintable characters written as Unicode escapes.

    Unprintable are all that a terminal may execute or that change the order of a line: C0 and
    C1 controls, separators but the space, marks of direction (U+202E), lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
