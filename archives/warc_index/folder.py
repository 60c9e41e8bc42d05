"""Which files a collection has: a walk over its folder that opens nothing.

Links that lead out of the folder are not followed, hidden files are not ours (our own index is
one), and what is called anything else than a WARC, ARC, WACZ or CDX is not looked at.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from archives.warc_index.model import LocalFiles

Kind = Literal["warc", "wacz", "cdx"]
MOST_FILES: Final = 1_000_000
_DEEPEST: Final = 16
_KINDS: Final[dict[str, Kind]] = {
    ".warc": "warc",
    ".warc.gz": "warc",
    ".arc": "warc",
    ".arc.gz": "warc",
    ".wacz": "wacz",
    ".cdx": "cdx",
    ".cdxj": "cdx",
    ".cdx.gz": "cdx",
    ".cdxj.gz": "cdx",
}
Tell = Callable[[str, int, str], None]
"""Takes a complaint: file, offset, why."""


class FileSeen(NamedTuple):
    """One file as the walk saw it."""

    path: str
    """Relative to the collection."""
    kind: Kind
    size: int
    mtime: int
    """In nanoseconds."""


class FolderContents(NamedTuple):
    """What a walk found."""

    files: dict[str, FileSeen]
    """By path."""
    missed: tuple[str, ...]
    """Folders and files that could not be looked at: nobody knows whether they are gone."""

    def has_missed(self, path: str) -> bool:
        """Whether *path* is among them, or in one of them."""
        return any(not each or f"{path}/".startswith(f"{each}/") for each in self.missed)


def files_in(place: LocalFiles, tell: Tell) -> FolderContents:
    """Return the files of a collection. Raises OSError if it is not there."""
    if place.is_file:
        entry = place.root / place.path.name
        found = entry.stat()
        kind = kind_of(entry.name) or "warc"
        file = FileSeen(entry.name, kind, found.st_size, found.st_mtime_ns)
        return FolderContents({file.path: file}, ())
    # It may be a mount that is not there: that is no empty collection, so it raises.
    os.scandir(place.root).close()
    seen: dict[str, FileSeen] = {}
    missed: list[str] = []
    for each in _walked(place.root, "", os.path.realpath(place.root), tell, 0):
        if isinstance(each, str):
            missed.append(each)
        elif len(seen) < MOST_FILES:
            seen[each.path] = each
        else:
            tell(each.path, 0, f"left out: the collection has more than {MOST_FILES} files")
            break
    return FolderContents(seen, tuple(missed))


def kind_of(name: str) -> Kind | None:
    """Say what a file is by its *name*; None if it is not for us."""
    lower = name.lower()
    return next((kind for suffix, kind in _KINDS.items() if lower.endswith(suffix)), None)


def _walked(
    folder: Path, prefix: str, home: str, tell: Tell, depth: int
) -> Iterator[FileSeen | str]:
    """Yield files, and the paths of what could not be looked at."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        tell(prefix or ".", 0, f"cannot be listed: {error.strerror}")
        yield prefix.rstrip("/")
        return
    for entry in entries:
        path = f"{prefix}{entry.name}"
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth >= _DEEPEST:
                tell(path, 0, f"folders more than {_DEEPEST} deep are not looked into")
            else:
                yield from _walked(folder / entry.name, f"{path}/", home, tell, depth + 1)
        elif kind := kind_of(entry.name):
            yield from _file(entry, path, kind, home, tell)


def _file(
    entry: "os.DirEntry[str]", path: str, kind: Kind, home: str, tell: Tell
) -> Iterator[FileSeen | str]:
    if not path.isprintable():
        tell(ascii(path), 0, "left out: its name cannot be written")
        return
    if entry.is_symlink() and not os.path.realpath(entry.path).startswith(f"{home}{os.sep}"):
        tell(path, 0, "left out: a link that leads out of the collection")
        return
    try:
        found = entry.stat()
    except OSError as error:
        tell(path, 0, f"cannot be read: {error.strerror}")
        yield path
        return
    if entry.is_file():
        yield FileSeen(path, kind, found.st_size, found.st_mtime_ns)
