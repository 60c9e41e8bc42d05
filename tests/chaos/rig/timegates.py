"""Our own server as a process, optionally with limits, a shifted clock or a tracer."""

import json
import signal
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.error import HTTPError
from urllib.request import urlopen

from tests.chaos.rig.processes import Running, line_with, python, running
from tests.chaos.scenario import CannotRun

HEAD: Final = "[archives]\nuse = []\n"
_FAKETIME: Final = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")


@dataclass(frozen=True, slots=True)
class TimeGate:
    """One of our servers."""

    running: Running
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def json_at(self, path: str) -> dict[str, object]:
        """Return the JSON at *path*, whatever its status."""
        try:
            with urlopen(self.url + path, timeout=10) as reply:  # noqa: S310 -- loopback
                found: dict[str, object] = json.load(reply)
        except HTTPError as refusal:
            found = json.load(refusal)
        return found

    def metric(self, name: str) -> float:
        """Return the value of the metric *name*, which has no labels."""
        with urlopen(self.url + "/metrics", timeout=10) as reply:  # noqa: S310 -- loopback
            lines = reply.read().decode().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))

    def state(self, archive: str) -> dict[str, object]:
        found = self.json_at(f"/archives/{archive}")["state"]
        assert isinstance(found, dict)
        return found


@contextmanager
def timegate(  # noqa: PLR0913 -- each for some scenarios
    folder: Path,
    config: str,
    *,
    port: int = 0,
    before: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    name: str = "timegate",
    listen: str = "",
) -> Iterator[TimeGate]:
    """Serve *config*; *before* is a prefix of the command: prlimit, strace, unshare.

    Only the archives in *config* are used; *listen* is put before the first table.
    """
    file = folder / f"{name}.toml"
    file.write_text(listen + HEAD + config)
    command = [*before, *python("timegate", "serve", "--port", str(port))]
    log = folder / f"{name}.log"
    log.write_text("")
    with running([*command, "--config", str(file)], log, environment=environment) as process:
        line = line_with(process, "listening at")
        yield TimeGate(process, int(line.rstrip("/").rpartition(":")[2]))


def shifted_clock(folder: Path) -> Mapping[str, str]:
    """Return the environment of a process whose wall clock follows the file ``clock``."""
    if not _FAKETIME.exists():
        raise CannotRun("no libfaketime (apt: libfaketime)")
    (folder / "clock").write_text("+0")
    return {
        "LD_PRELOAD": str(_FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(folder / "clock"),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def set_clock(folder: Path, seconds: int) -> None:
    (folder / "clock").write_text(f"{seconds:+d}")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def wait_for(port: int, seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def ended(server: TimeGate) -> tuple[int, float]:
    """Stop the server with SIGTERM; return its exit code and the seconds that it took."""
    began = time.monotonic()
    server.running.send(signal.SIGTERM)
    return server.running.process.wait(30), time.monotonic() - began
