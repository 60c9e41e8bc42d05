# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""A TimeMap asked for in other ways: other formats, HEAD, with a date, for an unknown page."""

from archives.reading import Malformed
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
from timegate.conformance.listing import captures_in, in_time
from timegate.conformance.said import ParsedResponse
from timegate.conformance.sights import documents, timemap_of


@check("A-6", "practice", "MemGator, pywb")
def json_lists_the_same(facts: Facts) -> Finding:
    """The TimeMap in JSON lists the same mementos."""
    return _same(facts, timemap_of(facts).json, "json")


@check("A-4", "practice", "MemGator, pywb")
def cdxj_lists_the_same(facts: Facts) -> Finding:
    """The TimeMap in CDXJ lists the same mementos."""
    return _same(facts, timemap_of(facts).cdxj, "cdxj")


def _same(facts: Facts, said: ParsedResponse | None, form: str) -> Finding:
    said = answered(said, f"a TimeMap in {form}")
    if said.status != 200 and form not in facts.subject.timemaps:
        raise NotApplicable(f"it has no TimeMap in {form}")
    if said.exchange.trouble is not None:
        raise Unanswered(said.exchange.trouble.why, said)
    if timemap_of(facts).pages:
        raise NotApplicable("the TimeMap has pages, which other formats cut elsewhere")
    listed = [stamp for stamp, _ in timemap_of(facts).captures]
    if not listed:
        raise NotApplicable("the TimeMap has nothing to compare with")
    try:
        other = [stamp for stamp, _ in in_time(captures_in(said))]
    except Malformed as complaint:
        return broken(f"it cannot be read: {complaint}", f"{len(listed)} mementos", said)
    if sorted(set(other)) == sorted(set(listed)):
        return passed(f"{len(other)} mementos", said)
    return broken(f"{len(other)} mementos", f"the same {len(listed)}", said)


@check("M-43", "practice", "RFC 7089 5")
def timemap_does_not_negotiate(facts: Facts) -> Finding:
    """The TimeMap lists the same mementos with an Accept-Datetime as without."""
    timemap = timemap_of(facts)
    asked = timemap.negotiated
    if asked is None:
        raise NotApplicable("it lists nothing")
    if asked.silence:
        raise Unanswered(asked.silence, asked.said)
    if asked.captures == timemap.first.captures:
        return passed(f"{len(asked.captures)} mementos", asked.said)
    why = f"{len(asked.captures)} mementos instead of {len(timemap.first.captures)}"
    return broken(why, "the same list", timemap.first.said, asked.said)


@check("M-5", "must", "RFC 7089 2.1.1")
def timemap_is_no_memento(facts: Facts) -> Finding:
    """A TimeMap has no Memento-Datetime, which would promise that it is frozen."""
    for page in documents(facts):
        if page.said.datetime is not None:
            why = f"Memento-Datetime: {page.said.datetime}"
            return broken(why, "no Memento-Datetime", page.said)
    return passed("it is none")


@check("M-55", "practice", "RFC 7089 2.1.2, 2.2.1")
def timemap_is_no_timegate(facts: Facts) -> Finding:
    """A TimeMap has no Vary and no header link that would make it a TimeGate or a memento."""
    for page in documents(facts):
        if page.said.negotiates:
            return broken(f"Vary: {page.said.field('vary')}", "no accept-datetime", page.said)
        if page.said.targets("original"):
            return broken("a header link to an original", "none, or with anchor", page.said)
    return passed("it is none")


@check("M-16", "practice", "RFC 9110 15.5.5")
def timemap_of_an_unknown_page_is_a_404(facts: Facts) -> Finding:
    """The TimeMap of a page that was never captured is a 404."""
    if facts.timemap is None:
        raise NotApplicable("no TimeMap is known")
    said = answered(facts.timemap.unknown, "the TimeMap of an unknown page")
    if said.status == 404:
        return passed("404", said)
    return broken(f"answers {said.status}", "404", said)
