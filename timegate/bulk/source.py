"""The list itself: a file or standard input, read item by item in whatever format it has."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO, Final

from archives.reading import Malformed
from archives.registry import Registry
from timegate.bulk.bibtex import read_bibtex
from timegate.bulk.candidates import is_reference
from timegate.bulk.formats import InputFormat, format_of
from timegate.bulk.item import BadInput, Item
from timegate.bulk.lines import read_jsonl, read_plain
from timegate.bulk.place import Place, read_document
from timegate.bulk.table import Columns, read_table
from timegate.bulk.wikitext import read_wikitext
from timegate.identifiers import parse

_BUFFER: Final = 1 << 16
_DOCUMENTS: Final = {"wikitext": read_wikitext, "bibtex": read_bibtex}


class Source:
    """A list of references. Raises BadInput where it cannot be read."""

    def __init__(
        self, name: str, form: InputFormat | None, columns: Columns, registry: Registry
    ) -> None:
        """*name* is a path, or ``-`` for standard input; *form* None to find out."""
        self.name = name
        self._columns = columns
        self._registry = registry
        self.document: str | None = None
        """The whole text of a document; None for lists, which are read as a stream."""
        with self._stream() as stream:
            self.form: InputFormat = form or format_of(name, _beginning(stream))
            if self.form in _DOCUMENTS:
                self.document = read_document(stream)

    @property
    def repeatable(self) -> bool:
        """Whether the items can be read more than once."""
        return self.name != "-" or self.document is not None

    def items(self) -> Iterator[Item]:
        """Yield the references."""
        if self.document is not None:
            for place in self.places():
                yield place.item
            return
        with self._stream() as stream:
            if self.form == "csv":
                yield from read_table(stream, self._columns, self._is_reference)
            else:
                yield from (read_jsonl if self.form == "jsonl" else read_plain)(stream)

    def places(self) -> Iterator[Place]:
        """Yield the references of a document with their places."""
        if self.document is not None:
            yield from _DOCUMENTS[self.form](self.document, self._is_archive_link)

    def _stream(self) -> AbstractContextManager[BinaryIO]:
        if self.name == "-":
            return nullcontext(sys.stdin.buffer)
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
