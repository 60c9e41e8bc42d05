"""The files of a collection as the indexer needs them, wherever they lie."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO, Protocol

from archives.collection.crew import News, read_files
from archives.collection.folder import FolderContents, Tell, files_in
from archives.collection.place import LocalFiles
from archives.collection.planning import IndexJob


class Files(Protocol):
    """What can be listed and read. Each raises OSError where it cannot."""

    def listing(self, tell: Tell) -> FolderContents:
        """Return what there is; *tell* takes complaints."""
        ...

    def open(self, path: str) -> BinaryIO:
        """Open one file."""
        ...

    def read(self, jobs: Sequence[IndexJob], workers: int) -> Iterator[News]:
        """Read files to their end."""
        ...


class OnDisk:
    """Files in a folder, or a single one."""

    def __init__(self, place: LocalFiles) -> None:
        self._place = place

    def listing(self, tell: Tell) -> FolderContents:
        return files_in(self._place, tell)

    def open(self, path: str) -> BinaryIO:
        return (self._place.root / path).open("rb")

    def read(self, jobs: Sequence[IndexJob], workers: int) -> Iterator[News]:
        return read_files(jobs, str(self._place.root), workers)
