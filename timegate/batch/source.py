"""Opens a list, detects its format, and reads its items; also the reader of HTML."""

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
_UNSUPPORTED: Final = (
    (b"%PDF-", "a PDF: save its references as text"),
    (b"PK\x03\x04", "a ZIP or office file: save the list as CSV or text"),
    (b"\x1f\x8b", "a compressed file: unpack it first"),
    (b"\xff\xfe", "a text in UTF-16: save it as UTF-8"),
    (b"\xfe\xff", "a text in UTF-16: save it as UTF-8"),
)


def format_of(name: str, beginning: bytes) -> InputFormat:
    """Return the format of the list called *name* that begins with *beginning*."""
    text = beginning[:_LOOK].decode(errors="replace").lstrip("\ufeff \r\n\t")
    named = format_of_name(name)
    if named == "json" and _begins_with_a_whole_line(text, last=False):
        return "jsonl"
    return named or _detected(text)


def format_of_name(name: str) -> InputFormat | None:
    """Return the format that the suffix of a file name stands for; None if unknown."""
    return _SUFFIXES.get(PurePath(name).suffix.lower())


def unsupported(beginning: bytes) -> str:
    """Return what a file that is certainly not a list is, and what to do; else nothing."""
    return next((hint for mark, hint in _UNSUPPORTED if beginning.startswith(mark)), "")


def _detected(text: str) -> InputFormat:
    if text.startswith('"'):
        # A CSV table may begin with a quoted heading; a JSON string is a whole line.
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


_ATTRIBUTE: Final = compiled(
    r"[\s/]*+([^\s/>=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"']++)))?+"
)
_IDENTIFIERS: Final = (
    *("http://", "https://", "urn:"),
    *(prefix for kind in KINDS for prefix in kind.prefixes),
)


def read_html(document: str) -> Iterator[Item]:
    """Yield an item for each link of *document*, in order."""
    position = 0
    for attributes in _anchors(page_text(document.encode(errors="surrogateescape"))):
        references = tuple(_references(attributes))
        if references:
            dates = tuple(filter(None, [attributes.get("data-versiondate", "")]))
            yield Item(position, references[0], references, dates)
            position += 1


def _anchors(text: str) -> Iterator[Mapping[str, str]]:
    """Yield the attributes of each ``a``; the first of equal names counts."""
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
    """Yield the links of an anchor, the link to a copy first: it is the most specific."""
    # Robust Links allow several copies, separated by spaces.
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
    "lines": "a reference is every line that does not begin with #",
    "csv": "a reference is every row with a value in the reference column",
    "json": "a reference is each value of the list",
    "jsonl": "a reference is every line",
    "bibtex": "a reference is every entry with a link",
    "wikitext": "references are archive links and citations whose link is marked as dead",
    "html": "a reference is every link with a host",
}
_SUFFIX_LIST: Final = ".csv, .json, .jsonl, .bib, .wiki, .html"


class ListSource:
    """A list of references. Raises BadInput if it cannot be read."""

    def __init__(
        self, name: str, form: InputFormat | None, columns: Columns, registry: Registry
    ) -> None:
        """*name* is a path, or ``-`` for standard input; without *form* it is detected."""
        self.name = name
        self._columns = columns
        self._registry = registry
        self._empty = False
        self.document: str | None = None
        """The whole text of a document; None for a list that is read as a stream."""
        with self._stream() as stream:
            # With a given format, nothing is read yet: the input may arrive slowly.
            self.form: InputFormat = form or self._detected(_beginning(stream))
            if self.form in _REWRITTEN or self.form in _WHOLE:
                self.document = read_document(stream)
        self._guessed = form is None and format_of_name(name) is None

    def _detected(self, beginning: bytes) -> InputFormat:
        """Return the format of a list that begins with *beginning*. Raises BadInput."""
        hint = unsupported(beginning)
        if hint:
            raise BadInput(hint)
        self._empty = not beginning.strip()
        return format_of(self.name, beginning)

    @property
    def repeatable(self) -> bool:
        """Whether the items can be read more than once."""
        return self.name != "-" or self.document is not None

    def none_found(self) -> str:
        """Return why there are no references. Raises BadInput if the format was guessed."""
        if self._empty:
            return "no references: the list is empty"
        why = f"no references in it: it was read as {self.form}, where {_COUNTS[self.form]}"
        if self._guessed and self.document is not None:
            raise BadInput(f"{why}; give the file a suffix for its format ({_SUFFIX_LIST})")
        return why

    def items(self) -> Iterator[Item]:
        """Yield the items."""
        if self.document is not None:
            yield from self._of_document(self.document)
            return
        with self._stream() as stream:
            if self.form == "csv":
                yield from read_table(stream, self._columns, self._is_reference)
            else:
                yield from (read_jsonl if self.form == "jsonl" else read_plain)(stream)

    def places(self) -> Iterator[ReferencePlace]:
        """Yield the references of a document that can be rewritten, with their positions."""
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
            # The file is opened several times; a pipe would lose what was read at first.
            raise BadInput(
                "a pipe can be read only once: send it to standard input, and give -"
            )
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
    """Return how *stream* begins, without consuming it."""
    peek = getattr(stream, "peek", None)
    if peek is not None:
        return bytes(peek(_BUFFER))
    beginning = stream.read(_BUFFER)
    stream.seek(0)
    return beginning


def read_document(stream: BinaryIO, most: int = MOST_OCTETS) -> str:
    """Return the whole text of *stream*. Raises BadInput if it is too large."""
    octets = stream.read(most + 1)
    if len(octets) > most:
        raise BadInput(f"larger than {most >> 20} MB; split the file")
    return octets.decode(errors="surrogateescape")
