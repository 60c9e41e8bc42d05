"""Decompression bombs: in responses of archives and in WARC files."""

import asyncio
import gzip
import os
import subprocess
import time
from pathlib import Path
from typing import Final, NamedTuple

from tests import warcs
from tests.chaos.rig.asking import Client
from tests.chaos.rig.liveness import pinged
from tests.chaos.rig.misbehaving import PAGE, entry, misbehaving
from tests.chaos.rig.processes import python
from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.scenario import Rig, Scenario

_BOMBS: Final = ("gzip-bomb", "gzip-nested", "gzip-members", "brotli-bomb", "zstd-bomb")
_FLOODS: Final = (
    *("endless-link", "comma-flood", "huge-attribute"),
    *("thousand-headers", "huge-header", "continue-flood"),
)


class RequestCost(NamedTuple):
    """The cost of one request."""

    status: int
    grown: float
    """Megabytes of the peak above the memory before."""
    cpu: float
    seconds: float


async def bombs(rig: Rig) -> None:
    """HU-15, HU-09, HU-14, S14: every bomb as a list and as a raw memento."""
    with misbehaving(rig.folder) as address:
        config = "".join(entry(address, name) for name in ("none", *_BOMBS, *_FLOODS))
        with timegate(rig.place("t"), config) as server:
            await _measure(server, "none", f"/timemap/link/{PAGE}")
            async with pinged(server.port, rig.folder) as liveness:
                lists = {
                    name: await _measure(server, name, f"/timemap/link/{PAGE}")
                    for name in (*_BOMBS, *_FLOODS)
                }
                copies = {
                    name: await _measure(server, name, f"/memento/proxy/20200202020202/{PAGE}")
                    for name in _BOMBS
                }
            alive = server.running.alive
    for what, costs in (("a list", lists), ("a raw memento", copies)):
        _report(rig, what, costs, alive=alive)
    rig.speed("liveness meanwhile", liveness, "max 250 ms", met=liveness.worst <= 250)


def _report(rig: Rig, what: str, costs: dict[str, RequestCost], *, alive: bool) -> None:
    worst = max(costs, key=lambda name: costs[name].grown)
    rig.promise(
        f"{len(costs)} bombs and floods as {what}: peak memory",
        f"+{costs[worst].grown:.0f} MB ({worst})",
        "+64 MB, alive",
        met=alive and costs[worst].grown <= 64,
    )
    busiest = max(costs, key=lambda name: costs[name].cpu)
    rig.speed(
        f"bombs and floods as {what}: most CPU",
        f"{costs[busiest].cpu:.1f} s ({busiest}, {costs[busiest].seconds:.1f} s in all)",
        "2 s",
        met=costs[busiest].cpu <= 2,
    )


async def _measure(server: TimeGate, archive: str, target: str) -> RequestCost:
    headers = {"Prefer": f"archives={archive}"}
    client = Client(server.port, date=None, headers=headers, patience=40)
    server.running.reset_peak()
    before, spent, began = server.running.megabytes, server.running.cpu, time.monotonic()
    status = await _read_and_discard(client, target)
    grown = server.running.peak - before
    return RequestCost(status, grown, server.running.cpu - spent, time.monotonic() - began)


async def _read_and_discard(client: Client, target: str) -> int:
    """Read a response of any size without keeping it."""
    try:
        async with asyncio.timeout(client.patience):
            reader, writer = await client.connect()
            try:
                writer.write(client.request(target, last=True))
                status = int((await reader.readline()).split()[1])
                while await reader.read(1 << 20):
                    pass
            finally:
                writer.transport.abort()
    except (OSError, TimeoutError, IndexError):
        return 0
    return status


def _many_headers(file: Path) -> None:
    """Write 8.4 million header lines in less than 98 kB; warcio takes 1.7 GB and 22 s."""
    _packed(file, b"WARC/1.0\r\nWARC-Type: response\r\n", b"a:b\r\n" * 100_000, 84)


def _one_line(file: Path) -> None:
    _packed(file, b"WARC/1.0\r\nX: ", b"a" * (1 << 20), 64)


def _large_body(file: Path) -> None:
    length = str((256 << 20) + len(warcs.answer(b"")))
    head = warcs.record(warcs.answer(b""), length=length).removesuffix(b"\r\n\r\n")
    _packed(file, head, bytes(1 << 20), 256)


def _many_members(file: Path) -> None:
    file.write_bytes(gzip.compress(b"", 9) * 100_000)


def _packed(file: Path, head: bytes, block: bytes, times: int) -> None:
    """Write in pieces: the peak memory of a child starts at that of its parent."""
    with gzip.open(file, "wb", 9) as packed:
        packed.write(head)
        for _ in range(times):
            packed.write(block)
        packed.write(b"\r\n\r\n")


_FILES: Final = {
    "8.4 million header lines": _many_headers,
    "a header line of 64 MB": _one_line,
    "a body of 256 MB of zeros": _large_body,
    "100,000 empty gzip members": _many_members,
}


async def hostile_warcs(rig: Rig) -> None:
    """S14: small WARC files that inflate to much, given to ``timegate index``."""
    plain = rig.place("plain")
    (plain / "one.warc.gz").write_bytes(warcs.gzipped(warcs.record(warcs.answer())))
    usual = await asyncio.to_thread(_indexed, plain)
    for number, (name, make) in enumerate(_FILES.items()):
        folder = rig.place(f"hostile{number}")
        file = folder / "one.warc.gz"
        await asyncio.to_thread(make, file)
        code, peak, cpu = await asyncio.to_thread(_indexed, folder)
        grown, more = peak - usual[1], cpu - usual[2]
        rig.promise(
            f"indexing {file.stat().st_size >> 10:,} kB of WARC with {name}: memory",
            f"+{grown:.0f} MB, exit {code}",
            "+64 MB, no crash",
            met=grown <= 64 and code in (0, 1) and more < 60,
        )
        rig.speed(f"indexing {name}: CPU", f"{more:+.1f} s", "2 s", met=more <= 2)


def _indexed(folder: Path) -> tuple[int, float, float]:
    """Run ``timegate index``; return exit code, peak megabytes, and CPU seconds."""
    command = python("timegate", "index", str(folder))
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 -- our own command
    # Not Popen.wait: only this returns the resource usage of the process.
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, used.ru_maxrss / 1024, used.ru_utime + used.ru_stime


SCENARIOS: Final = (
    Scenario("bombs", "HU-15, HU-09, HU-14, S14", bombs, 240),
    Scenario("hostile-warcs", "S14", hostile_warcs, 180),
)
