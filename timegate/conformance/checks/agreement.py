# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Agreement of times: header, links, address and TimeMap, and the choice of the TimeGate.

An archive states the time of a memento in up to four places. Archives have been seen that
disagree in each pair of them (pywb #549, openwayback #177, LANL's server).
"""

from collections.abc import Callable, Sequence

from archives.evidence import BEFORE_THE_WEB, address_of, same_page
from archives.moment import second_of
from archives.negotiation import REDIRECTS
from timegate.conformance import probes
from timegate.conformance.catalogue import (
    Finding,
    NotApplicable,
    Unanswered,
    broken,
    check,
    is_own_error,
    judge_each,
    passed,
    reached_mementos,
    readable_pages,
    requested_replays,
    require_answer,
    require_held,
    timegate_facts,
    working_timegate_responses,
)
from timegate.conformance.facts import Facts, ReplayFacts
from timegate.conformance.parsed_response import MementoLink, ParsedResponse, stamp_of


@check("M-8", "must", "RFC 7089 2.2.4")
def timegate_dates_as_the_timemap_does(facts: Facts) -> Finding:
    """Links of the TimeGate give each memento the same datetime as the TimeMap."""

    def listed_links(response: ParsedResponse) -> list[MementoLink]:
        dated = [link for link in response.mementos if link.stamp]
        return [link for link in dated if facts.listed_stamp(link.uri)]

    def complaint(response: ParsedResponse) -> str | None:
        for link in listed_links(response):
            listed = facts.listed_stamp(link.uri)
            if link.stamp != listed:
                return f"{link.uri} has {link.stamp}, but {listed} in the TimeMap"
        return None

    linking = [r for r in working_timegate_responses(facts) if listed_links(r)]
    if not linking:
        raise NotApplicable("the TimeGate links to no memento of the TimeMap")
    return judge_each(linking, complaint, "the datetime of the TimeMap")


def _sent_by_timegate(facts: Facts) -> list[ReplayFacts]:
    """Return the mementos that the TimeGate sends itself, by the address that it states."""
    sent = [] if facts.gate is None else facts.gate.valid
    return [
        ReplayFacts(response.statement.content_location, (response,))
        for response in sent
        if response.datetime is not None and response.statement.content_location
    ]


@check("M-8", "must", "RFC 7089 2.2.4")
def memento_datetime_is_the_timemaps(facts: Facts) -> Finding:
    """The Memento-Datetime of a memento is its datetime in the TimeMap."""
    reached_mementos(facts)
    # Also where redirects lead to another memento: the datetime is that of the address listed.
    known = [
        (replay, listed)
        for replay in [*requested_replays(facts), *_sent_by_timegate(facts)]
        if replay.end.stamp
        and (listed := facts.listed_stamp(replay.uri) or facts.listed_stamp(replay.end.url))
    ]
    if not known:
        raise NotApplicable("no memento that was reached is in a TimeMap")
    wrong = [(replay, listed) for replay, listed in known if replay.end.stamp != listed]
    if not wrong:
        return passed(f"{len(known)} mementos", *(replay.end for replay, _ in known))
    replay, listed = wrong[0]
    why = f"{replay.uri} has {replay.end.stamp}, but {listed} in the TimeMap"
    return broken(why, "the datetime of the TimeMap", *replay.hops)


@check("M-8", "must", "RFC 7089 2.2.4")
def memento_datetime_is_that_of_its_link(facts: Facts) -> Finding:
    """A memento that links to itself does so with its own Memento-Datetime."""

    def dates(response: ParsedResponse) -> set[str]:
        links = [link for link in response.mementos if link.uri == response.url]
        return {link.stamp for link in links if link.stamp}

    known = [r for r in reached_mementos(facts) if r.stamp and dates(r)]
    if not known:
        raise NotApplicable("no memento links to itself")

    def complaint(response: ParsedResponse) -> str | None:
        linked = dates(response)
        same = response.stamp in linked
        return None if same else f"{response.stamp}, but {min(linked)} in its link"

    return judge_each(known, complaint, "the same datetime in both")


@check("M-8", "must", "RFC 7089 2.2.4")
def links_have_the_datetimes_of_the_mementos(facts: Facts) -> Finding:
    """A link to a memento that no TimeMap lists has its Memento-Datetime."""
    stamps = {replay.uri: replay.end.stamp for replay in facts.replays if not replay.stopped}
    dated = [
        (response, link)
        for response in facts.told
        for link in response.mementos
        # Mementos of the TimeMap, and links of a memento to itself, have their own checks.
        if link.stamp and stamps.get(link.uri) and link.uri != response.url
        if not facts.listed_stamp(link.uri)
    ]
    if not dated:
        raise NotApplicable("no such link leads to a memento that was requested")
    for response, link in dated:
        if link.stamp != stamps[link.uri]:
            why = f"{link.uri} has {stamps[link.uri]}, but {link.stamp} in the link"
            return broken(why, "the Memento-Datetime of the memento", response)
    return passed(f"{len(dated)} links", dated[0][0])


@check("X-6", "practice", "RFC 7089 2.1.1")
def memento_datetime_is_that_of_its_address(facts: Facts) -> Finding:
    """The Memento-Datetime of a memento is the time in its address."""
    addressed = [
        response
        for response in reached_mementos(facts)
        if response.stamp and address_of(response.url)
    ]
    if not addressed:
        raise NotApplicable("no address contains a time")

    def complaint(response: ParsedResponse) -> str | None:
        address = address_of(response.url)
        in_address = _second(address.stamp) if address else None
        return None if response.stamp == in_address else f"{response.stamp} at {response.url}"

    return judge_each(addressed, complaint, "the digits of the address")


def _second(digits: str) -> str:
    """Return the second in an address; a leap second is stated as the one before it."""
    return f"{digits[:12]}59" if digits[12:14] == "60" else digits[:14]


@check("X-6", "practice", "RFC 7089 5")
def timemap_dates_are_those_of_the_addresses(facts: Facts) -> Finding:
    """The TimeMap gives mementos the times that are in their addresses."""
    pages = readable_pages(facts)
    dated = [
        (page, stamp, _second(address.stamp))
        for page in pages
        for stamp, uri in page.captures
        if (address := address_of(uri))
    ]
    if not dated:
        raise NotApplicable("no address contains a time")
    wrong = [(page, stated, digits) for page, stated, digits in dated if stated != digits]
    if not wrong:
        return passed(f"{len(dated)} mementos", pages[0].response)
    page, stated, digits = wrong[0]
    why = f"{len(wrong)} of {len(dated)} differ, such as {stated} at {digits}"
    return broken(why, "the digits of the address", page.response)


@check("M-8", "should", "RFC 7089 2.2.4")
def first_and_last_are_right(facts: Facts) -> Finding:
    """Links called first and last lead to the oldest and the newest memento."""
    stamps = facts.known_stamps
    if not stamps:
        raise NotApplicable("no memento is known to compare with")
    ends = {"first": stamps[0], "last": stamps[-1]}
    return _judge_ordered_links(
        facts, lambda _response, _link, name: ends.get(name), ("first", "last")
    )


@check("M-8", "should", "RFC 7089 2.2.4")
def prev_and_next_are_right(facts: Facts) -> Finding:
    """Links called prev and next lead to the neighbours of the chosen memento."""
    stamps = facts.known_stamps
    if not stamps:
        raise NotApplicable("no memento is known to compare with")

    def beside(response: ParsedResponse, link: MementoLink, name: str) -> str | None:
        if not facts.captures:
            return _on_its_side(facts, response, link, name)
        uri = link.uri
        chosen = facts.listed_stamp(response.chosen) or facts.listed_stamp(response.url)
        if chosen is None:
            return None
        if facts.listed_stamp(uri) == chosen and uri not in (response.chosen, response.url):
            # Another memento of the same second: their order is unknown.
            return chosen
        at = stamps.index(chosen) + (-1 if name == "prev" else 1)
        return stamps[at] if 0 <= at < len(stamps) else None

    return _judge_ordered_links(facts, beside, ("prev", "next"))


def _on_its_side(
    facts: Facts, response: ParsedResponse, link: MementoLink, name: str
) -> str | None:
    """Return the time that a link may have; without a TimeMap only its side is known."""
    chosen = response.stamp or facts.chosen_stamp(response)
    if chosen is None or link.stamp is None:
        return None
    wrong = link.stamp > chosen if name == "prev" else link.stamp < chosen
    return chosen if wrong else link.stamp


def _judge_ordered_links(
    facts: Facts,
    expected_stamp: Callable[[ParsedResponse, MementoLink, str], str | None],
    names: tuple[str, ...],
) -> Finding:
    """Judge the links called one of *names* by the time that *expected_stamp* returns."""
    linking = [
        response
        for response in (facts.responses if facts.captures else facts.told)
        if not response.no_answer and any(set(names) & set(m.order) for m in response.mementos)
    ]
    if not linking:
        raise NotApplicable(f"no links are called {' or '.join(names)}")

    def complaint(response: ParsedResponse) -> str | None:
        for link in response.mementos:
            for name in (name for name in names if name in link.order):
                right = expected_stamp(response, link, name)
                led = facts.listed_stamp(link.uri) if facts.captures else link.stamp
                # A target that the TimeMap lacks is reported by another check.
                if right and led and led != right:
                    return f"{name} leads to {led}, not to {right}"
        return None

    return judge_each(linking, complaint, "the order of the mementos")


def _listed(facts: Facts) -> list[str]:
    """Return the capture times in the TimeMap, each once."""
    stamps = sorted({stamp for stamp, _ in facts.captures})
    if not stamps:
        raise NotApplicable("there is no TimeMap to compare with")
    return stamps


def _require_choice(facts: Facts, response: ParsedResponse) -> str:
    chosen = facts.chosen_stamp(response)
    if chosen is None:
        raise Unanswered("it is unknown which memento was chosen", response)
    return chosen


def _no_choice(facts: Facts, response: ParsedResponse) -> str:
    """Return how a TimeGate that holds the page fails to choose a memento; empty if it does."""
    if response.datetime is None and response.status not in REDIRECTS:
        # pywb's page around a memento names it in its links.
        return "" if response.statement.is_frame else f"answers {response.status}"
    uri, end = response.chosen or "", facts.reached(response)
    if response.is_redirect and facts.page and same_page(uri, facts.page):
        return f"redirects to {uri}"
    is_told = facts.listed_stamp(uri) or any(link.uri == uri for link in response.mementos)
    if end is not None and end.datetime is None and not end.no_answer and not is_told:
        return f"leads to {uri}, which answers {end.status} and is no memento"
    return ""


@check("M-14", "should", "RFC 7089 4.5.3")
def no_date_means_the_newest(facts: Facts) -> Finding:
    """Without Accept-Datetime the TimeGate chooses the newest memento."""
    require_held(facts)
    newest = require_answer(timegate_facts(facts).newest, "the newest memento")
    if facts.gate_url == facts.sample and newest.status == 200 and newest.datetime is None:
        raise NotApplicable("the original answers with its current state (pattern 1)")
    return _chooses(facts, [newest], max)


@check("M-13", "must", "RFC 7089 4.5.3")
def after_the_last_means_the_last(facts: Facts) -> Finding:
    """For a time after the last memento, the TimeGate chooses the last."""
    require_held(facts)
    gate = timegate_facts(facts)
    return _chooses(facts, [gate.after, gate.future], max)


def _chooses(
    facts: Facts,
    requested: Sequence[ParsedResponse | None],
    end: Callable[[Sequence[str]], str],
) -> Finding:
    """Judge whether the first (min) or last (max) known memento is chosen, or one beyond it.

    Without a TimeMap, what links and other responses tell is known. A choice beyond the TimeMap
    is reported by another check.
    """
    sent = [response for response in requested if response is not None]
    responses = [r for r in sent if not r.no_answer or is_own_error(r)]
    if not responses:
        raise Unanswered(sent[0].no_answer if sent else "it was not requested", *sent[:1])
    known = facts.known_stamps
    right = end(known) if known else ""
    latest = probes.a_year_after(facts.now)
    expected = f"the memento of {right}" if right else "a memento"
    for response in responses:
        asked = f"for {response.accept_datetime} it " if response.accept_datetime else ""
        if why := _no_choice(facts, response):
            return broken(f"{asked}{why}", expected, response)
        if not right:
            raise NotApplicable("no memento is known to compare with")
        at, chosen = stamp_of(response.accept_datetime), _require_choice(facts, response)
        if chosen == at and not BEFORE_THE_WEB <= chosen <= latest:
            return broken(f"{asked}repeats that time as its own", expected, response)
        # A TimeMap that cannot be read to its end may lead to a time that is not outside.
        is_outside = at is None or end([at, right]) == at
        if is_outside and end([chosen, right]) != chosen:
            return broken(f"{asked}chooses {chosen}", expected, response)
    return passed(f"chooses {right}", *responses)


@check("M-13", "must", "RFC 7089 4.5.3")
def before_the_first_means_the_first(facts: Facts) -> Finding:
    """For a time before the first memento, the TimeGate chooses the first."""
    require_held(facts)
    gate = timegate_facts(facts)
    return _chooses(facts, [gate.before, gate.long_before], min)


@check("M-18", "practice", "RFC 7089 4.2")
def pick_is_the_closest(facts: Facts) -> Finding:
    """Between two mementos the TimeGate chooses the nearest, or always the same side."""
    require_held(facts)
    stamps, gate = _listed(facts), timegate_facts(facts)
    requested = [r for r in (gate.early, gate.late) if r is not None and r.accept_datetime]
    if len(stamps) < 2 or gate.late is None:
        raise NotApplicable("there are no two mementos to choose from")
    answered = [response for response in requested if not response.no_answer]
    if not answered:
        raise Unanswered(requested[0].no_answer, requested[0])
    rules = [_nearest, _nearest_before, _nearest_after]
    for response in answered:
        at, chosen = stamp_of(response.accept_datetime) or "", _require_choice(facts, response)
        rules = [rule for rule in rules if rule(stamps, at) == chosen]
        if not rules:
            why = f"for {at} it chooses {chosen}"
            return broken(why, f"the memento of {_nearest(stamps, at)}", response)
    return passed("chooses by one rule", *answered)


def _nearest(stamps: Sequence[str], at: str) -> str:
    return min(stamps, key=lambda stamp: abs(second_of(stamp) - second_of(at)))


def _nearest_before(stamps: Sequence[str], at: str) -> str:
    return max((stamp for stamp in stamps if stamp <= at), default=stamps[0])


def _nearest_after(stamps: Sequence[str], at: str) -> str:
    return min((stamp for stamp in stamps if stamp >= at), default=stamps[-1])


@check("M-18", "practice", "RFC 7089 4.2")
def exact_time_means_that_memento(facts: Facts) -> Finding:
    """For the exact second of a memento, the TimeGate chooses that memento."""
    require_held(facts)
    response = require_answer(timegate_facts(facts).exact, "the second of a memento")
    at = stamp_of(response.accept_datetime) or ""
    chosen = _require_choice(facts, response)
    if chosen != at:
        return broken(f"chooses {chosen}", f"the memento of {at}", response)
    return passed(f"chooses {chosen}", response)


@check("M-18", "practice", "RFC 7089 4.2")
def same_question_same_answer(facts: Facts) -> Finding:
    """The same request twice gets the same response."""
    working_timegate_responses(facts)
    gate = timegate_facts(facts)
    once = require_answer(gate.early, "a time")
    again = require_answer(gate.again, "the same time again")
    if once.is_partial or again.is_partial:
        whole = [r for r in (once, again, *gate.repeats) if not r.is_partial]
        if len(whole) < 2:
            raise NotApplicable("its responses declare themselves incomplete")
        once, again, *_ = whole
    first, second = [(r.status, r.chosen, r.datetime) for r in (once, again)]
    if first == second:
        return passed("the same response twice", once, again)
    return broken(f"first {first}, then {second}", "the same response twice", once, again)
