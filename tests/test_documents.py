"""Each command in the documents is run against the demo and prints the documented output."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documented import DOCUMENTS, Shown, is_as_shown, shown_in
from tests.end_to_end.server import running_demo

COMMANDS = [shown for document in DOCUMENTS for shown in shown_in(document)]
DOCUMENTED_ADDRESS = "127.0.0.1:1208"


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    with running_demo() as server:
        yield server.url.removeprefix("http://")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One working directory for all commands, as a reader has."""
    return tmp_path_factory.mktemp("reader")


@pytest.mark.parametrize("shown", COMMANDS, ids=[f"{s.document} {s.command}" for s in COMMANDS])
def test_a_command_prints_what_the_document_shows(
    shown: Shown, demo: str, folder: Path
) -> None:
    command = shown.command.replace(DOCUMENTED_ADDRESS, demo)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    ended = subprocess.run(  # noqa: S603 -- our own documents
        ["/bin/bash", "-c", command],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=60,
    )

    printed = ended.stdout.decode().replace("\r\n", "\n").replace(demo, DOCUMENTED_ADDRESS)
    assert is_as_shown(printed, shown.output), printed
