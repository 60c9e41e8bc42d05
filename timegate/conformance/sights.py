"""What checks look at, or the reason why there is nothing to look at."""

from timegate.conformance.facts import Facts, Gate, Replay, TimeMap
from timegate.conformance.finding import NotApplicable, Unanswered
from timegate.conformance.listing import Listing
from timegate.conformance.said import Said

_NOT_HELD = (404, 410)


def gate_of(facts: Facts) -> Gate:
    """Return the TimeGate."""
    if facts.gate is None:
        raise NotApplicable("no TimeGate is checked")
    return facts.gate


def not_held(said: Said) -> bool:
    """Whether this says that there is no capture."""
    return said.status in _NOT_HELD and said.datetime is None


def gate_answers(facts: Facts) -> list[Said]:
    """Return the answers of the TimeGate that are a TimeGate's, about a page it holds."""
    gate = gate_of(facts)
    heard = [said for said in gate.good if not said.silence]
    if not heard:
        raise Unanswered(gate.newest.silence, gate.newest)
    if all(not_held(said) for said in heard):
        raise NotApplicable(f"the archive does not hold {facts.sample}")
    speaking = [said for said in heard if not said.is_gate and not not_held(said)]
    if not speaking:
        raise Unanswered("a page with nothing of Memento, not a TimeGate's answer", *heard[:1])
    return speaking


def check_held(facts: Facts) -> None:
    """Raise NotApplicable where the archive does not hold the page."""
    gate_answers(facts)


def timemap_of(facts: Facts) -> TimeMap:
    """Return the TimeMap, answered and a list."""
    if facts.timemap is None:
        raise NotApplicable("no TimeMap is known")
    first = facts.timemap.first
    if first.silence:
        raise Unanswered(first.silence, first.said)
    if not_held(first.said):
        raise NotApplicable(f"the archive lists nothing for {facts.sample}")
    if not first.is_list:
        raise Unanswered("the TimeMap is no link-format", first.said)
    return facts.timemap


def documents(facts: Facts) -> list[Listing]:
    """Return the pages of the TimeMap that can be read."""
    return [page for page in timemap_of(facts).documents if not page.silence and page.is_list]


def replays_of(facts: Facts) -> list[Replay]:
    """Return the mementos that were asked for."""
    if not facts.replays:
        if facts.gate is not None:
            check_held(facts)
            chosen = facts.gate.early.chosen
            if chosen and not facts.subject.owns(chosen):
                raise NotApplicable("its mementos are kept by others, who are not asked here")
        raise NotApplicable("no memento was found to ask for")
    return list(facts.replays)


def mementos(facts: Facts) -> list[Said]:
    """Return the answers that are mementos: those with Memento-Datetime."""
    ends = [replay.end for replay in replays_of(facts)]
    if all(end.silence for end in ends):
        raise Unanswered(ends[0].silence, ends[0])
    found = [end for end in ends if end.datetime is not None]
    if not found:
        raise Unanswered("no memento was reached", *ends)
    return found
