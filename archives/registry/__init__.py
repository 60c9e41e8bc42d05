"""What is known of each web archive: one TOML file each in `archives/known`, and users' own.

Everything that differs between archives and is no code stands in those files.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
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
from archives.registry.memgator import from_memgator, to_memgator

Origin = tuple[str, str, int]
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_MOST_LABELS: Final = 127
"""RFC 1035 2.3.4: 255 octets. Longer names are not looked up, so that look-ups stay cheap."""


class Registry:
    """An immutable set of archives. Raises BadEntry where two claim the same name."""

    __slots__ = ("_by_host", "_by_id", "_by_pwid", "_relocations")

    def __init__(self, entries: Iterable[ArchiveEntry], *, shared_hosts: bool = False) -> None:
        """*shared_hosts* lets archives live at one host, told apart by port or path.

        Operators do that; a link to such a host is read as one into the first of them.
        """
        by_id: dict[str, ArchiveEntry] = {}
        by_pwid: dict[str, ArchiveEntry] = {}
        by_host: dict[str, ArchiveEntry] = {}
        relocations: dict[str, list[Relocation]] = {}
        for entry in entries:
            _claim(by_id, "id", (entry.id,), entry)
            _claim(by_pwid, "pwid", entry.pwid, entry)
            for key, hosts in (("hosts", entry.hosts), ("former_hosts", entry.former_hosts)):
                new = [h for h in hosts if h not in by_host] if shared_hosts else hosts
                _claim(by_host, key, new, entry)
            for move in entry.relocations:
                relocations.setdefault(origin_of(move.dead)[1], []).append(move)
        self._by_id: Final[Mapping[str, ArchiveEntry]] = MappingProxyType(by_id)
        self._by_pwid: Final[Mapping[str, ArchiveEntry]] = MappingProxyType(by_pwid)
        self._by_host: Final[Mapping[str, ArchiveEntry]] = MappingProxyType(by_host)
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
        """Those that are asked unless configured otherwise."""
        return tuple(entry for entry in self._by_id.values() if entry.use)

    def by_id(self, archive: str) -> ArchiveEntry | None:
        """Return the archive with exactly this id."""
        return self._by_id.get(archive)

    def by_pwid(self, archive_id: str) -> ArchiveEntry | None:
        """Return the archive that a PWID's archive-id means."""
        return _longest(self._by_pwid, archive_id.lower())

    def by_host(self, host: str) -> ArchiveEntry | None:
        """Return the archive that serves, or once served, this host; a port does not matter."""
        return _longest(self._by_host, bare_host(host))

    def relocated(self, url: str) -> str | None:
        """Return where a link that died with its host lives on; None if it did not move.

        Only dated links move: what follows the dead prefix must be a stamp.
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

    def egress(self, entry: ArchiveEntry) -> frozenset[Origin]:
        """Return scheme, host and port of every server that asking *entry* may touch.

        Its endpoints; and its other hosts, to which archives redirect, on the usual ports of
        the schemes that the endpoints use.
        """
        asked = {origin_of(address) for _, address in endpoints(entry)}
        elsewhere = set(entry.hosts) - {host for _, host, _ in asked}
        schemes = {scheme for scheme, _, _ in asked}
        return frozenset(
            asked
            | {(each, host, _DEFAULT_PORTS[each]) for each in schemes for host in elsewhere}
        )


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
                why += f'; an archive that lives there says hosted_by = "{other.id}"'
            raise BadEntry(entry.origin or entry.id, key, why)


def _longest(index: Mapping[str, ArchiveEntry], name: str) -> ArchiveEntry | None:
    found = (index.get(suffix) for suffix in _suffixes(name))
    return next((entry for entry in found if entry is not None), None)


def _suffixes(name: str) -> Iterator[str]:
    """Yield *name*, then *name* with ever fewer labels: a.b.c, b.c, c."""
    if name.count(".") > _MOST_LABELS:
        return
    while name:
        yield name
        name = name.partition(".")[2]


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
