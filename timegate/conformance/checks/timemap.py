# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""TimeMaps in link-format (RFC 7089 5), and whether other formats list the same."""

from collections import Counter
from collections.abc import Callable, Iterator

from archives.diagnostics import Malformed
from archives.formats.linkformat import resolved
from timegate.conformance.catalogue import (
    Finding,
    NotApplicable,
    Unanswered,
    answered_timemap,
    broken,
    check,
    is_own_error,
    judge_each,
    passed,
    readable_pages,
    readable_timemap,
    require_answer,
    require_no_error,
    working_timegate_responses,
)
from timegate.conformance.facts import Facts
from timegate.conformance.parsed_response import (
    LINK_FORMAT,
    ParsedResponse,
    ParsedTimeMap,
    captures_in,
    in_time,
    is_link_format,
    stamp_of,
)

Bounds = tuple[str | None, str | None]
"""From and until, as digits."""


@check("M-51", "must", "RFC 7089 5")
def timemap_is_link_format(facts: Facts) -> Finding:
    """The TimeMap is a 200 in link-format."""
    first = answered_timemap(facts).first
    if is_own_error(first.response) or not first.is_list:
        return broken(
            f"{first.response.status}, no list of links", "link-format", first.response
        )
    return passed(f"{len(first.mementos)} mementos", first.response)


@check("M-51", "must", "RFC 7089 5, RFC 6690 7.3")
def timemap_says_that_it_is_link_format(facts: Facts) -> Finding:
    """The TimeMap's Content-Type is application/link-format."""
    pages = readable_pages(facts)
    wrong = [page for page in pages if not is_link_format(page.response)]
    if not wrong:
        return passed(LINK_FORMAT, pages[0].response)
    got = wrong[0].response.field("content-type") or "missing"
    return broken(f"Content-Type is {got}", LINK_FORMAT, wrong[0].response)


@check("L-1", "must", "RFC 8288 3, RFC 6690 2")
def timemap_keeps_to_the_grammar(facts: Facts) -> Finding:
    """The TimeMap follows the grammar of RFC 8288: brackets, quotes and commas."""
    pages = readable_pages(facts)
    for page in pages:
        at = page.violation
        if at is not None:
            near = page.response.exchange.body[max(0, at - 20) : at + 40].decode("latin-1")
            return broken(
                f"at octet {at}: {near!r}", "links, separated by commas", page.response
            )
    return passed(f"{len(pages)} documents", pages[0].response)


@check("L-1", "should", "RFC 6690 2")
def timemap_has_no_empty_elements(facts: Facts) -> Finding:
    """The TimeMap has no empty elements: no two commas in a row, and none at its end."""
    pages = [page for page in readable_pages(facts) if page.violation is None]
    if not pages:
        raise NotApplicable("the TimeMap does not follow the grammar")
    for page in pages:
        at = page.empty_element
        if at is not None:
            return broken(f"an empty element at octet {at}", "links", page.response)
    return passed(f"{len(pages)} documents", pages[0].response)


@check("L-1", "must", "RFC 6690 2")
def timemap_is_utf_8(facts: Facts) -> Finding:
    """The TimeMap is UTF-8."""
    for page in readable_pages(facts):
        try:
            page.response.exchange.body.decode()
        except UnicodeDecodeError as error:
            return broken(f"{error.reason} at octet {error.start}", "UTF-8", page.response)
    return passed("UTF-8")


@check("M-50", "must", "RFC 7089 5")
def timemap_lists_one_original(facts: Facts) -> Finding:
    """The TimeMap lists its original exactly once."""
    return _each_page(facts, _originals, 'one link with rel="original"')


def _originals(page: ParsedTimeMap) -> str | None:
    found = len(page.targets("original"))
    return None if found == 1 else f"{found or 'no'} original links"


def _each_page(
    facts: Facts, complaint: Callable[[ParsedTimeMap], str | None], expected: str
) -> Finding:
    pages = readable_pages(facts)
    wrong = [(page, why) for page in pages if (why := complaint(page))]
    if wrong:
        return broken(wrong[0][1], expected, wrong[0][0].response)
    return passed(f"{len(pages)} documents", pages[0].response)


@check("M-50", "should", "RFC 7089 5")
def timemap_lists_its_timegate(facts: Facts) -> Finding:
    """The TimeMap lists the TimeGate."""
    linked = any(response.targets("timegate") for response in facts.responses)
    if facts.gate is None and not linked:
        raise NotApplicable("no TimeGate is known (pattern 4)")

    def complaint(page: ParsedTimeMap) -> str | None:
        return None if page.targets("timegate") else "no timegate link"

    return _each_page(facts, complaint, 'a link with rel="timegate"')


@check("M-50", "should", "RFC 7089 5")
def timemap_lists_itself(facts: Facts) -> Finding:
    """The TimeMap lists itself."""

    def complaint(page: ParsedTimeMap) -> str | None:
        return None if page.targets("self") else "no self link"

    return _each_page(facts, complaint, 'a link with rel="self"')


@check("M-8", "must", "RFC 7089 2.2.4, 5")
def listed_mementos_have_datetimes(facts: Facts) -> Finding:
    """Every memento in the TimeMap has a datetime that is an rfc1123-date."""

    def complaint(page: ParsedTimeMap) -> str | None:
        undated = [link for link in page.mementos if link.stamp is None]
        if not undated:
            return None
        return f"{len(undated)} without a valid one, such as {undated[0].date or 'none'}"

    return _each_page(facts, complaint, 'datetime="Www, DD Mmm YYYY hh:mm:ss GMT"')


@check("M-54", "practice", "RFC 7089 5, figure 28")
def timemap_is_in_order(facts: Facts) -> Finding:
    """The TimeMap lists mementos oldest first."""

    def complaint(page: ParsedTimeMap) -> str | None:
        stamps = [stamp for stamp, _ in page.captures]
        return None if stamps == sorted(stamps) else "not in chronological order"

    return _each_page(facts, complaint, "oldest first")


@check("M-50", "practice", "RFC 7089 5")
def timemap_lists_each_memento_once(facts: Facts) -> Finding:
    """The TimeMap lists no memento twice."""

    def complaint(page: ParsedTimeMap) -> str | None:
        shared = (facts.gate_url, facts.sample)
        own = [(m.uri, m.stamp) for m in page.mementos if m.uri not in shared]
        twice = [uri for (uri, _), n in Counter(own).items() if n > 1]
        return f"{len(twice)} are listed repeatedly, such as {twice[0]}" if twice else None

    return _each_page(facts, complaint, "each once")


@check("M-8", "must", "RFC 7089 2.2.4")
def timemap_dates_each_memento_once(facts: Facts) -> Finding:
    """The TimeMap gives each memento one datetime: its Memento-Datetime can only be one."""
    pages, dates = readable_pages(facts), dict[str, str]()
    for page in pages:
        for stamp, uri in page.captures:
            if uri in (facts.gate_url, facts.sample):
                continue
            if dates.setdefault(uri, stamp) != stamp:
                why = f"{uri} has {dates[uri]}, and {stamp}"
                return broken(why, "one datetime", page.response)
    return passed(f"{len(dates)} mementos", pages[0].response)


@check("M-8", "should", "RFC 7089 2.2.4")
def timemap_names_first_and_last_rightly(facts: Facts) -> Finding:
    """The mementos called first and last in the TimeMap are its oldest and newest."""
    captures = readable_timemap(facts).captures
    named = [
        (page, name, link.stamp)
        for page in readable_pages(facts)
        for link in page.mementos
        for name in link.order
        if name in ("first", "last") and link.stamp
    ]
    if not named or not captures:
        raise NotApplicable("no memento is called first or last")
    right = {"first": captures[0][0], "last": captures[-1][0]}
    wrong = [(page, name, stamp) for page, name, stamp in named if stamp != right[name]]
    if not wrong:
        return passed(f"{len(named)} named", named[0][0].response)
    page, name, stamp = wrong[0]
    return broken(f"{name} is {stamp}", f"{right[name]}", page.response)


@check("M-7", "should", "RFC 7089 2.2.3")
def from_and_until_bound_the_mementos(facts: Facts) -> Finding:
    """The from and until of a TimeMap include all times that it lists."""
    pages = [page for page in readable_pages(facts) if page.captures]
    bounded = [
        (page, bounds)
        for page in pages
        for bounds in (page.bounds, *_linked_bounds(facts, page))
        if any(bounds)
    ]
    if not bounded:
        raise NotApplicable("no TimeMap states from and until")
    wrong = [(page, why) for page, bounds in bounded if (why := _out_of_bounds(page, bounds))]
    if not wrong:
        return passed(f"{len(bounded)} intervals", bounded[0][0].response)
    return broken(wrong[0][1], "from and until that include all mementos", wrong[0][0].response)


def _linked_bounds(facts: Facts, page: ParsedTimeMap) -> Iterator[Bounds]:
    """Yield from and until of every link to *page* in the other pages and in headers."""
    gate = [] if facts.gate is None else [facts.gate.newest]
    ends = [replay.end for replay in facts.replays]
    documents = [
        *((other.response.url, other.links) for other in readable_pages(facts)),
        *((response.url, response.links) for response in (*gate, *ends)),
    ]
    for base, links in documents:
        for link in links:
            if "timemap" in link.rels and resolved(link.target, base) == page.response.url:
                yield stamp_of(link.params.get("from")), stamp_of(link.params.get("until"))


def _out_of_bounds(page: ParsedTimeMap, bounds: Bounds) -> str | None:
    since, until = bounds
    stamps = sorted(stamp for stamp, _ in page.captures)
    if since and stamps[0] < since:
        return f"from {since}, but {page.response.url} lists {stamps[0]}"
    if until and stamps[-1] > until:
        return f"until {until}, but {page.response.url} lists {stamps[-1]}"
    return None


@check("M-53", "must", "RFC 7089 5.1")
def pages_end(facts: Facts) -> Finding:
    """The pages of a TimeMap bring new mementos and come to an end."""
    timemap = readable_timemap(facts)
    first = timemap.first
    if not first.pages:
        raise NotApplicable("the TimeMap has no pages")
    itself = [page for page in timemap.all_pages if page.response.url in page.pages]
    if timemap.stopped.startswith("more than"):
        raise Unanswered(timemap.stopped, first.response)
    if timemap.stopped or (itself and not timemap.captures):
        why = timemap.stopped or f"{itself[0].response.url} links only to itself"
        return broken(why, "pages with new mementos", *(p.response for p in timemap.all_pages))
    return passed(f"{len(timemap.pages)} pages", first.response)


@check("M-53", "must", "RFC 7089 5.1")
def pages_are_there(facts: Facts) -> Finding:
    """Every page that a TimeMap links to can be read."""
    timemap = readable_timemap(facts)
    if not timemap.pages:
        raise NotApplicable("the TimeMap has no pages")
    answered = [page for page in timemap.pages if not page.no_answer]
    if not answered:
        raise Unanswered(timemap.pages[0].no_answer, timemap.pages[0].response)
    missing = [page for page in answered if not page.is_list]
    if not missing:
        return passed(f"{len(answered)} pages", answered[0].response)
    return broken(
        f"{missing[0].response.url} answers {missing[0].response.status}",
        "a page",
        missing[0].response,
    )


@check("M-50", "must", "RFC 7089 5")
def timemap_lists_what_the_timegate_chooses(facts: Facts) -> Finding:
    """Every memento that the TimeGate chooses is in the TimeMap."""
    stamps = {stamp for stamp, _ in readable_timemap(facts).captures}
    undated = {link.uri for page in readable_pages(facts) for link in page.mementos}
    chosen = [
        response
        for response in working_timegate_responses(facts)
        if facts.chosen_stamp(response)
    ]
    timemap = readable_timemap(facts)
    # Other pages may list it, and a link may lack its datetime, which another check reports.
    lists_nothing = not undated and not timemap.first.pages and not timemap.elsewhere
    if not chosen or not (stamps or lists_nothing):
        raise NotApplicable("no chosen memento can be compared with the TimeMap")

    direct = facts.route is not None and len(facts.route.hops) == 2

    def complaint(response: ParsedResponse) -> str | None:
        uri, stamp = facts.chosen_uri(response), facts.chosen_stamp(response)
        if uri in undated or facts.listed_stamp(uri):
            return None
        if stamp not in stamps:
            return f"{stamp} is not listed"
        # Without its request, an address may only lead to the memento that is listed.
        known = facts.reached(response) is not None or response.datetime or direct
        named = response.is_redirect or response.statement.content_location is not None
        named = named and uri not in (None, facts.gate_url, facts.sample)
        if facts.captures and named and known:
            return f"{uri} is not listed, but another address of {stamp}"
        return None

    return judge_each(chosen, complaint, "every known memento")


@check("A-6", "practice", "MemGator, pywb")
def json_lists_the_same(facts: Facts) -> Finding:
    """The TimeMap in JSON lists the same mementos."""
    return _same(facts, readable_timemap(facts).json, "json")


@check("A-4", "practice", "MemGator, pywb")
def cdxj_lists_the_same(facts: Facts) -> Finding:
    """The TimeMap in CDXJ lists the same mementos."""
    return _same(facts, readable_timemap(facts).cdxj, "cdxj")


def _same(facts: Facts, response: ParsedResponse | None, form: str) -> Finding:
    response = require_answer(response, f"a TimeMap in {form}")
    if response.status != 200 and form not in facts.subject.timemaps:
        raise NotApplicable(f"it has no TimeMap in {form}")
    if response.exchange.trouble is not None:
        raise Unanswered(response.exchange.trouble.why, response)
    if readable_timemap(facts).pages:
        raise NotApplicable("the TimeMap has pages, which other formats divide differently")
    listed = [stamp for stamp, _ in readable_timemap(facts).captures]
    if not listed:
        raise NotApplicable("the TimeMap lists nothing to compare with")
    try:
        other = [stamp for stamp, _ in in_time(captures_in(response))]
    except Malformed as complaint:
        return broken(f"it cannot be read: {complaint}", f"{len(listed)} mementos", response)
    if sorted(set(other)) == sorted(set(listed)):
        return passed(f"{len(other)} mementos", response)
    return broken(f"{len(other)} mementos", f"the same {len(listed)}", response)


@check("M-43", "practice", "RFC 7089 5")
def timemap_does_not_negotiate(facts: Facts) -> Finding:
    """The TimeMap lists the same mementos with and without Accept-Datetime."""
    timemap = readable_timemap(facts)
    negotiated = timemap.negotiated
    if negotiated is None:
        raise NotApplicable("it lists nothing")
    if negotiated.no_answer:
        raise Unanswered(negotiated.no_answer, negotiated.response)
    if negotiated.captures == timemap.first.captures:
        return passed(f"{len(negotiated.captures)} mementos", negotiated.response)
    why = f"{len(negotiated.captures)} mementos instead of {len(timemap.first.captures)}"
    return broken(why, "the same list", timemap.first.response, negotiated.response)


@check("M-5", "must", "RFC 7089 2.1.1")
def timemap_is_no_memento(facts: Facts) -> Finding:
    """A TimeMap has no Memento-Datetime, which would promise that it never changes."""
    for page in readable_pages(facts):
        if page.response.datetime is not None:
            why = f"Memento-Datetime: {page.response.datetime}"
            return broken(why, "no Memento-Datetime", page.response)
    return passed("it is none")


@check("M-55", "practice", "RFC 7089 2.1.2, 2.2.1")
def timemap_is_no_timegate(facts: Facts) -> Finding:
    """A TimeMap has no Vary or header link that would make it a TimeGate or a memento."""
    for page in readable_pages(facts):
        if page.response.negotiates:
            return broken(
                f"Vary: {page.response.field('vary')}", "no accept-datetime", page.response
            )
        if page.response.targets("original"):
            return broken("a header link to an original", "none, or with anchor", page.response)
    return passed("it is none")


@check("M-16", "practice", "RFC 9110 15.5.5")
def timemap_of_an_unknown_page_is_a_404(facts: Facts) -> Finding:
    """The TimeMap of a page that was never captured is a 404."""
    if facts.timemap is None:
        raise NotApplicable("no TimeMap is known")
    response = require_no_error(facts.timemap.unknown, "the TimeMap of an unknown page")
    if response.status in (404, 410):
        return passed(f"{response.status}", response)
    return broken(f"answers {response.status}", "404", response)
