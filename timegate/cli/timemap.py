"""``timegate timemap``: the copies of a page in all archives, merged in order of time.

Options have the names of MemGator's: ``-f JSON -a archives.json``. As there, the list goes to
standard output and everything else to standard error.
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
    BASE_URL,
    Words,
    check_contact,
    config_option,
    configured,
    demo_option,
    open_core,
)
from timegate.cli.output import echo, write_document
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
from timegate.timemaps import FORMATS

_NOTHING_FOUND: Final = 3
_NO_ANSWER: Final = 4
_CODES: Final = {200: 0, 400: 2, 404: _NOTHING_FOUND, 414: 2, 422: 2}


async def print_list(config: Config, form: str, text: str) -> int:
    """Print the TimeMap of the URL or identifier *text*; return the exit code."""
    async with open_core(config, config.base_url or BASE_URL) as core:
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
            return await _print_chunks(response)
        if response.status == 200:
            write_document(response.body)
        else:
            problem = json.loads(response.body)
            echo(f"{problem['title']}: {problem['detail']}", err=True)
    return _CODES.get(response.status, _NO_ANSWER)


async def _print_chunks(stream: StreamingResponse) -> int:
    try:
        async with aclosing(stream.chunks) as chunks:
            async for chunk in chunks:
                write_document(chunk)
    except ArchiveError as error:
        echo(f"the list is incomplete: {error}", err=True)
        return _NO_ANSWER
    return 0


@click.command("timemap")
@click.argument("url", metavar="URL-OR-ID")
@click.option(
    "-f",
    "--format",
    "form",
    type=Words([*FORMATS], case_sensitive=False),
    default="link",
    show_default=True,
    help="Format of the list.",
)
@config_option
@click.option(
    "-a",
    "--arcs",
    "--archives",
    "archives",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with more archives, in MemGator's format.",
)
@click.option("-c", "--contact", help="Your contact, sent in User-Agent.")
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
    r"""Print the TimeMap of a page: all copies in all archives, oldest first.

    The options have the same names as MemGator's.

    \b
    Exit codes:
      0  the list was printed to its end
      2  invalid URL or identifier, or bad usage
      3  no archive has a copy
      4  nothing found and some archive did not answer, or the list is incomplete

    \b
    Examples:
      timegate timemap --demo http://museum.example/
      timegate timemap --demo -f cdxj http://museum.example/opening-hours
    """
    with configured(config, archives, demo=demo) as basis:
        settings = _with_contact(basis, contact)
        check_contact(settings)
        sys.exit(asyncio.run(print_list(settings, form, url)))


def _with_contact(config: Config, contact: str | None) -> Config:
    if contact is None:
        return config
    if not (contact.isascii() and contact.isprintable()):
        raise click.UsageError("--contact must be a URL or address in printable ASCII")
    return replace(config, contact=contact)
