"""A disk that is small enough to be filled; requires permission to mount."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.scenario import CannotRun


@dataclass(frozen=True, slots=True)
class Disk:
    """A tmpfs."""

    path: Path

    def make_read_only(self) -> None:
        _mounting("mount", "-o", "remount,ro", str(self.path))


@contextmanager
def small_disk(path: Path, size: str) -> Iterator[Disk]:
    """Mount a tmpfs of *size*, such as ``8m``; unmount it at the end."""
    path.mkdir()
    try:
        _mounting("mount", "-t", "tmpfs", "-o", f"size={size}", "chaos", str(path))
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotRun("a tmpfs cannot be mounted here") from error
    try:
        yield Disk(path)
    finally:
        _mounting("umount", "--lazy", str(path))


def _mounting(program: str, *words: str) -> None:
    found = shutil.which(program)
    if found is None:
        raise CannotRun(f"no {program} (apt: mount)")
    subprocess.run([found, *words], check=True, capture_output=True)  # noqa: S603 -- a system program
