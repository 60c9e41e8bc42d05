"""Which format a list has: by the name of its file, else by a look at how it begins."""

import re
from pathlib import PurePath
from typing import Final, Literal

InputFormat = Literal["lines", "csv", "jsonl", "bibtex", "wikitext"]

_SUFFIXES: Final[dict[str, InputFormat]] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".bib": "bibtex",
    ".bibtex": "bibtex",
    ".wiki": "wikitext",
    ".wikitext": "wikitext",
    ".mediawiki": "wikitext",
}
_ENTRY: Final = re.compile(r"^[ \t]{0,8}@[A-Za-z]{1,30}[ \t]{0,8}[{(]", re.MULTILINE)
_WIKI: Final = re.compile(r"\{\{|\[\[|<ref|^==", re.MULTILINE | re.IGNORECASE)
_LOOK: Final = 8192


def format_of(name: str, beginning: bytes) -> InputFormat:
    """Return the format of the list *name* that begins like *beginning*."""
    known = _SUFFIXES.get(PurePath(name).suffix.lower())
    return known or _looked(beginning[:_LOOK].decode(errors="replace").lstrip("\ufeff \r\n\t"))


def _looked(text: str) -> InputFormat:
    if text.startswith(('{"', '{ "', '"')):
        # A table may begin with a quoted heading; a line of JSON ends where its string does.
        first = text.partition("\n")[0].rstrip()
        return "jsonl" if first.startswith("{") or first.count('"') == 2 else "csv"
    if _ENTRY.search(text):
        return "bibtex"
    if _WIKI.search(text):
        return "wikitext"
    lines = [line for line in text.splitlines()[:-1] or [text] if line.strip()]
    for delimiter in ",;\t":
        if lines and all(delimiter in line for line in lines) and " " not in lines[0]:
            return "csv"
    return "lines"
