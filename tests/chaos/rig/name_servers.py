"""The name server of a scenario, as a process with settable names."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.chaos.rig.networks import with_name_server
from tests.chaos.rig.processes import Running, python, running

_ADDRESS: Final = "127.0.0.53"


@dataclass(frozen=True, slots=True)
class Dns:
    """Controls the name server."""

    process: Running
    before: Sequence[str]
    """The command that runs another which asks this one for names."""

    def tell(self, **names: list[str] | str) -> dict[str, int]:
        """Set what is done with names below ``.internal``; return how often each was asked."""
        talk = self.process.process
        assert talk.stdin is not None
        assert talk.stdout is not None
        table = {f"{name}.internal": manner for name, manner in names.items()}
        talk.stdin.write(json.dumps(table) + "\n")
        talk.stdin.flush()
        asked: dict[str, int] = json.loads(talk.stdout.readline())
        return asked


@contextmanager
def name_server(folder: Path) -> Iterator[Dns]:
    """Run one; only in a network of its own is its place free."""
    before = with_name_server(folder, _ADDRESS)
    command = python("tests.chaos.rig.name_server", _ADDRESS)
    with running(command, folder / "names.log", piped=True) as process:
        yield Dns(process, before)
