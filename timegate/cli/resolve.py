"""``timegate resolve``: the best copy of each reference, and how good it is."""

import asyncio
import sys
from pathlib import Path

import click

from timegate.cite import FORMS, Form
from timegate.cli.batch_options import BatchOptions, batch_options
from timegate.cli.choices import SearchOptions, choice_options
from timegate.cli.options import (
    archives_option,
    check_contact,
    config_option,
    configured,
    demo_option,
)
from timegate.cli.title_options import TitleOptions, title_options
from timegate.cli.words import Words


@click.command("resolve")
@click.argument("identifiers", nargs=-1, metavar="[ID]...")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON for each ID.")
@click.option("--format", "form", type=Words(FORMS), help="A reference to the copy, as this.")
@title_options
@choice_options
@config_option
@archives_option
@demo_option
@batch_options
def resolve_command(  # noqa: PLR0913 -- one parameter for each option
    identifiers: tuple[str, ...],
    *,
    as_json: bool,
    form: Form | None,
    titles: TitleOptions,
    choices: SearchOptions,
    config: Path | None,
    archives: Path | None,
    demo: bool,
    batch: BatchOptions,
) -> None:
    r"""Find the best copy of each ID that any archive holds, and say how good it is.

    An ID is a PWID, a duri, a link into an archive (it may be dead), or a URL. With - they are
    read from standard input, one a line. With --batch they are those of a list: lines, CSV,
    JSON, BibTeX, wikitext or HTML.

    \b
    Exit codes, the worst of all IDs:
      0  as asked
      1  found, but less precise than asked
      2  not an identifier, or bad usage
      3  nothing found, and every archive answered
      4  nothing found, and some archive did not answer, or none could be asked

    \b
    Examples:
      timegate resolve --demo duri:2010-11:http://museum.example/
      timegate resolve --demo --at 2010-11 --json http://museum.example/opening-hours
      timegate resolve --demo --format cs1 \
        urn:pwid:harbour.example:2009-06-15T18:30:12Z:page:http://museum.example/
      echo http://museum.example/ 2016-01-22 | timegate resolve --demo --batch - --to csv
    """
    _check_usage(identifiers, batch, choices, single=as_json or form is not None)
    titles.check(form, identifiers)
    # Only now: who asks for help or completes a word does not wait for the web server.
    from timegate.cli.batch import resolve_batch  # noqa: PLC0415
    from timegate.cli.resolving import Wanted, resolve_all  # noqa: PLC0415

    with configured(config, archives, demo=demo) as settings:
        check_contact(settings)
        policy = choices.policy(settings.registry)
        if batch.batch is not None:
            sys.exit(resolve_batch(settings, batch, policy))
        wanted = Wanted(policy, choices.moment(), form, titles, as_json=as_json)
        sys.exit(asyncio.run(resolve_all(settings, identifiers, wanted)))


def _check_usage(
    identifiers: tuple[str, ...], batch: BatchOptions, choices: SearchOptions, *, single: bool
) -> None:
    if (batch.batch is None) == (not identifiers):
        raise click.UsageError("give either IDs or a list with --batch")
    if batch.batch is None:
        return
    if single:
        raise click.UsageError("--json and --format are for IDs; a list has --to")
    if choices.at is not None:
        raise click.UsageError("--at is for IDs; dates stand in the list (see --date-column)")
    if choices.wait is not None:
        raise click.UsageError("--wait is for IDs; who works through a list waits anyway")
