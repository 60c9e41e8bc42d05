"""The checks by name: each a function of facts, with its rule and how much it weighs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from archives.negotiation import REDIRECTS
from timegate.conformance.facts import Facts, GateFacts, ReplayFacts, TimeMapFacts
from timegate.conformance.finding import Finding, Level, NotApplicable, Unanswered
from timegate.conformance.parsed_response import ParsedResponse, ParsedTimeMap
from timegate.conformance.subject import origin_of

Judge = Callable[[Facts], Finding]


@dataclass(frozen=True, slots=True)
class Check:
    """One requirement."""

    name: str
    rule: str
    """Its number in our rules; empty where it has none."""
    level: Level
    section: str
    """Where it is written."""
    sentence: str
    """What has to hold, for people."""
    judge: Judge

    def __call__(self, facts: Facts) -> Finding:
        """Judge *facts*; a broken recommendation is a warning."""
        try:
            finding = self.judge(facts)
        except NotApplicable as reason:
            return Finding("skip", str(reason))
        except Unanswered as reason:
            return Finding("unknown", str(reason), "", reason.evidence)
        if finding.verdict == "fail" and self.level != "must":
            return replace(finding, verdict="warn")
        return finding


CHECKS: Final[dict[str, Check]] = {}
"""In the order in which they are reported; `timegate.conformance.checks` fills it."""


def check(rule: str, level: Level, section: str) -> Callable[[Judge], Judge]:
    """Enter a function into `CHECKS` under its own name, explained by its docstring."""

    def entered(judge: Judge) -> Judge:
        name = getattr(judge, "__name__", "").replace("_", "-")
        if name in CHECKS:
            raise ValueError(f"there are two checks {name!r}")
        sentence = (judge.__doc__ or "").partition("\n")[0]
        CHECKS[name] = Check(name, rule, level, section, sentence, judge)
        return judge

    return entered


_NOT_HELD: Final = (404, 410)
UNASKED: Final = (206, 304, 416)
"""Nobody asked for a part, or whether something has changed."""


def gate_of(facts: Facts) -> GateFacts:
    """Return the TimeGate."""
    if facts.gate is None:
        raise NotApplicable("no TimeGate is checked")
    return facts.gate


def not_held(said: ParsedResponse) -> bool:
    """Whether this says that there is no capture."""
    return said.status in _NOT_HELD and said.datetime is None


def heard_of_gate(facts: Facts) -> list[ParsedResponse]:
    """Return whatever the TimeGate answered about a page that it holds."""
    gate = gate_of(facts)
    heard = [said for said in gate.good if not said.silence]
    if not heard:
        raise Unanswered(gate.newest.silence, gate.newest)
    if all(not_held(said) for said in heard):
        raise NotApplicable(f"the archive does not hold {facts.sample}")
    return [said for said in heard if not not_held(said)]


def gate_answers(facts: Facts) -> list[ParsedResponse]:
    """Return the answers of a TimeGate that works, about a page it holds."""
    heard = heard_of_gate(facts)
    check_works(facts)
    return [said for said in heard if not said.is_gate]


def check_works(facts: Facts) -> None:
    """Raise Unanswered where even a good question leads to no memento.

    What such a TimeGate says otherwise proves nothing; that it leads nowhere is found by the
    checks that are named after it.
    """
    gate = gate_of(facts)
    if gate.early.silence:
        raise Unanswered(gate.early.silence, gate.early)
    if not_held(gate.early):
        return
    if leads_nowhere(gate.early) or _lost(facts):
        raise Unanswered("the TimeGate leads to no memento", gate.early)


def leads_nowhere(said: ParsedResponse) -> bool:
    """Whether an answer of a TimeGate neither is a memento nor names one."""
    if said.datetime is not None:
        return said.status in UNASKED
    return said.status not in (200, *REDIRECTS) or said.chosen is None


def _lost(facts: Facts) -> bool:
    """Whether following the TimeGate ended anywhere but at a memento of the archive."""
    route = facts.route
    if route is None or not route.stopped:
        return False
    return not (route.stopped.startswith("leaves") and is_home(facts, route.end.location))


def is_home(facts: Facts, uri: str | None) -> bool:
    """Whether *uri* is where the archive, or an aggregator's TimeMap, says mementos are."""
    linked = [] if facts.gate is None else facts.gate.early.mementos
    homes = {*(origin_of(u) for _, u in facts.captures), *(origin_of(m.uri) for m in linked)}
    return origin_of(uri or "") in homes - {""}


def check_held(facts: Facts) -> None:
    """Raise NotApplicable where the archive does not hold the page."""
    gate_answers(facts)


def answered_timemap(facts: Facts) -> TimeMapFacts:
    """Return the TimeMap, answered, whatever it is."""
    if facts.timemap is None:
        raise NotApplicable("no TimeMap is known")
    first = facts.timemap.first
    if first.silence:
        raise Unanswered(first.silence, first.said)
    if not_held(first.said):
        raise NotApplicable(f"the archive lists nothing for {facts.sample}")
    return facts.timemap


def timemap_of(facts: Facts) -> TimeMapFacts:
    """Return the TimeMap, answered and a list."""
    timemap = answered_timemap(facts)
    if not timemap.first.is_list:
        raise Unanswered("the TimeMap is no link-format", timemap.first.said)
    return timemap


def documents(facts: Facts) -> list[ParsedTimeMap]:
    """Return the pages of the TimeMap that can be read."""
    return [page for page in timemap_of(facts).documents if not page.silence and page.is_list]


def replays_of(facts: Facts) -> list[ReplayFacts]:
    """Return the mementos that were asked for."""
    if not facts.replays:
        if facts.gate is not None:
            gate_answers(facts)
            chosen = facts.gate.early.chosen
            if chosen and not facts.subject.owns(chosen):
                raise NotApplicable("its mementos are kept by others, who are not asked here")
        raise NotApplicable("no memento was found to ask for")
    return list(facts.replays)


def mementos(facts: Facts) -> list[ParsedResponse]:
    """Return the answers that are mementos: those with Memento-Datetime."""
    ends = [replay.end for replay in replays_of(facts)]
    if all(end.silence for end in ends):
        raise Unanswered(ends[0].silence, ends[0])
    found = [end for end in ends if end.datetime is not None]
    if not found:
        raise Unanswered("no memento was reached", *ends)
    return found
