"""Where a collection is: its files, here or elsewhere, and its index, which is always here."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """A folder of WARCs, or a single one, with its index."""

    path: Path
    """As the operator named it."""
    root: Path
    """What the paths in the index are relative to."""
    index: Path
    is_file: bool = False

    @classmethod
    def of(cls, path: Path, index: Path | None = None) -> "LocalFiles":
        """Return the place of the collection at *path*; *index* if not the usual one."""
        whole = path.absolute()
        if whole.is_file():
            usual = whole.with_name(f"{whole.name}.timegate.sqlite")
            return cls(path, whole.parent, index or usual, is_file=True)
        return cls(path, whole, index or whole / ".timegate" / "index.sqlite")

    @property
    def command(self) -> str:
        """What to type to have it indexed."""
        usual = LocalFiles.of(self.path).index == self.index
        return f"timegate index {self.path}" + ("" if usual else f" --index {self.index}")


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """Files on another machine, below an http(s) or s3 URL, with their index here."""

    url: str
    index: Path

    @property
    def root(self) -> str:
        """What the paths in the index are relative to."""
        return self.url.rstrip("/")

    @property
    def command(self) -> str:
        """What to type to have it indexed."""
        return f"timegate index {self.url} --index {self.index}"


def is_elsewhere(path: str) -> bool:
    """Whether *path* is the address of files on another machine."""
    return path.lower().startswith(("s3://", "http://", "https://"))
