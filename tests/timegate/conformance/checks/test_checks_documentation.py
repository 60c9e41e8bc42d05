"""docs/conformance.md lists every check, and no other."""

import re
from pathlib import Path

from timegate.conformance.checks import CHECKS

PAGE = (Path(__file__).parents[4] / "docs/conformance.md").read_text()


def test_the_table_of_checks_is_what_the_code_knows() -> None:
    rows = [
        f"| `{c.name}` | {c.rule} | {c.level} | {c.section} | {c.sentence} |"
        for c in CHECKS.values()
    ]
    table = "\n".join(
        ["| check | rule | level | where | what has to hold |", "|---|---|---|---|---|", *rows]
    )

    shown = PAGE.partition("<!-- checks -->\n")[2].partition("\n<!-- /checks -->")[0]

    assert shown == table, f"docs/conformance.md should have:\n{table}"


def test_every_counterpart_is_a_check() -> None:
    counterparts = PAGE.partition("## LANL's")[2]

    named = set(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", counterparts))

    assert named <= CHECKS.keys()
    assert len(named) > 20
