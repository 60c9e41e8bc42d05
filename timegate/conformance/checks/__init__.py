"""All checks, grouped by subject; importing this package fills the catalogue."""

from timegate.conformance.catalogue import CHECKS
from timegate.conformance.checks import (
    agreement,
    http,
    linking,
    memento,
    stability,
    timegate,
    timemap,
)

__all__ = [
    "CHECKS",
    "agreement",
    "http",
    "linking",
    "memento",
    "stability",
    "timegate",
    "timemap",
]
