"""Standard error on a full disk, in a pipe with a stopped reader, and in a flood."""

import asyncio
import os
import re
import shlex
import signal
import time
from pathlib import Path
from typing import Final

from tests.chaos.rig.archives import archives
from tests.chaos.rig.asking import Answer, Client, percentile, statuses, timegates
from tests.chaos.rig.liveness import pinged
from tests.chaos.rig.mounts import small_disk
from tests.chaos.rig.timegates import TimeGate, ended, timegate
from tests.chaos.scenario import Rig, Scenario

_LOG_EVERYTHING: Final = '[log]\nlevel = "debug"\naccess = true\n'
_MOST_LINES: Final = 100
"""Lines a second; the default."""


async def log_disk_full(rig: Rig) -> None:
    """RB-08: the disk of the log is full, and later has space again."""
    many = rig.scaled(1000, 300)
    with (
        small_disk(rig.folder / "disk", "512k") as disk,
        archives(2, rig.folder) as farm,
        timegate(disk.path, farm.entries() + _LOG_EVERYTHING) as server,
    ):
        before = await _flooded(server, "before", many)
        filler = _filled(disk.path)
        size = _size(server)
        full = await _flooded(server, "full", many)
        grown = _size(server) - size
        ready = (await Client(server.port).ask("/readyz")).status
        filler.unlink()
        await asyncio.sleep(1.1)
        await _flooded(server, "after", 50)
        log_continued = await _until_longer(server, size + grown)
        _filled(disk.path)
        code, _ = ended(server)
    slower = (percentile(full, 0.99) - percentile(before, 0.99)) * 1000
    rig.promise(
        "the disk of the log is full: answers",
        f"{statuses(full)}, /readyz {ready}, {grown} octets written",
        "all 302, 200",
        met=all(answer.status == 302 for answer in full) and ready == 200,
    )
    rig.speed("their p99 compared with before", f"{slower:+.0f} ms", "+50 ms", met=slower <= 50)
    rig.promise(
        "there is space again: the log continues", log_continued, "True", met=log_continued
    )
    rig.promise("stopped while the disk is full: exit code", code, "0", met=code == 0)


def _filled(folder: Path) -> Path:
    """Fill a disk; return the file that fills it."""
    filler = folder / f"filler-{time.monotonic_ns()}"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 1024, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
    return filler


def _size(server: TimeGate) -> int:
    return server.running.log.stat().st_size


async def _until_longer(server: TimeGate, size: int) -> bool:
    """Wait a short time for a new line in the log."""
    for _ in range(50):
        if _size(server) > size:
            return True
        await asyncio.sleep(0.05)
    return False


async def log_reader_stopped(rig: Rig) -> None:
    """RB-08: the log goes into a pipe whose reader is stopped."""
    many = rig.scaled(2000, 1000)
    with archives(2, rig.folder) as farm:
        pipe, pid_file = rig.folder / "pipe", rig.folder / "reader"
        config = farm.entries() + _LOG_EVERYTHING + "lines_per_second = 100000\n"
        with timegate(rig.place("t"), config, before=_piped(pipe, pid_file)) as server:
            reader = int(pid_file.read_text())
            os.kill(reader, signal.SIGSTOP)
            try:
                async with pinged(server.port, rig.folder) as liveness:
                    answers = await _flooded(server, "stopped", many)
            finally:
                os.kill(reader, signal.SIGCONT)
            while "lines_dropped=" not in server.running.log_text():
                await _flooded(server, "again", 1)
                await asyncio.sleep(0.05)
            code, _ = ended(server)
    dropped = sum(map(int, re.findall(r"lines_dropped=([0-9]+)", server.running.log_text())))
    rig.promise(
        "the reader of the log is stopped: answers",
        f"{statuses(answers)}, then exit {code}; {dropped:,} lines dropped and counted",
        "all 302, exit 0",
        met=all(answer.status == 302 for answer in answers) and code == 0,
    )
    rig.speed("liveness meanwhile", liveness, "max 100 ms", met=liveness.worst <= 100)


def _piped(pipe: Path, pid_file: Path) -> tuple[str, ...]:
    """Return the command that runs another with a reader at its standard error.

    The reader ends with it; its pid is written to *pid_file*.
    """
    place, file = shlex.quote(str(pipe)), shlex.quote(str(pid_file))
    script = f'mkfifo {place}; cat <{place} >&2 & echo $! >{file}; exec "$@" 2>{place}'
    return ("sh", "-c", script, "sh")


async def log_flooded(rig: Rig) -> None:
    """RB-08: a log line for each request, and a flood of requests."""
    many = rig.scaled(4000, 1000)
    with (
        archives(2, rig.folder) as farm,
        timegate(rig.place("t"), farm.entries() + _LOG_EVERYTHING) as server,
    ):
        async with pinged(server.port, rig.folder) as liveness:
            began = time.monotonic()
            answers = await _flooded(server, "flood", many)
            took = time.monotonic() - began
        await asyncio.sleep(1.1)
        await _flooded(server, "last", 1)
        ended(server)
    log = server.running.log_text()
    lines = log.count("\n")
    dropped = sum(map(int, re.findall(r"lines_dropped=([0-9]+)", log)))
    rig.promise(
        f"{len(answers) / took:.0f} requests a second, all logged: lines a second",
        f"{lines / took:.0f}, and {dropped:,} dropped ({statuses(answers)})",
        f"{_MOST_LINES} in each started second",
        # Two seconds more: the one in which the load ended, and one for the lines after it.
        met=lines <= _MOST_LINES * (took + 2)
        and all(answer.status == 302 for answer in answers),
    )
    rig.speed("liveness meanwhile", liveness, "max 100 ms", met=liveness.worst <= 100)


async def _flooded(server: TimeGate, label: str, count: int) -> list[Answer]:
    return await Client(server.port).at_once(timegates(label, count), 8)


SCENARIOS: Final = (
    Scenario("log-disk-full", "RB-08", log_disk_full),
    Scenario("log-reader-stopped", "RB-08", log_reader_stopped),
    Scenario("log-flooded", "RB-08", log_flooded),
)
