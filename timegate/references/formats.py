"""Formats of lists and documents: the references in each."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from io import BytesIO
from typing import Final, NamedTuple, TypeVar

from archives.diagnostics import Malformed
from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.identifiers import parse
from timegate.references import BadInput, InputFormat, Item, TextSpan
from timegate.references.bibtex import read_bibtex
from timegate.references.dates import (
    ChosenDate,
    FoundDate,
    choose,
    field_date,
    is_seen_otherwise,
    known_at,
    noted_dates,
)
from timegate.references.detection import BEGINS_WITH_REFERENCE, PAGE, detected
from timegate.references.hypertext import html_anchors, visible_text
from timegate.references.invisible import VisibleText
from timegate.references.lines import Columns, read_json, read_table
from timegate.references.links import TextLink, find_links, is_identifier
from timegate.references.mistyped_links import ALTERED
from timegate.references.model import (
    FoundReference,
    Notation,
    ReferencePlace,
    cited,
    masked,
    place_of,
)
from timegate.references.own_lines import is_divided
from timegate.references.places import other_page, read_place
from timegate.references.prose import dated, read_citation, read_prose
from timegate.references.records import entries_in_yaml, program_records, with_dates_of_yaml
from timegate.references.ris import read_ris
from timegate.references.wikitext import dead_tags, read_wikitext, template_spans
from timegate.references.xml_lists import (
    attribute_links,
    entries_of,
    with_whole_dates,
    without_tags,
)
from timegate.text.written_dates import find_dates

REWRITTEN: Final[frozenset[InputFormat]] = frozenset(
    ("wikitext", "bibtex", "ris", "html", "markdown", "rst", "latex", "text")
)
"""Documents that can be written again with other links."""
_PROSE: Final = frozenset(("lines", "markdown", "rst", "latex", "text", "docx", "pdf"))


def places_in(
    text: str, form: InputFormat, registry: Registry, now: datetime, *, article: bool = False
) -> Iterator[ReferencePlace]:
    """Yield the references of a document with their positions, in order.

    *article*: of wikitext, only archive links and citations whose link is marked as dead. A
    date of access after *now* is not certain.
    """
    visible = VisibleText.of(text)
    if form == "wikitext" and article:
        places = read_wikitext(visible.text, lambda link: is_archive_link(link, registry))
    else:
        places = _numbered(_places(visible.text, form, registry, now))
    code = _CODE[form].finditer(visible.text) if form in _CODE else ()
    spans = [TextSpan(*match.span()) for match in code]
    for place in places:
        known = _known_at(place, now)
        # Code and comments are resolved, but stay as they are.
        is_code = known.link is not None and is_within(known.link, spans)
        yield visible.placed(known._replace(link=None, where=None) if is_code else known)


_CODE: Final[dict[InputFormat, re.Pattern[str]]] = {
    "markdown": compiled(
        r"^[ \t>]{0,12}(?P<fence>```+|~~~+)[^\n]*\n[\s\S]*?(?:^[ \t>]{0,12}(?P=fence)|\Z)"
        r"|(?P<ticks>`{1,4})(?!`)[^\n]{0,400}?(?<!`)(?P=ticks)(?!`)|<!--[\s\S]*?(?:-->|\Z)",
        re.MULTILINE,
    ),
    "rst": compiled(
        r"^(?P<indent>[ \t]{0,40})\.\.[ ](?:code-block|code|sourcecode|parsed-literal)::"
        r"[^\n]*\n"
        r"(?:(?P=indent)[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\r?\n)*+|``[^\n]{0,400}?``",
        re.MULTILINE,
    ),
    "latex": compiled(
        r"\\begin\{(?P<name>verbatim\*?|lstlisting|minted|comment)\}"
        r"[\s\S]*?(?:\\end\{(?P=name)\}|\Z)"
        r"|\\verb\*?(?P<sign>[^\w\s*])[^\n]{0,400}?(?P=sign)|(?<!\\)%[^\n]*",
    ),
    "html": compiled(
        r"<!--[\s\S]*?(?:-->|\Z)|<(?P<tag>pre|code|script|style|textarea)\b[\s\S]*?(?:</(?P=tag)|\Z)",
        re.IGNORECASE,
    ),
}
"""Code and comments of documents that are rewritten."""


def is_within(span: TextSpan, spans: Sequence[TextSpan]) -> bool:
    """Whether *span* is inside one of *spans*, which are in order."""
    number = bisect_left(spans, span.start + 1, key=lambda each: each.start) - 1
    return number >= 0 and span.start < spans[number].end


def _with_stamp(place: ReferencePlace, registry: Registry) -> ReferencePlace:
    """Return the citation *place* with the time that an id of an archive contains."""
    span = TextSpan(0, 0)
    links = [read_place(TextLink(span, link, link), registry) for link in place.item.references]
    if page := other_page(links):
        note = f"The citation is of {page}, but its archive link is of another page"
        said = ". ".join(filter(None, (place.item.said, note)))
        return place._replace(item=place.item._replace(said=said, doubt=True))
    own = next((link.own for link in links if link.own is not None), None)
    if own is not None and choose(place.dates, own).doubt:
        note = "The date of the archive link differs from the one that is stated for the copy"
        said = ". ".join(filter(None, (place.item.said, note)))
        return place._replace(item=place.item._replace(said=said, doubt=True))
    stamps = [link.archived for link in links if link.archived and link.own is None]
    if not stamps or place.item.trouble:
        return place
    dates = (FoundDate(str(stamps[0]), stamps[0], "archived"), *place.dates)
    item = _again(place, dates)
    item = item._replace(doubt=item.doubt or is_seen_otherwise(stamps[0], place.dates))
    return place._replace(item=item, dates=dates)


def _known_at(place: ReferencePlace, now: datetime) -> ReferencePlace:
    """Return the citation *place* without dates of access after *now*."""
    known = tuple(known_at(place.dates, now))
    if known == place.dates:
        return place
    item = _again(place, known)
    return place._replace(item=item, dates=known)


def _again(place: ReferencePlace, dates: tuple[FoundDate, ...]) -> Item:
    """Return the item of the citation *place* with other *dates*."""
    item = cited(place.item.references, dates, place.item.trouble).item
    said = ". ".join(filter(None, (ALTERED if place.altered else "", item.said)))
    doubt = item.doubt or place.altered
    return item._replace(position=place.item.position, said=said, doubt=doubt)


def extract(text: str, registry: Registry, now: datetime) -> tuple[FoundReference, ...]:
    """Return the references in a pasted *text*, in order, each once.

    A date of access after *now* is not certain.
    """
    shown = text[:MOST_CHARACTERS]
    visible = VisibleText.of(shown)
    shown = visible.text
    form = detected(shown.lstrip(" \r\n\t"))
    if form == "csv" and next(find_links(shown.lstrip().partition("\n")[0]), None):
        # Without a row of headings, it is read line by line.
        form = "text"
    found = _found_anyhow(shown, form, registry)
    first: dict[tuple[object, ...], FoundReference] = {}
    for each in found:
        known = visible.found(each)._replace(dates=each.dates.as_of(now))
        key = each.identifier, known.dates.at
        if known.dates.doubt and not first.get(key, known).dates.doubt:
            # What is in doubt at one of its places is so as a whole.
            first[key] = known
        first.setdefault(key, known)
    return tuple(first.values())


_LONGEST_SNIPPET: Final = 4_000
"""Characters of HTML that is read like prose; on a page, a date may belong to anything."""
MOST_CHARACTERS: Final = 1 << 20
"""Characters of a pasted text that are read."""


def _found_anyhow(text: str, form: InputFormat, registry: Registry) -> list[FoundReference]:
    """Return the references in *text*; if the format has none, those in its words."""
    found = [*_found(text, form, registry)]
    if form not in _PROSE and all(each.kind == "faulty" for each in found):
        return [*_of_prose(text, registry)] or found
    return found


def _of_prose(text: str, registry: Registry) -> Iterator[FoundReference]:
    """Yield the references in the records of programs, and those in the text around them."""
    records = [*program_records(text)]
    if not records:
        text = with_dates_of_yaml(text)
        entries = entries_in_yaml(text)
        links = [link.span.start for link in find_links(text)] if entries else []
        pieces = _divided(text, entries, links)
        for piece in pieces.spans:
            for each in read_prose(text[slice(*piece)], registry):
                yield _of_piece(each, piece, pieces)
        return
    rest = masked(text, [record.span for record in records])
    found = [
        *(read_citation(each.references, each.link, each.dates, registry) for each in records),
        *(read_prose(rest, registry) if next(find_links(rest), None) else ()),
    ]
    yield from sorted(found, key=lambda each: each.span)


def _found(text: str, form: InputFormat, registry: Registry) -> Iterator[FoundReference]:
    if form in _PROSE:
        yield from _of_prose(text, registry)
    elif form == "wikitext":
        yield from _of_wikitext(text, registry)
    elif form == "html":
        yield from _of_html(text, registry)
    elif form == "xml":
        yield from _of_xml(text, registry)
    elif form in ("bibtex", "ris"):
        read = (
            read_ris(text)
            if form == "ris"
            else read_bibtex(text, lambda link: is_archive_link(link, registry))
        )
        for place in read:
            yield _as_found(place, registry)
    else:
        yield from _of_table(text, form, registry)


def _places(
    text: str, form: InputFormat, registry: Registry, now: datetime
) -> Iterator[ReferencePlace]:
    """Yield the references of a document; a link without any time is not rewritten."""
    if form == "wikitext":
        yield from _wikitext_places(text, registry, now)
        return
    if form in ("bibtex", "ris"):
        yield from _entries(text, form, registry)
        return
    whole = text.strip().strip('"\u201c\u201d')
    begins = BEGINS_WITH_REFERENCE.match(whole) is not None
    if form == "text" and "\n" in whole and begins and is_identifier(whole):
        joined = "".join(whole.split())
        yield cited((joined,), ())
        return
    notation: Notation = "plain"
    if form in ("html", "latex"):
        notation = "html" if form == "html" else "tex"
    for found in _found_anyhow(text, form, registry):
        yield place_of(found._replace(dates=found.dates.as_of(now)), notation)


def _entries(text: str, form: InputFormat, registry: Registry) -> Iterator[ReferencePlace]:
    """Yield the entries of BibTeX, or of RIS, in which only archive links are rewritten."""
    if form == "bibtex":
        for place in read_bibtex(text, lambda link: is_archive_link(link, registry)):
            yield _with_stamp(place, registry)
        return
    for place in read_ris(text):
        kept = is_archive_link(place.item.text, registry)
        stamped = _with_stamp(place, registry)
        yield stamped if kept else stamped._replace(link=None)


def _wikitext_places(text: str, registry: Registry, now: datetime) -> Iterator[ReferencePlace]:
    """Yield the citations, and the links outside them; what is not dead is not rewritten."""
    read = read_wikitext(text, lambda _: False, living=True)
    citations = [_with_stamp(place, registry) for place in read]
    bare = [*read_prose(masked(text, template_spans(text)), registry)]
    if not (citations or bare):
        # A template that is no citation may have a link in it.
        bare = [*read_prose(text, registry)]
    outside = [place_of(found._replace(dates=found.dates.as_of(now))) for found in bare]
    places = [
        *citations,
        *(
            place if is_archive_link(place.item.text, registry) else place._replace(link=None)
            for place in outside
        ),
    ]
    places.sort(key=lambda place: place.where or place.link or TextSpan(0, 0))
    where = [place.where or place.link or TextSpan(0, 0) for place in places]
    after = _dates_after(text)
    for number, (place, span) in enumerate(zip(places, where, strict=True)):
        if not (place.dates or place.item.dates or place.item.doubt or place.item.said):
            dates = after(span) if place.link is None or place.link == span else []
            item = cited(place.item.references, tuple(dates), place.item.trouble).item
            if dates:
                places[number] = place._replace(item=item, dates=tuple(dates))
    for number, date in _dead_since(text, where):
        item = places[number].item
        if not (places[number].dates or item.dates or item.doubt or item.said):
            chosen = choose([date])
            item = item._replace(said=". ".join(chosen.said), doubt=True)
            places[number] = places[number]._replace(item=item)
    links = [
        (place.item.references[0], place.where or place.link or TextSpan(0, 0))
        for place in places
    ]
    yield from _of_copies(text, places, links, registry)


def _numbered(places: Iterator[ReferencePlace]) -> Iterator[ReferencePlace]:
    for position, place in enumerate(places):
        yield place._replace(item=place.item._replace(position=position))


def _of_wikitext(text: str, registry: Registry) -> Iterator[FoundReference]:
    """Yield the citations, and the links outside templates with the dates around them."""
    places = read_wikitext(text, lambda _: False, living=True)
    outside = masked(text, template_spans(text))
    found = [
        *(_as_found(place, registry) for place in places),
        *read_prose(outside, registry),
    ]
    found.sort(key=lambda each: each.span)
    after = _dates_after(text)
    for number, each in enumerate(found):
        dates = after(each.span) if each.dates == ChosenDate() else []
        if dates:
            found[number] = each._replace(dates=choose(dates))
    for number, date in _dead_since(text, [each.span for each in found]):
        if found[number].dates == ChosenDate():
            found[number] = found[number]._replace(dates=choose([date]))
    yield from _of_copies(
        text, found, [(each.identifier, each.span) for each in found], registry
    )


_AFTER_TEMPLATE: Final = compiled(r"(?:(?!\{\{|</ref|<ref|https?://)[^\n]){0,120}")


def _dates_after(text: str) -> Callable[[TextSpan], list[FoundDate]]:
    """Return a function for the dates after the template in which a link is, on its line."""
    spans = [*template_spans(text)]
    starts = [span.start for span in spans]

    def dates(link: TextSpan) -> list[FoundDate]:
        number = bisect_left(starts, link.start + 1) - 1
        if number < 0 or spans[number].end < link.end:
            return []
        rest = _AFTER_TEMPLATE.match(text, spans[number].end)
        return [*noted_dates(rest[0])] if rest else []

    return dates


def _dead_since(text: str, spans: Sequence[TextSpan]) -> Iterator[tuple[int, FoundDate]]:
    """Yield the references before a tag of dead links, each with the date of the tag."""
    starts = [span.start for span in spans]
    for tag in dead_tags(text):
        number = bisect_left(starts, tag.start) - 1
        if number >= 0 and not is_divided(text[spans[number].end : tag.start]):
            yield number, tag.date
        elif spans and number < 0 and "\n" not in text[tag.start : spans[0].start]:
            yield 0, tag.date


_SAME_NOTE: Final = 200
"""Characters between a link and the template for the copy of its page."""
T = TypeVar("T")


def _of_copies(
    text: str,
    references: Sequence[T],
    links: Sequence[tuple[str, TextSpan]],
    registry: Registry,
) -> Iterator[T]:
    """Yield *references*; of a link and the copy of the same page beside it, only the copy."""
    for number, (reference, link) in enumerate(zip(references, links, strict=True)):
        following = links[number + 1 : number + 2]
        before = links[max(0, number - 1) : number]
        if any(_is_copy(link, each, registry) for each in following):
            continue
        if not any(_is_beside(text, each, link, registry) for each in before):
            yield reference


def _is_beside(
    text: str, copy: tuple[str, TextSpan], link: tuple[str, TextSpan], registry: Registry
) -> bool:
    """Whether *link* is the page of the *copy* before it on its line."""
    between = text[copy[1].end : link[1].start]
    if len(between) > _SAME_NOTE or "\n" in between or "<ref" in between:
        return False
    return _is_copy((link[0], copy[1]), (copy[0], link[1]), registry)


def _is_copy(
    link: tuple[str, TextSpan], following: tuple[str, TextSpan], registry: Registry
) -> bool:
    (one, place), (other, after) = link, following
    if after.start - place.end > _SAME_NOTE or not other.endswith(one):
        return False
    return is_archive_link(other, registry) and not is_archive_link(one, registry)


def _of_html(text: str, registry: Registry) -> Iterator[FoundReference]:
    """Yield the links, and the addresses in the text, with the dates around them."""
    whole = len(text) > _LONGEST_SNIPPET or PAGE.match(text.lstrip()) is not None
    anchors = [*html_anchors(text)]
    robust = [anchor for anchor in anchors if anchor.dates or len(anchor.references) > 1]
    plain = [anchor for anchor in anchors if anchor not in robust]
    shown = visible_text(text)
    links = [
        TextLink(anchor.span, anchor.references[0], anchor.references[0]) for anchor in plain
    ]
    if not whole:
        links = sorted([*links, *find_links(shown)])
    found = [
        *(read_citation(each.references, each.span, each.dates, registry) for each in robust),
        *dated(shown, links, registry, only_marked=whole),
    ]
    for each in sorted(found, key=lambda each: each.span):
        # A date as the words of a link is that of what it leads to.
        is_title = each.dates.used is not None and _is_words(text, each.span, each.dates.used)
        doubt = each.dates.doubt or is_title
        yield each._replace(dates=each.dates._replace(doubt=doubt)) if is_title else each


_TO_WORDS: Final = compiled(r"[\"']?[^<>]{0,400}>\s{0,8}")


def _is_words(text: str, link: TextSpan, date: FoundDate) -> bool:
    """Whether *date* is the words of the *link* of an anchor."""
    before = _TO_WORDS.match(text, link.end)
    return before is not None and text.startswith(f"{date.text}</a", before.end())


def _of_xml(text: str, registry: Registry) -> Iterator[FoundReference]:
    """Yield the references in the elements and attributes of a list, in order.

    A date in one entry of the list is of no link in another.
    """
    attributes = [*attribute_links(text)]
    links = sorted([*find_links(without_tags(text)), *attributes])
    starts = [link.span.start for link in links]
    entries = entries_of(text, starts)
    shown = without_tags(with_whole_dates(text, entries))
    pieces = _divided(shown, entries, starts)
    for piece in pieces.spans:
        found = dated(shown[slice(*piece)], _links_of(links, attributes, piece), registry)
        yield from (_of_piece(each, piece, pieces) for each in found)


class _Pieces(NamedTuple):
    """A list that is divided into its entries."""

    spans: Sequence[TextSpan]
    """The entries, and what is between them and has links."""
    has_common_date: bool = False
    """Whether there is a date outside the entries, which may be of all of them."""


def _divided(text: str, entries: Sequence[TextSpan], links: Sequence[int]) -> _Pieces:
    """Return *text* divided into *entries*; *links* are where its links begin."""
    if not entries:
        return _Pieces([TextSpan(0, len(text))])
    ends = [0, *(entry.end for entry in entries)]
    starts = [*(entry.start for entry in entries), len(text)]
    gaps = [TextSpan(*pair) for pair in zip(ends, starts, strict=True)]
    linked, is_dated = [], False
    for gap in gaps:
        if bisect_left(links, gap.start) < bisect_left(links, gap.end):
            linked.append(gap)
        else:
            is_dated = is_dated or next(find_dates(text[slice(*gap)]), None) is not None
    return _Pieces(sorted([*entries, *linked]), is_dated)


_COMMON: Final = "A date outside the entries of the list may be of all of them"


def _of_piece(found: FoundReference, piece: TextSpan, pieces: _Pieces) -> FoundReference:
    """Return *found* at its position in the text, in doubt if its date may be outside."""
    found = found._replace(span=_moved(found.span, piece.start))
    if not pieces.has_common_date or found.dates.at is not None or found.dates.doubt:
        return found
    return found._replace(dates=found.dates._replace(doubt=True), notes=(*found.notes, _COMMON))


def _links_of(
    links: Sequence[TextLink], attributes: Sequence[TextLink], entry: TextSpan
) -> list[TextLink]:
    """Return those of *links* that are in *entry*; of *attributes*, what is not named again."""
    inside = [link for link in links if entry.start <= link.span.start < entry.end]
    last = {link.identifier: link.span for link in inside}
    again = {link.span for link in attributes if last.get(link.identifier) != link.span}
    return [
        link._replace(span=_moved(link.span, -entry.start))
        for link in inside
        if link.span not in again
    ]


def _moved(span: TextSpan, by: int) -> TextSpan:
    return TextSpan(span.start + by, span.end + by)


def _of_table(text: str, form: InputFormat, registry: Registry) -> Iterator[FoundReference]:
    """Yield the items of CSV and JSON; nothing if it is neither."""
    try:
        if form == "csv":
            stream = BytesIO(text.encode(errors="surrogateescape"))
            items = [*read_table(stream, Columns(), lambda cell: is_reference(cell, registry))]
        else:
            is_list = form == "jsonl" and "\n" in text.strip()
            items = [*read_json(_as_list(text) if is_list else text)]
    except BadInput:
        return
    for item in items:
        dates = tuple(date for each in item.dates for date in field_date(each, "beside"))
        dates += tuple(field_date(item.published, "published"))
        found = read_citation(item.references, TextSpan(0, 0), dates, registry)
        yield found._replace(dates=found.dates._replace(doubt=found.dates.doubt or item.doubt))


def _as_list(lines: str) -> str:
    return f"[{','.join(line for line in lines.splitlines() if line.strip())}]"


def _as_found(place: ReferencePlace, registry: Registry) -> FoundReference:
    span = place.where or place.link or TextSpan(0, 0)
    found = read_citation(place.item.references, span, place.dates, registry)
    found = found._replace(title=place.title, url_status=place.url_status)
    if place.altered and not found.incomplete:
        dates, notes = found.dates._replace(doubt=True), (*found.notes, ALTERED)
        found = found._replace(incomplete=True, dates=dates, notes=notes)
    trouble = place.item.trouble
    return found._replace(trouble=trouble, kind="faulty") if trouble else found


def is_reference(text: str, registry: Registry) -> bool:
    """Whether *text* is certainly an identifier or URL; a title such as Node.js is not."""
    try:
        reading = parse(text, registry)
    except Malformed:
        return False
    guessed = "scheme-assumed" in {note.token for note in reading.diagnostics}
    return reading.kind.is_reference and not guessed


def is_archive_link(text: str, registry: Registry) -> bool:
    """Whether *text* is a link into an archive of *registry*."""
    try:
        return parse(text, registry).kind.is_archive_link
    except Malformed:
        return False
