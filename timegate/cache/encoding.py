"""Encoding of cached TimeMaps, and how long answers and TimeMaps stay fresh.

Msgpack under a schema, sealed with a version and a checksum. The captures of a TimeMap are
sorted and packed in blocks, each sealed by itself, after a list of the first stamp of each
block: finding the nearest capture decodes two blocks, whether there are a hundred captures or
twenty thousand.
"""

import re
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Final, Literal

import msgspec

from archives.diagnostics import Malformed
from archives.model import Closest, Memento, Relation
from archives.moment import Moment, second_of
from archives.nearest import nearest, true_neighbours

_VERSION: Final = b"\x01"
_SEAL: Final = 5
"""Bytes: the version, then a CRC-32. Against faulty disks and truncation, not attackers."""

# Nine of ten stamps: a day that every month has. Takes 0.4 microseconds, the calendar 1.0.
_COMMON_STAMP: Final = re.compile(
    r"[12][0-9]{3}(?:0[1-9]|1[0-2])(?:0[1-9]|1[0-9]|2[0-8])(?:[01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]"
)


class CorruptEntry(Exception):
    """Bytes that this program has not written, or that were damaged since."""


_encoder: Final = msgspec.msgpack.Encoder()


def sealed(payload: bytes) -> bytes:
    """Return *payload* with its version and checksum in front."""
    return _VERSION + zlib.crc32(payload).to_bytes(4, "big") + payload


def unsealed(value: bytes | memoryview) -> memoryview:
    """Return the payload that was given to `sealed`. Raises CorruptEntry."""
    payload = memoryview(value)[_SEAL:]
    expected = _VERSION + zlib.crc32(payload).to_bytes(4, "big")
    if value[:_SEAL] != expected:
        raise CorruptEntry("damaged, or of another version")
    return payload


def check_memento(memento: Memento, archive: str) -> None:
    """Raise CorruptEntry unless *memento* could have been stored for *archive*."""
    if memento.archive != archive:
        raise CorruptEntry("a capture of another archive")
    if not (memento.uri.startswith(("http://", "https://")) and memento.uri.isprintable()):
        raise CorruptEntry("an address that cannot stand in a header")
    if not _COMMON_STAMP.fullmatch(memento.stamp):
        _check_stamp(memento.stamp)


def _check_stamp(stamp: str) -> None:
    if len(stamp) < 14:
        raise CorruptEntry("a stamp that is too short")
    try:
        Moment(stamp)
    except Malformed as error:
        raise CorruptEntry(str(error)) from error


SETTLED: Final = 86_400.0
RECENT: Final = 3_600.0
NEGATIVE: Final = 600.0
TIMEMAP: Final = 86_400.0
DELIVERED: Final = 7 * 86_400.0
"""A memento does not change; that it was delivered is checked again after a week."""
STALE: Final = 3 * 86_400.0
LONGEST_STALE: Final = 7 * 86_400.0
"""RFC 8767 5: serve stale for one to three days, and no more than seven."""

_RECENT_DAYS: Final = timedelta(days=30)


@lru_cache(maxsize=8)
def _settled_before(minute: int) -> datetime:
    return datetime.fromtimestamp(minute * 60, UTC) - _RECENT_DAYS


def settled_before(given_at: float) -> datetime:
    """Return the time before which captures were old when an answer was given."""
    return _settled_before(int(given_at) // 60)


def lifetime(at: Moment | None, outcome: Closest | None, given_at: float) -> float:
    """Return the seconds for which the answer *outcome*, given at *given_at*, is fresh."""
    if outcome is None:
        return NEGATIVE
    if at is None:
        return RECENT
    _, until = at.window
    # Also where the time asked for reaches into the present: a capture of today may be nearer.
    if max(until, second_of(outcome.memento.stamp)) > settled_before(given_at):
        return RECENT
    return SETTLED


MOST_CAPTURES: Final = 20_000
"""3.6 MB, and 12 to 40 ms to pack. Longer TimeMaps are streamed, never held in memory."""
BLOCK: Final = 64


class _Head(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    question: str
    starts: list[str]


class _TimeMap(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    head: memoryview
    blocks: list[memoryview]


_decode_timemap: Final = msgspec.msgpack.Decoder(_TimeMap).decode
_decode_head: Final = msgspec.msgpack.Decoder(_Head).decode
_decode_block: Final = msgspec.msgpack.Decoder(list[Memento]).decode


def encode_captures(question: str, captures: Sequence[Memento]) -> bytes:
    """Encode all *captures*, given in any order."""
    ordered = sorted(captures, key=attrgetter("stamp", "uri"))
    blocks = [ordered[i : i + BLOCK] for i in range(0, len(ordered), BLOCK)]
    head = _Head(question, [block[0].stamp for block in blocks])
    packed = [sealed(_encoder.encode(block)) for block in blocks]
    return _encoder.encode([sealed(_encoder.encode(head)), packed])


class PackedCaptures:
    """The captures of one TimeMap, oldest first, decoded block by block on access.

    Every access may raise CorruptEntry.
    """

    def __init__(self, value: bytes, question: str, archive: str) -> None:
        try:
            timemap = _decode_timemap(value)
            head = _decode_head(unsealed(timemap.head))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise CorruptEntry(str(error)) from error
        if head.question != question or len(head.starts) != len(timemap.blocks):
            raise CorruptEntry("the answer to another question")
        self._starts = head.starts
        self._packed = timemap.blocks
        self._blocks: dict[int, list[Memento]] = {}
        self._archive = archive
        full = max(len(self._packed) - 1, 0)
        self._count = full * BLOCK + (len(self._block(full)) if self._packed else 0)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Memento:
        memento = self._block(index // BLOCK)[index % BLOCK]
        check_memento(memento, self._archive)
        return memento

    def blocks(self) -> Iterator[list[Memento]]:
        """Decode and yield all blocks."""
        for number in range(len(self._packed)):
            block = self._unpacked(number)
            for memento in block:
                check_memento(memento, self._archive)
            yield block

    def closest(self, at: Moment | None) -> Closest | None:
        """Return the capture nearest to *at* (None: the newest); None if there is none."""
        if not self._count:
            return None
        candidates = {self[i]: i for i in sorted(self._candidates(at))}
        chosen = nearest(candidates, at)
        if chosen is None:
            return None
        return Closest(chosen, "timemap", neighbours=self._neighbours(candidates[chosen]))

    def _neighbours(self, index: int) -> dict[Relation, Memento]:
        found: dict[Relation, Memento] = {"first": self[0], "last": self[self._count - 1]}
        before, after = self._beyond_twins(index, -1), self._beyond_twins(index, 1)
        if before >= 0:
            found["prev"] = self[before]
        if after < self._count:
            found["next"] = self[after]
        return true_neighbours(self[index], found)

    def _beyond_twins(self, index: int, step: Literal[-1, 1]) -> int:
        """Return the index of the next capture with another stamp, in one direction."""
        stamp = self[index].stamp
        while 0 <= index < self._count and self[index].stamp == stamp:
            index += step
        return index

    def _candidates(self, at: Moment | None) -> Iterator[int]:
        """Yield the indexes of the captures on either side of *at*.

        Towards the instant that is sent to TimeGates, captures only get nearer, measured from
        the interval as well as from the instant: no other capture can be the nearest.
        """
        if at is None:
            yield from self._as_old_as(self._count - 1, -1)
            return
        behind = self._behind(Moment.of(at.negotiated).digits)
        if behind > 0:
            yield from self._as_old_as(behind - 1, -1)
        if behind < self._count:
            yield from self._as_old_as(behind, 1)

    def _behind(self, second: str) -> int:
        """Return the index of the first capture after *second*, fourteen digits."""
        # A colon sorts after every digit, so this includes the fractions of the second.
        bound = second + ":"
        block = max(bisect_right(self._starts, bound) - 1, 0)
        stamps = [memento.stamp for memento in self._block(block)]
        return block * BLOCK + bisect_right(stamps, bound)

    def _as_old_as(self, index: int, step: Literal[-1, 1]) -> Iterator[int]:
        """Yield *index* and the indexes of the same second after it, in one direction."""
        second = second_of(self[index].stamp)
        while 0 <= index < self._count and second_of(self[index].stamp) == second:
            yield index
            index += step

    def _block(self, number: int) -> list[Memento]:
        block = self._blocks.get(number)
        if block is None:
            block = self._blocks[number] = self._unpacked(number)
        return block

    def _unpacked(self, number: int) -> list[Memento]:
        try:
            block = _decode_block(unsealed(self._packed[number]))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise CorruptEntry(str(error)) from error
        is_last = number == len(self._packed) - 1
        if len(block) != BLOCK and not (is_last and 0 < len(block) < BLOCK):
            raise CorruptEntry("a block that is too long or too short")
        return block
