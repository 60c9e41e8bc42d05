"""``timegate parse``: what an identifier says, its canonical form, every complaint."""

import json
import sys
from collections.abc import Iterator

import click

from archives.diagnostics import Malformed
from archives.moment import Moment
from archives.registry import Registry, load_known
from timegate.cli.output import inputs
from timegate.identifiers import parse, parse_wrapped
from timegate.identifiers.model import ParsedIdentifier
from timegate.identifiers.pdi import Pdi
from timegate.responses.problems import status_of_reading, status_of_refusal
from timegate.text import escaped


@click.command("parse")
@click.argument("identifiers", nargs=-1, required=True, metavar="ID...")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON for each input.")
@click.option("--strict", is_flag=True, help="Refuse what would otherwise be repaired.")
@click.option("--unwrap", is_flag=True, help="Join identifiers that are broken over lines.")
def parse_command(
    identifiers: tuple[str, ...], *, as_json: bool, strict: bool, unwrap: bool
) -> None:
    r"""Say what each ID means, its canonical form, and every complaint with its position.

    An ID is a PWID, duri, tdb, PDI, archive link, URL or the value of Accept-Datetime. With -
    they are read from standard input, one a line; a line that begins with a double quote is a
    JSON string.

    \b
    Exit codes:
      0  every ID was read, maybe after repairs
      2  some ID cannot be read

    \b
    Examples:
      timegate parse urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk
      timegate parse --strict "Thu, 31 May 2007 20:35:00 GMT"
      echo https://web.archive.org/web/2016/http://www.dr.dk/ | timegate parse --json -
    """
    read = parse_wrapped if unwrap else parse
    registry = load_known()
    refused = False
    for text in inputs(identifiers):
        try:
            reading = read(text, registry, strict=strict)
        except Malformed as complaint:
            refused = True
            answer = _refusal(text, complaint) if as_json else _shown_refusal(text, complaint)
        else:
            answer = _report(text, reading) if as_json else _shown(text, reading, registry)
        click.echo(answer)
    sys.exit(2 if refused else 0)


def _report(text: str, reading: ParsedIdentifier) -> str:
    identifier = reading.identifier
    report: dict[str, object] = {
        "input": text,
        "valid": reading.conforming,
        "accepted": True,
        "scheme": reading.scheme,
        "archive": identifier.archive,
        "entry": reading.entry,
        "time": _interval(identifier.time, identifier.granularity),
        "precision": identifier.precision,
        "item": identifier.item,
        "canonical": identifier.canonical,
        "diagnostics": sorted({diagnostic.token for diagnostic in reading.diagnostics}),
        "error": None,
        "position": None,
        "status": status_of_reading(reading),
    }
    if reading.fragment is not None:
        report["f"] = reading.fragment
    if isinstance(identifier, Pdi):
        report["pdi"] = _pdi_members(identifier)
    return json.dumps(report)


def _interval(time: Moment | None, granularity: str) -> dict[str, str | None]:
    return {
        "start": time.start if time else None,
        "end": time.end if time else None,
        "granularity": granularity,
    }


def _pdi_members(pdi: Pdi) -> dict[str, object]:
    version = int(pdi.version) if pdi.version and pdi.version != "*" else pdi.version
    members: dict[str, object] = {"format": pdi.format, "version": version}
    if pdi.fragment is not None:
        members["fragment"] = pdi.fragment
    if pdi.cites is not None:
        members |= {"origin": pdi.origin, "cites": pdi.cites.canonical}
    return members


def _refusal(text: str, complaint: Malformed) -> str:
    nothing = ("scheme", "archive", "entry", "time", "precision", "item", "canonical")
    return json.dumps(
        {
            "input": text,
            "valid": False,
            "accepted": False,
            **dict.fromkeys(nothing),
            "diagnostics": [],
            "error": complaint.code,
            "position": complaint.position,
            "status": status_of_refusal(complaint),
        }
    )


def _shown(text: str, reading: ParsedIdentifier, registry: Registry) -> str:
    return "\n".join([escaped(text), *(f"  {line}" for line in _facts(reading, registry))])


def _facts(reading: ParsedIdentifier, registry: Registry) -> Iterator[str]:
    identifier = reading.identifier
    kind = reading.kind.label
    yield kind if reading.conforming else f"{kind}, {click.style('repaired', 'yellow')}"
    entry = registry.by_id(reading.entry) if reading.entry else None
    if entry is not None:
        yield f"archive    {identifier.archive or entry.id} ({entry.name})"
    elif identifier.archive is not None:
        yield f"archive    {identifier.archive}"
    yield f"time       {_time_in_words(identifier.time, identifier.granularity)}"
    if identifier.precision is not None:
        yield f"precision  {identifier.precision}"
    if identifier.item is not None:
        yield f"item       {identifier.item}"
    if reading.fragment is not None:
        yield f"fragment   #{reading.fragment} (stays with the client)"
    yield f"canonical  {identifier.canonical or 'none: no notation can say this time'}"
    for diagnostic in reading.diagnostics:
        kind = click.style("repaired", "yellow") if diagnostic.repair else "note    "
        where = f"at character {diagnostic.position + 1}"
        yield f"{kind}   {diagnostic.token}: {diagnostic.why} ({where})"


def _time_in_words(time: Moment | None, granularity: str) -> str:
    if time is None:
        return "any" if granularity == "any" else "none said: the newest copy"
    return f"from {time.start} to before {time.end} ({granularity})"


def _shown_refusal(text: str, complaint: Malformed) -> str:
    before = escaped(text[: complaint.position])
    shown = escaped(text)
    lines = (
        [shown, " " * len(before) + click.style("^", "red", bold=True)]
        if len(shown) <= 500
        else [shown[:500] + " ..."]
    )
    where = f"{complaint.code}, at character {complaint.position + 1}"
    refused = click.style("refused", "red", bold=True)
    return "\n".join([*lines, f"  {refused}: {complaint.why} ({where})"])
