"""``timegate cite``: PWID and duri of the copy behind an archive link, or a citation."""

import asyncio
import json
import shlex
import sys
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import NamedTuple

import click

from archives.diagnostics import Malformed
from archives.registry import Registry, load_known
from timegate.citations import Citation, Copy, UrlStatus, citation, copy_behind
from timegate.citations.forms import FORMS_OF_COPIES, Form, reference
from timegate.cli.given import NoCopyNamed, read_given
from timegate.cli.options import (
    TitleOptions,
    Words,
    archives_option,
    config_option,
    configured,
    contact_option,
    demo_option,
    title_options,
    with_contact,
)
from timegate.cli.output import echo, echo_text, inputs
from timegate.resolution.query import NotNegotiable


@click.command("cite")
@click.argument("links", nargs=-1, required=True, metavar="REPLAY-URL...")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per link.")
@click.option(
    "--format", "form", type=Words(FORMS_OF_COPIES), help="Print a citation in this format."
)
@title_options
@contact_option
@config_option
@archives_option
@demo_option
def cite_command(  # noqa: PLR0913 -- one parameter for each option
    links: tuple[str, ...],
    *,
    as_json: bool,
    form: Form | None,
    titles: TitleOptions,
    contact: str | None,
    config: Path | None,
    archives: Path | None,
    demo: bool,
) -> None:
    r"""Print the PWID and the duri of the copy behind each archive link.

    The time of the copy is taken from the link; no archive is queried unless --fetch-title is
    given. With -, links are read from standard input, one per line. A configuration can add
    your own archives.

    \b
    Exit codes:
      0  all links were cited
      2  a link is incomplete, or does not lead to a known archive

    \b
    Examples:
      timegate cite https://web.archive.org/web/20160122112029/http://www.dr.dk
      timegate cite --format bibtex --title FCCN \
        https://arquivo.pt/wayback/19961013145650/http://www.fccn.pt/
    """
    titles.check(form, links)
    writing = Writing(form, as_json, titles.url_status, titles.accessed, demo)
    if not (titles.fetch_title or config or archives or demo):
        registry = load_known()
        cited = [cite_link(link, registry, writing, titles.title) for link in inputs(links)]
        sys.exit(0 if all(cited) else 2)
    # Not at the top: that module imports this one.
    from timegate.cli.titles import cite_all  # noqa: PLC0415

    with configured(config, archives, demo=demo) as basis:
        settings = with_contact(basis, contact) if titles.fetch_title else basis
        sys.exit(0 if asyncio.run(cite_all(settings, links, writing, titles)) else 2)


class Writing(NamedTuple):
    """The format of citations."""

    form: Form | None
    as_json: bool
    url_status: UrlStatus = "bot: unknown"
    accessed: date | None = None
    """The day on which the user consulted the page; None if it is not stated."""
    demo: bool = False
    """Whether the archives of the demo are meant."""


def cite_link(link: str, registry: Registry, writing: Writing, title: str | None) -> bool:
    """Print a citation of the copy behind *link*; return False if that is impossible."""
    try:
        copy = replace(
            copy_behind(link, registry),
            title=title,
            accessed=writing.accessed,
            url_status=writing.url_status,
        )
        text = _written(link, copy, writing)
    except Malformed as complaint:
        _print_error(link, complaint, registry, writing)
        return False
    echo_text(text)
    return True


def _written(link: str, copy: Copy, writing: Writing) -> str:
    form, as_json = writing.form, writing.as_json
    text = None if form is None else reference(form, copy)
    if form is not None and text is None:
        raise Malformed("not-citable", f"the copy cannot be cited as {form}", 0)
    if form is not None and not as_json:
        return text or ""
    names = _names(copy)
    if not as_json:
        return f"{names.pwid}\n{names.duri}"
    report = {"input": link, "pwid": str(names.pwid), "duri": str(names.duri), "error": None}
    return json.dumps(report if form is None else {**report, "reference": text})


def _print_error(link: str, complaint: Malformed, registry: Registry, writing: Writing) -> None:
    """Print why *link* cannot be cited, and a command that finds a copy, if one can."""
    if writing.as_json:
        report = {"input": link, "pwid": None, "duri": None, "error": complaint.why}
        echo(json.dumps(report))
        return
    demo = " --demo" if writing.demo else ""
    advice = ""
    if complaint.code != "not-citable":
        command = f"timegate resolve{demo} --format {writing.form or 'pwid'}"
        try:
            read_given(link, registry, None, datetime.now(UTC), demo)
        except (NoCopyNamed, NotNegotiable) as error:
            advice = f"  {error}"
        except ValueError:
            # Nor can any other command read it.
            pass
        else:
            advice = f"  To find a copy and cite it: {command} {shlex.quote(link)}"
    echo(f"{link}: {complaint.why}", err=True)
    if advice:
        echo(advice, err=True)


def _names(copy: Copy) -> Citation:
    if copy.archive_id is None:
        raise Malformed("unknown-archive", "the archive has no ID for PWIDs", 0)
    return citation(copy.original, copy.captured, copy.archive_id, raw=copy.raw)
