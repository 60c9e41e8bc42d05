"""``timegate.toml``: what an operator decides. Every complaint names the file and the key."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from archives.model import ArchiveEntry
from archives.registry import BadEntry, Registry, entry_from, from_memgator, load_known


class BadConfig(ValueError):
    """A configuration that cannot be used; says which file, which key, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Config:
    """What is known before the first request."""

    registry: Registry
    contact: str | None = None
    """In the User-Agent; needed before public archives are asked."""
    private: frozenset[str] = field(default_factory=frozenset)
    """Ids of the operator's own archives: only these may be at private addresses."""


def load_config(path: Path | None, archives: Path | None = None) -> Config:
    """Read *path* and MemGator's list *archives*, where they are given; then the environment.

    Raises BadConfig.
    """
    table = {} if path is None else _table(path)
    unknown = table.keys() - {"contact", "archives", "archive"}
    if unknown:
        raise _bad(path, min(unknown), "unknown; allowed are contact, archives, archive")
    own = (*_own_archives(table, path), *_memgator(archives))
    known = _used(table, path)
    try:
        registry = Registry((*(e for e in known if e.id not in {o.id for o in own}), *own))
    except BadEntry as error:
        raise BadConfig(str(error)) from error
    return Config(registry, _contact(table, path), frozenset(entry.id for entry in own))


def _table(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise BadConfig(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: not TOML: {error}") from error


def _contact(table: Mapping[str, object], path: Path | None) -> str | None:
    contact = os.environ.get("TIMEGATE_CONTACT", table.get("contact"))
    if contact is None:
        return None
    if not isinstance(contact, str) or not (contact.isascii() and contact.isprintable()):
        raise _bad(path, "contact", "must be a URL or address in printable ASCII")
    return contact or None


def _used(table: Mapping[str, object], path: Path | None) -> tuple[ArchiveEntry, ...]:
    """Return the known archives; ``archives.use`` says which are asked."""
    known = load_known()
    section = table.get("archives", {})
    if not isinstance(section, dict) or section.keys() - {"use"}:
        raise _bad(path, "archives", "must be a table with the one key use")
    use = section.get("use")
    if use is None:
        return known.entries
    if not isinstance(use, list) or not all(isinstance(name, str) for name in use):
        raise _bad(path, "archives.use", "must be a list of archive ids")
    for name in use:
        if known.by_id(name) is None:
            why = f"{name!r} is no archive; `timegate archives` lists them"
            raise _bad(path, "archives.use", why)
    return tuple(_switched(entry, on=entry.id in use) for entry in known.entries)


def _switched(entry: ArchiveEntry, *, on: bool) -> ArchiveEntry:
    if entry.use == on:
        return entry
    because = "Chosen in the configuration." if on else "Not chosen in the configuration."
    return replace(entry, use=on, because=because)


def _own_archives(table: Mapping[str, object], path: Path | None) -> tuple[ArchiveEntry, ...]:
    archives = table.get("archive", [])
    if not isinstance(archives, list) or not all(isinstance(one, dict) for one in archives):
        raise _bad(path, "archive", "must be written as [[archive]]")
    try:
        return tuple(
            entry_from(one, f"{path}: archive[{number}]")
            for number, one in enumerate(archives, start=1)
        )
    except BadEntry as error:
        raise BadConfig(str(error)) from error


def _memgator(path: Path | None) -> tuple[ArchiveEntry, ...]:
    if path is None:
        return ()
    try:
        return from_memgator(path.read_text(), str(path))
    except OSError as error:
        raise BadConfig(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BadConfig(str(error)) from error


def _bad(path: Path | None, key: str, why: str) -> BadConfig:
    return BadConfig(f"{path or 'TIMEGATE_' + key.upper()}: {key}: {why}")
