# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Links: that they name the same original, lead to what they promise, and are written right."""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from urllib.parse import unquote, urlsplit

from archives.evidence import address_of
from timegate.conformance.catalogue import (
    Finding,
    NotApplicable,
    Unanswered,
    broken,
    check,
    expected_original,
    is_own_error,
    judge_each,
    passed,
    reached_mementos,
    readable_pages,
    readable_timemap,
    requested_original,
    working_timegate_responses,
)
from timegate.conformance.facts import (
    Facts,
    LinkedFacts,
    LinkRelation,
    LinkSource,
    TimeMapFacts,
)
from timegate.conformance.parsed_response import ParsedResponse, ParsedTimeMap, stamp_of
from timegate.conformance.subject import is_of_another, same_original

LinkComplaint = Callable[[ParsedResponse, str], str | None]


@check("M-6", "must", "RFC 7089 2.2.1, 4.5.6")
def memento_original_is_the_page(facts: Facts) -> Finding:
    """The original link of a memento leads to the page that was requested."""
    page = expected_original(facts)
    linking = [r for r in reached_mementos(facts) if r.targets("original")]
    if not linking:
        raise NotApplicable("there is no original link")
    return judge_each(linking, lambda r: _other_original(r.targets("original"), page), page)


def _other_original(originals: Sequence[str], page: str) -> str | None:
    strange = [uri for uri in originals if not same_original(uri, page)]
    return f"links to {strange[0]} as the original" if strange else None


@check("M-50", "must", "RFC 7089 5")
def timemap_original_is_the_page(facts: Facts) -> Finding:
    """The TimeMap, and each of its pages, is about the page that was requested."""
    page = expected_original(facts)
    listing = [p for p in readable_pages(facts) if p.targets("original")]
    if not listing:
        raise NotApplicable("there is no original link")
    for timemap in listing:
        if why := _other_original(timemap.targets("original"), page):
            return broken(why, page, timemap.response)
    return passed(f"{len(listing)} documents", listing[0].response)


@check("M-50", "must", "RFC 7089 5, RFC 4287 4.2.7.2")
def timemap_self_is_itself(facts: Facts) -> Finding:
    """The self link of a TimeMap, and of each of its pages, leads to that document."""
    timemap = readable_timemap(facts)
    naming = [page for page in readable_pages(facts) if page.targets("self")]
    if not naming:
        raise NotApplicable("there is no self link")
    for page in naming:
        known = {_normal(page.response.url)}
        if page is timemap.first:
            known.add(_normal(timemap.address))
        strange = [uri for uri in page.targets("self") if _normal(uri) not in known]
        if strange and not _is_same_list(facts, page, strange[0]):
            why = f"{page.response.url} calls itself {strange[0]}"
            return broken(why, page.response.url, page.response)
    return passed(f"{len(naming)} documents", naming[0].response)


def _normal(uri: str) -> str:
    """Return *uri* without scheme, escapes and a lone ``?``."""
    return unquote(uri.partition("://")[2]).removesuffix("?")


def _is_same_list(facts: Facts, page: ParsedTimeMap, uri: str) -> bool:
    """Whether *uri* is another address of the same list."""
    for linked in facts.linked:
        if linked.relation == "self" and linked.uri == uri and linked.hops:
            other = ParsedTimeMap(linked.hops[-1])
            return other.is_list and other.captures == page.captures
    return False


@check("M-7", "must", "RFC 7089 2.2.3")
def original_timemap_is_of_the_page(facts: Facts) -> Finding:
    """The timemap links of an original lead to TimeMaps of that original."""
    requested_original(facts)
    return _leading(facts, "original", "timemap", _timemap_complaint)


@check("M-7", "must", "RFC 7089 2.2.2")
def original_timegate_is_of_the_page(facts: Facts) -> Finding:
    """The timegate links of an original lead to TimeGates of that original."""
    requested_original(facts)
    return _leading(facts, "original", "timegate", _timegate_complaint)


@check("M-7", "must", "RFC 7089 2.2.3")
def timegate_timemap_is_of_the_page(facts: Facts) -> Finding:
    """The timemap links of the TimeGate lead to TimeMaps of the same original."""
    working_timegate_responses(facts)
    return _leading(facts, "timegate", "timemap", _timemap_complaint)


@check("M-7", "must", "RFC 7089 2.2.2")
def memento_timegate_is_of_the_page(facts: Facts) -> Finding:
    """The timegate links of a memento lead to TimeGates of the same original."""
    reached_mementos(facts)
    return _leading(facts, "memento", "timegate", _timegate_complaint)


@check("M-7", "must", "RFC 7089 2.2.3")
def memento_timemap_is_of_the_page(facts: Facts) -> Finding:
    """The timemap links of a memento lead to TimeMaps of the same original."""
    reached_mementos(facts)
    return _leading(facts, "memento", "timemap", _timemap_complaint)


@check("M-50", "must", "RFC 7089 5")
def timemap_timegate_is_of_the_page(facts: Facts) -> Finding:
    """The TimeGates that a TimeMap lists are TimeGates of the same original."""
    readable_timemap(facts)
    return _leading(facts, "timemap", "timegate", _timegate_complaint)


def _leading(
    facts: Facts, source: LinkSource, relation: LinkRelation, complaint: LinkComplaint
) -> Finding:
    """Judge where the links of *source* lead; those to other hosts are not requested."""
    requested = _requested_links(facts, source, relation)
    answered = [each for each in requested if not _missing(each)]
    if not answered:
        raise Unanswered(_missing(requested[0]), requested[0].hops[-1])
    for each in answered:
        page = facts.page or _first(each.linking.targets("original"))
        why = _no_timegate(facts, each) if relation == "timegate" else None
        if why := why or (complaint(each.hops[-1], page) if page else None):
            what = f"a {relation} of {page}"
            return broken(f"{each.uri} {why}", what, each.linking, *each.hops)
    return passed(f"{len(answered)} links", *(each.hops[-1] for each in answered))


def _requested_links(
    facts: Facts, source: LinkSource, relation: LinkRelation
) -> list[LinkedFacts]:
    """Return the links whose targets were requested. Raises NotApplicable."""
    linked = [
        each for each in facts.linked if (each.source, each.relation) == (source, relation)
    ]
    if not linked:
        raise NotApplicable(f"there is no {relation} link")
    requested = [each for each in linked if each.hops]
    if relation != "timegate":
        requested = [each for each in requested if not each.hops[-1].is_redirect]
    if not requested:
        raise NotApplicable("the links lead to hosts that are not checked here")
    timemap = facts.timemap
    if relation == "timemap" and timemap is not None and _is_unreadable(timemap):
        requested = [each for each in requested if each.uri != timemap.address]
    if not requested:
        raise NotApplicable("the TimeMap itself is no list")
    return requested


def _no_timegate(facts: Facts, linked: LinkedFacts) -> str | None:
    """Return why the target of a timegate link is none; its original is judged elsewhere."""
    if _is_memento(facts, linked):
        return "is a memento"
    if facts.gate is None and _never_varies(facts, linked):
        return "redirects to a memento without accept-datetime in Vary"
    return None


def _missing(linked: LinkedFacts) -> str:
    """Return why the target of a link cannot be judged; empty if it can."""
    response = linked.hops[-1]
    if is_own_error(response):
        return ""
    is_list = linked.relation != "timegate"
    return ParsedTimeMap(response).no_answer if is_list else response.no_answer


def _is_unreadable(timemap: TimeMapFacts) -> bool:
    """Whether the TimeMap is no list, which `timemap-is-link-format` reports."""
    first = timemap.first
    is_there = first.response.status == 200 or is_own_error(first.response)
    return is_there and not first.is_list


def _never_varies(facts: Facts, linked: LinkedFacts) -> bool:
    """Whether a TimeGate that is not checked itself redirects without Vary."""
    response = linked.hops[-1]
    names_memento = facts.listed_stamp(response.location) is not None
    return response.is_redirect and names_memento and not response.negotiates


def _is_memento(facts: Facts, linked: LinkedFacts) -> bool:
    """Whether what is linked as a TimeGate is a memento with an address of its own."""
    response = linked.hops[-1]
    if response.negotiates or response.url == facts.gate_url or response.datetime is None:
        return False
    return response.url == linked.linking.url or bool(facts.listed_stamp(response.url))


def _first(uris: Sequence[str]) -> str | None:
    return uris[0] if uris else None


def _timegate_complaint(response: ParsedResponse, page: str) -> str | None:
    if response.datetime is None and response.status >= 400:
        return f"answers {response.status}"
    if not (response.negotiates or response.is_redirect or response.datetime is not None):
        return "is no TimeGate"
    if response.is_redirect and not response.negotiates:
        return None  # An intermediate resource, which has its own check.
    return _of_another(response.targets("original"), page)


def _timemap_complaint(response: ParsedResponse, page: str) -> str | None:
    timemap = ParsedTimeMap(response)
    if not timemap.is_list:
        return f"answers {response.status}, without a list"
    return _of_another(timemap.targets("original"), page)


def _of_another(originals: Sequence[str], page: str) -> str | None:
    if not originals or any(same_original(uri, page) for uri in originals):
        return None
    return f"is about {originals[0]}"


@check("M-50", "must", "RFC 7089 5")
def linked_mementos_are_listed(facts: Facts) -> Finding:
    """Every memento that the archive links to, or that is checked, is in the TimeMap."""
    stamps = {stamp for stamp, _ in facts.captures}
    if not stamps:
        raise NotApplicable("there is no TimeMap to compare with")
    gate = [] if facts.gate is None else facts.gate.valid
    responses = [*gate, *(replay.end for replay in facts.replays)]
    whole = [r for r in responses if not r.no_answer and not r.is_partial]
    # A memento that the user names; others come from the TimeGate and the TimeMap itself.
    named = facts.subject.role == "memento"
    linking = [r for r in whole if r.mementos or (named and r.stamp)]
    if not linking:
        raise NotApplicable("there are no links to mementos")

    def complaint(response: ParsedResponse) -> str | None:
        if named and response.stamp and response.stamp not in stamps:
            return f"{response.url} of {response.stamp} is not listed"
        return _unlisted(facts, response, stamps)

    return judge_each(linking, complaint, "every known memento")


def _unlisted(facts: Facts, response: ParsedResponse, stamps: AbstractSet[str]) -> str | None:
    """Return what is wrong with a memento that a response links and no TimeMap lists."""
    # Redirects may lead to the memento of another page, whose links are its own.
    page, originals = facts.page, response.targets("original")
    elsewhere = page and any(not same_original(uri, page) for uri in originals)
    for link in response.mementos:
        if facts.listed_stamp(link.uri) or link.uri in (facts.gate_url, facts.sample):
            continue
        if link.stamp and link.stamp not in stamps:
            return f"{link.uri} of {link.stamp} is not listed"
        if link.stamp and not elsewhere and facts.subject.owns(link.uri):
            return f"{link.uri} is not listed, but another address of {link.stamp}"
        if not elsewhere and page and is_of_another(link.uri, page):
            return f"{link.uri} is of another page, and not listed"
    return None


@check("M-50", "practice", "RFC 7089 5")
def listed_mementos_are_of_the_page(facts: Facts) -> Finding:
    """The addresses of mementos in a TimeMap are those of its original, where they have one."""
    page = expected_original(facts)
    pages = readable_pages(facts)
    addressed = [
        (each, link.uri)
        for each in pages
        for link in each.mementos
        if address_of(link.uri) is not None
    ]
    if not addressed:
        raise NotApplicable("no address of a memento has its original in it")
    strange = [(each, uri) for each, uri in addressed if is_of_another(uri, page)]
    if strange:
        listing, uri = strange[0]
        return broken(f"{uri} is listed", f"mementos of {page}", listing.response)
    return passed(f"{len(addressed)} mementos", pages[0].response)


@check("M-8", "must", "RFC 7089 2.2.4")
def links_of_mementos_have_datetimes(facts: Facts) -> Finding:
    """Every link of a memento to a memento has a datetime that is an rfc1123-date."""
    linking = [response for response in reached_mementos(facts) if response.mementos]
    if not linking:
        raise NotApplicable("there are no links to mementos")

    def complaint(response: ParsedResponse) -> str | None:
        undated = [link for link in response.mementos if link.stamp is None]
        return f"datetime is {undated[0].date or 'missing'}" if undated else None

    return judge_each(linking, complaint, 'datetime="Www, DD Mmm YYYY hh:mm:ss GMT"')


@check("M-8", "must", "RFC 7089 2.2.4")
def mementos_date_as_the_timemap_does(facts: Facts) -> Finding:
    """Links of mementos give each memento the same datetime as the TimeMap."""

    def wrong(response: ParsedResponse) -> str | None:
        for link in response.mementos:
            listed = facts.listed_stamp(link.uri)
            if link.stamp and listed and link.stamp != listed:
                return f"{link.uri} has {link.stamp}, but {listed} in the TimeMap"
        return None

    linking = [r for r in reached_mementos(facts) if any(map(_listed(facts), r.mementos))]
    if not linking:
        raise NotApplicable("no memento links to a memento of the TimeMap")
    return judge_each(linking, wrong, "the datetime of the TimeMap")


def _listed(facts: Facts) -> Callable[[object], bool]:
    return lambda link: facts.listed_stamp(getattr(link, "uri", None)) is not None


@check("L-1", "must", "RFC 8288 3")
def link_headers_keep_to_the_grammar(facts: Facts) -> Finding:
    """Every Link header follows the grammar of RFC 8288: brackets, quotes and commas."""
    linking = [r for r in facts.responses if r.field("link") and not r.no_answer]
    if not linking:
        raise NotApplicable("nothing has a Link header")

    def complaint(response: ParsedResponse) -> str | None:
        at = response.link_violation
        written = (response.field("link") or "")[max(0, (at or 0) - 20) : (at or 0) + 40]
        return None if at is None else f"at octet {at}: {written!r}"

    return judge_each(linking, complaint, "links, separated by commas")


@check("M-2", "must", "RFC 7089 2.2.3")
def from_and_until_are_dates(facts: Facts) -> Finding:
    """The from and until of links to TimeMaps are rfc1123-dates, from not after until."""
    dates = list(_bounds(facts))
    if not dates:
        raise NotApplicable("no link has from or until")
    for response, stated in dates:
        for name, date in stated.items():
            if stamp_of(date) is None:
                return broken(f"{name} is {date}", "Www, DD Mmm YYYY hh:mm:ss GMT", response)
        since, until = stamp_of(stated.get("from")), stamp_of(stated.get("until"))
        if since and until and since > until:
            return broken(f"from {since} until {until}", "from before until", response)
    return passed(f"{len(dates)} links", dates[0][0])


def _bounds(facts: Facts) -> Iterator[tuple[ParsedResponse, dict[str, str]]]:
    """Yield from and until of each link to a TimeMap that has one of them."""
    pages = () if facts.timemap is None else facts.timemap.all_pages
    documents = [
        *((response, response.links) for response in facts.responses if not response.no_answer),
        *((page.response, page.links) for page in pages if page.is_list),
    ]
    for response, links in documents:
        for link in links:
            names = [name for name in ("from", "until") if name in link.params]
            if names and {"timemap", "self"} & set(link.rels):
                yield response, {name: link.params[name] for name in names}


@check("M-8", "must", "RFC 7089 2.2.4")
def licenses_are_uris(facts: Facts) -> Finding:
    """The license of a link to a memento is a URI."""
    pages = () if facts.timemap is None else facts.timemap.all_pages
    documents = [
        *((response, response.links) for response in facts.responses),
        *((page.response, page.links) for page in pages),
    ]
    stated = [
        (response, link.params["license"])
        for response, links in documents
        for link in links
        if "memento" in link.rels and "license" in link.params
    ]
    if not stated:
        raise NotApplicable("no link has a license")
    wrong = [(response, uri) for response, uri in stated if not _is_uri(uri)]
    if not wrong:
        return passed(f"{len(stated)} licenses", stated[0][0])
    return broken(wrong[0][1] or "empty", "a URI", wrong[0][0])


def _is_uri(text: str) -> bool:
    try:
        return bool(urlsplit(text).scheme)
    except ValueError:
        return False


def _intermediate(facts: Facts) -> list[ParsedResponse]:
    """Return the redirects before the TimeGate, and between it and a memento."""
    hops = [] if facts.gate is None else [*facts.gate.preceding]
    hops += [] if facts.route is None else facts.route.hops[1:]
    return [hop for hop in hops if hop.is_redirect]


@check("M-22", "should", "RFC 7089 4.5.7")
def intermediate_redirects_link_the_original(facts: Facts) -> Finding:
    """Redirects before a TimeGate, and between it and a memento, link the original."""
    redirects = _intermediate(facts)
    if not redirects:
        raise NotApplicable("there are no intermediate redirects")
    page = expected_original(facts)

    def complaint(response: ParsedResponse) -> str | None:
        linked = response.targets("original")
        return None if linked else f"{response.url} has no original link"

    return judge_each(redirects, complaint, f'<{page}>; rel="original"')


@check("M-22", "must", "RFC 7089 4.5.7")
def intermediate_redirects_link_no_other_original(facts: Facts) -> Finding:
    """The original links of intermediate redirects lead to the page that was requested."""
    page = expected_original(facts)
    linking = [hop for hop in _intermediate(facts) if hop.targets("original")]
    if not linking:
        raise NotApplicable("no intermediate redirect links an original")
    return judge_each(linking, lambda r: _other_original(r.targets("original"), page), page)


@check("M-25", "should", "RFC 7089 4.5.8")
def excluded_resources_have_no_memento_headers(facts: Facts) -> Finding:
    """A resource that declares donotnegotiate has no other Memento headers."""
    responses = [*facts.responses, *filter(None, (facts.original,))]
    excluded = [r for r in responses if not r.no_answer and r.declines_negotiation]
    if not excluded:
        raise NotApplicable("nothing is excluded from negotiation")

    def complaint(response: ParsedResponse) -> str | None:
        relations = ("original", "timegate", "timemap", "memento")
        linked = [name for name in relations if response.targets(name)]
        others = [
            *(["Memento-Datetime"] if response.datetime is not None else []),
            *(["Vary: accept-datetime"] if response.negotiates else []),
            *(f"a {name} link" for name in linked),
        ]
        return f"donotnegotiate, with {others[0]}" if others else None

    return judge_each(excluded, complaint, "no other Memento headers")


@check("M-24", "practice", "HTML, link types")
def html_links_agree_with_the_header(facts: Facts) -> Finding:
    """Link elements of an original lead to the TimeGate and TimeMap of its Link header."""
    response = requested_original(facts)
    both = [
        (name, response.targets(name), response.html_targets(name))
        for name in ("timegate", "timemap")
        if response.targets(name) and response.html_targets(name)
    ]
    if not both:
        raise NotApplicable("header and page do not both have such links")
    for name, header, page in both:
        if not set(header) & set(page):
            why = f"{name} is {header[0]} in the header, {page[0]} in the page"
            return broken(why, "the same address", response)
    return passed("they agree", response)


@check("M-24", "must", "RFC 7089 4.2")
def original_is_no_memento(facts: Facts) -> Finding:
    """An original that is neither TimeGate nor memento has no link called original."""
    response = requested_original(facts)
    if response.negotiates or response.datetime is not None or facts.gate_url == response.url:
        raise NotApplicable("it is its own TimeGate or memento")
    if response.declines_negotiation:
        raise NotApplicable("it declares that it is not to be negotiated (M-25)")
    linked = response.targets("original")
    if linked:
        return broken(f"links to {linked[0]} as the original", "no original link", response)
    return passed("it has none", response)


@check("M-22", "should", "RFC 7089 4.5.7")
def redirects_of_mementos_do_not_negotiate(facts: Facts) -> Finding:
    """Redirects from one memento address to another do not vary by Accept-Datetime."""
    named = [r for r in facts.replays if facts.listed_stamp(r.uri) or address_of(r.uri)]
    hops = [hop for replay in named for hop in (*replay.hops, replay.made_up)]
    redirects = [hop for hop in hops if hop is not None and hop.is_redirect]
    apart = [hop for hop in redirects if hop.url != facts.gate_url]
    if not apart:
        raise NotApplicable("no memento address redirects")

    def complaint(response: ParsedResponse) -> str | None:
        return f"Vary: {response.field('vary')}" if response.negotiates else None

    return judge_each(apart, complaint, "no accept-datetime in Vary")
