"""PWIDs that print has broken into lines, as in the drafts and in papers.

A first line that is no whole PWID goes on in the next line. A line at which a PWID could end
goes on as well if the text has such first lines, and if what follows did not fit on the line.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from archives.regex_compat import compiled

_FIRST: Final = compiled(
    r"(?<![A-Za-z0-9@/])(?:urn:pwid:|pwid:)[^\s<>\"]{0,8192}+(?=[ \t]*+\r?\n)", re.IGNORECASE
)
_LAST_WORD: Final = compiled(r"(?<![^\s<>\"])[^\s<>\"]++(?=[ \t]*+\r?\n)")
"""The last word of a line. It begins where a word begins, so each is looked at once only."""
_PWID: Final = compiled(r"(?<![A-Za-z0-9@/])(?:urn:pwid:|pwid:)", re.IGNORECASE)
_WHOLE: Final = compiled(
    r"(?:urn:)?+pwid:[^\s:]++:(?:[^\s:]++|:(?=[0-9]))++:[^\s:]++:[^\s]", re.IGNORECASE
)
_NO_HOST: Final = compiled(r":https?:/?/?(?:www\.?|[\w-]{0,63})$", re.IGNORECASE)
"""A line that ends before the host of the page, or inside it."""
_BREAK: Final = compiled(r"[ \t]*+\r?\n[ \t>]*+")
_WORD: Final = compiled(r"[^\s<>\"]++(?=[ \t]*+(?:\r?\n|<|\Z))")
_UNIT: Final = compiled(r"[^/-]*+[/-]?+")
"""What print keeps on one line."""
_LINK: Final = compiled(
    r"(?:urn:[a-z0-9-]{2,32}:|pwid:|duri:|tdb:|pdi:|[a-z]{3,6}://)", re.IGNORECASE
)
_MOST_LINES: Final = 8
_LONGEST: Final = 8192


def has_broken_pwid(text: str) -> bool:
    """Whether a PWID is certainly broken into lines: a line of it is no whole PWID."""
    return next(_broken(text), None) is not None


def _broken(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the first lines of broken PWIDs are."""
    if "pwid:" not in text.lower():
        return
    for word in _LAST_WORD.finditer(text):
        first = _PWID.search(text, *word.span())
        if first is None:
            continue
        is_whole = _WHOLE.match(text, first.start(), word.end()) is not None
        if not is_whole or _NO_HOST.search(text, first.start(), word.end()):
            yield first.start(), word.end()


class BrokenPwid(NamedTuple):
    """A PWID on several lines."""

    end: int
    """Where it ends in the text."""
    joined: str


class PrintedText:
    """A text of which some PWIDs may be broken into lines."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _width(self) -> int:
        """The columns of the lines of broken PWIDs; 0 if no PWID is certainly broken."""
        lines = (line for first in _broken(self._text) for line in self._lines(*first))
        return max((self._column(*line) for line in lines), default=0)

    def pwid_at(self, start: int) -> BrokenPwid | None:
        """Return the PWID that begins at *start*, if it goes on in the next line."""
        first = _FIRST.match(self._text, start)
        if first is None or not self._width:
            return None
        last, *others = self._lines(start, first.end())
        joined = first[0]
        for line in others:
            word = self._text[slice(*line)]
            is_whole = _WHOLE.match(joined) and not _NO_HOST.search(joined)
            if is_whole and self._fits(last, word):
                break
            joined, last = joined + word, line
        return BrokenPwid(last[1], joined) if last[1] > first.end() else None

    def _lines(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the line from *start* to *end*, and those that may continue it."""
        spans = [(start, end)]
        while len(spans) < _MOST_LINES and end - spans[0][0] < _LONGEST:
            gap = _BREAK.match(self._text, end)
            word = _WORD.match(self._text, gap.end()) if gap else None
            if word is None or (_LINK.match(word[0]) and self._text[end - 1] != ":"):
                break
            end = word.end()
            spans.append(word.span())
        return spans

    def _fits(self, line: tuple[int, int], word: str) -> bool:
        """Whether the beginning of *word* could have been printed on *line*."""
        unit = _UNIT.match(word)
        return self._column(*line) + len(unit[0] if unit else word) <= self._width

    def _column(self, start: int, end: int) -> int:
        """Return the column in which a line ends; *start* is where its word begins."""
        if start == 0:
            # What is pasted has no blanks before its first line: those of the next one count.
            gap = _BREAK.match(self._text, end)
            return end + (len(gap[0].rpartition("\n")[2]) if gap else 0)
        line = self._text.rfind("\n", max(0, start - _LONGEST), start) + 1
        return end - max(line, start - _LONGEST)
