"""``timegate quote``: whether the copy of a reference has a quotation, and when it had it."""

import asyncio
import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from archives.diagnostics import Malformed
from archives.moment import Moment
from archives.registry import Registry
from timegate.cli.given import SeveralFound, read_given, refusal_lines
from timegate.cli.network import watched_network
from timegate.cli.options import (
    BASE_URL,
    archives_option,
    config_option,
    configured,
    contact_option,
    demo_option,
    open_core,
    read_typed_time,
    say_demo,
    with_contact,
)
from timegate.cli.output import ProgressLine, echo, echo_lines, typed_without
from timegate.config import Config
from timegate.identifiers import parse
from timegate.library import CheckedQuote, Gate
from timegate.references.pasted import NoReference
from timegate.resolution.query import NotNegotiable
from timegate.text import escaped

_UNREADABLE: Final = 2
_UNKNOWN: Final = 4
_CODES: Final = {"found": 0, "near": 1, "elsewhere": 1, "absent": 3, "not-looked": 4}


async def check_quote(  # noqa: PLR0913 -- the options
    config: Config, quote: str, text: str, at: str | None, *, bisect: bool, as_json: bool
) -> int:
    """Print whether the copy of *text* has *quote*; return the exit code."""
    line = ProgressLine()
    async with open_core(config, config.base_url or BASE_URL) as core:
        try:
            given = read_given(text, core.registry, _time(at), datetime.now(UTC))
        except NotNegotiable as error:
            echo_lines(refusal_lines(text, error), err=True)
            return _UNKNOWN
        except (Malformed, SeveralFound) as error:
            echo_lines(refusal_lines(text, error), err=True)
            if isinstance(error, NoReference):
                echo_lines(_exchanged(quote, text, core.registry), err=True)
            return _UNREADABLE
        line.show("reading copies" if bisect else "reading the copy")
        try:
            with watched_network(core) as network:
                when = None if given.at is None else str(given.at)
                checked = await Gate(core).check_quote(
                    given.title, quote, at=when, bisect=bisect
                )
        except NotNegotiable as error:
            echo_lines(refusal_lines(text, error), err=True)
            return _UNKNOWN
        except ValueError as error:
            echo_lines(refusal_lines(text, error), err=True)
            return _UNREADABLE
        finally:
            line.clear()
    code = _code(checked)
    if as_json:
        members = asdict(checked)
        members["found"] = checked.found.report
        members["standing"] = checked.found.standing
        echo(json.dumps({"code": code, **given.members, **members}))
    else:
        echo_lines(_lines(checked, network.lines, bisect=bisect))
        echo_lines(f"  {said}" for said in given.said)
    return code


def _code(checked: CheckedQuote) -> int:
    """Return the exit code: 3 also if every archive answered, and none has a copy."""
    return 3 if checked.found.standing == "absent" else _CODES[checked.status]


def _time(at: str | None) -> Moment | None:
    try:
        return None if at is None else read_typed_time(at)
    except ValueError as error:
        raise click.UsageError(f"--at: {error}") from error


def _exchanged(quote: str, text: str, registry: Registry) -> Iterator[str]:
    """Yield the line to type if *quote* is an identifier, and so may be meant as the ID."""
    with suppress(Malformed):
        parse(quote, registry)
        line = f"{typed_without([quote, text])} {shlex.join([text, quote])}"
        yield f"  The quotation comes before the ID: {line}"


def _lines(checked: CheckedQuote, offline: list[str], *, bisect: bool) -> list[str]:
    if offline:
        return [f"{checked.status}: it is not known whether a copy has it", *offline]
    lines = [f"{checked.status}: {escaped(checked.words)}"]
    if checked.uri is not None:
        lines.append(f"  {checked.uri}")
    if checked.passage is not None and checked.status != "found":
        lines.append(f"  passage: {escaped(' '.join(checked.passage.split()))}")
    if bisect or len(checked.copies) > 1:
        lines.append("  copies that were read, the chosen one first:")
        lines += [f"    {_copy(copy)}" for copy in checked.copies]
    if bisect and checked.reason:
        lines.append(f"  {escaped(checked.reason)}")
    if bisect:
        lines.append("  nothing is known of the time between two of them")
    # Without a copy, the first line names them.
    if checked.found.unanswered and checked.found.archive is not None:
        lines.append(f"  no answer from {', '.join(checked.found.unanswered)}")
    return lines


def _copy(copy: object) -> str:
    members = copy if isinstance(copy, dict) else {}
    reason = f" ({escaped(str(members['reason']))})" if members["reason"] else ""
    return f"{members['datetime']} {members['archive']}: {members['status']}{reason}"


@click.command("quote")
@click.argument("quote", metavar="QUOTE")
@click.argument("identifier", metavar="ID")
@click.option("--bisect", is_flag=True, help="Read further copies: when did the page have it?")
@click.option("--at", metavar="TIME", help="Time for an ID that has none, e.g. 2016-01.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
@contact_option
@config_option
@archives_option
@demo_option
def quote_command(  # noqa: PLR0913 -- one parameter for each option
    quote: str,
    identifier: str,
    *,
    bisect: bool,
    at: str | None,
    as_json: bool,
    contact: str | None,
    config: Path | None,
    archives: Path | None,
    demo: bool,
) -> None:
    r"""Check whether the copy of ID has the text QUOTE.

    The whole text of the copy is read. QUOTE may also be a text directive (#:~:text=...).
    If the copy lacks it, other copies nearby are read. With --bisect, up to 16 copies are
    read to learn when the page had it; all of them are listed.

    \b
    Exit codes:
      0  the copy has it
      1  the copy has it nearly, or another copy has it
      2  invalid identifier, several references in ID, or bad usage
      3  the text of the copy was read whole, and does not have it; or no archive has a copy
      4  it is not known

    \b
    Examples:
      timegate quote --demo 'Open all year' duri:2010-11:http://museum.example/
      timegate quote --demo --bisect 'Open all year' duri:2010-11:http://museum.example/
    """
    with configured(config, archives, demo=demo) as basis:
        settings = with_contact(basis, contact)
        say_demo(demo=demo)
        sys.exit(
            asyncio.run(
                check_quote(settings, quote, identifier, at, bisect=bisect, as_json=as_json)
            )
        )
