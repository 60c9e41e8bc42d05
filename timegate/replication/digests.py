"""Digests of payloads, as archives state them: ``sha1:`` in base32, ``sha256:`` in hex."""

import re
from base64 import b32encode
from hashlib import sha1, sha256
from typing import Final

_SHA1: Final = re.compile(r"(?:sha1:)?([A-Z2-7]{32})", re.IGNORECASE)
_SHA256: Final = re.compile(r"sha-?256:([0-9a-f]{64})", re.IGNORECASE)
_ETAG: Final = re.compile(r'"sha256-([0-9a-f]{64})"')


def normal(digest: str | None) -> str | None:
    """Return *digest* in one spelling; None if it is none that can be compared."""
    text = (digest or "").strip()
    if found := _SHA256.fullmatch(text):
        return f"sha256:{found[1].lower()}"
    if found := _SHA1.fullmatch(text):
        return f"sha1:{found[1].upper()}"
    return None


def of_etag(etag: str) -> str | None:
    """Return the digest in the ETag of a memento in a store; None if it has none."""
    found = _ETAG.fullmatch(etag.strip())
    return None if found is None else f"sha256:{found[1]}"


def digests_of(body: bytes) -> frozenset[str]:
    """Return the digests of *body*, in the spelling of `normal`."""
    first = b32encode(sha1(body, usedforsecurity=False).digest()).decode()
    return frozenset({f"sha1:{first}", f"sha256:{sha256(body).hexdigest()}"})


def have_same_bytes(one: str | None, other: str | None) -> bool | None:
    """Whether two digests are of the same bytes; None if they cannot be compared."""
    first, second = normal(one), normal(other)
    if first is None or second is None:
        return None
    if first.partition(":")[0] != second.partition(":")[0]:
        return None
    return first == second
