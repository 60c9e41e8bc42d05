"""``timegate timemap``: what all archives hold of a page, merged in order of time.

Takes the options of MemGator's command by MemGator's names: ``-f JSON -a archives.json``. The
list goes to standard output, everything else to standard error, as there.
"""

import asyncio
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import click

from archives.errors import ArchiveError
from timegate.app import running
from timegate.cli.options import check_contact, config_option, loaded
from timegate.config import Config
from timegate.web.call import Answer, Call, Declined, Stream

_NOTHING_FOUND = 3
_NO_ANSWER = 4


@click.command("timemap")
@click.argument("url", metavar="URL-OR-ID")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["link", "json", "cdxj"], case_sensitive=False),
    default="link",
    show_default=True,
    help="How it is written.",
)
@config_option
@click.option(
    "-a",
    "--arcs",
    "--archives",
    "archives",
    type=click.Path(dir_okay=False, path_type=Path),
    help="More archives, in MemGator's archives.json.",
)
@click.option("-c", "--contact", help="Who asks; sent as User-Agent.")
def timemap_command(
    url: str, *, form: str, config: Path | None, archives: Path | None, contact: str | None
) -> None:
    r"""Print the TimeMap of a page: every copy that any archive lists, oldest first.

    Exit code 3: nobody has a copy. Exit code 4: nothing was found and some archive did not
    answer, or the list broke off.

    \b
    Example:
      timegate timemap http://www.dr.dk --format cdxj
      timegate timemap -f JSON -a archives.json http://www.dr.dk
    """
    settings = _signed(loaded(config, archives), contact)
    check_contact(settings)
    sys.exit(asyncio.run(_print(settings, f"{form}/{url}")))


def _signed(config: Config, contact: str | None) -> Config:
    if contact is None:
        return config
    if not (contact.isascii() and contact.isprintable()):
        raise click.UsageError("--contact must be a URL or address in printable ASCII")
    return replace(config, contact=contact)


async def _print(config: Config, target: str) -> int:
    async with running(config, config.base_url or "http://127.0.0.1:1208") as app:
        answer: Answer | Stream
        try:
            answer = await app.timemap(Call("GET", target, {}))
        except Declined as declined:
            answer = declined.answer
        if isinstance(answer, Stream):
            return await _copied(answer)
        click.echo(answer.body.decode(), err=answer.status != 200)
    codes = {200: 0, 400: 2, 404: _NOTHING_FOUND, 414: 2, 422: 2}
    return codes.get(answer.status, _NO_ANSWER)


async def _copied(stream: Stream) -> int:
    try:
        async with aclosing(stream.chunks) as chunks:
            async for chunk in chunks:
                click.echo(chunk, nl=False)
    except ArchiveError as error:
        click.echo(f"the list broke off: {error}", err=True)
        return _NO_ANSWER
    return 0
