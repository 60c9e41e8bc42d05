"""Reader of BibTeX: entries, macros and links with their positions, for rewriting."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from timegate.references import TextSpan
from timegate.references.dates import FoundDate, field_date, noted_dates, unread_date
from timegate.references.mistyped_links import goes_on_with_sign
from timegate.references.model import ReferencePlace, cited
from timegate.references.named_copies import IDENTIFIER
from timegate.references.quotations import only_quotation
from timegate.references.tex_links import ESCAPE, without_tex
from timegate.references.wikitext import IsArchiveLink

_START: Final = compiled(r"^[ \t]{0,64}@([A-Za-z]{1,64})[ \t\r\n]{0,64}[{(]", re.MULTILINE)
_NEXT: Final = compiled(r"[\s,]*+[})][ \t]*+@([A-Za-z]{1,64})[ \t\r\n]{0,64}[{(]")
_FIELD: Final = compiled(r"[\s,]*+([A-Za-z][A-Za-z0-9_:.+-]*+)\s*+=\s*+")
_KEY: Final = compiled(r"[^,=\"{}]*+,")
_BARE: Final = compiled(r"[^\s,{}\"#]++")
_JOIN: Final = compiled(r"\s*+#\s*+")
_DELIMITER: Final = compiled(r"[{}\"]")
_AFTER_VALUE: Final = compiled(r"\s*+(?:[,#})]|\Z)")
_NOT_READ: Final = ("comment", "preamble")
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
)
_MOST_FIELDS: Final = 1000
_LONGEST_MACRO: Final = 2048
_LONGEST: Final = 8192
"""Characters of a concatenated value: nested macros could grow without end."""

Macros = Mapping[str, str]


class Value(NamedTuple):
    """The value of a field."""

    text: str
    span: TextSpan | None
    """Where the text is in the file; None if the value was concatenated."""
    trouble: str = ""
    """Why the value could not be read; empty if it could."""


EntryFields = dict[str, Value]


def entries(text: str) -> Iterator[EntryFields]:
    """Yield the fields of every entry, in order; the first of equal names counts."""
    starts = [*_START.finditer(text)]
    ends = [*(match.start() for match in starts[1:]), len(text)]
    macros: dict[str, str] = {}
    for start, end in zip(starts, ends, strict=False):
        opening: re.Match[str] | None = start
        while opening is not None and opening[1].lower() not in _NOT_READ:
            fields, at = _fields(text, opening.end(), end, macros)
            if opening[1].lower() == "string":
                macros |= {
                    name: value.text
                    for name, value in fields.items()
                    if not value.trouble and len(value.text) <= _LONGEST_MACRO
                }
            else:
                yield fields
            # Another entry on the same line.
            opening = _NEXT.match(text, at, end)


def _fields(text: str, start: int, end: int, macros: Macros) -> tuple[EntryFields, int]:
    """Return the fields of the entry whose brace opens before *start*, and their end."""
    fields: EntryFields = {}
    key = _KEY.match(text, start, end)
    at = key.end() if key else start
    while len(fields) < _MOST_FIELDS and (match := _FIELD.match(text, at, end)):
        value, at = _value(text, match.end(), end, macros)
        fields.setdefault(match[1].lower(), value)
    return fields, at


def _value(text: str, start: int, end: int, macros: Macros) -> tuple[Value, int]:
    """Return the value, concatenated from pieces separated by ``#``, and its end."""
    value, at = _piece(text, start, end, macros)
    while join := _JOIN.match(text, at, end):
        piece, at = _piece(text, join.end(), end, macros)
        value = _joined(value, piece)
    return value, at


def _joined(one: Value, other: Value) -> Value:
    trouble = one.trouble or other.trouble
    if len(one.text) + len(other.text) > _LONGEST:
        return Value(
            "", None, trouble or f"longer than {_LONGEST} characters after concatenation"
        )
    return Value(one.text + other.text, None, trouble)


def _piece(text: str, start: int, end: int, macros: Macros) -> tuple[Value, int]:
    """Return one piece without its braces or quotes, and its end including them."""
    opening = text[start : start + 1]
    if opening in ("{", '"'):
        closing = _balanced(text, start + 1, end, "}" if opening == "{" else '"')
        return Value(text[start + 1 : closing], TextSpan(start + 1, closing)), closing + 1
    bare = _BARE.match(text, start, end)
    stop = bare.end() if bare else start
    return _word_value(text[start:stop], TextSpan(start, stop), macros), stop


def _word_value(word: str, span: TextSpan, macros: Macros) -> Value:
    """Return the value of *word*: a number or month stands for itself, others are macros."""
    known = macros.get(word.lower())
    if known is not None:
        return Value(known, None)
    # A URL without braces is not valid BibTeX, but the meaning is clear.
    if not word or word[0].isdigit() or "://" in word or word.lower() in _MONTHS:
        return Value(word, span)
    return Value(
        word, span, f"the macro {word[:64]} is not defined before this entry, or is too long"
    )


def _balanced(text: str, start: int, end: int, closing: str) -> int:
    """Return the index of the matching *closing* character; *end* if it is missing."""
    depth = 0
    for match in _DELIMITER.finditer(text, start, end):
        if match[0] == closing and depth == 0 and not _is_accent(text, match.start()):
            return match.start()
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
    return end


def _is_accent(text: str, at: int) -> bool:
    r"""Whether the quotation mark *at* is TeX's accent, as in ``Plankalk\"ul``.

    BibTeX demands braces around it. Wikipedia's citations of its own pages have none.
    """
    return text[at - 1 : at + 1] == '\\"' and _AFTER_VALUE.match(text, at + 1) is None


_URL: Final = compiled(
    rf"(?:{IDENTIFIER})?+https?://(?:{ESCAPE}|[^\s{{}}<>\"\\])++", re.IGNORECASE
)
_COMMAND: Final = compiled(r"\\[A-Za-z]++|[{}]")
_LONGEST_NOTE: Final = 80
_AFTER_LINK: Final = ",;.:!?'"
_LINKS: Final = ("archiveurl", "url", "link")
_WITH_LINKS: Final = (*_LINKS, "howpublished", "note", "eprint", "addendum")
_ACCESS_DATES: Final = (
    *("urldate", "lastaccessed", "lastaccess", "lastchecked", "accessed", "accessdate"),
    *("access-date", "lastvisited", "visited", "retrieved"),
)
_MADE: Final = ("timestamp", "date-added", "creationdate", "added-at")
"""When programs made an entry: JabRef, BibDesk, BibSonomy."""
_MONTH_NUMBERS: Final = frozenset(map(str, range(1, 13))) | {f"{n:02}" for n in range(1, 10)}
_NOTHING: Final = Value("", None)

Fields = Mapping[str, Value]


def read_bibtex(text: str, is_archive_link: IsArchiveLink) -> Iterator[ReferencePlace]:
    """Yield the reference of every entry that has one, in order."""
    places = (_place(text, fields, is_archive_link) for fields in entries(text))
    for position, place in enumerate(filter(None, places)):
        yield place._replace(item=place.item._replace(position=position))


def _place(text: str, fields: Fields, is_archive_link: IsArchiveLink) -> ReferencePlace | None:
    links = [
        link
        for name in _WITH_LINKS
        if name in fields and not fields[name].trouble
        for link in _links(fields[name], whole=name in _LINKS)
    ]
    doi = _plain(fields, "doi")
    if doi.startswith("10."):
        links.append((f"https://doi.org/{doi}", None))
    elif doi.startswith(("http://", "https://")):
        links.append((doi, None))
    if not links:
        return _without_link(fields)
    # A link into an archive is the most specific: it states page and time.
    archived = next(
        (link for link in links if is_archive_link(link[0]) or not link[0].startswith("http")),
        None,
    )
    first = archived or links[0]
    references = (first[0], *(link for link, _ in links if link != first[0]))
    date = fields.get("archivedate")
    title = _COMMAND.sub("", _plain(fields, "title"))
    altered = any(_is_cut(fields[name]) for name in _WITH_LINKS if name in fields)
    place = cited(references, _dates(fields), altered=altered)._replace(title=title)
    place = place._replace(item=place.item._replace(quote=_quotation(fields)))
    if archived is None and date is None:
        return _with_room(text, fields, place)
    link, span = archived[1] if archived else None, date.span if date else None
    return place._replace(link=link, date=span)


def _quotation(fields: Fields) -> str:
    """Return the quotation of an entry: a field of its own, or the only one in a note."""
    for name in ("quote", "quotation"):
        if quote := _plain(fields, name):
            return quote
    notes = (only_quotation(_plain(fields, name)) for name in _NOTES)
    return next(filter(None, notes), "")


_NOTES: Final = ("note", "annote", "annotation", "addendum")


def _with_room(text: str, fields: Fields, place: ReferencePlace) -> ReferencePlace:
    """Return *place* with new fields for the archive link and its date, after its link."""
    named = next((fields[name] for name in _WITH_LINKS if name in fields), None)
    if named is None or named.span is None:
        return place
    end = named.span.end
    end += text[end : end + 1] in ("}", '"')
    new = TextSpan(end, end)
    return place._replace(
        link=new,
        date=new,
        before_link=",\n  archiveurl = {",
        before_date=",\n  archivedate = {",
        after="}",
        where=new,
    )


def _without_link(fields: Fields) -> ReferencePlace | None:
    """Return the text of a link field without a URL, to be resolved or reported as refused."""
    for name in _LINKS:
        value = fields.get(name, _NOTHING)
        text = _COMMAND.sub("", without_tex(value.text)).strip()
        if text or value.trouble:
            dates = _dates(fields)
            return cited((text or name,), dates, value.trouble)
    return None


def _links(value: Value, *, whole: bool) -> Iterator[tuple[str, TextSpan | None]]:
    """Yield the links in *value*; in prose, without the punctuation after them."""
    for match in _URL.finditer(value.text):
        link = match[0] if whole else _without_punctuation(match[0])
        span = None
        if value.span is not None:
            start = value.span.start + match.start()
            span = TextSpan(start, start + len(link))
        yield without_tex(link), span


def _is_cut(value: Value) -> bool:
    """Whether a link may go on after a sign of TeX that was not understood."""
    ends = (match.end() for match in _URL.finditer(value.text))
    return any(goes_on_with_sign(value.text, end) for end in ends)


def _without_punctuation(link: str) -> str:
    end = len(link)
    unopened = link.count(")") - link.count("(")
    while link[end - 1] in _AFTER_LINK or (link[end - 1] == ")" and unopened > 0):
        end -= 1
        unopened -= link[end] == ")"
    return link[:end]


def _dates(fields: Fields) -> tuple[FoundDate, ...]:
    """Return the dates of an entry; without any, the day on which it was made, in doubt."""
    made = (each for name in _MADE for each in field_date(_plain(fields, name), "unmarked"))
    return tuple(_stated_dates(fields)) or tuple(made)


def _access_dates(text: str) -> Iterator[FoundDate]:
    """Yield the date of access in a field, also among words: "Accessed on: May 5th, 2010"."""
    for stated in field_date(text, "accessed"):
        noted = [] if stated.moment or stated.readings else [*noted_dates(text)]
        yield noted[0]._replace(basis="accessed") if len(noted) == 1 else stated


def _access_in_parts(fields: Fields) -> str:
    """Return the date in the fields urlyear, urlmonth and urlday; empty if there is none."""
    year, month, day = (_plain(fields, f"url{part}") for part in ("year", "month", "day"))
    if not year or month.isalpha():
        return " ".join(filter(None, (day, month, year))) if year else ""
    return "-".join(part.zfill(2) for part in (year, month, day) if part)


def _stated_dates(fields: Fields) -> Iterator[FoundDate]:
    yield from field_date(_plain(fields, "archivedate"), "archived")
    for name in _ACCESS_DATES:
        yield from _access_dates(_plain(fields, name))
    yield from field_date(_access_in_parts(fields), "accessed")
    for name in ("url", "note", "howpublished", "addendum"):
        note = _URL.sub(" ", _plain(fields, name))
        noted = [*noted_dates(note)]
        yield from noted
        unread = unread_date("", f"({note[:_LONGEST_NOTE]})")
        if unread is not None and not any(date.basis == "accessed" for date in noted):
            yield unread
    yield from field_date(_plain(fields, "date"), "published")
    year, month = _plain(fields, "year"), _plain(fields, "month")
    if year and month:
        yield from field_date(_month_first(month, year), "published")
    yield from field_date(year, "published")


def _month_first(month: str, year: str) -> str:
    return (
        f"{year}-{int(month):02}" if month in _MONTH_NUMBERS else f"{month.capitalize()} {year}"
    )


def _plain(fields: Fields, name: str) -> str:
    """Return the text of a field without braces and ties; empty if there is none."""
    value = fields.get(name)
    if value is None or value.trouble:
        return ""
    return value.text.replace("~", " ").strip("{}[] \t\r\n")
