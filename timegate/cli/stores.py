"""The store that a command works on: one of the configuration, or a folder."""

from pathlib import Path

import click

from timegate.config import Config
from timegate.store import RevisionWriter, StoreUnwritable
from timegate.store.opening import UnwritableStore, store_settings, with_folder_store
from timegate.text import similar

store_option = click.option(
    "--store",
    required=True,
    metavar="STORE",
    help="Id of a [[store]] in the configuration, or a folder such as ./notes.",
)


def chosen_store(config: Config, store: str) -> tuple[Config, str]:
    """Return the configuration with the store, and the id of the store. Raises UsageError."""
    ids = [settings.id for settings in store_settings(config)]
    if store in ids:
        return config, store
    if "/" in store or Path(store).is_dir():
        return with_folder_store(config, Path(store))
    raise click.UsageError(
        f"--store: there is no store {store!r}.{similar(store, ids)} Give the id of a "
        f"[[store]] in the configuration, or a folder: --store ./{store}"
    )


def writable(writer: RevisionWriter) -> RevisionWriter:
    """Return *writer*. Raises StoreUnwritable if the store could not be opened."""
    if isinstance(writer, UnwritableStore):
        raise StoreUnwritable(f"cannot be written: {writer.why}")
    return writer
