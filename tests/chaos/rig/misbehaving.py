"""The misbehaving archive as a process."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.chaos.rig.processes import line_with, python, running

PAGE = "http://example.org/"
"""The page of which it holds five captures."""


@contextmanager
def misbehaving(folder: Path) -> Iterator[str]:
    """Yield its address; below ``/~NAME`` it has the fault of that name."""
    command = python("timegate", "misbehave", "--port", "0", "--seconds", "600")
    with running(command, folder / "misbehave.log") as process:
        line = line_with(process, "TimeGate")
        yield line.split()[1].partition("/timegate/")[0]


def entry(address: str, fault: str) -> str:
    """Return the configuration of an archive with one fault."""
    base = f"{address}/~{fault}"
    return (
        f'[[archive]]\nid = "{fault}"\nkind = "memento"\ntimegate = "{base}/timegate/"\n'
        f'timemap = "{base}/timemap/link/"\nreplay = "{base}/web/{{time14}}/{{uri}}"\n'
        f'raw = "{base}/web/{{time14}}id_/{{uri}}"\n'
    )
