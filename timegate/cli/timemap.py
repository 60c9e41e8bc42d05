"""``timegate timemap``: what all archives hold of a page, merged in order of time.

Takes the options of MemGator's command by MemGator's names: ``-f JSON -a archives.json``. The
list goes to standard output, everything else to standard error, as there.
"""

import asyncio
import json
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from archives.errors import ArchiveError
from timegate.cli.options import (
    Words,
    check_contact,
    config_option,
    configured,
    demo_option,
    open_core,
)
from timegate.config import Config
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Preferences
from timegate.responses.model import (
    EarlyResponse,
    Response,
    StreamingResponse,
    identifier_in,
)
from timegate.responses.timemap import TimeMapResponses

_NOTHING_FOUND: Final = 3
_NO_ANSWER: Final = 4
_CODES: Final = {200: 0, 400: 2, 404: _NOTHING_FOUND, 414: 2, 422: 2}


async def print_list(config: Config, form: str, text: str) -> int:
    """Print the TimeMap of the URL or identifier *text*; return the exit code."""
    async with open_core(config, config.base_url or "http://127.0.0.1:1208") as core:
        timemaps = TimeMapResponses(
            core.lists, core.planner.plan, core.registry, core.base_url, core.deadlines
        )
        response: Response | StreamingResponse
        try:
            text = identifier_in(text)
            response = await timemaps.respond(form, text, Preferences(), UNLIMITED)
        except EarlyResponse as early:
            response = early.response
        if isinstance(response, StreamingResponse):
            return await _copied(response)
        if response.status == 200:
            click.echo(response.body, nl=False)
        else:
            problem = json.loads(response.body)
            click.echo(f"{problem['title']}: {problem['detail']}", err=True)
    return _CODES.get(response.status, _NO_ANSWER)


async def _copied(stream: StreamingResponse) -> int:
    try:
        async with aclosing(stream.chunks) as chunks:
            async for chunk in chunks:
                click.echo(chunk, nl=False)
    except ArchiveError as error:
        click.echo(f"the list broke off: {error}", err=True)
        return _NO_ANSWER
    return 0


@click.command("timemap")
@click.argument("url", metavar="URL-OR-ID")
@click.option(
    "-f",
    "--format",
    "form",
    type=Words(["link", "json", "cdxj"], case_sensitive=False),
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
@demo_option
def timemap_command(  # noqa: PLR0913 -- one parameter for each option
    url: str,
    *,
    form: str,
    config: Path | None,
    archives: Path | None,
    contact: str | None,
    demo: bool,
) -> None:
    r"""Print the TimeMap of a page: every copy that any archive lists, oldest first.

    It takes MemGator's options by MemGator's names.

    \b
    Exit codes:
      0  the list is whole
      2  not a URL or identifier, or bad usage
      3  nobody has a copy
      4  nothing found and some archive did not answer, or the list broke off

    \b
    Examples:
      timegate timemap --demo http://museum.example/
      timegate timemap --demo -f cdxj http://museum.example/opening-hours
    """
    with configured(config, archives, demo=demo) as basis:
        settings = _signed(basis, contact)
        check_contact(settings)
        sys.exit(asyncio.run(print_list(settings, form, url)))


def _signed(config: Config, contact: str | None) -> Config:
    if contact is None:
        return config
    if not (contact.isascii() and contact.isprintable()):
        raise click.UsageError("--contact must be a URL or address in printable ASCII")
    return replace(config, contact=contact)
