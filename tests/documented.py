"""The commands that the documents show, each with the output shown below it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
DOCUMENTS: Final = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
ANYTHING: Final = "..."
"""A line that stands for any number of lines."""
_BLOCK: Final = re.compile(r"```console\n((?:.*\n)*?)```")


class Shown(NamedTuple):
    """A command and its documented output."""

    document: str
    command: str
    output: str


def shown_in(document: Path) -> Iterator[Shown]:
    """Yield the commands of *document*: lines after ``$``, continued with a backslash."""
    for block in _BLOCK.findall(document.read_text()):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines(keepends=True)
            last = next(i for i, line in enumerate(lines) if not line.endswith("\\\n"))
            command, output = "".join(lines[: last + 1]), "".join(lines[last + 1 :])
            yield Shown(document.name, command.strip(), output)


def is_as_shown(printed: str, shown: str) -> bool:
    """Whether *printed* is what was *shown*; `ANYTHING` matches any lines."""
    pieces = re.split(rf"^{re.escape(ANYTHING)}\n", shown, flags=re.MULTILINE)
    if len(pieces) == 1:
        return printed == shown
    place = 0
    for number, piece in enumerate(pieces):
        found = printed.find(piece, place)
        if found < 0 or (number == 0 and found > 0):
            return False
        place = found + len(piece)
    return not pieces[-1] or printed.endswith(pieces[-1])
