"""Writes docs/configuration.md out of the sections themselves: keys, types, defaults, meanings.

python -m tests.configuration_page > docs/configuration.md
"""

import ast
import inspect
import json
import sys
import types
import typing
from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Literal, get_args, get_origin

import msgspec

from archives.model import ArchiveEntry
from timegate.config.schema import File, sections

HEAD = """# Configuration

`timegate serve --config timegate.toml` reads this file. Each value of a section can also
come from the environment, which goes before the file: `TIMEGATE_CONTACT`,
`TIMEGATE_LISTEN_PORT`, `TIMEGATE_LIMITS_EXEMPT=10.0.0.0/8,::1`. Unknown keys, wrong types
and senseless values stop the start, and say where. `SIGHUP` reads it again while requests
are answered; a wrong one changes nothing, which is said in the log and at `/readyz`. Only
`[listen]` needs a restart: with workers, `SIGUSR2` replaces them one by one.

This page is written from the code (`python -m tests.configuration_page`), and a test
compares them.
"""
BEHIND_A_PROXY = """
Behind a reverse proxy every request comes from its address. Name it in
`limits.trusted_proxies`, or all the world counts as one client: from another machine it has 32
connections and 30 cold questions a minute together, from this one no limit of its own.
"""


def page() -> str:
    """Return the whole page."""
    parts = [HEAD, "\n## At the top\n\n", _table(File, skip=[*sections(), "archive"])]
    for name, struct in sections().items():
        parts.append(f"\n## `[{name}]`\n\n{inspect.cleandoc(struct.__doc__ or '')}\n\n")
        parts.append(_table(struct))
        if name == "limits":
            parts.append(BEHIND_A_PROXY)
    parts.append(
        "\n## `[[archive]]`\n\nAn archive of your own; `id`, `kind` and an endpoint do. "
        "`timemap` is short for `timemaps.link`.\n"
        "With `restricted_to`, a list of networks (CIDR), only clients from there learn what\n"
        "it holds: for all others it is not asked, not remembered, and not served.\n\n"
    )
    return "".join([*parts, _entry_table()])


def _table(struct: type[msgspec.Struct], skip: typing.Collection[str] = ()) -> str:
    meanings = _meanings(struct)
    rows = [
        f"| `{field.encode_name}` | {_type(field.type)} | {_shown(_default(field))} | "
        f"{meanings.get(field.encode_name, '')} |"
        for field in msgspec.structs.fields(struct)
        if field.encode_name not in skip
    ]
    return "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows, ""])


def _entry_table() -> str:
    rows = [
        f"| `{name}` | {meaning} |"
        for name, meaning in _meanings(ArchiveEntry).items()
        if name != "origin"
    ]
    return "\n".join(["| key | meaning |", "|---|---|", *rows, ""])


def _meanings(struct: type) -> dict[str, str]:
    """Return what stands below each field."""
    body = ast.parse(inspect.getsource(struct)).body[0]
    assert isinstance(body, ast.ClassDef)
    return dict(_told(body.body))


def _told(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement, following in pairwise(body):
        if isinstance(statement, ast.AnnAssign) and isinstance(following, ast.Expr):
            text = ast.literal_eval(following.value)
            yield ast.unparse(statement.target), " ".join(text.split()).replace("|", "\\|")


def _type(kind: object) -> str:
    if get_origin(kind) is Annotated:
        return _type(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return " or ".join(f'`"{value}"`' for value in get_args(kind))
    if isinstance(kind, types.UnionType) or get_origin(kind) is typing.Union:
        return " or ".join(_type(one) for one in get_args(kind) if one is not type(None))
    if get_origin(kind) is list:
        return f"list of {_type(get_args(kind)[0])}"
    if get_origin(kind) is dict:
        return "table"
    names = {str: "text", int: "number", bool: "true or false", float: "number"}
    return names.get(kind, str(kind)) if isinstance(kind, type) else str(kind)


def _default(field: msgspec.structs.FieldInfo) -> object:
    made = field.default_factory
    return field.default if made is msgspec.NODEFAULT else made()


def _shown(default: object) -> str:
    if default is None:
        return ""
    if isinstance(default, list | dict):
        return f"`{json.dumps(default or [])}`"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f'`"{default}"`' if isinstance(default, str) else f"`{default}`"


if __name__ == "__main__":
    sys.stdout.write(page())
