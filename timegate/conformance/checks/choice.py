# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Which memento the TimeGate chooses, measured with the archive's own TimeMap."""

from collections.abc import Sequence

from archives.choice import second_of
from timegate.conformance.catalogue import check
from timegate.conformance.facts import Facts
from timegate.conformance.finding import (
    Finding,
    NotApplicable,
    Unanswered,
    answered,
    broken,
    passed,
)
from timegate.conformance.said import ParsedResponse, stamp_of
from timegate.conformance.sights import check_held, gate_answers, gate_of, not_held


def _listed(facts: Facts) -> list[str]:
    """Return the stamps of the TimeMap, each once."""
    stamps = sorted({stamp for stamp, _ in facts.captures})
    if not stamps:
        raise NotApplicable("there is no TimeMap to measure with")
    return stamps


def _pick(facts: Facts, said: ParsedResponse) -> str:
    picked = facts.picked(said)
    if picked is None:
        raise Unanswered("it cannot be told which memento was chosen", said)
    return picked


@check("M-14", "should", "RFC 7089 4.5.3")
def no_date_means_the_newest(facts: Facts) -> Finding:
    """Without Accept-Datetime the TimeGate chooses the newest memento."""
    check_held(facts)
    newest = answered(gate_of(facts).newest, "the newest memento")
    return _not_older(facts, newest)


@check("M-13", "must", "RFC 7089 4.5.3")
def after_the_last_means_the_last(facts: Facts) -> Finding:
    """Asked for a time after the last memento, the TimeGate chooses the last."""
    check_held(facts)
    return _not_older(facts, answered(gate_of(facts).after, "a time after the last"))


def _not_older(facts: Facts, said: ParsedResponse) -> Finding:
    """A memento that is newer than the list is the list's fault, and another check's."""
    last = _listed(facts)[-1]
    if not_held(said):
        return broken(f"answers {said.status}", f"the memento of {last}", said)
    picked = _pick(facts, said)
    if picked < last:
        return broken(f"chooses {picked}", f"the memento of {last}", said)
    return passed(f"chooses {picked}", said)


@check("M-13", "must", "RFC 7089 4.5.3")
def before_the_first_means_the_first(facts: Facts) -> Finding:
    """Asked for a time before the first memento, the TimeGate chooses the first."""
    check_held(facts)
    said = answered(gate_of(facts).before, "a time before the first")
    first = _listed(facts)[0]
    if not_held(said):
        return broken(f"answers {said.status}", f"the memento of {first}", said)
    picked = _pick(facts, said)
    if picked > first:
        return broken(f"chooses {picked}", f"the memento of {first}", said)
    return passed(f"chooses {picked}", said)


@check("M-18", "practice", "RFC 7089 4.2")
def pick_is_the_closest(facts: Facts) -> Finding:
    """Between two mementos the TimeGate chooses the nearest, or always the one before."""
    check_held(facts)
    stamps, gate = _listed(facts), gate_of(facts)
    asked = [said for said in (gate.early, gate.late) if said is not None and said.asked]
    if len(stamps) < 2 or gate.late is None:
        raise NotApplicable("there are no two mementos to choose from")
    heard = [said for said in asked if not said.silence]
    if not heard:
        raise Unanswered(asked[0].silence, asked[0])
    for said in heard:
        at = stamp_of(said.asked) or ""
        allowed = {_nearest(stamps, at), _nearest_before(stamps, at)}
        if (picked := _pick(facts, said)) not in allowed:
            why = f"asked for {at} it chooses {picked}"
            return broken(why, f"the memento of {_nearest(stamps, at)}", said)
    return passed("chooses the nearest", *heard)


def _nearest(stamps: Sequence[str], at: str) -> str:
    return min(stamps, key=lambda stamp: abs(second_of(stamp) - second_of(at)))


def _nearest_before(stamps: Sequence[str], at: str) -> str:
    return max((stamp for stamp in stamps if stamp <= at), default=stamps[0])


@check("M-18", "practice", "RFC 7089 4.2")
def exact_time_means_that_memento(facts: Facts) -> Finding:
    """Asked for the very second of a memento, the TimeGate chooses that memento."""
    check_held(facts)
    said = answered(gate_of(facts).exact, "the second of a memento")
    at = stamp_of(said.asked) or ""
    picked = _pick(facts, said)
    if picked != at:
        return broken(f"chooses {picked}", f"the memento of {at}", said)
    return passed(f"chooses {picked}", said)


@check("M-18", "practice", "RFC 7089 4.2")
def same_question_same_answer(facts: Facts) -> Finding:
    """The same question twice gets the same answer."""
    gate_answers(facts)
    gate = gate_of(facts)
    once, again = answered(gate.early, "a time"), answered(gate.again, "the same again")
    if once.is_partial or again.is_partial:
        whole = [said for said in (once, again, *gate.later) if not said.is_partial]
        if len(whole) < 2:
            raise NotApplicable("its answers are not whole, and say so")
        once, again, *_ = whole
    told = [(said.status, said.chosen, said.datetime) for said in (once, again)]
    if told[0] == told[1]:
        return passed("twice the same", once, again)
    return broken(f"first {told[0]}, then {told[1]}", "twice the same", once, again)
