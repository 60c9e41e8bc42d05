# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""What a TimeMap in link-format has: RFC 7089 5."""

from collections import Counter
from collections.abc import Callable

from archives.diagnostics import Malformed
from timegate.conformance.catalogue import (
    Finding,
    NotApplicable,
    Unanswered,
    answered,
    answered_timemap,
    broken,
    check,
    documents,
    each,
    gate_answers,
    passed,
    timemap_of,
)
from timegate.conformance.facts import Facts
from timegate.conformance.parsed_response import (
    LINK_FORMAT,
    ParsedResponse,
    ParsedTimeMap,
    captures_in,
    in_time,
)


@check("M-51", "must", "RFC 7089 5")
def timemap_is_link_format(facts: Facts) -> Finding:
    """The TimeMap is a 200 in link-format."""
    first = answered_timemap(facts).first
    if not first.is_list:
        return broken(f"{first.said.status}, no list of links", "link-format", first.said)
    return passed(f"{len(first.mementos)} mementos", first.said)


@check("M-51", "should", "RFC 7089 5, RFC 6690 7.3")
def timemap_says_that_it_is_link_format(facts: Facts) -> Finding:
    """The TimeMap's Content-Type is application/link-format."""
    pages = documents(facts)
    wrong = [
        p for p in pages if not (p.said.field("content-type") or "").startswith(LINK_FORMAT)
    ]
    if not wrong:
        return passed(LINK_FORMAT, pages[0].said)
    got = wrong[0].said.field("content-type") or "missing"
    return broken(f"Content-Type is {got}", LINK_FORMAT, wrong[0].said)


@check("L-1", "must", "RFC 8288 3, RFC 6690 2")
def timemap_keeps_to_the_grammar(facts: Facts) -> Finding:
    """The TimeMap is written as RFC 8288 has it: brackets, quotes, commas in their places."""
    pages = documents(facts)
    for page in pages:
        at = page.violation
        if at is not None:
            near = page.said.exchange.body[max(0, at - 20) : at + 40].decode("latin-1")
            return broken(f"at octet {at}: {near!r}", "links, separated by commas", page.said)
    return passed(f"{len(pages)} documents", pages[0].said)


@check("L-1", "must", "RFC 6690 2")
def timemap_is_utf_8(facts: Facts) -> Finding:
    """The TimeMap is UTF-8."""
    for page in documents(facts):
        try:
            page.said.exchange.body.decode()
        except UnicodeDecodeError as error:
            return broken(f"{error.reason} at octet {error.start}", "UTF-8", page.said)
    return passed("UTF-8")


@check("M-50", "must", "RFC 7089 5")
def timemap_lists_one_original(facts: Facts) -> Finding:
    """The TimeMap lists its original, once."""
    return _each_page(facts, _originals, 'one link with rel="original"')


def _originals(page: ParsedTimeMap) -> str | None:
    found = len(page.targets("original"))
    return None if found == 1 else f"{found or 'no'} original links"


def _each_page(
    facts: Facts, complaint: Callable[[ParsedTimeMap], str | None], expected: str
) -> Finding:
    pages = documents(facts)
    wrong = [(page, why) for page in pages if (why := complaint(page))]
    if wrong:
        return broken(wrong[0][1], expected, wrong[0][0].said)
    return passed(f"{len(pages)} documents", pages[0].said)


@check("M-50", "should", "RFC 7089 5")
def timemap_lists_its_timegate(facts: Facts) -> Finding:
    """The TimeMap lists the TimeGate."""

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
        return f"{len(undated)} without, such as {undated[0].date or 'none at all'}"

    return _each_page(facts, complaint, 'datetime="Www, DD Mmm YYYY hh:mm:ss GMT"')


@check("M-54", "practice", "RFC 7089 5, figure 28")
def timemap_is_in_order(facts: Facts) -> Finding:
    """The TimeMap lists mementos oldest first."""

    def complaint(page: ParsedTimeMap) -> str | None:
        stamps = [stamp for stamp, _ in page.captures]
        return None if stamps == sorted(stamps) else "not in the order of time"

    return _each_page(facts, complaint, "oldest first")


@check("M-50", "practice", "RFC 7089 5")
def timemap_lists_each_memento_once(facts: Facts) -> Finding:
    """The TimeMap lists no memento twice."""

    def complaint(page: ParsedTimeMap) -> str | None:
        twice = [uri for uri, n in Counter(m.uri for m in page.mementos).items() if n > 1]
        return f"{len(twice)} are listed again, such as {twice[0]}" if twice else None

    return _each_page(facts, complaint, "each once")


@check("M-8", "should", "RFC 7089 2.2.4")
def timemap_names_first_and_last_rightly(facts: Facts) -> Finding:
    """What the TimeMap calls first and last are its oldest and its newest memento."""
    captures = timemap_of(facts).captures
    named = [
        (page, name, link.stamp)
        for page in documents(facts)
        for link in page.mementos
        for name in link.order
        if name in ("first", "last") and link.stamp
    ]
    if not named or not captures:
        raise NotApplicable("nothing is called first or last")
    right = {"first": captures[0][0], "last": captures[-1][0]}
    wrong = [(page, name, stamp) for page, name, stamp in named if stamp != right[name]]
    if not wrong:
        return passed(f"{len(named)} named", named[0][0].said)
    page, name, stamp = wrong[0]
    return broken(f"{name} is {stamp}", f"{right[name]}", page.said)


@check("M-7", "should", "RFC 7089 2.2.3")
def from_and_until_bound_the_mementos(facts: Facts) -> Finding:
    """From and until of a TimeMap are not inside the times it lists."""
    bounded = [page for page in documents(facts) if any(page.bounds) and page.captures]
    if not bounded:
        raise NotApplicable("no TimeMap states from and until")

    def complaint(page: ParsedTimeMap) -> str | None:
        since, until = page.bounds
        stamps = sorted(stamp for stamp, _ in page.captures)
        if since and stamps[0] < since:
            return f"from {since}, but lists {stamps[0]}"
        return (
            f"until {until}, but lists {stamps[-1]}" if until and stamps[-1] > until else None
        )

    wrong = [(page, why) for page in bounded if (why := complaint(page))]
    if not wrong:
        return passed(f"{len(bounded)} documents", bounded[0].said)
    return broken(wrong[0][1], "from and until that hold all mementos", wrong[0][0].said)


@check("M-53", "must", "RFC 7089 5.1")
def pages_end(facts: Facts) -> Finding:
    """Pages of a TimeMap bring new mementos and come to an end."""
    timemap = timemap_of(facts)
    first = timemap.first
    if not first.pages:
        raise NotApplicable("the TimeMap has no pages")
    itself = [page for page in timemap.documents if page.said.url in page.pages]
    if timemap.cut.startswith("more than"):
        raise Unanswered(timemap.cut, first.said)
    if timemap.cut or (itself and not timemap.captures):
        why = timemap.cut or f"{itself[0].said.url} refers to itself alone"
        return broken(why, "pages with new mementos", *(p.said for p in timemap.documents))
    return passed(f"{len(timemap.pages)} pages", first.said)


@check("M-53", "must", "RFC 7089 5.1")
def pages_are_there(facts: Facts) -> Finding:
    """Every page that a TimeMap refers to can be read."""
    timemap = timemap_of(facts)
    if not timemap.pages:
        raise NotApplicable("the TimeMap has no pages")
    heard = [page for page in timemap.pages if not page.silence]
    if not heard:
        raise Unanswered(timemap.pages[0].silence, timemap.pages[0].said)
    lost = [page for page in heard if not page.is_list]
    if not lost:
        return passed(f"{len(heard)} pages", heard[0].said)
    return broken(f"{lost[0].said.url} answers {lost[0].said.status}", "a page", lost[0].said)


@check("M-50", "must", "RFC 7089 5")
def timemap_lists_what_the_timegate_chooses(facts: Facts) -> Finding:
    """Every memento that the TimeGate chooses is in the TimeMap."""
    stamps = {stamp for stamp, _ in timemap_of(facts).captures}
    undated = {link.uri for page in documents(facts) for link in page.mementos}
    chosen = [said for said in gate_answers(facts) if facts.picked(said)]
    if not chosen or not stamps:
        raise NotApplicable("nothing was chosen that could be looked up")

    def complaint(said: ParsedResponse) -> str | None:
        listed = facts.picked(said) in stamps or said.chosen in undated
        return None if listed else f"{facts.picked(said)} is not listed"

    return each(chosen, complaint, "every known memento")


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
