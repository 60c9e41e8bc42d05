"""Reader of HTML: the links of a page, and what Robust Links say about them."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from archives.moment import Moment
from archives.regex_compat import compiled
from timegate.identifiers import KINDS
from timegate.references import Item, TextSpan
from timegate.references.dates import FoundDate, field_date, noted_dates
from timegate.text.html import ascii_lower, decode_entities, next_tag, page_text

_ATTRIBUTE: Final = compiled(
    r"[\s/]*+([^\s/>=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"']++)))?+"
)
_IDENTIFIERS: Final = (
    *("http://", "https://", "urn:"),
    *(prefix for kind in KINDS for prefix in kind.prefixes),
)


_TAG: Final = compiled(r"</?[A-Za-z][^<>]{0,8000}>|<!--|&nbsp;|&#160;|&#xa0;", re.IGNORECASE)
_TIME: Final = compiled(
    r"<time\s(?:[^<>]{0,500}\s)?datetime\s{0,4}=\s{0,4}[\"']?([0-9][0-9T:.Z+ -]{3,40})",
    re.IGNORECASE,
)
_LONGEST_TIME: Final = 200
ORDINAL: Final = compiled(r"<sup>(?:st|nd|rd|th|er|re|o|a|e)</sup>", re.IGNORECASE)
"""The ending of an ordinal number, as in 5<sup>th</sup>."""
_BLOCK: Final = compiled(
    r"</?(?:p|div|li|ul|ol|br|tr|td|th|table|h[1-6]|section|article|dd|dt|blockquote|hr)\b",
    re.IGNORECASE,
)


class Anchor(NamedTuple):
    """A link of a page."""

    references: tuple[str, ...]
    """The link to a copy first: it is the most specific."""
    span: TextSpan
    """Where the address is."""
    dates: tuple[FoundDate, ...]
    """The date of a Robust Link."""


def read_html(document: str) -> Iterator[Item]:
    """Yield an item for each link of *document*, in order."""
    text = page_text(document.encode(errors="surrogateescape"))
    for position, anchor in enumerate(html_anchors(text)):
        dates = tuple(date.text for date in anchor.dates)
        yield Item(position, anchor.references[0], anchor.references, dates)


def html_anchors(text: str) -> Iterator[Anchor]:
    """Yield the links of a page that have a host."""
    anchors = [*_anchors(text)]
    added = Counter(
        attributes["add_date"][0] for attributes in anchors if "add_date" in attributes
    )
    for attributes in anchors:
        values = {name: value for name, (value, _) in attributes.items()}
        references = tuple(_references(values))
        if references:
            span = attributes.get("href", next(iter(attributes.values())))[1]
            dates = tuple(_dates(values))
            if "add_date" in values and added[values["add_date"]] > 1:
                # A program has imported these bookmarks, and no reader saved them.
                dates = tuple(map(_uncertain, dates))
            yield Anchor(references, span, dates)


def _uncertain(date: FoundDate) -> FoundDate:
    known = date.basis == "accessed" and date.moment is not None
    return (
        date._replace(moment=None, readings=(date.moment,)) if known and date.moment else date
    )


def _dates(values: Mapping[str, str]) -> Iterator[FoundDate]:
    """Yield the dates in the attributes of a link."""
    yield from field_date(values.get("data-versiondate", ""), "archived")
    yield from noted_dates(values.get("title", "")[:_LONGEST_TITLE])
    yield from _saved(values)


def _saved(values: Mapping[str, str]) -> Iterator[FoundDate]:
    """Yield the time of a bookmark: its page was open when it was saved, and visited last."""
    last = [*_counted(values.get("last_visit", ""))]
    added = [*_counted(values.get("add_date", values.get("time_added", "")))]
    if last and added and last[0].text[:_DAY] != added[0].text[:_DAY]:
        # Either may be meant.
        yield _uncertain(last[0])
        yield added[0]._replace(basis="unmarked")
        return
    yield from last or added


_DAY: Final = len("2010-11-05")


def _counted(count: str) -> Iterator[FoundDate]:
    if known := _COUNT.fullmatch(count):
        time = Moment.of(datetime.fromtimestamp(int(known["seconds"]), UTC))
        yield FoundDate(str(time), time, "accessed")
    elif count.strip("0"):
        yield FoundDate(count, None, "accessed")


_COUNT: Final = compiled(r"(?P<seconds>[6-9][0-9]{8}|1[0-9]{9})(?:[0-9]{3}|[0-9]{6})?")
"""Seconds, milliseconds or microseconds since 1970."""
_LONGEST_TITLE: Final = 300


def visible_text(text: str) -> str:
    """Return *text* without tags: blanks and line breaks are in their places."""
    text = ORDINAL.sub(lambda ending: " " * len(ending[0]), text)
    lower = ascii_lower(text)
    pieces, at = [], 0
    while tag := _TAG.search(text, at):
        end = tag.end()
        if tag[0] == "<!--":
            closing = text.find("-->", end)
            end = len(text) if closing < 0 else closing + 3
        elif name := _HIDING.match(lower, tag.start()):
            closing = lower.find(f"</{name[1]}", end)
            end = end if closing < 0 else closing
        blank = "\n" if _BLOCK.match(tag[0]) else " "
        if time := _TIME.match(tag[0]):
            # The date as the page states it, in place of the words for it.
            blank = f" {time[1]}"
            closing = lower.find("</time", end, end + _LONGEST_TIME)
            end = end if closing < 0 else closing
        pieces += [text[at : tag.start()], blank.ljust(end - tag.start())]
        at = end
    return "".join([*pieces, text[at:]])


_HIDING: Final = compiled(r"<(script|style|template|textarea)\b")


def _anchors(text: str) -> Iterator[dict[str, tuple[str, TextSpan]]]:
    """Yield the attributes of each ``a``, and where they are; the first of a name counts."""
    lower = ascii_lower(text)
    at = 0
    while tag := next_tag(lower, at):
        at = tag.end
        if tag.name == "a":
            attributes: dict[str, tuple[str, TextSpan]] = {}
            at = tag.start + len("<a")
            while attribute := _ATTRIBUTE.match(text, at):
                name, *values = attribute.groups(default="")
                group = next((n for n in (2, 3, 4) if attribute[n] is not None), 1)
                span = TextSpan(*attribute.span(group))
                value = decode_entities("".join(values)).strip()
                attributes.setdefault(ascii_lower(name), (value, span))
                at = attribute.end()
            yield attributes


def _references(attributes: Mapping[str, str]) -> Iterator[str]:
    """Yield the links of an anchor, the link to a copy first: it is the most specific."""
    # Robust Links allow several copies, separated by spaces.
    copies = attributes.get("data-versionurl", "").split()[:1]
    named = [*copies, attributes.get("href", ""), attributes.get("data-originalurl", "")]
    for link in dict.fromkeys(named):
        if link.startswith("//"):
            yield f"https:{link}"
        elif link.lower().startswith(_IDENTIFIERS):
            yield link
