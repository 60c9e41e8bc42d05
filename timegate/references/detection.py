"""Which format a list or a document has, by its name and by how it begins."""

import json
import re
from collections.abc import Sequence
from itertools import pairwise, zip_longest
from pathlib import PurePath
from typing import Final

from archives.regex_compat import compiled
from timegate.references import InputFormat
from timegate.references.broken_lines import has_broken_pwid
from timegate.references.dates import basis_of_name
from timegate.references.lines import REFERENCE_HEADINGS
from timegate.references.links import find_links
from timegate.references.ris import is_of_refworks
from timegate.references.xml_lists import is_xml
from timegate.text.written_dates import whole_date

_SUFFIXES: Final[dict[str, InputFormat]] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".bib": "bibtex",
    ".bibtex": "bibtex",
    ".wiki": "wikitext",
    ".wikitext": "wikitext",
    ".mediawiki": "wikitext",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".xml": "xml",
    ".ris": "ris",
    ".md": "markdown",
    ".markdown": "markdown",
    ".rst": "rst",
    ".tex": "latex",
    ".docx": "docx",
    ".pdf": "pdf",
}
_ENTRY: Final = compiled(r"^[ \t]{0,8}@[A-Za-z]{1,30}[ \t]{0,8}[{(]", re.MULTILINE)
_WIKI: Final = compiled(
    r"\{\{|\[\[(?![0-9]{4},)|<ref(?:erences)?(?:[>/]|\s{0,4}$|\s{1,4}(?:name|group|follow|extends|details|/|>))|^==",
    re.MULTILINE | re.IGNORECASE,
)
"""The element ``ref`` of wikis; that of JATS has an id."""
PAGE: Final = compiled(r"<(?:!doctype html|html|head|body)\b", re.IGNORECASE)
_LINK: Final = compiled(r"<a\s[^<>]{0,999}href\s{0,9}=", re.IGNORECASE)
_JSON: Final = compiled(r"\[\s*+(?:[{\"]|\[\s*+\"(?:urlkey|timestamp|original)\")|\{\s*+\"")
_LOOK: Final = 8192
_LONGEST_HEADING: Final = 40
_UNSUPPORTED: Final = (
    (b"\xd0\xcf\x11\xe0", "an old office file: save it as .docx or as text"),
    (b"\x1f\x8b", "a compressed file: unpack it first"),
    (b"\xff\xfe", "a text in UTF-16: save it as UTF-8"),
    (b"\xfe\xff", "a text in UTF-16: save it as UTF-8"),
)
_QUOTED: Final = compiled(r"\"(?:urn:(?:pwid|duri):|pwid:|duri:)", re.IGNORECASE)
"""An identifier in quotation marks, which may be broken into lines."""
_SETTINGS: Final = compiled(r"\[[A-Za-z]{1,40}\]\r?\n\w{1,40}=|BEGIN:V[A-Z]{3,12}\r?\n")
"""A shortcut to a page, as browsers save it; a calendar, or a card of an address."""
_LINK_HEADER: Final = compiled(r"<[^\s<>]{1,8000}+>[ \t]{0,4};[^\n]{0,200}?\brel=")
"""The value of the header Link, or a TimeMap."""
_PATH_END: Final = compiled(r"^[^\s:\"]{0,200}(?:\.[a-z]{3,5}|=[^\s=]{1,80}|/)$", re.IGNORECASE)
"""The rest of a link after a comma: ``adults.html``, ``station=12``."""
_SAMPLE: Final = 20
_QUOTED_CELL: Final = compiled(r"\"(?:[^\"]|\"\")*+\"\s{0,2}(?:[,;\t]|$)")
_RIS: Final = compiled(r"^TY  ?- ", re.MULTILINE)
BEGINS_WITH_REFERENCE: Final = compiled(
    r"[<\"']?(?:(?:view-source:)?[a-z]{3,6}://|urn:|pwid:|duri:|tdb:|doi:|10\.[0-9]{4}|www\."
    r"|[a-z0-9-]{1,63}\.[a-z0-9.-]{2,200}(?:[/:,;\s]|$))",
    re.IGNORECASE,
)


def format_of(name: str, beginning: bytes) -> InputFormat:
    """Return the format of the list called *name* that begins with *beginning*."""
    text = beginning[:_LOOK].decode(errors="replace").lstrip("\ufeff \r\n\t")
    named = format_of_name(name)
    if named == "json" and _begins_with_a_whole_line(text, last=False):
        return "jsonl"
    return named or detected(text)


def format_of_name(name: str) -> InputFormat | None:
    """Return the format that the suffix of a file name stands for; None if unknown."""
    return _SUFFIXES.get(PurePath(name).suffix.lower())


def office_format(name: str, beginning: bytes) -> InputFormat | None:
    """Return the format of a document that is not text; None if it is text."""
    if beginning.startswith(b"%PDF-"):
        return "pdf"
    if beginning.startswith(b"PK\x03\x04"):
        return "docx" if PurePath(name).suffix.lower() in (".docx", "") else None
    return None


def unsupported(beginning: bytes) -> str:
    """Return what a file that is certainly not a list is, and what to do; else nothing."""
    if beginning.startswith(b"PK\x03\x04"):
        return "a ZIP or office file: save it as .docx, CSV or text"
    return next((hint for mark, hint in _UNSUPPORTED if beginning.startswith(mark)), "")


def detected(text: str) -> InputFormat:
    if text.startswith('"') and not _QUOTED.match(text):
        # A CSV table may begin with a quoted heading; a JSON string is a whole line.
        first, _, rest = text.partition("\n")
        if first.rstrip(" ,\r").endswith('"') and first.count('"') == 2:
            return "jsonl"
        if not _QUOTED_CELL.match(first):
            return _detected_markup(text)
        return "csv" if rest.strip() or next(find_links(first), None) is None else "text"
    if _JSON.match(text):
        return "jsonl" if _begins_with_a_whole_line(text, last=True) else "json"
    return _detected_markup(text)


def _detected_markup(text: str) -> InputFormat:
    if PAGE.match(text):
        return "html"
    marks: tuple[tuple[InputFormat, re.Pattern[str]], ...] = (
        ("bibtex", _ENTRY),
        ("ris", _RIS),
        ("wikitext", _WIKI),
        ("html", _LINK),
    )
    found = next((form for form, mark in marks if mark.search(text)), None)
    found = found or ("ris" if is_of_refworks(text) else None)
    return found or ("xml" if is_xml(text) else _plain(text))


def _plain(text: str) -> InputFormat:
    whole = text.splitlines()
    lines = [line for line in whole[:-1] or [text] if line.strip()]
    for delimiter in ",;\t":
        in_all = bool(lines) and all(delimiter in line for line in lines)
        if not in_all or len(whole) <= 1:
            continue
        is_table = " " not in lines[0] and _has_column_of_links(whole, delimiter)
        is_table = is_table and not _may_be_links(lines, delimiter)
        if is_table or _is_heading(lines[0], delimiter):
            return "csv"
    listed = [line.split() for line in whole if line.strip() and line.lstrip()[0] != "#"]
    # A list has no lines of words; one word that is no reference is an entry with a fault.
    is_prose = any(
        len(words) > 1 and not BEGINS_WITH_REFERENCE.match(words[0]) for words in listed
    )
    # A table with pipes, and the settings of a shortcut.
    is_table = bool(lines) and all("|" in line for line in lines)
    is_output = _SETTINGS.match(text) or _LINK_HEADER.match(text)
    is_prose = is_prose or is_table or is_output is not None
    is_cut = any(link.incomplete and "." in link.identifier for link in find_links(text))
    is_broken = is_cut or _is_broken(listed) or has_broken_pwid(text)
    return "text" if is_prose or is_broken else "lines"


def _has_column_of_links(lines: Sequence[str], delimiter: str) -> bool:
    """Whether half of the cells of a column are links: it is not a list with numbers."""
    rows = [line.split(delimiter) for line in lines[: _SAMPLE + 1] if line.strip()]
    has_heading = len(rows) > 1 and next(find_links(lines[0]), None) is None
    body = rows[1:] if has_heading else rows
    links = [sum(map(_is_link, column)) for column in zip_longest(*body, fillvalue="")]
    # Links alone are a list with punctuation at the ends of its lines.
    has_more = any(any(map(_is_link, row)) and len([*filter(None, row)]) > 1 for row in body)
    return has_more and 2 * max(links, default=0) >= len(body)


def _is_link(cell: str) -> bool:
    word = cell.strip(" \"'")
    return " " not in word and BEGINS_WITH_REFERENCE.match(word) is not None


def _may_be_links(lines: Sequence[str], delimiter: str) -> bool:
    """Whether the *delimiter* may be a part of links: what follows it looks like a path."""
    for line in lines[:_SAMPLE]:
        cells = line.split(delimiter)
        is_link = BEGINS_WITH_REFERENCE.match(line) is not None
        if is_link and any(_PATH_END.search(cell) for cell in cells[1:]):
            return True
    return False


def _is_heading(line: str, delimiter: str) -> bool:
    """Whether *line* names the columns of a table, one of them that of the links."""
    cells = [cell.strip(' "').lower() for cell in line.split(delimiter)]
    if any(len(cell) > _LONGEST_HEADING for cell in cells):
        return False
    # "Source URL"; in a table with tabs, "Date accessed" is enough.
    names_links = any(cell.split()[-1:] in _LAST_WORDS for cell in cells)
    names_access = delimiter == "\t" and any(
        basis_of_name(cell) == "accessed" for cell in cells
    )
    is_named = any(cell in REFERENCE_HEADINGS for cell in cells) or names_links or names_access
    return is_named and next(find_links(line), None) is None


_LAST_WORDS: Final = (["url"], ["uri"], ["urls"], ["hyperlink"], ["link"])


def _is_broken(lines: list[list[str]]) -> bool:
    """Whether an identifier is broken into lines, or a date is on a line of its own."""
    words = [line[0] for line in lines]
    return any(
        last.endswith(":") or whole_date(word) is not None for last, word in pairwise(words)
    )


def _begins_with_a_whole_line(text: str, *, last: bool) -> bool:
    """Whether the first line is a whole JSON object; *last*: it may be the only line."""
    first, line_break, rest = text.partition("\n")
    if not first.startswith("{") or not (last or rest.strip()):
        return False
    if not line_break:
        # The line may be cut off here; a pretty-printed object would have a line break by now.
        return True
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return True
