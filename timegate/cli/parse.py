"""``timegate parse``: the parts of an identifier, its canonical form and its problems."""

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import click

from archives.diagnostics import Malformed
from archives.moment import Moment
from archives.registry import Registry, load_known
from timegate.cli.output import Line, Styled, echo, echo_lines, inputs
from timegate.identifiers import parse, parse_wrapped
from timegate.identifiers.model import ParsedIdentifier
from timegate.identifiers.pdi import Pdi
from timegate.text import escaped

_MOST_READINGS: Final = 10


@click.command("parse")
@click.argument("identifiers", nargs=-1, required=True, metavar="ID...")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per ID.")
@click.option("--strict", is_flag=True, help="Reject IDs that would otherwise be repaired.")
@click.option("--unwrap", is_flag=True, help="Join IDs that are split across lines.")
def parse_command(
    identifiers: tuple[str, ...], *, as_json: bool, strict: bool, unwrap: bool
) -> None:
    r"""Show the parts of each ID, its canonical form, and every problem with its position.

    An ID is a PWID, duri, tdb, PDI, archive link, URL or Accept-Datetime value. With -, IDs are
    read from standard input, one per line; a line that begins with a double quote is a JSON
    string.

    \b
    Exit codes:
      0  all IDs could be read, possibly after repairs
      2  some ID could not be read; references in a text are listed with the line to type

    \b
    Examples:
      timegate parse urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk
      timegate parse --strict "Thu, 31 May 2007 20:35:00 GMT"
      echo https://web.archive.org/web/2016/http://www.dr.dk/ | timegate parse --json -
    """
    read = parse_wrapped if unwrap else parse
    registry = load_known()
    rejected = False
    for text in inputs(identifiers):
        try:
            reading = read(text, registry, strict=strict)
        except Malformed as error:
            rejected = True
            if as_json:
                echo(_json_rejection(text, error))
            else:
                echo_lines(_rejection(text, error))
                echo_lines(_other_readings(text, registry))
        else:
            if as_json:
                echo(_json(text, reading))
            else:
                echo_lines(_description(text, reading, registry))
    sys.exit(2 if rejected else 0)


def _json(text: str, reading: ParsedIdentifier) -> str:
    from timegate.responses.problems import status_of_reading  # noqa: PLC0415 -- text needs no statuses

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


def _json_rejection(text: str, error: Malformed) -> str:
    from timegate.responses.problems import status_of_refusal  # noqa: PLC0415 -- text needs no statuses

    missing = ("scheme", "archive", "entry", "time", "precision", "item", "canonical")
    return json.dumps(
        {
            "input": text,
            "valid": False,
            "accepted": False,
            **dict.fromkeys(missing),
            "diagnostics": [],
            "error": error.code,
            "position": error.position,
            "status": status_of_refusal(error),
        }
    )


def _description(text: str, reading: ParsedIdentifier, registry: Registry) -> Iterator[Line]:
    yield text
    for line in _facts(reading, registry):
        yield ("  ", *((line,) if isinstance(line, str) else line))


def _facts(reading: ParsedIdentifier, registry: Registry) -> Iterator[Line]:
    identifier = reading.identifier
    kind = reading.kind.label
    repairs = [d for d in reading.diagnostics if d.repair and not d.token.startswith("ext-")]
    yield (f"{kind}, ", Styled("repaired", "yellow")) if repairs else kind
    entry = registry.by_id(reading.entry) if reading.entry else None
    if entry is not None:
        yield f"archive    {identifier.archive or entry.id} ({entry.name})"
    elif identifier.archive is not None:
        yield f"archive    {identifier.archive}"
    if reading.kind.is_archive_link and identifier.item is None:
        yield from _OPAQUE
    else:
        yield from _page_facts(reading)
    for diagnostic in reading.diagnostics:
        effect = Styled("repaired", "yellow") if diagnostic.repair else "note    "
        if diagnostic.token.startswith("ext-"):
            effect = "extended"
        where = f"at character {diagnostic.position + 1}"
        yield effect, f"   {diagnostic.token}: {diagnostic.why} ({where})"


_OPAQUE: Final = (
    "time       unknown: the link has the archive's own id for one copy",
    "item       unknown: open the link to see the URL of the page",
    "canonical  none: the page is not known",
)


def _page_facts(reading: ParsedIdentifier) -> Iterator[Line]:
    identifier = reading.identifier
    yield f"time       {_time_in_words(identifier.time, identifier.granularity)}"
    if identifier.precision is not None:
        yield f"precision  {identifier.precision}"
    if identifier.item is not None:
        yield f"item       {identifier.item}"
    if reading.fragment is not None:
        yield f"fragment   #{reading.fragment} (not sent to archives)"
    yield f"canonical  {identifier.canonical or 'none: this time has no notation'}"


def _time_in_words(time: Moment | None, granularity: str) -> str:
    if time is None:
        return "any" if granularity == "any" else "none: the newest copy"
    return f"from {time.start} until {time.end} ({granularity})"


def _rejection(text: str, error: Malformed) -> Iterator[Line]:
    line = escaped(text)
    if len(line) <= 500:
        before = escaped(text[: error.position])
        yield line
        yield " " * len(before), Styled("^", "red", bold=True)
    else:
        yield f"{line[:500]} ..."
    where = f"{error.code}, at character {error.position + 1}"
    yield "  ", Styled("invalid", "red", bold=True), f": {error.why} ({where})"


def _other_readings(text: str, registry: Registry) -> Iterator[str]:
    """Yield the commands for the references in *text*, if it is no identifier by itself."""
    from timegate.cli.given import line_to_type  # noqa: PLC0415 -- refusals alone need it
    from timegate.references.pasted import read_pasted  # noqa: PLC0415

    with suppress(Malformed):
        for found in read_pasted(text, registry, datetime.now(UTC)).found[:_MOST_READINGS]:
            if found.kind in ("reference", "captures"):
                yield f"  other commands read {found.identifier} in it: {line_to_type(found)}"
