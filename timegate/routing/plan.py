"""In which order archives are asked, and which need not be asked at all.

Pure: everything that is known comes in, a plan with its reasons goes out. An archive is left
out only where somebody says so (the client, the operator, the archive itself); what is merely
likely moves it up or down.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

from archives.model import ArchiveEntry
from archives.surt import surt
from archives.uri import host_of
from timegate.resolution import Preferences, Query
from timegate.routing.knowledge import Knowledge
from timegate.routing.mementomap import Presence
from timegate.routing.observations import Experience, HoldingCount
from timegate.routing.reasons import (
    by_experience,
    by_group,
    by_latency,
    by_map,
    by_registry,
    by_standing,
)

Cause = Literal[
    "not-chosen",
    "excluded",
    "defunct",
    "on-site",
    "unaskable",
    "not-in-use",
    "absent",
    "budget",
]

# How likely an archive holds a page of which nothing else is known. The distances matter, not
# the values: a page of one's own country first, one from abroad hardly later than others
# (national archives hold foreign pages too).
_HOME: Final = 0.8
_ANYWHERE: Final = 0.5
_ABROAD: Final = 0.4

# How many answers weigh as much as what was believed before them.
_OVERALL_WEIGHT: Final = 20.0
_DOMAIN_WEIGHT: Final = 5.0
_SITE_WEIGHT: Final = 2.0


class Step(NamedTuple):
    """One archive that is to be asked."""

    archive: str
    expected: float
    """Seconds in which half of its answers come."""
    slow: float
    """Seconds after which it is slower than usual."""
    chance: float
    """How likely it holds the page, as far as known."""
    reason: str


class Skip(NamedTuple):
    """One archive that is not asked."""

    archive: str
    cause: Cause
    reason: str


class RankedArchives(NamedTuple):
    """Whom to ask, in which order, and why."""

    first: tuple[Step, ...]
    """Each asked alone: local collections, private archives, the archive that is named."""
    then: tuple[Step, ...]
    """The others, most promising first; those whose breaker is open stand last."""
    skipped: tuple[Skip, ...]


class _Target(NamedTuple):
    host: str
    path: str
    surt: str
    named: str | None


class _Candidate(NamedTuple):
    step: Step
    group: int
    """0 local, 1 private, 2 named, 3 the rest (R25)."""
    resting: bool
    worth: float


def order(
    query: Query,
    policy: Preferences,
    archives: Sequence[ArchiveEntry],
    knowledge: Knowledge,
    *,
    most: int | None = None,
) -> RankedArchives:
    """Return the plan for *query*; ties keep the order of *archives*.

    *most* bounds how many are asked in all, at the cost of the least promising; who is asked
    alone is always asked. So is the archive a reference names, even where its own map says
    that it has nothing: the reference is evidence to the contrary.
    """
    target = _target(query)
    skipped: list[Skip] = []
    candidates: list[_Candidate] = []
    for entry in archives:
        skip = _unwanted(entry, policy) or _unavailable(entry)
        found = skip or _considered(entry, target, knowledge)
        if isinstance(found, Skip):
            skipped.append(found)
        else:
            candidates.append(found)
    first = [candidate for candidate in candidates if candidate.group < 3]
    first.sort(key=lambda candidate: candidate.group)
    then = [candidate for candidate in candidates if candidate.group == 3]
    then.sort(key=lambda candidate: (candidate.resting, -candidate.worth))
    left = len(then) if most is None else max(most - len(first), 0)
    skipped += _beyond(then[left:], most)
    return RankedArchives(_steps(first), _steps(then[:left]), tuple(skipped))


def _target(query: Query) -> _Target:
    host = host_of(query.original).lower()
    try:
        path = urlsplit(query.original).path
    except ValueError:
        path = ""
    return _Target(host, path, surt(query.original), query.archive)


def _steps(candidates: Iterable[_Candidate]) -> tuple[Step, ...]:
    return tuple(candidate.step for candidate in candidates)


def _beyond(cut: Iterable[_Candidate], most: int | None) -> Iterator[Skip]:
    for candidate in cut:
        reason = f"less promising than the {most} archives that are asked"
        yield Skip(candidate.step.archive, "budget", reason)


def _unwanted(entry: ArchiveEntry, policy: Preferences) -> Skip | None:
    if policy.archives is not None and entry.id not in policy.archives:
        return Skip(entry.id, "not-chosen", "not among the archives asked for")
    if entry.id in policy.exclude:
        return Skip(entry.id, "excluded", "excluded by the request")
    return None


def _unavailable(entry: ArchiveEntry) -> Skip | None:
    if entry.access == "defunct":
        return Skip(entry.id, "defunct", _because("closed", entry.status))
    if entry.access == "onsite-only":
        return Skip(entry.id, "on-site", _because("read on site only", entry.access_note))
    if entry.kind == "none":
        return Skip(entry.id, "unaskable", _because("programs cannot ask it", entry.because))
    if not entry.use:
        return Skip(entry.id, "not-in-use", _because("not in use", entry.because))
    return None


def _because(what: str, why: str) -> str:
    return f"{what}: {why}" if why else what


def _considered(
    entry: ArchiveEntry, target: _Target, knowledge: Knowledge
) -> _Candidate | Skip:
    presence = knowledge.presence(entry.id, target.surt)
    if presence.state == "absent" and entry.id != target.named:
        line = f" ({presence.line})" if presence.line else ""
        why = f"its MementoMap says that it holds no such page{line}"
        return Skip(entry.id, "absent", why)
    return _candidate(entry, target, presence, knowledge)


def _candidate(
    entry: ArchiveEntry, target: _Target, presence: Presence, knowledge: Knowledge
) -> _Candidate:
    experience = knowledge.experience(entry.id, target.host)
    latency, standing = knowledge.latency(entry.id), knowledge.standing(entry.id)
    pattern = next((p for p in entry.domains if _collects(p, target)), None)
    chance = _chance(entry, experience, presence, home=pattern is not None)
    group = _group(entry.id, target, knowledge)
    told = (
        *by_group(group),
        *by_registry(entry, pattern),
        *by_map(presence),
        *by_experience(experience, target.host),
        by_latency(latency),
        *by_standing(standing),
    )
    step = Step(entry.id, latency.median, latency.p95, chance, "; ".join(told))
    worth = chance / (1 + latency.band) / (2 if standing == "half-open" else 1)
    # Fading makes equal records differ by the milliseconds between them.
    worth = round(worth, 3)
    return _Candidate(step, group, standing == "open", worth)


def _group(archive: str, target: _Target, knowledge: Knowledge) -> int:
    if archive in knowledge.local:
        return 0
    if archive in knowledge.private:
        return 1
    return 2 if archive == target.named else 3


def _collects(pattern: str, target: _Target) -> bool:
    """Whether *pattern* (``.pt``, ``example.org``, ``example.org/news``) covers the target."""
    name, slash, path = pattern.lstrip(".").lower().partition("/")
    within = target.host == name or target.host.endswith(f".{name}")
    return within and target.path.startswith(slash + path)


def _chance(
    entry: ArchiveEntry, experience: Experience, presence: Presence, *, home: bool
) -> float:
    """Refine what the registry says by ever closer experience, then by the archive's map."""
    if home:
        chance = _HOME  # What it answered about pages from abroad says nothing of these.
    else:
        chance = _ABROAD if entry.domains else _ANYWHERE
        chance = _refined(chance, experience.overall, _OVERALL_WEIGHT)
    chance = _refined(chance, experience.domain, _DOMAIN_WEIGHT)
    chance = _refined(chance, experience.site, _SITE_WEIGHT)
    return chance + (1 - chance) * presence.rank**2


def _refined(chance: float, tally: HoldingCount, weight: float) -> float:
    return (tally.hits + weight * chance) / (tally.total + weight)
