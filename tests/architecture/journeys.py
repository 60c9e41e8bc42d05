"""Counts the product files that one cold request and one line of a batch run through.

Both run as for a user: ``timegate serve`` and ``timegate resolve --batch`` are processes,
with an archive on loopback. The same is done for another page first, so that imports and
other one-time work do not count.
"""

import asyncio
import json
import socket
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.architecture.figures import Figure
from tests.architecture.tree import PACKAGES, ROOT
from timegate.misbehave import captures_of, misbehaving_archive

Functions = Mapping[str, Sequence[str]]
"""The names of the functions that were called, by product file."""

_SERVER_PACKAGES: Final = ("timegate/server", "timegate/endpoints", "timegate/pages")
_WARM_UP: Final = "http://first.example/"
_PAGE: Final = "http://second.example/"
_SECONDS: Final = 120.0
"""Time limit for all measurements."""
_TO_END: Final = 15.0
"""Seconds that a process has to end."""
_IDLE: Final = 1.5
"""Seconds without work after which a server does only what it is asked for."""
_AFTERWARDS: Final = 0.3
"""Seconds for work after the answer was sent: log, cache."""


async def traced_figures() -> list[Figure]:
    """Return the figures that need a running program."""
    with tempfile.TemporaryDirectory(prefix="architecture-") as folder:
        async with asyncio.timeout(_SECONDS), _archive(Path(folder)) as config:
            request = await cold_request(config)
            line = await batch_line(config)
    of_server = {file: names for file, names in line.items() if _is_of_server(file)}
    return [
        _figure("files of one cold TimeGate request", 50, request),
        _figure("files of one batch line", None, line),
        _figure("  of these in server/, endpoints/, pages/", 0, of_server),
    ]


async def cold_request(config: Path) -> Functions:
    """Return the functions that a TimeGate request without a cached answer calls."""
    async with _traced("serve", "--port", "0", "--config", str(config)) as command:
        port = await _port(command.process)
        await _get(port, f"/timegate/{_WARM_UP}")
        await _settled(command.process.pid)
        async with command.recording() as functions:
            await _get(port, f"/timegate/{_PAGE}")
    return functions


async def _settled(pid: int) -> None:
    """Wait until the server has done what it does after its start: it compiles templates."""
    before = -1
    while (spent := _cpu_ticks(pid)) > before + 1:
        before = spent
        await asyncio.sleep(_IDLE)


def _cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


async def batch_line(config: Path) -> Functions:
    """Return the functions that one line of a batch, a PWID, calls."""
    options = ("--batch", "-", "--input-format", "lines", "--at-once", "1")
    async with _traced("resolve", *options, "--config", str(config)) as command:
        await _resolve(command.process, _WARM_UP)
        async with command.recording() as functions:
            await _resolve(command.process, _PAGE)
    return functions


def _is_of_server(file: str) -> bool:
    return file.startswith(tuple(f"{package}/" for package in _SERVER_PACKAGES))


def _figure(name: str, limit: int | None, functions: Functions) -> Figure:
    details = [f"{file}: {', '.join(functions[file])}" for file in sorted(functions)]
    return Figure(name, len(functions), limit, details)


@asynccontextmanager
async def _archive(folder: Path) -> AsyncIterator[Path]:
    """Serve an archive without faults; yield a configuration in which it is the only one."""
    captures = [capture for url in (_WARM_UP, _PAGE) for capture in captures_of(url, "2015")]
    async with misbehaving_archive(captures) as archive:
        config = folder / "timegate.toml"
        config.write_text(
            "[archives]\nuse = []\n"
            '[[archive]]\nid = "test"\nkind = "memento"\npwid = ["test.example"]\n'
            f'timegate = "{archive.url}/timegate/"\ntimemap = "{archive.url}/timemap/link/"\n'
            f'replay = "{archive.url}/web/{{time14}}/{{uri}}"\n'
        )
        yield config


@dataclass(frozen=True, slots=True)
class _Traced:
    """A command that runs in `tests.architecture.traced`."""

    process: Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @asynccontextmanager
    async def recording(self) -> AsyncIterator[dict[str, list[str]]]:
        """Record the functions called during the block; the mapping is filled at its end."""
        functions: dict[str, list[str]] = {}
        await self._command("start")
        yield functions
        await asyncio.sleep(_AFTERWARDS)
        functions.update(_of_product(json.loads(await self._command("stop"))))

    async def _command(self, word: str) -> bytes:
        self.writer.write(f"{word}\n".encode())
        return await self.reader.readline()


def _of_product(functions: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return those of *functions* that are in product files, by the path below the root."""
    folders = tuple(f"{ROOT / package}/" for package in PACKAGES)
    return {
        str(Path(file).relative_to(ROOT)): names
        for file, names in functions.items()
        if file.startswith(folders)
    }


@asynccontextmanager
async def _traced(*arguments: str) -> AsyncIterator[_Traced]:
    """Run ``timegate`` with *arguments* until the block ends."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours, limit=1 << 20)
    with theirs:
        words = ("-m", "tests.architecture.traced", str(theirs.fileno()), *arguments)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *words),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd=ROOT,
            pass_fds=[theirs.fileno()],
        )
    try:
        yield _Traced(process, reader, writer)
    finally:
        await _end(process, terminate=arguments[0] == "serve")
        writer.close()


async def _end(process: Process, *, terminate: bool) -> None:
    """End *process*; without *terminate* it ends because its input ends."""
    with suppress(ProcessLookupError):
        if terminate:
            process.terminate()
        try:
            await asyncio.wait_for(process.communicate(b""), _TO_END)
        except TimeoutError:
            process.kill()
            await process.wait()


async def _port(process: Process) -> int:
    """Wait until the server listens; return its port."""
    assert process.stderr is not None
    lines = []
    async for line in process.stderr:
        lines.append(line.decode())
        if "listening at" in lines[-1]:
            return int(lines[-1].rstrip("/\n").rpartition(":")[2])
    raise RuntimeError(f"timegate serve did not start:\n{''.join(lines)}")


async def _get(port: int, target: str) -> None:
    """Send a request as a Memento client does; the answer must be a redirect to a memento."""
    fields = (
        f"GET {target} HTTP/1.1",
        "Host: localhost",
        "Accept-Datetime: Thu, 01 Jan 2015 00:00:00 GMT",
        "Connection: close",
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write("".join(f"{field}\r\n" for field in (*fields, "")).encode())
    answer = await reader.read()
    writer.close()
    if not answer.startswith(b"HTTP/1.1 302 "):
        raise RuntimeError(f"{target} was answered with {answer[:500]!r}")


async def _resolve(process: Process, url: str) -> None:
    """Write one line to the batch and wait for its result, which must be a memento."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(f"urn:pwid:test.example:2015-01-01T00:00:00Z:page:{url}\n".encode())
    row = await process.stdout.readline()
    if not row:
        raise RuntimeError(f"timegate resolve ended:\n{(await process.stderr.read()).decode()}")
    if json.loads(row)["code"] != 0:
        raise RuntimeError(f"the batch line was answered with {row[:500]!r}")
