"""Every check, grouped by what it looks at; importing this fills the catalogue."""

from timegate.conformance.catalogue import CHECKS
from timegate.conformance.checks import (
    agreement,
    choice,
    dates,
    http,
    memento,
    original,
    timegate,
    timemap,
    timemap_forms,
)

__all__ = [
    "CHECKS",
    "agreement",
    "choice",
    "dates",
    "http",
    "memento",
    "original",
    "timegate",
    "timemap",
    "timemap_forms",
]
