"""MemGator's list of archives, ``archives.json``, in and out.

It knows less than an `ArchiveEntry`: an id, a name, a TimeGate, a TimeMap, a probability and
whether to leave the archive alone. Probabilities are checked and dropped; nothing here ranks by
them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from archives.model import ArchiveEntry
from archives.registry.entry import BadEntry, entry_from

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "id": (str,),
    "name": (str,),
    "timegate": (str,),
    "timemap": (str,),
    "probability": (int, float),
    "ignore": (bool,),
}
# What can be an archive-id of a PWID: a domain, be it of one label.
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_NEEDED: Final = ("id", "timegate", "timemap")


def from_memgator(text: str, origin: str) -> tuple[ArchiveEntry, ...]:
    """Read such a list; *origin* names it in complaints, which also name index and key."""
    try:
        listed: object = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise BadEntry(origin, "", f"is no JSON: {error}") from None
    if not isinstance(listed, list):
        raise BadEntry(origin, "", "is no array of archives")
    entries = [_entry(each, origin, f"[{index}]") for index, each in enumerate(listed)]
    _refuse_repeated_ids(entries, origin)
    return _answering_to_shorter_names(entries)


def to_memgator(entries: Iterable[ArchiveEntry]) -> str:
    """Write the entries that have a TimeGate and a TimeMap in link format; no others fit."""
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


def _entry(row: object, origin: str, place: str) -> ArchiveEntry:
    if not isinstance(row, dict):
        raise BadEntry(origin, place, "is no object")
    for key, why in _objections(row):
        raise BadEntry(origin, f"{place}.{key}", why)
    ignored = row.get("ignore", False)
    table = {
        "id": row["id"].lower(),
        "name": row.get("name") or row["id"],
        "kind": "memento",
        "use": not ignored,
        "because": "set to ignore" if ignored else "listed",
        "pwid": [row["id"].lower()] if _NAME.fullmatch(row["id"].lower()) else [],
        "timegate": row["timegate"],
        "timemap": row["timemap"],
    }
    try:
        return entry_from(table, origin)
    except BadEntry as error:
        key = "timemap" if error.key == "timemaps.link" else error.key
        raise BadEntry(origin, f"{place}.{key}", error.why) from None


def _objections(row: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for key in _NEEDED:
        if not row.get(key):
            yield key, "is missing"
    for key, value in row.items():
        types = _TYPES.get(key)
        if types is None:
            yield key, f"no such key; allowed: {', '.join(_TYPES)}"
        elif not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            expected = " or ".join(each.__name__ for each in types)
            yield key, f"expected {expected}, got {type(value).__name__}"


def _refuse_repeated_ids(entries: Sequence[ArchiveEntry], origin: str) -> None:
    first: dict[str, int] = {}
    for index, entry in enumerate(entries):
        if first.setdefault(entry.id, index) != index:
            why = f"{entry.id!r} is also the id of [{first[entry.id]}]"
            raise BadEntry(origin, f"[{index}].id", why)


def _answering_to_shorter_names(entries: Sequence[ArchiveEntry]) -> tuple[ArchiveEntry, ...]:
    """Let a PWID's ``archive.org`` find the id ``web.archive.org``, if it is the only one."""
    claims = Counter(name for entry in entries for name in {entry.id, *_shorter(entry.id)})
    return tuple(
        replace(
            entry,
            pwid=(*entry.pwid, *(name for name in _shorter(entry.id) if claims[name] == 1)),
        )
        for entry in entries
    )


def _shorter(name: str) -> list[str]:
    """Return *name* with ever fewer labels, at least two."""
    labels = name.split(".")
    return [".".join(labels[index:]) for index in range(1, len(labels) - 1)]
