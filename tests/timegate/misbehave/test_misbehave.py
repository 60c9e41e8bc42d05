"""docs/misbehave.md lists every fault with the sentence that the command prints."""

from pathlib import Path

from timegate.misbehave import FAULTS

PAGE = (Path(__file__).parents[3] / "docs/misbehave.md").read_text()


def test_the_table_of_faults_is_what_the_code_knows() -> None:
    rows = [f"| `{name}` | {fault.sentence} |" for name, fault in FAULTS.items()]
    table = "\n".join(["| fault | what it does |", "|---|---|", *rows])

    shown = PAGE.partition("<!-- faults -->\n")[2].partition("\n<!-- /faults -->")[0]

    assert shown == table, f"docs/misbehave.md should have:\n{table}"


def test_the_number_of_faults_is_correct() -> None:
    assert f"{len(FAULTS) - 1} faults" in " ".join(PAGE.split())
