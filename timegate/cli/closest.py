"""``timegate closest``: ask one archive, and see hop by hop what it said."""

import asyncio
import sys
from pathlib import Path

import click

from archives.model import ArchiveEntry
from archives.moment import Moment
from archives.reading import Diagnosis, Malformed
from archives.uri import check_text
from timegate.cli.archive_ids import complete_id
from timegate.cli.inquiry import ArchiveAnswer, as_json, as_text
from timegate.cli.options import archives_option, config_option, configured, demo_option
from timegate.config import Config, is_public
from timegate.identifiers.url import read_url
from timegate.nearness import similar
from timegate.times import read_time


@click.command("closest")
@click.argument("archive", shell_complete=complete_id)
@click.argument("url")
@click.argument("when", default="latest", metavar="[TIME]")
@config_option
@archives_option
@click.option("--contact", envvar="TIMEGATE_CONTACT", help="Who asks; sent as User-Agent.")
@click.option("--json", is_flag=True, help="One JSON object.")
@demo_option
def closest_command(  # noqa: PLR0913 -- one parameter for each option
    archive: str,
    url: str,
    when: str,
    *,
    config: Path | None,
    archives: Path | None,
    contact: str | None,
    json: bool,
    demo: bool,
) -> None:
    r"""Ask ARCHIVE for its copy of URL closest to TIME, and show hop by hop what it said.

    ARCHIVE is an id of `timegate archives` or of the configuration. TIME is digits, ISO 8601,
    an HTTP date or free text; without it the newest copy is asked for.

    \b
    Exit codes:
      0  it has a copy
      2  no such archive, not a URL, not a time
      3  it has none
      4  it did not say

    \b
    Examples:
      timegate closest --demo harbour http://museum.example/ 2010-11
      timegate closest --demo harbour http://museum.example/ "June 2009" --json
      timegate closest arquivo-pt http://www.sapo.pt/ 2005 --contact mailto:you@example.org
    """
    # Only now: who asks for help or completes a word does not wait for the web server.
    from timegate.cli.asking import ask  # noqa: PLC0415

    with configured(config, archives, demo=demo) as settings:
        entry = _entry(settings, archive)
        inquiry = ArchiveAnswer(entry.id, _url(url), _time(when))
        asyncio.run(ask(settings, entry, _contact(settings, entry, contact), inquiry))
    click.echo(as_json(inquiry) if json else as_text(inquiry))
    sys.exit(inquiry.exit_code)


def _entry(config: Config, archive: str) -> ArchiveEntry:
    entry = config.registry.by_id(archive) or config.registry.by_pwid(archive)
    if entry is None:
        ids = [known.id for known in config.registry.entries]
        why = f"no archive {archive!r}; `timegate archives` lists those that are known."
        raise click.UsageError(why + similar(archive, ids))
    if entry.kind == "none" or (entry.kind == "warc" and entry.access == "onsite-only"):
        why = entry.access_note or entry.because
        raise click.UsageError(f"{entry.id} cannot be asked by programs: {why}")
    return entry


def _url(text: str) -> str:
    try:
        check_text(text)
        return read_url(text, Diagnosis()).identifier.item or text
    except Malformed as complaint:
        raise click.UsageError(f"{text}: {complaint}") from complaint


def _time(text: str) -> Moment | None:
    try:
        return read_time(text)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _contact(config: Config, entry: ArchiveEntry, contact: str | None) -> str:
    """Public archives are asked only by those who say who they are (R14)."""
    who = contact or config.contact
    if who is None and is_public(entry):
        why = "public archives want to know who asks: give --contact mailto:you@example.org"
        raise click.UsageError(why)
    return who or "no contact given"
