"""Answers as bytes: msgpack under a schema, sealed with a version and a checksum.

Every value names the question it answers, so that a collision of hashes, a row that was moved
or the answer of another version is noticed. What was read is checked before it is believed:
whoever can write to the cache must not be able to write our headers (SE-17).
"""

import re
import zlib
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

import msgspec

from archives.diagnostics import Malformed
from archives.model import Closest, Memento, Negotiation, Relation
from archives.moment import Moment
from archives.nearest import second_of

_VERSION: Final = b"\x01"
_SEAL: Final = 5
"""Octets: the version, then CRC-32. Against disks and truncation, not against attackers."""
_MEMO_LARGEST: Final = 4096

# Nine stamps of ten: a day that every month has. 0.4 microseconds; the calendar takes 1.0.
_COMMON_STAMP: Final = re.compile(
    r"[12][0-9]{3}(?:0[1-9]|1[0-2])(?:0[1-9]|1[0-9]|2[0-8])(?:[01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]"
)


class CorruptEntry(Exception):
    """Bytes that are not what we have written."""


class _Answer(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    asked: str
    memento: Memento | None
    via: Negotiation
    doubts: tuple[str, ...]
    neighbours: dict[Relation, Memento]


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(_Answer)


def sealed(payload: bytes) -> bytes:
    """Return *payload* with its version and checksum in front."""
    return _VERSION + zlib.crc32(payload).to_bytes(4, "big") + payload


def unsealed(value: bytes | memoryview) -> memoryview:
    """Return what `sealed` was given. Raises Unsound."""
    payload = memoryview(value)[_SEAL:]
    expected = _VERSION + zlib.crc32(payload).to_bytes(4, "big")
    if value[:_SEAL] != expected:
        raise CorruptEntry("damaged, or of another version")
    return payload


def encode_answer(asked: str, outcome: Closest | None) -> bytes:
    """Write what an archive answered to the question *asked*."""
    if outcome is None:
        answer = _Answer(asked, None, "timegate", (), {})
    else:
        neighbours = dict(outcome.neighbours)
        answer = _Answer(asked, outcome.memento, outcome.via, outcome.doubts, neighbours)
    return sealed(_encoder.encode(answer))


def decode_answer(value: bytes, asked: str, archive: str) -> Closest | None:
    """Read what *archive* answered to *asked*. Raises Unsound."""
    if len(value) > _MEMO_LARGEST:
        return _decode(value, asked, archive)
    return _decode_again(value, asked, archive)


def _decode(value: bytes, asked: str, archive: str) -> Closest | None:
    try:
        answer = _decoder.decode(unsealed(value))
    except msgspec.MsgspecError as error:
        raise CorruptEntry(str(error)) from error
    if answer.asked != asked:
        raise CorruptEntry("the answer to another question")
    if answer.memento is None:
        return None
    check_memento(answer.memento, archive)
    for neighbour in answer.neighbours.values():
        check_memento(neighbour, archive)
    return Closest(answer.memento, answer.via, answer.doubts, answer.neighbours)


# A store in memory returns the same bytes object again and again, whose hash is known: a
# question that everybody asks is decoded once. At most 4 MB of values.
_decode_again: Final = lru_cache(maxsize=1024)(_decode)


def check_memento(memento: Memento, archive: str) -> None:
    """Raise Unsound unless *memento* is one that we could have stored for *archive*."""
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
STALE: Final = 3 * 86_400.0
LONGEST_STALE: Final = 7 * 86_400.0
"""RFC 8767 5: serve stale for one to three days, and no more than seven."""

_RECENT_DAYS: Final = timedelta(days=30)


@lru_cache(maxsize=8)
def _settled_before(minute: int) -> datetime:
    return datetime.fromtimestamp(minute * 60, UTC) - _RECENT_DAYS


def lifetime(at: Moment | None, outcome: Closest | None, said: float) -> float:
    """Return for how many seconds the answer *outcome*, given at *said*, may be used as new."""
    if outcome is None:
        return NEGATIVE
    if at is None:
        return RECENT
    settled_before = _settled_before(int(said) // 60)
    _, asked_until = at.window
    # Also where the question reaches into the present: a capture made today would be nearer.
    if max(asked_until, second_of(outcome.memento.stamp)) > settled_before:
        return RECENT
    return SETTLED
