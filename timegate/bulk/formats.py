"""Which format a list has: by the name of its file, else by a look at how it begins."""

import json
import re
from pathlib import PurePath
from typing import Final, Literal

from archives.possessive import compiled

InputFormat = Literal["lines", "csv", "json", "jsonl", "bibtex", "wikitext", "html"]

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
}
_ENTRY: Final = re.compile(r"^[ \t]{0,8}@[A-Za-z]{1,30}[ \t]{0,8}[{(]", re.MULTILINE)
_WIKI: Final = re.compile(r"\{\{|\[\[|<ref|^==", re.MULTILINE | re.IGNORECASE)
_PAGE: Final = re.compile(r"<(?:!doctype html|html|head|body)\b", re.IGNORECASE)
_LINK: Final = re.compile(r"<a\s[^<>]{0,999}href\s{0,9}=", re.IGNORECASE)
_JSON: Final = compiled(r"\[\s*+[{\"]|\{\s*+\"")
_LOOK: Final = 8192
_FOREIGN: Final = (
    (b"%PDF-", "a PDF: save its references as text"),
    (b"PK\x03\x04", "a ZIP, as office programs write: save the list as CSV or text"),
    (b"\x1f\x8b", "compressed: unpack it first"),
    (b"\xff\xfe", "written in UTF-16: save it as UTF-8"),
    (b"\xfe\xff", "written in UTF-16: save it as UTF-8"),
)


def format_of(name: str, beginning: bytes) -> InputFormat:
    """Return the format of the list *name* that begins like *beginning*."""
    text = beginning[:_LOOK].decode(errors="replace").lstrip("\ufeff \r\n\t")
    said = said_by(name)
    if said == "json" and _begins_with_a_whole_line(text, last=False):
        return "jsonl"
    return said or _looked(text)


def said_by(name: str) -> InputFormat | None:
    """Return the format that the name of a file promises; None where it promises none."""
    return _SUFFIXES.get(PurePath(name).suffix.lower())


def foreign(beginning: bytes) -> str:
    """Say what begins like *beginning* and is no list at all; nothing for what may be one."""
    return next((told for mark, told in _FOREIGN if beginning.startswith(mark)), "")


def _looked(text: str) -> InputFormat:
    if text.startswith('"'):
        # A table may begin with a quoted heading; a line of JSON ends where its string does.
        return "jsonl" if text.partition("\n")[0].rstrip().count('"') == 2 else "csv"
    if _JSON.match(text):
        return "jsonl" if _begins_with_a_whole_line(text, last=True) else "json"
    if _PAGE.match(text):
        return "html"
    if _ENTRY.search(text):
        return "bibtex"
    if _WIKI.search(text):
        return "wikitext"
    return "html" if _LINK.search(text) else _plain(text)


def _plain(text: str) -> InputFormat:
    lines = [line for line in text.splitlines()[:-1] or [text] if line.strip()]
    for delimiter in ",;\t":
        if lines and all(delimiter in line for line in lines) and " " not in lines[0]:
            return "csv"
    return "lines"


def _begins_with_a_whole_line(text: str, *, last: bool) -> bool:
    """Whether the first line is an object by itself; *last* if it may be the only one."""
    first, line_break, rest = text.partition("\n")
    if not first.startswith("{") or not (last or rest.strip()):
        return False
    if not line_break:
        # Maybe cut off; who breaks no line behind the first brace writes one object a line.
        return True
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return True
