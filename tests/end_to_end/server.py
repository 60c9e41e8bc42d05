"""Our own server as a process, over other archives."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Running:
    """A running server."""

    url: str
    pid: int


@contextmanager
def running_timegate(
    folder: Path, timegates: Mapping[str, str], *options: str, killed: bool = False
) -> Iterator[Running]:
    """Start ``timegate serve`` over *timegates* (id to TimeGate prefix); end it by its pid."""
    config = folder / "timegate.toml"
    config.write_text(
        "[archives]\nuse = []\n"
        + "".join(
            f'[[archive]]\nid = "{name}"\nkind = "memento"\ntimegate = "{url}"\n'
            f'timemap = "{url}timemap/link/"\npwid = ["{name}.example"]\n'
            for name, url in timegates.items()
        )
    )
    with serving("--config", str(config), *options, killed=killed) as running:
        yield running


@contextmanager
def running_demo(*options: str) -> Iterator[Running]:
    """Start ``timegate serve --demo``; end it by its pid."""
    with serving("--demo", *options) as running:
        yield running


@contextmanager
def serving(*options: str, killed: bool = False) -> Iterator[Running]:
    command = [sys.executable, "-m", "timegate", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 -- ourselves
        assert process.stderr is not None
        try:
            line = next(line for line in process.stderr if "listening at" in line)
            yield Running(line.removeprefix("listening at ").rstrip("/\n"), process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == (-signal.SIGKILL if killed else 0)
