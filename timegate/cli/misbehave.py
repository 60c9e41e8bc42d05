"""``timegate misbehave``: an archive with faults on demand, to test Memento clients."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from typing import Final, Literal

import click

from timegate.cli.output import echo, echo_lines, echo_text
from timegate.misbehave import EXAMPLE, FAULTS, Archive, ArchiveOptions, served
from timegate.misbehave.archive import describe, description_lines
from timegate.misbehave.faults import Chance, is_per_request
from timegate.misbehave.wire import HOST, MissingLibrary, WireRequest
from timegate.text import similar

_EXAMPLES: Final = """\b
Examples:
  timegate misbehave --list
  timegate misbehave --seconds 0 --fault wrong-closest --fault vary-missing
  timegate misbehave --seconds 0 --chance 0.2 --seed 7089 --json
"""
_PAGE_SIZE: Final = 2
"""Mementos per page of a TimeMap: small, so that the few mementos need several pages."""
_FILE: Final = click.Path(dir_okay=False, path_type=Path)
_LISTS: Final = click.Choice(["whole", "pages", "index"])


@dataclass(frozen=True, slots=True)
class _Place:
    """Where and how long the archive is served."""

    host: str
    port: int
    base_url: str | None
    seconds: float
    ca: Path | None


def _check_names(
    _: click.Context, __: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return *names*. Raises BadParameter for an unknown fault."""
    for name in names:
        if name not in FAULTS:
            why = f"unknown fault {name!r}; --list shows all.{similar(name, FAULTS)}"
            raise click.BadParameter(why)
    return names


@click.command("misbehave", epilog=_EXAMPLES)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port; 0 picks a free one."
)
@click.option("--host", default=HOST, show_default=True, help="Address to listen on.")
@click.option("--base-url", metavar="URL", help="Base of links; by default host and port.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="NAME",
    callback=_check_names,
    help="Fault to serve; see --list.",
)
@click.option(
    "--chance", type=click.FloatRange(0, 1), help="Share of requests that get a fault."
)
@click.option("--seed", type=int, help="Seed of --chance, to repeat a run.")
@click.option(
    "--style",
    type=click.Choice(["302", "200", "200-bare", "none"]),
    default="302",
    help="TimeGate: redirect, memento, memento without address, or none.",
)
@click.option("--own", is_flag=True, help="The page /page/ is its own TimeGate.")
@click.option("--timemap", type=_LISTS, default="whole", help="How the TimeMap is divided.")
@click.option(
    "--ca", type=_FILE, metavar="FILE", help="Write the CA certificate for TLS faults there."
)
@click.option(
    "--seconds", type=click.FloatRange(0), default=3600.0, help="Stop after this many seconds."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--list", "listing", is_flag=True, help="Print all faults and exit.")
def misbehave_command(  # noqa: PLR0913 -- one parameter for each option
    *,
    port: int,
    host: str,
    base_url: str | None,
    faults: tuple[str, ...],
    chance: float | None,
    seed: int | None,
    style: Literal["302", "200", "200-bare", "none"],
    own: bool,
    timemap: Literal["whole", "pages", "index"],
    ca: Path | None,
    seconds: float,
    as_json: bool,
    listing: bool,
) -> None:
    """Run a Memento archive that is correct by default and has faults on demand.

    With --fault (repeatable), every response has the given faults. With --chance, only this
    share of the responses has a fault: one of those given, or of all. A request can choose its
    fault with Prefer: misbehave=NAME, or with /~NAME in front of the path. X-Misbehaviour and a
    line on standard error name the fault of each response. The server stops after an hour, or
    after --seconds.
    """
    if listing:
        _print_faults(as_json=as_json)
        return
    archive = Archive(
        EXAMPLE, "+".join(faults) or "none", ArchiveOptions(style, timemap, _PAGE_SIZE, own=own)
    )
    archive.on_request = _print_request
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
        echo(json.dumps({**description, **drawn}))
        return
    faults = ", ".join(description["faults"])
    if chance is not None:
        faults = f"{faults or 'any'}, with chance {chance.share:g} and seed {seed}"
    echo_lines([*description_lines(description), f"faults: {faults or 'none'}"])


def _print_faults(*, as_json: bool) -> None:
    if as_json:
        rows = [
            {
                "name": name,
                "sentence": fault.sentence,
                "valid": fault.is_valid,
                "of_requests": is_per_request(fault),
            }
            for name, fault in FAULTS.items()
        ]
        echo_text(json.dumps(rows, indent=1))
        return
    width = max(map(len, FAULTS))
    for name, fault in FAULTS.items():
        echo(f"{name:{width}}  {fault.sentence}")


def _print_request(request: WireRequest, faults: tuple[str, ...]) -> None:
    line = f"{request.method} {request.target}"
    echo(f"{line}: {', '.join(faults) or 'no fault'}", err=True)
