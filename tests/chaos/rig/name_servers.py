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
    """Prefix for a command that is to use this name server."""

    def set_names(self, **names: list[str] | str) -> dict[str, int]:
        """Set the answers for names in ``.internal``; return the number of queries of each."""
        process = self.process.process
        assert process.stdin is not None
        assert process.stdout is not None
        table = {f"{name}.internal": answer for name, answer in names.items()}
        process.stdin.write(json.dumps(table) + "\n")
        process.stdin.flush()
        counts: dict[str, int] = json.loads(process.stdout.readline())
        return counts


@contextmanager
def name_server(folder: Path) -> Iterator[Dns]:
    """Run a name server, in a network namespace of its own, where the port is free."""
    before = with_name_server(folder, _ADDRESS)
    command = python("tests.chaos.rig.name_server", _ADDRESS)
    with running(command, folder / "names.log", piped=True) as process:
        yield Dns(process, before)
