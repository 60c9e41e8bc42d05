"""A URL in a document, and what it is there for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal[
    "image", "stylesheet", "script", "frame", "font", "icon", "media", "object", "other"
]
Role = Literal["part", "variant", "link"]

MOST_OCTETS: Final = 4 * 1024 * 1024
"""Of one document: with letters outside the BMP it takes four times that, a few times over."""
MOST_STEPS: Final = 400_000
"""Of the walk through one document: about a second of CPU."""


class TooComplex(ValueError):
    """A document that is larger, or has more tags, than is walked through."""


@dataclass(slots=True)
class Steps:
    """How far one walk may go on."""

    left: int = MOST_STEPS

    def take(self, number: int = 1) -> None:
        """Count *number* steps. Raises TooComplex."""
        self.left -= number
        if self.left < 0:
            raise TooComplex("a document with too many tags, attributes or rules")


@dataclass(frozen=True, slots=True)
class EmbeddedUrl:
    """A URL in a document."""

    url: str
    """Absolute, http or https, without fragment."""
    kind: Kind
    """What a browser takes it for. Of a link: ``frame`` if it opens in the frame itself."""
    role: Role
    """A browser needs a ``part``; a ``variant`` is for other screens, media or browsers, or for
    later; a ``link`` is followed by a person."""
    source: str
    """Where it is written: ``img src``, ``@import``, ``url()``."""


Address = Callable[[EmbeddedUrl], str | None]
"""What is written in the place of a URL; None removes it."""
