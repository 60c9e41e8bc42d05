"""From a file and the environment to the types of `timegate.settings`.

Each value can also come from the environment: ``TIMEGATE_CONTACT``, ``TIMEGATE_LISTEN_PORT``.
"""

import os
import re
import tomllib
from pathlib import Path
from typing import Final, get_args, get_origin, get_type_hints

import msgspec

from timegate.config.complaint import BadConfig, bad
from timegate.settings import File, sections

_PATH: Final = re.compile(r"`\$\.?([^`]*+)`")


def read_file(path: Path | None, where: str) -> File:
    """Read *path*, with the environment over it. Raises BadConfig."""
    return _converted(_overlaid({} if path is None else _table(path)), where)


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
        raise bad(where, *_key_and_reason(str(error))) from error


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
