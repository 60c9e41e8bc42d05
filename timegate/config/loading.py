"""Reads the configuration file and the environment, and checks the values.

Each value can also come from the environment: ``TIMEGATE_CONTACT``, ``TIMEGATE_LISTEN_PORT``.
"""

import os
import re
import tomllib
from pathlib import Path
from typing import Final, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

import msgspec

from archives.surt import surt
from timegate.access.networks import Networks
from timegate.config.schema import (
    BadConfig,
    ChecksSection,
    Deny,
    File,
    LimitsSection,
    LiveSection,
    bad,
    sections,
)
from timegate.config.secrets import bounded_text

_PATH: Final = re.compile(r"`\$\.?([^`]*+)`")


def read_file(path: Path | None, where: str) -> File:
    """Read *path*; the environment takes precedence. Raises BadConfig."""
    return _converted(_overlaid({} if path is None else _table(path)), where)


def _table(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(bounded_text(path))
    except OSError as error:
        raise BadConfig(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: not TOML: {error}") from error
    except RecursionError as error:
        raise BadConfig(f"{path}: too many nested brackets") from error


def _overlaid(table: dict[str, object]) -> dict[str, object]:
    """Return *table* with values of the environment: TIMEGATE_LISTEN_PORT is listen.port."""
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
    """Convert the value of a variable to *kind*; wrong values are reported later."""
    types = {get_origin(each) or each for each in (kind, *get_args(kind))}
    if list in types:
        return [part.strip() for part in value.split(",") if part.strip()]
    if bool in types and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return int(value) if value.isdecimal() and str not in types else value


def _converted(table: dict[str, object], where: str) -> File:
    try:
        return msgspec.convert(table, File)
    except msgspec.ValidationError as error:
        raise bad(where, *_key_and_reason(str(error))) from error


def _key_and_reason(message: str) -> tuple[str, str]:
    """Split a message of msgspec: ``Expected `int`, got `str` - at `$.listen.port```."""
    reason, _, place = message.partition(" - at ")
    path = _PATH.search(place)
    key = path[1] if path else ""
    unknown = re.search(r"contains unknown field `([^`]*+)`", reason)
    if unknown:
        allowed = ", ".join(_fields_at(key))
        return ".".join(filter(None, (key, unknown[1]))), f"unknown; allowed are {allowed}"
    return key or "the file", reason.replace("`", "") + _hint(key, reason)


def _hint(key: str, reason: str) -> str:
    """Return the allowed values, where the reason does not name them."""
    section, _, name = key.rpartition(".")
    if reason.startswith("Invalid enum value"):
        kind = get_type_hints(sections()[section])[name]
        return f"; allowed: {', '.join(map(str, get_args(kind)))}"
    if key == "archive" and reason.endswith("got `object`"):
        return "; write [[archive]]"
    return ""


def _fields_at(key: str) -> tuple[str, ...]:
    return sections().get(key, File).__struct_fields__


_DURATION: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(ms|s|m)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_INTERVAL: Final = re.compile(r"([0-9]{1,6})([mhd])")
_SHORTEST_INTERVAL: Final = 600.0
"""Seconds. Shorter intervals would be polling (R-14)."""
_LONGEST_INTERVAL: Final = 7 * 86_400.0
"""Seconds. The cache drops histories of canaries a day later."""


def contact(file: File, where: str) -> str | None:
    contact = file.contact
    if contact is not None and not (contact.isascii() and contact.isprintable()):
        raise bad(where, "contact", "must be a URL or address in printable ASCII")
    return contact or None


def base_url(file: File, where: str) -> str | None:
    return None if file.base_url is None else web_address(file.base_url, where, "base_url")


def replay_url(file: File, where: str) -> str | None:
    key = "replay.base_url"
    if file.replay.base_url is None:
        return None
    address = web_address(file.replay.base_url, where, key)
    parts = urlsplit(address)
    if parts.path:
        raise bad(where, key, "must be an origin, without a path")
    if file.base_url is None or urlsplit(file.base_url).hostname == parts.hostname:
        raise bad(where, key, "must have another host than base_url, which must be given too")
    return address


def telemetry(file: File, where: str) -> str | None:
    endpoint = file.telemetry.endpoint
    return None if endpoint is None else web_address(endpoint, where, "telemetry.endpoint")


def deadlines(file: File, where: str) -> tuple[float, float]:
    soft = seconds(file.deadline.soft, where, "deadline.soft")
    hard = seconds(file.deadline.hard, where, "deadline.hard")
    if soft > hard:
        raise bad(where, "deadline.soft", f"must not be later than deadline.hard ({hard:g} s)")
    return soft, hard


def seconds(text: str, where: str, key: str) -> float:
    stated = _DURATION.fullmatch(text)
    seconds = float(stated[1]) * _SECONDS[stated[2]] if stated else 0.0
    # pywb #310: a timeout of 0 made every archive time out.
    if not 0 < seconds <= 120:
        raise bad(where, key, f"{text!r} must be like 2s, 500ms or 1m, over 0 and up to 2m")
    return seconds


def every(text: str | None, where: str, key: str) -> float | None:
    """Return the seconds of an interval between questions to archives; None for never."""
    if text is None:
        return None
    stated = _INTERVAL.fullmatch(text)
    seconds = float(stated[1]) * _SECONDS[stated[2]] if stated else 0.0
    if not _SHORTEST_INTERVAL <= seconds <= _LONGEST_INTERVAL:
        raise bad(where, key, f"{text!r} must be like 6h or 1d, from 10m to 7d")
    return seconds


def cache_limit(file: File, where: str) -> int | None:
    megabytes = file.cache.megabytes
    if megabytes is None:
        return None
    if not file.cache.url.startswith(("memory:", "sqlite:")):
        raise bad(where, "cache.megabytes", "for memory: and sqlite:; Redis has its maxmemory")
    return megabytes << 20


def limits(file: File, where: str) -> LimitsSection:
    for key in ("trusted_proxies", "exempt"):
        try:
            Networks(getattr(file.limits, key))
        except ValueError as error:
            raise bad(where, f"limits.{key}", f"{error}; write 192.0.2.0/24") from error
    return file.limits


def deny(file: File, where: str) -> Deny:
    for url in file.deny.urls:
        if "://" not in url or surt(url.rstrip("*")).startswith(("-", ")")):
            raise bad(where, "deny.urls", f"{url!r} must be like http://example.org/private/")
    for host in file.deny.hosts:
        if not host.strip(".") or any(character in host for character in "/:*@ "):
            raise bad(where, "deny.hosts", f"{host!r} must be a name, such as example.org")
    return file.deny


def checks(file: File, where: str, folder: Path) -> ChecksSection:
    """Check the section; a path is relative to the folder of the file."""
    section = file.checks
    if section.history is None:
        if section.run:
            raise BadConfig(f"{where}: checks.run needs checks.history, where results are kept")
        return section
    return ChecksSection(str(folder / Path(section.history).expanduser()), section.run)


def changes_file(file: File, folder: Path) -> Path | None:
    """Return where changes are kept, relative to the folder of the file; None for nowhere."""
    path = file.changes.path
    return None if path is None else folder / Path(path).expanduser()


_TOKEN: Final = re.compile(r"sha256:([0-9A-Fa-f]{64})")


_HOST_AND_PORT: Final = re.compile(r"(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\]):[0-9]{1,5}")


def live(file: File, where: str) -> LiveSection:
    """Return the section for requests to originals, with its hosts checked."""
    for host in file.live.hosts:
        if not _HOST_AND_PORT.fullmatch(host.lower()):
            raise bad(where, "live.hosts", f"{host!r} must be a host and a port: host:80")
    return msgspec.structs.replace(file.live, hosts=[h.lower() for h in file.live.hosts])


def token_digests(file: File, where: str) -> dict[str, tuple[bytes, ...]]:
    """Return the digests of the tokens of each store. A wrong one may be a token: not shown."""
    digests: dict[str, tuple[bytes, ...]] = {}
    for number, store in enumerate(file.store, start=1):
        stated = [_TOKEN.fullmatch(token) for token in store.tokens]
        if None in stated:
            why = "must be sha256: and 64 hexadecimal digits, never the token itself"
            raise bad(where, f"store[{number}].tokens", why)
        digests[store.id] = tuple(bytes.fromhex(each[1]) for each in stated if each)
    return digests


def web_address(text: str, where: str, key: str) -> str:
    parts = urlsplit(text)
    is_web = parts.scheme in ("http", "https") and parts.hostname and text.isascii()
    if not is_web or parts.query or parts.fragment or not text.isprintable():
        raise bad(where, key, "must be an http(s) URL without query, such as https://t.org")
    return text.rstrip("/")
