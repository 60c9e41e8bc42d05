"""The list itself: a file or standard input, read item by item in whatever format it has."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO, Final

from archives.reading import Malformed
from archives.registry import Registry
from timegate.bulk.bibtex import read_bibtex
from timegate.bulk.candidates import is_reference
from timegate.bulk.formats import InputFormat, foreign, format_of, said_by
from timegate.bulk.hypertext import read_html
from timegate.bulk.item import BadInput, Item
from timegate.bulk.json_items import read_json
from timegate.bulk.lines import read_jsonl, read_plain
from timegate.bulk.place import ReferencePlace, read_document
from timegate.bulk.table import Columns, read_table
from timegate.bulk.wikitext import read_wikitext
from timegate.identifiers import parse

_BUFFER: Final = 1 << 16
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
            return parse(text, self._registry).scheme == "replay"
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
