# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Responses of TimeGates (RFC 7089 2, 4.1, 4.2), and links of originals."""

from collections.abc import Sequence
from typing import Final

from archives.evidence import address_of
from archives.negotiation import REDIRECTS
from archives.uri import host_of
from timegate.conformance.catalogue import (
    UNREQUESTED,
    Finding,
    NotApplicable,
    Unanswered,
    broken,
    check,
    is_not_held,
    is_own_error,
    judge_each,
    known_timemap,
    passed,
    requested_original,
    require_timegate_itself,
    timegate_facts,
    timegate_responses,
    working_timegate_responses,
)
from timegate.conformance.facts import Facts
from timegate.conformance.parsed_response import ParsedResponse
from timegate.conformance.subject import DEFAULT_SAMPLE, memento_key, same_original

_WEB: Final = ("http:", "https:")


@check("M-10", "must", "RFC 7089 4.2.1, 4.2.2")
def timegate_leads_to_a_memento(facts: Facts) -> Finding:
    """For a requested time, the TimeGate redirects to a memento or responds with one."""
    gate = timegate_facts(facts)
    responses = [r for r in (gate.early, gate.late, gate.exact) if r is not None]
    # Other checks judge where a redirect leads and whether it has a Location.
    if all(is_not_held(response) for response in responses):
        return _nothing_held(facts, responses)
    if all(is_own_error(response) for response in responses):
        why = f"answers {responses[0].status} to every valid request"
        return broken(why, "302 with Location, or 200 with Memento-Datetime", *responses)

    def complaint(response: ParsedResponse) -> str | None:
        direct = response.datetime is not None and response.status not in UNREQUESTED
        if response.status in REDIRECTS or direct:
            return None
        return f"answers {response.status} without leading to a memento"

    return judge_each(responses, complaint, "302 with Location, or 200 with Memento-Datetime")


def _nothing_held(facts: Facts, responses: Sequence[ParsedResponse]) -> Finding:
    """Judge a TimeGate that has no memento of the sample.

    A TimeGate that answers 404 to everything looks like one without this page. A sample that
    the user names is taken to be held; about the default sample nothing is known.
    """
    answer = f"answers {responses[0].status} for {facts.sample}"
    if facts.sample == DEFAULT_SAMPLE:
        why = f"{answer}: give a page that the archive holds with --sample"
        raise Unanswered(why, *responses)
    why = f"{answer}, which --sample says that the archive holds"
    return broken(why, "302 with Location, or 200 with Memento-Datetime", *responses)


@check("M-17", "should", "RFC 7089 4.2.1")
def redirect_is_a_302(facts: Facts) -> Finding:
    """A TimeGate that redirects uses status 302."""
    redirects = [
        response for response in working_timegate_responses(facts) if response.is_redirect
    ]
    if not redirects:
        raise NotApplicable("the TimeGate does not redirect")

    def complaint(response: ParsedResponse) -> str | None:
        return None if response.status == 302 else f"redirects with {response.status}"

    return judge_each(redirects, complaint, "302")


@check("M-10", "must", "RFC 9110 10.2.2")
def redirect_has_a_location(facts: Facts) -> Finding:
    """A redirect has a Location with a URL."""
    redirects = [response for response in timegate_responses(facts) if response.is_redirect]
    if not redirects:
        raise NotApplicable("the TimeGate does not redirect")

    def complaint(response: ParsedResponse) -> str | None:
        if not response.location:
            return f"{response.status} without Location"
        # http and https addresses have a host (RFC 9110 4.2); other schemes are judged apart.
        hostless = response.location.startswith(_WEB) and not host_of(response.location)
        return f"Location is {response.location}" if hostless else None

    return judge_each(redirects, complaint, "Location: URI-M")


@check("M-4", "must", "RFC 7089 2.1.2")
def vary_names_accept_datetime(facts: Facts) -> Finding:
    """Every response of the TimeGate has a Vary that names accept-datetime."""

    def complaint(response: ParsedResponse) -> str | None:
        return None if response.negotiates else f"Vary is {response.field('vary') or 'missing'}"

    return judge_each(working_timegate_responses(facts), complaint, "Vary: accept-datetime")


@check("M-6", "must", "RFC 7089 2.2.1")
def timegate_links_one_original(facts: Facts) -> Finding:
    """Every response of the TimeGate has exactly one link to the original."""
    return judge_each(
        working_timegate_responses(facts), _originals, 'one link with rel="original"'
    )


def _originals(response: ParsedResponse) -> str | None:
    found = len(response.targets("original"))
    return None if found == 1 else f"{found or 'no'} original links"


@check("M-6", "must", "RFC 7089 2.2.1")
def original_is_what_was_asked_for(facts: Facts) -> Finding:
    """The original link of the TimeGate leads to the page that was requested."""
    linked = [
        response
        for response in working_timegate_responses(facts)
        if response.targets("original")
    ]

    def complaint(response: ParsedResponse) -> str | None:
        linked_to = response.targets("original")
        strange = [uri for uri in linked_to if not same_original(uri, facts.sample)]
        return f"links to {strange[0]} as the original" if strange else None

    if not linked:
        raise NotApplicable("there is no original link")
    return judge_each(linked, complaint, facts.sample)


@check("M-10", "must", "RFC 7089 4.2.1")
def redirect_has_no_memento_datetime(facts: Facts) -> Finding:
    """A redirect of the TimeGate has no Memento-Datetime: it is not a memento."""
    redirects = [
        response
        for response in working_timegate_responses(facts)
        if response.status in REDIRECTS
    ]
    if not redirects:
        raise NotApplicable("the TimeGate does not redirect")

    def complaint(response: ParsedResponse) -> str | None:
        if response.datetime is None or _is_archived_redirect(facts, response):
            return None
        return f"{response.status} with Memento-Datetime: {response.datetime}"

    return judge_each(redirects, complaint, "no Memento-Datetime")


def _is_archived_redirect(facts: Facts, response: ParsedResponse) -> bool:
    """Whether a TimeGate answers with the memento of a redirect (M-21), and does not redirect.

    It does so with Content-Location (patterns 1.2, 2.2), or where mementos have no addresses
    (1.3, 2.3): then its Location is not that of a memento.
    """
    if response.field("content-location") is not None:
        return True
    target = response.location or ""
    linked = {link.uri for link in response.mementos}
    is_memento = facts.listed_stamp(target) or target in linked or address_of(target)
    return not is_memento


@check("M-11", "should", "RFC 7089 4.1.2, 4.2.2")
def answer_names_its_memento(facts: Facts) -> Finding:
    """A TimeGate that responds with a memento names its address in Content-Location."""
    answers = working_timegate_responses(facts)
    direct = [
        response
        for response in answers
        if response.datetime and response.status not in REDIRECTS
    ]
    if not direct:
        raise NotApplicable("the TimeGate does not respond with mementos")
    if not any(r.field("content-location") for r in direct) and not _have_addresses(facts):
        raise NotApplicable("mementos have no addresses of their own (patterns 1.3, 2.3)")

    def complaint(response: ParsedResponse) -> str | None:
        if response.statement.content_location == response.url and _have_addresses(facts):
            return "Content-Location is the address of the TimeGate"
        return None if response.field("content-location") else "no Content-Location"

    return judge_each(direct, complaint, "Content-Location: URI-M")


def _have_addresses(facts: Facts) -> bool:
    """Whether the TimeMap or links of the TimeGate name addresses of mementos."""
    listed = {uri for _, uri in facts.captures}
    linked = {link.uri for r in timegate_facts(facts).valid for link in r.mementos}
    return bool((listed | linked) - {facts.gate_url, facts.sample})


@check("M-7", "should", "RFC 7089 2.2.3")
def timegate_links_a_timemap(facts: Facts) -> Finding:
    """The TimeGate links to its TimeMap, where there is one."""
    if not known_timemap(facts):
        raise NotApplicable("no TimeMap is known")
    responses = working_timegate_responses(facts)
    leading = [r for r in responses if r.status < 400 or r.datetime is not None]

    def complaint(response: ParsedResponse) -> str | None:
        return None if response.targets("timemap") else "no timemap link"

    return judge_each(leading, complaint, 'a link with rel="timemap"')


@check("M-7", "should", "RFC 7089 2.2.3")
def timemap_links_have_a_type(facts: Facts) -> Finding:
    """Links to TimeMaps state the format."""
    linking = [
        response
        for response in working_timegate_responses(facts)
        if response.targets("timemap")
    ]
    if not linking:
        raise NotApplicable("there is no timemap link")

    def complaint(response: ParsedResponse) -> str | None:
        links = [link for link in response.links if "timemap" in link.rels]
        return None if all("type" in link.params for link in links) else "a link without type"

    return judge_each(linking, complaint, 'type="application/link-format"')


@check("M-8", "must", "RFC 7089 2.2.4")
def memento_links_have_datetimes(facts: Facts) -> Finding:
    """Every link of the TimeGate to a memento has a datetime that is an rfc1123-date."""
    linking = [response for response in working_timegate_responses(facts) if response.mementos]
    if not linking:
        raise NotApplicable("there are no links to mementos")

    def complaint(response: ParsedResponse) -> str | None:
        undated = [link for link in response.mementos if link.stamp is None]
        return f"datetime is {undated[0].date or 'missing'}" if undated else None

    return judge_each(linking, complaint, 'datetime="Www, DD Mmm YYYY hh:mm:ss GMT"')


@check("M-8", "practice", "RFC 7089 4.2.1")
def chosen_memento_is_linked(facts: Facts) -> Finding:
    """The memento that the TimeGate chose is among its links."""
    linking = [
        response
        for response in working_timegate_responses(facts)
        if response.mementos and _is_known_choice(facts, response)
    ]
    if not linking:
        raise NotApplicable("there are no links to mementos")

    def complaint(response: ParsedResponse) -> str | None:
        chosen = facts.chosen_uri(response) or ""
        linked = {memento_key(link.uri) for link in response.mementos}
        return None if memento_key(chosen) in linked else f"{chosen} is not linked"

    return judge_each(linking, complaint, 'a link to it with rel="memento"')


def _is_known_choice(facts: Facts, response: ParsedResponse) -> bool:
    """Whether the address of the chosen memento is known; others are judged elsewhere."""
    uri, end = facts.chosen_uri(response), facts.reached(response)
    return bool(facts.listed_stamp(uri)) or (end is not None and end.datetime is not None)


@check("M-15", "should", "RFC 7089 4.5.3")
def refusals_are_a_timegates(facts: Facts) -> Finding:
    """A 400 or 404 of the TimeGate has Vary and the original link, like other responses."""
    gate = timegate_facts(facts)
    refusals = [
        s
        for s in (*gate.bad_dates.values(), gate.unknown)
        if s and s.status in (400, 404) and s.datetime is None
    ]
    require_timegate_itself(facts)
    if all(map(is_not_held, (*gate.valid, *refusals))):
        raise NotApplicable(f"the TimeGate answers {gate.newest.status} to everything")
    if not refusals:
        raise NotApplicable("nothing was refused")

    def complaint(response: ParsedResponse) -> str | None:
        lacking = [
            *(["Vary: accept-datetime"] if not response.negotiates else []),
            *(["the original link"] if not response.targets("original") else []),
        ]
        return f"{response.status} without {' and '.join(lacking)}" if lacking else None

    return judge_each(refusals, complaint, "Vary: accept-datetime, and one original link")


@check("M-21", "must", "RFC 7089 4.5.5")
def own_errors_are_no_mementos(facts: Facts) -> Finding:
    """Errors of the TimeGate itself have no Memento-Datetime, unlike archived errors."""
    gate = timegate_facts(facts)
    refused = [
        s for s in (*gate.bad_dates.values(), gate.unknown) if s and s.status in (400, 404)
    ]
    # A lenient TimeGate may answer an invalid date with the memento of a 404 (M-21).
    archived = {(r.status, r.datetime) for r in gate.valid if r.datetime is not None}
    errors = [s for s in refused if s is gate.unknown or (s.status, s.datetime) not in archived]
    if not errors:
        raise NotApplicable("nothing was refused")

    def complaint(response: ParsedResponse) -> str | None:
        return None if response.datetime is None else f"{response.status} with Memento-Datetime"

    return judge_each(errors, complaint, "no Memento-Datetime")


def _original(facts: Facts) -> ParsedResponse:
    response = requested_original(facts)
    if response.declines_negotiation:
        raise NotApplicable("it declares that it is not to be negotiated (M-25)")
    return response


def _links(facts: Facts, relation: str) -> Finding:
    response = _original(facts)
    if facts.pattern == "3":
        raise NotApplicable("it never changes (pattern 3)")
    # Many sites can write a link element, but no header.
    linked = [*response.targets(relation), *response.html_targets(relation)]
    if linked:
        return passed(linked[0], response)
    if relation == "timemap" and not known_timemap(facts) and facts.gate is not None:
        raise NotApplicable("no TimeMap is known")
    return broken(f"no {relation} link", f'a link with rel="{relation}"', response)


@check("M-7", "should", "RFC 7089 2.2.2")
def original_links_a_timegate(facts: Facts) -> Finding:
    """An original links to its preferred TimeGate."""
    return _links(facts, "timegate")


@check("M-7", "practice", "RFC 7089 2.2.3")
def original_links_a_timemap(facts: Facts) -> Finding:
    """An original links to its preferred TimeMap."""
    return _links(facts, "timemap")


@check("M-23", "must", "RFC 7089 4.3")
def original_is_frozen_if_it_says_so(facts: Facts) -> Finding:
    """An original with a Memento-Datetime links to itself as its original."""
    response = _original(facts)
    if response.datetime is None:
        raise NotApplicable("it has no Memento-Datetime, so it may change")
    if response.url in response.targets("original"):
        return passed("it links to itself", response)
    return broken("no original link to itself", f'<{response.url}>; rel="original"', response)
