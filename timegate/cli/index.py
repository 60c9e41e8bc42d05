"""``timegate index``: builds or updates the index of a local collection."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from archives.warc_index.building import NotWritable, index_collection, index_inventory
from archives.warc_index.database import ForeignIndex, IndexInUse, NewerIndex
from archives.warc_index.model import (
    IndexProgress,
    IndexSummary,
    RemoteFiles,
    is_remote_path,
)
from archives.warc_index.s3 import S3NotInstalled
from timegate.cli.output import echo_lines
from timegate.cli.terminal import Terminal
from timegate.text import counted

_MOST_WORKERS = 8
_MEGABYTE = 1_000_000


@click.command("index")
@click.argument("path", metavar="PATH-OR-URL")
@click.option(
    "--cdx",
    "inventory",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="CDX file that lists the files at an http(s) address.",
)
@click.option(
    "--index",
    "index_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Index file, if it is not next to the files.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Processes that read files; by default one per CPU, at most 8.",
)
@click.option("--read-all", is_flag=True, help="Read all files again and ignore CDX files.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one line of JSON.")
def index_command(  # noqa: PLR0913 -- one parameter for each option
    path: str,
    *,
    inventory: Path | None,
    index_file: Path | None,
    workers: int | None,
    read_all: bool,
    as_json: bool,
) -> None:
    r"""Index the WARC, ARC and WACZ files at PATH, a folder or a single file.

    Only new and changed files are read, and CDX files next to WARCs are used instead if they
    are not older. You can stop at any time; the next run continues. A running server sees new
    captures in steps of a million, and all of them at the end.

    Files can also be in a bucket (s3://bucket/prefix/), or at an http(s) address with the files
    that --cdx lists; then --index is required.

    Exit code 1: some files or records could not be used.

    \b
    Example:
      timegate index /srv/warcs
    """
    count = workers or min(os.cpu_count() or 1, _MOST_WORKERS)
    try:
        with _progress(quiet=as_json) as progress:
            place = _place(path, index_file)
            if inventory is not None and isinstance(place, RemoteFiles):
                summary = index_inventory(place, inventory)
            else:
                summary = index_collection(
                    place, index_file, count, progress, read_all=read_all
                )
    except (NotWritable, S3NotInstalled, ValueError, OSError) as error:
        raise click.UsageError(str(error)) from error
    except (ForeignIndex, NewerIndex) as error:
        raise click.UsageError(
            f"{index_file or path} is {error}: choose another file with --index"
        ) from error
    except IndexInUse as error:
        raise click.UsageError(f"another process is building the index {error}") from error
    echo_lines([_as_json(summary)] if as_json else _lines(summary))
    sys.exit(1 if summary.complaints else 0)


def _place(path: str, index: Path | None) -> Path | RemoteFiles:
    if not is_remote_path(path):
        if not Path(path).exists():
            raise click.UsageError(f"{path} does not exist")
        return Path(path)
    if index is None:
        raise click.UsageError("--index is required for remote files")
    return RemoteFiles(path, index)


def _as_json(summary: IndexSummary) -> str:
    report = asdict(summary)
    report["shown"] = [complaint._asdict() for complaint in summary.shown]
    return json.dumps(report)


def _lines(summary: IndexSummary) -> Iterator[str]:
    if summary.rebuilt:
        yield "the index was damaged: it was renamed and built again"
    yield (
        f"{counted(summary.files, 'file')}: "
        f"{summary.read} read ({summary.continued} had grown), "
        f"{summary.from_cdx} from CDX files, {summary.unchanged} unchanged, "
        f"{summary.gone} gone"
    )
    yield f"{counted(summary.captures, 'capture')} indexed"
    if summary.complaints:
        yield f"{counted(summary.complaints, 'problem')}:"
    yield from (f"  {complaint}" for complaint in summary.shown)
    if summary.complaints > len(summary.shown):
        yield f"  and {summary.complaints - len(summary.shown)} more"


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[IndexProgress], None]]:
    """Show the progress on a terminal."""
    console = Terminal(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda _: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("looking for files", total=None)

        def show(reached: IndexProgress) -> None:
            elapsed = bar.tasks[task].elapsed or 1.0
            bar.update(
                task,
                completed=reached.octets,
                total=reached.of_octets,
                description=(
                    f"{reached.files} of {reached.of_files} files, "
                    f"{reached.octets / _MEGABYTE:.0f} of "
                    f"{reached.of_octets / _MEGABYTE:.0f} MB, "
                    f"{reached.captures / max(elapsed, 0.1):.0f} captures/s"
                ),
            )

        yield show
