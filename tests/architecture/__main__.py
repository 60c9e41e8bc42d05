"""``make architecture``: the figures beside their limits; exits with 1 if a limit is broken."""

import asyncio

import click

from tests.architecture.figures import Figure
from tests.architecture.journeys import traced_figures
from tests.architecture.tree import static_figures


def show(figure: Figure, *, details: bool) -> None:
    """Print *figure*; with *details*, what was counted."""
    click.echo(figure.line)
    if details:
        for line in figure.details:
            click.echo(f"    {line}")


@click.command()
@click.option("--list", "listing", is_flag=True, help="Also print what was counted.")
def main(*, listing: bool) -> None:
    """Print the figures of the architecture and the limits that they must keep."""
    figures = [*asyncio.run(traced_figures()), *static_figures()]
    for figure in figures:
        # What breaks a limit of zero is always named.
        show(figure, details=listing or (figure.limit == 0 and not figure.met))
    raise SystemExit(0 if all(figure.met for figure in figures) else 1)


if __name__ == "__main__":
    main()
