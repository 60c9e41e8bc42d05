"""The command line: one module for each command.

Exit codes: 0 as asked, 1 found but less precise than asked, 2 bad usage or identifier,
3 nothing found and everyone answered, 4 nothing found and some archive did not answer.
"""

import click

from timegate.cli.archives import archives_command
from timegate.cli.cite import cite_command
from timegate.cli.closest import closest_command
from timegate.cli.parse import parse_command
from timegate.cli.resolve import resolve_command
from timegate.cli.serve import serve_command
from timegate.cli.timemap import timemap_command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="timegate-proxy", prog_name="timegate")
def main() -> None:
    """Follow a reference into the archived web, and know how good the copy is."""


for _command in (
    parse_command,
    cite_command,
    archives_command,
    closest_command,
    resolve_command,
    serve_command,
    timemap_command,
):
    main.add_command(_command)
