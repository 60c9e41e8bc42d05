"""What is known of each web archive: one TOML file each in `archives/known`, and users' own.

Everything that differs between archives and is no code stands in those files.
"""

from functools import cache
from importlib.resources import files

from archives.registry.entry import (
    DEFAULT_LIMITS,
    BadEntry,
    canary_from,
    endpoints,
    entry_from,
    entry_of_file,
    load_file,
    read_entry,
)
from archives.registry.lookup import Origin, Registry, bare_host
from archives.registry.memgator import from_memgator, to_memgator

__all__ = [
    "DEFAULT_LIMITS",
    "BadEntry",
    "Origin",
    "Registry",
    "bare_host",
    "canary_from",
    "endpoints",
    "entry_from",
    "from_memgator",
    "load_file",
    "load_known",
    "read_entry",
    "to_memgator",
]


@cache
def load_known() -> Registry:
    """Read every archive that ships with the package, once."""
    folder = files("archives") / "known"
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".toml"))
    return Registry(
        entry_of_file(
            (folder / name).read_text("utf-8"),
            f"archives/known/{name}",
            name.removesuffix(".toml"),
        )
        for name in names
    )
