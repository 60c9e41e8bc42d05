"""The archives of a configuration: which known ones are queried, and the operator's own."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from archives.kinds import ORIGINAL
from archives.model import ArchiveEntry, Limits, Rate
from archives.registry import (
    DEFAULT_LIMITS,
    BadEntry,
    Registry,
    canary_from,
    endpoints,
    entry_from,
    from_memgator,
    load_known,
)
from archives.registry.lanl import from_lanl, is_xml
from archives.warc_index.model import is_remote_path
from timegate.access.networks import Networks
from timegate.config.schema import BadConfig, File, StoreSection, bad
from timegate.config.secrets import Secret, bounded_text, read_secret
from timegate.text import similar

HOME_LIMITS: Final = Limits(
    Rate(2000, 1, 2000), Rate(500, 1, 500), 64, "an archive at a private address is our own"
)
_OPERATOR_KEYS: Final = ("authorization", "restricted_to")
"""Keys of ``[[archive]]`` that configure this server and do not describe the archive."""


def used(file: File, where: str) -> tuple[ArchiveEntry, ...]:
    """Return the known archives; ``archives.use`` selects those that are queried."""
    known = load_known()
    use = file.archives.use
    if use is None:
        return known.entries
    own = {str(table.get("id")) for table in file.archive}
    for name in use:
        if known.by_id(name) is None and name not in own:
            ids = [*own, *(entry.id for entry in known.entries)]
            why = f"{name!r} is no archive; `timegate archives` lists them.{similar(name, ids)}"
            raise bad(where, "archives.use", why)
    return tuple(switched(entry, on=entry.id in use) for entry in known.entries)


def switched(entry: ArchiveEntry, *, on: bool) -> ArchiveEntry:
    if entry.use == on:
        return entry
    because = "Chosen in the configuration." if on else "Not chosen in the configuration."
    return replace(entry, use=on, because=because)


def own_archives(file: File, where: str, folder: Path) -> tuple[ArchiveEntry, ...]:
    try:
        entries = tuple(
            with_home_limits(entry_from(_without_keys(table), f"{where}: archive[{number}]"))
            for number, table in enumerate(file.archive, start=1)
        )
    except BadEntry as error:
        raise BadConfig(str(error)) from error
    return tuple(_with_paths(entry, folder) for entry in entries)


def store_archives(file: File, where: str, folder: Path) -> tuple[ArchiveEntry, ...]:
    """Return the stores as archives: collections of the files in their folders."""
    entries = []
    for number, store in enumerate(file.store, start=1):
        table = {
            "id": store.id,
            "name": store.name or store.id,
            "kind": "warc",
            "path": str(store_folder(store, folder)),
            "pwid": store.pwid,
            "because": "a store of this server",
        }
        try:
            entries.append(entry_from(table, f"{where}: store[{number}]"))
        except BadEntry as error:
            raise BadConfig(str(error)) from error
    taken = [str(table.get("id")) for table in file.archive] + [entry.id for entry in entries]
    for entry in entries:
        if taken.count(entry.id) > 1:
            raise bad(where, "store.id", f"{entry.id!r} is the id of another archive or store")
    return tuple(map(with_home_limits, entries))


def originals(file: File, where: str, own: Iterable[ArchiveEntry]) -> tuple[ArchiveEntry, ...]:
    """Return the originals themselves as an archive, if they are to be queried like one."""
    if not file.live.timegates:
        return ()
    if any(entry.id == ORIGINAL.name for entry in own):
        raise bad(where, "live.timegates", f"{ORIGINAL.name!r} is the id of another archive")
    rate = Rate(1, 1.0)
    entry = ArchiveEntry(
        ORIGINAL.name,
        "the original itself",
        ORIGINAL,
        use=True,
        because="live.timegates in the configuration allows it.",
        access="open",
        limits=Limits(rate, rate, 1, "of each host: one request at a time, one a second"),
        origin=where,
    )
    return (entry,)


def store_folder(store: StoreSection, folder: Path) -> Path:
    """Return the folder of a store; a relative path is relative to that of the file."""
    if is_remote_path(store.path):
        raise BadConfig(f"store {store.id}: path: must be a folder of this machine")
    return folder / Path(store.path).expanduser()


def memgator(path: Path | None) -> tuple[ArchiveEntry, ...]:
    if path is None:
        return ()
    try:
        text = bounded_text(path)
        read = from_lanl if is_xml(text) else from_memgator
        return tuple(map(with_home_limits, read(text, str(path))))
    except OSError as error:
        raise BadConfig(f"{path}: cannot be read: {error.strerror}") from error
    except RecursionError as error:
        raise BadConfig(f"{path}: too many nested brackets") from error
    except UnicodeDecodeError as error:
        raise BadConfig(f"{path}: is not UTF-8, from byte {error.start} on") from error
    except ValueError as error:
        raise BadConfig(str(error)) from error


def joined(known: tuple[ArchiveEntry, ...], own: tuple[ArchiveEntry, ...]) -> Registry:
    own_ids = {entry.id for entry in own}
    names = {name for entry in own for name in entry.pwid}
    try:
        others = (_without(entry, names) for entry in known if entry.id not in own_ids)
        return Registry((*others, *own), shared_hosts=True)
    except BadEntry as error:
        raise BadConfig(str(error)) from error


def with_canaries(registry: Registry, file: File, where: str) -> Registry:
    """Return *registry* with the canary pages of ``[canaries.pages.ID]``."""
    pages = file.canaries.pages
    if not pages:
        return registry
    entries = {entry.id: entry for entry in registry.entries}
    for name, table in pages.items():
        key = f"canaries.pages.{name}"
        if name not in entries:
            raise bad(where, key, f"there is no such archive.{similar(name, list(entries))}")
        try:
            canary = canary_from(table, where, key)
        except BadEntry as error:
            raise BadConfig(str(error)) from error
        entries[name] = replace(entries[name], canary=canary)
    return Registry(entries.values(), shared_hosts=True)


def restricted(file: File, where: str) -> dict[str, tuple[str, ...]]:
    """Return the networks of each restricted archive. An empty list of networks is an error."""
    restricted = {}
    for number, table in enumerate(file.archive, start=1):
        if "restricted_to" in table:
            key = f"archive[{number}].restricted_to"
            texts = table["restricted_to"]
            if not isinstance(texts, list) or not texts:
                raise bad(where, key, "must be a list of networks, such as 192.0.2.0/24")
            try:
                Networks(map(str, texts))
            except ValueError as error:
                raise bad(where, key, f"{error}; write 192.0.2.0/24") from error
            restricted[str(table["id"])] = tuple(map(str, texts))
    return restricted


def authorizations(
    file: File, where: str, own: Iterable[ArchiveEntry], folder: Path
) -> dict[str, Secret]:
    """Return the secrets for archives, which must use https and be restricted."""
    entries = {entry.id: entry for entry in own}
    secrets = {}
    for number, table in enumerate(file.archive, start=1):
        if "authorization" not in table:
            continue
        key = f"archive[{number}].authorization"
        entry = entries[str(table["id"])]
        if "restricted_to" not in table:
            raise bad(where, key, "needs restricted_to: the networks that may see the archive")
        if not all(url.startswith("https://") for _, url in endpoints(entry)):
            raise bad(where, key, "is sent over https only; give https endpoints")
        try:
            secrets[entry.id] = read_secret(table["authorization"], folder)
        except ValueError as error:
            raise bad(where, key, str(error)) from None
    return secrets


def is_local(entry: ArchiveEntry) -> bool:
    """Whether *entry* is a local collection that is in use."""
    return entry.kind.is_local and entry.use and entry.access != "onsite-only"


def is_public(entry: ArchiveEntry) -> bool:
    """Whether *entry* is a public archive: one of its hosts is neither private nor internal."""
    if entry.kind.asks_originals:
        return True
    return not entry.kind.is_local and not all(
        _is_private(host) or _is_internal(host) for host in entry.hosts
    )


def _without(entry: ArchiveEntry, names: set[str]) -> ArchiveEntry:
    """Return *entry* without the archive-ids *names*, which are those of own archives."""
    if names.isdisjoint(entry.pwid):
        return entry
    return replace(entry, pwid=tuple(name for name in entry.pwid if name not in names))


def _without_keys(table: Mapping[str, object]) -> dict[str, object]:
    """Return *table* without the keys that configure this server."""
    return {key: value for key, value in table.items() if key not in _OPERATOR_KEYS}


def _with_paths(entry: ArchiveEntry, folder: Path) -> ArchiveEntry:
    """Return a local collection with absolute paths, relative to the configuration file."""
    if not entry.kind.is_local or entry.path is None:
        return entry
    index = entry.index and str(folder / Path(entry.index).expanduser())
    if is_remote_path(entry.path):
        if index is None and entry.cdx is None:
            raise BadConfig(f"{entry.origin}: index: is required if the files are remote")
        return replace(entry, index=index)
    path = folder / Path(entry.path).expanduser()
    if not path.exists():
        raise BadConfig(f"{entry.origin}: path: there is no {path}")
    return replace(entry, path=str(path), index=index)


def with_home_limits(entry: ArchiveEntry) -> ArchiveEntry:
    """Return *entry* with higher rate limits where all its hosts have private addresses."""
    if entry.limits != DEFAULT_LIMITS or not all(map(_is_private, entry.hosts)):
        return entry
    return replace(entry, limits=HOME_LIMITS)


def _is_private(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_private
    except ValueError:
        return host == "localhost"


def _is_internal(host: str) -> bool:
    """Whether a name cannot be in the public DNS: RFC 6762, RFC 9476 and old practice."""
    return "." not in host or host.endswith((".local", ".internal", ".lan", ".home.arpa"))
