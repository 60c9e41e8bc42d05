"""What copies say: reading, quotations, comparison and audits, over a core.

Every answer has one of three standings: a copy was *seen*; it is *absent* from all archives
that were queried, and each of them answered; or it is *unknown*, because one did not.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

from archives.model import Memento
from timegate.batch.model import (
    Item,
    ItemResult,
    better,
    candidates,
    code_of,
    failed_result,
    quoting,
    refused_result,
    result_of,
    trusted,
)
from timegate.batch.source import ListSource
from timegate.citations import copy_found
from timegate.citations.forms import reference
from timegate.content.findings import LookedAt, LookLimits, QuoteFinding, UnreadCopy, finding
from timegate.content.fragments import TextQuote
from timegate.content.quote_history import next_to_read
from timegate.core import Core
from timegate.observability.logs import Unforeseen
from timegate.references.lines import Columns
from timegate.resolution.context import UNLIMITED, Budget
from timegate.resolution.model import Preferences, Resolution
from timegate.resolution.preferences import with_also
from timegate.responses.answer_view import name_of
from timegate.responses.report import report
from timegate.text import counted
from timegate.text.times import read_time
from timegate.verdict import Verdict, in_words, verdict

Standing = Literal["seen", "absent", "unknown"]
MOST_TEXT: Final = 20_000
"""Characters of a text that are returned at once."""
LARGEST_COPY: Final = 10_000_000
_MOST_BIBLIOGRAPHY: Final = 2_000_000
MOST_REFERENCES: Final = 500
_AT_ONCE: Final = 8
_REQUESTS: Final = 8
BISECTION: Final = LookLimits(copies=16, requests=48, octets=32_000_000, seconds=120.0)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a reference, and how to cite it."""

    standing: Standing
    because: str
    """The standing in one sentence: which copy, or which archives did not answer."""
    citation: str | None
    """A reference to the copy, as text; None if there is none."""
    pwid: str | None
    """The PWID of the copy."""


def evidence(resolution: Resolution, judged: Verdict, core: Core) -> Evidence:
    """Return the standing of *resolution*, with the citation of its copy."""
    registry = core.registry
    code = code_of(resolution, judged)
    memento = resolution.memento
    if resolution.live is not None and resolution.live.answers:
        why = "unknown: the original itself answered, so no archive was queried for copies"
        return Evidence("unknown", why, None, None)
    if memento is None:
        if code == 3:
            asked = {attempt.archive for attempt in resolution.attempts}
            why = f"absent: {counted(len(asked), 'archive')} answered, and none has a copy"
            return Evidence("absent", why, None, None)
        return Evidence("unknown", _unknown(resolution, core), None, None)
    name = name_of(memento.archive, registry)
    why = f"seen: {name} has a copy of {memento.captured}: {in_words(judged)}"
    copy = copy_found(resolution, registry)
    if copy is None:
        return Evidence("seen", why, None, None)
    return Evidence("seen", why, reference("apa", copy), reference("pwid", copy))


def _unknown(resolution: Resolution, core: Core) -> str:
    silent = [name_of(archive, core.registry) for archive in resolution.failed]
    if silent:
        return f"unknown: no answer from {', '.join(silent)}"
    if resolution.unqueried is not None:
        skip = resolution.unqueried
        return (
            f"unknown: {name_of(skip.archive, core.registry)} was not queried ({skip.reason})"
        )
    return "unknown: no archive could be queried"


def captures_to_read(mementos: Sequence[Memento], chosen: Memento) -> list[Memento]:
    """Return the pages of *mementos*, oldest first, with *chosen*; no digest twice in a row."""
    kept: list[Memento] = []
    for memento in sorted({memento.uri: memento for memento in (*mementos, chosen)}.values()):
        if memento.uri != chosen.uri and memento.status not in (None, 200):
            continue
        repeats = kept and memento.digest and kept[-1].digest == memento.digest
        if repeats and chosen.uri not in (memento.uri, kept[-1].uri):
            continue
        kept.append(memento)
    return kept


async def quote_over_time(
    core: Core,
    wanted: TextQuote,
    chosen: Memento,
    mementos: Sequence[Memento],
    limits: LookLimits = BISECTION,
) -> QuoteFinding:
    """Look for *wanted* in the copies that say most about when the page had it."""
    captures = captures_to_read(mementos, chosen)
    read: dict[int, LookedAt] = {}
    index: int | None = next(n for n, m in enumerate(captures) if m.uri == chosen.uri)
    why = ""
    one = LookLimits(1, limits.requests, limits.octets, limits.seconds)
    try:
        async with asyncio.timeout(limits.seconds):
            while index is not None and len(read) < limits.copies:
                found = await core.quotes.look(wanted, [captures[index]], UNLIMITED, one)
                read[index] = found.copies[0]
                known = {
                    n: None if copy.status == "not-looked" else copy.has_it
                    for n, copy in read.items()
                }
                index = next_to_read(len(captures), known)
    except TimeoutError:
        why = f"there was no time left after {limits.seconds:g} s"
    if index is not None and not why:
        why = f"{len(read)} of {len(captures)} copies were read"
    copies = tuple(read[n] for n in sorted(read))
    return finding(wanted, copies, chosen, why)


@dataclass(frozen=True, slots=True)
class CopyReading:
    """The text of a copy, or why it is not known."""

    title: str
    language: str
    text: str
    length: int
    """Characters of the whole text."""
    unread: str
    """Why there is no text; empty if there is."""


async def read_copy(
    core: Core, memento: Memento, *, main: bool, start: int, most: int
) -> CopyReading:
    """Return at most *most* characters from *start* on of what *memento* says."""
    budget = Budget(_REQUESTS, LARGEST_COPY)
    copy = await core.texts.of(memento, UNLIMITED, budget, LARGEST_COPY)
    if isinstance(copy, UnreadCopy):
        return CopyReading("", "", "", 0, copy.why)
    page = copy.page
    text = page.main if main and page.main.strip() else page.text
    language = page.language or page.declared_language
    return CopyReading(page.title, language, text[start : start + most], len(text), "")


def references_in(text: str, core: Core, at: str | None = None) -> Sequence[Item]:
    """Return the references of *text*: BibTeX, RIS, CSV, JSON, wikitext, or any prose.

    Raises ValueError if it is too long, has too many references, or none.
    """
    moment = None if at is None else read_time(at)
    octets = text.encode(errors="surrogateescape")
    if len(octets) > _MOST_BIBLIOGRAPHY:
        raise ValueError(f"a bibliography may have {_MOST_BIBLIOGRAPHY:,} bytes")
    with TemporaryDirectory(prefix="timegate-") as folder:
        path = Path(folder) / "bibliography"
        path.write_bytes(octets)
        source = ListSource(str(path), None, Columns(None, ()), core.registry, moment)
        items: list[Item] = []
        for item in source.items():
            if len(items) == MOST_REFERENCES:
                raise ValueError(f"a bibliography may have {MOST_REFERENCES} references")
            items.append(item)
    if not items:
        raise ValueError("there is no reference in this text")
    return items


async def audited(
    core: Core, items: Sequence[Item], preferences: Preferences
) -> list[tuple[ItemResult, Evidence | None]]:
    """Resolve *items*, some at once; each with its standing, None if it cannot be read."""
    places = asyncio.Semaphore(_AT_ONCE)
    log = Unforeseen("item-internal-error")

    async def one(item: Item) -> tuple[ItemResult, Evidence | None]:
        async with places:
            try:
                return await _audited(core, item, preferences)
            except Exception as error:  # noqa: BLE001 -- the boundary around each item
                log("audit", error)
                result = failed_result(item, error)
                return result, Evidence("unknown", f"unknown: {result.why}", None, None)

    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(one(item)) for item in items]
    return [task.result() for task in running]


async def _audited(
    core: Core, item: Item, preferences: Preferences
) -> tuple[ItemResult, Evidence | None]:
    registry = core.registry
    try:
        queries = candidates(item, registry, read_time)
        preferences = quoting(with_also(preferences, item.also), item)
    except ValueError as error:
        refused = refused_result(item, error)
        known = Evidence("unknown", f"unknown: {error}", None, None)
        return refused, known if refused.code == 4 else None
    best: ItemResult | None = None
    found: Evidence | None = None
    for query, date in queries:
        resolution = trusted(
            await core.resolver.resolve(query, preferences, UNLIMITED), registry
        )
        judged = verdict(resolution, registry)
        result = result_of(item, resolution, judged, date, _reports(core))
        if better(best, result) is result:
            best, found = result, evidence(resolution, judged, core)
        if result.code == 0:
            break
    assert best is not None  # noqa: S101 -- there is always a query
    return best, found


def _reports(core: Core) -> Callable[[Resolution, Verdict], dict[str, object]]:
    def written(resolution: Resolution, judged: Verdict) -> dict[str, object]:
        return dict(report(resolution, judged, core.registry, core.base_url))

    return written


def tally(standings: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield how often each standing occurs."""
    for name in ("seen", "absent", "unknown", "unreadable"):
        yield name, standings.count(name)
