"""One reference of a list: what is written there, and the times it may have meant."""

import json
from hashlib import blake2b
from typing import NamedTuple


class BadInput(ValueError):
    """A list that cannot be read; says where, and what was expected."""


class Item(NamedTuple):
    """One reference, as it stands in the list."""

    position: int
    """Counted from 0, over the items of the list."""
    text: str
    """What a person would recognise it by."""
    references: tuple[str, ...]
    """Identifiers, the one that says most first; the first that can be asked for counts."""
    dates: tuple[str, ...] = ()
    """Times as written, in order of preference, for a reference that has none of its own."""
    trouble: str = ""
    """Why it cannot be asked for as it is written; empty where it can be tried."""

    @property
    def key(self) -> int:
        """Return 64 bits that another item, or the same at another place, does not have."""
        told = json.dumps([self.position, self.text, self.references, self.dates])
        return int.from_bytes(blake2b(told.encode(), digest_size=8).digest())
