"""``timegate archives``: the registry, for people and for programs."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from archives.model import ArchiveEntry
from archives.registry import to_memgator
from timegate.cli.options import archives_option, config_option, configured, demo_option


@click.command("archives")
@config_option
@archives_option
@click.option(
    "--json", "as_json", is_flag=True, help="Every fact, one line of JSON an archive."
)
@click.option("--memgator", is_flag=True, help="As MemGator's archives.json.")
@demo_option
def archives_command(
    config: Path | None, archives: Path | None, *, as_json: bool, memgator: bool, demo: bool
) -> None:
    r"""List the archives that are known: those that are asked first, then why others are not.

    \b
    Examples:
      timegate archives
      timegate archives --demo | head -4
      timegate archives --json | grep '"country": "PT"'
      timegate archives --memgator > archives.json
    """
    with configured(config, archives, demo=demo) as settings:
        entries = sorted(settings.registry.entries, key=lambda one: (not one.use, one.id))
    if memgator:
        click.echo(to_memgator(entries))
    elif as_json:
        for entry in entries:
            click.echo(json.dumps(asdict(entry)))
    else:
        _show(entries)


def _show(entries: list[ArchiveEntry]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("id", "asked", "by", "access", "name", "why"):
        table.add_column(heading, overflow="fold")
    for entry in entries:
        asked = "yes" if entry.use else "no"
        style = None if entry.use else "dim"
        table.add_row(
            entry.id, asked, entry.kind, entry.access, entry.name, entry.because, style=style
        )
    # Piped output is for grep: one archive a line, however long.
    width = None if sys.stdout.isatty() else 10_000
    Console(width=width).print(table)
