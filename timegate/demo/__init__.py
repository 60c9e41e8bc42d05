"""Three small archives of our own making, so that every kind of answer can be seen offline."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from archives.collection.building import index_collection
from archives.model import ArchiveEntry
from archives.registry import Registry
from timegate.config import Config, load_config

SLOW: Final = {"lantern": 3.0}
"""Seconds: more than the soft deadline, less than the hard one."""


def demo_config(folder: Path) -> Config:
    """Return the configuration of the demo; its indexes are made now, in *folder*.

    The package may lie where nothing can be written.
    """
    config = load_config(Path(__file__).with_name("demo.toml"))
    entries = tuple(_indexed(entry, folder) for entry in config.registry.entries)
    return replace(config, registry=Registry(entries, shared_hosts=True), delays=SLOW)


def _indexed(entry: ArchiveEntry, folder: Path) -> ArchiveEntry:
    if entry.kind != "warc" or entry.path is None:
        return entry
    index = folder / f"{entry.id}.sqlite"
    index_collection(Path(entry.path), index)
    return replace(entry, index=str(index))
