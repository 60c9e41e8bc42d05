"""The files of an extraction: in a folder beside the output until that is complete."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from timegate.batch.journal import BadJournal
from timegate.extract.journal import ExtractionJournal
from timegate.extract.wacz_file import WARC_NAME, write_wacz
from timegate.extract.warc_file import WarcFile

SUFFIXES: Final = (".warc.gz", ".warc", ".wacz")


def is_wacz(path: Path) -> bool:
    """Whether *path* is to be a package, and not a WARC alone."""
    return path.name.lower().endswith(".wacz")


class ExtractionOutput:
    """The WARC and the journal of one run, a context manager.

    The folder is kept if the run is interrupted, and removed when the output is complete.
    """

    def __init__(
        self, path: Path, info: Mapping[str, str], binding: str, *, resume: bool
    ) -> None:
        """Create the folder of *path*, or continue in it. Raises BadJournal and OSError."""
        self._path = path
        self._info = info
        self.folder = path.with_name(f"{path.name}.part")
        if path.exists():
            raise FileExistsError(17, "exists already", str(path))
        if self.folder.exists() and not resume:
            why = f"{self.folder} exists from an earlier run, which is not complete"
            raise BadJournal(f"{why}; continue with --resume, or remove the folder")
        # It holds the URLs that somebody looks up: for its owner alone.
        self.folder.mkdir(mode=0o700, exist_ok=True)
        name = WARC_NAME if is_wacz(path) else path.name
        self._warc_path = self.folder / name
        self.journal = ExtractionJournal(self.folder / "written", binding, self._warc_path)
        self.is_resumed = self.journal.end > 0
        try:
            self.warc = WarcFile(self._warc_path, info, end=self.journal.end)
        except OSError:
            self.journal.__exit__(None, None, None)
            raise
        self.journal.sync_warc = self.warc.sync

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.warc.__exit__(kind, error, trace)
        self.journal.__exit__(kind, error, trace)
        # Nothing is lost with a list that cannot be read, or that leads to no copy.
        if error is None or (isinstance(error, ValueError) and not self.journal.copies):
            shutil.rmtree(self.folder)

    def finish(self) -> None:
        """Write the output, sync it to disk and give it its name. Raises OSError."""
        self.warc.sync()
        complete = self._warc_path
        if is_wacz(self._path):
            complete = self.folder / "package"
            info = {
                "title": self._path.name,
                "description": self._info.get("description", ""),
                "software": self._info.get("software", ""),
            }
            write_wacz(complete, self._warc_path, self.journal.pages, info)
        complete.rename(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
