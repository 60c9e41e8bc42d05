"""``timegate resolve``: the best copy of each reference, and how good it is."""

import asyncio
import json
import sys
from pathlib import Path

import click

from archives.model import Closest
from archives.reading import Malformed
from timegate.app import App, running
from timegate.cli.batch import resolve_batch
from timegate.cli.batch_options import BatchOptions, batch_options
from timegate.cli.lines import inputs, printable
from timegate.cli.options import archives_option, check_contact, config_option, loaded
from timegate.config import Config
from timegate.identifiers import parse
from timegate.policies import policy_from, satisfies
from timegate.querying import NotNegotiable, query_for
from timegate.resolution import Policy, Resolution
from timegate.verdict import Verdict, in_words, location, verdict

_PRECISE = ("exact", "within")


@click.command("resolve")
@click.argument("identifiers", nargs=-1, metavar="[ID]...")
@config_option
@archives_option
@click.option("--json", "as_json", is_flag=True, help="One line of JSON for each ID.")
@click.option(
    "--precision",
    type=click.Choice(["exact", "archive", "day", "any"]),
    default="any",
    help="The least that will do.",
)
@batch_options
def resolve_command(  # noqa: PLR0913 -- one parameter for each option
    identifiers: tuple[str, ...],
    *,
    config: Path | None,
    archives: Path | None,
    as_json: bool,
    precision: str,
    batch: BatchOptions,
) -> None:
    r"""Find the best copy of each ID that any archive holds, and say how good it is.

    Exit code 0: as asked; 1: found, but less precise; 2: not an identifier; 3: nothing found,
    and every archive answered; 4: nothing found, and some did not.

    With --batch the references are those of a list: lines, CSV, JSONL, BibTeX or wikitext.

    \b
    Examples:
      timegate resolve urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk
      timegate resolve --batch links.csv --output found.csv --report found.html
    """
    if (batch.batch is None) == (not identifiers):
        raise click.UsageError("give either IDs or a list with --batch")
    settings = loaded(config, archives)
    check_contact(settings)
    if batch.batch is not None:
        sys.exit(resolve_batch(settings, batch, precision))
    policy, _ = policy_from({"precision": precision}, None, None)
    codes = asyncio.run(_resolve_all(settings, identifiers, policy, as_json=as_json))
    sys.exit(max(codes, default=0))


async def _resolve_all(
    config: Config, identifiers: tuple[str, ...], policy: Policy, *, as_json: bool
) -> list[int]:
    codes = []
    async with running(config, config.base_url or "http://127.0.0.1:1208") as app:
        for text in inputs(identifiers):
            code, told = await _resolve(app, config, text, policy, as_json=as_json)
            click.echo(told)
            codes.append(code)
    return codes


async def _resolve(
    app: App, config: Config, text: str, policy: Policy, *, as_json: bool
) -> tuple[int, str]:
    try:
        query = query_for(parse(text, config.registry), config.registry)
    except (Malformed, NotNegotiable) as error:
        if as_json:
            return 2, json.dumps({"input": text, "error": str(error)})
        return 2, f"{printable(text)}\n  refused: {error}"
    resolution = await app.resolver.resolve(query, policy)
    judged = verdict(resolution, config.registry)
    code = _exit_code(resolution, judged)
    if as_json:
        return code, json.dumps({"input": text, **app.answers.report(resolution, judged)})
    return code, f"{printable(text)}\n  {_shown(resolution, judged, config)}"


def _exit_code(resolution: Resolution, judged: Verdict) -> int:
    if resolution.memento is None:
        return 3 if resolution.complete else 4
    met = satisfies(resolution, judged)
    return 0 if met and judged.match.value in _PRECISE else 1


def _shown(resolution: Resolution, judged: Verdict, config: Config) -> str:
    memento = resolution.memento
    if memento is None:
        silent = ", ".join(resolution.failed)
        return f"nothing found; no answer from {silent}" if silent else "nothing found"
    lines = [
        f"{location(resolution, config.registry)}",
        f"captured {memento.captured}, in {memento.archive}",
        in_words(judged),
    ]
    lines += [
        f"also in {attempt.archive}: {attempt.outcome.memento.uri}"
        for attempt in resolution.alternatives
        if isinstance(attempt.outcome, Closest)
    ]
    return "\n  ".join(lines)
