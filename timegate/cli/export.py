"""``timegate export``: packs a store as a WACZ."""

from pathlib import Path

import click

from archives.warc_index.database import IndexInUse
from timegate.cli.options import config_option, loaded
from timegate.cli.output import echo
from timegate.cli.stores import chosen_store, store_option
from timegate.keep.export import export_store
from timegate.store.opening import store_settings
from timegate.text import counted


@click.command("export")
@store_option
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT.wacz",
    help="File to write.",
)
@config_option
def export_command(store: str, *, output: Path, config: Path | None) -> None:
    r"""Write everything that a store holds as a WACZ, which other tools read and replay.

    A server may write to the store at the same time: the package has all revisions that were
    acknowledged before.

    \b
    Example:
      timegate export --store ./notes -o notes.wacz
    """
    if not output.name.lower().endswith(".wacz"):
        raise click.UsageError(f"{output}: the name must end in .wacz")
    settings, name = chosen_store(loaded(config, None), store)
    folder = next(each.path for each in store_settings(settings) if each.id == name)
    if not folder.is_dir():
        raise click.UsageError(f"--store: the folder {folder} does not exist")
    try:
        summary = export_store(folder, name, output)
    except FileExistsError as error:
        raise click.UsageError(f"{output} already exists: choose another name") from error
    except IndexInUse as error:
        raise click.ClickException(f"{folder}: another process is indexing it") from error
    except OSError as error:
        raise click.ClickException(f"{error.filename or output}: {error.strerror}") from error
    echo(
        f"{counted(summary.captures, 'capture')} ({counted(summary.pages, 'page')}) from "
        f"{counted(summary.files, 'file')} in {output}",
        err=True,
    )
