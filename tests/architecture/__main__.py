"""``make architecture``: the figures beside their limits; exits with 1 if a limit is broken."""

import asyncio
from collections.abc import Sequence

import click

from tests.architecture.figures import Figure
from tests.architecture.journeys import traced_figures
from tests.architecture.tree import static_figures


def show(figures: Sequence[Figure], *, details: bool) -> bool:
    """Print *figures*, with *details* the counted items; return whether all limits are met."""
    for figure in figures:
        click.echo(figure.line)
        # Items that break a limit of zero are always shown.
        if details or (figure.limit == 0 and not figure.met):
            for line in figure.details:
                click.echo(f"    {line}")
    return all(figure.met for figure in figures)


@click.command()
@click.option("--list", "listing", is_flag=True, help="Also print the counted items.")
def main(*, listing: bool) -> None:
    """Print the figures of the architecture and their limits."""
    # The static figures come first: they are shown even if the program does not start.
    source = show(static_figures(), details=listing)
    traced = show(asyncio.run(traced_figures()), details=listing)
    raise SystemExit(0 if source and traced else 1)


if __name__ == "__main__":
    main()
