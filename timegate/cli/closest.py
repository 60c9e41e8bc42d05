"""``timegate closest``: queries one archive and shows every exchange."""

import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from archives.adapters import source_for
from archives.diagnostics import Diagnosis, Malformed
from archives.errors import ArchiveError
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment, second_of
from archives.registry import Registry
from archives.source import Source
from archives.uri import check_text
from timegate.cli.options import (
    BASE_URL,
    archives_option,
    complete_id,
    config_option,
    configured,
    demo_option,
    read_typed_time,
)
from timegate.cli.output import Line, Styled, echo_lines
from timegate.collections.opening import open_collections, with_replay_addresses
from timegate.config import Config, is_local, is_public
from timegate.identifiers.url import read_url
from timegate.observability.logs import Unforeseen
from timegate.resolution.coalescing import Contained, Containment
from timegate.resolution.ranking import nearest_named
from timegate.text import counted, similar

if TYPE_CHECKING:
    from timegate.upstream.exchange_log import UpstreamExchange

_HEADERS: Final = (
    *("location", "content-location", "memento-datetime", "vary", "link", "retry-after"),
)


@dataclass(slots=True)
class ArchiveAnswer:
    """A query to one archive, its outcome and the exchanges."""

    archive: str
    original: str
    at: Moment | None
    outcome: Closest | ArchiveError | None = None
    trail: "list[UpstreamExchange]" = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 found, 3 the archive has no copy, 4 it did not answer."""
        if isinstance(self.outcome, ArchiveError):
            return 4
        return 3 if self.outcome is None else 0


def as_json(answer: ArchiveAnswer) -> str:
    """Return *answer* as one JSON object."""
    at, outcome = answer.at, answer.outcome
    found = outcome if isinstance(outcome, Closest) else None
    error = outcome if isinstance(outcome, ArchiveError) else None
    return json.dumps(
        {
            "archive": answer.archive,
            "original": answer.original,
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
            "exchanges": [_exchange(exchange) for exchange in answer.trail],
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


def as_text(answer: ArchiveAnswer) -> Iterator[Line]:
    """Yield *answer* as lines of text."""
    at = answer.at
    when = "the newest copy" if at is None else f"the copy closest to {at}"
    yield f"asking {answer.archive} for {when} of {answer.original}"
    for number, exchange in enumerate(answer.trail, start=1):
        yield from _hop(number, exchange)
    yield from _verdict(answer.outcome, at)


def _hop(number: int, exchange: "UpstreamExchange") -> Iterator[str]:
    yield f"{number:>2}  {exchange.request.method} {exchange.request.url}"
    for name, value in exchange.request.headers.items():
        yield f"      > {name.title()}: {value}"
    if exchange.status is None:
        yield f"      no answer after {exchange.seconds:.2f} s"
        return
    yield f"      {exchange.status} after {exchange.seconds:.2f} s"
    for name in _HEADERS:
        if name in exchange.headers:
            yield f"      < {name.title()}: {exchange.headers[name]}"


def _verdict(outcome: Closest | ArchiveError | None, at: Moment | None) -> Iterator[Line]:
    if outcome is None:
        yield Styled("absent", "yellow"), ": the archive has no copy"
    elif isinstance(outcome, ArchiveError):
        yield Styled("unknown", "magenta"), f": {outcome.why}"
    else:
        memento = outcome.memento
        yield Styled("found", "green"), f" {memento.uri}"
        yield f"  captured {memento.captured}{_in_words(_delta(memento, at))}"
        if memento.status not in (None, 200):
            yield f"  archived status {memento.status}"
        for doubt in outcome.doubts:
            yield "  ", Styled("doubt", "yellow"), f": {doubt}"


def _in_words(delta: int | None) -> str:
    if delta is None:
        return ""
    if delta == 0:
        return ", within the requested time"
    side = "before" if delta < 0 else "after"
    days, seconds = divmod(abs(delta), 86_400)
    distance = counted(days, "day") if days else counted(seconds, "second")
    return f", {distance} {side} the requested time"


async def ask(config: Config, entry: ArchiveEntry, contact: str, answer: ArchiveAnswer) -> None:
    """Query *entry* and store the outcome in *answer*."""
    if is_local(entry):
        await _query_local(config, entry, answer)
    else:
        await _query_remote(config, entry, contact, answer)


async def _query_remote(
    config: Config, entry: ArchiveEntry, contact: str, answer: ArchiveAnswer
) -> None:
    """Query over the network and record every exchange."""
    from timegate.upstream.stack import (  # noqa: PLC0415 -- help and completion must be quick
        UpstreamEnvironment,
        UpstreamSettings,
        open_fetchers,
    )

    settings = UpstreamSettings(contact, allow_private=config.private, patience=30.0)
    environment = UpstreamEnvironment(record=answer.trail.append)
    async with open_fetchers([entry], settings, environment) as fetchers:
        source = source_for(entry, fetchers[entry.id], lambda: datetime.now(UTC))
        answer.outcome = await _outcome(source, answer)


async def _query_local(config: Config, entry: ArchiveEntry, answer: ArchiveAnswer) -> None:
    """Query a local collection."""
    base_url = config.base_url or BASE_URL
    served = with_replay_addresses(config, base_url).registry.by_id(entry.id) or entry
    registry = Registry((served,), shared_hosts=True)
    async with open_collections(registry, base_url, keep=False) as local:
        answer.outcome = await _outcome(local.sources[entry.id], answer)


async def _outcome(source: Source, answer: ArchiveAnswer) -> Closest | ArchiveError | None:
    """Return the nearest memento that the archive names: its choice, or one that it links."""
    contained = Contained(source, Containment(log=Unforeseen("archive-internal-error")))
    try:
        closest = await contained.closest(answer.original, answer.at)
    except ArchiveError as error:
        return error
    return None if closest is None else nearest_named(closest, answer.at, "closest")


@click.command("closest")
@click.argument("archive", shell_complete=complete_id)
@click.argument("url")
@click.argument("when", default="latest", metavar="[TIME]")
@config_option
@archives_option
@click.option("--contact", envvar="TIMEGATE_CONTACT", help="Your contact, sent in User-Agent.")
@click.option("--json", is_flag=True, help="Print one JSON object.")
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
    r"""Ask ARCHIVE for its copy of URL closest to TIME, and show every exchange.

    ARCHIVE is an ID from `timegate archives` or from the configuration. TIME can be digits,
    ISO 8601, an HTTP date or free text; the default is the newest copy.

    \b
    Exit codes:
      0  the archive has a copy
      2  unknown archive, invalid URL or invalid time
      3  the archive has no copy
      4  the archive did not answer

    \b
    Examples:
      timegate closest --demo harbour http://museum.example/ 2010-11
      timegate closest --demo harbour http://museum.example/ "June 2009" --json
      timegate closest arquivo-pt http://www.sapo.pt/ 2005 --contact mailto:you@example.org
    """
    with configured(config, archives, demo=demo) as settings:
        entry = _entry(settings, archive)
        answer = ArchiveAnswer(entry.id, _url(url), _time(when))
        asyncio.run(ask(settings, entry, _contact(settings, entry, contact), answer))
    echo_lines([as_json(answer)] if json else as_text(answer))
    sys.exit(answer.exit_code)


def _entry(config: Config, archive: str) -> ArchiveEntry:
    entry = config.registry.by_id(archive) or config.registry.by_pwid(archive)
    if entry is None:
        ids = [known.id for known in config.registry.entries]
        why = f"unknown archive {archive!r}; `timegate archives` lists the known ones."
        raise click.UsageError(why + similar(archive, ids))
    on_site = entry.kind.is_local and entry.access == "onsite-only"
    if on_site or not entry.kind.is_askable:
        why = entry.access_note or entry.because
        raise click.UsageError(f"{entry.id} cannot be queried by programs: {why}")
    if entry.kind.asks_originals:
        why = "has no address of its own; timegate resolve queries originals"
        raise click.UsageError(f"{entry.id} {why}")
    return entry


def _url(text: str) -> str:
    try:
        check_text(text)
        return read_url(text, Diagnosis()).identifier.item or text
    except Malformed as complaint:
        raise click.UsageError(f"{text}: {complaint}") from complaint


def _time(text: str) -> Moment | None:
    try:
        return read_typed_time(text)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _contact(config: Config, entry: ArchiveEntry, contact: str | None) -> str:
    """Return the contact. Raises UsageError if a public archive needs one (R-14)."""
    contact = contact or config.contact
    if contact is None and is_public(entry):
        why = "public archives need to know who is asking: use --contact mailto:you@example.org"
        raise click.UsageError(why)
    return contact or "no contact given"
