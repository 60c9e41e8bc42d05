"""The Python library: `import timegate`.

A small typed interface over the `Core` that the command line and the server use. Everything
that is not in `timegate.__all__` is private and may change in any release.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from archives.errors import ArchiveError
from archives.model import Memento
from archives.moment import Moment, whole_second
from archives.registry import load_known
from timegate.app import build_core
from timegate.citations import citation, copy_behind
from timegate.config import BadConfig, Config, check_contact, load_config
from timegate.core import Core
from timegate.identifiers import parse as parse_identifier
from timegate.parts.composite import PartLimits, PartsSummary
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Query, Resolution
from timegate.resolution.preferences import preferences_from
from timegate.resolution.query import query_for
from timegate.responses.parts import part_document, pwids
from timegate.responses.report import referred, report
from timegate.text.times import read_time
from timegate.timemaps import MergeDeadlines
from timegate.verdict import header, in_words, verdict

__all__ = [
    "BadConfig",
    "CaptureList",
    "CitedCopy",
    "Gate",
    "Memento",
    "PageWithParts",
    "ParsedReference",
    "ResolvedReference",
    "cite",
    "open_gate",
    "parse",
    "resolve",
]

_BASE_URL: Final = "http://127.0.0.1:1208"
"""Links in reports begin with it where the configuration has no base_url."""
MOST_CAPTURES: Final = 100_000


@dataclass(frozen=True, slots=True)
class ResolvedReference:
    """The best copy of a reference that any archive holds, and how it differs."""

    uri: str | None
    """Address of the copy; None if no archive is known to hold one."""
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
        archives: str | None = None,
        exclude: str | None = None,
        wait: float | None = None,
        also: Sequence[str] = (),
    ) -> ResolvedReference:
        """Return the best copy of *reference*: a PWID, a duri, an archive link, or a URL.

        *at* is the time for a reference that states none. The other arguments are the query
        parameters of the HTTP interface. Raises ValueError if an argument cannot be used.
        """
        chosen = {
            "precision": precision,
            "tolerance": tolerance,
            "direction": direction,
            "verify": verify,
            "status": status,
            "archives": archives,
            "exclude": exclude,
            "wait": None if wait is None else f"{wait:g}",
            "also": " ".join(also) or None,
        }
        stated = {name: value for name, value in chosen.items() if value is not None}
        preferences, _ = preferences_from(stated, None, None)
        query = self._query(reference, at)
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
        query = query_for(parse_identifier(reference, registry), registry)
        moment = _moment(at)
        if moment is None or query.at is not None:
            return query
        return query.dated(moment)

    def _resolved(self, resolution: Resolution) -> ResolvedReference:
        core = self._core
        judged = verdict(resolution, core.registry)
        memento = resolution.memento
        unchecked = referred(resolution, core.registry)
        return ResolvedReference(
            uri=None if memento is None else memento.uri,
            captured=None if memento is None else _datetime(memento.stamp),
            archive=None if memento is None else memento.archive,
            match=judged.match.value,
            words=in_words(judged),
            precision=header(judged),
            unanswered=resolution.failed,
            referral=None if unchecked is None else unchecked.uri,
            report=report(resolution, judged, core.registry, core.base_url),
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
        check_contact(settings)
        base_url = settings.base_url or _BASE_URL
        yield Gate(await stack.enter_async_context(build_core(settings, base_url)))


def resolve(  # noqa: PLR0913 -- the arguments of `open` and of the method of a gate
    reference: str,
    *,
    at: str | datetime | None = None,
    precision: str = "any",
    tolerance: str | None = None,
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
                reference, at=at, precision=precision, tolerance=tolerance
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


def _settings(
    config: str | Path | None, contact: str | None, *, demo: bool, stack: AsyncExitStack
) -> Config:
    if demo:
        from timegate.demo import demo_config  # noqa: PLC0415 -- only for the demo

        folder = stack.enter_context(TemporaryDirectory(prefix="timegate-demo-"))
        return demo_config(Path(folder))
    settings = load_config(None if config is None else Path(config), None)
    return settings if contact is None else replace(settings, contact=contact)


def _moment(at: str | datetime | None) -> Moment | None:
    if isinstance(at, datetime):
        # Captures are dated to milliseconds or seconds, and .250 is not .250000 (T-2).
        whole = at.microsecond % 1000 == 0 and at.microsecond
        return read_time(at.isoformat(timespec="milliseconds" if whole else "auto"))
    return None if at is None else read_time(at)


def _datetime(stamp: str) -> datetime:
    """Return the time of a stamp: to the microsecond, and a leap second as the one before."""
    microsecond = int(stamp[14:20].ljust(6, "0"))
    return whole_second(stamp).replace(microsecond=microsecond)
