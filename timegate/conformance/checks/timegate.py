# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""What every answer of a TimeGate has: RFC 7089 2, 4.1 and 4.2."""

from collections.abc import Sequence

from archives.evidence import same_page
from archives.negotiation import REDIRECTS
from timegate.conformance.catalogue import (
    UNASKED,
    Finding,
    NotApplicable,
    Unanswered,
    broken,
    check,
    check_works,
    each,
    gate_answers,
    gate_of,
    heard_of_gate,
    not_held,
    passed,
)
from timegate.conformance.catalogue import answered as _answered
from timegate.conformance.facts import Facts
from timegate.conformance.parsed_response import ParsedResponse
from timegate.conformance.subject import DEFAULT_SAMPLE


@check("M-10", "must", "RFC 7089 4.2.1, 4.2.2")
def timegate_leads_to_a_memento(facts: Facts) -> Finding:
    """Asked for a time, the TimeGate redirects to a memento or answers with one."""
    gate = gate_of(facts)
    asked = [said for said in (gate.early, gate.late, gate.exact) if said is not None]
    # Where a redirect leads, and whether it says so, others look at.
    if all(not_held(said) for said in asked):
        return _nothing_held(facts, asked)

    def complaint(said: ParsedResponse) -> str | None:
        direct = said.datetime is not None and said.status not in UNASKED
        if said.status in REDIRECTS or direct:
            return None
        return f"answers {said.status} without leading to a memento"

    return each(asked, complaint, "302 with Location, or 200 with Memento-Datetime")


def _nothing_held(facts: Facts, asked: Sequence[ParsedResponse]) -> Finding:
    """Judge a TimeGate that has no copy of the sample.

    One that answers 404 to everything looks like one that was asked for the wrong page. Whoever
    names a page says that it is held; of our own guess nothing is known.
    """
    said = f"answers {asked[0].status} for {facts.sample}"
    if facts.sample == DEFAULT_SAMPLE:
        raise Unanswered(f"{said}: give a page that the archive holds with --sample", *asked)
    why = f"{said}, which --sample says that the archive holds"
    return broken(why, "302 with Location, or 200 with Memento-Datetime", *asked)


@check("M-17", "should", "RFC 7089 4.2.1")
def redirect_is_a_302(facts: Facts) -> Finding:
    """A TimeGate that redirects does so with 302."""
    redirects = [said for said in gate_answers(facts) if said.redirects]
    if not redirects:
        raise NotApplicable("the TimeGate does not redirect")

    def complaint(said: ParsedResponse) -> str | None:
        return None if said.status == 302 else f"redirects with {said.status}"

    return each(redirects, complaint, "302")


@check("M-10", "must", "RFC 9110 10.2.2")
def redirect_has_a_location(facts: Facts) -> Finding:
    """A redirect says where to: Location is a URL."""
    redirects = [said for said in heard_of_gate(facts) if said.redirects]
    if not redirects:
        raise NotApplicable("the TimeGate does not redirect")

    def complaint(said: ParsedResponse) -> str | None:
        return None if said.location else f"{said.status} without Location"

    return each(redirects, complaint, "Location: URI-M")


@check("M-4", "must", "RFC 7089 2.1.2")
def vary_names_accept_datetime(facts: Facts) -> Finding:
    """Every answer of the TimeGate has a Vary that names accept-datetime."""

    def complaint(said: ParsedResponse) -> str | None:
        return None if said.negotiates else f"Vary is {said.field('vary') or 'missing'}"

    return each(gate_answers(facts), complaint, "Vary: accept-datetime")


@check("M-6", "must", "RFC 7089 2.2.1")
def timegate_links_one_original(facts: Facts) -> Finding:
    """Every answer of the TimeGate has exactly one link to the original."""
    return each(gate_answers(facts), _originals, 'one link with rel="original"')


def _originals(said: ParsedResponse) -> str | None:
    found = len(said.targets("original"))
    return None if found == 1 else f"{found or 'no'} original links"


@check("M-6", "must", "RFC 7089 2.2.1")
def original_is_what_was_asked_for(facts: Facts) -> Finding:
    """The original that the TimeGate links is the page it was asked about."""
    linked = [said for said in gate_answers(facts) if said.targets("original")]

    def complaint(said: ParsedResponse) -> str | None:
        strange = [u for u in said.targets("original") if not same_page(u, facts.sample)]
        return f"links {strange[0]} as the original" if strange else None

    if not linked:
        raise NotApplicable("there is no original link")
    return each(linked, complaint, facts.sample)


@check("M-10", "must", "RFC 7089 4.2.1")
def redirect_has_no_memento_datetime(facts: Facts) -> Finding:
    """The redirect of a TimeGate has no Memento-Datetime: it is no memento itself."""
    redirects = [said for said in gate_answers(facts) if said.status in REDIRECTS]
    if not redirects:
        raise NotApplicable("the TimeGate does not redirect")

    def complaint(said: ParsedResponse) -> str | None:
        # With Content-Location it is pattern 2.2: the memento of a redirect (M-21).
        captured = said.datetime is None or said.field("content-location") is not None
        return None if captured else f"{said.status} with Memento-Datetime: {said.datetime}"

    return each(redirects, complaint, "no Memento-Datetime")


@check("M-11", "must", "RFC 7089 4.2.2")
def answer_names_its_memento(facts: Facts) -> Finding:
    """A TimeGate that answers with the memento says in Content-Location where it is."""
    answers = gate_answers(facts)
    direct = [said for said in answers if said.datetime and said.status not in REDIRECTS]
    if not direct:
        raise NotApplicable("the TimeGate does not answer with mementos")

    def complaint(said: ParsedResponse) -> str | None:
        return None if said.field("content-location") else "no Content-Location"

    return each(direct, complaint, "Content-Location: URI-M")


@check("M-7", "should", "RFC 7089 2.2.3")
def timegate_links_a_timemap(facts: Facts) -> Finding:
    """The TimeGate links a TimeMap."""

    def complaint(said: ParsedResponse) -> str | None:
        return None if said.targets("timemap") else "no timemap link"

    return each(gate_answers(facts), complaint, 'a link with rel="timemap"')


@check("M-7", "should", "RFC 7089 2.2.3")
def timemap_links_have_a_type(facts: Facts) -> Finding:
    """Links to TimeMaps say in which format they are."""
    linking = [said for said in gate_answers(facts) if said.targets("timemap")]
    if not linking:
        raise NotApplicable("there is no timemap link")

    def complaint(said: ParsedResponse) -> str | None:
        links = [link for link in said.links if "timemap" in link.rels]
        return None if all("type" in link.params for link in links) else "a link without type"

    return each(linking, complaint, 'type="application/link-format"')


@check("M-8", "must", "RFC 7089 2.2.4")
def memento_links_have_datetimes(facts: Facts) -> Finding:
    """Every link of the TimeGate to a memento has a datetime that is an rfc1123-date."""
    linking = [said for said in gate_answers(facts) if said.mementos]
    if not linking:
        raise NotApplicable("there are no links to mementos")

    def complaint(said: ParsedResponse) -> str | None:
        undated = [link for link in said.mementos if link.stamp is None]
        return f"datetime is {undated[0].date or 'missing'}" if undated else None

    return each(linking, complaint, 'datetime="Www, DD Mmm YYYY hh:mm:ss GMT"')


@check("M-8", "practice", "RFC 7089 4.2.1")
def chosen_memento_is_linked(facts: Facts) -> Finding:
    """The memento that the TimeGate chose is among those it links."""
    linking = [said for said in gate_answers(facts) if said.mementos and said.chosen]
    if not linking:
        raise NotApplicable("there are no links to mementos")

    def complaint(said: ParsedResponse) -> str | None:
        linked = {link.uri for link in said.mementos}
        return None if said.chosen in linked else f"{said.chosen} is not linked"

    return each(linking, complaint, 'a link to it with rel="memento"')


@check("M-15", "should", "RFC 7089 4.5.3")
def refusals_are_a_timegates(facts: Facts) -> Finding:
    """A 400 or 404 of the TimeGate has Vary and the original link as its other answers have."""
    gate = gate_of(facts)
    refusals = [s for s in (*gate.bad.values(), gate.unknown) if s and s.status in (400, 404)]
    check_works(facts)
    if not refusals:
        raise NotApplicable("nothing was refused")

    def complaint(said: ParsedResponse) -> str | None:
        lacking = [
            *(["Vary: accept-datetime"] if not said.negotiates else []),
            *(["the original link"] if not said.targets("original") else []),
        ]
        return f"{said.status} without {' and '.join(lacking)}" if lacking else None

    return each(refusals, complaint, "Vary: accept-datetime, and one original link")


@check("M-21", "must", "RFC 7089 4.5.5")
def own_errors_are_no_mementos(facts: Facts) -> Finding:
    """Errors of the TimeGate itself have no Memento-Datetime, which archived errors have."""
    gate = gate_of(facts)
    errors = [s for s in (*gate.bad.values(), gate.unknown) if s and s.status in (400, 404)]
    if not errors:
        raise NotApplicable("nothing was refused")

    def complaint(said: ParsedResponse) -> str | None:
        return None if said.datetime is None else f"{said.status} with Memento-Datetime"

    return each(errors, complaint, "no Memento-Datetime")


_DO_NOT = "http://mementoweb.org/terms/donotnegotiate"


def _original(facts: Facts) -> ParsedResponse:
    if facts.original is None:
        raise NotApplicable("no original is checked")
    said = _answered(facts.original, "the original")
    if _DO_NOT in said.targets("type"):
        raise NotApplicable("it asks not to be negotiated (M-25)")
    return said


def _links(facts: Facts, relation: str) -> Finding:
    said = _original(facts)
    if said.targets(relation):
        return passed(said.targets(relation)[0], said)
    return broken(f"no {relation} link", f'a link with rel="{relation}"', said)


@check("M-7", "should", "RFC 7089 2.2.2")
def original_links_a_timegate(facts: Facts) -> Finding:
    """An original links its preferred TimeGate."""
    return _links(facts, "timegate")


@check("M-7", "practice", "RFC 7089 2.2.3")
def original_links_a_timemap(facts: Facts) -> Finding:
    """An original links its preferred TimeMap."""
    return _links(facts, "timemap")


@check("M-23", "must", "RFC 7089 4.3")
def original_is_frozen_if_it_says_so(facts: Facts) -> Finding:
    """An original with a Memento-Datetime is its own memento, and links itself as original."""
    said = _original(facts)
    if said.datetime is None:
        raise NotApplicable("it has no Memento-Datetime: a page that changes")
    if said.url in said.targets("original"):
        return passed("it links itself", said)
    return broken("no original link to itself", f'<{said.url}>; rel="original"', said)
