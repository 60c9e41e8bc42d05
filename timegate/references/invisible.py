"""Characters that cannot be seen: soft hyphens, joiners and marks of direction in a text.

Programs insert them where a line may break or a script changes. They are taken out before a
text is read, and positions are counted with them. In scripts that need joiners, a joiner
between two letters is part of the word.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from timegate.references import TextSpan
from timegate.references.model import FoundReference, ReferencePlace

_HIDDEN: Final = (
    r"[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]++"
    r"|[\u200c\u200d](?![^\W\x00-\x7f])|(?<![^\W\x00-\x7f])[\u200c\u200d]"
)
_INVISIBLE: Final = compiled(_HIDDEN)


_WIDE_LINK: Final = compiled(
    r"[\uff48\uff28][\uff54\uff34]{2}[\uff50\uff30]|[\uff57\uff37]{3}\uff0e"
)
"""The beginning of a link in letters as wide as those of East Asia."""
_NARROW: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}


_MAIL: Final = compiled(
    r"^Content-Transfer-Encoding:[ \t]{0,9}quoted-printable", re.MULTILINE | re.IGNORECASE
)
_ESCAPES: Final = compiled(r"=(?:[0-9A-F]{2}|[ \t]{0,4}\r?(?:\n|$))?")
_ESCAPED: Final = compiled(r"=[ \t]{0,4}\r?\n|(?<==)3D|=20(?=\r?\n)")
"""What is no part of a text in the encoding of mail: soft line breaks, and digits of "="."""
_SLASH: Final = compiled(rf"(?<!\\)\\(?=/)|{_HIDDEN}")
"""The sign of escape before slashes, as PHP writes JSON."""
_LEAST: Final = 2


class Removal(NamedTuple):
    """Characters that were taken out."""

    at: int
    """Where they were, counted without any of them."""
    total: int
    """How many were taken out up to here."""


class VisibleText(NamedTuple):
    """A text without what cannot be seen in it."""

    text: str
    removals: Sequence[Removal] = ()

    @classmethod
    def of(cls, text: str) -> "VisibleText":
        """Return *text* without characters that cannot be seen, or are of an encoding."""
        pattern = _SLASH if is_escaped_json(text) else _INVISIBLE
        pattern = _ESCAPED if is_quoted_printable(text) else pattern
        if text.isascii() and pattern is _INVISIBLE:
            return cls(text)
        if _WIDE_LINK.search(text):
            text = text.translate(_NARROW)
        removals: list[Removal] = []

        def removed(match: re.Match[str]) -> str:
            before = removals[-1].total if removals else 0
            removals.append(Removal(match.start() - before, before + len(match[0])))
            return ""

        return cls(pattern.sub(removed, text), removals)

    def in_text(self, span: TextSpan) -> TextSpan:
        """Return where *span* is in the text as it was."""
        return TextSpan(
            span.start + self._before(span.start, end=False),
            span.end + self._before(span.end, end=True),
        )

    def placed(self, place: ReferencePlace) -> ReferencePlace:
        """Return *place* with positions in the text as it was."""
        if not self.removals:
            return place
        link, date, where = (
            self.in_text(span) if span else None
            for span in (place.link, place.date, place.where)
        )
        return place._replace(link=link, date=date, where=where)

    def found(self, found: FoundReference) -> FoundReference:
        """Return *found* with its position in the text as it was."""
        return found._replace(span=self.in_text(found.span)) if self.removals else found

    def _before(self, at: int, *, end: bool) -> int:
        """Return how many were taken out before *at*; at an *end*, not those there."""
        number = bisect_right(self.removals, at - end, key=lambda removal: removal.at)
        return self.removals[number - 1].total if number else 0


def is_escaped_json(text: str) -> bool:
    """Whether *text* begins as JSON does, and the slashes of its addresses are escaped."""
    return text.lstrip()[:1] in ("{", "[") and ":\\/\\/" in text


def is_quoted_printable(text: str) -> bool:
    """Whether *text* is encoded as in mail: it says so, or has two "=" and all are escaped."""
    if "=3D" not in text and "=\n" not in text and "=\r\n" not in text:
        return False
    if _MAIL.search(text):
        return True
    escapes = [escape[0] for escape in _ESCAPES.finditer(text)]
    is_whole = all(len(escape) > 1 or text.endswith(escape) for escape in escapes)
    return is_whole and escapes.count("=3D") >= _LEAST and "\n" in text.strip()
