"""``timegate cite``: PWID and duri for a copy at hand."""

import json
import sys

import click

from archives.reading import Malformed
from archives.registry import Registry, load_known
from timegate.cite import Citation, citation
from timegate.cli.lines import inputs, printable
from timegate.identifiers import parse
from timegate.identifiers.replay import ReplayUrl


@click.command("cite")
@click.argument("links", nargs=-1, required=True, metavar="REPLAY-URL...")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON for each link.")
def cite_command(links: tuple[str, ...], *, as_json: bool) -> None:
    r"""Print the PWID and the duri of the copy that each link into an archive leads to.

    The time is the one that the link claims; nothing is asked. With - links are read from
    standard input.

    \b
    Example:
      timegate cite https://web.archive.org/web/20160122112029/http://www.dr.dk
    """
    registry = load_known()
    failed = False
    for link in inputs(links):
        try:
            names = cited(link, registry)
        except Malformed as complaint:
            failed = True
            if as_json:
                click.echo(
                    json.dumps(
                        {"input": link, "pwid": None, "duri": None, "error": complaint.why}
                    )
                )
            else:
                click.echo(f"{printable(link)}: {complaint.why}", err=True)
            continue
        if as_json:
            named = {"pwid": str(names.pwid), "duri": str(names.duri), "error": None}
            click.echo(json.dumps({"input": link, **named}))
        else:
            click.echo(f"{names.pwid}\n{names.duri}")
    sys.exit(2 if failed else 0)


def cited(link: str, registry: Registry) -> Citation:
    """Return the names of the copy behind *link*. Raises Malformed where it has none."""
    identifier = parse(link, registry).identifier
    if not isinstance(identifier, ReplayUrl):
        raise Malformed("not-a-memento", "not a link to a copy in a known archive", 0)
    if identifier.item is None:
        why = "the link has the archive's own id for the copy, and does not say of what"
        raise Malformed("not-negotiable", why, 0)
    if identifier.time is None or len(identifier.time.digits) < 14:
        why = "the link does not name the second of capture: open it, and cite where it leads"
        raise Malformed("coarse-time", why, 0)
    if identifier.archive is None:
        raise Malformed("unknown-archive", "the archive has no id for PWIDs", 0)
    raw = identifier.precision == "part"
    return citation(identifier.item, identifier.time, identifier.archive, raw=raw)
