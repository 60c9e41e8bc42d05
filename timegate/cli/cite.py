"""``timegate cite``: PWID and duri for a copy at hand, or a whole reference to it."""

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import click

from archives.diagnostics import Malformed
from archives.registry import Registry, load_known
from timegate.citations import FORMS, Citation, Copy, Form, citation, copy_behind, reference
from timegate.cli.options import (
    TitleOptions,
    Words,
    archives_option,
    check_contact,
    config_option,
    configured,
    demo_option,
    title_options,
)
from timegate.cli.output import inputs
from timegate.text import escaped


@click.command("cite")
@click.argument("links", nargs=-1, required=True, metavar="REPLAY-URL...")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON for each link.")
@click.option("--format", "form", type=Words(FORMS), help="One reference, as this.")
@title_options
@config_option
@archives_option
@demo_option
def cite_command(  # noqa: PLR0913 -- one parameter for each option
    links: tuple[str, ...],
    *,
    as_json: bool,
    form: Form | None,
    titles: TitleOptions,
    config: Path | None,
    archives: Path | None,
    demo: bool,
) -> None:
    r"""Print the PWID and the duri of the copy that each link into an archive leads to.

    The time is the one that the link claims; nothing is asked, unless --fetch-title is given.
    With - links are read from standard input, one a line. A configuration adds archives of
    your own.

    \b
    Exit codes:
      0  every link was cited
      2  some link does not say enough, or is none into a known archive

    \b
    Examples:
      timegate cite https://web.archive.org/web/20160122112029/http://www.dr.dk
      timegate cite --format bibtex --title FCCN \
        https://arquivo.pt/wayback/19961013145650/http://www.fccn.pt/
    """
    titles.check(form, links)
    writing = Writing(form, as_json=as_json)
    if not (titles.fetch_title or config or archives or demo):
        registry = load_known()
        cited = [cite_link(link, registry, writing, titles.title) for link in inputs(links)]
        sys.exit(0 if all(cited) else 2)
    # Not at the top: that module imports this one.
    from timegate.cli.titles import cite_all  # noqa: PLC0415

    with configured(config, archives, demo=demo) as settings:
        if titles.fetch_title:
            check_contact(settings)
        sys.exit(0 if asyncio.run(cite_all(settings, links, writing, titles)) else 2)


class Writing(NamedTuple):
    """How copies are cited."""

    form: Form | None
    as_json: bool


def cite_link(link: str, registry: Registry, writing: Writing, title: str | None) -> bool:
    """Print how the copy behind *link* is cited; return False where it cannot be."""
    try:
        copy = replace(copy_behind(link, registry), title=title)
        told = _told(link, copy, writing)
    except Malformed as complaint:
        _complain(link, complaint, as_json=writing.as_json)
        return False
    click.echo(told)
    return True


def _told(link: str, copy: Copy, writing: Writing) -> str:
    form, as_json = writing
    written = None if form is None else reference(form, copy)
    if form is not None and written is None:
        raise Malformed("not-citable", f"the copy cannot be written as {form}", 0)
    if form is not None and not as_json:
        return written or ""
    names = _names(copy)
    if not as_json:
        return f"{names.pwid}\n{names.duri}"
    told = {"input": link, "pwid": str(names.pwid), "duri": str(names.duri), "error": None}
    return json.dumps(told if form is None else {**told, "reference": written})


def _complain(link: str, complaint: Malformed, *, as_json: bool) -> None:
    if as_json:
        told = {"input": link, "pwid": None, "duri": None, "error": complaint.why}
        click.echo(json.dumps(told))
    else:
        click.echo(f"{escaped(link)}: {complaint.why}", err=True)


def _names(copy: Copy) -> Citation:
    if copy.archive_id is None:
        raise Malformed("unknown-archive", "the archive has no id for PWIDs", 0)
    return citation(copy.original, copy.captured, copy.archive_id, raw=copy.raw)
