"""Resolves references to the archived web, and says how good the copy is.

    async with timegate.open(contact="mailto:you@example.org") as gate:
        found = await gate.resolve("urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk")

The names in `__all__` are the public interface: see docs/library.md.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from archives.model import Memento
    from timegate.config import BadConfig
    from timegate.library import (
        AuditedReference,
        CaptureList,
        CheckedQuote,
        CitedCopy,
        ComparedCopies,
        Gate,
        PageWithParts,
        ParsedReference,
        ReadCopy,
        ResolvedReference,
        cite,
        parse,
        resolve,
    )
    from timegate.library import open_gate as open  # noqa: A004 -- as in `gzip.open`

__all__ = [
    "AuditedReference",
    "BadConfig",
    "CaptureList",
    "CheckedQuote",
    "CitedCopy",
    "ComparedCopies",
    "Gate",
    "Memento",
    "PageWithParts",
    "ParsedReference",
    "ReadCopy",
    "ResolvedReference",
    "cite",
    "open",
    "parse",
    "resolve",
]


def __getattr__(name: str) -> object:
    """Import the library when it is used first: commands that need less start faster."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from timegate import library  # noqa: PLC0415

    return getattr(library, "open_gate" if name == "open" else name)
