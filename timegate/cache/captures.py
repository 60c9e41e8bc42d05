"""A whole TimeMap as bytes, in which the nearest capture is found without unpacking all.

Captures are sorted and packed in blocks, each sealed by itself; in front of them stands with
which stamp each block begins. A question reads two blocks, whether the TimeMap has a hundred
captures or twenty thousand.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final, Literal

import msgspec

from archives.model import Closest, Memento, Relation
from archives.moment import Moment
from archives.nearest import nearest, second_of
from timegate.cache.encoding import CorruptEntry, check_memento, sealed, unsealed

MOST_CAPTURES: Final = 20_000
"""3.6 MB, and 12 to 40 ms to pack. Longer TimeMaps are streamed, never held (design 3)."""
BLOCK: Final = 64


class _Head(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    asked: str
    starts: list[str]


class _TimeMap(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    head: memoryview
    blocks: list[memoryview]


_encoder: Final = msgspec.msgpack.Encoder()
_decode_timemap: Final = msgspec.msgpack.Decoder(_TimeMap).decode
_decode_head: Final = msgspec.msgpack.Decoder(_Head).decode
_decode_block: Final = msgspec.msgpack.Decoder(list[Memento]).decode


def encode_captures(asked: str, captures: Sequence[Memento]) -> bytes:
    """Write all *captures*, in any order."""
    ordered = sorted(captures, key=attrgetter("stamp", "uri"))
    blocks = [ordered[i : i + BLOCK] for i in range(0, len(ordered), BLOCK)]
    head = _Head(asked, [block[0].stamp for block in blocks])
    packed = [sealed(_encoder.encode(block)) for block in blocks]
    return _encoder.encode([sealed(_encoder.encode(head)), packed])


class PackedCaptures:
    """The captures of one TimeMap, oldest first, unpacked where they are looked at.

    Whatever is looked at may turn out Unsound.
    """

    def __init__(self, value: bytes, asked: str, archive: str) -> None:
        try:
            timemap = _decode_timemap(value)
            head = _decode_head(unsealed(timemap.head))
        except msgspec.MsgspecError as error:
            raise CorruptEntry(str(error)) from error
        if head.asked != asked or len(head.starts) != len(timemap.blocks):
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
        """Unpack everything, piece by piece."""
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
        last = self._count - 1
        found: dict[Relation, Memento] = {"first": self[0], "last": self[last]}
        if index > 0:
            found["prev"] = self[index - 1]
        if index < last:
            found["next"] = self[index + 1]
        return found

    def _candidates(self, at: Moment | None) -> Iterator[int]:
        """Yield the captures on either side of the moment.

        Towards the instant that TimeGates are asked for, captures only get nearer, by distance
        from the interval as by distance from the instant: no other can be the nearest.
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
        # A colon sorts behind every digit, so this bounds the fractions of the second as well.
        bound = second + ":"
        block = max(bisect_right(self._starts, bound) - 1, 0)
        stamps = [memento.stamp for memento in self._block(block)]
        return block * BLOCK + bisect_right(stamps, bound)

    def _as_old_as(self, index: int, step: Literal[-1, 1]) -> Iterator[int]:
        """Yield *index* and what was captured in the same second, in one direction."""
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
        except msgspec.MsgspecError as error:
            raise CorruptEntry(str(error)) from error
        is_last = number == len(self._packed) - 1
        if len(block) != BLOCK and not (is_last and 0 < len(block) < BLOCK):
            raise CorruptEntry("a block that is too long or too short")
        return block
