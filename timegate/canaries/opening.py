"""Canaries for a server: asked while it runs, if its operator wants it."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager

from archives.model import ArchiveEntry
from archives.source import Source
from timegate.cache import Store
from timegate.canaries.board import CanaryStore
from timegate.canaries.questions import questions_of
from timegate.canaries.telling import Standing, standings, told
from timegate.canaries.watch import CanaryWatch, Quiet, watching
from timegate.desk import ReplicaLocks
from timegate.upstream.pool import Fetchers


class Canaries:
    """What is known of them. Without a board there are none."""

    def __init__(self, board: CanaryStore | None = None, secret: Collection[str] = ()) -> None:
        """Do not name the pages of archives in *secret*: what they hold is not for all."""
        self._records = {} if board is None else board.records
        self._secret = secret

    def state(self, archive: str) -> dict[str, object]:
        """Return what /archives says of those of *archive*: nothing where there are none."""
        known = told(archive, self._records, self._secret)
        return {"canary": known} if known else {}

    def standings(self) -> Mapping[tuple[str, str], Standing]:
        """Return how each stands, for the metrics."""
        return standings(self._records)


@asynccontextmanager
async def open_canaries(  # noqa: PLR0913, PLR0917 -- whom to ask, how, when, and where to keep it
    every: float | None,
    entries: Sequence[ArchiveEntry],
    sources: Mapping[str, Source],
    remote: Fetchers,
    store: Store,
    turns: ReplicaLocks | None,
    secret: Collection[str],
) -> AsyncIterator[Canaries]:
    """Ask *every* so many seconds until the block ends; None for never."""
    if every is None:
        yield Canaries()
        return
    board = CanaryStore(store)
    quiet = quiet_at(entries, remote)
    watch = CanaryWatch(list(questions_of(entries)), sources, board, quiet, turns=turns)
    async with watching(watch, every):
        yield Canaries(board, secret)


def quiet_at(entries: Sequence[ArchiveEntry], remote: Fetchers) -> Quiet:
    """Return who says whether an archive has time for us: users go first.

    One that failed is found again by their questions, not by ours (R14).
    """
    known = {entry.id: entry for entry in entries}

    async def quiet(archive: str) -> bool:
        door = remote.doors.get(archive)
        if door is None:
            # A collection of our own.
            return True
        if remote.breakers.standing(archive) != "closed":
            return False
        entry = known[archive]
        # Those of its host: a tenant's own are not kept to.
        limits = known.get(entry.hosted_by or archive, entry).limits
        if entry.kind == "cdx":
            return await door.is_quiet("index", limits.index.burst // 2)
        return await door.is_quiet("memento", limits.memento.burst // 2)

    return quiet
