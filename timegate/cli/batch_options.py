"""The options of ``timegate resolve`` that are about a list, bundled into one argument."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

import click

from timegate.bulk.formats import InputFormat
from timegate.cli.bundling import bundling
from timegate.cli.words import Words

_FORMATS: Final = get_args(InputFormat)
_OUTPUTS: Final = ("jsonl", "csv", "html", "wikitext", "bibtex")


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """What the command line says about a list."""

    batch: str | None
    input_format: InputFormat | None
    column: str | None
    date_column: tuple[str, ...]
    output: str
    to: str | None
    report: Path | None
    resume: bool
    retry_unknown: bool
    at_once: int
    exit_zero: bool


_DECLARED: Final = (
    click.option("--batch", metavar="FILE", help="Resolve a whole list; - is standard input."),
    click.option("--input-format", type=Words(_FORMATS), help="Of the list."),
    click.option("--column", metavar="NAME", help="Of the references, in a CSV list."),
    click.option(
        "--date-column", multiple=True, metavar="NAME", help="Of dates, the preferred first."
    ),
    click.option("--output", default="-", metavar="FILE", help="Where results go; - prints."),
    click.option("--to", type=Words(_OUTPUTS), help="Format of the results."),
    click.option(
        "--report",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write pictures and gaps to an HTML file.",
    ),
    click.option("--resume", is_flag=True, help="Go on where an earlier run was ended."),
    click.option(
        "--retry-unknown",
        is_flag=True,
        help="With --resume, ask again where archives did not answer.",
    ),
    click.option(
        "--at-once",
        type=click.IntRange(1, 256),
        default=16,
        show_default=True,
        help="How many references are under way.",
    ),
    click.option(
        "--exit-zero", is_flag=True, help="End with 0 if the list was worked through."
    ),
)

batch_options: Final = bundling(BatchOptions, "batch", _DECLARED)
