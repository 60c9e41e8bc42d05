"""``timegate archives``: lists the registry."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click
from rich.table import Table
from rich.text import Text

from archives.model import ArchiveEntry
from archives.registry import to_memgator
from timegate.cli.options import archives_option, config_option, configured, demo_option
from timegate.cli.output import echo, echo_text
from timegate.cli.terminal import Terminal
from timegate.text import escaped

_HEADINGS: Final = ("id", "used", "kind", "access", "name", "why")


@click.command("archives")
@config_option
@archives_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print all facts, one line of JSON per archive."
)
@click.option("--memgator", is_flag=True, help="Print the list in MemGator's format.")
@demo_option
def archives_command(
    config: Path | None, archives: Path | None, *, as_json: bool, memgator: bool, demo: bool
) -> None:
    r"""List the known archives: first those in use, then the others and why they are not.

    \b
    Examples:
      timegate archives
      timegate archives --demo | head -4
      timegate archives --json | grep '"country": "PT"'
      timegate archives --memgator > archives.json
    """
    with configured(config, archives, demo=demo) as settings:
        entries = sorted(
            settings.registry.entries, key=lambda entry: (not _is_used(entry), entry.id)
        )
    if memgator:
        echo_text(to_memgator(entries))
    elif as_json:
        for entry in entries:
            echo(json.dumps(asdict(entry)))
    else:
        _show(entries)


def _show(entries: list[ArchiveEntry]) -> None:
    rows = [_row(entry) for entry in entries]
    if not sys.stdout.isatty():
        # Piped output is for grep: one line per archive, however long.
        widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
        for row in (_HEADINGS, *rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            echo("  ".join(cells).rstrip())
        return
    table = Table(*_HEADINGS, box=None, pad_edge=False)
    for entry, row in zip(entries, rows, strict=True):
        table.add_row(*map(Text, row), style=None if _is_used(entry) else "dim")
    Terminal(highlight=False).print(table)


def _row(entry: ArchiveEntry) -> tuple[str, ...]:
    used = _is_used(entry)
    why = entry.because if used or not entry.use else entry.access_note or entry.because
    cells = (entry.id, "yes" if used else "no", entry.kind.name, entry.access, entry.name, why)
    return tuple(map(escaped, cells))


def _is_used(entry: ArchiveEntry) -> bool:
    """Whether *entry* is queried; a collection with on-site access only is not."""
    return entry.use and not (entry.kind.is_local and entry.access == "onsite-only")
