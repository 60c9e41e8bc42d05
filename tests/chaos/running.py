"""Runs scenarios one after the other, with time limits, and writes figures into a table."""

import asyncio
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import click

from tests.chaos.scenario import CannotRun, Figure, Length, Rig, Scenario, named
from tests.chaos.table import Row, rows_of, updated


class Table(NamedTuple):
    """The table that figures are written into."""

    file: Path
    kind: str
    order: Sequence[str]

    def write(self, rows: Sequence[Row]) -> None:
        self.file.write_text(updated(self.file.read_text(), self.kind, rows, self.order))


def run_all(chosen: Sequence[Scenario], length: Length, table: Table | None) -> bool:
    """Run the *chosen* scenarios; return whether every promise was kept."""
    kept = True
    for scenario in chosen:
        rows = run_one(scenario, length)
        kept = kept and not any(row.broken for row in rows)
        if table is not None and rows:
            table.write(rows)
    return kept


def run_one(scenario: Scenario, length: Length) -> list[Row]:
    """Run one scenario; one that cannot run or exceeds its time limit has a row too."""
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        figures: list[Figure] = []
        try:
            asyncio.run(_bounded(scenario, Path(folder), figures, length))
        except CannotRun as reason:
            click.echo(f"{'not run':<7} {scenario.name}: {reason}")
            return rows_of(scenario, figures, f"not run: {reason}")
        except TimeoutError:
            text = f"not finished within {scenario.time_limit(length):g} s"
            click.echo(f"{'MISSED':<7}{scenario.name}: {text}")
            figures.append(Figure("whole scenario", text, "finished", met=False, promise=True))
        except Exception as error:  # noqa: BLE001 -- a scenario that fails does not end the others
            traceback.print_exc()
            text = f"failed with {type(error).__name__}"
            click.echo(f"{'MISSED':<7}{scenario.name}: {text}")
            figures.append(Figure("whole scenario", text, "finished", met=False, promise=True))
    return rows_of(scenario, figures, None)


async def _bounded(
    scenario: Scenario, folder: Path, figures: list[Figure], length: Length
) -> None:
    async with AsyncExitStack() as stack:
        rig = Rig(folder, stack, length, figures, scenario.name)
        async with asyncio.timeout(scenario.time_limit(length)):
            await scenario.run(rig)


def command(scenarios: Sequence[Scenario], kind: str, doc: str) -> click.Command:
    """Return the command for ``python -m tests.chaos`` and ``python -m tests.load``."""

    @click.command(help=doc)
    @click.argument("names", nargs=-1)
    @click.option("--quick", is_flag=True, help="Few rounds, without the long scenarios.")
    @click.option("--full", is_flag=True, help="As long as the catalogue requires: hours.")
    @click.option("--list", "listing", is_flag=True, help="List the scenarios.")
    @click.option(
        "--table",
        type=click.Path(path_type=Path, exists=True),
        help="Write the figures into the table of this file, such as docs/chaos.md.",
    )
    def main(
        names: tuple[str, ...], *, quick: bool, full: bool, listing: bool, table: Path | None
    ) -> None:
        if listing:
            for scenario in scenarios:
                click.echo(f"{scenario.name:<24}{scenario.rows}")
            return
        try:
            chosen = named(scenarios, names)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        if quick and not names:
            chosen = [scenario for scenario in chosen if scenario.quick]
        order = [scenario.name for scenario in scenarios]
        figures = None if table is None else Table(table, kind, order)
        length: Length = "quick" if quick else "full" if full else "usual"
        raise SystemExit(0 if run_all(chosen, length, figures) else 1)

    return main
