"""Archives by their names: read from an option, completed by a shell.

A shell waits for completion at every press of a key, so nothing here imports the web server.
"""

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from archives.registry import Registry, load_known
from timegate.config import BadConfig, load_config
from timegate.nearness import similar


def read_ids(option: str, text: str | None, registry: Registry) -> frozenset[str]:
    """Return the archives named, by id or as PWIDs name them; refuse those nobody knows."""
    ids = set()
    for name in filter(None, (one.strip() for one in (text or "").split(","))):
        entry = registry.by_id(name) or registry.by_pwid(name)
        if entry is None:
            meant = similar(name, (entry.id for entry in registry.entries))
            raise click.UsageError(f"{option}: there is no archive {name!r}.{meant}")
        ids.add(entry.id)
    return frozenset(ids)


def complete_id(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001 -- click's
    incomplete: str,
) -> list[CompletionItem]:
    """Return the archives whose ids begin like *incomplete*."""
    return [
        CompletionItem(entry.id, help=entry.name)
        for entry in _registry(ctx).entries
        if entry.id.startswith(incomplete)
    ]


def complete_ids(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the same for the last of several ids with commas between."""
    before, comma, last = incomplete.rpartition(",")
    return [
        CompletionItem(f"{before}{comma}{item.value}", help=item.help)
        for item in complete_id(ctx, param, last)
    ]


def _registry(ctx: click.Context) -> Registry:
    """Return the archives of the configuration that the line names so far."""
    config = ctx.params.get("config")
    if ctx.params.get("demo"):
        config = Path(__file__).parents[1] / "demo" / "demo.toml"
    try:
        return load_config(config, ctx.params.get("archives")).registry
    except BadConfig:
        # Half a line is no place to complain.
        return load_known()
