"""``timegate mint``: mint a document of a series, add a version, or put one in place."""

import asyncio
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from archives.diagnostics import Malformed
from archives.registry import load_known
from timegate.cli.options import config_option, configured
from timegate.cli.output import echo
from timegate.config import Config
from timegate.identifiers import parse
from timegate.identifiers.pdi import Pdi

_NOT_WRITTEN: Final = 4


@dataclass(frozen=True, slots=True)
class _Statement:
    """What the command line states about one document."""

    series: str
    parameters: Mapping[str, str]
    content_type: str | None
    unique_id: str | None
    pdi: Pdi | None
    in_place: bool


@click.command("mint")
@click.argument("series", metavar="SERIES|PDI")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--format", "form", help="The format: html, text, image+png ...")
@click.option("--type", "content_type", help="The media type, if the format does not say it.")
@click.option("--id", "unique_id", help="The unique id; by default the next number of the day.")
@click.option("--bind", help="A URI that the PDI stands for, in place of a file.")
@click.option("--digest", help="With --bind: sha256: and the digest of what is at the URI.")
@click.option("--in-place", is_flag=True, help="The PDI was given before: take it as it is.")
@config_option
def mint_command(  # noqa: PLR0913, PLR0917 -- the options
    series: str,
    file: Path | None,
    form: str | None,
    content_type: str | None,
    unique_id: str | None,
    bind: str | None,
    digest: str | None,
    *,
    in_place: bool,
    config: Path | None,
) -> None:
    r"""Mint a document of SERIES from FILE (- is standard input), and print its PDI.

    With a PDI in place of SERIES, FILE is a new version or another format of that document; the
    same bytes change nothing. A PDI that was given elsewhere, or before, is taken as it is
    with --in-place.

    \b
    Exit codes:
      0  minted, or there already
      2  wrong usage, a wrong configuration, or a document that does not exist
      4  the store could not be written

    \b
    Examples:
      timegate mint --config timegate.toml reports.example.us report.html --format html
      timegate mint --config timegate.toml pdi://reports.example.us/2026/11/18/1.html new.html
      timegate mint --config timegate.toml reports.example.us --format pdf \
          --bind https://example.org/report.pdf
    """
    if (file is None) == (bind is None):
        raise click.UsageError("state a FILE, or --bind URI")
    stated = {"format": form, "bind": bind, "digest": digest}
    parameters = {name: text for name, text in stated.items() if text is not None}
    pdi = _read(series)
    if in_place and (pdi is None or pdi.format is None or pdi.version is None):
        raise click.UsageError("--in-place needs a PDI with format and version")
    if pdi is not None and pdi.format is not None:
        parameters["format"] = pdi.format
    name = series.lower() if pdi is None else pdi.series
    statement = _Statement(name, parameters, content_type, unique_id, pdi, in_place)
    body = b"" if file is None else _octets(file)
    with configured(config, None, demo=False) as settings:
        sys.exit(asyncio.run(_mint(settings, statement, body)))


def _read(text: str) -> Pdi | None:
    if not text.lower().startswith(("pdi:", "urn:")):
        return None
    try:
        found = parse(text, load_known()).identifier
    except Malformed as error:
        raise click.UsageError(f"{text}: {error}") from error
    if not isinstance(found, Pdi) or found.is_query or found.suffix:
        raise click.UsageError(f"{text} does not name one document")
    return found


def _octets(file: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror}") from error


async def _mint(config: Config, statement: _Statement, body: bytes) -> int:
    from timegate.series import Minted, OtherBytes, UnknownDocument  # noqa: PLC0415
    from timegate.series.requests import BadStatement  # noqa: PLC0415
    from timegate.store import StoreError  # noqa: PLC0415

    try:
        result = await _recorded(config, statement, body)
    except BadStatement as error:
        raise click.UsageError(str(error)) from error
    except (UnknownDocument, OtherBytes) as error:
        raise click.UsageError(str(error)) from error
    except StoreError as error:
        echo(f"not minted: {error}", err=True)
        return _NOT_WRITTEN
    if not isinstance(result, Minted):
        raise TypeError("minting results in a representation")
    echo(result.representation.pdi)
    if not result.is_new:
        echo("these bytes were there already: nothing was changed", err=True)
    return 0


async def _recorded(config: Config, statement: _Statement, body: bytes) -> object:
    # Only this command writes: warcio is slow to import.
    from timegate.series import MintRequest, PlaceRequest, PutRequest  # noqa: PLC0415
    from timegate.series.catalogue import document_name  # noqa: PLC0415
    from timegate.series.opening import open_journals  # noqa: PLC0415
    from timegate.series.requests import content_of, unique_id_of  # noqa: PLC0415
    from timegate.store.opening import open_stores  # noqa: PLC0415

    section = next((each for each in config.series if each.name == statement.series), None)
    if section is None:
        known = ", ".join(each.name for each in config.series) or "none"
        raise click.UsageError(f"{statement.series} is not a series; configured are: {known}")
    pdi, who = statement.pdi, "operator"
    content = content_of(statement.parameters, statement.content_type, body)
    request: MintRequest | PlaceRequest | PutRequest
    if pdi is None:
        if len(section.name.rpartition(".")[2]) != 2:
            raise click.UsageError("a series without a country at its end mints no new PDIs")
        given = statement.unique_id
        unique_id = None if given is None else unique_id_of(given, content.format)
        request = MintRequest(section.name, content, who, unique_id)
    elif statement.in_place:
        version = int(pdi.version or 1)
        request = PlaceRequest(document_name(pdi), version, content, who)
    else:
        version_stated = None if pdi.version is None else int(pdi.version)
        request = PutRequest(document_name(pdi), version_stated, content, who)
    async with AsyncExitStack() as stack:
        journals = await asyncio.to_thread(open_journals, config)
        writers = await stack.enter_async_context(open_stores(config, journals=journals))
        return await writers[section.store].record(request, len(body))
