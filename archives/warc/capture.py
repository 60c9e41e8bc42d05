"""What an index knows of one capture in a file, and what is said where a file is damaged."""

from typing import NamedTuple


class Capture(NamedTuple):
    """One capture: the page, the time, and where in its file the record lies."""

    surt: str
    stamp: str
    """UTC digits as far as the WARC-Date goes, 14 to 23 of them (T-9)."""
    url: str
    """The target as the record writes it, without angle brackets and fragment."""
    mime: str | None
    """Of the archived answer; ``warc/revisit`` for a record that refers to another."""
    status: int | None
    """None for what was no HTTP answer (resource records)."""
    digest: str | None
    """Of the payload: base32 SHA-1 as CDX files write it, others with their ``name:``."""
    offset: int
    """Where the record begins, in octets of the file as it is stored."""
    length: int
    """Of the record as it is stored: compressed where the file is."""


class Damage(NamedTuple):
    """Something in a file that cannot be used; reading goes on behind it."""

    offset: int
    why: str
