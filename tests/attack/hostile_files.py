"""Hostile files of a collection: torn, sparse, padded; and what strangers can read on disk."""

import asyncio
import gzip
import os
import stat
import subprocess
from pathlib import Path
from typing import Final

from tests import warcs
from tests.attack.rig import PAGE, asking, entry, healthy, scripted, settled
from tests.chaos.rig.asking import Client, statuses
from tests.chaos.rig.processes import python
from tests.chaos.rig.timegates import timegate
from tests.chaos.rig.warc_files import entry as collection
from tests.chaos.rig.warc_files import pages, records
from tests.chaos.scenario import Rig, Scenario

_STAMP: Final = "20200220202020"
_HUGE: Final = 5 * 1024**3
_LAST: Final = "http://example.com/last"


async def torn_files(rig: Rig) -> None:
    """A file cut at many places: a record is right or is missing, never half."""
    held = pages("torn", 12)
    whole = b"".join(records(held))
    cuts = range(1, len(whole) + 1, max(1, len(whole) // rig.scaled(30, 8)))
    for cut in cuts:
        (rig.place(f"torn/{cut}") / "one.warc.gz").write_bytes(whole[:cut])
    config = "".join(
        f'[[archive]]\nid = "cut{cut}"\nkind = "warc"\npath = "{rig.folder}/torn/{cut}"\n'
        for cut in cuts
    )
    with timegate(rig.place("t"), config) as server:
        client = Client(server.port, date=None)
        targets = {
            f"/collections/cut{cut}/{_STAMP}id_/{url}": body
            for cut in cuts
            for url, body in held.items()
        }
        for cut in cuts:
            await settled(client, f"/collections/cut{cut}/{_STAMP}id_/{next(iter(held))}")
        answers = await client.at_once(targets, 4)
    served = [a for a in answers if a.status == 200]
    wrong = [a.target for a in served if a.body != targets[a.target]]
    failed = [a for a in answers if a.status in (0, 500)]
    rig.promise(
        f"a file of {len(held)} records cut at {len(cuts)} places: wrong bytes",
        f"{len(wrong)} of {len(served)} served ({statuses(answers)})",
        "0, no 500",
        met=not wrong and not failed and len(served) > len(cuts),
    )


async def sparse_record(rig: Rig) -> None:
    """A record of five gigabytes that are not there, and a good one behind it (T10)."""
    folder = rig.place("sparse")
    head = warcs.record(warcs.answer(b""), length=str(_HUGE)).removesuffix(b"\r\n\r\n")
    with (folder / "one.warc").open("wb") as file:
        file.write(head)
        file.seek(head.index(b"\r\n\r\n") + 4 + _HUGE)
        file.write(b"\r\n\r\n" + warcs.response(_LAST))
    cpu, code = await asyncio.to_thread(_indexed, folder)
    found = await _found(rig, folder, "sparse")
    rig.promise(
        "indexing a sparse record of 5 GB: CPU",
        f"{cpu:.1f} s, exit {code}; the record behind it: {found}",
        "2 s more than start-up; 200",
        met=cpu <= 4 and found == 200,
    )


async def empty_members(rig: Rig) -> None:
    """A good record behind 100,000 empty gzip members (T10)."""
    folder = rig.place("members")
    empty = gzip.compress(b"", mtime=0)
    octets = empty * 100_000 + warcs.gzipped(warcs.response(_LAST))
    (folder / "one.warc.gz").write_bytes(octets)
    cpu, code = await asyncio.to_thread(_indexed, folder)
    found = await _found(rig, folder, "members")
    rig.promise(
        "a good record behind 100,000 empty gzip members",
        f"{found}; indexed in {cpu:.1f} s of CPU, exit {code}",
        "found, or the damage is said: no 404",
        met=found != 404,
    )


def _indexed(folder: Path) -> tuple[float, int]:
    """Index a folder; return CPU seconds and exit code."""
    child = subprocess.Popen(  # noqa: S603 -- our own command
        python("timegate", "index", str(folder)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime, child.returncode


async def _found(rig: Rig, folder: Path, name: str) -> int:
    """Return the status of the last record of a collection."""
    with timegate(rig.place("t"), collection(folder), name=name) as server:
        client = Client(server.port, date=None)
        dated = await settled(client, f"/collections/mine/{_STAMP}id_/{_LAST}")
        if dated.status == 302:
            place = dated.header("Location") or ""
            dated = await client.ask("/" + place.split("/", 3)[3])
        return dated.status


async def private_files(rig: Rig) -> None:
    """Files that hold URLs can be read by their owner only (T10)."""
    place = rig.place("private")
    config = f'[cache]\nurl = "sqlite:{place}/cache.sqlite"\n'
    async with scripted(lambda _m, _t: None) as archive:
        archive.answering = healthy(lambda: archive.base)
        with timegate(rig.place("t"), config + entry("good", archive.base)) as server:
            await asking(server.port).at_once([f"/timegate/{PAGE}{n}" for n in range(20)], 4)
            await asyncio.sleep(1.5)
            listed = rig.folder / "list.txt"
            listed.write_text(f"duri:2016:{PAGE}1\n")
            words = ("resolve", "--batch", str(listed), "-o", str(place / "out.jsonl"))
            await _run("timegate", *words, "--config", str(rig.folder / "t" / "timegate.toml"))
    files = [file for file in place.rglob("*") if file.is_file()]
    modes = {file.name: stat.filemode(file.stat().st_mode) for file in files}
    kept = {name: mode for name, mode in modes.items() if not name.startswith("out.jsonl")}
    open_ones = [name for name, mode in kept.items() if mode[4:] != "------"]
    rig.promise(
        "files of the cache with URLs: readable by others",
        f"{open_ones or 'none'} of {modes}",
        "none",
        met=not open_ones and bool(kept),
    )


async def _run(*words: str) -> int:
    process = await asyncio.create_subprocess_exec(
        *python(*words), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    return await process.wait()


SCENARIOS: Final = (
    Scenario("torn-files", "HU-22, R-29", torn_files, 300),
    Scenario("sparse-record", "16.7, T10", sparse_record, 180),
    Scenario("empty-members", "16.7, T10", empty_members, 180),
    Scenario("private-files", "16.7, T10", private_files, 120),
)
