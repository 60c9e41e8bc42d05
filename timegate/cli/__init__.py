"""The command line: one module for each command.

Exit codes: 0 as asked, 1 found but less precise than asked, 2 bad usage or identifier,
3 nothing found and everyone answered, 4 nothing found and nobody knows.
"""

import click

from timegate.cli.commands import Commands


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="timegate-proxy", prog_name="timegate")
def main() -> None:
    r"""Follow a reference into the archived web, and know how good the copy is.

    A reference is a PWID, a duri, a link into an archive (it may be dead), or a URL with a
    date. With --demo, commands ask three small archives that come with timegate.

    \b
    Examples:
      timegate resolve --demo duri:2010-11:http://museum.example/
      timegate parse urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk
      timegate resolve --help
    """
