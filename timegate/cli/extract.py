"""``timegate extract``: the copies behind a list of references become a WARC."""

import sys
from pathlib import Path

import click

from timegate.cli.choices import SearchOptions, choice_options
from timegate.cli.options import (
    archives_option,
    check_contact,
    config_option,
    configured,
    demo_option,
)


@click.command("extract")
@click.argument("source", metavar="LIST")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT.warc.gz",
    help="The WARC to write; compressed if it ends in .gz.",
)
@click.option("--json", "as_json", is_flag=True, help="One line of JSON for each reference.")
@choice_options
@config_option
@archives_option
@demo_option
def extract_command(  # noqa: PLR0913 -- one parameter for each option
    source: str,
    *,
    output: Path,
    as_json: bool,
    choices: SearchOptions,
    config: Path | None,
    archives: Path | None,
    demo: bool,
) -> None:
    r"""Fetch the copy of each reference in LIST as it was harvested, and write all into a WARC.

    LIST is what `timegate resolve --batch` takes: lines, CSV, JSON, BibTeX, wikitext or HTML; -
    is standard input. Beside each copy stands a metadata record with the reference and the
    verdict. What an archive shows only rewritten is not taken; where it does not give the
    bytes, two others are tried. Without --precision and --tolerance the best copy of each is
    taken, however far off.

    \b
    Exit codes, the worst of all references:
      0  the copy is as asked, and in the WARC
      1  less precise than asked, but in the WARC
      2  not an identifier, or bad usage
      3  nothing found, and every archive answered
      4  some archive did not answer, or did not give the bytes

    \b
    Examples:
      timegate extract --demo list.txt -o copies.warc.gz
      echo duri:2010:http://museum.example/ | timegate extract --demo - -o museum.warc.gz
    """
    if choices.at is not None or choices.wait is not None:
        raise click.UsageError("--at and --wait are for IDs; dates stand in the list")
    # Only now: who asks for help or completes a word does not wait for the web server.
    from timegate.cli.extracting import extract_list  # noqa: PLC0415

    with configured(config, archives, demo=demo) as settings:
        check_contact(settings)
        policy = choices.policy(settings.registry)
        sys.exit(extract_list(settings, policy, source, output, as_json=as_json))
