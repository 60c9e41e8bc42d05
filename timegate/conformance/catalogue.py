"""What a check finds: right, wrong, does not apply, or nobody can say."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from archives.negotiation import REDIRECTS
from timegate.conformance.facts import Facts, GateFacts, ReplayFacts, TimeMapFacts
from timegate.conformance.parsed_response import ParsedResponse, ParsedTimeMap
from timegate.conformance.session import RecordedExchange
from timegate.conformance.subject import origin_of

Level = Literal["must", "should", "practice"]
"""What an RFC demands, what it recommends, what users of archives rely on besides."""
Verdict = Literal["pass", "fail", "warn", "skip", "unknown"]
"""A broken *must* fails; everything else that is broken warns."""
VERDICTS: Final[tuple[Verdict, ...]] = ("pass", "fail", "warn", "skip", "unknown")
_SHOWN: Final = 3
"""Exchanges in a trace; the others would say the same."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict, why, and the exchanges that prove it."""

    verdict: Verdict
    why: str
    expected: str = ""
    evidence: tuple[RecordedExchange, ...] = ()


class NotApplicable(Exception):
    """Raised by a check that has nothing to look at: the reason why."""


class Unanswered(Exception):
    """Raised by a check whose question was not answered: unknown is not wrong."""

    def __init__(self, why: str, *said: ParsedResponse) -> None:
        super().__init__(why)
        self.evidence = tuple(each.exchange for each in said)


def passed(why: str, *said: ParsedResponse) -> Finding:
    """Return that all is well, with what was looked at."""
    return Finding("pass", why, "", tuple(each.exchange for each in said[:_SHOWN]))


def broken(why: str, expected: str, *said: ParsedResponse) -> Finding:
    """Return that something is wrong; how bad that is, the level of the check says."""
    return Finding("fail", why, expected, tuple(each.exchange for each in said[:_SHOWN]))


def answered(said: ParsedResponse | None, what: str) -> ParsedResponse:
    """Return *said* if it is an answer. Raises NotApplicable or Unanswered."""
    if said is None:
        raise NotApplicable(f"{what} was not asked for")
    if said.silence:
        raise Unanswered(said.silence, said)
    return said


def each(
    said: Iterable[ParsedResponse | None],
    complaint: Callable[[ParsedResponse], str | None],
    expected: str,
) -> Finding:
    """Judge every answer alike; what did not answer is left out, and all of it is unknown."""
    asked = [one for one in said if one is not None]
    heard = [one for one in asked if not one.silence]
    if not asked:
        raise NotApplicable("there is no such answer")
    if not heard:
        raise Unanswered(asked[0].silence, asked[0])
    wrong = [(one, why) for one in heard if (why := complaint(one))]
    if not wrong:
        answers = "answer" if len(heard) == 1 else "answers"
        return passed(f"{len(heard)} {answers} looked at", *heard)
    reasons = dict.fromkeys(why for _, why in wrong)
    return broken("; ".join([*reasons][:_SHOWN]), expected, *(one for one, _ in wrong))


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
