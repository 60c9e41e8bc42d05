"""One check at a time: a turn that only one of several processes has, and gives back by dying.

The lock is the kernel's (flock), so that a server that was killed leaves none behind.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final, TextIO

_LONGEST: Final = 200


class Turn:
    """The right to check, which is a file; it holds the name of what is being checked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None

    def take(self, archive: str) -> bool:
        """Take it for *archive*; False if somebody has it. Raises OSError."""
        if self._file is not None:
            return False
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a+")
        if not _has(file):
            file.close()
            return False
        file.truncate(0)
        file.write(archive)
        file.flush()
        self._file = file
        return True

    def give_back(self) -> None:
        """Let others have it."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None

    def holder(self) -> str | None:
        """Return which archive is being checked, by whomever; None if none is."""
        if not self._path.exists():
            return None
        with self._path.open("r") as file:
            if _has(file):
                return None
            return file.read(_LONGEST)


def _has(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def secret_at(path: Path) -> bytes:
    """Return the secret that all processes of one server share; made by the first of them."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written whole before it has its name: nobody reads half of it, nobody's is replaced.
        with NamedTemporaryFile(dir=path.parent) as new, suppress(FileExistsError):
            new.write(os.urandom(32))
            new.flush()
            path.hardlink_to(new.name)
    return path.read_bytes()
