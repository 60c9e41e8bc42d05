"""CDX and CDXJ files that lie beside WARCs: what they say need not be read again.

They come from elsewhere, so nothing in them is believed: a file name is compared with those of
the collection and never opened, an offset has to lie in the file, a line has to end. Their
keys are not used, ours are made of the URL. A CDX file knows whole seconds only.
"""

import gzip
import zlib
from collections.abc import Iterator, Mapping
from typing import BinaryIO, Final, NamedTuple, cast

from archives.formats.rows import (
    UnreadableItem,
    json_value,
    plain,
    stamp_from_digits,
    status_code,
    text_fields,
)
from archives.surt import surt
from archives.warc.files import Capture, Damage
from archives.warc_index.folder import FileSeen
from archives.warc_index.writing import IndexJob

_LONGEST: Final = 64 * 1024
_RATIO: Final = 200
_FREE: Final = 1024 * 1024
"""Octets that may come out of any gzip file, before its ratio is looked at."""
# The letters of the header line, http://archive.org/web/researcher/cdx_legend.php
_LETTERS: Final = {
    "N": "urlkey",
    "b": "timestamp",
    "a": "url",
    "m": "mime",
    "s": "status",
    "k": "digest",
    "S": "length",
    "V": "offset",
    "g": "filename",
}
_ORIGINAL: Final = ("orig.length", "orig.offset", "orig.filename")
"""What pywb adds where it has found what a revisit repeats."""
_USUAL: Final = {9: "NbamskrVg", 11: "NbamskrMSVg", 14: "NbamskrMSVg"}
"""By the number of fields, where no header tells them."""
_HEADERS: Final = (" CDX ", "CDX ")
_DIRECTIVES: Final = ("!", "@")
_POSTED: Final = "__wb_method="


class CdxLine(NamedTuple):
    """One line: a capture, in which file it is said to be, and where the line stands."""

    name: str
    capture: Capture
    at: int


def captures_beside(opened: BinaryIO, name: str) -> Iterator[CdxLine | Damage]:
    """Read a CDX or CDXJ file line by line, and close it. Raises OSError."""
    with opened as file:
        if not name.lower().endswith(".gz"):
            yield from _lines(file, None)
            return
        try:
            with gzip.open(file) as unpacked:
                yield from _lines(cast("BinaryIO", unpacked), file)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield Damage(file.tell(), f"the gzip breaks off: {error}")


def _lines(file: BinaryIO, packed: BinaryIO | None) -> Iterator[CdxLine | Damage]:
    legend: tuple[str, ...] = ()
    at = 0
    while line := file.readline(_LONGEST):
        if packed is not None and at > _FREE and at > _RATIO * packed.tell():
            yield Damage(at, f"more than {_RATIO} times as long as it is packed")
            return
        if not line.endswith(b"\n") and len(line) == _LONGEST:
            yield Damage(at, f"a line of more than {_LONGEST} octets")
            at += len(line) + _skipped(file)
            continue
        text = line.decode("latin-1").rstrip("\r\n")
        if text.startswith(_HEADERS):
            legend = tuple(text.split()[1:])
        elif text.strip() and not text.startswith(_DIRECTIVES):
            yield from named_in(text, legend, at)
        at += len(line)


def _skipped(file: BinaryIO) -> int:
    """Pass over the rest of a line; return how long that was."""
    length = 0
    while piece := file.readline(_LONGEST):
        length += len(piece)
        if piece.endswith(b"\n"):
            break
    return length


def named_in(line: str, legend: tuple[str, ...], at: int) -> Iterator[CdxLine | Damage]:
    """Yield what one line tells: a capture, nothing, or that it cannot be read."""
    try:
        fields = _fields(line, legend)
        # pywb folds what was posted into the key. That capture is no answer to a GET.
        if _POSTED not in fields.get("urlkey", ""):
            yield CdxLine(_file_name(fields), _capture(fields), at)
    except UnreadableItem as error:
        yield Damage(at, f"no line of a CDX file: {error}")


def _fields(line: str, legend: tuple[str, ...]) -> Mapping[str, str]:
    key, _, rest = line.partition(" ")
    stamp, _, members = rest.partition(" ")
    if members.startswith("{"):
        fields = text_fields(json_value(members))
        return {**fields, "urlkey": key, "timestamp": stamp}
    values = plain(line).split(" ")
    letters = legend or _USUAL.get(len(values), ())
    if len(values) not in (len(letters), len(letters) + len(_ORIGINAL)) or not letters:
        raise UnreadableItem(f"{len(values)} fields")
    return {
        _LETTERS[letter]: value
        for letter, value in zip(letters, values, strict=False)
        if letter in _LETTERS and value != "-"
    }


def _file_name(fields: Mapping[str, str]) -> str:
    name = fields.get("filename", "").rpartition("/")[2]
    if not name:
        raise UnreadableItem("it names no file")
    return name


def _capture(fields: Mapping[str, str]) -> Capture:
    stamp = stamp_from_digits(fields.get("timestamp", ""))
    url = fields.get("url", "").partition("#")[0]
    if stamp is None or not url or not url.isprintable():
        raise UnreadableItem("no time or no URL")
    mime = fields.get("mime") or fields.get("mimetype")
    return Capture(
        surt(url),
        stamp,
        url,
        _stated(mime),
        status_code(fields.get("status", "")),
        _stated(fields.get("digest", "").removeprefix("sha1:")),
        _count(fields.get("offset", "")),
        _count(_stated(fields.get("length")) or "0"),
    )


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise UnreadableItem(f"no number of octets: {text[:20]!r}")
    return int(text)


def _stated(text: str | None) -> str | None:
    return text if text and text != "-" else None


_MOST_UNKNOWN: Final = 1000


class UntrustedCdx(Exception):
    """A CDX file that is wrong in one place is believed in none: its WARCs are read."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(f"{why}; the files it names are read instead")
        self.at = at


class Claims:
    """What one CDX file tells, checked against the files that are there."""

    def __init__(
        self, listing: FileSeen, needed: Mapping[str, IndexJob], found: Mapping[str, FileSeen]
    ) -> None:
        self.taken: set[str] = set()
        """Paths of the files it spoke for."""
        self._listing = listing
        self._needed = needed
        self._unknown: set[str] = set()
        self._by_name: dict[str, list[FileSeen]] = {}
        for file in found.values():
            if file.kind == "warc":
                self._by_name.setdefault(file.path.rpartition("/")[2], []).append(file)

    def checked(self, item: CdxLine | Damage) -> tuple[FileSeen, Capture] | Damage | None:
        """Return a capture and its file; which file is missing; None if it is not needed.

        Raises Unsound.
        """
        if isinstance(item, Damage):
            raise UntrustedCdx(*item)
        files = self._by_name.get(item.name, [])
        if len(files) != 1:
            return self._complaint(item, several=bool(files))
        file = files[0]
        if file.path not in self._needed or file.mtime > self._listing.mtime:
            return None
        capture = item.capture
        if max(capture.offset + capture.length, capture.offset + 1) > file.size:
            raise UntrustedCdx(item.at, f"{item.name} is shorter than that")
        self.taken.add(file.path)
        return file, capture

    def _complaint(self, item: CdxLine, *, several: bool) -> Damage | None:
        """Say that a name means no file, or more than one; once for each name."""
        if item.name in self._unknown or len(self._unknown) >= _MOST_UNKNOWN:
            return None
        self._unknown.add(item.name)
        which = "several files are called" if several else "there is no file"
        return Damage(item.at, f"{which} {item.name[:200]}")
