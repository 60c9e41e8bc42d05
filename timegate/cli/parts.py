"""``timegate parts``: what a page embeds, as PWIDs or with everything that is known."""

import asyncio
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from archives.diagnostics import Malformed
from archives.errors import ArchiveError
from timegate.batch.model import Code, code_of, trusted
from timegate.cli.given import SeveralFound, read_given, refusal_lines
from timegate.cli.network import failure_lines
from timegate.cli.options import (
    BASE_URL,
    SearchOptions,
    Words,
    archives_option,
    choice_options,
    config_option,
    configured,
    contact_option,
    demo_option,
    open_core,
    with_contact,
)
from timegate.cli.output import ProgressLine, echo, echo_lines, write_document
from timegate.config import Config
from timegate.parts.composite import PartLimits, PartsSummary
from timegate.resolution.context import UNLIMITED
from timegate.resolution.exhaustive import PATIENCE
from timegate.resolution.query import NotNegotiable, query_for
from timegate.responses.answer_view import name_of
from timegate.responses.parts import PARTS_FORMATS
from timegate.responses.problems import failure
from timegate.verdict import in_words, verdict

_SECONDS: Final = 60.0
"""Longer than over HTTP: nobody else waits."""
_QUEUE_PATIENCE: Final = 10.0
_LESS: Final = 1
_UNREADABLE: Final = 2
_UNKNOWN: Final = 4


async def print_parts(
    config: Config, text: str, choices: SearchOptions, form: str, requests: int
) -> int:
    """Print the parts of the page *text*; return the exit code."""
    base_url = config.base_url or BASE_URL
    async with open_core(config, base_url, queue_patience=_QUEUE_PATIENCE) as core:
        registry = core.registry
        try:
            given = read_given(text, registry, choices.moment(), datetime.now(UTC))
            query = query_for(given.reading, registry)
        except (Malformed, SeveralFound) as error:
            echo_lines(refusal_lines(text, error), err=True)
            return _UNREADABLE
        except NotNegotiable as error:
            echo(f"{text}: {error}", err=True)
            return _UNKNOWN
        if given.at is not None and query.at is None:
            query = query.dated(given.at)
        preferences = choices.preferences(registry)
        # As long as for `timegate resolve`, so that both choose the same copy.
        preferences = replace(preferences, wait=preferences.wait or PATIENCE)
        line = ProgressLine()
        line.show("looking for the page and its parts")
        try:
            found = await core.resolver.resolve(
                query, replace(preferences, verify="head"), UNLIMITED
            )
            resolution = trusted(found, registry)
            judged = verdict(resolution, registry)
            code = code_of(resolution, judged)
            if resolution.memento is None:
                lacking = failure(resolution, registry)
                echo_lines(failure_lines(lacking), err=True)
                return code
            limits = PartLimits(requests=requests, seconds=_SECONDS)
            composite = await core.parts_of(resolution.memento, UNLIMITED, limits, preferences)
        except ArchiveError as error:
            echo(f"{name_of(error.archive, registry)} {error.why}", err=True)
            return _UNKNOWN
        finally:
            line.clear()
        written = PARTS_FORMATS[form].write(composite, registry)
        write_document(written if written.endswith(b"\n") else written + b"\n")
        resolution = replace(resolution, parts=composite.summary)
        echo(in_words(verdict(resolution, registry)), err=True)
        for why in composite.unread:
            echo(f"there may be more parts: {why}", err=True)
        if resolution.failed and judged.match.value != "exact":
            # An archive that did not answer may hold a better copy of the page.
            return _UNKNOWN
        return max(code, _code(composite.summary))


def _code(summary: PartsSummary) -> Code:
    """Return whether every part was found (0), some are missing (1), or it is unknown (4)."""
    if summary.unknown or summary.not_looked or summary.partial:
        return _UNKNOWN
    return _LESS if summary.missing else 0


@click.command("parts")
@click.argument("identifier", metavar="ID")
@click.option(
    "--json", "as_json", is_flag=True, help="Print everything that is known, as JSON."
)
@click.option(
    "--format",
    "form",
    type=Words([*PARTS_FORMATS]),
    default="uri-list",
    show_default=True,
    help="Format of the list; uri-list: one PWID per line.",
)
@click.option(
    "--requests",
    type=click.IntRange(1, 1000),
    default=PartLimits().requests,
    show_default=True,
    help="Most requests to archives.",
)
@choice_options
@contact_option
@config_option
@archives_option
@demo_option
def parts_command(  # noqa: PLR0913 -- one parameter for each option
    identifier: str,
    *,
    as_json: bool,
    form: str,
    requests: int,
    choices: SearchOptions,
    contact: str | None,
    config: Path | None,
    archives: Path | None,
    demo: bool,
) -> None:
    r"""List what a page embeds: its images, styles, scripts, fonts and frames.

    The page of ID is read as it was captured, with its stylesheets and frames. Each part is
    looked for near the time of the page, in the archive of the page and then in the others.
    Printed are the PWID of the page and those of the parts that were found; --json says of
    each part where it is, how far from the page in time, and how coherent it is.

    \b
    Exit codes:
      0  the page as requested, and all its parts
      1  the page is less precise than requested, or a part is missing
      2  invalid identifier, or bad usage
      3  no archive has the page
      4  an archive did not answer, unless the copy of the page is exact, or not all parts
         could be looked for

    \b
    Examples:
      timegate parts --demo duri:2010-11:http://museum.example/
      timegate parts --demo --json duri:2010-11:http://museum.example/
    """
    with configured(config, archives, demo=demo) as basis:
        settings = with_contact(basis, contact)
        wanted = "json" if as_json else form
        sys.exit(asyncio.run(print_parts(settings, identifier, choices, wanted, requests)))
