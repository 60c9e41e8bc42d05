"""Octets of a file that are in memory already: reading them makes nobody wait."""

import os
from typing import Final

_NOW: Final = getattr(os, "RWF_NOWAIT", None)
"""Linux reads what the page cache has, and refuses to wait for a disk (preadv2(2))."""


def at_hand(file: str, offset: int, length: int) -> bytes | None:
    """Return the octets; None where they are not all in memory, or nobody can tell.

    Whoever gets None reads the file in a thread, and learns there what is the matter with it.
    """
    if _NOW is None:
        return None
    octets = bytearray(length)
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        read = os.preadv(descriptor, [octets], offset, _NOW)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return bytes(octets) if read == length else None
