"""``timegate closest``: ask one archive, and see hop by hop what it said."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from archives.adapters import source_for
from archives.diagnostics import Diagnosis, Malformed
from archives.errors import ArchiveError
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from archives.nearest import second_of
from archives.registry import Registry
from archives.uri import check_text
from timegate.cli.options import (
    archives_option,
    complete_id,
    config_option,
    configured,
    demo_option,
)
from timegate.collections.opening import open_collections, with_replay_addresses
from timegate.config import Config, is_local, is_public
from timegate.identifiers.url import read_url
from timegate.text import escaped, similar
from timegate.text.times import read_time

if TYPE_CHECKING:
    from timegate.upstream.stack import UpstreamExchange

_SHOWN: Final = (
    *("location", "content-location", "memento-datetime", "vary", "link", "retry-after"),
)


@dataclass(slots=True)
class ArchiveAnswer:
    """One question to one archive, and what became of it."""

    archive: str
    original: str
    at: Moment | None
    outcome: Closest | ArchiveError | None = None
    trail: "list[UpstreamExchange]" = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 found, 3 the archive has none, 4 it did not say."""
        if isinstance(self.outcome, ArchiveError):
            return 4
        return 3 if self.outcome is None else 0


def as_json(inquiry: ArchiveAnswer) -> str:
    """Write *inquiry* as one JSON object."""
    at, outcome = inquiry.at, inquiry.outcome
    found = outcome if isinstance(outcome, Closest) else None
    error = outcome if isinstance(outcome, ArchiveError) else None
    return json.dumps(
        {
            "archive": inquiry.archive,
            "original": inquiry.original,
            "asked": None if at is None else str(at),
            "outcome": "found" if found else "unknown" if error else "absent",
            "memento": None if found is None else _memento(found.memento),
            "delta": None if found is None else _delta(found.memento, at),
            "via": None if found is None else found.via,
            "doubts": [] if found is None else list(found.doubts),
            "neighbours": {}
            if found is None
            else {name: _memento(memento) for name, memento in found.neighbours.items()},
            "error": None
            if error is None
            else {
                "kind": type(error).__name__.lower(),
                "why": error.why,
                "url": error.url,
                "retry_after": getattr(error, "retry_after", None),
            },
            "exchanges": [_exchange(exchange) for exchange in inquiry.trail],
        }
    )


def _memento(memento: Memento) -> dict[str, object]:
    return {
        "uri": memento.uri,
        "datetime": str(memento.captured),
        "original": memento.original,
        "status": memento.status,
    }


def _delta(memento: Memento, at: Moment | None) -> int | None:
    if at is None:
        return None
    return int(at.distance(second_of(memento.stamp)).total_seconds())


def _exchange(exchange: "UpstreamExchange") -> dict[str, object]:
    return {
        "method": exchange.request.method,
        "url": exchange.request.url,
        "sent": dict(exchange.request.headers),
        "status": exchange.status,
        "headers": dict(exchange.headers),
        "error": None if exchange.error is None else exchange.error.why,
        "seconds": round(exchange.seconds, 3),
    }


def as_text(inquiry: ArchiveAnswer) -> str:
    """Write *inquiry* for people."""
    at = inquiry.at
    when = "the newest copy" if at is None else f"the copy closest to {at}"
    lines = [f"asking {inquiry.archive} for {when} of {inquiry.original}"]
    for number, exchange in enumerate(inquiry.trail, start=1):
        lines += _hop(number, exchange)
    return "\n".join([*lines, *_verdict(inquiry.outcome, at)])


def _hop(number: int, exchange: "UpstreamExchange") -> Iterator[str]:
    yield f"{number:>2}  {exchange.request.method} {exchange.request.url}"
    for name, value in exchange.request.headers.items():
        yield f"      > {name.title()}: {value}"
    if exchange.status is None:
        yield f"      no answer after {exchange.seconds:.2f} s"
        return
    yield f"      {exchange.status} after {exchange.seconds:.2f} s"
    for name in _SHOWN:
        if name in exchange.headers:
            yield f"      < {name.title()}: {escaped(exchange.headers[name])}"


def _verdict(outcome: Closest | ArchiveError | None, at: Moment | None) -> Iterator[str]:
    if outcome is None:
        yield f"{click.style('absent', 'yellow')}: the archive says that it has no copy"
    elif isinstance(outcome, ArchiveError):
        yield f"{click.style('unknown', 'magenta')}: {escaped(outcome.why)}"
    else:
        memento = outcome.memento
        yield f"{click.style('found', 'green')} {escaped(memento.uri)}"
        yield f"  captured {memento.captured}{_in_words(_delta(memento, at))}"
        if memento.status not in (None, 200):
            yield f"  archived status {memento.status}"
        for doubt in outcome.doubts:
            yield f"  {click.style('doubt', 'yellow')}: {escaped(doubt)}"


def _in_words(delta: int | None) -> str:
    if delta is None:
        return ""
    if delta == 0:
        return ", inside the time asked for"
    side = "before" if delta < 0 else "after"
    days, seconds = divmod(abs(delta), 86_400)
    distance = f"{days} days" if days else f"{seconds} seconds"
    return f", {distance} {side} the time asked for"


async def ask(
    config: Config, entry: ArchiveEntry, contact: str, inquiry: ArchiveAnswer
) -> None:
    """Ask *entry*, and note in *inquiry* what it said."""
    if is_local(entry):
        await _look(config, entry, inquiry)
    else:
        await _send(config, entry, contact, inquiry)


async def _send(
    config: Config, entry: ArchiveEntry, contact: str, inquiry: ArchiveAnswer
) -> None:
    """Ask over the network, and note every exchange."""
    from timegate.upstream.stack import (  # noqa: PLC0415 -- help and completion must be quick
        UpstreamEnvironment,
        UpstreamSettings,
        open_fetchers,
    )

    settings = UpstreamSettings(contact, allow_private=config.private, patience=30.0)
    around = UpstreamEnvironment(record=inquiry.trail.append)
    async with open_fetchers([entry], settings, around) as fetchers:
        source = source_for(entry, fetchers[entry.id], lambda: datetime.now(UTC))
        inquiry.outcome = await _outcome(source.closest(inquiry.original, inquiry.at))


async def _look(config: Config, entry: ArchiveEntry, inquiry: ArchiveAnswer) -> None:
    """Look into a collection on our own disk."""
    base_url = config.base_url or "http://127.0.0.1:1208"
    ours = with_replay_addresses(config, base_url).registry.by_id(entry.id) or entry
    registry = Registry((ours,), shared_hosts=True)
    async with open_collections(registry, base_url, keep=False) as local:
        source = local.sources[entry.id]
        inquiry.outcome = await _outcome(source.closest(inquiry.original, inquiry.at))


async def _outcome(answer: Awaitable[Closest | None]) -> Closest | ArchiveError | None:
    try:
        return await answer
    except ArchiveError as error:
        return error


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
    on_site = entry.kind.is_local and entry.access == "onsite-only"
    if on_site or not entry.kind.is_askable:
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
    """Public archives are asked only by those who say who they are (R-14)."""
    who = contact or config.contact
    if who is None and is_public(entry):
        why = "public archives want to know who asks: give --contact mailto:you@example.org"
        raise click.UsageError(why)
    return who or "no contact given"
