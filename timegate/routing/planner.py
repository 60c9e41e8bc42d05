"""Planner: which archives to query for a page, in which order, and which not at all."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from cachetools import LRUCache

from archives.model import ArchiveEntry, Closest
from archives.registry import Registry
from archives.uri import host_of
from timegate.access.blocklist import Blocklist
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Attempt, Plan, Preferences, Query, Skip
from timegate.routing.mementomap import Presence
from timegate.routing.observations import (
    CombinedKnowledge,
    Experience,
    HoldingCount,
    Knowledge,
    Latency,
    Outcome,
    Standing,
    site_of,
)

_PLAN_LIFETIME: Final = 1.0
"""Seconds for which a plan is used for other pages of the same host."""


class Planner:
    """Plans each search, and learns from the answers of archives."""

    def __init__(  # noqa: PLR0913 -- what plans depend on
        self,
        entries: Sequence[ArchiveEntry],
        known: CombinedKnowledge,
        clock: Callable[[], float] = time.monotonic,
        blocklist: Blocklist | None = None,
        registry: Registry | None = None,
        *,
        refusals: Mapping[str, Callable[[str], str | None]] | None = None,
    ) -> None:
        """Plan over *entries*; *registry* also has the archives that are never queried.

        *refusals* say, by archive, why it must not be queried for a URL, or None if it may.
        """
        self._entries = entries
        self._known = known
        self._clock = clock
        self._blocklist = blocklist or None
        self._registry = registry or Registry(entries, shared_hosts=True)
        self._refusals = refusals or {}
        self._folding = frozenset(entry.id for entry in entries if entry.folds_spellings)
        # MementoMaps, and patterns with paths, depend on more than the host.
        paths = any("/" in suffix for e in entries for suffix in (*e.domains, *e.home))
        self._by_host_alone = not known.maps and not paths
        self._plans: LRUCache[tuple[object, ...], tuple[float, Plan]] = LRUCache(1024)

    def plan(self, query: Query, preferences: Preferences, context: RequestContext) -> Plan:
        """Return the archives to query: the operator's own, the named one, the others.

        Where the named archive is the operator's own, it comes first, alone. Archives that are
        hidden from the client are left out (R-13, R-27). For a blocked page the plan is empty:
        no archive is queried, nothing is looked up in the cache.
        """
        if self._blocklist is not None and self._blocklist.holds(query.original):
            if context.blocked is not None:
                context.blocked.append(query.original)
            return Plan((), named_skip=_blocked(query, context))
        if context.hidden:
            preferences = replace(preferences, exclude=preferences.exclude | context.hidden)
        plan = self._without_refused(self._cached(query, preferences), query.original)
        # Not even that it is known here may be revealed.
        return replace(plan, named_skip=None) if query.archive in context.hidden else plan

    def _without_refused(self, plan: Plan, original: str) -> Plan:
        """Leave out archives that must not be queried for the URL, which may have a port."""
        refused = tuple(
            Skip(archive, "refused", why)
            for archive, refusal in self._refusals.items()
            if archive in plan.order and (why := refusal(original)) is not None
        )
        if not refused:
            return plan
        names = {skip.archive for skip in refused}
        groups = (tuple(a for a in group if a not in names) for group in plan.groups)
        return replace(plan, groups=tuple(filter(None, groups)), refused=refused)

    def _cached(self, query: Query, preferences: Preferences) -> Plan:
        """Return the plan, which is the same for all pages of a host for a moment."""
        if not self._by_host_alone:
            return self._planned(query, preferences)
        key = (
            host_of(query.original),
            query.archive,
            preferences.archives,
            preferences.exclude,
        )
        until, plan = self._plans.get(key, (0.0, None))
        now = self._clock()
        if plan is None or now >= until:
            plan = self._planned(query, preferences)
            self._plans[key] = (now + _PLAN_LIFETIME, plan)
        return plan

    def _planned(self, query: Query, preferences: Preferences) -> Plan:
        routed = order(query, preferences, self._entries, self._known)
        all_own = self._known.local | self._known.private
        names = [step.archive for step in (*routed.first, *routed.then)]
        named = [name for name in names if name == query.archive]
        own = [name for name in names if name in all_own and name not in named]
        others = [name for name in names if name not in all_own and name not in named]
        groups = (named, own, others) if query.archive in all_own else (own, named, others)
        skip = None if query.archive in names else self._named_skip(query, preferences)
        outside = tuple(each for each in routed.skipped if each.cause in ("domain", "absent"))
        filled = tuple(tuple(group) for group in groups if group)
        return Plan(filled, self._folding, skip, outside=outside)

    def _named_skip(self, query: Query, preferences: Preferences) -> Skip | None:
        """Return why the named archive is not queried; None if it is not registered."""
        entry = None if query.archive is None else self._registry.by_id(query.archive)
        return None if entry is None else unplanned(entry, preferences)

    def note(self, attempt: Attempt) -> None:
        """Learn from an answer of an archive."""
        outcome: Outcome = "absent"
        if attempt.outcome is not None:
            outcome = "found" if isinstance(attempt.outcome, Closest) else "failed"
        host = _host_of(attempt.original)
        self._known.observations.note(attempt.archive, host, outcome, attempt.seconds)

    def state(self, archive: str) -> Mapping[str, object]:
        """Return the observed state of an archive, for /archives."""
        if archive not in {entry.id for entry in self._entries}:
            return {"asked": False}
        observed = self._known.observations
        latency = observed.latency(archive)
        return {
            "asked": True,
            "breaker": self._known.standing(archive),
            "breaker_reason": self._known.reason(archive) or None,
            "median_seconds": latency.median,
            "p95_seconds": latency.p95,
            "last_success": observed.last_success(archive),
            "last_failure": observed.last_failure(archive),
            "recent": [
                {"seconds": round(recent.seconds, 3), "answered": recent.answered}
                for recent in observed.recent(archive)
            ],
        }


# One page is asked of many archives: nine of ten look-ups find it.
_host_of: Final = lru_cache(maxsize=256)(host_of)


def _group_reasons(group: int) -> Iterator[str]:
    if group < 3:
        yield ("on this machine", "the operator's own", "named by the reference")[group]


def _registry_reasons(entry: ArchiveEntry, pattern: str | None) -> Iterator[str]:
    if pattern is not None:
        yield f"collects {pattern}"
    elif entry.home:
        yield f"collects {', '.join(entry.home)} above all"
    elif entry.domains:
        yield f"collects {', '.join(entry.domains)} only"


def _map_reasons(presence: Presence) -> Iterator[str]:
    if presence.state == "present":
        yield f"its MementoMap lists {presence.line}"
    elif presence.state == "absent":
        yield "its MementoMap says that it holds no such page"


def _experience_reasons(experience: Experience, host: str) -> Iterator[str]:
    site = site_of(host)
    for tally, what in ((experience.site, site), (experience.overall, "any site")):
        if tally.total >= 0.5:
            yield f"held {tally.hits:.0f} of {tally.total:.0f} pages of {what}"
            return


def _latency_reason(latency: Latency) -> str:
    return f"answers in {latency.median:.2g} s" if latency.known else "not asked so far"


def _standing_reasons(standing: Standing) -> Iterator[str]:
    if standing != "closed":
        yield f"its breaker is {standing}"


# How likely an archive holds a page of which nothing else is known. Only the differences
# matter: for a page of its own country a national archive comes first, for other pages hardly
# later than others (national archives collect pages under generic domains too).
_HOME: Final = 0.8
_ANYWHERE: Final = 0.5
_ABROAD: Final = 0.4

# Domains of countries that are used as generic ones: those that Google Search treats so
# ("Managing multi-regional sites"), .eu, and a few more that are sold worldwide.
_GENERIC: Final = frozenset(
    (
        *("ad", "ai", "as", "bz", "cc", "cd", "co", "dj", "eu", "fm", "gg", "im", "io", "la"),
        *("ly", "me", "ms", "nu", "sc", "sh", "sr", "st", "su", "tk", "to", "tv", "vc", "ws"),
    )
)
# How many answers weigh as much as the estimate before them.
_OVERALL_WEIGHT: Final = 20.0
_DOMAIN_WEIGHT: Final = 5.0
_SITE_WEIGHT: Final = 2.0
_REMEMBERED: Final = 0.015
"""Weight of one hit after half a year."""


class Step(NamedTuple):
    """One archive that is queried."""

    archive: str
    expected: float
    """Its median latency in seconds."""
    slow: float
    """Its 95th percentile of latency in seconds."""
    chance: float
    """The estimated probability that it holds the page."""
    reason: str


class RankedArchives(NamedTuple):
    """The archives to query, in order, and those that are not queried."""

    first: tuple[Step, ...]
    """Local collections, the operator's own archives and the named archive."""
    then: tuple[Step, ...]
    """The others, most promising first; those whose breaker is open come last."""
    skipped: tuple[Skip, ...]


class _Target(NamedTuple):
    host: str
    path: str
    original: str
    named: str | None


class _Candidate(NamedTuple):
    step: Step
    group: int
    """0 local, 1 the operator's own, 2 named, 3 the rest (R-25)."""
    resting: bool
    worth: float


def order(
    query: Query,
    preferences: Preferences,
    archives: Sequence[ArchiveEntry],
    knowledge: Knowledge,
    *,
    most: int | None = None,
) -> RankedArchives:
    """Return the plan for *query*; ties keep the order of *archives*.

    *most* limits the number of archives that are queried; the least promising are left out,
    never those in `RankedArchives.first`. The archive that a reference names is queried even
    where its own MementoMap says that it has nothing: the reference is evidence to the
    contrary.
    """
    target = _target(query)
    skipped: list[Skip] = []
    candidates: list[_Candidate] = []
    for entry in archives:
        skip = _unwanted(entry, preferences) or _unavailable(entry)
        chosen = preferences.archives is not None
        found = skip or _considered(entry, target, knowledge, chosen=chosen)
        if isinstance(found, Skip):
            skipped.append(found)
        else:
            candidates.append(found)
    first = [candidate for candidate in candidates if candidate.group < 3]
    first.sort(key=lambda candidate: candidate.group)
    then = [candidate for candidate in candidates if candidate.group == 3]
    then.sort(key=lambda candidate: (candidate.resting, -candidate.worth))
    left = len(then) if most is None else max(most - len(first), 0)
    skipped += _over_budget(then[left:], most)
    return RankedArchives(_steps(first), _steps(then[:left]), tuple(skipped))


def _target(query: Query) -> _Target:
    host = host_of(query.original).lower()
    try:
        path = urlsplit(query.original).path
    except ValueError:
        path = ""
    return _Target(host, path, query.original, query.archive)


def _steps(candidates: Iterable[_Candidate]) -> tuple[Step, ...]:
    return tuple(candidate.step for candidate in candidates)


def _over_budget(cut: Iterable[_Candidate], most: int | None) -> Iterator[Skip]:
    for candidate in cut:
        reason = f"less promising than the {most} archives that are queried"
        yield Skip(candidate.step.archive, "budget", reason)


def _unwanted(entry: ArchiveEntry, preferences: Preferences) -> Skip | None:
    if preferences.archives is not None and entry.id not in preferences.archives:
        return Skip(entry.id, "not-chosen", "not among the requested archives")
    if entry.id in preferences.exclude:
        return Skip(entry.id, "excluded", "excluded by the request")
    return None


def _unavailable(entry: ArchiveEntry) -> Skip | None:
    if entry.access == "defunct":
        return Skip(entry.id, "defunct", _because("closed", entry.status))
    if entry.access == "onsite-only":
        return Skip(entry.id, "on-site", _because("read on site only", entry.access_note))
    if not entry.kind.is_askable:
        return Skip(entry.id, "unaskable", _because("programs cannot query it", entry.because))
    if not entry.use:
        if entry.gate:
            return Skip(entry.id, "gated", _because("a bot gate stops programs", entry.gate))
        return Skip(entry.id, "not-in-use", _because("not in use", entry.because))
    return None


def unplanned(entry: ArchiveEntry, preferences: Preferences) -> Skip:
    """Return why *entry*, which is in no plan, is not queried."""
    return (
        _unavailable(entry)
        or _unwanted(entry, preferences)
        or Skip(entry.id, "not-in-use", "not in use")
    )


def _blocked(query: Query, context: RequestContext) -> Skip | None:
    if query.archive is None or query.archive in context.hidden:
        return None
    return Skip(query.archive, "blocked", "the operator has blocked the URL")


def _because(what: str, why: str) -> str:
    # In the middle of a sentence; an acronym stays as it is.
    words = f"{why[:1].lower()}{why[1:]}" if why[1:2].islower() else why
    return f"{what}: {words}" if why else what


def _considered(
    entry: ArchiveEntry, target: _Target, knowledge: Knowledge, *, chosen: bool
) -> _Candidate | Skip:
    presence = knowledge.presence(entry.id, target.original)
    if presence.state == "absent" and entry.id != target.named:
        line = f" ({presence.line})" if presence.line else ""
        why = f"its MementoMap says that it holds no such page{line}"
        return Skip(entry.id, "absent", why)
    pattern = _pattern(entry, target)
    outside = None if pattern else _outside(entry, target.host)
    if outside and not (chosen or _may_hold(entry.id, target, presence, knowledge)):
        return Skip(entry.id, "domain", outside)
    return _candidate(entry, target, presence, knowledge, pattern)


def _pattern(entry: ArchiveEntry, target: _Target) -> str | None:
    """Return the first of the suffixes that *entry* collects to cover the target."""
    return next((p for p in (*entry.domains, *entry.home) if _collects(p, target)), None)


def _outside(entry: ArchiveEntry, host: str) -> str:
    """Return why *entry* does not collect *host*, which is under none of its suffixes."""
    if entry.domains:
        return f"collects {', '.join(entry.domains)} only"
    label = host.rpartition(".")[2]
    is_foreign = len(label) == 2 and label.isalpha() and label not in _GENERIC
    if not entry.home or not is_foreign or any(h.endswith(f".{label}") for h in entry.home):
        return ""
    return f"collects {', '.join(entry.home)} and generic domains, not .{label}"


def _may_hold(archive: str, target: _Target, presence: Presence, knowledge: Knowledge) -> bool:
    """Whether something is known that is stronger than what the archive usually collects."""
    if archive == target.named or presence.state == "present":
        return True
    # A hit weighs less with time; one of the last half year still counts.
    return knowledge.experience(archive, target.host).site.hits >= _REMEMBERED


def _candidate(
    entry: ArchiveEntry,
    target: _Target,
    presence: Presence,
    knowledge: Knowledge,
    pattern: str | None,
) -> _Candidate:
    experience = knowledge.experience(entry.id, target.host)
    latency, standing = knowledge.latency(entry.id), knowledge.standing(entry.id)
    chance = _chance(entry, experience, presence, home=pattern is not None)
    group = _group(entry.id, target, knowledge)
    reasons = (
        *_group_reasons(group),
        *_registry_reasons(entry, pattern),
        *_map_reasons(presence),
        *_experience_reasons(experience, target.host),
        _latency_reason(latency),
        *_standing_reasons(standing),
    )
    step = Step(entry.id, latency.median, latency.p95, chance, "; ".join(reasons))
    worth = chance / (1 + latency.band) / (2 if standing == "half-open" else 1)
    # The loss of weight over time makes equal records differ by milliseconds.
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
    """Refine the estimate of the registry by ever closer experience, then by the MementoMap."""
    if home:
        chance = _HOME  # Answers about pages from abroad say nothing about these.
    else:
        chance = _ABROAD if entry.domains or entry.home else _ANYWHERE
        chance = _refined(chance, experience.overall, _OVERALL_WEIGHT)
    chance = _refined(chance, experience.domain, _DOMAIN_WEIGHT)
    chance = _refined(chance, experience.site, _SITE_WEIGHT)
    return chance + (1 - chance) * presence.rank**2


def _refined(chance: float, tally: HoldingCount, weight: float) -> float:
    return (tally.hits + weight * chance) / (tally.total + weight)
