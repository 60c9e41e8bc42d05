"""Hand-made resolutions for tests of verdicts and responses."""

from archives.errors import ArchiveError, Unreachable
from archives.kinds import KINDS
from archives.model import (
    ArchiveEntry,
    Closest,
    Evidence,
    Limits,
    Memento,
    Negotiation,
    Rate,
    Relation,
)
from archives.moment import Moment
from archives.registry import Registry
from timegate.resolution.model import Attempt, Preferences, Query, Resolution, Rule

PAGE = "http://www.dr.dk/"
LIMITS = Limits(Rate(1, 1), Rate(1, 1), 1, "test")


def entry(name: str, *pwid: str, raw: str | None = None, padded: bool = False) -> ArchiveEntry:
    return ArchiveEntry(
        name,
        name,
        KINDS["memento"],
        use=True,
        because="test",
        access="open",
        limits=LIMITS,
        pwid=pwid,
        raw=raw,
        padded=padded,
    )


REGISTRY = Registry(
    (
        entry(
            "internet-archive",
            *("archive.org", "web.archive.org"),
            raw="https://web.archive.org/web/{time14}id_/{uri}",
        ),
        entry(
            "arquivo-pt",
            *("arquivo.pt",),
            raw="https://arquivo.pt/noFrame/replay/{time14}id_/{uri}",
        ),
        entry("nameless"),
        entry("zeros", "zeros.example", padded=True),
    )
)


def memento(
    stamp: str, archive: str = "internet-archive", original: str = PAGE, uri: str = ""
) -> Memento:
    return Memento(stamp, uri or f"https://{archive}/{stamp}/{original}", original, archive)


def found(  # noqa: PLR0913, PLR0917 -- the parts of an answer
    copy: Memento,
    asked: str = PAGE,
    variant: Rule | None = None,
    via: Negotiation = "timegate",
    neighbours: dict[Relation, Memento] | None = None,
    evidence: Evidence = "delivered",
) -> Attempt:
    closest = Closest(copy, via, (), neighbours or {}, evidence)
    return Attempt(copy.archive, closest, 0.25, asked, variant)


def absent(archive: str) -> Attempt:
    return Attempt(archive, None, 0.1, PAGE)


def failed(archive: str, error: ArchiveError | None = None) -> Attempt:
    return Attempt(archive, error or Unreachable(archive, PAGE, "timed out"), 2.0, PAGE)


def asking(when: str | None, archive_id: str | None = "archive.org", **more: object) -> Query:
    entry = None if archive_id is None else REGISTRY.by_pwid(archive_id)
    given: dict[str, object] = {
        "original": PAGE,
        "at": None if when is None else Moment(when),
        "archive": None if entry is None else entry.id,
        "archive_id": archive_id,
    }
    return Query(**(given | more))  # type: ignore[arg-type]


def resolved(
    query: Query, best: Attempt | None, *others: Attempt, preferences: Preferences | None = None
) -> Resolution:
    alternatives = tuple(each for each in others if isinstance(each.outcome, Closest))
    attempts = tuple(filter(None, (best, *others)))
    return Resolution(query, preferences or Preferences(), best, alternatives, attempts)
