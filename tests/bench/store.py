"""Revisions written a second: synced one by one, in groups, and by warcio without sync.

Each round writes the same revisions in all ways; the ratios are medians of the rounds.
"""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import wait
from datetime import UTC, datetime, timedelta
from functools import partial
from io import BytesIO
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import aiohttp
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

from tests.end_to_end.server import serving
from tests.timegate.store.stores import a_revision, settings
from timegate.store import Revision
from timegate.store.files import Disk
from timegate.store.writer import StoreWriter

_ROUNDS: Final = 5
_COUNT: Final = 200
_OCTETS: Final = 4000


class _UnsyncedDisk(Disk):
    """A disk that does not sync the WARC: what the sync of it costs. The index still syncs."""

    def sync(self, descriptor: int) -> None:
        """Do nothing."""


def _one_by_one(folder: Path, revisions: list[Revision], disk: Disk) -> None:
    with StoreWriter(settings(folder), disk) as writer:
        for revision in revisions:
            writer.submit(revision).result()


def _in_groups(folder: Path, revisions: list[Revision]) -> None:
    with StoreWriter(settings(folder)) as writer:
        wait([writer.submit(revision) for revision in revisions])


def _warcio(folder: Path, revisions: list[Revision]) -> None:
    folder.mkdir()
    with (folder / "warcio.warc.gz").open("wb") as file:
        writer = WARCWriter(file, gzip=True, warc_version="WARC/1.1")
        for revision in revisions:
            writer.write_record(
                writer.create_warc_record(
                    revision.url,
                    "resource",
                    payload=BytesIO(revision.body),
                    length=len(revision.body),
                    warc_content_type=revision.content_type,
                )
            )


WAYS: Final[dict[str, Callable[[Path, list[Revision]], None]]] = {
    "warcio, no sync, no index": _warcio,
    "store, synced in groups": _in_groups,
    "store, synced one by one": lambda folder, all_: _one_by_one(folder, all_, Disk()),
    "store, one by one, WARC not synced": lambda folder, all_: _one_by_one(
        folder, all_, _UnsyncedDisk()
    ),
}


_SYNCED: Final = 10_000


def synchronize(folder: Path) -> None:
    """Print how long a store takes to copy 10,000 mementos of another one, and to compare."""
    source = folder / "source"
    with StoreWriter(settings(source)) as writer:
        for start in range(0, _SYNCED, 1000):
            pages = range(start, start + 1000)
            wait(
                [
                    writer.submit(a_revision(os.urandom(_OCTETS), f"http://example.org/{n}"))
                    for n in pages
                ]
            )
    config = folder / "source.toml"
    config.write_text(
        f'archives.use = []\n[[store]]\nid = "notes"\npath = "{source}"\nfree_megabytes = 0\n'
    )
    with serving("--config", str(config)) as server:
        address = f"{server.url}/collections/notes"
        words = ["sync", address, "--store", str(folder / "copies"), "--json"]
        for what in ("copied", "compared"):
            began, cpu = time.perf_counter(), _children_cpu()
            ended = subprocess.run(
                [sys.executable, "-m", "timegate", *words], check=True, capture_output=True
            )
            seconds = time.perf_counter() - began
            report = json.loads(ended.stdout)
            assert report["written"] == (_SYNCED if what == "copied" else 0)
            print(
                f"sync of {_SYNCED} mementos, {what}: {seconds:.1f} s, "
                f"{_children_cpu() - cpu:.1f} s of CPU"
            )


def _children_cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


_APART: Final = 10_000
_WITHIN: Final = 1_000
_CLIENTS: Final = 32
_TOKEN: Final = "bench"  # noqa: S105 -- of a benchmark


async def negotiate(folder: Path) -> None:
    """Write revisions of one page by PUT, a second apart and within a second; find each."""
    digest = hashlib.sha256(_TOKEN.encode()).hexdigest()
    config = folder / "negotiated.toml"
    config.write_text(
        "archives.use = []\n"
        f'[[store]]\nid = "notes"\npath = "{folder / "notes"}"\nfree_megabytes = 0\n'
        f'writes_per_minute = 1000000\ntokens = ["sha256:{digest}"]\n'
    )
    first = datetime(2020, 1, 1, tzinfo=UTC)
    stamps = [f"{first + timedelta(seconds=n):%Y-%m-%dT%H:%M:%S}Z" for n in range(_APART)]
    stamps += [f"2021-01-01T00:00:00.{n:03}Z" for n in range(_WITHIN)]
    with serving("--config", str(config)) as server:
        page = f"{server.url}/store/notes/http://example.org/"
        async with aiohttp.ClientSession() as session:
            began = time.perf_counter()
            written = await _each(stamps, partial(_persisted, session, page))
            seconds = time.perf_counter() - began
            print(
                f"{sum(written)} of {len(stamps)} revisions of one page by PUT, {_CLIENTS} "
                f"clients: {len(stamps) / seconds:.0f} a second"
            )
            began = time.perf_counter()
            found = await _each(stamps, partial(_retrieved, session, page))
            seconds = time.perf_counter() - began
    print(f"{sum(found)} of them found by their time: {len(stamps) / seconds:.0f} a second")
    assert all(written)
    assert all(found)


async def _each(
    stamps: Sequence[str], use: Callable[[str], Coroutine[None, None, bool]]
) -> list[bool]:
    waiting, results = iter(stamps), list[bool]()

    async def work() -> None:
        for stamp in waiting:
            results.append(await use(stamp))

    async with asyncio.TaskGroup() as clients:
        for _ in range(_CLIENTS):
            clients.create_task(work())
    return results


async def _persisted(session: aiohttp.ClientSession, page: str, stamp: str) -> bool:
    headers = {"Authorization": f"Bearer {_TOKEN}", "Timegate-Datetime": stamp}
    async with session.put(page, data=stamp.encode(), headers=headers) as reply:
        return reply.status == 201


async def _retrieved(session: aiohttp.ClientSession, page: str, stamp: str) -> bool:
    """Return whether the revision of *stamp* is found, with the memento as body."""
    headers = {"Accept-Datetime": stamp, "Prefer": "handling=lenient"}
    async with session.get(page, headers=headers) as reply:
        return reply.status == 200 and await reply.text() == stamp


def main() -> None:
    """Print revisions a second, and CPU seconds for 1,000 of them."""
    with TemporaryDirectory() as place:
        synchronize(Path(place))
    with TemporaryDirectory() as place:
        asyncio.run(negotiate(Path(place)))
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    with TemporaryDirectory() as place:
        for number in range(_ROUNDS):
            revisions = [
                a_revision(os.urandom(_OCTETS), f"http://example.org/{n}")
                for n in range(_COUNT)
            ]
            for name, write in WAYS.items():
                folder = Path(place) / f"{number} {name}"
                began, cpu = time.perf_counter(), time.process_time()
                write(folder, revisions)
                figures[name].append(
                    (
                        _COUNT / (time.perf_counter() - began),
                        (time.process_time() - cpu) * 1000 / _COUNT,
                    )
                )
    print(f"{_COUNT} revisions of {_OCTETS} octets, {_ROUNDS} rounds; median (least to most)")
    for name, found in figures.items():
        rates, cpus = zip(*found, strict=True)
        print(
            f"{name:36} {median(rates):8.0f} a second ({min(rates):.0f} to {max(rates):.0f}), "
            f"{median(cpus):.2f} CPU s for 1,000 ({min(cpus):.2f} to {max(cpus):.2f})"
        )
