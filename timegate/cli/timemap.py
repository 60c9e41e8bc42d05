"""``timegate timemap``: what all archives hold of a page, merged in order of time.

Takes the options of MemGator's command by MemGator's names: ``-f JSON -a archives.json``. The
list goes to standard output, everything else to standard error, as there.
"""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import click

from timegate.cli.options import check_contact, config_option, configured, demo_option
from timegate.cli.words import Words
from timegate.config import Config


@click.command("timemap")
@click.argument("url", metavar="URL-OR-ID")
@click.option(
    "-f",
    "--format",
    "form",
    type=Words(["link", "json", "cdxj"], case_sensitive=False),
    default="link",
    show_default=True,
    help="How it is written.",
)
@config_option
@click.option(
    "-a",
    "--arcs",
    "--archives",
    "archives",
    type=click.Path(dir_okay=False, path_type=Path),
    help="More archives, in MemGator's archives.json.",
)
@click.option("-c", "--contact", help="Who asks; sent as User-Agent.")
@demo_option
def timemap_command(  # noqa: PLR0913 -- one parameter for each option
    url: str,
    *,
    form: str,
    config: Path | None,
    archives: Path | None,
    contact: str | None,
    demo: bool,
) -> None:
    r"""Print the TimeMap of a page: every copy that any archive lists, oldest first.

    It takes MemGator's options by MemGator's names.

    \b
    Exit codes:
      0  the list is whole
      2  not a URL or identifier, or bad usage
      3  nobody has a copy
      4  nothing found and some archive did not answer, or the list broke off

    \b
    Examples:
      timegate timemap --demo http://museum.example/
      timegate timemap --demo -f cdxj http://museum.example/opening-hours
    """
    # Only now: who asks for help or completes a word does not wait for the web server.
    from timegate.cli.timemap_answer import print_list  # noqa: PLC0415

    with configured(config, archives, demo=demo) as basis:
        settings = _signed(basis, contact)
        check_contact(settings)
        sys.exit(asyncio.run(print_list(settings, f"{form}/{url}")))


def _signed(config: Config, contact: str | None) -> Config:
    if contact is None:
        return config
    if not (contact.isascii() and contact.isprintable()):
        raise click.UsageError("--contact must be a URL or address in printable ASCII")
    return replace(config, contact=contact)
