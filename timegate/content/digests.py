"""Payload digests as archives state them: with or without their algorithm, Base32 or hex.

Equal digests of one algorithm mean equal octets. Different ones do not mean that a page
differs: archives compute them before or after chunks and content codings are removed.
"""

from functools import lru_cache
from hashlib import new
from typing import Final

from archives.regex_compat import compiled
from archives.warc.captures import Digest, read_digest

_HEX_SIZES: Final = {32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"}
_HEX: Final = compiled(r"[0-9A-Fa-f]{32,128}")
_BASE32_SIZES: Final = {32: "sha1", 52: "sha256", 103: "sha512"}
_BASE32: Final = compiled(r"[A-Za-z2-7]{32,103}")
_LONGEST: Final = 200
_EMPTY: Final = frozenset(
    Digest(name, new(name, b"", usedforsecurity=False).digest()) for name in _HEX_SIZES.values()
)


@lru_cache(maxsize=1024)
def payload_digest(text: str | None) -> Digest | None:
    """Return a digest that can be compared; None if it is not known, or that of no octets.

    Captures without octets have one digest, whatever page was asked for: it says nothing.
    """
    stated = (text or "").strip()[:_LONGEST].removeprefix("urn:").rstrip("=")
    digest = read_digest(stated) if ":" in stated else _bare(stated)
    return None if digest in _EMPTY else digest


def _bare(text: str) -> Digest | None:
    """Return a digest without the name of its algorithm, which its length and letters state."""
    base32 = _BASE32.fullmatch(text)
    name = None if base32 is None else _BASE32_SIZES.get(len(text))
    if not _HEX.fullmatch(text):
        return read_digest(f"{name}:{text}") if name else None
    # 32 letters that are both MD5 in hex and SHA-1 in Base32 may be either.
    if name and text.upper() == text and text.strip("ABCDEF234567") == "":
        return None
    hexadecimal = _HEX_SIZES.get(len(text))
    return read_digest(f"{hexadecimal}:{text}") if hexadecimal else None
