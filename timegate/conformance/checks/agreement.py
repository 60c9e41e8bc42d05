# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""An archive dates a memento in up to four places; here they are held against each other.

Header, links, the digits of the address and the TimeMap: users have met archives that
disagreed in each pair (pywb #549, openwayback #177, LANL's server).
"""

from collections.abc import Callable, Sequence

from archives.evidence import address_of
from archives.nearest import second_of
from timegate.conformance.catalogue import (
    Finding,
    NotApplicable,
    Unanswered,
    answered,
    broken,
    check,
    check_held,
    documents,
    each,
    gate_answers,
    gate_of,
    mementos,
    not_held,
    passed,
)
from timegate.conformance.facts import Facts
from timegate.conformance.parsed_response import MementoLink, ParsedResponse, stamp_of


@check("M-8", "must", "RFC 7089 2.2.4")
def timegate_dates_as_the_timemap_does(facts: Facts) -> Finding:
    """The TimeGate's links date mementos as the TimeMap does."""

    def plain(said: ParsedResponse) -> list[MementoLink]:
        # What first and last lead to is another check's business.
        return [m for m in said.mementos if not m.order and m.stamp and facts.listed(m.uri)]

    def complaint(said: ParsedResponse) -> str | None:
        return next(
            (
                f"{m.uri} is of {m.stamp}, by the TimeMap of {facts.listed(m.uri)}"
                for m in plain(said)
                if m.stamp != facts.listed(m.uri)
            ),
            None,
        )

    linking = [said for said in gate_answers(facts) if plain(said)]
    if not linking:
        raise NotApplicable("no link of the TimeGate is in a TimeMap")
    return each(linking, complaint, "the datetime of the TimeMap")


@check("M-8", "must", "RFC 7089 2.2.4")
def memento_datetime_is_the_timemaps(facts: Facts) -> Finding:
    """Memento-Datetime of a memento is its datetime in the TimeMap."""
    known = [said for said in mementos(facts) if said.stamp and facts.listed(said.url)]
    if not known:
        raise NotApplicable("no memento that was reached is in a TimeMap")

    def complaint(said: ParsedResponse) -> str | None:
        listed = facts.listed(said.url)
        return None if said.stamp == listed else f"{said.stamp}, by the TimeMap {listed}"

    return each(known, complaint, "the datetime of the TimeMap")


@check("M-8", "must", "RFC 7089 2.2.4")
def memento_datetime_is_that_of_its_link(facts: Facts) -> Finding:
    """A memento that links itself does so with its own Memento-Datetime."""

    def dates(said: ParsedResponse) -> set[str]:
        return {m.stamp for m in said.mementos if m.stamp and m.uri == said.url}

    known = [said for said in mementos(facts) if said.stamp and dates(said)]
    if not known:
        raise NotApplicable("no memento links itself")

    def complaint(said: ParsedResponse) -> str | None:
        linked = dates(said)
        return None if said.stamp in linked else f"{said.stamp}, by its link {min(linked)}"

    return each(known, complaint, "the same datetime in both")


@check("X-6", "practice", "RFC 7089 2.1.1")
def memento_datetime_is_that_of_its_address(facts: Facts) -> Finding:
    """Memento-Datetime of a memento is the time that its address spells out."""
    addressed = [said for said in mementos(facts) if said.stamp and address_of(said.url)]
    if not addressed:
        raise NotApplicable("no address spells out a time")

    def complaint(said: ParsedResponse) -> str | None:
        address = address_of(said.url)
        spelled = address.stamp[:14] if address else None
        return None if said.stamp == spelled else f"{said.stamp} at {said.url}"

    return each(addressed, complaint, "the digits of the address")


@check("X-6", "practice", "RFC 7089 5")
def timemap_dates_are_those_of_the_addresses(facts: Facts) -> Finding:
    """The TimeMap dates mementos as their addresses do."""
    pages = documents(facts)
    spelled = [
        (page, stamp, address.stamp[:14])
        for page in pages
        for stamp, uri in page.captures
        if (address := address_of(uri))
    ]
    if not spelled:
        raise NotApplicable("no address spells out a time")
    wrong = [(page, a, b) for page, a, b in spelled if a != b]
    if not wrong:
        return passed(f"{len(spelled)} mementos", pages[0].said)
    page, stated, digits = wrong[0]
    why = f"{len(wrong)} of {len(spelled)} differ, such as {stated} at {digits}"
    return broken(why, "the digits of the address", page.said)


@check("M-8", "should", "RFC 7089 2.2.4")
def first_and_last_are_right(facts: Facts) -> Finding:
    """Links called first and last lead to the oldest and to the newest memento."""
    if not facts.captures:
        raise NotApplicable("there is no TimeMap to measure with")
    ends = {"first": facts.captures[0][0], "last": facts.captures[-1][0]}
    return _placed(facts, lambda _said, _uri, name: ends.get(name), ("first", "last"))


@check("M-8", "should", "RFC 7089 2.2.4")
def prev_and_next_are_right(facts: Facts) -> Finding:
    """Links called prev and next lead to the mementos beside the chosen one."""
    if not facts.captures:
        raise NotApplicable("there is no TimeMap to measure with")
    stamps = sorted({stamp for stamp, _ in facts.captures})

    def beside(said: ParsedResponse, uri: str, name: str) -> str | None:
        chosen = facts.listed(said.chosen) or facts.listed(said.url)
        if chosen is None:
            return None
        if facts.listed(uri) == chosen and uri not in (said.chosen, said.url):
            # Another memento of the same second: which comes first, dates do not say.
            return chosen
        at = stamps.index(chosen) + (-1 if name == "prev" else 1)
        return stamps[at] if 0 <= at < len(stamps) else None

    return _placed(facts, beside, ("prev", "next"))


def _placed(
    facts: Facts,
    place: Callable[[ParsedResponse, str, str], str | None],
    names: tuple[str, ...],
) -> Finding:
    """Judge the links called one of *names* by the stamp that *place* says is theirs."""
    answers = [
        said
        for said in facts.everything
        if not said.silence and any(set(names) & set(m.order) for m in said.mementos)
    ]
    if not answers:
        raise NotApplicable(f"no links are called {' or '.join(names)}")

    def complaint(said: ParsedResponse) -> str | None:
        for link in said.mementos:
            for name in set(names) & set(link.order):
                right, led = place(said, link.uri, name), facts.listed(link.uri)
                # What is not in the TimeMap is the TimeMap's fault, and another check's.
                if right and led and led != right:
                    return f"{name} leads to {led}, not to {right}"
        return None

    return each(answers, complaint, "as the TimeMap has it")


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
