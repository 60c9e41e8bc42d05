"""TimeMaps in link-format (RFC 7089 5), decoded at a million links a second.

There are four readers of the same grammar with the same result, each for the text that the one
before it cannot read: lines that differ in their times and the end of their addresses only;
whole runs of lines exactly as the common software writes them; memento links in any form that
is short and without escapes; and `linkformat`, which reads all links.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from archives.diagnostics import Malformed
from archives.formats.httpdate import (
    DAY_NAMES,
    MINUTES,
    SECONDS,
    WEEKDAYS,
    stamp_from_http_date,
)
from archives.formats.linkformat import (
    BLANK,
    DAY_COMMA,
    ENDS,
    NAME_CHARACTER,
    Link,
    LinkSplitter,
    link,
    resolved,
)
from archives.formats.rows import (
    DAYS,
    LONGEST_ITEM,
    AlikeRows,
    ListDecoder,
    Row,
    TimeMapPage,
    UnreadableItem,
    plain,
)
from archives.model import Relation
from archives.regex_compat import compiled

# One link a line, as the Internet Archive, OpenWayback, MemGator and pywb (with its collection)
# write it. `[^>]` is much faster than a larger set; line breaks and angle brackets in the match
# are counted afterwards, and DAYS checks the date.
_USUAL: Final = compiled(
    r'^<(https?://[^>]{1,7000}+)>; rel="(?:memento|(?:first |last |prev |next ){1,4}+memento)'
    r'"; datetime="(.{16}) ([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]) GMT"'
    r'(?:; collection="[^"\\]{0,200}+")?+,\n',
    re.MULTILINE,
)


# The first of lines that are alike: the beginning of its address, its stamp, the end.
_ALIKE: Final = compiled(
    r"<(https?://[^<>\s]{1,200}?)[0-9]{14}(?![0-9])[!-;=?-~]{0,3500}+"
    r'(>; rel="memento"; datetime=")[^"]{29}("(?:; collection="[!#-;=?-\[\]-~]{0,200}+")?+,)\n'
)
_SUFFIX: Final = compiled(r"(?![0-9])[!-;=?-~]{0,3500}+")
_DATE_LENGTH: Final = len("Thu, 31 May 2007 20:35:00 GMT")
_MOST_SUFFIXES: Final = 20
"""A page has few spellings in the addresses of one list."""


def _any_case(*words: str) -> str:
    """Return a pattern of *words* in any case, faster than a flag."""
    return "|".join("".join(f"[{c}{c.upper()}]" for c in word) for word in words)


# Any order, any case, any quotes, other parameters between. Every part is bounded, so that a
# link stays below LONGEST_ITEM: 3500 for the target, at most 9 parameters of 470.
_GAP: Final = BLANK + "{0,6}+"
_BARE: Final = rf"""(?!["']){DAY_COMMA}[^;,<>"\r\n]{{0,400}}+"""
_ESCAPES: Final = r'(?:\\[^\r\n][^"\\\r\n]{0,40}+){0,5}+'
_VALUE: Final = rf"""(?:"[^"\\\r\n]{{0,200}}+{_ESCAPES}"|'[^'\r\n]{{0,400}}+'|{_BARE})"""
_PARAMETER: Final = rf"{NAME_CHARACTER}{{1,40}}+(?:{_GAP}={_GAP}{_VALUE})?+"
_OTHERS: Final = (
    rf"(?:{_GAP};{_GAP}(?!(?:{_any_case('rel', 'datetime', 'anchor')})(?!{NAME_CHARACTER}))"
    rf"{_PARAMETER}){{0,3}}+"
)
_ORDER: Final = f"(?:{_any_case('first', 'last', 'prev', 'next')})"
_MEMENTO: Final = (
    rf"[ \t]{{0,6}}+(?:{_ORDER}[ \t]{{1,6}}+){{0,4}}+{_any_case('memento')}"
    rf"(?:[ \t]{{1,6}}+{_ORDER}){{0,4}}+[ \t]{{0,6}}+"
)
_REL: Final = (
    rf"{_GAP};{_GAP}{_any_case('rel')}{_GAP}={_GAP}"
    rf"""(?:"{_MEMENTO}"|'{_MEMENTO}'|{_MEMENTO}(?=[;,<\r\n]))"""
)
_BARE_DATE: Final = rf"(?:{'|'.join(WEEKDAYS)}), [0-9][^\"';,<>\r\n]{{23}}"
_DATETIME: Final = (
    rf"{_GAP};{_GAP}{_any_case('datetime')}{_GAP}={_GAP}"
    rf"""(?:"(?=[^"]{{29}}")|'(?=[^']{{29}}')|(?={_BARE_DATE}[ \t]{{0,6}}+[;,<\r\n]))"""
    r"(.{16}) ([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]) GMT[\"']?+"
)
_ANY: Final = compiled(
    rf"[ \t\r\n,;]*+(?:<([^<>\r\n]{{1,3500}}+)>{_OTHERS}"
    rf"(?:{_REL}{_OTHERS}{_DATETIME}|{_DATETIME}{_OTHERS}{_REL}){_OTHERS}{_GAP}{ENDS}"
    # Another link.
    rf"|<([^<>\r\n]{{0,3500}}+)>((?:{_GAP};{_GAP}(?:{_PARAMETER})?+){{0,9}}+){_GAP}{ENDS})"
    # Neither, or too long: all text up to the next line that begins with a link.
    r"|([\s\S][^\n]*+(?:\n(?![ \t]*+<)[^\n]*+)*+\n?+)"
)

_new: Final = tuple.__new__  # half the time of Row(...), which is a Python function
_ABSOLUTE: Final = ("http://", "https://")
_LINK_FORMAT: Final = "application/link-format"
_RELATIONS: Final[tuple[Relation, ...]] = ("first", "prev", "next", "last")


class LinkTimeMap(ListDecoder):
    """Reads a TimeMap in link-format."""

    def __init__(self, base_url: str) -> None:
        super().__init__(base_url)
        self._splitter = LinkSplitter()

    def _take(self, text: str, *, last: bool) -> tuple[Sequence[Row], str]:
        # A line that begins with "<" begins a link: the text before the last one is complete.
        end = text.rfind("\n<") + 1
        start = _first_usual(text, end)
        usual: Sequence[Row] | None = None
        if start < end:
            usual = _alike_rows(text, start, end) or _usual_rows(text, start, end)
        if usual is None:
            return self._take_any(text, last=last)
        before: list[Row] = []
        if start:
            before, _ = self._take_any(text[:start], last=False, whole=True)
        self._splitter.recover()
        rest = text[end:]
        after: list[Row] = []
        if last or len(rest) > LONGEST_ITEM:
            after, rest = self._take_any(rest, last=last)
        return [*before, *usual, *after] if before or after else usual, rest

    def _take_any(self, text: str, *, last: bool, whole: bool = False) -> tuple[list[Row], str]:
        """Read links in any form; with *whole*, another link follows *text*."""
        rows: list[Row] = []
        rest = damaged = ""
        # Bytes beyond ASCII must be decoded: then no target can be used as it is.
        usable = _ABSOLUTE if text.isascii() else ()
        found = _ANY.findall(text)
        for number, item in enumerate(found, 1):
            uri, day, h, m, s, late, late_h, late_m, late_s, target, params, damaged = item
            if uri:
                try:
                    stamp = f"{DAYS[day or late]}{h or late_h}{m or late_m}{s or late_s}"
                    if not uri.startswith(usable):
                        uri = self._absolute(plain(uri))
                    rows.append(_new(Row, (stamp, uri, None, None, None, None, None, None)))
                except UnreadableItem:
                    self.skipped += 1
            elif not damaged:
                self._read_link(rows, link(target, params))
            else:
                if number > 1:
                    self._splitter.recover()
                followed = whole or number < len(found)
                more, rest = self._take_links(damaged, last=last, whole=followed)
                rows += more
        if not damaged:
            self._splitter.recover()
        return rows, rest

    def _take_links(self, text: str, *, last: bool, whole: bool) -> tuple[list[Row], str]:
        splitter = self._splitter
        found, rest = splitter.split(text, last=last or whole)
        rows: list[Row] = []
        cut = False
        for target, params in found:
            cut = not self._read_link(rows, link(target, params))
        self.skipped += splitter.skipped
        splitter.skipped = 0
        if splitter.oversized:
            self.note_shortfall(f"an item of more than {LONGEST_ITEM} bytes")
        if last and not whole and (splitter.unfinished or cut):
            self.note_shortfall("it ends inside a link")
        splitter.unfinished = False
        return rows, rest

    def _read_link(self, rows: list[Row], found: Link) -> bool:
        """Read one link; return False if it is incomplete or unreadable."""
        rels = found.rels
        try:
            uri = self._absolute(found.target)
            if self._has_other_context(found):
                self._no_captures += 1
                return True
            self._note_relations(uri, found)
            if "memento" in rels:
                rows.append(Row(_stamp(found, "datetime"), uri))
            else:
                self._no_captures += 1
        except UnreadableItem:
            self.skipped += 1
            return False
        return bool(rels)

    def _without_capture(self) -> int:
        return self.skipped + self._no_captures

    def _absolute(self, target: str) -> str:
        uri = resolved(target, self.base_url)
        if not uri:
            raise UnreadableItem(target)
        return uri

    def _note_relations(self, uri: str, found: Link) -> None:
        if "original" in found.rels:
            self.original = self.original or uri
        if "timegate" in found.rels:
            self.timegate = self.timegate or uri
        # MemGator links its JSON and CDXJ formats as timemaps too: they are not pages.
        same_format = found.params.get("type", _LINK_FORMAT).startswith(_LINK_FORMAT)
        if "timemap" in found.rels and "self" not in found.rels and same_format:
            self._add_page(
                TimeMapPage(uri, _optional(found, "from"), _optional(found, "until"))
            )

    def _has_other_context(self, found: Link) -> bool:
        if found.anchor is None or self.original is None:
            return False
        context = resolved(found.anchor, self.base_url) or ""
        return context.rstrip("/") != self.original.rstrip("/")


def neighbours(links: Iterable[Link], base_url: str) -> dict[Relation, Row]:
    """Return the mementos with the relations first, prev, next and last."""
    found: dict[Relation, Row] = {}
    for each in links:
        relations = [relation for relation in _RELATIONS if relation in each.rels]
        uri, stamp = resolved(each.target, base_url), _optional(each, "datetime")
        if relations and "memento" in each.rels and uri and stamp:
            found = dict.fromkeys(relations, Row(stamp, uri)) | found
    return found


def _stamp(found: Link, name: str) -> str:
    try:
        return stamp_from_http_date(found.params.get(name, "").strip(" \t"))
    except Malformed as error:
        raise UnreadableItem(name) from error


def _optional(found: Link, name: str) -> str | None:
    try:
        return _stamp(found, name)
    except UnreadableItem:
        return None


def _first_usual(text: str, end: int) -> int:
    """Return the start of the first line in the usual form; *end* if the last is not in it."""
    last_line = text.rfind("\n", 0, max(end - 1, 0)) + 1
    if not _USUAL.match(text, last_line, end):
        return end
    match = _USUAL.search(text, 0, end)
    return match.start() if match else end


def _alike_rows(text: str, start: int, end: int) -> AlikeRows | None:
    """Read lines that have the address of one place and dates that agree with their stamps.

    None if one is different. The dates are not read: they are written from the stamps, and
    compared.
    """
    first = _ALIKE.match(text, start, end)
    if first is None:
        return None
    prefix, before_date, after_date = first.groups()
    lines = text[start : end - 1].split("\n")
    at = len(prefix) + 1
    after_stamp = at + 14
    tail = -len(before_date) - _DATE_LENGTH - len(after_date)
    if len({line[:at] for line in lines}) > 1:
        return None
    stamps = [line[at:after_stamp] for line in lines]
    suffixes = [line[after_stamp:tail] for line in lines]
    kinds = set(suffixes)
    if len(kinds) > _MOST_SUFFIXES or not all(map(_SUFFIX.fullmatch, kinds)):
        return None
    days, minutes = DAY_NAMES, MINUTES
    try:
        dated = [
            f"{before_date}{days[s[:8]]} {minutes[s[8:12]]}:{s[12:]} GMT{after_date}"
            for s in stamps
        ]
    except KeyError:
        return None
    if dated != [line[tail:] for line in lines] or not {s[12:] for s in stamps} <= SECONDS:
        return None
    return AlikeRows(prefix, stamps, suffixes, [line[1:tail] for line in lines])


def _usual_rows(text: str, start: int, end: int) -> list[Row] | None:
    """Read lines that are all in the usual form; None if one of them is not."""
    lines = text.count("\n", start, end)
    if text.count("<", start, end) != lines or "\r" in text or not text.isascii():
        return None
    found = _USUAL.findall(text, start, end)
    if len(found) != lines:
        return None
    days, new, row, nothing = DAYS, _new, Row, (None,) * 6
    try:
        return [
            new(row, (f"{days[day]}{hour}{minute}{second}", uri, *nothing))
            for uri, day, hour, minute, second in found
        ]
    except UnreadableItem:
        return None
