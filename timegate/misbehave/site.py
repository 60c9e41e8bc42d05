"""An archive as a value: what it holds, where it is, and in what manner it answers."""

from dataclasses import dataclass
from typing import Literal

from timegate.misbehave.addresses import Addresses
from timegate.misbehave.captures import FakeHoldings


@dataclass(frozen=True, slots=True)
class Manner:
    """What right archives differ in, and how much of a bad thing a fault does.

    The sentences of faults tell the amounts that are set here.
    """

    timegate: Literal["302", "200"] = "302"
    """RFC 7089 pattern 2.1 (redirect) or 2.2 (Content-Location)."""
    timemap: Literal["whole", "pages", "index"] = "whole"
    """All at once, page by page, or as an index of pages (RFC 7089 5.1)."""
    page_size: int = 100
    delay: float = 3.0
    """Seconds that `slow` waits."""
    interval: float = 1.0
    """Seconds between the bytes of a trickle."""
    patience: float = 60.0
    """Seconds after which any answer and any silence ends."""
    bulk: int = 10_000_000
    """Bytes of what is too big; a hundredth of it is the number of what is too many."""
    bomb: int = 1 << 30
    """Bytes that a decompression bomb unpacks to."""


@dataclass(frozen=True, slots=True)
class FakeSite:
    """All that an answer depends on, besides the request."""

    holdings: FakeHoldings
    addresses: Addresses
    manner: Manner
