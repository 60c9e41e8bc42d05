# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""What a page on the live web says of its past: RFC 7089 4.1, the part of the original."""

from timegate.conformance.catalogue import check
from timegate.conformance.facts import Facts
from timegate.conformance.finding import Finding, NotApplicable, broken, passed
from timegate.conformance.finding import answered as _answered
from timegate.conformance.said import ParsedResponse

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
