"""The command line: one module for each command.

Exit codes: 0 as asked, 1 found but less precise than asked, 2 bad usage or identifier,
3 nothing found and everyone answered, 4 nothing found and some archive did not answer.
"""

import click

from timegate.cli.commands import Commands


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="timegate-proxy", prog_name="timegate")
def main() -> None:
    """Follow a reference into the archived web, and know how good the copy is."""
