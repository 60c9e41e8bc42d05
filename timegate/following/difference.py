"""What is new in a list of captures. Nothing here reads or writes.

Captures are known by hashes of 8 bytes, so that a page with 50,000 captures takes 400 kB. Those
that an archive lists no longer stay known: they are not new if they are listed again.
"""

from array import array
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from archives.model import Memento

MOST_KNOWN: Final = 50_000
"""Captures of a page in one archive. Of longer lists, the newest are known."""


class KnownCaptures(NamedTuple):
    """The captures of a page that are known in one archive."""

    hashes: frozenset[int] = frozenset()
    since: str = ""
    """Earlier captures are neither known nor new; empty for none."""

    @classmethod
    def read(cls, octets: bytes, since: str) -> "KnownCaptures":
        """Return what `written` returned."""
        return cls(frozenset(array("Q", octets)), since)

    def written(self) -> bytes:
        """Return the hashes as bytes."""
        return array("Q", sorted(self.hashes)).tobytes()


class NewCapture(NamedTuple):
    """A capture that was not known."""

    memento: Memento
    changed: bool | None
    """As in `Change`."""


def hash_of(memento: Memento) -> int:
    """Return the hash of a capture: of its second and its address."""
    text = f"{memento.stamp[:14]} {memento.uri}".encode("utf-8", "surrogateescape")
    return int.from_bytes(blake2b(text, digest_size=8).digest())


def difference(
    captures: Sequence[Memento], known: KnownCaptures
) -> tuple[list[NewCapture], KnownCaptures]:
    """Return the captures that are new, oldest first, and those that are known from now on."""
    hashes = [hash_of(capture) for capture in captures]
    new = [
        NewCapture(capture, changed)
        for capture, key, changed in zip(captures, hashes, _changes(captures), strict=True)
        if key not in known.hashes and capture.stamp >= known.since
    ]
    both = known.hashes.union(hashes)
    if len(both) <= MOST_KNOWN:
        return new, KnownCaptures(both, known.since)
    since = captures[-MOST_KNOWN].stamp if len(captures) > MOST_KNOWN else known.since
    return new, KnownCaptures(frozenset(hashes[-MOST_KNOWN:]), max(since, known.since))


def _changes(captures: Sequence[Memento]) -> Iterator[bool | None]:
    """Yield whether each capture has another digest than the one before it."""
    before: str | None = None
    for capture in captures:
        yield differs(capture.digest, before)
        before = capture.digest


def differs(digest: str | None, other: str | None) -> bool | None:
    """Whether two digests differ; None if they cannot be compared."""
    if not digest or not other or _algorithm(digest) != _algorithm(other):
        return None
    return digest != other


def _algorithm(digest: str) -> tuple[str, int]:
    """Return the algorithm as far as it shows: CDX servers often leave its name out."""
    name, colon, text = digest.rpartition(":")
    return name.lower() if colon else "", len(text)
