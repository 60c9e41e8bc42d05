"""References in prose: the links of a text, and the dates that belong to each.

Citations in the usual styles have the date of access before the link ("Retrieved November 5,
2010, from ...") or after it ("(accessed 5 Nov. 2010)"); lists have a date beside each link. A
date between two links belongs to the one on its line, or to the one that it is connected with.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.references import TextSpan
from timegate.references.date_basis import (
    CONNECTED,
    FAR,
    REACH,
    Extent,
    Floor,
    basis_of,
    is_punctuation,
    meant_date,
)
from timegate.references.date_context import (
    basis_of_column,
    in_order,
    is_number,
    names_copy,
    order_of_days,
    tables_in,
)
from timegate.references.dates import (
    ChosenDate,
    DateBasis,
    FoundDate,
    access_word,
    choose,
    is_other_day,
    is_seen_next_day,
    is_seen_otherwise,
    mark_before,
    names_access,
    unread_date,
)
from timegate.references.links import TextLink, find_hosts, find_links, meant, with_hosts
from timegate.references.machine_texts import named_targets, pages_of, without_hosts
from timegate.references.messages import signatures
from timegate.references.misspelt_words import respelled
from timegate.references.mistyped_links import ALTERED, is_altered
from timegate.references.model import FoundReference, masked
from timegate.references.own_lines import is_divided
from timegate.references.places import (
    LinkPlace,
    glued_at,
    merged_places,
    other_page,
    read_place,
)
from timegate.references.quotations import quotation_beside
from timegate.references.relative_dates import relative_date, vague_date
from timegate.references.tex_links import with_accents
from timegate.references.unexplained import unexplained
from timegate.text.written_dates import MONTHS, WrittenDate, find_dates, other_dates

_SENTENCE: Final = compiled(r"[.;]\s|\band\b|\bund\b|\bet\b|\by\b")
_JOINED: Final = "Joined from several lines"
_INLINE: Final = compiled(
    r"&(?:nbsp|thinsp|ensp|emsp|#160|#8201|#8239|#xa0|#x202f);|\\[,;:!](?:\{\})?|\\(?:thin|med|thick)?space\b(?:\{\})?|(?<=[0-9.])\\\x20|(?<=[0-9]\.)~(?=[0-9])|<sup>(?:st|nd|rd|th|er|re|o|a|e)</sup>"
    r"|</?(?:sup|sub|b|i|em|strong|small|span|wbr|nobr)(?:\s[^<>]{0,200})?>",
    re.IGNORECASE,
)
"""Markup and blanks of TeX inside a line, and the endings of ordinal numbers."""
_SEEN: Final = ("archived", "accessed")
_WEAK_BASES: Final = ("published", "unmarked", "event")
_OPENED: Final = compiled(r"[ \t>.,;\])]{0,3}[(\[][^()\[\]\n]{0,90}$")
_CLOSED: Final = compiled(r"[^()\[\]\n]{0,90}[)\]]")
_FOR_ALL: Final = compiled(
    r"\b(?:all|both|each|alle|jeweils|sämtliche|tous|toutes|todos|todas|tutti|tutte|samtliga)\b",
    re.IGNORECASE,
)
_SAME_SENTENCE: Final = compiled(
    r"[ \t>\])\"'\u201d]{0,3}(?:\([^()\n]{1,30}\))?"
    r"(?:[,;]|[ \t](?:and|or|und|oder|et|ou|y|e|og|och|en|i|&|\+))?(?:[ \t](?:and|at|und|et))?"
    r"[ \t<(\[\"'\u201c]{1,3}",
    re.IGNORECASE,
)
"""Between two links of one list in a sentence."""
_ENDS_IN_COLON: Final = compiled(r"[)\]]?:\s{1,2}[<(\[]?$")
_IN_LINE: Final = compiled(r"[^\n.]{1,40}")
"""Between two links of a line that a date with a colon begins."""
_QUOTE_MARKS: Final = compiled(r"^(?:> ?){1,5}+", re.MULTILINE)
_NEXT_ITEM: Final = compiled(r"[^\n]{0,80}\n(?:[^\n]{0,7}[^\s\n][^\n]{0,120}\n)?[^\n]{0,200}")
"""Between two links on lines that follow each other, perhaps with a line of words."""
_AND_ALSO: Final = compiled(
    r"[\u2010-\u2015-]|[)\]],?\s(?:on|am|le|el|il|den)\s|\s?\([^()]{1,12}\),?\s|\s{0,2}(?:[,;/&+\u2010-\u2015-]|(?:to|until|till|bis|au|al|tot|til|till)\b|(?:,\s)?\b(?:and|und|et|y|e|i|og|och|en|or|oder)\b(?:\s(?:again|also|then))?"
    r"(?:\s(?:on|le|el|il|am|em|den|op))?|bzw\.(?:\sam)?)\s{1,2}",
    re.IGNORECASE,
)
_RESPECTIVELY: Final = compiled(
    r"\b(?:respectively|bzw\.|beziehungsweise|respectivement|respectivamente|rispettivamente|respectievelijk"
    r"|henholdsvis|respektive)(?!\w)",
    re.IGNORECASE,
)
_IN_TURN: Final = compiled(
    r"[>)\]]?(?:,|;|,?\s(?:and|und|et|y|e|en|og|och|&))\s(?:(?:and|und|et|at|to|see)\s)?[^\n\d.]{0,40}",
    re.IGNORECASE,
)
"""Between the links that have their dates in the same order."""
_MOST_IN_TURN: Final = 12
_COLLECTIVE: Final = compiled(
    r"\b(?:list|links|urls|iocs|indicators|sources|pages|sites|websites|references|domains|addresses|bookmarks|following"
    r"|hosts|liste|quellen|seiten|webseiten|liens|adresses|sources|lista|enlaces|fuentes|páginas|siti|pagine|bronnen"
    r"|lenker|länkar|kilder|källor)\b",
    re.IGNORECASE,
)
_ENDS_HEADING: Final = compiled(r"[)\]]?[ \t]?:[ \t*_]{0,4}\r?\n")
"""After the date in the heading of a list: "IOC list (fetched 2020-12-14):"."""
_CLOSED_ITEM: Final = compiled(r"[\s)\]]{0,2};\s")
"""The end of an item of a list in a sentence."""
_ENDS_PART: Final = compiled(r"[ \t]{0,2}[)\]]?[,;][ \t]{1,3}[<(\[\"]{0,2}")
_ENDS_SENTENCE: Final = compiled(r"[.][ \t]{1,3}[<(\[\"]{0,2}")
_LONGEST_ACCESS: Final = 30
"""Characters of a word of access after a link."""
_HIDDEN: Final = "\ufffc"
"""In place of the characters of a link."""
_MOST_DATES: Final = 20
"""Dates without a clear meaning that are kept for one reference."""


def read_prose(text: str, registry: Registry) -> Iterator[FoundReference]:
    """Yield the references in *text*, in order, each with the date that belongs to it."""
    text = without_hosts(text)
    named = [*find_links(text)]
    links = pages_of(text, named)
    # Of the same length, so that positions stay.
    shown = masked(text, sorted({link.span for link in named} - {link.span for link in links}))
    found = with_hosts(shown, links) if links else find_hosts(shown)
    read = dated(shown, found, registry)
    if targets := dict(named_targets(text).values()):
        placed = (each._replace(span=targets.get(each.span, each.span)) for each in read)
        read = iter(sorted(placed, key=lambda each: each.span))
    yield from read


def dated(
    text: str, links: Iterable[TextLink], registry: Registry, *, only_marked: bool = False
) -> Iterator[FoundReference]:
    """Yield the references of *links*, with the dates that are around them in *text*.

    *only_marked*: only dates of access or of an archived copy.
    """
    # Of the same length, so that positions stay.
    text = _INLINE.sub(lambda tag: " " * len(tag[0]), text)
    text = with_accents(text.translate(_WIDE_BRACKETS))
    text = respelled(_HYPHENATED.sub(_joined_word, text))
    listed = [part for link in links for part in _divided(link, registry)]
    places = [*merged_places(text, [read_place(link, registry) for link in listed])]
    spans = [_extent(place) for place in places]
    assigned = _assigned(text, spans, [link.span for link in listed])
    by_place = assigned.dates
    _doubt_same_page(text, places, by_place)
    for number, place in enumerate(places):
        dates = by_place[number]
        if place.own is None and not any(date.basis in _SEEN for date in dates):
            dates = [*_unread(text, spans, number, dates), *dates]
        if only_marked:
            dates = [date for date in dates if date.basis in ("archived", "accessed")]
        found = _found(_of_copy(text, spans, number, place, dates), dates)
        if found.kind == "reference":
            found = _quoting(text, spans, number, found)
            found = found if only_marked else _explained(assigned.rest, spans, number, found)
        yield found


def _of_copy(
    text: str,
    spans: Sequence[Extent],
    number: int,
    place: LinkPlace,
    dates: Sequence[FoundDate],
) -> LinkPlace:
    """Return *place* as that of a copy, if its citation has the date of one.

    What is said of the copy counts, also if it was made after a visit.
    """
    if not any(date.basis == "archived" and date.moment for date in dates):
        return place
    ceiling = spans[number + 1].start if number + 1 < len(spans) else len(text)
    floor = spans[number - 1].end if number else 0
    is_copy = names_copy(text, TextSpan(place.start, place.end), floor, ceiling)
    return place._replace(names_copy=place.names_copy or is_copy)


def _doubt_same_page(
    text: str, places: Sequence[LinkPlace], assigned: dict[int, list[FoundDate]]
) -> None:
    """Add the dates of a link to the same link on its line that has none, with a doubt."""
    for number, (one, other) in enumerate(pairwise(places)):
        if one.page is None or one.page != other.page or "\n" in text[one.end : other.start]:
            continue
        for undated, dated_one in ((number, number + 1), (number + 1, number)):
            if not assigned[undated]:
                assigned[undated] += [
                    date._replace(basis="unmarked") for date in assigned[dated_one]
                ]


def _explained(
    rest: str, spans: Sequence[Extent], number: int, found: FoundReference
) -> FoundReference:
    """Return *found* with a doubt if something around it was not understood.

    *rest* is the text without links and dates.
    """
    if found.dates.doubt or (found.dates.used and found.dates.used.basis == "own"):
        return found
    span = spans[number]
    floor = max(spans[number - 1].end if number else 0, span.start - FAR)
    ceiling = spans[number + 1].start if number + 1 < len(spans) else len(rest)
    around = (
        f"{rest[floor : span.start]}{_HIDDEN}{rest[span.end : min(ceiling, span.end + FAR)]}"
    )
    if found.dates.used and found.dates.used.basis == "accessed":
        around = _without_times(around)
    why = unexplained(around, dated=found.dates.at is not None)
    if not why:
        return found
    return found._replace(dates=found.dates._replace(doubt=True), notes=(*found.notes, why))


_RETRIEVED: Final = compiled(
    rf"[.\]]\s{{1,2}}(?:Retrieved|Accessed|Viewed)\s(?:on\s)?{_HIDDEN}{{6,40}},?"
    rf"(?:\s(?:from|at))?:?\s[<(\[]?{_HIDDEN}"
)
"""The end of a citation, with the day of access and the link."""
_TIME_OF_DAY: Final = compiled(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?")


def _without_times(text: str) -> str:
    """Return *text* without times of day in a title, which stands before the day of access."""
    found = _RETRIEVED.search(text)
    if found is None:
        return text
    head = text[: found.start()]
    return _TIME_OF_DAY.sub("", head) + text[found.start() :]


def _divided(link: TextLink, registry: Registry) -> Iterator[TextLink]:
    """Yield *link*, or the two that stand in it without a blank between them."""
    at = glued_at(link.identifier, registry)
    if not at or link.written != link.identifier:
        yield link
        return
    start, end = link.span
    for span in (TextSpan(start, start + at), TextSpan(start + at, end)):
        part = link.written[span.start - start : span.end - start]
        yield TextLink(span, part, part, incomplete=True)


_WIDE_BRACKETS: Final = {0xFF3B: "[", 0xFF3D: "]"}
_HYPHENATED: Final = compiled(r"\b([^\W\d_]{2,10})-\r?\n[ \t]{0,8}([^\W\d_]{2,10})\b")


def _joined_word(word: re.Match[str]) -> str:
    """Return a month or a word of access that a line break divides, in the same length."""
    joined = f"{word[1]}{word[2]}"
    is_known = joined.lower() in MONTHS or access_word(joined)
    return joined.ljust(len(word[0])) if is_known else word[0]


def _quoting(
    text: str, spans: Sequence[Extent], number: int, found: FoundReference
) -> FoundReference:
    """Return *found* with the quotation that stands beside its link."""
    span = spans[number]
    floor = spans[number - 1].end if number else 0
    ceiling = spans[number + 1].start if number + 1 < len(spans) else len(text)
    beside = quotation_beside(text, span.start, span.end, floor, ceiling)
    if not beside.quote and not beside.doubt:
        return found
    notes = (*found.notes, beside.doubt) if beside.doubt else found.notes
    return found._replace(quote=beside.quote, notes=notes)


def _extent(place: LinkPlace) -> Extent:
    return Extent(
        place.start, place.end, place.last or place.start, place.first or place.link.span.end
    )


def read_citation(
    written: Sequence[str], span: TextSpan, dates: Sequence[FoundDate], registry: Registry
) -> FoundReference:
    """Return the reference of a citation whose fields have the identifiers *written*.

    The first that can be resolved is used.
    """
    links = [
        TextLink(span, text, meant(text) or text, incomplete=is_altered(text))
        for text in written
    ]
    places = [read_place(link, registry) for link in links]
    first = next((place for place in places if place.kind == "reference"), places[0])
    others = [place for place in places if place is not first]
    opaque = [place for place in others if place.kind == "opaque"]
    merged = first._replace(
        others=(*first.others, *(place.identifier for place in others)),
        names_copy=first.names_copy or (bool(opaque) and first.own is None),
        archived=first.archived or (opaque[0].archived if opaque else None),
    )
    if any(place.page == first.page for place in others):
        # The citation names the page that its archive link only implies.
        merged = merged._replace(is_nested=False)
    if page := other_page(places):
        note = f"The citation is of {page}, but its archive link is of another page"
        merged = merged._replace(notes=(*merged.notes, note), is_nested=True)
    return _found(merged, dates)


def _found(place: LinkPlace, dates: Sequence[FoundDate]) -> FoundReference:
    if place.archived is not None and is_seen_next_day(place.archived, dates):
        # The day of another time zone, or of the night: what the text says counts.
        place = place._replace(archived=None)
    if place.archived is not None and place.own is None:
        stamp = FoundDate(str(place.archived), place.archived, "archived")
        dates = (stamp, *dates)
    chosen, incomplete = _chosen(place, dates), place.link.incomplete
    return FoundReference(
        place.identifier,
        place.link.written,
        place.link.span,
        chosen._replace(doubt=True) if incomplete else chosen,
        place.kind,
        place.others,
        (
            *place.notes,
            *([ALTERED] if incomplete else []),
            *([_JOINED] if place.link.lines else []),
        ),
        place.trouble,
        incomplete,
    )


def _chosen(place: LinkPlace, dates: Sequence[FoundDate]) -> ChosenDate:
    chosen = choose(dates[:_MOST_DATES], place.own)
    # Of a named copy, the time is not known; of a copy of a copy, one of the two is meant.
    is_unsure = (
        place.is_nested
        or ((place.names_copy or place.is_redirect) and chosen.at is None)
        or (not place.names_copy and _is_archived_later(chosen))
        # The copy was looked at then, and is of an earlier time.
        or (place.is_undated_copy and chosen.used and chosen.used.basis == "accessed")
        or (
            place.own is None
            and place.archived is not None
            and is_seen_otherwise(place.archived, dates)
        )
    )
    return chosen._replace(doubt=True) if is_unsure else chosen


def _is_archived_later(chosen: ChosenDate) -> bool:
    """Whether a copy without a link was made after the page was seen: either may be meant."""
    used = chosen.used
    if used is None or used.basis != "archived" or used.moment is None:
        return False
    seen = [date for date in chosen.unused if date.basis == "accessed" and date.moment]
    return any(
        is_other_day(used.moment, date)
        and date.moment
        and date.moment.digits < used.moment.digits
        for date in seen
    )


class _Assigned(NamedTuple):
    """The dates of a text."""

    dates: dict[int, list[FoundDate]]
    """By the number of the reference to which they belong."""
    rest: str
    """The text without links and dates, of the same length."""


def _assigned(text: str, spans: Sequence[Extent], links: Sequence[TextSpan]) -> _Assigned:
    """Return the dates of each reference; it may have several *links*."""
    assigned: dict[int, list[FoundDate]] = defaultdict(list)
    if not spans:
        return _Assigned(assigned, text)
    starts = [span.start for span in spans]
    near = [*_near(spans, len(text))]
    # "/page12 March 2014" is no day.
    shown = masked(text, links, _HIDDEN)
    # A date may be broken into lines of a quoted message.
    shown = _QUOTE_MARKS.sub(lambda mark: " " * len(mark[0]), shown)
    dates = [*_outside(_within(shown, near, find_dates), links)]
    others = [
        date
        for date in _outside(_within(shown, near, other_dates), links)
        if not _taken(date, dates)
    ]
    # A number of a version is a date only if words say so.
    only_marked = {
        date.start for date in others if "T" not in date.text and is_number(text, date)
    }
    tables = tables_in(text)
    order = order_of_days(text, dates)
    signed = _Signed.of(text, spans)
    floor = 0
    last: DateBasis = "unmarked"
    shared: list[_SharedDate] = []
    for date in sorted([*dates, *others]):
        number = signed.owner(_owner(text, spans, bisect_left(starts, date.start), date), date)
        basis = basis_of_column(text, tables, date) or basis_of(
            text, spans, date, Floor(floor, last not in _SEEN), number
        )
        if basis in _SEEN and signed.divides(number, date):
            basis = "event"
        if basis in _WEAK_BASES and last != "beside" and _continues(text, floor, date):
            basis = last
        if (
            basis == "unmarked"
            and last == "accessed"
            and _goes_on_visiting(text, spans, date, number)
        ):
            basis = last
        numbers = _also_of(text, spans, date, max(floor, date.start - REACH), number)
        if numbers and basis == "unmarked" and names_access(_line(text, date)):
            basis = "accessed"
        last = basis
        is_kept = date.start not in only_marked and len(assigned[number]) < _MOST_DATES
        if basis in _WEAK_BASES and not is_kept:
            continue
        link = TextSpan(spans[number].start, spans[number].end)
        each = meant_date(text, link, in_order(text, date, order), basis)
        assigned[number].append(each)
        shared.append(_SharedDate(each, basis, number, date.start, numbers, date.end))
        floor = date.end
    in_turn = _given_in_turn(text, spans, assigned, shared)
    given = {each.start for each in in_turn}
    own = [each for each in shared if each.start not in given]
    _share(text, spans, assigned, own, signed)
    seen = sorted(TextSpan(date.start, date.end) for date in [*dates, *others])
    return _Assigned(assigned, masked(shown, seen, _HIDDEN))


class _Signed(NamedTuple):
    """Links after the end of a message, beside its author's name."""

    begins: dict[int, int]
    """Where the message of each such link ends, by the number of its reference."""

    @classmethod
    def of(cls, text: str, spans: Sequence[Extent]) -> "_Signed":
        starts = [span.start for span in spans]
        begins: dict[int, int] = {}
        for start, end in signatures(text):
            for number in range(bisect_left(starts, start), bisect_left(starts, end)):
                begins.setdefault(number, start)
        return cls(begins)

    def owner(self, number: int, date: WrittenDate) -> int:
        """Return the last reference of the message if *number* is of its author."""
        other = number
        while other > 0 and self.divides(other, date):
            other -= 1
        return number if self.divides(other, date) else other

    def divides(self, number: int, date: WrittenDate) -> bool:
        """Whether *date* is in the message, and the link after it."""
        return date.start < self.begins.get(number, 0)


class _SharedDate(NamedTuple):
    """A date of one reference that may be of others as well."""

    date: FoundDate
    basis: DateBasis
    number: int
    start: int
    others: range
    """References that the text names together with it."""
    end: int


def _given_in_turn(
    text: str,
    spans: Sequence[Extent],
    assigned: dict[int, list[FoundDate]],
    shared: Sequence[_SharedDate],
) -> list[_SharedDate]:
    """Give each of several links its date, and return these dates.

    In "A and B, accessed 5 November 2010 and 8 December 2010 respectively".
    """
    given: list[_SharedDate] = []
    for word in _RESPECTIVELY.finditer(text) if shared else ():
        run = [*_dates_up_to(text, shared, word)] or [*_dates_after(text, shared, word)]
        last = run[-1].number if run else -1
        first = last - len(run) + 1
        if len(run) < 2 or any(each.number != last for each in run):
            continue
        links = [*_joined_links(text, spans, last)]
        is_in_turn = len(links) == len(run) and spans[last].end <= run[0].start
        if not is_in_turn or run[0].basis not in _SEEN:
            # Not as many links as dates, or not of visits: it stays open which is whose.
            date = run[0].date
            date = date._replace(basis="unmarked") if date.basis in _SEEN else date
            for number in links:
                assigned[number] = assigned[number] or [date]
            continue
        for number, each in enumerate(run, start=first):
            assigned[last].remove(each.date)
            assigned[number].append(each.date._replace(basis=run[0].basis))
        given += run
    return given


def _joined_links(text: str, spans: Sequence[Extent], last: int) -> Iterator[int]:
    """Yield the numbers of the links of one list in a sentence up to *last*, the last first."""
    yield last
    for number in range(last, max(0, last - _MOST_IN_TURN), -1):
        if not _IN_TURN.fullmatch(text, spans[number - 1].end, spans[number].start):
            return
        yield number - 1


def _dates_after(
    text: str, shared: Sequence[_SharedDate], word: re.Match[str]
) -> Iterator[_SharedDate]:
    """Yield the dates of one list, which begins after *word*."""
    end = word.end()
    is_first = True
    first = bisect_left(shared, end, key=lambda each: each.start)
    for each in shared[first : first + _MOST_IN_TURN]:
        gap = text[end : each.start]
        is_next = len(gap) <= len(" on the ") and not any(map(str.isdigit, gap))
        if not (is_next if is_first else _AND_ALSO.fullmatch(gap)):
            return
        yield each
        end, is_first = each.end, False


def _dates_up_to(
    text: str, shared: Sequence[_SharedDate], word: re.Match[str]
) -> Iterator[_SharedDate]:
    """Yield the dates of one list, which ends before *word*."""
    last = bisect_left(shared, word.start(), key=lambda each: each.start)
    before = shared[max(0, last - _MOST_IN_TURN) : last]
    run: list[_SharedDate] = []
    following = word.start()
    for each in reversed(before):
        gap = text[each.end : following]
        if not (_AND_ALSO.fullmatch(gap) if run else gap.strip(" ,()") == ""):
            break
        run.append(each)
        following = each.start
    yield from reversed(run)


def _share(
    text: str,
    spans: Sequence[Extent],
    assigned: dict[int, list[FoundDate]],
    shared: Sequence[_SharedDate],
    signed: _Signed,
) -> None:
    """Add dates to references without one: of all links, and, with a doubt, of neighbours."""
    of_all = (
        (each.date, each.others) for each in shared if each.basis in ("accessed", "unmarked")
    )
    _give_to_all(assigned, of_all)
    for each in shared:
        is_day = each.basis == "unmarked" and not _is_year(each.date)
        if each.basis not in _SEEN and not is_day:
            continue
        unsure = each.date._replace(basis="unmarked")
        _doubt_of_owner(text, spans, assigned, each)
        for other in _perhaps_of(text, spans, each):
            is_of_line = is_day and _is_of_own_line(text, spans, each, other)
            if not assigned[other] and other not in signed.begins and not is_of_line:
                assigned[other].append(unsure)
    _doubt_after_two(text, spans, assigned)


def _is_of_own_line(text: str, spans: Sequence[Extent], date: _SharedDate, other: int) -> bool:
    """Whether *date* stands on a line with a link, and the *other* link on another line."""
    begin = text.rfind("\n", max(0, date.start - 2 * FAR), date.start) + 1
    end = text.find("\n", date.end, date.end + 2 * FAR)
    line = text[begin : end if end >= 0 else date.end + 2 * FAR]
    return "://" in line and not begin <= spans[other].start < begin + len(line)


def _perhaps_of(text: str, spans: Sequence[Extent], date: _SharedDate) -> Iterator[int]:
    """Yield the references other than its own to which a date of access may belong."""
    yield from _neighbours(text, spans, date.number, date.start)
    yield from _before_sentence(text, spans, date)
    if _may_be_of_last(text, spans, date):
        yield date.number - 1
    following = date.number + 1
    is_last = following == len(spans) or spans[date.number].end > date.start
    # "A, accessed 5 November 2010. B"
    if not is_last and _ENDS_SENTENCE.fullmatch(text, date.end, spans[following].start):
        yield following


def _doubt_of_owner(
    text: str,
    spans: Sequence[Extent],
    assigned: dict[int, list[FoundDate]],
    date: _SharedDate,
) -> None:
    """Doubt a date in a sentence between two links: "See A. I checked on D. See also B"."""
    if _may_be_of_last(text, spans, date) and not assigned[date.number - 1]:
        unsure = date.date._replace(basis="unmarked")
        dates = assigned[date.number]
        dates[:] = [unsure if each == date.date else each for each in dates]


_THEN_ON: Final = compiled(
    r"[>)\]]{0,2}(?:\san)?,?\s(?:and|then|und|et|y|e|en|og|och)\s(?:[^\W\d_.;:]{1,14},?\s){0,4}?"
    r"(?:on|am|le|el|il|op|den)\s(?:the\s)?",
    re.IGNORECASE,
)
_AT_NEXT: Final = compiled(r",?\s(?:at\s|to\s)?[<(\[]?", re.IGNORECASE)
"""Around a second date: "On D I looked at A, and three days later, on E, at B"."""


def _goes_on_visiting(
    text: str, spans: Sequence[Extent], date: WrittenDate, number: int
) -> bool:
    """Whether *date* is that of the second of two visits in a sentence."""
    if number == 0 or date.end > spans[number].start:
        return False
    is_next = _THEN_ON.fullmatch(text, spans[number - 1].end, date.start) is not None
    return is_next and _AT_NEXT.fullmatch(text, date.end, spans[number].start) is not None


_NEW_SENTENCE: Final = compiled(r"[.!?][\"'\u201d)\]]{0,2}\s|\n[ \t\r]*+\n")


def _may_be_of_last(text: str, spans: Sequence[Extent], date: _SharedDate) -> bool:
    """Whether a sentence with *date* ends before its link, and another link is before it."""
    if date.number == 0 or date.end > spans[date.number].start:
        return False
    before = text[spans[date.number - 1].end : date.start]
    after = text[date.end : spans[date.number].start]
    is_apart = _NEW_SENTENCE.search(after) is not None and CONNECTED.fullmatch(after) is None
    return is_apart and _breaks(before) <= _breaks(after)


_VISITOR: Final = compiled(
    r"\b(?-i:I|[Ww]e|[Ii]ch|[Ww]ir|[Jj]e|[Nn]ous)\b|\bj['\u2019]ai\b|\b(?:he|hemos)\s\w{3,12}[ait]do\b",
    re.IGNORECASE,
)
_ONE_OF_THEM: Final = compiled(
    r"\b(?:it|this|that|them|both|all|es|sie|la|le|lo)\b", re.IGNORECASE
)
_MOST_BEFORE: Final = 12


def _is_year(date: FoundDate) -> bool:
    """Whether only a year is known, which may be that of anything."""
    moments = (date.moment,) if date.moment else date.readings
    return all(len(moment.digits) == len("2010") for moment in moments)


def _sentence(text: str, date: _SharedDate) -> str:
    """Return the words before *date* in its sentence."""
    words = text[max(0, date.start - 2 * REACH) : date.start]
    return _NEW_SENTENCE.split(words)[-1]


def _is_of_visitor(text: str, date: _SharedDate) -> bool:
    """Whether the writer says that a page was seen on *date*, and not which."""
    words = _sentence(text, date)
    return _VISITOR.search(words) is not None and names_access(words)


def _before_sentence(text: str, spans: Sequence[Extent], date: _SharedDate) -> Iterator[int]:
    """Yield the references before a sentence with *date* and without a link, but the nearest.

    "A and B are lists. I checked the first one on 5 November 2010."
    """
    nearest = bisect_left(spans, date.start, key=lambda span: span.start) - 1
    if nearest < 1 or not _is_of_visitor(text, date):
        return
    gap = text[spans[nearest].end : date.start]
    if _NEW_SENTENCE.search(gap) is None or _ONE_OF_THEM.search(_sentence(text, date)):
        return
    for number in range(nearest - 1, max(-1, nearest - _MOST_BEFORE), -1):
        if date.start - spans[number].end > FAR:
            return
        yield number


def _line(text: str, date: WrittenDate) -> str:
    """Return the line in which *date* is, at most some hundred characters of it."""
    start = text.rfind("\n", max(0, date.start - FAR), date.start) + 1
    return text[start : date.end + REACH].partition("\n")[0]


def _also_of(
    text: str, spans: Sequence[Extent], date: WrittenDate, begin: int, number: int
) -> range:
    """Return the references beside *number* to which a date of "all links" belongs."""
    words = text[begin : date.start]
    sentence = words[max(words.rfind(". "), words.rfind("\n")) + 1 :]
    if not _FOR_ALL.search(sentence):
        if _ENDS_HEADING.match(text, date.end) and _COLLECTIVE.search(sentence):
            return range(number, _end_of_list(text, spans, number))
        return range(0)
    # As a heading, it is also of what follows.
    end = len(spans) if date.end <= spans[number].start else number
    return range(max(0, number - _MOST_DATES), end)


def _end_of_list(text: str, spans: Sequence[Extent], number: int) -> int:
    """Return the number after the last of the links on the lines from that of *number* on."""
    while (
        number + 1 < len(spans)
        and "\n\n" not in text[spans[number].end : spans[number + 1].start]
        and _NEXT_ITEM.fullmatch(text, spans[number].end, spans[number + 1].start)
    ):
        number += 1
    return number + 1


def _neighbours(text: str, spans: Sequence[Extent], number: int, at: int) -> Iterator[int]:
    """Yield the references beside *number* that a date of access at *at* may be of as well.

    In "A and B (accessed 5 November 2010)", it may also be the date of A; on a line of its own,
    it may be of all links of the list before or after it.
    """
    # The links of a date are near it.
    floor, ceiling = max(0, at - 2 * FAR), at + 2 * FAR
    before, after = text.rfind("\n", floor, at) + 1 or floor, text.find("\n", at, ceiling)
    after = ceiling if after < 0 else after
    is_alone = not any(
        before <= span.start < after for span in spans[max(0, number - 1) : number + 2]
    )
    step = -1 if spans[number].end <= at else 1
    is_heading = step > 0 and _ENDS_IN_COLON.search(text, at, spans[number].start) is not None
    pattern = _NEXT_ITEM if is_alone else _IN_LINE if is_heading else _SAME_SENTENCE
    other = number + step
    while 0 <= other < len(spans) and abs(other - number) <= _MOST_DATES:
        first, second = min(other, other - step), max(other, other - step)
        if not pattern.fullmatch(text, spans[first].end, spans[second].start):
            return
        yield other
        other += step


def _doubt_after_two(
    text: str, spans: Sequence[Extent], assigned: dict[int, list[FoundDate]]
) -> None:
    """Add the second of two dates around a link to the link after it, if that has none.

    In "[2014] A [2015] B", each date may be of the link after it, on lines of their own too.
    """
    for number in range(len(spans) - 1):
        dates = assigned[number]
        is_near = not is_divided(text[spans[number].end : spans[number + 1].start])
        if len(dates) > 1 and is_near and not assigned[number + 1] and choose(dates).doubt:
            assigned[number + 1].append(dates[-1]._replace(basis="unmarked"))


def _give_to_all(
    assigned: dict[int, list[FoundDate]], for_all: Iterable[tuple[FoundDate, range]]
) -> None:
    """Add the dates of several references to those of them that have no such date."""
    for date, numbers in for_all:
        for number in numbers:
            if not any(each.basis in (*_SEEN, "beside") for each in assigned[number]):
                assigned[number].append(date)


def _continues(text: str, end: int, date: WrittenDate) -> bool:
    """Whether *date* is one more of the kind before it, which ends at *end*."""
    is_year = date.moment is not None and len(date.moment.digits) == 4
    return not is_year and _AND_ALSO.fullmatch(text, end, date.start) is not None


def _unread(
    text: str, spans: Sequence[Extent], number: int, dates: Sequence[FoundDate]
) -> Iterator[FoundDate]:
    """Yield what is written around a reference instead of a date of access."""
    start, end = spans[number][:2]
    after = spans[number + 1].start if number + 1 < len(spans) else len(text)
    line = text.rfind("\n", max(0, start - REACH), start) + 1 or max(0, start - REACH)
    is_first = not number or spans[number - 1].end <= line
    unread = unread_date(
        text[line:start] if is_first else "", text[end : min(after, end + REACH)]
    )
    if unread is None and not dates:
        unread = vague_date(text[end : min(after, end + REACH)])
    if unread is None and not dates:
        unread = relative_date(text[line:start] if is_first else "", text[end:after])
    if unread is not None and not any(
        len(str(date.moment or "")) != len("2010") and date.text in unread.text
        for date in dates
    ):
        yield unread


def _near(spans: Sequence[Extent], length: int) -> Iterator[TextSpan]:
    """Yield the ranges of a text in which a date can belong to one of *spans*."""
    start = end = 0
    for span in spans:
        if span.start - FAR > end:
            yield TextSpan(start, end)
            start = max(0, span.start - FAR)
        end = min(length, span.end + FAR)
    yield TextSpan(start, end)


def _within(
    text: str, ranges: Iterable[TextSpan], find: Callable[[str], Iterator[WrittenDate]]
) -> Iterator[WrittenDate]:
    """Yield the dates in *ranges*; a date that is cut at a limit is not one."""
    for start, end in ranges:
        first = max(0, start - REACH)
        for date in find(text[first : end + REACH]):
            if start <= date.start + first < end:
                yield date._replace(start=date.start + first, end=date.end + first)


def _outside(dates: Iterable[WrittenDate], links: Sequence[TextSpan]) -> Iterator[WrittenDate]:
    """Yield the dates that are not inside a link."""
    number = 0
    for date in sorted(dates):
        while number < len(links) and links[number].end <= date.start:
            number += 1
        if number == len(links) or date.end <= links[number].start:
            yield date


def _taken(date: WrittenDate, dates: Sequence[WrittenDate]) -> bool:
    at = bisect_left(dates, date.start, key=lambda each: each.start)
    near = dates[max(at - 1, 0) : at + 1]
    return any(each.start < date.end and date.start < each.end for each in near)


def _owner(text: str, spans: Sequence[Extent], after: int, date: WrittenDate) -> int:
    """Return the reference to which *date* belongs; *after* is the first one behind it."""
    if after == 0:
        return 0
    if after == len(spans) or date.start < spans[after - 1].end:
        return after - 1
    gap_before = text[spans[after - 1].end : date.start]
    gap_after = text[date.end : spans[after].start]
    breaks = _divided_from(
        gap_before, gap_after, text[spans[after].end : spans[after].end + REACH]
    )
    if breaks:
        return after if breaks > 0 else after - 1
    if CONNECTED.fullmatch(gap_after):
        is_marked = mark_before(gap_before[-REACH:]) is not None
        if is_marked or not is_punctuation(gap_before):
            return after
    if is_punctuation(gap_before) or not _SENTENCE.search(gap_before):
        return after - 1
    closer = mark_before(gap_before[-REACH:]) == "accessed" and "\n" not in gap_before
    return after - 1 if closer else after


def _divided_from(before: str, after: str, rest: str) -> int:
    """Return whether more divides a date from the link *before* it (1) or *after* it (-1).

    *rest* is what follows the link after it.
    """
    # In brackets of its own after the link: "URL (accessed 5 November 2010)".
    if _OPENED.match(before) and _CLOSED.match(after):
        return -1
    breaks = _breaks(before) - _breaks(after)
    if breaks:
        return breaks
    is_end_of_item = _CLOSED_ITEM.match(after) and not _CLOSED_ITEM.search(before)
    # "A, accessed 5 November 2010, B, accessed 6 November 2011".
    # "A, accessed 5 November 2010, B", and "A, archived on 5 November 2010. B".
    is_next = _begins_with_access(rest.lstrip(" .")) and _begins_with_access(before.lstrip("."))
    is_in_turn = is_next or (
        _begins_with_access(before)
        and (_ENDS_PART.fullmatch(after) or _ENDS_SENTENCE.fullmatch(after)) is not None
    )
    return -1 if is_end_of_item or is_in_turn else 0


def _begins_with_access(words: str) -> bool:
    return access_word(words.lstrip(" ,;>([")) and "\n" not in words[:_LONGEST_ACCESS]


def _breaks(gap: str) -> int:
    lines = gap.count("\n")
    return 0 if not lines else 2 if lines > 1 and not gap.strip() else 1 + is_divided(gap)
