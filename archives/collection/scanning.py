"""One file, read from where it was left: its captures in batches, and what is wrong with it."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from archives.collection.folder import Kind
from archives.warc.capture import Capture, Damage
from archives.warc.scan import captures_in
from archives.warc.wacz import parts_of

_BATCH: Final = 500
"""Some 100 kB: enough that sending costs little, little enough to hold many."""


class ScanTask(NamedTuple):
    """What a worker is to read."""

    path: str
    kind: Kind
    start: int


class CaptureBatch(NamedTuple):
    """Some of what a file holds; *member* is the WARC in a WACZ."""

    member: str
    captures: list[Capture]
    damages: list[Damage]


def batches_in(task: ScanTask) -> Iterator[CaptureBatch]:
    """Read a file to its end. Raises OSError."""
    with Path(task.path).open("rb") as file:
        yield from batches_of(file, task.kind, task.start)


def batches_of(file: BinaryIO, kind: Kind, start: int) -> Iterator[CaptureBatch]:
    """Read an open file to its end. Raises OSError."""
    if kind == "warc":
        yield from _batches("", captures_in(file, start))
        return
    for region in parts_of(file):
        if isinstance(region, Damage):
            yield CaptureBatch("", [], [region])
        else:
            name, begin, end = region
            yield from _batches(name, captures_in(file, begin, end))


def _batches(member: str, found: Iterable[Capture | Damage]) -> Iterator[CaptureBatch]:
    items = iter(found)
    # Also where nothing is found there is a batch: a WARC without captures is a part too.
    while True:
        some = [_storable(item) for item in islice(items, _BATCH)]
        yield CaptureBatch(
            member,
            [item for item in some if isinstance(item, Capture)],
            [item for item in some if isinstance(item, Damage)],
        )
        if len(some) < _BATCH:
            return


def _storable(item: Capture | Damage) -> Capture | Damage:
    """Return *item*, unless it holds half a character, which no database takes."""
    if isinstance(item, Damage):
        return item
    try:
        "".join(filter(None, (item.surt, item.url, item.mime, item.digest))).encode()
    except UnicodeEncodeError:
        return Damage(item.offset, "its head is no text")
    return item
