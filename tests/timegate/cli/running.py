"""Runs the command as a shell does: in a process of its own, with real pipes."""

import os
import pty
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent


def environment(home: Path, **more: str) -> dict[str, str]:
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "COLUMNS": "100"} | more


def bash(
    script: str, folder: Path, given: bytes = b"", **more: str
) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(  # noqa: S603 -- our own words
        ["/bin/bash", "-o", "pipefail", "-c", script],
        cwd=folder,
        env=environment(folder, **more),
        input=given,
        capture_output=True,
        check=False,
        timeout=60,
    )


def at_a_terminal(arguments: list[str], folder: Path, **more: str) -> str:
    """Return what the command writes to a terminal."""
    ours, theirs = pty.openpty()
    usual = {"TERM": "xterm-256color", "COLUMNS": "80"}
    with subprocess.Popen(  # noqa: S603 -- our own words
        [BIN / "timegate", *arguments],
        cwd=folder,
        env=environment(folder, **(usual | more)),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        written = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    assert process.returncode is not None
    return written.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        # Linux says EIO when the last writer has gone.
        return b""
