"""The table in docs/chaos.md: rows of scenarios that ran again are replaced, others stay."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from tests.chaos.scenario import Figure, Scenario

_BEGIN: Final = "<!-- figures: {} -->"
_END: Final = "<!-- end -->"
_HEAD: Final = (
    "| scenario | rows | what | target | figure here | |",
    "|---|---|---|---|---|---|",
)


class Row(NamedTuple):
    """One line."""

    scenario: str
    rows: str
    what: str
    target: str
    figure: str
    verdict: str
    broken: bool = False

    @property
    def text(self) -> str:
        cells = (cell.replace("|", "\\|") for cell in self[:6])
        return f"| {' | '.join(cells)} |"


def rows_of(scenario: Scenario, figures: Sequence[Figure], unable: str | None) -> list[Row]:
    """Write what *scenario* reported; *unable* says why there is no more."""
    rows = [
        Row(
            scenario.name,
            scenario.rows,
            figure.what,
            figure.target,
            figure.measured,
            "met" if figure.met else "**missed**",
            broken=figure.promise and not figure.met,
        )
        for figure in figures
    ]
    if unable is not None:
        rows.append(Row(scenario.name, scenario.rows, unable, "", "", "not run"))
    return rows


def updated(text: str, kind: str, rows: Sequence[Row], order: Sequence[str]) -> str:
    """Put *rows* of one scenario into the table *kind*, which is in this *order*."""
    begin = _BEGIN.format(kind)
    before, mark, rest = text.partition(begin)
    inside, end, after = rest.partition(_END)
    if not mark or not end:
        raise ValueError(f"the file has no {begin} ... {_END}")
    kept: dict[str, list[str]] = {}
    for line in inside.strip().splitlines()[len(_HEAD) :]:
        kept.setdefault(line.split(" | ")[0].removeprefix("| "), []).append(line)
    kept[rows[0].scenario] = [row.text for row in rows]
    lines = [line for each in order for line in kept.get(each, ())]
    return before + mark + "\n" + "\n".join((*_HEAD, *lines)) + "\n" + end + after
