"""``timegate misbehave``: an archive for the authors of Memento clients, wrong on demand."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from typing import Final, Literal

import click

from timegate.misbehave import EXAMPLE, FAULTS, Archive, ArchiveOptions, served
from timegate.misbehave.archive import describe, description_lines
from timegate.misbehave.faults import Chance, is_per_request
from timegate.misbehave.wire import HOST, MissingLibrary, WireRequest
from timegate.text import escaped, similar

_EXAMPLES: Final = """\b
Examples:
  timegate misbehave --list
  timegate misbehave --seconds 0 --fault wrong-closest --fault vary-missing
  timegate misbehave --seconds 0 --chance 0.2 --seed 7089 --json
"""
_FEW: Final = 2
"""Mementos on one page of a TimeMap, so that the few there are need several."""
_FILE: Final = click.Path(dir_okay=False, path_type=Path)
_LISTS: Final = click.Choice(["whole", "pages", "index"])


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the archive is served, and for how long."""

    host: str
    port: int
    base_url: str | None
    seconds: float
    ca: Path | None


def _known(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the faults given, if there are such."""
    for name in names:
        if name not in FAULTS:
            why = f"no fault {name!r}; --list shows all.{similar(name, FAULTS)}"
            raise click.BadParameter(why)
    return names


@click.command("misbehave", epilog=_EXAMPLES)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0: any free one.")
@click.option("--host", default=HOST, show_default=True, help="Where to listen.")
@click.option("--base-url", metavar="URL", help="What links begin with; else host and port.")
@click.option(
    "--fault", "faults", multiple=True, metavar="NAME", callback=_known, help="See --list."
)
@click.option("--chance", type=click.FloatRange(0, 1), help="Share of requests with a fault.")
@click.option("--seed", type=int, help="For --chance: draw the same faults again.")
@click.option(
    "--style", type=click.Choice(["302", "200"]), default="302", help="Of the TimeGate."
)
@click.option("--timemap", type=_LISTS, default="whole", help="How the TimeMap is cut.")
@click.option(
    "--ca", type=_FILE, metavar="FILE", help="Keep the authority of TLS faults there."
)
@click.option("--seconds", type=click.FloatRange(0), default=3600.0, help="When to end.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--list", "listing", is_flag=True, help="Print all faults, and end.")
def misbehave_command(  # noqa: PLR0913 -- one parameter for each option
    *,
    port: int,
    host: str,
    base_url: str | None,
    faults: tuple[str, ...],
    chance: float | None,
    seed: int | None,
    style: Literal["302", "200"],
    timemap: Literal["whole", "pages", "index"],
    ca: Path | None,
    seconds: float,
    as_json: bool,
    listing: bool,
) -> None:
    """Be a Memento archive that is right by default, and wrong on demand.

    With --fault, given once or several times, every answer is wrong in these ways; with
    --chance a share of them, each in one way (of those given, or of all). A request may wish
    for a fault itself: with Prefer: misbehave=NAME, or with /~NAME in front of its path.
    Answers tell their fault in X-Misbehaviour, and a line on standard error does. It ends by
    itself after an hour, or --seconds.
    """
    if listing:
        _print_faults(as_json=as_json)
        return
    archive = Archive(EXAMPLE, "+".join(faults) or "none", ArchiveOptions(style, timemap, _FEW))
    archive.on_request = _told
    if chance is not None:
        seed = SystemRandom().randrange(1 << 32) if seed is None else seed
        archive.chance = Chance(chance, seed, archive.faults if faults else ())
    place = _Place(host, port, base_url and base_url.rstrip("/"), seconds, ca)
    try:
        asyncio.run(
            _serve(archive, place, lambda: _print_start(archive, seed, as_json=as_json))
        )
    except (MissingLibrary, OSError) as error:
        raise click.ClickException(str(error)) from error


async def _serve(archive: Archive, place: _Place, ready: Callable[[], None]) -> None:
    if place.ca is not None:
        place.ca.write_bytes(archive.authority.certificate())
    async with served(archive, place.port, place.host, place.base_url):
        ready()
        await asyncio.sleep(place.seconds)


def _print_start(archive: Archive, seed: int | None, *, as_json: bool) -> None:
    description = describe(archive)
    chance = archive.chance
    if as_json:
        drawn = {} if chance is None else {"chance": chance.share, "seed": seed}
        click.echo(json.dumps({**description, **drawn}))
        return
    faults = ", ".join(description["faults"])
    if chance is not None:
        faults = f"{faults or 'any'}, by chance {chance.share:g}, seed {seed}"
    click.echo("\n".join([*description_lines(description), f"faults: {faults or 'none'}"]))


def _print_faults(*, as_json: bool) -> None:
    if as_json:
        rows = [
            {"name": name, "sentence": fault.sentence, "of_requests": is_per_request(fault)}
            for name, fault in FAULTS.items()
        ]
        click.echo(json.dumps(rows, indent=1))
        return
    width = max(map(len, FAULTS))
    for name, fault in FAULTS.items():
        click.echo(f"{name:{width}}  {fault.sentence}")


def _told(request: WireRequest, faults: tuple[str, ...]) -> None:
    asked = escaped(f"{request.method} {request.target}")
    click.echo(f"{asked}: {', '.join(faults) or 'right'}", err=True)
