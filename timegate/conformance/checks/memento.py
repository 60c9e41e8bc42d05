# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""What a memento has, whatever it is a copy of, and how it is reached: RFC 7089 4.2."""

from archives.evidence import address_of
from timegate.conformance.catalogue import (
    UNASKED,
    Finding,
    NotApplicable,
    Unanswered,
    answered,
    broken,
    check,
    each,
    gate_answers,
    heard_of_gate,
    is_home,
    mementos,
    not_held,
    passed,
    replays_of,
)
from timegate.conformance.facts import Facts, ReplayFacts
from timegate.conformance.parsed_response import ParsedResponse


@check("M-20", "must", "RFC 7089 2.1.1")
def memento_has_a_datetime(facts: Facts) -> Finding:
    """Every memento has a Memento-Datetime."""
    # One that could not be followed to its end is another check's business.
    ends = [replay.end for replay in replays_of(facts) if not replay.stopped]
    if not ends:
        raise Unanswered("no memento was reached")

    def complaint(said: ParsedResponse) -> str | None:
        return None if said.datetime else f"answers {said.status} without Memento-Datetime"

    return each(ends, complaint, "Memento-Datetime")


@check("M-21", "must", "RFC 7089 4.5.4, 4.5.5")
def memento_status_is_the_archived_one(facts: Facts) -> Finding:
    """A memento has the status of what was archived, never one that answers no question."""

    def complaint(said: ParsedResponse) -> str | None:
        return f"answers {said.status}, unasked" if said.status in UNASKED else None

    return each(mementos(facts), complaint, "the archived status")


@check("M-6", "must", "RFC 7089 2.2.1")
def memento_links_one_original(facts: Facts) -> Finding:
    """Every memento has exactly one link to its original."""

    def complaint(said: ParsedResponse) -> str | None:
        found = len(said.targets("original"))
        return None if found == 1 else f"{found or 'no'} original links"

    return each(mementos(facts), complaint, 'one link with rel="original"')


@check("M-20", "must", "RFC 7089 4.2.2")
def memento_does_not_negotiate(facts: Facts) -> Finding:
    """A memento with an address of its own does not vary by Accept-Datetime."""
    gate = facts.subject.url + facts.sample if facts.gate else None
    apart = [said for said in mementos(facts) if said.url != gate]
    if not apart:
        raise NotApplicable("the mementos have no addresses of their own")

    def complaint(said: ParsedResponse) -> str | None:
        return f"Vary: {said.field('vary')}" if said.negotiates else None

    return each(apart, complaint, "no accept-datetime in Vary")


@check("M-20", "practice", "RFC 7089 4.2.2")
def memento_ignores_accept_datetime(facts: Facts) -> Finding:
    """A memento that is asked for with an Accept-Datetime is the same memento."""
    mementos(facts)
    replay = replays_of(facts)[0]
    asked = answered(replay.negotiated, "a memento with Accept-Datetime")
    told = [(said.status, said.datetime, said.location) for said in (replay.end, asked)]
    if told[0] == told[1]:
        return passed("the same", replay.end, asked)
    return broken(f"without {told[0]}, with {told[1]}", "the same", replay.end, asked)


@check("M-5", "must", "RFC 7089 2.1.1, pywb #549")
def a_made_up_time_is_not_confirmed(facts: Facts) -> Finding:
    """Asked by address for a second at which nothing was captured, no memento of it appears."""
    replay = replays_of(facts)[0]
    said = answered(replay.made_up, "a memento at a made-up time")
    address = address_of(said.url)
    if said.stamp is not None and address is not None and said.stamp == address.stamp[:14]:
        return broken(f"Memento-Datetime: {said.datetime}", "another time, or 404", said)
    return passed(f"answers {said.status}", said)


@check("M-7", "should", "RFC 7089 2.2.2")
def memento_links_a_timegate(facts: Facts) -> Finding:
    """Every memento links its TimeGate."""
    return _linking(facts, "timegate")


@check("M-7", "should", "RFC 7089 2.2.3")
def memento_links_a_timemap(facts: Facts) -> Finding:
    """Every memento links its TimeMap."""
    return _linking(facts, "timemap")


def _linking(facts: Facts, relation: str) -> Finding:
    def complaint(said: ParsedResponse) -> str | None:
        return None if said.targets(relation) else f"no {relation} link"

    return each(mementos(facts), complaint, f'a link with rel="{relation}"')


@check("F-2", "practice", "Mementos in the Raw, 2016")
def raw_view_is_the_same_memento(facts: Facts) -> Finding:
    """The unaltered bytes have an address, with the same Memento-Datetime."""
    mementos(facts)
    replay = replays_of(facts)[0]
    raw = answered(replay.raw, "a raw view")
    if facts.subject.raw is None and raw.datetime is None:
        raise NotApplicable("no raw view was found")
    if raw.datetime == replay.end.datetime:
        return passed(f"at {raw.url}", raw)
    why = f"answers {raw.status}, Memento-Datetime: {raw.datetime or 'missing'}"
    return broken(why, f"Memento-Datetime: {replay.end.datetime}", raw)


def _routes(facts: Facts) -> list[ReplayFacts]:
    routes = [facts.route] if facts.route is not None else []
    if facts.route is not None:
        heard_of_gate(facts)
    routes += facts.replays
    if not routes:
        raise NotApplicable("there is nothing to follow")
    if all(route.hops[0].silence for route in routes):
        raise Unanswered(routes[0].hops[0].silence, routes[0].hops[0])
    return routes


def _stopping(facts: Facts, *beginnings: str) -> Finding:
    routes = _routes(facts)
    stopped = [route for route in routes if route.stopped.startswith(beginnings)]
    if not stopped:
        hops = max(len(route.hops) for route in routes)
        return passed(f"{hops - 1} redirects at most", *routes[0].hops)
    return broken(stopped[0].stopped, "a memento", *stopped[0].hops)


@check("M-22", "must", "RFC 7089 4.5.7, RFC 9110 15.4")
def redirects_end(facts: Facts) -> Finding:
    """Redirects lead to a memento in a few hops, never in a circle."""
    return _stopping(facts, "a circle", "more than")


@check("R3", "practice", "RFC 9110 15.4")
def https_stays_https(facts: Facts) -> Finding:
    """No redirect leads from https to http."""
    if not facts.subject.url.startswith("https:"):
        raise NotApplicable("the archive is asked over http")
    return _stopping(facts, "from https")


@check("R1", "practice", "RFC 7089 4.2.1")
def redirects_stay_in_the_archive(facts: Facts) -> Finding:
    """Redirects lead to the archive itself, or to where its TimeMap lists mementos."""
    routes = _routes(facts)
    away = [
        route
        for route in routes
        if route.stopped.startswith("leaves") and not is_home(facts, route.end.location)
    ]
    if not away:
        return passed("none leaves it", *routes[0].hops)
    return broken(away[0].stopped, "an address of the archive", *away[0].hops)


@check("A-10", "practice", "RFC 7089 4.2.2")
def chosen_memento_is_there(facts: Facts) -> Finding:
    """What the TimeGate chooses can be had: the address it leads to is no 404."""
    if facts.route is None:
        raise NotApplicable("no TimeGate is checked")
    gate_answers(facts)
    end = facts.route.end
    if facts.route.stopped:
        raise NotApplicable("it was not followed to its end")
    if end.silence:
        raise Unanswered(end.silence, end)
    if not_held(end):
        return broken(f"answers {end.status}", "a memento", *facts.route.hops)
    return passed(f"answers {end.status}", *facts.route.hops)
