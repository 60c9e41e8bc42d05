"""Packs the files of a store as a WACZ, which other tools read and replay.

The lengths of the files are read under the lock that writers take, so only whole records are
copied, also while a server writes.
"""

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final, NamedTuple

from archives.moment import Moment
from archives.warc.captures import Capture, captures_in
from archives.warc_index.appending import index_lock
from archives.warc_index.model import LocalFiles
from timegate.extract.wacz_file import write_package

_LOCK_PATIENCE: Final = 10.0
_PIECE: Final = 1 << 20
_MOST_PAGES: Final = 100_000
_PAGES: Final = ("text/html", "application/xhtml+xml")
_FILES: Final = (".warc.gz", ".warc")


class ExportSummary(NamedTuple):
    """What a package holds."""

    files: int
    captures: int
    pages: int


def export_store(folder: Path, store: str, output: Path) -> ExportSummary:
    """Write the files in *folder* as the package *output*.

    Raises OSError, IndexInUse, and FileExistsError if there is such a file.
    """
    if output.exists():
        raise FileExistsError(17, "exists already", str(output))
    lengths = _lengths(folder)
    with TemporaryDirectory(prefix=f".{output.name}.", dir=output.absolute().parent) as part:
        warcs = {}
        for name, length in lengths.items():
            warcs[name] = Path(part) / name
            _copy(folder / name, warcs[name], length)
        captures = [each for warc in warcs.values() for each in _captures(warc)]
        pages = [*map(_page, _listed(captures))]
        info = {
            "title": store,
            "description": f"The store {store}: revisions and kept copies of pages.",
            "software": f"timegate/{version('timegate-proxy')}",
        }
        package = Path(part) / "package"
        write_package(package, warcs, pages, info)
        package.rename(output)
    return ExportSummary(len(warcs), len(captures), len(pages))


def _lengths(folder: Path) -> Mapping[str, int]:
    """Return how many octets of each file are whole records."""
    root = folder.absolute()
    place = LocalFiles(root, root, root / ".timegate" / "index.sqlite")
    place.index.parent.mkdir(exist_ok=True)
    with index_lock(place, _LOCK_PATIENCE):
        return {
            path.name: path.stat().st_size
            for path in sorted(folder.iterdir())
            if path.name.endswith(_FILES) and not path.name.startswith(".")
        }


def _copy(source: Path, target: Path, length: int) -> None:
    with source.open("rb") as read, target.open("wb") as written:
        _copy_octets(read, written, length)


def _copy_octets(read: BinaryIO, written: BinaryIO, length: int) -> None:
    while length and (piece := read.read(min(_PIECE, length))):
        written.write(piece)
        length -= len(piece)


def _captures(warc: Path) -> Iterator[Capture]:
    with warc.open("rb") as file:
        yield from (each for each in captures_in(file) if isinstance(each, Capture))


def _listed(captures: list[Capture]) -> list[Capture]:
    """Return the captures that are pages for people, in the order of time."""
    pages = [each for each in captures if each.mime in _PAGES and each.status in (None, 200)]
    return sorted(pages, key=lambda each: (each.stamp, each.url))[:_MOST_PAGES]


def _page(capture: Capture) -> dict[str, object]:
    return {
        "id": f"{capture.stamp}-{capture.offset}",
        "url": capture.url,
        "ts": str(Moment(capture.stamp)),
        "title": capture.url,
    }
