"""Digests as WARC files state them: ``sha1:`` and Base32 usually, others now and then."""

import base64
import binascii
import hashlib
from typing import NamedTuple

_ALGORITHMS = {
    "sha1": "sha1",
    "sha-1": "sha1",
    "sha256": "sha256",
    "sha-256": "sha256",
    "sha512": "sha512",
    "sha-512": "sha512",
    "md5": "md5",
}


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
    octets = _octets(value.strip(), hashlib.new(algorithm, usedforsecurity=False).digest_size)
    return None if octets is None else Digest(algorithm, octets)


def _octets(value: str, size: int) -> bytes | None:
    """Read Base32 (Heritrix, wget, warcio) or hexadecimal (Browsertrix: sha256, 64 digits)."""
    try:
        if len(value) == 2 * size:
            return bytes.fromhex(value)
        bare = value.rstrip("=").upper()
        octets = base64.b32decode(bare + "=" * (-len(bare) % 8))
    except (binascii.Error, ValueError):
        return None
    return octets if len(octets) == size else None
