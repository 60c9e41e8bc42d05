"""References in prose: the links of a text, and the dates that belong to each.

Citations in the usual styles have the date of access before the link ("Retrieved November 5,
2010, from ...") or after it ("(accessed 5 Nov. 2010)"); lists have a date beside each link. A
date between two links belongs to the one on its line, or to the one that it is connected with.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.references.dates import (
    ChosenDate,
    DateBasis,
    FoundDate,
    choose,
    found_date,
    mark_after,
    mark_before,
    unread_date,
)
from timegate.references.links import TextLink, find_hosts, find_links, meant
from timegate.references.model import FoundReference, TextSpan, masked
from timegate.references.places import LinkPlace, merged_places, read_place
from timegate.text.written_dates import WrittenDate, find_dates, other_dates

_REACH: Final = 90
"""Characters around a date in which words say what it is the date of."""
_CONNECTED: Final = compiled(
    r"[\s,.:;()\[\]<>„“\"'\u2013-]{0,6}(?:(?:from|at|on|von|unter|auf|de|sur|à|en|desde|da|do|em|van|via|"
    r"op|fra|på|från|z|na|url|available(?:\sat|\sfrom)?|the\sworld\swide\sweb|http|link|web|"
    r"website|source)[\s:,]{1,3}){0,3}[\s<(\[\"'“„]{0,4}",
    re.IGNORECASE,
)
_AROUND_DATE: Final = frozenset(" \t\r\n,;:@()[]{}|<>-\u2013\u2014*•·#\"'.\u3000")
_SENTENCE: Final = compiled(r"[.;]\s|\band\b|\bund\b|\bet\b|\by\b")
_PARENTHESES: Final = frozenset("(\uff08")
_MARK_BEFORE_LINK: Final = compiled(
    r"(?:(?P<archived>archived|preserved|saved)|retrieved|accessed|viewed|visited|consulted"
    r"|downloaded|cited)(?:\sit|\sby\s\w{1,20})?"
    r"(?:\sonline)?(?:\s(?:from|at|via))?(?:\sthe\soriginal)?[\s:<(\[]{0,4}$",
    re.IGNORECASE,
)
_ON: Final = compiled(
    r"[\s>)\],.;:]{0,4}(?:on|am|le|el|il|em|op|den|d\.)?[\s:(\[]{0,3}", re.IGNORECASE
)
_INCOMPLETE: Final = "The link may be incomplete or altered: compare it with its source"
_JOINED: Final = "Joined from several lines"
_INLINE: Final = compiled(
    r"&nbsp;|<sup>(?:st|nd|rd|th|er|re|o|a|e)</sup>"
    r"|</?(?:sup|sub|b|i|em|strong|small|span|wbr|nobr)(?:\s[^<>]{0,200})?>",
    re.IGNORECASE,
)
"""Markup inside a line, and the endings of ordinal numbers."""
_FAR: Final = 400
"""Characters between a link and a date that may belong to it."""
_STAMP_LENGTH: Final = len("20101105101500")
"""Digits of the timestamp of a capture."""
_CDX_KEY: Final = compiled(r"\)/\S{0,80}\s$")
"""The first field of a line of a CDX index."""
_SEEN: Final = ("archived", "accessed")
_WEAK_BASES: Final = ("published", "unmarked")
_BRACKET_GAP: Final = 6
_OPENED: Final = compiled(r"[ \t>.,;\])]{0,3}[(\[][^()\[\]\n]{0,90}$")
_CLOSED: Final = compiled(r"[^()\[\]\n]{0,90}[)\]]")
_PARENTHESIS_AFTER: Final = compiled(r"[\s>.,\])/]{0,3}[(\uff08]")
_AFTER_TITLE: Final = compiled(r"[^\[\]\n]{0,200}\]\s?[(\uff08]")
"""The title of an external link of a wiki, and a parenthesis."""
_PARENTHESIS_ENDS: Final = compiled(
    r"\.?\s?(?:,?\s?(?:um|at|kl\.?)?\s?[0-9]{1,2}[:.][0-9]{2}[^()\n]{0,12})?[)\]\uff09\u3011]"
)
"""The end of a parenthesis after a date, perhaps with a time of day."""
_GOES_ON: Final = compiled(r"\s[^\W\d_A-Z]{2,20}\s")
"""A word in small letters, as in "the fire (3 May 1990) destroyed"."""
_AT: Final = compiled(r"\b(?:on|at|as of|am|vom|le|du|el|del|il|em|op|den)\s$", re.IGNORECASE)
_VERB: Final = compiled(
    r"\s(?:is|was|are|were|has|had|have|will|can|ist|war|wurde|wird|hat|est|était|fut|a|es|era|fue"
    r"|è|foi|é|werd|blev|är|var|er)\s"
    r"|,\s(?!(?:from|at|on|available|via|in|by|and|url|unter|von|auf|aus|sur|à|de|en|desde|da|em|van"
    r"|op|fra|på|från|z|na|web|http|source|see|or|und|et|y|e)\b|https?:|www)[a-zß-ÿ]{2,20}\s"
)
"""After a date before the link: it is part of what a sentence says."""
_WEEKDAY: Final = compiled(
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,?\s$", re.IGNORECASE
)
_FOR_ALL: Final = compiled(
    r"\b(?:all|both|each|alle|jeweils|sämtliche|tous|toutes|todos|todas|tutti|tutte|samtliga)\b",
    re.IGNORECASE,
)
_AND_ALSO: Final = compiled(
    r"[\u2010-\u2015-]|\s?\([^()]{1,12}\),?\s|\s{0,2}(?:[,;/&+\u2010-\u2015-]|(?:to|until|till|bis|au|al|tot|til|till)\b|(?:,\s)?\b(?:and|und|et|y|e|i|og|och|en|or|oder)\b(?:\s(?:again|also|then))?"
    r"(?:\son)?)\s{1,2}",
    re.IGNORECASE,
)
_HIDDEN: Final = "\ufffc"
"""In place of the characters of a link."""
_MOST_DATES: Final = 20
"""Dates without a clear meaning that are kept for one reference."""


class _Extent(NamedTuple):
    """Where the links of a reference are."""

    start: int
    end: int
    last: int
    """Where the last link begins."""
    first: int
    """Where the first link ends."""


class _Floor(NamedTuple):
    """The end of the date before."""

    end: int
    cuts: bool
    """Whether that date says nothing of when the page was seen."""


def read_prose(text: str, registry: Registry) -> Iterator[FoundReference]:
    """Yield the references in *text*, in order, each with the date that belongs to it."""
    links = [*find_links(text)]
    yield from dated(text, links or find_hosts(text), registry)


def dated(
    text: str, links: Iterable[TextLink], registry: Registry, *, only_marked: bool = False
) -> Iterator[FoundReference]:
    """Yield the references of *links*, with the dates that are around them in *text*.

    *only_marked*: only dates of access or of an archived copy.
    """
    # Of the same length, so that positions stay.
    text = _INLINE.sub(lambda tag: " " * len(tag[0]), text)
    listed = [*links]
    places = [*merged_places(text, [read_place(link, registry) for link in listed])]
    spans = [_extent(place) for place in places]
    by_place = _assigned(text, spans, [link.span for link in listed])
    for number, place in enumerate(places):
        dates = by_place[number]
        if place.own is None and not any(date.basis in _SEEN for date in dates):
            dates = [*_unread(text, spans, number, dates), *dates]
        if only_marked:
            dates = [date for date in dates if date.basis in ("archived", "accessed")]
        yield _found(place, dates)


def _extent(place: LinkPlace) -> _Extent:
    return _Extent(
        place.start, place.end, place.last or place.start, place.first or place.link.span.end
    )


def read_citation(
    written: Sequence[str], span: TextSpan, dates: Sequence[FoundDate], registry: Registry
) -> FoundReference:
    """Return the reference of a citation whose fields have the identifiers *written*.

    The first that can be resolved is used.
    """
    links = [TextLink(span, text, meant(text) or text) for text in written]
    places = [read_place(link, registry) for link in links]
    first = next((place for place in places if place.kind == "reference"), places[0])
    others = [place for place in places if place is not first]
    opaque = [place for place in others if place.kind == "opaque"]
    merged = first._replace(
        others=(*first.others, *(place.identifier for place in others)),
        names_copy=first.names_copy or (bool(opaque) and first.own is None),
        archived=first.archived or (opaque[0].archived if opaque else None),
    )
    return _found(merged, dates)


def _found(place: LinkPlace, dates: Sequence[FoundDate]) -> FoundReference:
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
            *([_INCOMPLETE] if incomplete else []),
            *([_JOINED] if place.link.lines else []),
        ),
        place.trouble,
        incomplete,
    )


def _chosen(place: LinkPlace, dates: Sequence[FoundDate]) -> ChosenDate:
    chosen = choose(dates[:_MOST_DATES], place.own)
    if place.names_copy and chosen.at is None:
        # The reference names a copy, but the time of that copy is not known.
        return chosen._replace(doubt=True)
    return chosen


def _assigned(
    text: str, spans: Sequence[_Extent], links: Sequence[TextSpan]
) -> dict[int, list[FoundDate]]:
    """Return the dates of each reference; it may have several *links*."""
    assigned: dict[int, list[FoundDate]] = defaultdict(list)
    if not spans:
        return assigned
    starts = [span.start for span in spans]
    near = [*_near(spans, len(text))]
    # "/page12 March 2014" is no day.
    shown = masked(text, links, _HIDDEN)
    dates = [*_outside(_within(shown, near, find_dates), links)]
    others = [
        date
        for date in _outside(_within(shown, near, other_dates), links)
        if not _taken(date, dates)
    ]
    # Fourteen digits that are a time are nothing else.
    only_marked = {date.start for date in others if len(date.text) != _STAMP_LENGTH}
    floor = 0
    last: DateBasis = "unmarked"
    for_all: list[tuple[FoundDate, range]] = []
    for date in sorted([*dates, *others]):
        after = bisect_left(starts, date.start)
        number = _owner(text, spans, after, date)
        is_new = last not in _SEEN
        basis = _basis(text, spans, date, _Floor(floor, is_new), number)
        if basis in _WEAK_BASES and last != "beside" and _continues(text, floor, date):
            basis = last
        last = basis
        if basis in _WEAK_BASES and (
            date.start in only_marked or len(assigned[number]) >= _MOST_DATES
        ):
            continue
        each = found_date(date, basis)
        assigned[number].append(each)
        if basis == "accessed" and _FOR_ALL.search(
            text, max(floor, date.start - 30), date.start
        ):
            # As a heading, it is also of what follows.
            end = len(spans) if date.end <= starts[number] else number
            for_all.append((each, range(max(0, number - _MOST_DATES), end)))
        floor = date.end
    _give_to_all(assigned, for_all)
    return assigned


def _give_to_all(
    assigned: dict[int, list[FoundDate]], for_all: Iterable[tuple[FoundDate, range]]
) -> None:
    """Add the dates of several references to those of them that have none."""
    for date, numbers in for_all:
        for number in numbers:
            if not assigned[number]:
                assigned[number].append(date)


def _continues(text: str, end: int, date: WrittenDate) -> bool:
    """Whether *date* is one more of the kind before it, which ends at *end*."""
    is_year = date.moment is not None and len(date.moment.digits) == 4
    return not is_year and _AND_ALSO.fullmatch(text, end, date.start) is not None


def _unread(
    text: str, spans: Sequence[_Extent], number: int, dates: Iterable[FoundDate]
) -> Iterator[FoundDate]:
    """Yield what is written around a reference instead of a date of access."""
    start, end = spans[number][:2]
    after = spans[number + 1].start if number + 1 < len(spans) else len(text)
    line = text.rfind("\n", max(0, start - _REACH), start) + 1 or max(0, start - _REACH)
    is_first = not number or spans[number - 1].end <= line
    unread = unread_date(
        text[line:start] if is_first else "", text[end : min(after, end + _REACH)]
    )
    if unread is not None and not any(
        len(str(date.moment or "")) != len("2010") and date.text in unread.text
        for date in dates
    ):
        yield unread


def _near(spans: Sequence[_Extent], length: int) -> Iterator[TextSpan]:
    """Yield the ranges of a text in which a date can belong to one of *spans*."""
    start = end = 0
    for span in spans:
        if span.start - _FAR > end:
            yield TextSpan(start, end)
            start = max(0, span.start - _FAR)
        end = min(length, span.end + _FAR)
    yield TextSpan(start, end)


def _within(
    text: str, ranges: Iterable[TextSpan], find: Callable[[str], Iterator[WrittenDate]]
) -> Iterator[WrittenDate]:
    """Yield the dates in *ranges*; a date that is cut at a limit is not one."""
    for start, end in ranges:
        first = max(0, start - _REACH)
        for date in find(text[first : end + _REACH]):
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


def _owner(text: str, spans: Sequence[_Extent], after: int, date: WrittenDate) -> int:
    """Return the reference to which *date* belongs; *after* is the first one behind it."""
    if after == 0:
        return 0
    if after == len(spans) or date.start < spans[after - 1].end:
        return after - 1
    gap_before = text[spans[after - 1].end : date.start]
    gap_after = text[date.end : spans[after].start]
    # In brackets of its own after the link: "URL (accessed 5 November 2010)".
    is_inside = _OPENED.match(gap_before) and _CLOSED.match(gap_after)
    breaks = -1 if is_inside else _breaks(gap_before) - _breaks(gap_after)
    if breaks:
        return after if breaks > 0 else after - 1
    if _CONNECTED.fullmatch(gap_after):
        is_marked = mark_before(gap_before[-_REACH:]) is not None
        if is_marked or not _is_punctuation(gap_before):
            return after
    if _is_punctuation(gap_before) or not _SENTENCE.search(gap_before):
        return after - 1
    closer = mark_before(gap_before[-_REACH:]) == "accessed" and "\n" not in gap_before
    return after - 1 if closer else after


def _breaks(gap: str) -> int:
    lines = gap.count("\n")
    return 0 if not lines else 2 if lines > 1 and not gap.strip() else 1 + ("\n\n" in gap)


def _is_punctuation(gap: str) -> bool:
    return all(character in _AROUND_DATE for character in gap)


def _basis(
    text: str, spans: Sequence[_Extent], date: WrittenDate, floor: _Floor, number: int
) -> DateBasis:
    """Return what *date* is the date of."""
    span = spans[number]
    if span.start < date.start < span.end:
        # Between a link and the archive link of the same page.
        span = span._replace(end=min(span.first, date.start), last=span.start)
    begin = max(floor.end, date.start - _REACH, span.end if span.end <= date.start else 0)
    is_far = date.end <= span.start and not _is_near(text[date.end : span.start])
    is_cut = floor.cuts and begin == floor.end > 0
    marked = _marked(text, date, begin, is_cut=is_cut, is_far=is_far)
    is_told = date.end <= span.start and _VERB.match(text, date.end) is not None
    if marked is not None and not is_told:
        return marked
    if basis := _basis_of_place(text, span, date):
        return basis
    if len(date.text) == _STAMP_LENGTH and _CDX_KEY.search(text[begin : date.start]):
        return "archived"
    return "published" if _is_in_parentheses(text, span, date) else "unmarked"


def _basis_of_place(text: str, span: _Extent, date: WrittenDate) -> DateBasis | None:
    """Return what a date beside the link, or in brackets of its own, is the date of."""
    if span.end <= date.start and _ON.fullmatch(text, span.end, date.start):
        words = text[max(0, span.last - _REACH) : span.last]
        if mark := _MARK_BEFORE_LINK.search(words):
            return "archived" if mark["archived"] else "accessed"
        if basis := mark_before(words):
            return basis
    if _is_beside(text, span, date):
        return "beside"
    if _is_in_brackets(text, span, date) or _is_after_link(text, span, date):
        return "accessed"
    return None


def _is_near(gap: str) -> bool:
    """Whether *gap*, between a date and a link, is the end of a note or connects them."""
    return gap[:1] in (")", "]") or _CONNECTED.fullmatch(gap) is not None


def _marked(
    text: str, date: WrittenDate, begin: int, *, is_cut: bool, is_far: bool
) -> DateBasis | None:
    """Return what the words around *date* say of it; those before it are from *begin* on."""
    is_year = date.moment is not None and len(date.moment.digits) == 4
    before = text[begin : date.start]
    after = text[date.end : date.end + 24]
    marked = mark_before(before, year=is_year, cut=is_cut, after=after, far=is_far)
    return marked or mark_after(after, before)


def _is_in_brackets(text: str, span: _Extent, date: WrittenDate) -> bool:
    """Whether a day stands in square brackets beside the link, as many write that of access."""
    bracketed = text[date.start - 1 : date.start] == "[" and _PARENTHESIS_ENDS.match(
        text, date.end
    )
    gap = text[span.end : date.start] if span.end <= date.start else text[date.end : span.start]
    return (
        bool(bracketed) and _is_day(date) and len(gap) <= _BRACKET_GAP and _is_punctuation(gap)
    )


def _is_after_link(text: str, span: _Extent, date: WrittenDate) -> bool:
    """Whether a day is alone in parentheses right after the link: "URL (22. Aug. 2011)"."""
    gap = text[span.end : date.start] if span.end <= date.start else ""
    gap = _WEEKDAY.sub("", gap)
    is_alone = _PARENTHESIS_ENDS.match(text, date.end) is not None
    return _is_day(date) and is_alone and _PARENTHESIS_AFTER.fullmatch(gap) is not None


def _is_day(date: WrittenDate) -> bool:
    """Whether a day is meant, even if it is not certain which."""
    moments = (date.moment,) if date.moment else date.readings
    return all(len(moment.digits) >= len("20101105") for moment in moments)


def _is_in_parentheses(text: str, span: _Extent, date: WrittenDate) -> bool:
    """Whether the date is alone in parentheses after the link, or as in a citation.

    In a citation, the sentence does not go on after the parentheses.
    """
    if not date.start or text[date.start - 1] not in _PARENTHESES:
        return False
    end = _PARENTHESIS_ENDS.match(text, date.end)
    if end is not None and span.end <= date.start:
        gap = text[span.end : date.start]
        return bool(_PARENTHESIS_AFTER.fullmatch(gap) or _AFTER_TITLE.fullmatch(gap))
    return end is not None and _GOES_ON.match(text, end.end()) is None


def _is_beside(text: str, span: _Extent, date: WrittenDate) -> bool:
    """Whether the line has nothing but the reference and the date."""
    first, last = min(span.start, date.start), max(span.end, date.end)
    between = (
        text[span.end : date.start] if date.start >= span.end else text[date.end : span.start]
    )
    if len(between) > 12 or not _is_punctuation(_AT.sub("", between)):
        return False
    start = text.rfind("\n", 0, first) + 1
    end = text.find("\n", last)
    end = len(text) if end < 0 else end
    if first - start > 12 or end - last > 12:
        return False
    before = text[start:first]
    if first == date.start:
        before = _WEEKDAY.sub("", before)
    outside = before + text[last:end]
    return not any(character.isalpha() for character in outside) and not re.search(
        r"[0-9]{4}", outside
    )
