"""The list itself: a file or standard input, read item by item in whatever format it has."""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path, PurePath
from typing import BinaryIO, Final, Literal

from archives.diagnostics import Malformed
from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.batch.bibtex import read_bibtex
from timegate.batch.lines import Columns, read_json, read_jsonl, read_plain, read_table
from timegate.batch.model import BadInput, Item, ReferencePlace, is_reference
from timegate.batch.wikitext import read_wikitext
from timegate.identifiers import KINDS, parse
from timegate.text.html import ascii_lower, decode_entities, next_tag, page_text

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
_ENTRY: Final = compiled(r"^[ \t]{0,8}@[A-Za-z]{1,30}[ \t]{0,8}[{(]", re.MULTILINE)
_WIKI: Final = compiled(r"\{\{|\[\[|<ref|^==", re.MULTILINE | re.IGNORECASE)
_PAGE: Final = compiled(r"<(?:!doctype html|html|head|body)\b", re.IGNORECASE)
_LINK: Final = compiled(r"<a\s[^<>]{0,999}href\s{0,9}=", re.IGNORECASE)
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


_ATTRIBUTE: Final = compiled(
    r"[\s/]*+([^\s/>=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"']++)))?+"
)
_IDENTIFIERS: Final = (
    *("http://", "https://", "urn:"),
    *(prefix for kind in KINDS for prefix in kind.prefixes),
)


def read_html(document: str) -> Iterator[Item]:
    """Yield the links of *document*, in order."""
    position = 0
    for attributes in _anchors(page_text(document.encode(errors="surrogateescape"))):
        references = tuple(_references(attributes))
        if references:
            dates = tuple(filter(None, [attributes.get("data-versiondate", "")]))
            yield Item(position, references[0], references, dates)
            position += 1


def _anchors(text: str) -> Iterator[Mapping[str, str]]:
    """Yield the attributes of each ``a``; of equal ones the first counts."""
    lower = ascii_lower(text)
    at = 0
    while tag := next_tag(lower, at):
        at = tag.end
        if tag.name == "a":
            attributes: dict[str, str] = {}
            at = tag.start + len("<a")
            while attribute := _ATTRIBUTE.match(text, at):
                name, *values = attribute.groups(default="")
                attributes.setdefault(
                    ascii_lower(name), decode_entities("".join(values)).strip()
                )
                at = attribute.end()
            yield attributes


def _references(attributes: Mapping[str, str]) -> Iterator[str]:
    """Yield the link and its like, the copy first: it says most."""
    # Robust Links allow several copies, with blanks between.
    copies = attributes.get("data-versionurl", "").split()[:1]
    named = [*copies, attributes.get("href", ""), attributes.get("data-originalurl", "")]
    for link in dict.fromkeys(named):
        if link.startswith("//"):
            yield f"http:{link}"
        elif link.lower().startswith(_IDENTIFIERS):
            yield link


_BUFFER: Final = 1 << 16
MOST_OCTETS: Final = 64 * 1024 * 1024
_REWRITTEN: Final = {"wikitext": read_wikitext, "bibtex": read_bibtex}
_WHOLE: Final = {"json": read_json, "html": read_html}
_COUNTS: Final[Mapping[InputFormat, str]] = {
    "lines": "every line counts that does not begin with #",
    "csv": "every row counts that has something in the column of references",
    "json": "each value of the list counts",
    "jsonl": "every line counts",
    "bibtex": "entries count that have a link",
    "wikitext": "archive links count, and citations whose link is said to be dead",
    "html": "links count that say their host",
}
_ENDINGS: Final = ".csv, .json, .jsonl, .bib, .wiki, .html"


class ListSource:
    """A list of references. Raises BadInput where it cannot be read."""

    def __init__(
        self, name: str, form: InputFormat | None, columns: Columns, registry: Registry
    ) -> None:
        """*name* is a path, or ``-`` for standard input; *form* None to find out."""
        self.name = name
        self._columns = columns
        self._registry = registry
        self._empty = False
        self.document: str | None = None
        """The whole text of a document; None for lists, which are read as a stream."""
        with self._stream() as stream:
            # Who says the format may write the list bit by bit: nothing is waited for.
            self.form: InputFormat = form or self._looked_at(_beginning(stream))
            if self.form in _REWRITTEN or self.form in _WHOLE:
                self.document = read_document(stream)
        self._guessed = form is None and said_by(name) is None

    def _looked_at(self, beginning: bytes) -> InputFormat:
        """Return the format of a list that begins like *beginning*. Raises BadInput."""
        trouble = foreign(beginning)
        if trouble:
            raise BadInput(trouble)
        self._empty = not beginning.strip()
        return format_of(self.name, beginning)

    @property
    def repeatable(self) -> bool:
        """Whether the items can be read more than once."""
        return self.name != "-" or self.document is not None

    def none_found(self) -> str:
        """Say why there are no references. Raises BadInput where the format was misjudged."""
        if self._empty:
            return "no references: the list is empty"
        told = f"no references in it: it was read as {self.form}, where {_COUNTS[self.form]}"
        if self._guessed and self.document is not None:
            raise BadInput(f"{told}; the name of a file can say its format ({_ENDINGS})")
        return told

    def items(self) -> Iterator[Item]:
        """Yield the references."""
        if self.document is not None:
            yield from self._of_document(self.document)
            return
        with self._stream() as stream:
            if self.form == "csv":
                yield from read_table(stream, self._columns, self._is_reference)
            else:
                yield from (read_jsonl if self.form == "jsonl" else read_plain)(stream)

    def places(self) -> Iterator[ReferencePlace]:
        """Yield the references of a document that can be rewritten, with their places."""
        if self.document is not None and self.form in _REWRITTEN:
            yield from _REWRITTEN[self.form](self.document, self._is_archive_link)

    def _of_document(self, document: str) -> Iterator[Item]:
        if self.form in _WHOLE:
            yield from _WHOLE[self.form](document)
        else:
            yield from (place.item for place in self.places())

    def _stream(self) -> AbstractContextManager[BinaryIO]:
        if self.name == "-":
            return nullcontext(sys.stdin.buffer)
        if Path(self.name).is_fifo():
            # It is opened several times, and whatever the first look took would be lost.
            raise BadInput("a pipe, read only once: send it to standard input, and give -")
        try:
            return Path(self.name).open("rb", _BUFFER)
        except OSError as error:
            raise BadInput(f"cannot be read: {error.strerror}") from error

    def _is_reference(self, text: str) -> bool:
        return is_reference(text, self._registry)

    def _is_archive_link(self, text: str) -> bool:
        try:
            return parse(text, self._registry).kind.is_archive_link
        except Malformed:
            return False


def _beginning(stream: BinaryIO) -> bytes:
    """Return how *stream* begins, and leave it there."""
    peek = getattr(stream, "peek", None)
    if peek is not None:
        return bytes(peek(_BUFFER))
    beginning = stream.read(_BUFFER)
    stream.seek(0)
    return beginning


def read_document(stream: BinaryIO, most: int = MOST_OCTETS) -> str:
    """Return the whole of *stream*. Raises BadInput where it is too large."""
    octets = stream.read(most + 1)
    if len(octets) > most:
        raise BadInput(f"more than {most >> 20} MB; split the file")
    return octets.decode(errors="surrogateescape")
