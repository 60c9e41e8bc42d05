"""Digests as WARC files state them: ``sha1:`` and Base32 usually, others now and then."""

import hashlib
import re
from typing import Final, NamedTuple

_SIZES: Final = {"sha1": 20, "sha256": 32, "sha512": 64, "md5": 16}
_ALGORITHMS: Final = {name: name for name in _SIZES} | {
    "sha-1": "sha1",
    "sha-256": "sha256",
    "sha-512": "sha512",
}
# Python's own digits to the base 32 are 0 to 9 and a to v: its b32decode takes 30 times longer.
_AS_DIGITS: Final = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789ABCDEFGHIJKLMNOPQRSTUV", "="
)
_BASE32: Final = re.compile(r"[A-Za-z2-7]{1,110}={0,6}")


class Digest(NamedTuple):
    """A stated digest whose algorithm is known."""

    algorithm: str
    octets: bytes


class Sum:
    """Adds up octets, and tells whether they have the digest that was stated."""

    __slots__ = ("_hasher", "_stated")

    def __init__(self, stated: Digest) -> None:
        self._hasher = hashlib.new(stated.algorithm, usedforsecurity=False)
        self._stated = stated.octets

    def add(self, octets: bytes) -> None:
        """Go on with *octets*."""
        self._hasher.update(octets)

    def holds(self) -> bool:
        """Whether what came is what was stated."""
        return self._hasher.digest() == self._stated


def read_digest(text: str | None) -> Digest | None:
    """Return what a digest field states; None where there is none that could be checked."""
    name, colon, value = (text or "").strip().partition(":")
    algorithm = _ALGORITHMS.get(name.lower())
    if algorithm is None or not colon:
        return None
    octets = _octets(value.strip(), _SIZES[algorithm])
    return None if octets is None else Digest(algorithm, octets)


def _octets(value: str, size: int) -> bytes | None:
    """Read Base32 (Heritrix, wget, warcio) or hexadecimal (Browsertrix: sha256, 64 digits)."""
    if len(value) == 2 * size:
        try:
            return bytes.fromhex(value)
        except ValueError:
            return None
    if not _BASE32.fullmatch(value):
        return None
    digits = value.upper().translate(_AS_DIGITS)
    # RFC 4648 6: what five bits to a digit leave over at the end is zero.
    left_over = 5 * len(digits) - 8 * size
    if not 0 <= left_over < 5:
        return None
    return (int(digits, 32) >> left_over).to_bytes(size, "big")
