"""The registry of web archives: the TOML files in `archives/known`, and the operator's own.

All differences between archives that are data and not code are in those files. A list of
archives can also be read from, and written as, MemGator's ``archives.json``, which holds less
than an `ArchiveEntry`: id, name, TimeGate, TimeMap, a probability, and whether to ignore the
archive. Probabilities are validated and dropped; archives are not ranked by them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from archives.model import ArchiveEntry, Relocation
from archives.registry.entry import (
    DEFAULT_LIMITS,
    BadEntry,
    canary_from,
    endpoints,
    entry_from,
    entry_of_file,
    load_file,
    origin_of,
    read_entry,
)
from archives.registry.snapshot import (
    SNAPSHOT,
    digest_of,
    entry_of_row,
    read_snapshot,
    write_snapshot,
)

__all__ = [
    "DEFAULT_LIMITS",
    "KNOWN_FOLDER",
    "BadEntry",
    "Origin",
    "Registry",
    "bare_host",
    "canary_from",
    "endpoints",
    "entry_from",
    "from_memgator",
    "known_entries",
    "load_file",
    "load_known",
    "read_entry",
    "to_memgator",
    "write_known",
]

KNOWN_FOLDER: Final = Path(__file__).parents[1] / "known"
Origin = tuple[str, str, int]
_MOST_LABELS: Final = 127
"""RFC 1035 2.3.4: 255 octets. Longer names are not looked up, to bound the cost."""
_MEMGATOR_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "id": (str,),
    "name": (str,),
    "timegate": (str,),
    "timemap": (str,),
    "probability": (int, float),
    "ignore": (bool,),
}
# A possible archive-id of a PWID: a domain of one label or more.
_PWID_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_MEMGATOR_KEYS: Final = ("id", "timegate", "timemap")


class Registry:
    """An immutable set of archives. Raises BadEntry if two of them claim the same name."""

    __slots__ = ("_at_host", "_by_host", "_by_id", "_by_pwid", "_relocations")

    def __init__(self, entries: Iterable[ArchiveEntry], *, shared_hosts: bool = False) -> None:
        """With *shared_hosts*, several archives may have one host and differ by port or path.

        Operators configure that, and collections of one server share its host.
        """
        by_id: dict[str, ArchiveEntry] = {}
        by_pwid: dict[str, ArchiveEntry] = {}
        by_host: dict[str, ArchiveEntry] = {}
        at_host: dict[str, tuple[ArchiveEntry, ...]] = {}
        relocations: dict[str, list[Relocation]] = {}
        for entry in entries:
            _claim(by_id, "id", (entry.id,), entry)
            _claim(by_pwid, "pwid", entry.pwid, entry)
            for key, hosts in (("hosts", entry.hosts), ("former_hosts", entry.former_hosts)):
                new = [h for h in hosts if h not in by_host] if shared_hosts else hosts
                _claim(by_host, key, new, entry)
                for host in dict.fromkeys(hosts):
                    at_host[host] = (*at_host.get(host, ()), entry)
            for move in entry.relocations:
                relocations.setdefault(origin_of(move.dead)[1], []).append(move)
        self._by_id: Final[Mapping[str, ArchiveEntry]] = MappingProxyType(by_id)
        self._by_pwid: Final[Mapping[str, ArchiveEntry]] = MappingProxyType(by_pwid)
        self._by_host: Final[Mapping[str, ArchiveEntry]] = MappingProxyType(by_host)
        self._at_host: Final = MappingProxyType(
            {host: sharing for host, sharing in at_host.items() if len(sharing) > 1}
        )
        """The archives at hosts that have several."""
        self._relocations: Final[Mapping[str, tuple[Relocation, ...]]] = MappingProxyType(
            {
                host: tuple(sorted(moves, key=lambda move: -len(move.dead)))
                for host, moves in relocations.items()
            }
        )

    @property
    def entries(self) -> tuple[ArchiveEntry, ...]:
        """All archives, in the order they came."""
        return tuple(self._by_id.values())

    @property
    def used(self) -> tuple[ArchiveEntry, ...]:
        """The archives that are queried unless configured otherwise."""
        return tuple(entry for entry in self._by_id.values() if entry.use)

    def by_id(self, archive: str) -> ArchiveEntry | None:
        """Return the archive with exactly this id."""
        return self._by_id.get(archive)

    def by_pwid(self, archive_id: str) -> ArchiveEntry | None:
        """Return the archive with this archive-id in PWIDs."""
        return _longest(self._by_pwid, archive_id.lower())

    def by_host(self, host: str) -> ArchiveEntry | None:
        """Return the archive that serves, or once served, this host; any port is ignored.

        Of several, the first.
        """
        return _longest(self._by_host, bare_host(host))

    def at_host(self, host: str) -> tuple[ArchiveEntry, ...]:
        """Return all archives that serve, or once served, this host; any port is ignored."""
        name = bare_host(host)
        first = _longest(self._by_host, name)
        if first is None or not self._at_host:
            return () if first is None else (first,)
        served = next(suffix for suffix in _suffixes(name) if suffix in self._by_host)
        return self._at_host.get(served, (first,))

    def relocated(self, url: str) -> str | None:
        """Return the new address of a link whose host is defunct; None if there is none.

        Only links with a time are relocated: a stamp must follow the dead prefix.
        """
        try:
            split = urlsplit(url)
            host = split.hostname or ""
        except ValueError:
            return None
        after_host = url.partition("//")[2].partition("/")[2]
        for name in _suffixes(host):
            for move in self._relocations.get(name, ()):
                dead_path = move.dead.partition("//")[2].partition("/")[2]
                rest = after_host[len(dead_path) :]
                if after_host.startswith(dead_path) and rest[:1] in set("0123456789"):
                    return move.living + rest
        return None


def bare_host(authority: str) -> str:
    """Return the host in *authority* in lower case, without user, port and final dot."""
    host = authority.rpartition("@")[2].lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].removesuffix(".")


def _claim(
    index: dict[str, ArchiveEntry], key: str, names: Iterable[str], entry: ArchiveEntry
) -> None:
    for name in names:
        other = index.setdefault(name, entry)
        if other is not entry:
            why = f"{name!r} already belongs to {other.id} ({other.origin or 'no file'})"
            if key == "hosts":
                why += f'; an archive at the same host needs hosted_by = "{other.id}"'
            raise BadEntry(entry.origin or entry.id, key, why)


def _longest(index: Mapping[str, ArchiveEntry], name: str) -> ArchiveEntry | None:
    found = (index.get(suffix) for suffix in _suffixes(name))
    return next((entry for entry in found if entry is not None), None)


def _suffixes(name: str) -> Iterator[str]:
    """Yield *name*, then *name* without its first label, and so on: a.b.c, b.c, c."""
    if name.count(".") > _MOST_LABELS:
        return
    while name:
        yield name
        name = name.partition(".")[2]


@cache
def load_known() -> Registry:
    """Return the archives that ship with the package; they are read once."""
    return Registry(entry for _, entry in known_entries(KNOWN_FOLDER))


def known_entries(
    folder: Path, *, use_snapshot: bool = True
) -> Iterator[tuple[str, ArchiveEntry]]:
    """Yield the digest and the entry of each file of *folder*, from its snapshot if it can."""
    rows = read_snapshot(folder / SNAPSHOT) if use_snapshot else {}
    for name in sorted(path.name for path in folder.glob("*.toml")):
        text = (folder / name).read_bytes()
        digest, origin = digest_of(name, text), f"archives/known/{name}"
        row = rows.get(digest)
        if row is not None:
            yield digest, entry_of_row(row, origin)
        else:
            yield digest, entry_of_file(text.decode(), origin, name.removesuffix(".toml"))


def write_known() -> None:
    """Write the snapshot of the archives that ship with the package."""
    write_snapshot(
        KNOWN_FOLDER / SNAPSHOT, list(known_entries(KNOWN_FOLDER, use_snapshot=False))
    )


def from_memgator(text: str, origin: str) -> tuple[ArchiveEntry, ...]:
    """Read ``archives.json``; errors name *origin*, the index of the archive and the key."""
    import msgspec  # noqa: PLC0415 -- known archives are read without it

    try:
        listed: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadEntry(origin, "", f"is not JSON: {error}") from None
    if not isinstance(listed, list):
        raise BadEntry(origin, "", "is not an array of archives")
    entries = [_memgator_entry(each, origin, f"[{index}]") for index, each in enumerate(listed)]
    _check_unique_ids(entries, origin)
    return _with_shorter_pwids(entries)


def to_memgator(entries: Iterable[ArchiveEntry]) -> str:
    """Write ``archives.json``: the entries with a TimeGate and a TimeMap in link format."""
    import msgspec  # noqa: PLC0415 -- known archives are read without it

    rows = [
        {
            "id": entry.id,
            "name": entry.name,
            "timegate": entry.timegate,
            "timemap": entry.timemaps["link"],
            "probability": 1,
            "ignore": not entry.use,
        }
        for entry in entries
        if entry.timegate is not None and "link" in entry.timemaps
    ]
    return msgspec.json.format(msgspec.json.encode(rows), indent=2).decode() + "\n"


def _memgator_entry(row: object, origin: str, place: str) -> ArchiveEntry:
    if not isinstance(row, dict):
        raise BadEntry(origin, place, "is not an object")
    for key, why in _memgator_errors(row):
        raise BadEntry(origin, f"{place}.{key}", why)
    ignored = row.get("ignore", False)
    table = {
        "id": row["id"].lower(),
        "name": row.get("name") or row["id"],
        "kind": "memento",
        "use": not ignored,
        "because": "set to ignore" if ignored else "listed",
        "pwid": [row["id"].lower()] if _PWID_NAME.fullmatch(row["id"].lower()) else [],
        "timegate": row["timegate"],
        "timemap": row["timemap"],
    }
    try:
        return entry_from(table, origin)
    except BadEntry as error:
        key = "timemap" if error.key == "timemaps.link" else error.key
        raise BadEntry(origin, f"{place}.{key}", error.why) from None


def _memgator_errors(row: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for key in _MEMGATOR_KEYS:
        if not row.get(key):
            yield key, "is missing"
    for key, value in row.items():
        types = _MEMGATOR_TYPES.get(key)
        if types is None:
            yield key, f"unknown key; allowed: {', '.join(_MEMGATOR_TYPES)}"
        elif not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            expected = " or ".join(each.__name__ for each in types)
            yield key, f"expected {expected}, got {type(value).__name__}"


def _check_unique_ids(entries: Sequence[ArchiveEntry], origin: str) -> None:
    first: dict[str, int] = {}
    for index, entry in enumerate(entries):
        if first.setdefault(entry.id, index) != index:
            why = f"{entry.id!r} is also the id of [{first[entry.id]}]"
            raise BadEntry(origin, f"[{index}].id", why)


def _with_shorter_pwids(entries: Sequence[ArchiveEntry]) -> tuple[ArchiveEntry, ...]:
    """Add ``archive.org`` as archive-id of ``web.archive.org``, unless it is ambiguous."""
    claims = Counter(name for entry in entries for name in {entry.id, *_shorter(entry.id)})
    return tuple(
        replace(
            entry,
            pwid=(*entry.pwid, *(name for name in _shorter(entry.id) if claims[name] == 1)),
        )
        for entry in entries
    )


def _shorter(name: str) -> list[str]:
    """Return *name* without its first labels, down to two labels."""
    labels = name.split(".")
    return [".".join(labels[index:]) for index in range(1, len(labels) - 1)]
