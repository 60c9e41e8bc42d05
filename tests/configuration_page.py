"""Writes docs/configuration.md from the schema: keys, types, defaults, meanings.

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

from archives.model import ArchiveEntry, Limits, Rate
from archives.registry import DEFAULT_LIMITS
from timegate.config import HOME_LIMITS
from timegate.config.schema import DelegateSection, File, SeriesSection, StoreSection, sections

HEAD = """# Configuration

`timegate serve --config timegate.toml` reads this file, and so do the commands that query
archives. Every value can also be set in the environment, which takes precedence:
`TIMEGATE_CONTACT`, `TIMEGATE_LISTEN_PORT`, `TIMEGATE_LIMITS_EXEMPT=10.0.0.0/8,::1`.

With an unknown key, a wrong type or an invalid value, the server does not start; the message
names the file, the key and the allowed values, and the exit code is 2.

`SIGHUP` (`systemctl reload timegate`) reads the file again without dropping requests. If the
new file is wrong, the old configuration stays in use, and the log and `/readyz` say so. Changes
in `[listen]` need a restart; with several workers, `SIGUSR2` replaces them one by one.

```toml
contact = "mailto:web@example.org"         # sent to archives in the User-Agent
base_url = "https://timegate.example.org"  # the public address of this server

[listen]
port = 1208
workers = 4

[cache]
url = "sqlite:/var/lib/timegate/cache.sqlite"

[archives]
use = ["internet-archive", "arquivo-pt"]   # ids of `timegate archives`

[[archive]]                                # an archive of your own
id = "intranet"
kind = "memento"                           # memento, wayback, cdx or warc
timegate = "http://wayback.local/all/"
timemap = "http://wayback.local/all/timemap/link/"
pwid = ["archive.example.org"]             # its archive-ids in PWIDs
```

The server connects to private addresses only if they are in this file.
[deploy/timegate.toml](../deploy/timegate.toml) is a template with every key. MemGator's
`archives.json` and LANL's `archivelist.xml` can be used as they are: `--archives FILE`.

This page is generated from the code (`python -m tests.configuration_page`), and a test compares
them.
"""
BEHIND_A_PROXY = """
Behind a reverse proxy, all requests come from the address of the proxy. Add that address to
`limits.trusted_proxies`; otherwise all users together count as one client, with 32 connections
and 30 cold queries a minute. If the proxy runs on the same machine, its address is exempt, and
no client would be limited.
"""
OWN_ARCHIVES = """
## `[[archive]]`

An archive of your own. Required are `id`, `kind` and an endpoint (`timegate`, `timemaps`, `cdx`
or `path`). `timemap` is short for `timemaps.link`. With `restricted_to`, a list of networks
(CIDR), only clients in these networks see what the archive holds: for all others it is not
queried, not read from the cache, and not served. They see its name, but not its endpoints, and
not how often or when it was queried (`/archives`, `/metrics`, `/monitor`, `/readyz`).

"""
LIMITS = """
### `[archive.limits]`

The rate limits of an archive of your own, below its `[[archive]]`; they apply to lists as well.
All four keys are needed together. A rate is `{ requests = 5, seconds = 1, burst = 5 }`: at most
so many requests in so many seconds, and at most `burst` of them at once (1 if it is left out).
Without this table, the limits under *private* apply if all hosts of the archive have private
addresses, and otherwise those under *public*:

"""
STORES = """
## `[[store]]`

"""


def page() -> str:
    """Return the whole page."""
    parts = [
        HEAD,
        "\n## Top level\n\n",
        _table(File, skip=[*sections(), "archive", "store", "series"]),
    ]
    for name, struct in sections().items():
        parts.append(f"\n## `[{name}]`\n\n{inspect.cleandoc(struct.__doc__ or '')}\n\n")
        parts.append(_table(struct))
        if name == "limits":
            parts.append(BEHIND_A_PROXY)
    parts += [OWN_ARCHIVES, _entry_table(), LIMITS, _limits_table()]
    parts += [STORES, inspect.cleandoc(StoreSection.__doc__ or ""), "\n\n"]
    parts += [_table(StoreSection)]
    for title, struct in (("series", SeriesSection), ("series.delegate", DelegateSection)):
        parts += [f"\n## `[[{title}]]`\n\n", inspect.cleandoc(struct.__doc__ or ""), "\n\n"]
        parts += [_table(struct)]
    return "".join(parts)


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


def _limits_table() -> str:
    """Return the keys of the rate limits, with both defaults."""
    rows = [
        f"| `{name}` | {_limit(getattr(HOME_LIMITS, name))} | "
        f"{_limit(getattr(DEFAULT_LIMITS, name))} | {meaning} |"
        for name, meaning in _meanings(Limits).items()
    ]
    head = ["| key | private | public | meaning |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, ""])


def _limit(value: object) -> str:
    if not isinstance(value, Rate):
        return f"`{json.dumps(value)}`"
    rate = f"requests = {value.requests:g}, seconds = {value.seconds:g}, burst = {value.burst}"
    return f"`{{ {rate} }}`"


def _meanings(struct: type) -> dict[str, str]:
    """Return the docstring below each field."""
    body = ast.parse(inspect.getsource(struct)).body[0]
    assert isinstance(body, ast.ClassDef)
    return dict(_docstrings(body.body))


def _docstrings(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
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
        return " or ".join(_type(part) for part in get_args(kind) if part is not type(None))
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
    if default is None or default is msgspec.NODEFAULT:
        return ""
    if isinstance(default, list | dict):
        return f"`{json.dumps(default or [])}`"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f'`"{default}"`' if isinstance(default, str) else f"`{default}`"


if __name__ == "__main__":
    sys.stdout.write(page())
