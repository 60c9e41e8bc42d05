"""Revisions written a second: synced one by one, in groups, and by warcio without sync.

Each round writes the same revisions in all ways; the ratios are medians of the rounds.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import wait
from io import BytesIO
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

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


def main() -> None:
    """Print revisions a second, and CPU seconds for 1,000 of them."""
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
