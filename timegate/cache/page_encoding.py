"""Encoding of page records: msgpack under a schema, one part for each archive.

A value is sealed with a version and a checksum, which includes the key that it was stored
under. The part of an archive is decoded when it is needed. Of a neighbour only the stamp is
stored if its address follows from that of the memento, as it does in most archives.
"""

import math
import zlib
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from archives.model import (
    Closest,
    Evidence,
    Hop,
    Memento,
    Negotiation,
    Relation,
    UniformNeighbours,
)
from timegate.cache.encoding import CorruptEntry, check_memento
from timegate.cache.page_record import (
    MOST_ANSWERS,
    MOST_CHECKS,
    ArchiveRecord,
    KnownAnswer,
    KnownCheck,
    ListKind,
    PageRecord,
    merged,
)

_VERSION: Final = b"\x02"
_SEAL: Final = 5
"""Bytes: the version, then a CRC-32. Against faulty disks and mistaken keys, not attackers."""
LARGEST: Final = 512 * 1024
"""Bytes of a record. 83 archives with eight answers each are some 200 kB."""
MOST_FIELDS: Final = 1024

_Compact = str | Memento
"""The stamp of a neighbour at the same address but for the stamp; or all of it."""


class _Outcome(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    memento: Memento
    via: Negotiation
    doubts: tuple[str, ...] = ()
    neighbours: dict[Relation, _Compact] = {}
    evidence: Evidence = "promised"
    hops: tuple[Hop, ...] = ()


class _Answer(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    given_at: float
    asked: str
    outcome: _Outcome | None


class _Check(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    given_at: float
    outcome: _Outcome | None


class _Part(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    answers: list[_Answer]
    checks: dict[str, _Check] = {}
    lists: dict[ListKind, float] = {}


_UNSTATED: Final = Memento("", "", "", "")[4:]
"""What a link says of a capture beside its time and address: nothing."""
_encode: Final = msgspec.msgpack.Encoder().encode
_decode_page: Final = msgspec.msgpack.Decoder(dict[str, bytes]).decode
_decode_part: Final = msgspec.msgpack.Decoder(_Part).decode


class PackedPage(Mapping[str, ArchiveRecord]):
    """The record of one URL, whose parts are decoded on access.

    A part that is damaged is left out; `rejected` counts these.
    """

    __slots__ = ("_decoded", "_parts", "rejected", "value")

    def __init__(self, key: str, value: bytes) -> None:
        """Raise CorruptEntry if *value* was not encoded for *key*."""
        self.value = value
        self.rejected = 0
        self._parts = _parts_of(key, value)
        self._decoded: dict[str, ArchiveRecord | None] = {}

    def __getitem__(self, field: str) -> ArchiveRecord:
        record = self.get(field)
        if record is None:
            raise KeyError(field)
        return record

    def get(self, field: str, default: object = None) -> ArchiveRecord | None:  # type: ignore[override]
        """Return the record of an archive; None if there is none."""
        del default
        if field in self._decoded:
            return self._decoded[field]
        part = self._parts.get(field)
        if part is None:
            return None
        record: ArchiveRecord | None = None
        try:
            record = _record_of(part, archive_of(field))
        except CorruptEntry:
            self.rejected += 1
        self._decoded[field] = record
        return record

    def __iter__(self) -> Iterator[str]:
        return (field for field in self._parts if self.get(field) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def parts(self) -> Mapping[str, bytes]:
        """The encoded parts, by field."""
        return self._parts


def archive_of(field: str) -> str:
    """Return the archive of a field, ``scope/archive``."""
    return field.partition("/")[2]


def encode_page(key: str, page: PageRecord) -> bytes:
    """Encode what is known of one URL."""
    return sealed_page(key, {field: encode_record(record) for field, record in page.items()})


def merge_values(key: str, stored: bytes | None, learned: bytes) -> bytes:
    """Return the merged value of two encoded pages. Raises CorruptEntry for *learned* alone.

    A stored value that is damaged is replaced. Parts that are in one of them are not decoded,
    and nothing where nothing is stored.
    """
    if stored is None:
        return learned
    page = PackedPage(key, learned)
    try:
        known = PackedPage(key, stored)
    except CorruptEntry:
        return learned
    parts = dict(known.parts)
    for field, part in page.parts.items():
        one, other = known.get(field), page.get(field)
        if one is None or other is None or parts[field] == part:
            parts[field] = part
        else:
            parts[field] = encode_record(merged(one, other))
    return sealed_page(key, parts)


def sealed_page(key: str, parts: Mapping[str, bytes]) -> bytes:
    """Return the value of a page, of which each part is encoded."""
    payload = _encode(_trimmed(parts))
    checksum = zlib.crc32(payload, zlib.crc32(key.encode()))
    return _VERSION + checksum.to_bytes(4, "big") + payload


def _trimmed(parts: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Return *parts*; without the archives that answered longest ago if all are too large."""
    size = sum(map(len, parts.values()))
    if size <= LARGEST and len(parts) <= MOST_FIELDS:
        return parts
    left = dict(parts)
    for field in sorted(parts, key=lambda name: (_last_answer(parts[name]), name)):
        if size <= LARGEST and len(left) <= MOST_FIELDS:
            break
        size -= len(left.pop(field))
    return left


def _last_answer(part: bytes) -> float:
    try:
        return max(_times(_decode_part(part)), default=-math.inf)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return -math.inf


def _parts_of(key: str, value: bytes) -> dict[str, bytes]:
    payload = memoryview(value)[_SEAL:]
    checksum = zlib.crc32(payload, zlib.crc32(key.encode()))
    if value[:_SEAL] != _VERSION + checksum.to_bytes(4, "big"):
        raise CorruptEntry("damaged, or of another version or page")
    try:
        parts = _decode_page(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptEntry(str(error)) from error
    if len(parts) > MOST_FIELDS:
        raise CorruptEntry("too many archives")
    return parts


def encode_record(record: ArchiveRecord) -> bytes:
    """Encode what one archive answered."""
    return _encode(
        (
            [(a.given_at, a.asked, _packed(a.outcome)) for a in record.answers],
            {uri: (c.given_at, _packed(c.outcome)) for uri, c in record.checks.items()},
            record.lists,
        )
    )


def encode_answer(answer: KnownAnswer) -> bytes:
    """Encode the record of an archive of which nothing is known but *answer*."""
    return _encode(([(answer.given_at, answer.asked, _packed(answer.outcome))], {}, {}))


def _packed(closest: Closest | None) -> tuple[object, ...] | None:
    if closest is None:
        return None
    memento, around = closest.memento, closest.neighbours
    packed = (
        around.stamps if isinstance(around, UniformNeighbours) else _neighbours(memento, around)
    )
    head = (_bare(memento), closest.via, closest.doubts, packed)
    if closest.evidence == "promised" and not closest.hops:
        return head
    return *head, closest.evidence, closest.hops


def _neighbours(
    memento: Memento, around: Mapping[Relation, Memento]
) -> dict[Relation, str | tuple[object, ...]]:
    """Return the neighbours: only the stamp where the rest follows from *memento*."""
    before, _, behind = memento.uri.partition(memento.stamp)
    page = memento[2:4]
    packed: dict[Relation, str | tuple[object, ...]] = {}
    for name, each in around.items():
        stamp = each.stamp
        follows = each.uri == before + stamp + behind and each[2:4] == page
        packed[name] = stamp if follows and each[4:] == _UNSTATED else _bare(each)
    return packed


def _bare(memento: Memento) -> tuple[object, ...]:
    """Return the fields of *memento* without its archive, and without those not stated."""
    head = (memento.stamp, memento.uri, memento.original, "")
    return head if memento[4:] == _UNSTATED else (*head, *memento[4:])


def _beside(memento: Memento, stamp: str) -> Memento:
    """Return the capture of another time at the same address but for the time."""
    own, uri, original, archive, *_ = memento
    return Memento(stamp, uri.replace(own, stamp, 1), original, archive)


def _record_of(part: bytes, archive: str) -> ArchiveRecord:
    try:
        decoded = _decode_part(part)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptEntry(str(error)) from error
    if len(decoded.answers) > MOST_ANSWERS or len(decoded.checks) > MOST_CHECKS:
        raise CorruptEntry("too many answers of one archive")
    if not all(map(math.isfinite, _times(decoded))):
        raise CorruptEntry("a time that is no number")
    answers = [
        KnownAnswer(a.given_at, a.asked, _unpacked(a.outcome, archive)) for a in decoded.answers
    ]
    checks = {
        address: KnownCheck(check.given_at, _unpacked(check.outcome, archive))
        for address, check in decoded.checks.items()
    }
    return ArchiveRecord(answers, checks, decoded.lists)


def _times(part: _Part) -> tuple[float, ...]:
    return (
        *(answer.given_at for answer in part.answers),
        *(check.given_at for check in part.checks.values()),
        *part.lists.values(),
    )


def _unpacked(packed: _Outcome | None, archive: str) -> Closest | None:
    if packed is None:
        return None
    memento = _checked(packed.memento, archive)
    around = {
        name: _beside(memento, each) if isinstance(each, str) else _checked(each, archive)
        for name, each in packed.neighbours.items()
    }
    for each in around.values():
        check_memento(each, archive)
    return Closest(memento, packed.via, packed.doubts, around, packed.evidence, packed.hops)


def _checked(memento: Memento, archive: str) -> Memento:
    if memento.archive:
        raise CorruptEntry("a capture of another archive")
    stamp, uri, original, _, status, mime, digest, asserted, length = memento
    memento = Memento(stamp, uri, original, archive, status, mime, digest, asserted, length)
    check_memento(memento, archive)
    return memento
