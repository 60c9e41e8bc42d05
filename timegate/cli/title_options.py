"""The options about what a page is called, bundled into one argument."""

from dataclasses import dataclass
from typing import Final

import click

from timegate.cite import Form
from timegate.cli.bundling import bundling


@dataclass(frozen=True, slots=True)
class TitleOptions:
    """Where the title in a reference comes from; from the URL if nothing is said."""

    title: str | None
    fetch_title: bool

    def check(self, form: Form | None, given: tuple[str, ...]) -> None:
        """Refuse what makes no sense. Raises UsageError."""
        if self.title is None and not self.fetch_title:
            return
        if form is None:
            raise click.UsageError("--title and --fetch-title go with --format")
        if self.title is not None and self.fetch_title:
            raise click.UsageError("give either --title or --fetch-title")
        if self.title is not None and (len(given) > 1 or "-" in given):
            raise click.UsageError("--title is for one copy; several have --fetch-title")


_DECLARED: Final = (
    click.option("--title", metavar="TEXT", help="What the page is called, with --format."),
    click.option(
        "--fetch-title",
        is_flag=True,
        help="Read from the copy what the page is called, with --format.",
    ),
)

title_options: Final = bundling(TitleOptions, "titles", _DECLARED)
