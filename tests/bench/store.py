"""Revisions written a second: synced one by one, in groups, and by warcio without sync.

Each round writes the same revisions in all ways; the ratios are medians of the rounds.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import wait
from io import BytesIO
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

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
            began = time.perf_counter()
            ended = subprocess.run(
                [sys.executable, "-m", "timegate", *words], check=True, capture_output=True
            )
            seconds = time.perf_counter() - began
            report = json.loads(ended.stdout)
            assert report["written"] == (_SYNCED if what == "copied" else 0)
            print(f"sync of {_SYNCED} mementos, {what}: {seconds:.1f} s")


def main() -> None:
    """Print revisions a second, and CPU seconds for 1,000 of them."""
    with TemporaryDirectory() as place:
        synchronize(Path(place))
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
