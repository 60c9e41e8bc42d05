"""Runs the command as a shell does: another process, real pipes, a folder of its own."""

import os
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent


def environment(home: Path, **more: str) -> dict[str, str]:
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "COLUMNS": "100", **more}


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
