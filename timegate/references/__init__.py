"""Finding references in whatever is pasted or listed, one module for each format.

Here is what a list consists of. Other modules read formats and dates, which takes longer to
import than resolving one identifier.
"""

import json
from hashlib import blake2b
from typing import Literal, NamedTuple


class BadInput(ValueError):
    """A list that cannot be read; the message says where, and what was expected."""


class Item(NamedTuple):
    """One reference of a list, as written there."""

    position: int
    """Index in the list, from 0."""
    text: str
    """The text by which a person recognises the item."""
    references: tuple[str, ...]
    """Identifiers, the most specific first; the first that can be resolved is used."""
    dates: tuple[str, ...] = ()
    """Times as written, in order of preference, for a reference without its own time."""
    trouble: str = ""
    """Why the item cannot be resolved as it is written; empty if it can be tried."""
    also: tuple[str, ...] = ()
    """Equivalent URLs as written, in order of preference."""
    said: str = ""
    """How it was read: which date is used and why, and which are not."""
    doubt: bool = False
    """Whether another date may be meant, so that no copy is certainly as asked."""
    quote: str = ""
    """A quotation of the page, to be looked for in the copy."""
    published: str = ""
    """The date of publication of a reference without any other date, which is not used."""

    @property
    def key(self) -> int:
        """Return a 64-bit hash of the item and its position in the list."""
        members: list[object] = [self.position, self.text, self.references, self.dates]
        members += [[*self.also]] if self.also else []
        members += [{"quote": self.quote}] if self.quote else []
        content = json.dumps(members)
        return int.from_bytes(blake2b(content.encode(), digest_size=8).digest())


class TextSpan(NamedTuple):
    """A range of characters in a document."""

    start: int
    end: int


FoundKind = Literal["reference", "captures", "opaque", "faulty"]
"""What can be done with it: resolve it; list the captures of a page; nothing, because an
archive's own id does not contain the page's URL; nothing, because it cannot be read."""

InputFormat = Literal[
    "lines",
    "csv",
    "json",
    "jsonl",
    "bibtex",
    "wikitext",
    "html",
    "xml",
    "ris",
    "markdown",
    "rst",
    "latex",
    "text",
    "docx",
    "pdf",
]
