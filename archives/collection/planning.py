"""What there is to do: the files that were found against the parts that are visible. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from archives.collection.folder import FileSeen, FolderContents
from archives.collection.writing import IndexPart


class IndexJob(NamedTuple):
    """A file to read, from where, and which parts that makes obsolete."""

    file: FileSeen
    start: int = 0
    replaces: tuple[int, ...] = ()


class IndexPlan(NamedTuple):
    """What a run has to do."""

    read: dict[str, IndexJob]
    """WARCs and WACZs, by path."""
    lists: list[IndexJob]
    """CDX files that are new or have changed, the newest first."""
    gone: list[IndexPart]
    unchanged: int


Grew = Callable[[FileSeen, IndexPart], bool]
"""Whether a file that is longer than it was still begins with the same octets."""


def plan(
    listing: FolderContents, parts: Iterable[IndexPart], grew: Grew, *, read_all: bool
) -> IndexPlan:
    """Compare what is there with what is known; *read_all*: believe neither."""
    found = listing.files
    known: dict[str, list[IndexPart]] = defaultdict(list)
    for part in parts:
        known[part.path].append(part)
    lists = {path: file for path, file in found.items() if file.kind == "cdx" and not read_all}
    fresh = {path for path, file in lists.items() if _is_current(file, known.get(path, []))}
    files = [file for file in found.values() if file.kind != "cdx"]
    read = {
        file.path: _job(
            file, known.get(file.path, []), (lambda *_: False) if read_all else grew
        )
        for file in files
        if read_all or not _stands(file, known.get(file.path, []), fresh)
    }
    return IndexPlan(
        read,
        [
            IndexJob(file, replaces=_numbers(known.get(file.path, [])))
            for file in sorted(lists.values(), key=lambda file: file.mtime, reverse=True)
            if file.path not in fresh
        ],
        [
            part
            for path, parts in known.items()
            if path not in found and not listing.has_missed(path)
            for part in parts
        ],
        len(files) - len(read),
    )


def _is_current(file: FileSeen, parts: list[IndexPart]) -> bool:
    return bool(parts) and all((p.size, p.mtime) == (file.size, file.mtime) for p in parts)


def _stands(file: FileSeen, parts: list[IndexPart], fresh: set[str]) -> bool:
    """Whether its parts still tell the truth; those of a CDX file while that is the same."""
    return _is_current(file, parts) and all(not p.via or p.via in fresh for p in parts)


def _job(file: FileSeen, parts: list[IndexPart], grew: Grew) -> IndexJob:
    whole = parts and file.kind == "warc" and not any(part.via for part in parts)
    if whole and grew(file, parts[0]):
        return IndexJob(file, start=max(part.upto for part in parts))
    return IndexJob(file, replaces=_numbers(parts))


def _numbers(parts: list[IndexPart]) -> tuple[int, ...]:
    return tuple(part.id for part in parts)
