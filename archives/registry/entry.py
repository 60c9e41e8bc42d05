"""Reads an `ArchiveEntry` from a TOML table; errors name the file and the key.

The same rules apply to the files in `archives/known` and to an operator's own archives; the
defaults of optional keys are here.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final, Literal, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from archives.diagnostics import Malformed
from archives.kinds import KINDS
from archives.model import ArchiveEntry, ArchiveKind, Canary, Limits, Rate
from archives.moment import Moment
from archives.registry.forms import compiled

DEFAULT_LIMITS: Final = Limits(
    memento=Rate(1, 1, burst=5),
    index=Rate(1, 1, burst=5),
    at_once=8,
    source="default until agreed",
)
FORMATS: Final = ("link", "json", "cdxj")
_NEEDED_IN_FILES: Final = ("id", "name", "kind", "use", "because", "access")
_ID_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.-_")


class BadEntry(ValueError):
    """An invalid entry: which file, which key, and what is allowed."""

    def __init__(self, origin: str, key: str, why: str) -> None:
        super().__init__(f"{origin}: {key}: {why}" if key else f"{origin}: {why}")
        self.origin = origin
        self.key = key
        self.why = why


def load_file(path: Path) -> ArchiveEntry:
    """Read one file; the name of the file must be the id of the archive."""
    return entry_of_file(path.read_text("utf-8"), str(path), path.stem)


def entry_of_file(text: str, origin: str, stem: str) -> ArchiveEntry:
    """Read a file called *stem*, in which more keys are required than of an operator."""
    table = _parsed(text, origin)
    for key in _NEEDED_IN_FILES:
        if key not in table:
            raise BadEntry(origin, key, "is missing")
    entry = entry_from(table, origin)
    if entry.id != stem:
        raise BadEntry(origin, "id", f"{entry.id!r} is not the name of the file")
    return entry


def read_entry(text: str, origin: str) -> ArchiveEntry:
    """Read one archive from TOML."""
    return entry_from(_parsed(text, origin), origin)


def entry_from(table: Mapping[str, object], origin: str) -> ArchiveEntry:
    """Read one archive from a table; ``id``, ``kind`` and what the kind needs are required.

    ``timemap = "..."`` is short for ``timemaps.link``.
    """
    for key in ("id", "kind"):
        if key not in table:
            raise BadEntry(origin, key, "is missing")
    kind = _kind(table["kind"], origin)
    entry = _converted({**_completed(table), "kind": kind}, origin)
    for key, why in _errors(entry):
        raise BadEntry(origin, key, why)
    return entry if entry.hosts else replace(entry, hosts=_hosts_of(entry))


def canary_from(table: Mapping[str, object], origin: str, key: str) -> Canary:
    """Read a canary; *key* is its key in the configuration."""
    for unknown, allowed in _unknown_keys(table, Canary, f"{key}."):
        raise BadEntry(origin, unknown, f"unknown key; allowed: {', '.join(allowed)}")
    import msgspec  # noqa: PLC0415 -- known archives are read without it

    try:
        canary = msgspec.convert(table, Canary)
    except msgspec.ValidationError as error:
        why, _, place = str(error).partition(" - at `$")
        raise BadEntry(origin, f"{key}{place.rstrip('`')}", why) from None
    for inner, why in _bad_canary(canary, key):
        raise BadEntry(origin, inner, why)
    return canary


def endpoints(entry: ArchiveEntry) -> Iterator[tuple[str, str]]:
    """Yield key and address of each endpoint of *entry*, templates included."""
    for key in ("timegate", "cdx", "replay", "raw"):
        address: str | None = getattr(entry, key)
        if address is not None:
            yield key, address
    for form, address in entry.timemaps.items():
        yield f"timemaps.{form}", address


def _parsed(text: str, origin: str) -> dict[str, object]:
    import tomllib  # noqa: PLC0415 -- known archives are read from a snapshot

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadEntry(origin, "", str(error)) from None


def _completed(table: Mapping[str, object]) -> dict[str, object]:
    completed: dict[str, object] = {
        "name": table["id"],
        "use": True,
        "because": "configured",
        "access": "open",
        "limits": DEFAULT_LIMITS,
        **table,
    }
    if "timemap" in completed and "timemaps" not in completed:
        completed["timemaps"] = {"link": completed.pop("timemap")}
    return completed


def _kind(name: object, origin: str) -> ArchiveKind:
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        why = f"{name!r} is not a kind of archive; allowed: {', '.join(KINDS)}"
        raise BadEntry(origin, "kind", why)
    return kind


def _converted(table: Mapping[str, object], origin: str) -> ArchiveEntry:
    import msgspec  # noqa: PLC0415 -- known archives are read without it

    for key, allowed in _unknown_keys(table, ArchiveEntry, ""):
        raise BadEntry(origin, key, f"unknown key; allowed: {', '.join(allowed)}")
    try:
        entry = msgspec.convert({**table, "origin": origin}, ArchiveEntry)
    except msgspec.ValidationError as error:
        why, _, place = str(error).partition(" - at `$")
        key = place.rstrip("`").lstrip(".")
        raise BadEntry(origin, key, why + _allowed_values(key)) from None
    return entry


def _unknown_keys(
    value: object, expected: type[object], path: str
) -> Iterator[tuple[str, list[str]]]:
    """Yield the path of each key that is no field of *expected*, with the fields there are."""
    if not isinstance(value, Mapping) or not is_dataclass(expected):
        return
    known = _fields_of(expected)
    for key, member in value.items():
        if key not in known:
            yield f"{path}{key}", list(known)
        elif (nested := known[key]) is not None:
            many = isinstance(member, Sequence) and not isinstance(member, str)
            for index, each in enumerate(member if many else [member]):
                place = f"{path}{key}[{index}]." if many else f"{path}{key}."
                yield from _unknown_keys(each, nested, place)


@cache
def _fields_of(kind: Hashable) -> dict[str, type[object] | None]:
    """Return the fields of a dataclass, each with the dataclass in its type if there is one."""
    found: dict[str, type[object] | None] = {}
    for name, hint in get_type_hints(kind).items():
        if name != "origin":
            nested = next(filter(is_dataclass, (hint, *get_args(hint))), None)
            found[name] = nested if isinstance(nested, type) else None
    return found


@cache
def _hints(kind: type[object]) -> dict[str, object]:
    """Return the types of the fields of *kind*, looked up once and not for every archive."""
    return get_type_hints(kind)


def _allowed_values(key: str) -> str:
    hint = _hints(ArchiveEntry).get(key)
    for choice in (hint, *get_args(hint)):
        if get_origin(choice) is Literal:
            return f"; allowed: {', '.join(get_args(choice))}"
    return ""


def _errors(entry: ArchiveEntry) -> Iterator[tuple[str, str]]:
    if not entry.id or not _ID_CHARACTERS.issuperset(entry.id):
        yield "id", f"{entry.id!r} is not made of a to z, 0 to 9, dot, hyphen and underscore"
    for key in entry.kind.needs:
        if getattr(entry, key) is None:
            yield key, f'is missing; kind = "{entry.kind}" needs it'
    if entry.cdx is not None and entry.dialect is None:
        yield "dialect", "is missing; cdx needs it"
    yield from _bad_endpoints(entry)
    yield from _bad_relocations(entry)
    yield from _bad_limits(entry.limits)
    yield from _bad_names(entry)
    yield from _bad_canary(entry.canary or Canary(), "canary")
    for index, form in enumerate(entry.forms):
        try:
            compiled(form.template)
        except ValueError as error:
            yield f"forms[{index}].template", str(error)


def _bad_endpoints(entry: ArchiveEntry) -> Iterator[tuple[str, str]]:
    for key, address in endpoints(entry):
        if _origin_of(address) is None:
            yield key, f"{address!r} is not an http or https address"
    for key in ("replay", "raw"):
        template: str | None = getattr(entry, key)
        for field in ("{uri}", "{time14}"):
            if template is not None and field not in template:
                yield key, f"{template!r} has no {field}"
    for form in entry.timemaps:
        if form not in FORMATS:
            yield f"timemaps.{form}", f"unknown format; allowed: {', '.join(FORMATS)}"


def _bad_relocations(entry: ArchiveEntry) -> Iterator[tuple[str, str]]:
    for index, move in enumerate(entry.relocations):
        for key in ("dead", "living"):
            if _origin_of(getattr(move, key)) is None:
                yield f"relocations[{index}].{key}", "is not an http or https address"


def _bad_limits(limits: Limits) -> Iterator[tuple[str, str]]:
    for key in ("memento", "index"):
        rate: Rate = getattr(limits, key)
        # Not `<= 0`, which NaN passes.
        if not (0 < rate.requests < float("inf") and 0 < rate.seconds < float("inf")):
            yield f"limits.{key}", "requests and seconds must be more than 0"
        if rate.burst < 1:
            yield f"limits.{key}.burst", "must be at least 1"
    if limits.at_once < 1:
        yield "limits.at_once", "must be at least 1"


def _bad_canary(canary: Canary, place: str) -> Iterator[tuple[str, str]]:
    for key, url in (("has", canary.has), ("lacks", canary.lacks)):
        if url is not None and (_origin_of(url) is None or not url.isprintable()):
            yield f"{place}.{key}", f"{url!r} is not an http or https address"
    try:
        if canary.at:
            Moment(canary.at)
    except Malformed as error:
        yield f"{place}.at", f"{canary.at!r}: {error.why}"


def _bad_names(entry: ArchiveEntry) -> Iterator[tuple[str, str]]:
    for key in ("hosts", "former_hosts"):
        for host in getattr(entry, key):
            if not host or host != host.lower() or set(host) & set("/:?#@ "):
                yield key, f"{host!r} is not a host in lower case without a port"
    for name in entry.pwid:
        if not name or name != name.lower() or set(name) & set("/: "):
            yield "pwid", f"{name!r} is not an archive-id in lower case"


def _hosts_of(entry: ArchiveEntry) -> tuple[str, ...]:
    """Return the hosts of the endpoints; none for an archive hosted by another archive."""
    if entry.hosted_by is not None:
        return ()
    origins = (_origin_of(address) for _, address in endpoints(entry))
    return tuple(dict.fromkeys(origin[1] for origin in origins if origin is not None))


def origin_of(address: str) -> tuple[str, str, int]:
    """Return scheme, host and port of an endpoint that has been validated."""
    origin = _origin_of(address)
    if origin is None:
        raise ValueError(f"{address!r} is not an http or https address")
    return origin


def _origin_of(address: str) -> tuple[str, str, int] | None:
    try:
        split = urlsplit(address)
        port = split.port
    except ValueError:
        return None
    if split.scheme not in ("http", "https") or not split.hostname:
        return None
    return split.scheme, split.hostname, port or (443 if split.scheme == "https" else 80)
