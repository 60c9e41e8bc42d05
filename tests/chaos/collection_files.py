"""Collections with truncated, replaced or copied files, and indexes of other files."""

import asyncio
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from archives.warc_index.building import index_collection
from tests.chaos.rig.processes import python
from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.rig.warc_files import (
    FetchResult,
    contents,
    entry,
    fetch_all,
    pages,
    records,
    write,
)
from tests.chaos.scenario import Rig, Scenario

_EACH: Final = 100
_INDEX: Final = ".timegate"
_HOUR: Final = 3600.0
Held = dict[str, bytes]


class _Case(NamedTuple):
    """A change to three files and their index; returns the captures that they hold then."""

    name: str
    change: Callable[[Path, Held], Held]


def _truncated(folder: Path, held: Held) -> Held:
    """Truncate the last record of the second file, which has never been indexed."""
    shutil.rmtree(folder / _INDEX)
    file = folder / "b.warc.gz"
    os.truncate(file, file.stat().st_size - 40)
    return _without(held, f"/b/{_EACH - 1}")


def _older_index(folder: Path, held: Held) -> Held:
    """Append to a file that was indexed."""
    more = pages("b", 20, _EACH)
    with (folder / "b.warc.gz").open("ab") as file:
        file.write(b"".join(records(more)))
    return held | more


def _newer_index(folder: Path, held: Held) -> Held:
    """Replace an indexed file by an older, shorter copy."""
    file = folder / "b.warc.gz"
    write(file, pages("b", _EACH // 2))
    long_ago = time.time() - _HOUR
    os.utime(file, (long_ago, long_ago))
    return {url: body for url, body in held.items() if "/b/" not in url} | pages(
        "b", _EACH // 2
    )


def _no_index(folder: Path, held: Held) -> Held:
    shutil.rmtree(folder / _INDEX)
    return held


def _index_of_another(folder: Path, held: Held) -> Held:
    """Replace the index by that of other files with the same names."""
    other = folder.with_name(f"{folder.name}-other")
    other.mkdir()
    for label in "abc":
        write(other / f"{label}.warc.gz", pages(f"other-{label}", _EACH // 2))
    index_collection(other)
    shutil.rmtree(folder / _INDEX)
    shutil.copytree(other / _INDEX, folder / _INDEX)
    return held


def _without(held: Held, end: str) -> Held:
    return {url: body for url, body in held.items() if not url.endswith(end)}


_CASES: Final = (
    _Case("a truncated record in the second of three files, never indexed", _truncated),
    _Case("a file that grew since it was indexed", _older_index),
    _Case("an indexed file replaced by an older one", _newer_index),
    _Case("no index", _no_index),
    _Case("the index of another collection", _index_of_another),
)


async def mismatch(rig: Rig) -> None:
    """CD-04: files that differ from their index when the server starts."""
    for number, case in enumerate(_CASES):
        folder = rig.place(f"warcs{number}")
        held: Held = {}
        for label in "abc":
            some = pages(label, _EACH)
            write(folder / f"{label}.warc.gz", some)
            held |= some
        index_collection(folder)
        all_pages = held | pages("b", 20, _EACH)
        held = case.change(folder, held)
        before = contents(folder)
        with timegate(rig.place(f"t{number}"), entry(folder)) as server:
            found = await _until_all(server, held)
            others = dict.fromkeys(all_pages.keys() - held.keys(), b"")
            strange = await fetch_all(server, others)
            log = server.running.log_text()
        unchanged = contents(folder) == before
        reported = "b.warc.gz@" in log
        rig.promise(
            f"{case.name}: {len(held)} complete captures",
            f"{found}; {strange.absent} of {len(others)} others absent; "
            f"files {'unchanged' if unchanged else 'CHANGED'}"
            + ("; the log has the place" if reported else ""),
            "all right, others absent, files unchanged" + (", reported" if not number else ""),
            met=found.right == len(held)
            and strange.absent == len(others)
            and unchanged
            and (reported or bool(number)),
        )


async def _until_all(server: TimeGate, held: Held) -> FetchResult:
    """Request the pages until all are right, for at most 20 seconds."""
    until = time.monotonic() + 20
    found = await fetch_all(server, held)
    while found.right < len(held) and time.monotonic() < until:
        await asyncio.sleep(0.5)
        found = await fetch_all(server, held)
    return found


async def shared(rig: Rig) -> None:
    """CD-09: a server and two indexers on one growing collection."""
    folder = rig.place("warcs")
    held = pages("first", _EACH)
    write(folder / "first.warc.gz", held)
    rounds = rig.scaled(20, 5)
    with timegate(rig.place("t"), entry(folder)) as server:
        await _until_all(server, held)
        ended: list[tuple[int, str]] = []
        worst = 0
        for number in range(rounds):
            more = pages(f"n{number}", 20)
            write(folder / f"n{number}.warc.gz", more)
            runs = await asyncio.gather(*(_indexed(folder) for _ in range(2)))
            ended += runs
            # Earlier captures must be found while the index is written.
            meanwhile = await fetch_all(server, held)
            worst = max(worst, len(held) - meanwhile.right)
            held |= more
        found = await _until_all(server, held)
    strange = [text for code, text in ended if code not in (0, 2) or "Traceback" in text]
    second = sum(code == 2 for code, _ in ended)
    rig.promise(
        f"a server and {rounds} times two runs of timegate index on one collection",
        f"{found}; at most {worst} missing meanwhile; {second} of {len(ended)} runs found "
        f"another one active; {len(strange)} other exits{_first(strange)}; "
        f"index {_checked(folder)}",
        "all right, none missing, index intact",
        met=found.right == len(held) and not worst and not strange and _checked(folder) == "ok",
    )


async def _indexed(folder: Path) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *python("timegate", "index", str(folder)),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await process.communicate()
    return process.returncode or 0, errors.decode(errors="replace")


def _first(texts: list[str]) -> str:
    return f": {texts[0][-200:]}" if texts else ""


def _checked(folder: Path) -> str:
    index = folder / _INDEX / "index.sqlite"
    with closing(sqlite3.connect(f"file:{index}?mode=ro", uri=True)) as connection:
        result: str = connection.execute("PRAGMA integrity_check").fetchone()[0]
    return result


async def copied(rig: Rig) -> None:
    """CD-14: copies of a collection that are made while it grows and is indexed."""
    folder = rig.place("warcs")
    held = pages("first", 4000)
    write(folder / "first.warc.gz", held)
    index_collection(folder)
    opened = 0
    bad: list[str] = []
    for number in range(rig.scaled(6, 2, 40)):
        more = pages(f"n{number}", 2000)
        write(folder / f"n{number}.warc.gz", more)
        held |= more
        # The last copies were made while the index was written.
        for copy in (await _copies(folder, rig.place(f"copies{number}")))[-4:]:
            with timegate(rig.place(f"t{copy.parent.name}{copy.name}"), entry(copy)) as server:
                some = dict(list(held.items())[opened % 10 :: 10])
                found = await _until_all(server, some)
            opened += 1
            if found.right != len(some):
                bad.append(f"{copy.name}: {found}")
        shutil.rmtree(rig.place(f"copies{number}"))
    rig.promise(
        f"{opened} copies (cp -r and cp -a) of a collection that is being indexed: opened",
        f"{opened - len(bad)} have every requested capture{_first(bad)}",
        "all",
        met=not bad,
    )


async def _copies(folder: Path, place: Path) -> list[Path]:
    """Copy *folder* again and again while it is indexed."""
    made: list[Path] = []
    async with asyncio.TaskGroup() as group:
        index = group.create_task(_indexed(folder))
        while not index.done():
            # With and without the times of the files, by which the index recognises them.
            how = "-a" if len(made) % 2 else "-r"
            copy = place / f"copy{len(made)}{how}"
            process = await asyncio.create_subprocess_exec("cp", how, str(folder), str(copy))
            await process.wait()
            made.append(copy)
    return made


SCENARIOS: Final = (
    Scenario("collection-mismatch", "CD-04", mismatch, 240),
    Scenario("collection-shared", "CD-09", shared, 180),
    Scenario("collection-copied", "CD-14", copied, 300, full_seconds=1800),
)
