"""Opens a list, detects its format, and reads its items."""

import csv
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from archives.diagnostics import Malformed
from archives.moment import Moment
from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.identifiers import parse
from timegate.references import BadInput, InputFormat, Item
from timegate.references.bibtex import entries
from timegate.references.dates import choose, field_date
from timegate.references.detection import (
    format_of,
    format_of_name,
    office_format,
    unsupported,
)
from timegate.references.formats import REWRITTEN, extract, is_reference, places_in
from timegate.references.lines import Columns, read_json, read_jsonl, read_plain, read_table
from timegate.references.links import is_exact, is_identifier
from timegate.references.model import ReferencePlace, place_of, readable_date
from timegate.references.office import read_office
from timegate.references.places import is_other_page
from timegate.references.wikitext import read_wikitext
from timegate.text.times import read_time
from timegate.text.written_dates import whole_date

_BUFFER: Final = 1 << 16
_ZONE: Final = compiled(r"^[0-9]++$|T[0-9]{2}|(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})$")
"""A notation with a time zone, or one that is always in UTC."""
MOST_OCTETS: Final = 64 * 1024 * 1024
_SAMPLE: Final = 20
"""Rows of a table that tell how many columns it has."""
_LONGEST_LIST: Final = 1024 * 1024
"""Characters of a text in which lines without a reference are counted: it is read again."""
_RIS_ENTRY: Final = compiled(r"^(?:TY  -|RT )", re.MULTILINE)
_NO_MEMBER: Final = "the object has no member url, uri, link, href, id, identifier or pwid"
_OFFICE: Final = ("docx", "pdf")
_PLAIN_DOCUMENTS: Final = ("markdown", "rst", "latex", "text", "html")
"""Documents in which the link itself is replaced by one into an archive."""
_COUNTS: Final[Mapping[InputFormat, str]] = {
    "lines": "a reference is every line that does not begin with #",
    "csv": "a reference is every row with a value in the reference column",
    "json": "a reference is each value of the list",
    "jsonl": "a reference is every line",
    "bibtex": "a reference is every entry with a link",
    "wikitext": "references are archive links and citations whose link is marked as dead",
    "html": "a reference is every link with a host",
    "xml": "references are in elements, and in attributes such as href",
    "ris": "a reference is every entry with a link",
    **dict.fromkeys(
        ("markdown", "rst", "latex", "text", "docx", "pdf"), "a reference is every link"
    ),
}
_SUFFIX_LIST: Final = ".csv, .json, .jsonl, .bib, .ris, .wiki, .html, .xml, .md, .rst, .tex"


class ListSource:
    """A list of references. Raises BadInput if it cannot be read."""

    def __init__(  # noqa: PLR0913 -- what a list is, and how it is read
        self,
        name: str,
        form: InputFormat | None,
        columns: Columns,
        registry: Registry,
        at: Moment | None = None,
        *,
        published: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """*name* is a path, or ``-`` for standard input; without *form* it is detected.

        *at* is the time for references without a date. *published*: a date of publication is
        used for a reference without any other.
        """
        self._published = published
        self._default = () if at is None else (str(at),)
        self.name = name
        self._columns = columns
        self._registry = registry
        self._now = now
        self._empty = False
        self.document: str | None = None
        """The whole text of a document; None for a list that is read as a stream."""
        with self._stream() as stream:
            # With a given format, nothing is read yet: the input may arrive slowly.
            self.form: InputFormat = form or self._detected(_beginning(stream))
            if self.form in _OFFICE:
                self.document = read_office(read_octets(stream), self.form)
            elif self.form in REWRITTEN or self.form in ("json", "xml"):
                self.document = read_document(stream)
        self._guessed = form is None and format_of_name(name) is None

    def _detected(self, beginning: bytes) -> InputFormat:
        """Return the format of a list that begins with *beginning*. Raises BadInput."""
        office = office_format(self.name, beginning)
        if office is not None:
            return office
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
            suffix = f"give the file a suffix for its format ({_SUFFIX_LIST})"
            named = "state its format with --input-format"
            raise BadInput(f"{why}; {named if self.name == '-' else suffix}")
        return why

    def lines_without(self) -> int:
        """Return how many lines of a text that is a list have no reference; else 0.

        In a list, every line with a reference begins with it.
        """
        text = self.document
        if self.form != "text" or text is None or len(text) > _LONGEST_LIST:
            return 0
        starts = sorted(place.where.start for place in self.places() if place.where)
        at = without = 0
        for line in text.splitlines(keepends=True):
            begin, at = at, at + len(line)
            first = bisect_left(starts, begin)
            if first < len(starts) and starts[first] < at:
                if text[begin : starts[first]].strip():
                    return 0
            elif line.strip() and not line.startswith("#"):
                without += 1
        return without if without <= len(starts) else 0

    def passed_over(self) -> int:
        """Return how many citations of an article are no references.

        They have no archive link, and their link is not marked as dead.
        """
        text = self.document
        if self.form != "wikitext" or text is None or self._guessed:
            return 0
        every, dead = (
            sum(1 for _ in read_wikitext(text, lambda _: False, living=living))
            for living in (True, False)
        )
        return every - dead

    def entries_without(self) -> int:
        """Return how many entries of BibTeX or RIS have no link, and are no references."""
        text = self.document or ""
        if self.form == "bibtex":
            total = sum(1 for _ in entries(text))
        elif self.form == "ris":
            total = sum(1 for _ in _RIS_ENTRY.finditer(text))
        else:
            return 0
        return max(total - sum(1 for _ in self.places()), 0)

    def items(self) -> Iterator[Item]:
        """Yield the items."""
        if self.document is not None and self.form != "json":
            yield from (place.item for place in self.places())
        else:
            yield from self._expanded(self._listed())

    def places(self) -> Iterator[ReferencePlace]:
        """Yield the references of a document, with their positions."""
        if self.document is not None and self.form != "json":
            # The name of a wiki page: an article, in which living links stay as they are.
            article = not self._guessed
            for place in places_in(
                self.document, self.form, self._registry, self._now(), article=article
            ):
                yield self._dated_place(place)

    def _dated_place(self, place: ReferencePlace) -> ReferencePlace:
        item = self._dated(place.item)
        if item is not place.item and place.link is None and self.form in _PLAIN_DOCUMENTS:
            return place._replace(item=item, link=place.where)
        return place._replace(item=item)

    @property
    def rewritable(self) -> bool:
        """Whether the document can be written again with other links."""
        return self.form in REWRITTEN

    def _listed(self) -> Iterator[Item]:
        if self.document is not None:
            yield from self._of_json(self.document)
            return
        with self._stream() as stream:
            if self.form == "csv":
                _check_numbers(self._columns, _beginning(stream))
                yield from read_table(stream, self._columns, self._is_reference)
            else:
                yield from (read_jsonl if self.form == "jsonl" else read_plain)(stream)

    def _of_json(self, document: str) -> Iterator[Item]:
        """Yield the items of a JSON document; of an unknown one, the links in its text."""
        try:
            items = [*read_json(document)]
        except BadInput:
            found = extract(document, self._registry, self._now()) if self._guessed else ()
            items = [place_of(each).item for each in found]
            if not items:
                raise
        yield from items

    def _expanded(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield *items*; one that is a text with references in it as those references."""
        position = 0
        for item in items:
            for each in self._read(item):
                # On a line of its own, such words are no cell for a date.
                is_line = self.form == "lines"
                dates = tuple(
                    readable_date(date) for date in each.dates if is_line or _may_be_read(date)
                )
                # The page and the command line say what an ambiguous date may be, too.
                unclear = next(filter(_is_ambiguous, each.dates), None)
                if unclear is None and not dates:
                    # One that cannot be read leaves a doubt, as there.
                    unclear = next(iter(each.dates), None)
                said = each.said or ("" if unclear is None else _choices_of(unclear))
                doubt = each.doubt or unclear is not None
                read = each._replace(dates=dates, doubt=doubt, said=said)
                yield self._dated(read._replace(position=position))
                position += 1

    def _dated(self, item: Item) -> Item:
        """Return *item* with the time for references without a date."""
        if self._published and item.published and not item.dates:
            said = f"Date used: {item.published}, the date of publication"
            return item._replace(dates=(item.published,), said=said, doubt=False)
        if item.dates or item.trouble or not self._default:
            return item
        return item._replace(dates=self._default)

    def _read(self, item: Item) -> Iterable[Item]:
        """Return the references in an item whose text is more than a reference and a date."""
        if item.trouble:
            return [item]
        is_line = self.form == "lines"
        reference = item.references[0]
        dated = not is_line or all(map(_is_time, item.dates))
        if dated and self._is_readable(reference):
            return [item]
        text = item.text if is_line else reference
        read = extract(text, self._registry, self._now())
        found = [place_of(each).item for each in read]
        if not is_line and item.dates:
            found = [each._replace(dates=item.dates) for each in found]
        if not found and self.form in ("json", "jsonl") and reference.startswith("{"):
            return [item._replace(trouble=_NO_MEMBER)]
        if is_line and len(found) == 1:
            # The row of the result has the line, by which it is found again in the list.
            found = [found[0]._replace(text=item.text)]
        return [each._replace(also=item.also, quote=item.quote) for each in found] or [item]

    def _is_readable(self, text: str) -> bool:
        """Whether *text* is an identifier and nothing else, with the URL of a page."""
        try:
            reading = parse(text, self._registry)
        except Malformed:
            return False
        is_opaque = reading.kind.is_archive_link and reading.identifier.item is None
        is_other = is_opaque or is_other_page(text, reading, self._registry)
        is_whole = is_identifier if self.form == "lines" else is_exact
        return reading.kind.is_reference and not is_other and is_whole(text)

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


def _is_ambiguous(text: str) -> bool:
    """Whether *text* is a date that can be read in two ways, such as 03/04/2010."""
    found = whole_date(text)
    return found is not None and found.moment is None and len(found.readings) > 1


def _may_be_read(text: str) -> bool:
    """Whether *text* is a time, or a date of which at least the year is certain."""
    found = whole_date(text)
    if found is not None and found.common is not None:
        return True
    try:
        read_time(text)
    except ValueError:
        return False
    return True


def _choices_of(text: str) -> str:
    """Return what is said of the ambiguous date *text*."""
    return ". ".join(choose(field_date(text, "beside")).said)


def _is_time(text: str) -> bool:
    """Whether *text* is a time; a year of two digits, or a time zone, would be a guess.

    Six digits may be a month, or a day with a year of two digits: 040506.
    """
    if text.isdecimal() and len(text) == len("040506"):
        return False
    try:
        at = read_time(text)
    except ValueError:
        return False
    if at is None:
        return True
    is_zoned = len(at.digits) <= len("20101105") or _ZONE.search(text) is not None
    return is_zoned and at.digits[:4] in text


def _beginning(stream: BinaryIO) -> bytes:
    """Return how *stream* begins, without consuming it."""
    peek = getattr(stream, "peek", None)
    if peek is not None:
        return bytes(peek(_BUFFER))
    beginning = stream.read(_BUFFER)
    stream.seek(0)
    return beginning


def _check_numbers(columns: Columns, beginning: bytes) -> None:
    """Raise BadInput if *columns* has the number of a column that the table does not have."""
    names = [name for name in (columns.reference, *columns.dates) if name is not None]
    lines = [
        line
        for line in beginning.decode("utf-8-sig", errors="replace").splitlines()
        if not line.startswith("#")
    ]
    if not names or not lines:
        return
    delimiter = max(",;\t", key=lines[0].count)
    sample: list[list[str]] = []
    # A table that cannot be read is reported where it is read.
    with suppress(csv.Error):
        sample.extend(islice(csv.reader(lines, delimiter=delimiter), _SAMPLE))
    width = max(map(len, sample), default=0)
    headings = [cell.strip() for cell in sample[0]] if sample else []
    for name in names:
        is_number = name.isascii() and name.isdecimal() and name not in headings
        if is_number and sample and not 0 < int(name[:6]) <= width:
            raise BadInput(
                f"there is no column {name!r}; the columns are {', '.join(headings)}, "
                f"numbered from 1 to {width}"
            )


def read_octets(stream: BinaryIO, most: int = MOST_OCTETS) -> bytes:
    """Return the whole of *stream*. Raises BadInput if it is too large."""
    octets = stream.read(most + 1)
    if len(octets) > most:
        raise BadInput(f"larger than {most >> 20} MB; split the file")
    return octets


def read_document(stream: BinaryIO, most: int = MOST_OCTETS) -> str:
    """Return the whole text of *stream*. Raises BadInput if it is too large."""
    return read_octets(stream, most).decode(errors="surrogateescape")
