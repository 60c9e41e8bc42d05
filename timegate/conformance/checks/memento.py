# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Mementos and the redirects that lead to them: RFC 7089 4.2."""

from archives.evidence import address_of, same_page
from archives.uri import WEB
from timegate.conformance.catalogue import (
    UNREQUESTED,
    Finding,
    NotApplicable,
    Unanswered,
    broken,
    check,
    expected_original,
    is_memento_host,
    is_not_held,
    is_own_error,
    judge_each,
    known_timemap,
    passed,
    reached_mementos,
    requested_replays,
    require_answer,
    require_no_error,
    timegate_responses,
    working_timegate_responses,
)
from timegate.conformance.facts import Facts, ReplayFacts
from timegate.conformance.parsed_response import ParsedResponse


@check("M-20", "must", "RFC 7089 2.1.1")
def memento_has_a_datetime(facts: Facts) -> Finding:
    """Every memento has a Memento-Datetime."""
    # Redirects that could not be followed are judged by `redirects-end` and others.
    ends = [replay.end for replay in requested_replays(facts) if not replay.stopped]
    if not ends:
        raise Unanswered("no memento was reached")

    def complaint(response: ParsedResponse) -> str | None:
        if response.datetime:
            return None
        return f"{response.url} answers {response.status} without Memento-Datetime"

    if facts.gate is not None and facts.gate.early.is_redirect:
        listed = [uri for _, uri in facts.captures if uri == facts.gate_url]
        if listed:
            why = f"the TimeMap lists the TimeGate {listed[0]} as a memento"
            return broken(why, "Memento-Datetime", facts.gate.early)
    # A server error is an answer, too: a memento that always crashes is none.
    wrong = [(end, complaint(end) or "") for end in ends if is_own_error(end)]
    if wrong:
        return broken(wrong[0][1], "Memento-Datetime", *(end for end, _ in wrong))
    return judge_each(ends, complaint, "Memento-Datetime")


@check("M-21", "must", "RFC 7089 4.5.4, 4.5.5")
def memento_status_is_the_archived_one(facts: Facts) -> Finding:
    """A memento has the archived status, not one for a range or conditional request."""

    def complaint(response: ParsedResponse) -> str | None:
        return (
            f"answers {response.status}, which was not requested"
            if response.status in UNREQUESTED
            else None
        )

    return judge_each(reached_mementos(facts), complaint, "the archived status")


@check("M-6", "must", "RFC 7089 2.2.1")
def memento_links_one_original(facts: Facts) -> Finding:
    """Every memento has exactly one link to its original."""

    def complaint(response: ParsedResponse) -> str | None:
        found = len(response.targets("original"))
        return None if found == 1 else f"{found or 'no'} original links"

    return judge_each(reached_mementos(facts), complaint, 'one link with rel="original"')


@check("M-20", "must", "RFC 7089 4.2.2")
def memento_does_not_negotiate(facts: Facts) -> Finding:
    """A memento with its own address does not vary by Accept-Datetime."""
    apart = [r for r in reached_mementos(facts) if r.url != facts.gate_url]
    if not apart:
        raise NotApplicable("the mementos do not have their own addresses")

    def complaint(response: ParsedResponse) -> str | None:
        return f"Vary: {response.field('vary')}" if response.negotiates else None

    return judge_each(apart, complaint, "no accept-datetime in Vary")


@check("M-30", "must", "RFC 7089 4.5.6")
def memento_ignores_accept_datetime(facts: Facts) -> Finding:
    """A memento requested with Accept-Datetime is the same memento."""
    reached_mementos(facts)
    replay = requested_replays(facts)[0]
    dated = require_answer(replay.negotiated, "a memento with Accept-Datetime")
    without, with_date = [(r.status, r.datetime, r.location) for r in (replay.end, dated)]
    if without == with_date:
        return passed("the same", replay.end, dated)
    return broken(f"without {without}, with {with_date}", "the same", replay.end, dated)


@check("M-5", "must", "RFC 7089 2.1.1, pywb #549")
def a_made_up_time_is_not_confirmed(facts: Facts) -> Finding:
    """An address with a second at which nothing was captured is no memento of that second."""
    replay = requested_replays(facts)[0]
    response = require_no_error(replay.made_up, "a memento at an invented time")
    address = address_of(response.url)
    if (
        response.stamp is not None
        and address is not None
        and response.stamp == address.stamp[:14]
    ):
        return broken(
            f"Memento-Datetime: {response.datetime}", "another time, or 404", response
        )
    return passed(f"answers {response.status}", response)


@check("M-7", "should", "RFC 7089 2.2.2")
def memento_links_a_timegate(facts: Facts) -> Finding:
    """Every memento links to its TimeGate."""
    return _linking(facts, "timegate")


@check("M-7", "should", "RFC 7089 2.2.3")
def memento_links_a_timemap(facts: Facts) -> Finding:
    """Every memento links to its TimeMap."""
    return _linking(facts, "timemap")


def _linking(facts: Facts, relation: str) -> Finding:
    if facts.pattern == "3" or (facts.pattern == "4" and relation == "timegate"):
        raise NotApplicable(f"there is no TimeGate (pattern {facts.pattern})")
    if relation == "timemap" and not known_timemap(facts):
        raise NotApplicable("no TimeMap is known")

    def complaint(response: ParsedResponse) -> str | None:
        return None if response.targets(relation) else f"no {relation} link"

    mementos = reached_mementos(facts)
    if relation == "timegate":
        # In patterns 1.3 and 2.3 the memento is the TimeGate.
        mementos = [memento for memento in mementos if memento.url != facts.gate_url]
    return judge_each(mementos, complaint, f'a link with rel="{relation}"')


@check("F-2", "practice", "Mementos in the Raw, 2016")
def raw_view_is_the_same_memento(facts: Facts) -> Finding:
    """The unaltered bytes have their own address, with the same Memento-Datetime."""
    reached_mementos(facts)
    replay = requested_replays(facts)[0]
    raw = require_answer(replay.raw, "a raw view")
    if facts.subject.raw is None and raw.datetime is None:
        raise NotApplicable("no raw view was found")
    if raw.datetime == replay.end.datetime:
        return passed(f"at {raw.url}", raw)
    why = f"answers {raw.status}, Memento-Datetime: {raw.datetime or 'missing'}"
    return broken(why, f"Memento-Datetime: {replay.end.datetime}", raw)


def _routes(facts: Facts) -> list[ReplayFacts]:
    routes = [facts.route] if facts.route is not None else []
    if facts.route is not None:
        timegate_responses(facts)
    routes += facts.replays
    if not routes:
        raise NotApplicable("no redirect was requested")
    if all(route.hops[0].no_answer for route in routes):
        raise Unanswered(routes[0].hops[0].no_answer, routes[0].hops[0])
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
    """Redirects lead to a memento in a few hops, never in a loop."""
    return _stopping(facts, "a loop", "more than")


@check("R-3", "practice", "RFC 9110 15.4")
def https_stays_https(facts: Facts) -> Finding:
    """No redirect leads from https to http."""
    if not facts.subject.url.startswith("https:"):
        raise NotApplicable("the address of the archive is http")
    return _stopping(facts, "from https")


@check("R-1", "practice", "RFC 7089 4.2.1")
def redirects_stay_in_the_archive(facts: Facts) -> Finding:
    """Redirects stay on hosts of the archive or of the mementos in its TimeMap."""
    routes = _routes(facts)
    away = [
        route
        for route in routes
        if route.stopped.startswith("leaves") and not is_memento_host(facts, route.end.location)
    ]
    if not away:
        return passed("no redirect leaves it", *routes[0].hops)
    return broken(away[0].stopped, "an address of the archive", *away[0].hops)


@check("R-1", "must", "RFC 9110 10.2.2, 4.2")
def redirects_lead_to_web_addresses(facts: Facts) -> Finding:
    """Every redirect leads to an http or https address, never to a file or a script."""
    routes = _routes(facts)
    hops = [hop for route in routes for hop in route.hops if hop.is_redirect and hop.location]
    if not hops:
        raise NotApplicable("there are no redirects")

    def complaint(response: ParsedResponse) -> str | None:
        target = response.location or ""
        is_web = target.lower().startswith(WEB)
        return None if is_web else f"Location: {response.field('location')}"

    return judge_each(hops, complaint, "an http or https address")


@check("M-5", "must", "RFC 7089 1.1, 4.2.1")
def memento_is_not_the_live_page(facts: Facts) -> Finding:
    """No redirect of a TimeGate or memento leads to the original on the live web."""
    routes, page = _routes(facts), expected_original(facts)
    valid = [] if facts.gate is None else facts.gate.valid
    hops = [*valid, *(hop for route in routes for hop in route.hops)]

    def complaint(response: ParsedResponse) -> str | None:
        # An archived redirect may lead to an original (M-21); it has a Memento-Datetime.
        target = response.location if response.is_redirect else None
        led = target is not None and same_page(target, page) and response.url != target
        return f"{response.url} redirects to {target}" if led else None

    return judge_each(hops, complaint, "a memento")


@check("A-10", "practice", "RFC 7089 4.2.2")
def chosen_memento_is_there(facts: Facts) -> Finding:
    """The memento that the TimeGate chooses exists: its address is not a 404."""
    if facts.route is None:
        raise NotApplicable("no TimeGate is checked")
    working_timegate_responses(facts)
    end = facts.route.end
    if facts.route.stopped:
        raise NotApplicable("its redirects were not followed to the end")
    require_no_error(end, "the chosen memento")
    if is_not_held(end):
        return broken(f"answers {end.status}", "a memento", *facts.route.hops)
    return passed(f"answers {end.status}", *facts.route.hops)
