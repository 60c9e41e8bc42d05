"""Serve a misbehaving archive: ``python -m timegate.misbehave --port 0 --fault loop-self``.

Prints its address, then serves until it is interrupted or `--seconds` have passed.
"""

import asyncio
import sys

import click

from timegate.misbehave.faults import FAULTS
from timegate.misbehave.server import misbehaving_archive


@click.command(
    epilog="Faults:\n\n\b\n" + "\n".join(f"{n}: {f.sentence}" for n, f in FAULTS.items())
)
@click.option("--port", default=0, show_default="any free one", help="Port on 127.0.0.1.")
@click.option("--fault", type=click.Choice(sorted(FAULTS)), default="none", metavar="NAME")
@click.option("--seconds", default=3600.0, show_default=True, help="When to end by itself.")
def main(port: int, fault: str, seconds: float) -> None:
    """Be an archive with one fault."""
    try:
        asyncio.run(_serve(port, fault, seconds))
    except KeyboardInterrupt:
        sys.exit(130)


async def _serve(port: int, fault: str, seconds: float) -> None:
    async with misbehaving_archive(fault=fault, port=port) as archive:
        click.echo(archive.url)
        await asyncio.sleep(seconds)


if __name__ == "__main__":
    main()
