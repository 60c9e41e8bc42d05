"""The Python library: `import timegate`.

A small typed interface over the `Core` that the command line and the server use. Everything
that is not in `timegate.__all__` is private and may change in any release.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from archives.diagnostics import Malformed
from archives.errors import ArchiveError
from archives.model import Memento
from archives.moment import Moment, whole_second
from archives.registry import Registry, load_known
from timegate.app import build_core
from timegate.batch.model import ItemResult
from timegate.citations import citation, copy_behind
from timegate.config import BadConfig, Config, check_contact, load_config
from timegate.content.findings import UnreadCopy
from timegate.core import Core
from timegate.identifiers import parse as parse_identifier
from timegate.library.reading import (
    MOST_TEXT,
    Evidence,
    audited,
    evidence,
    quote_over_time,
    read_copy,
    references_in,
)
from timegate.parts.composite import PartLimits, PartsSummary
from timegate.references.pasted import read_pasted
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Query, Resolution
from timegate.resolution.preferences import check_archives, preferences_from
from timegate.resolution.query import query_for
from timegate.responses.parts import part_document, pwids
from timegate.responses.quotes import copy_json, quote_json, quote_words
from timegate.responses.report import referred, report
from timegate.responses.text_diff import row_json
from timegate.text.times import read_time
from timegate.timemaps import MergeDeadlines
from timegate.verdict import header, in_words, location, quoted_location, verdict

__all__ = [
    "AuditedReference",
    "BadConfig",
    "CaptureList",
    "CheckedQuote",
    "CitedCopy",
    "ComparedCopies",
    "Gate",
    "Memento",
    "PageWithParts",
    "ParsedReference",
    "ReadCopy",
    "ResolvedReference",
    "cite",
    "open_gate",
    "parse",
    "resolve",
]

_BASE_URL: Final = "http://127.0.0.1:1208"
"""Links in reports begin with it where the configuration has no base_url."""
MOST_CAPTURES: Final = 100_000
MOST_BISECTED: Final = 20_000
"""Captures among which those are chosen that are read for a quotation."""


@dataclass(frozen=True, slots=True)
class ResolvedReference:
    """The best copy of a reference that any archive holds, and how it differs."""

    uri: str | None
    """Address of the copy; None if no archive is known to hold one. If ``match`` is ``live``,
    that of the original itself, which is no copy."""
    captured: datetime | None
    """When it was captured (UTC)."""
    archive: str | None
    """The id of the archive that holds it."""
    match: str
    """``exact``, ``within``, ``approximate``, ... as in the header ``Memento-Precision``."""
    words: str
    """The verdict in one sentence."""
    precision: str
    """The whole verdict, as in the header ``Memento-Precision``."""
    unanswered: tuple[str, ...]
    """Archives that did not answer: they may hold a better copy."""
    referral: str | None
    """Unchecked link to the copy in the archive that the reference names, if that archive was
    not queried or did not answer."""
    report: Mapping[str, object]
    """The report, as the server returns it with ``?as=json``."""
    standing: str = "unknown"
    """``seen``; ``absent``: every archive answered, and none has a copy; or ``unknown``."""
    because: str = ""
    """The standing in one sentence."""
    citation: str | None = None
    """How to cite the copy, as text."""
    pwid: str | None = None


@dataclass(frozen=True, slots=True)
class CaptureList:
    """All captures of a page that the archives list, oldest first."""

    captures: tuple[Memento, ...]
    missing: Mapping[str, str]
    """Archives whose captures may be missing, and why."""
    truncated: bool
    """Whether there are more captures than were wanted."""


@dataclass(frozen=True, slots=True)
class PageWithParts:
    """A page, and the captures of what it embeds near its own time."""

    page: ResolvedReference
    """The page; its verdict has the members on parts."""
    pwids: tuple[str, ...]
    """The PWID of the page, then those of the parts that were found."""
    parts: tuple[Mapping[str, object], ...]
    """Every part, as the server returns it in the JSON of ``/parts/``."""
    unread: tuple[str, ...]
    """Why there may be more parts."""


@dataclass(frozen=True, slots=True)
class ParsedReference:
    """What the text of a reference states."""

    kind: str
    """The kind of identifier: ``urn:pwid``, ``duri``, ``replay``, ``url``, ..."""
    url: str | None
    """The URL that was archived."""
    time: str | None
    """The time that is stated, in ISO 8601, as precisely as it is stated."""
    archive: str | None
    """The archive that is named."""
    canonical: str | None
    """The canonical spelling of the identifier."""
    notes: tuple[str, ...]
    """What was repaired, or is unusual."""


@dataclass(frozen=True, slots=True)
class CitedCopy:
    """The identifiers of a copy."""

    pwid: str
    duri: str


@dataclass(frozen=True, slots=True)
class ReadCopy:
    """The text of a copy, with its verdict and its citation."""

    found: ResolvedReference
    title: str
    language: str
    """ISO 639-1; empty if it is not known."""
    text: str
    length: int
    """Characters of the whole text, of which *text* may be a part."""
    unread: str
    """Why the text is not known; empty if it is. It says nothing about the page."""


@dataclass(frozen=True, slots=True)
class CheckedQuote:
    """Whether a copy has a quotation."""

    found: ResolvedReference
    status: str
    """``found``, ``near``, ``absent``, ``elsewhere`` or ``not-looked``."""
    words: str
    """The status in one sentence."""
    passage: str | None
    """The passage as the copy has it."""
    score: float | None
    uri: str | None
    """The address of the passage, with a text directive."""
    edits: tuple[tuple[str, str], ...]
    """How the passage differs: what is quoted, and what is written."""
    copies: tuple[Mapping[str, object], ...]
    """The copies that were looked at: ``uri``, ``datetime``, ``status``, ``reason`` ..."""
    reason: str | None
    """Why it is not known, or which copies were not read."""


@dataclass(frozen=True, slots=True)
class ComparedCopies:
    """Two copies of a page, compared by their texts."""

    first: ResolvedReference
    second: ResolvedReference
    similarity: float | None
    """0 to 1; None if one of the texts is not known."""
    changes: tuple[Mapping[str, object], ...]
    """Lines that differ: ``kind`` (added, removed, changed), ``left``, ``right``."""
    unread: str
    """Why they could not be compared; empty if they were."""


@dataclass(frozen=True, slots=True)
class AuditedReference:
    """One reference of a bibliography."""

    input: str
    standing: str
    """``seen``, ``absent``, ``unknown``; ``unreadable`` if it cannot be read."""
    because: str
    as_asked: bool
    """Whether the copy is as the reference asks: time, archive and URL."""
    uri: str | None
    citation: str | None
    pwid: str | None
    quote: Mapping[str, object] | None
    """Whether the copy has the quotation of the reference, as in reports."""


class Gate:
    """Resolves references. Made by `open`."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def resolve(  # noqa: PLR0913 -- the preferences, as over HTTP
        self,
        reference: str,
        *,
        at: str | datetime | None = None,
        precision: str = "any",
        tolerance: str | None = None,
        direction: str = "closest",
        verify: str = "head",
        status: str = "2xx",
        archives: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        wait: float | None = None,
        also: str | Iterable[str] = (),
    ) -> ResolvedReference:
        """Return the best copy of *reference*: a PWID, a duri, an archive link, or a URL.

        *at* is the time for a reference that states none. The other arguments are the query
        parameters of the HTTP interface; *archives*, *exclude* and *also* may be lists. Raises
        ValueError if an argument cannot be used.
        """
        chosen = {
            "precision": precision,
            "tolerance": tolerance,
            "direction": direction,
            "verify": verify,
            "status": status,
            "archives": _joined("archives", archives, ","),
            "exclude": _joined("exclude", exclude, ","),
            "wait": _seconds(wait),
            "also": _joined("also", also, " ") or None,
        }
        stated = {
            name: _text(name, value) for name, value in chosen.items() if value is not None
        }
        preferences, _ = preferences_from(stated, None, None)
        check_archives(preferences, self._core.registry)
        query, preferences = self._query(reference, at), replace(preferences, live=True)
        resolution = await self._core.resolver.resolve(query, preferences, UNLIMITED)
        return self._resolved(resolution)

    async def parts(
        self, reference: str, *, at: str | datetime | None = None, requests: int | None = None
    ) -> PageWithParts:
        """Return what the page of *reference* embeds, with at most *requests* to archives.

        Without a page, or if its bytes cannot be read, there are no parts, and the words of
        the page say why. Raises ValueError if *reference* cannot be read.
        """
        core, query = self._core, self._query(reference, at)
        preferences, _ = preferences_from({"verify": "head"}, None, None)
        resolution = await core.resolver.resolve(query, preferences, UNLIMITED)
        if resolution.memento is None:
            return PageWithParts(self._resolved(resolution), (), (), ())
        limits = PartLimits() if requests is None else PartLimits(requests=requests)
        try:
            found = await core.parts_of(resolution.memento, UNLIMITED, limits)
        except ArchiveError as error:
            failure = PartsSummary(failure=f"{error.archive} {error.why}")
            page = self._resolved(replace(resolution, parts=failure))
            return PageWithParts(page, (), (), (page.words,))
        return PageWithParts(
            page=self._resolved(replace(resolution, parts=found.summary)),
            pwids=tuple(pwids(found, core.registry)),
            parts=tuple(part_document(part, core.registry) for part in found.parts),
            unread=found.unread,
        )

    async def read(
        self,
        reference: str,
        *,
        at: str | datetime | None = None,
        main: bool = True,
        start: int = 0,
        most: int = MOST_TEXT,
    ) -> ReadCopy:
        """Return the text of the copy of *reference*, at most *most* characters from *start*.

        *main* leaves out navigation, advertisements and footers. Raises ValueError if
        *reference* cannot be read.
        """
        resolution = await self._delivered(reference, at)
        found = self._resolved(resolution)
        memento = resolution.memento
        if memento is None:
            return ReadCopy(found, "", "", "", 0, found.because)
        copy = await read_copy(
            self._core, memento, main=main, start=max(start, 0), most=max(most, 0)
        )
        return ReadCopy(found, copy.title, copy.language, copy.text, copy.length, copy.unread)

    async def check_quote(
        self,
        reference: str,
        quote: str,
        *,
        at: str | datetime | None = None,
        bisect: bool = False,
    ) -> CheckedQuote:
        """Return whether the copy of *reference* has *quote*: a text, or ``#:~:text=...``.

        With *bisect*, further copies are read to learn when the page had it. Raises ValueError
        if *reference* or *quote* cannot be read.
        """
        preferences, _ = preferences_from({"verify": "head", "quote": quote}, None, None)
        query = self._query(reference, at)
        resolution = await self._core.resolver.resolve(query, preferences, UNLIMITED)
        memento = resolution.memento
        if bisect and memento is not None and preferences.quote is not None:
            listed = await self.timemap(memento.original, limit=MOST_BISECTED)
            history = await quote_over_time(
                self._core, preferences.quote, memento, listed.captures
            )
            resolution = replace(resolution, quote=history)
        return self._checked(resolution)

    def _checked(self, resolution: Resolution) -> CheckedQuote:
        found, seen = self._resolved(resolution), resolution.quote
        if seen is None:
            words = f"it is not known whether a copy has it ({found.because})"
            if found.standing == "absent":
                words = "no archive has a copy of the page"
            return CheckedQuote(
                found, "not-looked", words, None, None, None, (), (), found.because
            )
        members = quote_json(seen, quoted_location(resolution, self._core.registry))
        holder = seen.holder
        return CheckedQuote(
            found,
            seen.status,
            quote_words(seen, self._core.registry),
            None if holder is None else holder.passage,
            None if holder is None else holder.score,
            None if members["memento"] is None else str(members["memento"]),
            () if holder is None else tuple((e.quoted, e.written) for e in holder.edits),
            tuple(copy_json(copy) for copy in seen.copies),
            seen.why or None,
        )

    async def compare(
        self, reference: str, other: str, *, at: str | datetime | None = None
    ) -> ComparedCopies:
        """Return how the copy of *reference* differs from *other*: a time, or a reference.

        Raises ValueError if one of them cannot be read.
        """
        resolution = await self._delivered(reference, at)
        try:
            moment = read_time(other)
        except ValueError:
            second = await self._delivered(other, at)
        else:
            page = resolution.memento.original if resolution.memento else reference
            second = await self._delivered(page, str(moment))
        first, last = self._resolved(resolution), self._resolved(second)
        if resolution.memento is None or second.memento is None:
            why = first.because if resolution.memento is None else last.because
            return ComparedCopies(first, last, None, (), why)
        compared = await self._core.texts.diff(resolution.memento, second.memento, UNLIMITED)
        if isinstance(compared, UnreadCopy):
            why = f"the copy of {compared.memento.captured} was not read: {compared.why}"
            return ComparedCopies(first, last, None, (), why)
        changes = tuple(row_json(row) for row in compared.rows if row.kind != "same")
        return ComparedCopies(first, last, compared.similarity, changes, "")

    async def audit(
        self, bibliography: str, *, at: str | None = None, wait: float = 10.0
    ) -> tuple[AuditedReference, ...]:
        """Resolve every reference of *bibliography*: BibTeX, RIS, CSV, JSON or any text.

        No reference is absent because an archive did not answer: it is unknown then. *at* is
        the time for references without one, *wait* the seconds for each. Raises ValueError if
        there is no reference, or too many.
        """
        preferences, _ = preferences_from({"verify": "head", "wait": f"{wait:g}"}, None, None)
        items = await asyncio.to_thread(references_in, bibliography, self._core, at)
        results = await audited(self._core, items, preferences)
        return tuple(_audited(result, known) for result, known in results)

    async def _delivered(self, reference: str, at: str | datetime | None) -> Resolution:
        preferences, _ = preferences_from({"verify": "head"}, None, None)
        query = self._query(reference, at)
        return await self._core.resolver.resolve(query, preferences, UNLIMITED)

    async def timemap(self, reference: str, *, limit: int = MOST_CAPTURES) -> CaptureList:
        """Return all captures of *reference* that the archives list, at most *limit*.

        Raises ValueError if *reference* cannot be read.
        """
        core, query = self._core, self._query(reference, None)
        preferences, _ = preferences_from({}, None, None)
        archives = core.planner.plan(query, preferences, UNLIMITED).order
        captures: list[Memento] = []
        async with core.lists.merged(archives, query.original, preferences, UNLIMITED) as merge:
            await merge.begin(MergeDeadlines(core.deadlines.hard, core.deadlines.hard))
            async with aclosing(merge.blocks()) as blocks:
                async for block in blocks:
                    captures += block
                    if len(captures) > limit:
                        break
            missing = {archive: error.why for archive, error in merge.failures.items()}
        return CaptureList(tuple(captures[:limit]), missing, len(captures) > limit)

    def _query(self, reference: str, at: str | datetime | None) -> Query:
        registry = self._core.registry
        try:
            reading = parse_identifier(reference, registry)
        except Malformed as error:
            raise ValueError(f"{error}{_audited_instead(reference, registry)}") from error
        query = query_for(reading, registry)
        moment = _moment(at)
        if moment is None or query.at is not None:
            return query
        return query.dated(moment)

    def _resolved(self, resolution: Resolution) -> ResolvedReference:
        core = self._core
        judged = verdict(resolution, core.registry)
        memento = resolution.memento
        unchecked = referred(resolution, core.registry)
        known = evidence(resolution, judged, core)
        return ResolvedReference(
            uri=location(resolution, core.registry) if memento is None else memento.uri,
            captured=None if memento is None else _datetime(memento.stamp),
            archive=None if memento is None else memento.archive,
            match=judged.match.value,
            words=in_words(judged),
            precision=header(judged),
            unanswered=resolution.failed,
            referral=None if unchecked is None else unchecked.uri,
            report=report(resolution, judged, core.registry, core.base_url),
            standing=known.standing,
            because=known.because,
            citation=known.citation,
            pwid=known.pwid,
        )


@asynccontextmanager
async def open_gate(
    config: str | Path | None = None, *, contact: str | None = None, demo: bool = False
) -> AsyncIterator[Gate]:
    """Open a gate: the archives of a configuration file, or the default ones.

    Public archives want to know by whom they are queried: *contact* is a URL or an address for
    the User-Agent, unless the configuration has one. With *demo*, three small archives that
    come with timegate are queried, and no network is used. Raises BadConfig.
    """
    async with AsyncExitStack() as stack:
        settings = _settings(config, contact, demo=demo, stack=stack)
        try:
            check_contact(settings)
        except BadConfig as error:
            raise BadConfig(f'{error}; or give contact="mailto:you@example.org"') from error
        base_url = settings.base_url or _BASE_URL
        yield Gate(await stack.enter_async_context(build_core(settings, base_url)))


def resolve(  # noqa: PLR0913 -- the arguments of `open` and of the method of a gate
    reference: str,
    *,
    at: str | datetime | None = None,
    precision: str = "any",
    tolerance: str | None = None,
    direction: str = "closest",
    verify: str = "head",
    status: str = "2xx",
    archives: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    wait: float | None = None,
    also: str | Iterable[str] = (),
    config: str | Path | None = None,
    contact: str | None = None,
    demo: bool = False,
) -> ResolvedReference:
    """Return the best copy of *reference*, for scripts without asyncio.

    Opens a gate for one reference; many references are faster with `open`.
    """

    async def resolved() -> ResolvedReference:
        async with open_gate(config, contact=contact, demo=demo) as gate:
            return await gate.resolve(
                reference,
                at=at,
                precision=precision,
                tolerance=tolerance,
                direction=direction,
                verify=verify,
                status=status,
                archives=archives,
                exclude=exclude,
                wait=wait,
                also=also,
            )

    return asyncio.run(resolved())


def parse(text: str) -> ParsedReference:
    """Return what *text* states, without any network. Raises ValueError with the reason."""
    parsed = parse_identifier(text, load_known())
    identifier = parsed.identifier
    return ParsedReference(
        kind=parsed.kind.name,
        url=identifier.item,
        time=None if identifier.time is None else str(identifier.time),
        archive=identifier.archive,
        canonical=identifier.canonical,
        notes=tuple(diagnostic.why for diagnostic in parsed.diagnostics),
    )


def cite(link: str) -> CitedCopy:
    """Return the PWID and the duri of the copy behind an archive link, without any network.

    Raises ValueError if the link does not state which copy it is.
    """
    copy = copy_behind(link, load_known())
    if copy.archive_id is None:
        raise ValueError("the archive has no id for PWIDs")
    found = citation(copy.original, copy.captured, copy.archive_id, raw=copy.raw)
    return CitedCopy(str(found.pwid), str(found.duri))


def _audited_instead(text: str, registry: Registry) -> str:
    """Return what to do with a *text* that has references in it; empty if it has none."""
    with suppress(Malformed):
        found = read_pasted(text, registry, datetime.now(UTC)).found
        if names := [each.identifier for each in found if each.kind == "reference"]:
            return f"; audit reads texts, and the references in it: {', '.join(names[:3])}"
    return ""


def _audited(result: ItemResult, known: Evidence | None) -> AuditedReference:
    quote = (result.report or {}).get("quote")
    uri = (result.memento or {}).get("uri")
    return AuditedReference(
        result.item.text,
        "unreadable" if known is None else known.standing,
        result.why if known is None else known.because,
        result.code == 0,
        uri if isinstance(uri, str) else None,
        None if known is None else known.citation,
        None if known is None else known.pwid,
        quote if isinstance(quote, dict) else None,
    )


def _settings(
    config: str | Path | None, contact: str | None, *, demo: bool, stack: AsyncExitStack
) -> Config:
    if demo and config is not None:
        raise BadConfig(
            "demo=True queries the archives of the demo: give either demo or config"
        )
    if demo:
        from timegate.demo import demo_config  # noqa: PLC0415 -- only for the demo

        folder = stack.enter_context(TemporaryDirectory(prefix="timegate-demo-"))
        return demo_config(Path(folder))
    settings = load_config(None if config is None else Path(config), None)
    return settings if contact is None else replace(settings, contact=contact)


def _text(name: str, value: object) -> str:
    """Return the text *value*. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text")  # noqa: TRY004 -- one kind for all choices
    return value


def _joined(name: str, value: object, separator: str) -> str | None:
    """Return the texts in *value*, which may be one text, as a parameter. Raises ValueError."""
    if value is None or isinstance(value, str):
        return value
    values = [*value] if isinstance(value, Iterable) else [value]
    texts = [text for text in values if isinstance(text, str)]
    if len(texts) < len(values):
        raise ValueError(f"{name} must be a text, or a list of texts")
    return separator.join(texts)


def _seconds(wait: object) -> str | None:
    """Return the number *wait* as a parameter. Raises ValueError."""
    if wait is None:
        return None
    if not isinstance(wait, int | float):
        raise ValueError("wait must be a number of seconds")  # noqa: TRY004 -- as above
    return f"{wait:g}"


def _moment(at: str | datetime | None) -> Moment | None:
    if isinstance(at, datetime):
        # Captures are dated to milliseconds or seconds, and .250 is not .250000 (T-2).
        whole = at.microsecond % 1000 == 0 and at.microsecond
        return read_time(at.isoformat(timespec="milliseconds" if whole else "auto"))
    return None if at is None else read_time(_text("at", at))


def _datetime(stamp: str) -> datetime:
    """Return the time of a stamp: to the microsecond, and a leap second as the one before."""
    microsecond = int(stamp[14:20].ljust(6, "0"))
    return whole_second(stamp).replace(microsecond=microsecond)
