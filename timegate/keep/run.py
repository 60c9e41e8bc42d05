"""Keeps the copies of references: resolves them, fetches the bytes, writes them into a store.

Nothing is remembered between runs but the store itself: a copy that is there is not fetched
again, so a run that was killed is continued by running it again.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Protocol

from archives.errors import ArchiveError, place_of
from archives.model import Memento
from archives.registry import Registry
from archives.source import Fetcher
from archives.warc_index.model import IndexRow
from timegate.batch.model import Code, Item, ItemResult
from timegate.collections import address
from timegate.extract.fetching import (
    Fetched,
    FoundCopy,
    archived_fields,
    copy_found,
    copy_of,
    fetched,
    stated_type,
)
from timegate.extract.run import MOST_ATTEMPTS, ArchiveWaits, means_page
from timegate.extract.saved_parts import SavedPart, SavedParts
from timegate.keep.model import (
    HERE,
    CopyPlace,
    KeepOutcome,
    KeptReference,
    archives_of,
    copies_in_words,
    custodian_of,
)
from timegate.observability.logs import Unforeseen
from timegate.parts.composite import CompositeMemento, Part
from timegate.store import InstantTaken, Revision, RevisionWriter, StoreError
from timegate.upstream.open_web import ORIGINAL

_UNTYPED: Final = "application/octet-stream"
_PARTS_AT_ONCE: Final = 4
_KEPT_AT_ONCE: Final = 8
_MOST_COPIES: Final = 20
_OK: Final = 200
LIVE: Final = ORIGINAL
"""The original itself, among the archives that did not deliver."""


class HeldCaptures(Protocol):
    """Finds captures in the store. Raises ArchiveError."""

    async def at(self, url: str, stamp: str) -> IndexRow | None: ...


ResolveItem = Callable[[Item, frozenset[str]], Awaitable[ItemResult]]
"""Resolves an item without the archives that are given."""
PartsIn = Callable[[Memento, frozenset[str] | None], Awaitable[CompositeMemento]]
"""Finds the parts of a page, in certain archives alone or in all. Raises ArchiveError."""


class LivePages(Protocol):
    """Fetches pages from the web itself."""

    async def captured(self, url: str) -> "LivePage":
        """Fetch *url* with what it embeds. Raises ArchiveError if it does not answer."""
        ...


class LivePage(NamedTuple):
    """A live page as revisions to write."""

    revisions: tuple[Revision, ...]
    """Parts, then the page, then the redirects to it: the URL that was asked for is last."""
    parts: SavedParts


@dataclass(frozen=True, slots=True)
class KeepOptions:
    """What is to be kept."""

    ensure: int = 1
    """Independent copies that there are to be, the one in the store included."""
    pages: bool = False
    """Whether references that state no extent mean a page with its parts."""
    strict: bool = False
    """Whether copies that are less than asked are not kept."""


class _Own(NamedTuple):
    """The copy in the store."""

    memento: Memento
    outcome: KeepOutcome
    code: Code
    why: str
    parts: SavedParts | None = None

    @property
    def place(self) -> CopyPlace:
        memento = self.memento
        return CopyPlace(memento.archive, memento.uri, str(memento.captured), HERE)


@dataclass(slots=True)
class _Attempts:
    """What archives answered for one reference, and which did not deliver."""

    result: ItemResult | None = None
    """The last answer of the other archives."""
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def passed_over(self) -> list[str]:
        return [f"{archive}: {why}" for archive, why in self.failures.items()]


@dataclass(frozen=True, slots=True)
class Keeper:
    """Keeps references in one store."""

    writer: RevisionWriter
    held: HeldCaptures
    own: ResolveItem
    """Resolves in the store alone."""
    others: ResolveItem
    """Resolves in all other archives."""
    fetchers: Mapping[str, Fetcher]
    registry: Registry
    parts: PartsIn
    base_url: str
    is_undated: Callable[[Item], bool] = lambda item: not item.dates
    """Whether a reference states no time: then its present state is meant."""
    live: LivePages | None = None
    options: KeepOptions = field(default_factory=KeepOptions)
    patience: ArchiveWaits = field(default_factory=ArchiveWaits)
    log: Callable[[str, Exception], None] = field(
        default_factory=lambda: Unforeseen("item-internal-error")
    )
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    @property
    def store(self) -> str:
        """The id of the store."""
        return self.writer.settings.id

    async def complete(
        self,
        items: Iterable[Item],
        done: Callable[[KeptReference], None],
        at_once: int = _KEPT_AT_ONCE,
    ) -> None:
        """Keep *items*; call *done* with the outcome of each. Raises StoreError."""
        left = iter(items)

        async def work(items: Iterator[Item]) -> None:
            for item in items:
                done(await self.keep(item))

        async with asyncio.TaskGroup() as tasks:
            for _ in range(at_once):
                tasks.create_task(work(left))

    async def keep(self, item: Item) -> KeptReference:
        """Keep the copy of *item*. Raises StoreError if the store cannot be written.

        An unforeseen exception affects only its own outcome; a disk that cannot be written
        concerns all.
        """
        wanted = self.options.ensure
        try:
            async with self._alone(item):
                return await self._kept(item)
        except (StoreError, OSError):
            raise
        except ArchiveError as error:
            return KeptReference(item, "missing", 4, _said(error), wanted=wanted)
        except Exception as error:  # noqa: BLE001 -- the boundary around each item
            self.log("list", error)
            why = f"internal error of this program ({place_of(error)})"
            return KeptReference(item, "missing", 4, why, wanted=wanted)

    @asynccontextmanager
    async def _alone(self, item: Item) -> AsyncIterator[None]:
        """Keep equal references one after the other: the second finds the copy of the first."""
        key = item.references[0] if item.references else item.text
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            yield
        if not lock.locked():
            self._locks.pop(key, None)

    async def _kept(self, item: Item) -> KeptReference:
        wanted = self.options.ensure
        # A reference that may mean another page is kept as it is read.
        held = await self.own(item._replace(doubt=False), frozenset())
        if held.code == 2:
            return KeptReference(item, "refused", 2, held.why, wanted=wanted)
        attempts = _Attempts()
        own = None
        if held.code == 0:
            own = self._copy_in_store(held, 1 if item.doubt else 0)
        if own is None:
            own = await self._made(item, held, attempts)
        if attempts.result is None:
            attempts.result = await self.others(item, frozenset())
        if own is None:
            return self._missing(item, attempts)
        if means_page(attempts.result, default=self.options.pages) and own.parts is None:
            own = await self._with_parts(own, attempts.result)
        copies = await self._counted(item, own, attempts.result)
        return self._outcome(item, own, copies, attempts)

    def _copy_in_store(self, held: ItemResult, code: Code) -> _Own | None:
        """Return the copy that the store holds, if any."""
        copy = copy_found(held)
        if copy is None:
            return None
        memento = self._capture(copy.original, copy.captured.digits)
        return _Own(memento, "already", code, held.why)

    async def _made(self, item: Item, held: ItemResult, attempts: _Attempts) -> _Own | None:
        """Make a copy: of an archive's, or of the live page where that is allowed."""
        is_undated = self.is_undated(item)
        for _ in range(MOST_ATTEMPTS):
            attempts.result = result = await self.others(item, frozenset(attempts.failures))
            if self.live is not None and is_undated and LIVE not in attempts.failures:
                # The present state is meant: the page itself is the best source of that. A
                # redirect that was kept is less than asked, and would be one again.
                own = self._copy_in_store(held, 1) or await self._live_copy(result, attempts)
                if own is not None:
                    return own
            copy = copy_found(result)
            if copy is None or (self.options.strict and result.code):
                break
            try:
                return await self._copied(result, copy, attempts)
            except ArchiveError as error:
                attempts.failures[copy.archive] = error.why
        if self.live is None or LIVE in attempts.failures or attempts.result is None:
            return None
        if self.options.strict and not is_undated:
            return None
        # Another live copy would be no closer to the time that was asked for.
        before = self._copy_in_store(held, 1)
        return before or await self._live_copy(attempts.result, attempts)

    async def _copied(self, result: ItemResult, copy: FoundCopy, attempts: _Attempts) -> _Own:
        """Copy the bytes of an archive, unless they are there. Raises ArchiveError."""
        stamp = copy.captured.digits
        why = "; ".join([result.why, *(f"instead of {each}" for each in attempts.passed_over)])
        code: Code = 1 if result.code else 0
        if await self._holds(copy):
            return _Own(self._capture(copy.original, stamp), "already", code, why)
        # The parts first: a page that is there was kept with what could be had of its parts.
        saved = None
        if means_page(result, default=self.options.pages):
            saved = await self._saved_parts(_memento(copy), None)
        about = {
            "reference": result.item.text,
            "outcome": result.outcome,
            "verdict": result.why,
            "pwid": result.pwid,
            **({"passed-over": attempts.passed_over} if attempts.failures else {}),
            **({} if saved is None else {"parts": saved.described}),
        }
        outcome, also = await self._write_copy(copy, about)
        return _Own(
            self._capture(copy.original, stamp), outcome, code, "; ".join([why, *also]), saved
        )

    async def _holds(self, copy: FoundCopy) -> bool:
        row = await self.held.at(copy.original, copy.captured.digits)
        return row is not None and row.url == copy.original

    async def _write_copy(
        self, copy: FoundCopy, about: Mapping[str, object]
    ) -> tuple[KeepOutcome, list[str]]:
        """Fetch and write *copy*. Raises ArchiveError and StoreError."""
        revision = await self._fetched_after_waits(copy, about)
        try:
            written = await self.writer.write(revision)
        except InstantTaken:
            # Two archives may have captured a page in one second.
            return "already", ["the store holds other bytes of this second, and keeps them"]
        return ("kept" if written.is_new else "already"), []

    async def _fetched_after_waits(
        self, copy: FoundCopy, about: Mapping[str, object]
    ) -> Revision:
        while True:
            try:
                return await self._fetched(copy, about)
            except ArchiveError as error:
                if not await self.patience.waited(error):
                    raise

    async def _fetched(self, copy: FoundCopy, about: Mapping[str, object]) -> Revision:
        fetch = self.fetchers.get(copy.archive)
        if fetch is None:
            why = "is not in use with this configuration"
            raise ArchiveError(copy.archive, copy.uri, why)
        async with fetched(copy, fetch, self.writer.settings.largest_revision) as content:
            body = await content.octets()
            return kept_revision(copy, content, body, self.registry, about)

    async def _with_parts(self, own: _Own, result: ItemResult) -> _Own:
        """Return *own* with the parts that the store holds, and fetch what it lacks."""
        saved = await self._saved_parts(own.memento, frozenset({self.store}))
        copy = copy_found(result)
        if saved.is_complete or copy is None:
            return own._replace(parts=saved)
        again = await self._saved_parts(_memento(copy), None)
        return own._replace(parts=saved if again.failure else again)

    async def _saved_parts(
        self, memento: Memento, archives: frozenset[str] | None
    ) -> SavedParts:
        """Keep the parts of a page; those in the store alone are there."""
        try:
            composite = await self.parts(memento, archives)
        except ArchiveError as error:
            return SavedParts(failure=f"the parts are not known: {_said(error)}")
        places = asyncio.Semaphore(_PARTS_AT_ONCE)

        async def save(part: Part) -> SavedPart:
            async with places:
                return await self._part(part)

        async with asyncio.TaskGroup() as tasks:
            saved = [tasks.create_task(save(part)) for part in composite.parts]
        return SavedParts(tuple(task.result() for task in saved), composite.unread)

    async def _part(self, part: Part) -> SavedPart:
        if part.memento is None or part.outcome not in ("found", "missing"):
            return SavedPart(part)
        copy = copy_of(part.memento, self.registry)
        if copy.archive == self.store or await self._holds(copy):
            return SavedPart(part, copy.uri)
        try:
            await self._write_copy(copy, SavedPart(part).described)
        except ArchiveError as error:
            return SavedPart(part, why=error.why)
        return SavedPart(part, copy.uri)

    async def _live_copy(self, result: ItemResult, attempts: _Attempts) -> _Own | None:
        """Fetch the live page; None if that is not possible."""
        url = (result.report or {}).get("original")
        if self.live is None or not isinstance(url, str):
            return None
        try:
            page = await self.live.captured(url)
        except ArchiveError as error:
            attempts.failures[LIVE] = error.why
            return None
        about = {"reference": result.item.text}
        for revision in page.revisions:
            with suppress(InstantTaken):
                await self.writer.write(replace(revision, about={**about, **revision.about}))
        asked, is_undated = page.revisions[-1], self.is_undated(result.item)
        why = "fetched from the original itself"
        if not is_undated:
            why += " as it is now, which is not the time that was asked for"
        if asked.status != _OK:
            why += "; it is a redirect, and kept with the page it leads to"
        memento = self._capture(asked.url, asked.captured or "")
        code: Code = 0 if is_undated and asked.status == _OK else 1
        return _Own(memento, "kept", code, why, page.parts)

    async def _counted(
        self, item: Item, own: _Own, result: ItemResult
    ) -> tuple[CopyPlace, ...]:
        """Return the copies of the reference: the own one, and those of other archives."""
        copies = [own.place]
        without: set[str] = set()
        while True:
            place = self._seen(result, own.place)
            if place is not None:
                copies.append(place)
            memento = result.memento
            enough = len({copy.custodian for copy in copies}) >= max(self.options.ensure, 2)
            if enough or memento is None or len(copies) > _MOST_COPIES:
                return tuple(copies)
            custodian = custodian_of(str(memento["archive"]), self.registry)
            without |= archives_of(custodian, self.registry.entries)
            result = await self.others(item, frozenset(without))

    def _seen(self, result: ItemResult, own: CopyPlace) -> CopyPlace | None:
        """Return the copy of another archive; None unless it delivered one as good as ours."""
        report, memento = result.report, result.memento
        if report is None or memento is None:
            return None
        evidence = report.get("evidence")
        promised = isinstance(evidence, dict) and evidence.get("value") == "promised"
        datetime = str(memento["datetime"])
        same = datetime == own.datetime
        if promised or (result.code != 0 and not same):
            return None
        archive = str(memento["archive"])
        custodian = custodian_of(archive, self.registry)
        return CopyPlace(archive, str(memento["uri"]), datetime, custodian, same)

    def _outcome(
        self, item: Item, own: _Own, copies: tuple[CopyPlace, ...], attempts: _Attempts
    ) -> KeptReference:
        code, said = own.code, [own.why]
        if own.parts is not None:
            said.append(own.parts.words)
            code = code if own.parts.is_complete else max(code, 1)
        independent = len({copy.custodian for copy in copies})
        if independent < self.options.ensure:
            result = attempts.result
            is_known = result is None or (result.final and result.code != 4)
            missing = self.options.ensure - independent
            said.append(f"{copies_in_words(missing)} less than wanted")
            said.append(
                "no other archive holds one as good"
                if is_known
                else f"whether another archive holds one is not known: {_why(result)}"
            )
            code = max(code, 1 if is_known else 4)
        return KeptReference(
            item,
            own.outcome,
            code,
            "; ".join(said),
            copies,
            self.options.ensure,
            None if own.parts is None else own.parts.counts,
            attempts.failures,
            own.memento,
        )

    def _missing(self, item: Item, attempts: _Attempts) -> KeptReference:
        """Return an outcome without copy; unknown if copies exist that were not delivered."""
        result, failures = attempts.result, attempts.failures
        assert result is not None  # noqa: S101 -- the others were asked
        why, code = result.why, result.code
        if result.memento is not None and self.options.strict and result.code:
            why = f"less than asked: {why}"
        if failures:
            why = "; ".join([*attempts.passed_over, f"elsewhere: {why}"])
            code = 4
        return KeptReference(
            item,
            "missing",
            code or 4,
            why,
            wanted=self.options.ensure,
            failures=failures,
        )

    def _capture(self, url: str, stamp: str) -> Memento:
        """Return the capture of *url* in the store."""
        return Memento(stamp, address(self.base_url, self.store, stamp, url), url, self.store)


def kept_revision(
    copy: FoundCopy,
    content: Fetched,
    body: bytes,
    registry: Registry,
    about: Mapping[str, object],
) -> Revision:
    """Return the bytes of an archive's copy as a revision, with where they come from."""
    fields = archived_fields(content, registry)
    digest = hashlib.sha256(body).digest()
    return Revision(
        copy.original,
        body,
        stated_type(content) or ("" if fields is not None else _UNTYPED),
        digest,
        tuple(each for each in fields or () if each[0].lower() != "content-type"),
        captured=copy.captured.digits,
        status=None if fields is None else content.archived_status,
        about={
            "archive": copy.archive,
            "uri": copy.uri,
            "fetched": content.url,
            "digest": f"sha256:{digest.hex()}",
            **about,
        },
    )


def _memento(copy: FoundCopy) -> Memento:
    return Memento(copy.captured.digits, copy.uri, copy.original, copy.archive)


def _said(error: ArchiveError) -> str:
    return f"{error.archive} {error.why}"


def _why(result: ItemResult | None) -> str:
    return "" if result is None else result.why
