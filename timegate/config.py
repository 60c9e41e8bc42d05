"""``timegate.toml``: what an operator decides. Every complaint names the file and the key.

Each value can also come from the environment: ``TIMEGATE_CONTACT``, ``TIMEGATE_LISTEN_PORT``.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Final, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

import msgspec

from archives.collection.place import is_elsewhere
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
from archives.surt import surt
from timegate.nearness import similar
from timegate.networks import Networks
from timegate.secret import Secret, read_secret
from timegate.settings import (
    ChecksSection,
    Deny,
    File,
    LimitsSection,
    Listen,
    LogSection,
    sections,
)


class BadConfig(ValueError):
    """A configuration that cannot be used; says which file, which key, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Config:
    """What is known before the first request."""

    registry: Registry
    contact: str | None = None
    """In the User-Agent; needed before public archives are asked."""
    base_url: str | None = None
    """What links in answers are built from; None for where the server listens."""
    listen: Listen = field(default_factory=Listen)
    soft: float = 2.0
    hard: float = 5.0
    cache: str = "memory:"
    cache_limit: int | None = None
    """Octets; None for what the kind of cache has by default."""
    replicas: int | None = None
    """How many servers share the cache and the manners towards archives, where it is known."""
    mementomaps: Mapping[str, str] = field(default_factory=dict)
    private: frozenset[str] = frozenset()
    """Ids of the operator's own archives: only these may be at private addresses."""
    delays: Mapping[str, float] = field(default_factory=dict)
    """Seconds by which an archive of the demo answers late; no file can set it."""
    old_redirects: bool = False
    """Whether to lead to a page where there is no copy, as Time Travel did."""
    limits: LimitsSection = field(default_factory=LimitsSection)
    queue_wait: float = 0.5
    log: LogSection = field(default_factory=LogSection)
    checks: ChecksSection = field(default_factory=ChecksSection)
    canaries_every: float | None = None
    """Seconds between two canaries of a kind; None for none. Which pages, the entries say."""
    deny: Deny = field(default_factory=Deny)
    forward_proxy: bool = False
    telemetry: str | None = None
    """Where spans are sent; None for nowhere."""
    replay_url: str | None = None
    """The origin of archived bytes; None where there is but one."""
    restricted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The networks from which an archive's holdings may be seen, by its id."""
    authorizations: Mapping[str, Secret] = field(default_factory=dict)
    """What is sent as Authorization to an archive, by its id."""


HOME_LIMITS: Final = Limits(
    Rate(2000, 1, 2000), Rate(500, 1, 500), 64, "an archive at a private address is our own"
)
_DURATION: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(ms|s|m)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_INTERVAL: Final = re.compile(r"([0-9]{1,6})([mhd])")
_SHORTEST_INTERVAL: Final = 600.0
"""Seconds. More often, it would be polling (R14)."""
_LONGEST_INTERVAL: Final = 7 * 86_400.0
"""Seconds. The cache forgets histories of canaries a day later."""
_OURS: Final = ("authorization", "restricted_to")
"""Keys of an archive that say what we do with it."""
_PATH: Final = re.compile(r"`\$\.?([^`]*+)`")


def load_config(path: Path | None, archives: Path | None = None) -> Config:
    """Read *path* and MemGator's list *archives*, where they are given; then the environment.

    Raises BadConfig.
    """
    where = "the environment" if path is None else str(path)
    file = _converted(_overlaid({} if path is None else _table(path)), where)
    folder = Path() if path is None else path.parent
    own = (*_own_archives(file, where, folder.absolute()), *_memgator(archives))
    known = _used(file, where)
    if archives is not None and file.archives.use is None:
        # As with MemGator, the list is the list.
        known = tuple(_switched(entry, on=False) for entry in known)
    return Config(
        _with_canaries(_registry(known, own), file, where),
        _contact(file, where),
        _base_url(file, where),
        file.listen,
        *_deadlines(file, where),
        file.cache.url,
        _cache_limit(file, where),
        file.cache.replicas,
        file.archives.mementomaps,
        frozenset(entry.id for entry in own),
        old_redirects=file.compatibility.redirect_if_none,
        limits=_limits(file, where),
        queue_wait=_seconds(file.limits.queue_wait, where, "limits.queue_wait"),
        log=file.log,
        checks=_checks(file, where, folder.absolute()),
        canaries_every=_every(file, where),
        deny=_deny(file, where),
        forward_proxy=file.forward_proxy.enabled,
        replay_url=_replay_url(file, where),
        telemetry=_telemetry(file, where),
        restricted=_restricted(file, where),
        authorizations=_authorizations(file, where, own, folder.absolute()),
    )


def _checks(file: File, where: str, folder: Path) -> ChecksSection:
    """Read the section; a path counts from the folder of the file."""
    section = file.checks
    if section.history is None:
        if section.run:
            raise BadConfig(f"{where}: checks.run needs checks.history, where results are kept")
        return section
    return ChecksSection(str(folder / Path(section.history).expanduser()), section.run)


def _table(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise BadConfig(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: not TOML: {error}") from error


def _overlaid(table: dict[str, object]) -> dict[str, object]:
    """Put the environment over the file: TIMEGATE_LISTEN_PORT is listen.port."""
    for name in ("contact", "base_url"):
        if value := os.environ.get(f"TIMEGATE_{name.upper()}"):
            table[name] = value
    for section, struct in sections().items():
        for key, kind in get_type_hints(struct).items():
            if value := os.environ.get(f"TIMEGATE_{section}_{key}".upper()):
                inner = table.setdefault(section, {})
                if isinstance(inner, dict):
                    inner[key] = _from_environment(value, kind)
    return table


def _from_environment(value: str, kind: object) -> object:
    """Return what a variable means where *kind* is wanted; what is wrong is found later."""
    wanted = {get_origin(one) or one for one in (kind, *get_args(kind))}
    if list in wanted:
        return [part.strip() for part in value.split(",") if part.strip()]
    if bool in wanted and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return int(value) if value.isdecimal() and str not in wanted else value


def _converted(table: dict[str, object], where: str) -> File:
    try:
        return msgspec.convert(table, File)
    except msgspec.ValidationError as error:
        raise _bad(where, *_key_and_reason(str(error))) from error


def _key_and_reason(message: str) -> tuple[str, str]:
    """Take ``Expected `int`, got `str` - at `$.listen.port``` apart."""
    reason, _, place = message.partition(" - at ")
    path = _PATH.search(place)
    key = path[1] if path else ""
    unknown = re.search(r"contains unknown field `([^`]*+)`", reason)
    if unknown:
        allowed = ", ".join(_fields_at(key))
        return ".".join(filter(None, (key, unknown[1]))), f"unknown; allowed are {allowed}"
    return key or "the file", reason.replace("`", "") + _hint(key, reason)


def _hint(key: str, reason: str) -> str:
    """Return what to write instead, where the reason does not say it."""
    section, _, name = key.rpartition(".")
    if reason.startswith("Invalid enum value"):
        kind = get_type_hints(sections()[section])[name]
        return f"; allowed: {', '.join(map(str, get_args(kind)))}"
    if key == "archive" and reason.endswith("got `object`"):
        return "; write [[archive]]"
    return ""


def _fields_at(key: str) -> tuple[str, ...]:
    return sections().get(key, File).__struct_fields__


def _cache_limit(file: File, where: str) -> int | None:
    megabytes = file.cache.megabytes
    if megabytes is None:
        return None
    if not file.cache.url.startswith(("memory:", "sqlite:")):
        raise _bad(where, "cache.megabytes", "for memory: and sqlite:; Redis has its maxmemory")
    return megabytes << 20


def _limits(file: File, where: str) -> LimitsSection:
    for key in ("trusted_proxies", "exempt"):
        try:
            Networks(getattr(file.limits, key))
        except ValueError as error:
            raise _bad(where, f"limits.{key}", f"{error}; write 192.0.2.0/24") from error
    return file.limits


def _contact(file: File, where: str) -> str | None:
    contact = file.contact
    if contact is not None and not (contact.isascii() and contact.isprintable()):
        raise _bad(where, "contact", "must be a URL or address in printable ASCII")
    return contact or None


def _base_url(file: File, where: str) -> str | None:
    return None if file.base_url is None else _address(file.base_url, where, "base_url")


def _telemetry(file: File, where: str) -> str | None:
    endpoint = file.telemetry.endpoint
    return None if endpoint is None else _address(endpoint, where, "telemetry.endpoint")


def _replay_url(file: File, where: str) -> str | None:
    key = "replay.base_url"
    if file.replay.base_url is None:
        return None
    address = _address(file.replay.base_url, where, key)
    parts = urlsplit(address)
    if parts.path:
        raise _bad(where, key, "must be an origin, without a path")
    if file.base_url is None or urlsplit(file.base_url).hostname == parts.hostname:
        raise _bad(where, key, "must have another host than base_url, which must be given too")
    return address


def _address(text: str, where: str, key: str) -> str:
    parts = urlsplit(text)
    sound = parts.scheme in ("http", "https") and parts.hostname and text.isascii()
    if not sound or parts.query or parts.fragment or not text.isprintable():
        raise _bad(where, key, "must be an http(s) URL without query, such as https://t.org")
    return text.rstrip("/")


def _deadlines(file: File, where: str) -> tuple[float, float]:
    soft = _seconds(file.deadline.soft, where, "deadline.soft")
    hard = _seconds(file.deadline.hard, where, "deadline.hard")
    if soft > hard:
        raise _bad(where, "deadline.soft", f"must not be later than deadline.hard ({hard:g} s)")
    return soft, hard


def _seconds(text: str, where: str, key: str) -> float:
    stated = _DURATION.fullmatch(text)
    seconds = float(stated[1]) * _SECONDS[stated[2]] if stated else 0.0
    # pywb #310: a timeout of 0 made every archive time out.
    if not 0 < seconds <= 120:
        raise _bad(where, key, f"{text!r} must be like 2s, 500ms or 1m, over 0 and up to 2m")
    return seconds


def _every(file: File, where: str) -> float | None:
    text = file.canaries.every
    if text is None:
        return None
    stated = _INTERVAL.fullmatch(text)
    seconds = float(stated[1]) * _SECONDS[stated[2]] if stated else 0.0
    if not _SHORTEST_INTERVAL <= seconds <= _LONGEST_INTERVAL:
        raise _bad(where, "canaries.every", f"{text!r} must be like 6h or 1d, from 10m to 7d")
    return seconds


def _with_canaries(registry: Registry, file: File, where: str) -> Registry:
    """Return *registry* with the pages that the operator names in place of others."""
    pages = file.canaries.pages
    if not pages:
        return registry
    entries = {entry.id: entry for entry in registry.entries}
    for name, table in pages.items():
        key = f"canaries.pages.{name}"
        if name not in entries:
            raise _bad(where, key, f"there is no such archive.{similar(name, list(entries))}")
        try:
            canary = canary_from(table, where, key)
        except BadEntry as error:
            raise BadConfig(str(error)) from error
        entries[name] = replace(entries[name], canary=canary)
    return Registry(entries.values(), shared_hosts=True)


def _registry(known: tuple[ArchiveEntry, ...], own: tuple[ArchiveEntry, ...]) -> Registry:
    ours = {entry.id for entry in own}
    names = {name for entry in own for name in entry.pwid}
    try:
        kept = (_without(entry, names) for entry in known if entry.id not in ours)
        return Registry((*kept, *own), shared_hosts=True)
    except BadEntry as error:
        raise BadConfig(str(error)) from error


def _without(entry: ArchiveEntry, names: set[str]) -> ArchiveEntry:
    """Return *entry* without the archive-ids that an archive of the operator's answers to."""
    if names.isdisjoint(entry.pwid):
        return entry
    return replace(entry, pwid=tuple(name for name in entry.pwid if name not in names))


def _used(file: File, where: str) -> tuple[ArchiveEntry, ...]:
    """Return the known archives; ``archives.use`` says which are asked."""
    known = load_known()
    use = file.archives.use
    if use is None:
        return known.entries
    own = {str(one.get("id")) for one in file.archive}
    for name in use:
        if known.by_id(name) is None and name not in own:
            ids = [*own, *(entry.id for entry in known.entries)]
            why = f"{name!r} is no archive; `timegate archives` lists them.{similar(name, ids)}"
            raise _bad(where, "archives.use", why)
    return tuple(_switched(entry, on=entry.id in use) for entry in known.entries)


def _switched(entry: ArchiveEntry, *, on: bool) -> ArchiveEntry:
    if entry.use == on:
        return entry
    because = "Chosen in the configuration." if on else "Not chosen in the configuration."
    return replace(entry, use=on, because=because)


def _own_archives(file: File, where: str, folder: Path) -> tuple[ArchiveEntry, ...]:
    try:
        entries = tuple(
            _at_home(entry_from(_without_keys(one), f"{where}: archive[{number}]"))
            for number, one in enumerate(file.archive, start=1)
        )
    except BadEntry as error:
        raise BadConfig(str(error)) from error
    return tuple(_located(entry, folder) for entry in entries)


def _deny(file: File, where: str) -> Deny:
    for url in file.deny.urls:
        if "://" not in url or surt(url.rstrip("*")).startswith(("-", ")")):
            raise _bad(where, "deny.urls", f"{url!r} must be like http://example.org/private/")
    for host in file.deny.hosts:
        if not host.strip(".") or any(character in host for character in "/:*@ "):
            raise _bad(where, "deny.hosts", f"{host!r} must be a name, such as example.org")
    return file.deny


def _without_keys(table: Mapping[str, object]) -> dict[str, object]:
    """Return what describes the archive, without what we do with it."""
    return {key: value for key, value in table.items() if key not in _OURS}


def _restricted(file: File, where: str) -> dict[str, tuple[str, ...]]:
    """Return who may see which archive. No network at all would hide it from everybody."""
    restricted = {}
    for number, table in enumerate(file.archive, start=1):
        if "restricted_to" in table:
            key = f"archive[{number}].restricted_to"
            texts = table["restricted_to"]
            if not isinstance(texts, list) or not texts:
                raise _bad(where, key, "must be a list of networks, such as 192.0.2.0/24")
            try:
                Networks(map(str, texts))
            except ValueError as error:
                raise _bad(where, key, f"{error}; write 192.0.2.0/24") from error
            restricted[str(table["id"])] = tuple(map(str, texts))
    return restricted


def _authorizations(
    file: File, where: str, own: Iterable[ArchiveEntry], folder: Path
) -> dict[str, Secret]:
    """Return the secrets for archives: sent over https, and what they unlock not to all."""
    entries = {entry.id: entry for entry in own}
    secrets = {}
    for number, table in enumerate(file.archive, start=1):
        if "authorization" not in table:
            continue
        key = f"archive[{number}].authorization"
        entry = entries[str(table["id"])]
        if "restricted_to" not in table:
            raise _bad(where, key, "say with restricted_to who may see what it unlocks")
        if not all(url.startswith("https://") for _, url in endpoints(entry)):
            raise _bad(where, key, "is sent over https only; give https endpoints")
        try:
            secrets[entry.id] = read_secret(table["authorization"], folder)
        except ValueError as error:
            raise _bad(where, key, str(error)) from None
    return secrets


def _located(entry: ArchiveEntry, folder: Path) -> ArchiveEntry:
    """Return a local collection with the paths that are meant: beside the configuration."""
    if entry.kind != "warc" or entry.path is None:
        return entry
    index = entry.index and str(folder / Path(entry.index).expanduser())
    if is_elsewhere(entry.path):
        if index is None and entry.cdx is None:
            raise BadConfig(f"{entry.origin}: index: is needed where the files are elsewhere")
        return replace(entry, index=index)
    path = folder / Path(entry.path).expanduser()
    if not path.exists():
        raise BadConfig(f"{entry.origin}: path: there is no {path}")
    return replace(entry, path=str(path), index=index)


def _at_home(entry: ArchiveEntry) -> ArchiveEntry:
    """Return *entry* without the manners of a guest where its hosts are our own."""
    if entry.limits != DEFAULT_LIMITS or not all(map(_is_private, entry.hosts)):
        return entry
    return replace(entry, limits=HOME_LIMITS)


def is_public(entry: ArchiveEntry) -> bool:
    """Whether somebody else runs *entry*, as far as its hosts tell."""
    return entry.kind != "warc" and not all(
        _is_private(host) or _is_internal(host) for host in entry.hosts
    )


def _is_private(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_private
    except ValueError:
        return host == "localhost"


def _is_internal(host: str) -> bool:
    """Whether a name cannot be one of the public DNS: RFC 6762, RFC 9476 and old habits."""
    return "." not in host or host.endswith((".local", ".internal", ".lan", ".home.arpa"))


def _memgator(path: Path | None) -> tuple[ArchiveEntry, ...]:
    if path is None:
        return ()
    try:
        return tuple(map(_at_home, from_memgator(path.read_text(), str(path))))
    except OSError as error:
        raise BadConfig(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BadConfig(str(error)) from error


def _bad(where: str, key: str, why: str) -> BadConfig:
    variable = f"TIMEGATE_{key.replace('.', '_')}".upper()
    place = f"{variable} in the environment" if variable in os.environ else f"{where}: {key}"
    return BadConfig(f"{place}: {why}")
