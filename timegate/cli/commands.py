"""The group of all commands: imports only the one that is run, and knows what was meant.

Importing everything takes 0.7 s (aiohttp alone 0.15 s), which is long for reading a name.
"""

from importlib import import_module
from typing import Final

import click

from timegate.nearness import similar

COMMANDS: Final = {
    "serve": "serve:serve_command",
    "resolve": "resolve:resolve_command",
    "parse": "parse:parse_command",
    "cite": "cite:cite_command",
    "timemap": "timemap:timemap_command",
    "closest": "closest:closest_command",
    "archives": "archives:archives_command",
    "index": "index:index_command",
    "completion": "completion:completion_command",
}
"""Module and name, in the order in which help shows them."""


class Commands(click.Group):
    """The commands of `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's
        """Return all names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command that is called *cmd_name*."""
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command = getattr(import_module(f"timegate.cli.{module}"), name)
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; where there is none, say which was probably meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(error.message + similar(args[0], COMMANDS), ctx) from error
