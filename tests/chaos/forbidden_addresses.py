"""S17: no spelling of a forbidden address leads to a connection, at any endpoint that fetches.

Checked with strace: `connect` is called for the addresses of the archives only.
"""

import asyncio
import subprocess
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tests.chaos.rig.archives import archives
from tests.chaos.rig.asking import Client, statuses
from tests.chaos.rig.forbidden import spellings
from tests.chaos.rig.misbehaving import PAGE, entry, misbehaving
from tests.chaos.rig.processes import python
from tests.chaos.rig.timegates import timegate
from tests.chaos.rig.tracer import connected, strace
from tests.chaos.scenario import Rig, Scenario

_ENDPOINTS: Final = (
    "/timegate/{}",
    "/timemap/link/{}",
    "/resolve/{}",
    "/resolve/urn:pwid:{host}:2010-01-22T11:20:29Z:page:{}",
    "/memento/20100122112029/{}",
    "/memento/proxy/20100122112029/{}",
    "/web/20100122112029id_/{}",
    "/resolve/http://{host}/web/20100122112029/http://www.example.org/",
)
_REDIRECTS: Final = (
    *("redirect-metadata", "redirect-file", "redirect-elsewhere", "redirect-private"),
)


async def forbidden_by_clients(rig: Rig) -> None:
    """Every spelling as a URL, an archive and a replay link."""
    hosts = spellings()[:: rig.scaled(1, 5)]
    log = rig.folder / "strace"
    with archives(2, rig.folder) as farm:
        with timegate(rig.place("t"), farm.entries(), before=strace(log)) as server:
            targets = [
                endpoint.format(f"http://{_sendable(host)}/secret", host=_sendable(host))
                for endpoint in _ENDPOINTS
                for host in hosts
            ]
            answers = await Client(server.port).at_once(targets, 16)
        others = _others(log, set(farm.ports))
    rig.promise(
        f"{len(hosts)} spellings at {len(_ENDPOINTS)} endpoints: other connections",
        f"{len(others)} of {len(connected(log)):,} seen by strace {others[:3] or ''}",
        "0",
        met=not others and bool(connected(log)),
    )
    failed = [a for a in answers if a.status in (0, 500)]
    rig.promise("their answers", statuses(answers), "no 500, none missing", met=not failed)


def _sendable(host: str) -> str:
    """Return *host* with the characters that a request line may contain."""
    return quote(host, safe="[]:@%#.~-_")


def _others(log: Path, allowed: set[int]) -> list[tuple[str, int]]:
    return [
        (address, port)
        for address, port in connected(log)
        if address != "127.0.0.1" or port not in allowed
    ]


async def forbidden_by_archives(rig: Rig) -> None:
    """Archives that redirect to metadata services, files, private and other hosts."""
    log = rig.folder / "strace"
    with misbehaving(rig.folder) as address:
        config = "".join(entry(address, name) for name in _REDIRECTS)
        with timegate(rig.place("t"), config, before=strace(log)) as server:
            answers = [
                await Client(server.port, headers={"Prefer": f"archives={name}"}).ask(endpoint)
                for name in _REDIRECTS
                for endpoint in (
                    f"/timegate/{PAGE}",
                    f"/timemap/link/{PAGE}",
                    f"/memento/proxy/20200202020202/{PAGE}",
                )
            ]
        others = _others(log, {int(address.rpartition(":")[2])})
    rig.promise(
        f"{len(_REDIRECTS)} kinds of redirect by archives: other connections",
        f"{len(others)} of {len(connected(log))} {others[:3] or ''} ({statuses(answers)})",
        "0",
        met=not others and bool(connected(log)),
    )


async def forbidden_by_commands(rig: Rig) -> None:
    """``timegate resolve``, ``extract`` and ``check`` with the same addresses."""
    hosts = [host for host in spellings() if host.isascii()][:: rig.scaled(1, 5)]
    with archives(2, rig.folder) as farm, misbehaving(rig.folder) as address:
        config = rig.folder / "commands.toml"
        config.write_text("[archives]\nuse = []\n" + farm.entries())
        links = [f"http://{host}/web/20100122112029/http://www.example.org/" for host in hosts]
        names = [f"urn:pwid:{host}:2010-01-22T11:20:29Z:page:http://{host}/x" for host in hosts]
        listed = rig.folder / "list"
        listed.write_text("\n".join((*links, *names)) + "\n")
        output = str(rig.folder / "out.warc.gz")
        port = int(address.rpartition(":")[2])
        for name, words, allowed in (
            ("resolve", ("--batch", str(listed), "--config", str(config)), set(farm.ports)),
            ("extract", (str(listed), "-o", output, "--config", str(config)), set(farm.ports)),
            *(("check", (f"{address}/~{fault}/",), {port}) for fault in _REDIRECTS),
        ):
            log = rig.folder / f"strace-{name}"
            log.unlink(missing_ok=True)
            code = await asyncio.to_thread(_run, log, name, *words)
            _report(rig, name, code, log, allowed)


def _report(rig: Rig, name: str, code: int, log: Path, allowed: set[int]) -> None:
    others = _others(log, allowed)
    rig.promise(
        f"timegate {name}: other connections",
        f"{len(others)} of {len(connected(log))} {others[:3] or ''}, exit {code}",
        "0",
        met=not others,
    )


def _run(log: Path, name: str, *words: str) -> int:
    command = [*strace(log), *python("timegate", name, *words)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=100)  # noqa: S603 -- our own command
    return done.returncode


SCENARIOS: Final = (
    Scenario("forbidden-by-clients", "S17, SE-07", forbidden_by_clients, 240),
    Scenario("forbidden-by-archives", "S17, SE-07", forbidden_by_archives, 90),
    Scenario("forbidden-by-commands", "S17, SE-08", forbidden_by_commands, 240),
)
