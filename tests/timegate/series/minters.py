"""Processes that mint at the same time, and are killed while they do.

``python -m tests.timegate.series.minters FOLDER COUNT`` mints, and prints each PDI once it is
acknowledged, with the digest of its bytes.
"""

import itertools
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Final, NamedTuple

from timegate.series import Minted, MintRequest
from timegate.series.catalogue import Catalogue, Listing
from timegate.series.minting import SeriesJournal
from timegate.series.records import body_of
from timegate.series.requests import content_of
from timegate.store import StoreSettings
from timegate.store.writer import StoreWriter

SERIES: Final = "oma.eop.gov.us"
_AT_ONCE: Final = 8


class Minting(NamedTuple):
    """What was acknowledged, and what is there afterwards."""

    acknowledged: Sequence[tuple[str, str]]
    """PDIs with digests."""
    kills: int
    twice: int
    lost: int
    """Acknowledged, and not there with the same bytes."""
    out_of_order: int
    """Documents whose number is higher, and whose time is not."""
    held: int


def _mint(folder: Path, count: int) -> None:
    settings = StoreSettings("papers", folder, free=0)
    journal = SeriesJournal(folder)
    with StoreWriter(settings, journal=journal) as writer:
        for _ in range(0, count, _AT_ONCE):
            waiting = [
                writer.submit_request(
                    MintRequest(SERIES, content_of({"format": "text"}, None, body), "me"), 50
                )
                for body in (os.urandom(20).hex().encode() for _ in range(_AT_ONCE))
            ]
            for each in waiting:
                minted = each.result()
                assert isinstance(minted, Minted)
                found = minted.representation
                sys.stdout.write(f"{found.pdi} {found.digest}\n")
            sys.stdout.flush()


def minted_by_processes(
    folder: Path, count: int, processes: int = 4, kill_every: int = 60, seed: int = 7
) -> Minting:
    """Mint *count* documents or more by *processes*, each killed again and again."""
    acknowledged: list[tuple[str, str]] = []
    kills = [0]

    def run(number: int) -> None:
        chance = random.Random(seed * 100 + number)  # noqa: S311 -- of a test
        mine = 0
        while mine < count // processes:
            left = count // processes - mine
            stop = chance.randrange(1, 2 * kill_every)
            command = [sys.executable, "-m", __name__, str(folder), str(left)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 -- ourselves
                assert process.stdout is not None
                for line in process.stdout:
                    pdi, _, digest = line.strip().partition(" ")
                    if len(digest) != len("sha256:") + 64:
                        continue  # A line that the kill has cut.
                    acknowledged.append((pdi, digest))
                    mine += 1
                    stop -= 1
                    if stop == 0:
                        process.kill()
                        kills[0] += 1

    threads = [Thread(target=run, args=(number,)) for number in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _compared(folder, acknowledged, kills[0])


def _compared(folder: Path, acknowledged: Sequence[tuple[str, str]], kills: int) -> Minting:
    SeriesJournal(folder).refresh()
    listed = Catalogue(folder).listed(Listing(SERIES, ("*", "*", "*")), 1_000_000)
    held = {each.pdi: each for each in listed.representations}
    names = [pdi for pdi, _ in acknowledged]
    lost = 0
    for pdi, digest in acknowledged:
        found = held.get(pdi)
        if found is None or found.location is None or found.digest != digest:
            lost += 1
        else:
            body_of(found.location)
    stamps = [(each.document.date, each.stamp) for each in listed.representations]
    wrong = sum(
        one[0] == other[0] and one[1] >= other[1] for one, other in itertools.pairwise(stamps)
    )
    return Minting(acknowledged, kills, len(names) - len(set(names)), lost, wrong, len(held))


if __name__ == "__main__":
    _mint(Path(sys.argv[1]), int(sys.argv[2]))
