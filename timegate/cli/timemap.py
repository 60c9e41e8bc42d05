"""``timegate timemap``: the copies of a page in all archives, merged in order of time.

Options have the names of MemGator's: ``-f JSON -a archives.json``. As there, the list goes to
standard output and everything else to standard error.
"""

import asyncio
import json
import sys
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from archives.diagnostics import Malformed
from archives.errors import ArchiveError
from timegate.cli.given import SeveralFound, read_page, refusal_lines
from timegate.cli.network import failure_lines
from timegate.cli.options import (
    BASE_URL,
    Words,
    config_option,
    configured,
    contact_option,
    demo_option,
    open_core,
    say_demo,
    with_contact,
)
from timegate.cli.output import ProgressLine, echo, echo_lines, write_document
from timegate.config import Config
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Preferences
from timegate.resolution.query import NotNegotiable
from timegate.responses.model import (
    EarlyResponse,
    Response,
    StreamingResponse,
    identifier_in,
)
from timegate.responses.problems import failure_in
from timegate.responses.timemap import TimeMapResponses
from timegate.timemaps import FORMATS

_UNREADABLE: Final = 2
_NOTHING_FOUND: Final = 3
_NO_ANSWER: Final = 4
_CODES: Final = {400: _UNREADABLE, 404: _NOTHING_FOUND, 414: _UNREADABLE}


async def print_list(config: Config, form: str, text: str) -> int:
    """Print the TimeMap of the page in *text*; return the exit code."""
    # The list is printed once: it waits for slow archives as long as a client may.
    config = replace(config, soft=config.hard)
    async with open_core(config, config.base_url or BASE_URL) as core:
        try:
            page = read_page(identifier_in(text), core.registry, datetime.now(UTC))
        except (Malformed, SeveralFound) as error:
            echo_lines(refusal_lines(text, error), err=True)
            return _UNREADABLE
        except NotNegotiable as error:
            echo_lines(refusal_lines(text, error), err=True)
            return _NO_ANSWER
        timemaps = TimeMapResponses(
            core.lists, core.planner.plan, core.registry, core.base_url, core.deadlines
        )
        response: Response | StreamingResponse
        line = ProgressLine()
        line.show("reading the lists of the archives")
        try:
            response = await timemaps.respond(form, page, Preferences(), UNLIMITED)
        except EarlyResponse as early:
            response = early.response
        finally:
            line.clear()
        sources = response.headers.get("Memento-Sources", "")
        if isinstance(response, StreamingResponse):
            code = await _print_chunks(response)
            return code or _completeness(sources)
        if response.status == 200:
            write_document(response.body)
            return _completeness(sources)
        problem = json.loads(response.body)
        echo_lines(failure_lines(failure_in(problem)), err=True)
    return _CODES.get(response.status, _NO_ANSWER)


def _completeness(sources: str) -> int:
    """Print what *sources*, the header of the list, says is missing; return the exit code."""
    if not sources.startswith("partial"):
        return 0
    missing = sources.partition('missing="')[2].partition('"')[0]
    echo(f"the list is incomplete: no answer from {missing or 'some archives'}", err=True)
    return _NO_ANSWER


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
@contact_option
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

    The options have the same names as MemGator's. URL-OR-ID may also be a link to an
    archive's list of captures, or a text with one reference.

    \b
    Exit codes:
      0  the list was printed to its end
      2  invalid URL or identifier, or bad usage
      3  no archive has a copy
      4  nothing found and some archive did not answer, no archive can be queried, or the
         list is incomplete

    \b
    Examples:
      timegate timemap --demo http://museum.example/
      timegate timemap --demo -f cdxj http://museum.example/opening-hours
    """
    with configured(config, archives, demo=demo) as basis:
        settings = with_contact(basis, contact)
        say_demo(demo=demo)
        sys.exit(asyncio.run(print_list(settings, form, url)))
