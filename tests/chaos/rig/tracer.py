"""Connections of a process, traced in the kernel."""

import re
import shutil
from pathlib import Path
from typing import Final

from tests.chaos.scenario import CannotRun

_CONNECT: Final = re.compile(
    r"connect\([0-9]++, \{sa_family=AF_INET6?, sin6?_port=htons\(([0-9]++)\)"
    r'[^"]*+"([^"]*+)"'
)


def strace(log: Path) -> tuple[str, ...]:
    """Return the command that runs another and writes its connections to *log*."""
    program = shutil.which("strace")
    if program is None:
        raise CannotRun("no strace (apt: strace)")
    # Only these calls stop the process: the rest runs at full speed.
    return (program, "-f", "--seccomp-bpf", "-qq", "-e", "trace=connect", "-o", str(log), "--")


def connected(log: Path) -> list[tuple[str, int]]:
    """Return addresses and ports of all connections over IP that were tried."""
    text = log.read_text(errors="replace")
    return [(found[2], int(found[1])) for found in _CONNECT.finditer(text)]
