"""The options of ``timegate resolve`` that are about a list, bundled into one argument."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Final, get_args

import click

from timegate.bulk.formats import InputFormat

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
    trust: str | None
    distrust: str | None
    tolerance: str | None
    at_once: int
    exit_zero: bool


_DECLARED: Final = (
    click.option("--batch", metavar="FILE", help="Resolve a whole list; - is standard input."),
    click.option("--input-format", type=click.Choice(_FORMATS), help="Of the list."),
    click.option("--column", metavar="NAME", help="Of the references, in a CSV list."),
    click.option(
        "--date-column", multiple=True, metavar="NAME", help="Of dates, the preferred first."
    ),
    click.option("--output", default="-", metavar="FILE", help="Where results go; - prints."),
    click.option("--to", type=click.Choice(_OUTPUTS), help="Format of the results."),
    click.option(
        "--report",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write pictures and gaps to an HTML file.",
    ),
    click.option("--resume", is_flag=True, help="Go on where an earlier run was ended."),
    click.option("--trust", metavar="ID,...", help="Take copies from these archives only."),
    click.option("--distrust", metavar="ID,...", help="Take no copies from these archives."),
    click.option("--tolerance", metavar="24h", help="How far off a copy may be."),
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


def batch_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give *command* the options of lists, as one argument ``batch``."""

    @wraps(command)
    def bundled(*arguments: object, **options: object) -> None:
        ours = {field.name: options.pop(field.name) for field in fields(BatchOptions)}
        command(*arguments, batch=BatchOptions(**ours), **options)  # type: ignore[arg-type]

    wrapped: Callable[..., None] = bundled
    for declare in reversed(_DECLARED):
        wrapped = declare(wrapped)
    return wrapped
