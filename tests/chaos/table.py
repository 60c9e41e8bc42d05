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
    """One row of the table."""

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
    """Return the rows of *scenario*; *unable* is the reason if it could not run."""
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
    """Replace the rows of one scenario in the table *kind*; *order* is that of scenarios."""
    begin = _BEGIN.format(kind)
    before, mark, rest = text.partition(begin)
    inside, end, after = rest.partition(_END)
    if not mark or not end:
        raise ValueError(f"the file has no {begin} ... {_END}")
    lines_by_scenario: dict[str, list[str]] = {}
    for line in inside.strip().splitlines()[len(_HEAD) :]:
        lines_by_scenario.setdefault(line.split(" | ")[0].removeprefix("| "), []).append(line)
    lines_by_scenario[rows[0].scenario] = [row.text for row in rows]
    lines = [line for each in order for line in lines_by_scenario.get(each, ())]
    return before + mark + "\n" + "\n".join((*_HEAD, *lines)) + "\n" + end + after
