"""The connections of a process, traced with strace."""

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
    """Return the prefix for a command whose connections are to be written to *log*."""
    program = shutil.which("strace")
    if program is None:
        raise CannotRun("no strace (apt: strace)")
    # Only these calls are intercepted: everything else runs at full speed.
    return (program, "-f", "--seccomp-bpf", "-qq", "-e", "trace=connect", "-o", str(log), "--")


def connected(log: Path) -> list[tuple[str, int]]:
    """Return the addresses and ports of all attempted IP connections."""
    text = log.read_text(errors="replace")
    return [(found[2], int(found[1])) for found in _CONNECT.finditer(text)]


_OPEN: Final = re.compile(r'openat\([^,]*+, "([^"]*+)"[^)]*+\) = [0-9]')


def strace_files(log: Path) -> tuple[str, ...]:
    """Return the prefix for a command whose opened files are to be written to *log*."""
    words = strace(log)
    return tuple("trace=openat" if word == "trace=connect" else word for word in words)


def opened(log: Path) -> list[str]:
    """Return the names of all files that were opened, in order."""
    return _OPEN.findall(log.read_text(errors="replace"))
